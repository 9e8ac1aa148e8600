//! What a bundle cannot say: the overlay `msp/annotations.json`, and how to read it.
//!
//! Keys are JSON Pointers into the experimental bundle, with names where it has lists ([`crate::pointer`]).
//! `schema/README.md` describes the file.

mod entry;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

pub use self::entry::{
    Carried, Carries, Delivery, Descriptor, DescriptorBasis, Direction, Entry, ErrorDataMembers, Gate, OverrideKind,
    Presence, Role, UnlistedGate,
};
use crate::bundle::from_json;
use crate::{SchemaError, Surface, pointer, published};

/// An overlay.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    host_version: String,
    words: BTreeMap<String, BTreeMap<String, String>>,
    entries: BTreeMap<String, Entry>,
}

impl Annotations {
    /// Reads the text of an overlay.
    ///
    /// # Errors
    /// `Json` for a text that is no overlay; unknown members of an entry are refused, since they are typing errors.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        from_json(text, "the given text")
    }

    /// The overlay of this crate, read once per process.
    #[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "the text is embedded and a test reads it")]
    pub fn published() -> &'static Self {
        static PUBLISHED: OnceLock<Annotations> = OnceLock::new();
        PUBLISHED.get_or_init(|| Self::parse(published::ANNOTATIONS).expect("the embedded overlay is whole"))
    }

    /// The release it was written for.
    pub fn host_version(&self) -> &str {
        &self.host_version
    }

    /// What the fixed words of the overlay mean: word, then meaning, by group (`presence`, `deliveryClasses`, …).
    pub fn words(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        &self.words
    }

    /// All entries, sorted by pointer.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(pointer, entry)| (pointer.as_str(), entry))
    }

    /// The entries whose target exists on a surface.
    pub fn entries_of(&self, surface: Surface) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries().filter(move |(_, entry)| entry.is_on(surface))
    }

    /// The entry with a pointer.
    pub fn entry(&self, pointer: &str) -> Option<&Entry> {
        self.entries.get(pointer)
    }

    /// The entry of a definition.
    pub fn definition(&self, name: &str) -> Option<&Entry> {
        self.entry(&pointer::of(&["$defs", name]))
    }

    /// The entry of a member of a definition.
    pub fn member(&self, definition: &str, member: &str) -> Option<&Entry> {
        self.entry(&pointer::of(&["$defs", definition, "properties", member]))
    }

    /// The entry of a value of an enum.
    pub fn enum_value(&self, definition: &str, value: &str) -> Option<&Entry> {
        self.entry(&pointer::of(&["$defs", definition, "enum", value]))
    }

    /// The entry of a method.
    pub fn method(&self, name: &str) -> Option<&Entry> {
        self.entry(&pointer::of(&["methods", name]))
    }

    /// The entry of a notification.
    pub fn notification(&self, name: &str) -> Option<&Entry> {
        self.entry(&pointer::of(&["notifications", name]))
    }

    /// The entry of a host request.
    pub fn request(&self, name: &str) -> Option<&Entry> {
        self.entry(&pointer::of(&["requests", name]))
    }

    /// The entry of a row of the error registry.
    pub fn error(&self, code: i64) -> Option<&Entry> {
        self.entry(&pointer::of(&["errors", &code.to_string()]))
    }

    /// The entry of a capability.
    pub fn capability(&self, name: &str) -> Option<&Entry> {
        self.entry(&pointer::of(&["capabilities", name]))
    }

    /// The direction of a notification or host request. Whatever the overlay does not name comes from the host: a
    /// client has no way to announce a notification of its own.
    pub fn direction(&self, name: &str) -> Direction {
        let entry = self.notification(name).or_else(|| self.request(name));
        entry.and_then(|entry| entry.direction).unwrap_or(Direction::HostToClient)
    }

    /// Definitions that the tables do not reach, by nature and not by mistake, with what each is.
    pub fn roots(&self, surface: Surface) -> impl Iterator<Item = (&str, &str)> {
        self.entries_of(surface)
            .filter_map(|(pointer, entry)| Some((pointer.strip_prefix("/$defs/")?, entry.root.as_deref()?)))
    }

    /// Places where the bundle says only "an object", with what is really there.
    pub fn carries(&self, surface: Surface) -> impl Iterator<Item = (&str, &Carries)> {
        self.entries_of(surface).filter_map(|(pointer, entry)| Some((pointer, entry.carries.as_ref()?)))
    }

    /// The members of error data for a kind, override kinds included: every row that gives them, with its code. A kind
    /// may override several rows.
    pub fn error_data(&self, kind: &str) -> impl Iterator<Item = (i64, &ErrorDataMembers)> {
        self.entries().filter_map(move |(pointer, entry)| {
            let code = pointer.strip_prefix("/errors/")?.parse().ok()?;
            let own = entry.data.as_ref().filter(|_| entry.error_kind.as_deref() == Some(kind));
            own.or_else(|| entry.override_kinds.get(kind).map(|row| &row.data)).map(|data| (code, data))
        })
    }
}
