//! What is known of a connection: its handshake, and what it was granted.

use std::sync::Arc;

use super::hash::{Id, Set};
use super::{Answer, Request, Value};
use crate::rules::table::Version;

/// What the bundle of a connection lists.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Code and kind of each error, override kinds included.
    pub(crate) errors: Vec<(i64, String)>,
    /// Its methods.
    pub(crate) methods: Set<Id>,
}

impl Listed {
    /// Whether it lists a method.
    pub(crate) fn has(&self, method: &str) -> bool {
        self.methods.contains(&Id::of(method.as_bytes()))
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// What its bundle lists.
    pub(crate) listed: Arc<Listed>,
    /// The host process behind it: another after each `spawn`.
    pub(crate) host: u32,
    /// The revision by which it is judged.
    pub(crate) revision: Version,
    /// Whether the transcript has it from its start: a `spawn`, or its `initialize`.
    pub(crate) from_start: bool,
    /// Line of the first result of `initialize`.
    pub(crate) granted_at: Option<u64>,
    /// Line of `initialized`.
    pub(crate) initialized_at: Option<u64>,
    /// What the client said in the `initialize` that was answered; nothing where the transcript has none.
    pub(crate) asked: Option<Wishes>,
    /// What the host granted; nothing where the transcript does not have the result.
    pub(crate) granted: Option<Grants>,
    /// Whether the host has ended.
    pub(crate) ended: bool,
    /// Faults of the host so far, after each of which nothing is known of its sessions.
    pub(crate) breaks: u32,
}

/// What a client wishes in `initialize`.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) client_name: String,
    pub(crate) experimental: bool,
    pub(crate) capabilities: Vec<String>,
    /// Methods that it does not want to be told.
    pub(crate) opt_out: Vec<String>,
    /// False where it said so; else true.
    pub(crate) user_input_dialogs: bool,
}

/// What a host grants in the result of `initialize`.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    pub(crate) experimental: bool,
    pub(crate) capabilities: Vec<String>,
    /// `durable` where it is left out (HS-19).
    pub(crate) durability: String,
    pub(crate) host_version: String,
    pub(crate) fingerprint: String,
}

impl Connection {
    pub(crate) fn new(host: u32, revision: Version, listed: Arc<Listed>) -> Self {
        Self {
            listed,
            host,
            revision,
            from_start: false,
            granted_at: None,
            initialized_at: None,
            asked: None,
            granted: None,
            ended: false,
            breaks: 0,
        }
    }

    /// Whether a capability was granted; nothing where that is not known.
    pub(crate) fn has(&self, capability: &str) -> Option<bool> {
        self.granted.as_ref().map(|granted| granted.capabilities.iter().any(|it| it == capability))
    }

    /// Whether the experimental surface is on; nothing where that is not known.
    pub(crate) fn experimental(&self) -> Option<bool> {
        self.granted.as_ref().map(|granted| granted.experimental)
    }

    /// Whether the host keeps nothing; nothing where that is not known, or where the word is unknown.
    pub(crate) fn ephemeral(&self) -> Option<bool> {
        match self.granted.as_ref()?.durability.as_str() {
            "durable" => Some(false),
            "ephemeral" => Some(true),
            _ => None,
        }
    }

    /// Whether the client may have opted out of a method: it did, or its `initialize` is not in the transcript.
    pub(crate) fn may_lack(&self, method: &str) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.opt_out.iter().any(|it| it == method))
    }

    /// Whether the client opted out of a method for certain.
    pub(crate) fn opted_out(&self, method: &str) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.opt_out.iter().any(|it| it == method))
    }

    /// Takes the answer to `initialize` in.
    pub(crate) fn answered(&mut self, answer: &Answer<'_>) {
        let Some(result) = answer.result() else { return };
        let text = |value: Option<Value<'_>>| value.and_then(|it| it.text()).unwrap_or_default().into_owned();
        let bool = |value: Option<Value<'_>>| value.and_then(|it| it.bool());
        // What has shaken hands would refuse to do so again: this is another process, with grants of its own.
        self.granted_at.get_or_insert(answer.at.line);
        let durability = result.get("sessionDurability").map_or_else(|| "durable".to_owned(), |it| text(Some(it)));
        self.granted = Some(Grants {
            experimental: bool(result.get("experimentalApi")) == Some(true),
            capabilities: words(result.get("grantedCapabilities")),
            durability,
            host_version: text(result.path(&["serverInfo", "version"])),
            fingerprint: text(result.path(&["schema", "fingerprint"])),
        });
        let capabilities = answer.param("capabilities");
        let wish = |name: &str| capabilities.and_then(|it| it.get(name));
        self.asked = Some(Wishes {
            client_name: text(answer.params.and_then(|it| it.path(&["clientInfo", "name"]))),
            experimental: bool(wish("experimentalApi")) == Some(true),
            capabilities: words(wish("requestedCapabilities")),
            opt_out: words(wish("optOutNotificationMethods")),
            user_input_dialogs: bool(wish("userInputDialogs")) != Some(false),
        });
    }

    /// Takes a request in.
    pub(crate) fn asked(&mut self, request: &Request<'_>) {
        self.from_start |= request.at.method == "initialize";
    }
}

/// The strings of an array.
fn words(array: Option<Value<'_>>) -> Vec<String> {
    array.into_iter().flat_map(|it| it.items()).filter_map(|it| it.text()).map(std::borrow::Cow::into_owned).collect()
}

/// The id of a member of an optional object.
pub(crate) fn id_of(value: Option<Value<'_>>, name: &str) -> Option<Id> {
    value?.id_of(name)
}
