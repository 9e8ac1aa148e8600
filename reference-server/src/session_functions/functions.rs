//! The 43 functions: wire id, typed request, rule, typed answer.

use msp_types::Call;
use msp_types::session::functions as wire;
use serde_json::value::RawValue;

use super::event::raw;
use super::failure::Failure;
use super::service::{Answer, Service};

/// What the bus may know of a function beside its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Wire id.
    pub id: &'static str,
    /// Whether it only reads.
    pub reads: bool,
}

impl Function {
    /// The function of an id.
    pub fn of(id: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|function| function.id == id)
    }

    /// Whether it belongs to the store protocol (SF-STORE).
    pub fn is_store(&self) -> bool {
        is_store(self.id)
    }
}

/// Whether an id belongs to the session functions.
pub(crate) fn is_session(id: &str) -> bool {
    id.starts_with("session::")
}

/// Whether an id belongs to the store protocol.
pub(crate) fn is_store(id: &str) -> bool {
    id.starts_with("session::store::")
}

/// Id of the function that applies a changed configuration.
pub(crate) const ON_CONFIG_CHANGE: &str = <wire::OnConfigChange as Call>::NAME;
/// Id of the function that tells how the latest reload went.
pub(crate) const CONFIG_STATUS: &str = <wire::ConfigStatus as Call>::NAME;

/// Functions of the protocol that this build does not serve.
pub const MISSING: &[&str] = &[];

macro_rules! reads {
    (read) => {
        true
    };
    (write) => {
        false
    };
}

macro_rules! table {
    ($($kind:ident $marker:ident => $rule:ident,)*) => {
        /// Every function that is served, in the order of the table.
        pub const FUNCTIONS: &[Function] = &[
            $(Function { id: <wire::$marker as Call>::NAME, reads: reads!($kind) },)*
            Function { id: CONFIG_STATUS, reads: true },
            Function { id: ON_CONFIG_CHANGE, reads: false },
        ];

        /// Serves a function of the rules; `None` for one that is not in the table.
        pub(crate) fn serve(service: &mut Service<'_>, function: &str, payload: &str) -> Option<Answer<Box<RawValue>>> {
            Some(match function {
                $(<wire::$marker as Call>::NAME => {
                    request::<wire::$marker>(payload).and_then(|request| service.$rule(request)).map(|answer| raw(&answer))
                })*
                _ => return None,
            })
        }
    };
}

table! {
    write Create => create,
    write Ensure => ensure,
    read Get => get,
    read List => list,
    write SetMeta => set_meta,
    write SetStatus => set_status,
    write SetDraft => set_draft,
    write Delete => delete,
    write Append => append,
    write AppendMany => append_many,
    write UpdateMessage => update_message,
    read Messages => messages,
    read GetMessage => get_message,
    read MessagesTail => messages_tail,
    read MessagesRange => messages_range,
    write Fork => fork,
    write SetActiveLeaf => set_active_leaf,
    write PutAttachment => put_attachment,
    read GetAttachment => get_attachment,
    read ListAttachments => list_attachments,
    write DeleteAttachment => delete_attachment,
    read MentionSearch => mention_search,
    read MentionGet => mention_get,
    read StoreGetMeta => get_meta,
    write StorePutMeta => put_meta,
    read StoreListMetas => list_metas,
    write StoreDeleteMeta => delete_meta,
    read StoreGetEntry => get_entry,
    write StorePutEntry => put_entry,
    read StoreListEntries => list_entries,
    write StoreDeleteEntries => delete_entries,
    read StoreGetActiveLeaf => get_active_leaf,
    write StoreSetActiveLeaf => store_set_active_leaf,
    write StoreDeleteActiveLeaf => delete_active_leaf,
    write StoreCommitAppend => commit_append,
    write StorePutAttachment => store_put_attachment,
    read StoreGetAttachment => store_get_attachment,
    read StoreListAttachments => store_list_attachments,
    write StoreDeleteAttachment => store_delete_attachment,
    write StoreDeleteAttachments => delete_attachments,
    write StorePublishEvents => publish_events,
}

/// Reads a request. `null` stands for an object without members.
///
/// # Errors
/// It does not fit the schema.
pub(crate) fn request<C: Call>(payload: &str) -> Answer<C::Params>
where
    C::Params: serde::de::DeserializeOwned,
{
    let payload = if payload.trim() == "null" { "{}" } else { payload };
    serde_json::from_str(payload)
        .map_err(|error| Failure::Malformed { function: C::NAME.to_owned(), text: error.to_string() })
}
