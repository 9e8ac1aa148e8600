//! One entry of the overlay: everything that may be said about a place of a bundle.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Surface;

/// What the overlay says about one place. What a kind of place has no use for is empty there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Entry {
    /// Where the target exists: `stable` means on both surfaces.
    pub surface: Surface,
    /// Text of an enum value, an error or a capability, for which a bundle has no room.
    pub description: Option<String>,
    /// What else is to be known, or what is not known.
    pub note: Option<String>,
    /// What the entry rests on: rules, observations, published texts.
    pub basis: Option<String>,
    /// A condition of the place beyond the experimental opt-in.
    pub condition: Option<String>,
    /// How a host names the place when it refuses it for want of the opt-in.
    pub descriptor: Option<Descriptor>,
    /// Definitions: what it is, for one that the tables do not reach.
    pub root: Option<String>,
    /// Methods: what it does to the host.
    pub role: Option<Role>,
    /// Notifications and host requests: who sends it.
    pub direction: Option<Direction>,
    /// Notifications and host requests: who receives it, and whether it is paged. More than one where it varies.
    #[serde(default)]
    pub classes: Vec<Delivery>,
    /// Notifications and host requests: whether it may never be dropped. None where that is unknown.
    pub protected: Option<bool>,
    /// Members of `Item`: the kinds that may carry it, and when. `*` stands for all kinds.
    #[serde(default)]
    pub item_kinds: BTreeMap<String, Presence>,
    /// Errors: the kind of the row.
    pub error_kind: Option<String>,
    /// Errors: members of the data of that kind.
    pub data: Option<ErrorDataMembers>,
    /// Errors: what holds for the kinds that may stand instead.
    #[serde(default)]
    pub override_kinds: BTreeMap<String, OverrideKind>,
    /// Capabilities: what a grant opens.
    #[serde(default)]
    pub opens: Vec<Gate>,
    /// Capabilities: code that refuses the use without a grant; none where nothing is refused.
    pub refusal: Option<i64>,
    /// Methods: what is gated although the bundle does not list it.
    #[serde(default)]
    pub unlisted: Vec<UnlistedGate>,
    /// Strings without an enum: words that were seen. Others are legal.
    #[serde(default)]
    pub known_values: Vec<String>,
    /// Bare objects: what is really there.
    pub carries: Option<Carries>,
}

impl Entry {
    /// Whether the target exists on a surface.
    pub fn is_on(&self, surface: Surface) -> bool {
        self.surface == Surface::Stable || surface == Surface::Experimental
    }

    /// When an item of a kind carries the member; none where it never does.
    pub fn presence(&self, item_kind: &str) -> Option<Presence> {
        self.item_kinds.get(item_kind).or_else(|| self.item_kinds.get("*")).copied()
    }
}

/// The name by which a host refuses a gated place, in `data.descriptor`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Descriptor {
    /// Such as `turn/start.tokenBudget`.
    pub name: String,
    /// How sure it is.
    pub basis: DescriptorBasis,
}

/// How sure a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DescriptorBasis {
    /// It was published.
    Published,
    /// It follows from the pattern of the published ones.
    Inferred,
}

/// What a method does to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Opens the connection.
    Handshake,
    /// Changes something, with a command id that makes it safe to repeat.
    Command,
    /// Reads.
    Query,
    /// Changes something without a command id.
    Other,
}

/// Who sends a notification or request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// The host.
    HostToClient,
    /// The client.
    ClientToHost,
}

/// Who receives a notification or host request, and whether it is part of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Delivery {
    /// Subscribers; it has a cursor and a source range and is paged.
    View,
    /// Subscribers; it has a cursor, no source range and is never paged.
    Ephemeral,
    /// Every initialized connection.
    Broadcast,
    /// Subscribers, outside the view.
    Subscribers,
    /// The connection that asked.
    Requester,
    /// The owner of one raw-log subscription.
    RawLog,
    /// The host.
    Client,
}

/// When an item of a kind carries a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// On every item of the kind.
    Always,
    /// On every item seen; no text makes it compulsory.
    Expected,
    /// May be there.
    Optional,
    /// Under the condition that the note names.
    Conditional,
    /// Only while the item is in progress.
    OpenOnly,
    /// Never while the item is in progress; may be missing later.
    TerminalOnly,
    /// Never while the item is in progress, always once it has ended.
    TerminalAlways,
    /// From some revision on, then never gone.
    OnceSet,
    /// True or absent, never false.
    TrueOrAbsent,
    /// Only where a durable record stands behind the item.
    DurableOnly,
}

/// Members of error data for one kind. A member in neither list does not belong to the kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ErrorDataMembers {
    /// On every error of the kind.
    pub always: Vec<String>,
    /// May be there; the note says when.
    pub optional: Vec<String>,
    /// Those of `always` that are null, not absent, where there is no value.
    pub nullable: Vec<String>,
    /// What this rests on.
    pub basis: String,
    /// What else is to be known.
    pub note: Option<String>,
}

/// What holds for a kind that stands in place of a row's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OverrideKind {
    /// When it is sent and what to do about it.
    pub description: String,
    /// Members of its data.
    pub data: ErrorDataMembers,
}

/// What a capability opens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Gate {
    /// Pointer to a method, notification or host request.
    pub at: String,
    /// A member of its params, dotted where nested; none for the whole method.
    pub member: Option<String>,
    /// `present` or `absent`: when the gate applies.
    pub when: Option<String>,
}

/// Something gated that the bundle does not list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct UnlistedGate {
    /// A member of the params, dotted, with `[]` for the elements of a list.
    pub member: String,
    /// `present`, or the value that is gated.
    pub when: String,
    /// The descriptor of the refusal, where it has one.
    pub descriptor: Option<String>,
    /// The answer without the experimental opt-in.
    pub without_opt_in: String,
    /// The answer with it.
    pub with_opt_in: String,
    /// Rules that say so.
    pub rules: Vec<String>,
    /// What else is to be known.
    pub note: Option<String>,
}

/// What really is where the bundle says "an object".
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Carries {
    /// How the value is typed.
    #[serde(flatten)]
    pub what: Carried,
    /// The same in words.
    pub note: String,
}

/// How the value at a place is typed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "by", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Carried {
    /// The params of the notification that a member beside it names.
    Notification {
        /// The naming member.
        name: String,
        /// Only notifications of these classes belong here; all where there is none.
        #[serde(default)]
        classes: Vec<Delivery>,
    },
    /// The params of the method or host request that a member beside it names.
    Request {
        /// The naming member.
        name: String,
    },
    /// The result of the method or host request whose id stands in a member beside it.
    Response {
        /// The member with the id.
        name: String,
    },
    /// A value of a definition.
    #[serde(rename_all = "camelCase")]
    Definition {
        /// Its name.
        definition: String,
        /// A value with this word as a member's name or string at its top is something else, and not judged.
        unless_marked: Option<String>,
    },
    /// An object of a shape that nobody published.
    Unknown,
    /// An object without members.
    Nothing,
}
