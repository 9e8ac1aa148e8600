//! Events: what a mutation announces, and the envelope in which instances hand it on.

use std::sync::Arc;

use msp_types::session::{
    AgentMessage, CreatedPayload, DeletedPayload, EventEnvelope, MessageAddedPayload, MessageUpdatedPayload,
    MetaUpdatedPayload, Role, StatusChangedPayload, triggers,
};
use msp_types::{Event as _, Presence};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::members::{given, taken};

/// A trigger type: six that anyone binds, and the feed for bridges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trigger {
    /// `session::created`.
    Created,
    /// `session::message-added`.
    MessageAdded,
    /// `session::message-updated`.
    MessageUpdated,
    /// `session::status-changed`.
    StatusChanged,
    /// `session::meta-updated`.
    MetaUpdated,
    /// `session::deleted`.
    Deleted,
    /// `session::store::events`, internal.
    Feed,
}

impl Trigger {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Created,
        Self::MessageAdded,
        Self::MessageUpdated,
        Self::StatusChanged,
        Self::MetaUpdated,
        Self::Deleted,
        Self::Feed,
    ];

    /// The id on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Created => triggers::Created::NAME,
            Self::MessageAdded => triggers::MessageAdded::NAME,
            Self::MessageUpdated => triggers::MessageUpdated::NAME,
            Self::StatusChanged => triggers::StatusChanged::NAME,
            Self::MetaUpdated => triggers::MetaUpdated::NAME,
            Self::Deleted => triggers::Deleted::NAME,
            Self::Feed => triggers::StoreEvents::NAME,
        }
    }

    /// The trigger type of an id.
    pub fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.id() == id)
    }
}

/// One event of the six public types.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its type; never the feed.
    pub trigger: Trigger,
    /// Session that it tells of.
    pub session_id: String,
    /// Role of its message, where it has one.
    pub role: Option<Role>,
    /// Payload as it is delivered.
    pub payload: Arc<RawValue>,
    /// The session's metadata at the mutation, for filters; not part of the payload (SF-EVT-7).
    pub metadata: Option<Map<String, Value>>,
}

impl Event {
    pub(crate) fn created(payload: &CreatedPayload, metadata: Option<Map<String, Value>>) -> Self {
        Self::new(Trigger::Created, &payload.session_id, None, payload, metadata)
    }

    pub(crate) fn message_added(payload: &MessageAddedPayload, metadata: Option<Map<String, Value>>) -> Self {
        let role = payload.message.value().and_then(role_of);
        Self::new(Trigger::MessageAdded, &payload.session_id, role, payload, metadata)
    }

    pub(crate) fn message_updated(payload: &MessageUpdatedPayload, metadata: Option<Map<String, Value>>) -> Self {
        Self::new(Trigger::MessageUpdated, &payload.session_id, role_of(&payload.message), payload, metadata)
    }

    pub(crate) fn status_changed(payload: &StatusChangedPayload, metadata: Option<Map<String, Value>>) -> Self {
        Self::new(Trigger::StatusChanged, &payload.session_id, None, payload, metadata)
    }

    pub(crate) fn meta_updated(payload: &MetaUpdatedPayload, metadata: Option<Map<String, Value>>) -> Self {
        Self::new(Trigger::MetaUpdated, &payload.session_id, None, payload, metadata)
    }

    pub(crate) fn deleted(payload: &DeletedPayload, metadata: Option<Map<String, Value>>) -> Self {
        Self::new(Trigger::Deleted, &payload.session_id, None, payload, metadata)
    }

    fn new(
        trigger: Trigger,
        session_id: &str,
        role: Option<Role>,
        payload: &impl Serialize,
        metadata: Option<Map<String, Value>>,
    ) -> Self {
        Self { trigger, session_id: session_id.to_owned(), role, payload: raw(payload).into(), metadata }
    }

    /// The envelope of this event (SF-STORE-12).
    pub fn envelope(&self) -> EventEnvelope {
        let payload = serde_json::from_str(self.payload.get()).unwrap_or_default();
        let mut envelope = EventEnvelope::new(self.trigger.id().to_owned(), payload);
        envelope.session_metadata = given(self.metadata.clone());
        envelope
    }

    /// The event in an envelope, if it is one of the six and fits its schema; unknown members of the payload stay behind (SF-STORE-10).
    pub fn open(envelope: EventEnvelope) -> Option<Self> {
        let metadata = taken(envelope.session_metadata);
        macro_rules! known {
            ($($trigger:ident($payload:ty) $make:ident,)*) => {
                match Trigger::of(&envelope.trigger_type)? {
                    $(Trigger::$trigger => {
                        let mut payload: $payload = serde_json::from_value(envelope.payload).ok()?;
                        payload.unknown.clear();
                        Some(Self::$make(&payload, metadata))
                    })*
                    Trigger::Feed => None,
                }
            };
        }
        known! {
            Created(CreatedPayload) created,
            MessageAdded(MessageAddedPayload) message_added,
            MessageUpdated(MessageUpdatedPayload) message_updated,
            StatusChanged(StatusChangedPayload) status_changed,
            MetaUpdated(MetaUpdatedPayload) meta_updated,
            Deleted(DeletedPayload) deleted,
        }
    }
}

/// Role of a message.
pub(crate) fn role_of(message: &AgentMessage) -> Option<Role> {
    match message {
        AgentMessage::User(_) => Some(Role::User),
        AgentMessage::Assistant(_) => Some(Role::Assistant),
        AgentMessage::FunctionResult(_) => Some(Role::FunctionResult),
        AgentMessage::Custom(_) => Some(Role::Custom),
        _ => None, // no other role passes decoding
    }
}

/// The event of an entry that was appended.
pub(crate) fn added(
    session_id: &str,
    entry: &msp_types::session::SessionEntry,
    metadata: Option<Map<String, Value>>,
) -> Event {
    use msp_types::session::SessionEntry;
    let (id, timestamp) = (super::store::id(entry).to_owned(), super::store::timestamp(entry));
    let mut payload = MessageAddedPayload::new(session_id.to_owned(), id, timestamp);
    payload.parent_id = super::members::always(super::store::parent_id(entry).map(ToOwned::to_owned));
    match entry {
        SessionEntry::Message(entry) => {
            payload.message = Presence::Value(entry.message.clone());
            payload.origin = entry.origin.clone();
        }
        SessionEntry::Custom(entry) => {
            payload.custom = Presence::Value(super::service::custom_of(entry));
            payload.origin = entry.origin.clone();
        }
        _ => {}
    }
    Event::message_added(&payload, metadata)
}

/// JSON text of a value of ours. Their maps have text keys and their numbers are JSON's, so it cannot fail.
pub(crate) fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_default()
}
