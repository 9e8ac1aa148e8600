//! To whom a notification goes, and whether it is part of the view: what the overlay says.

use std::collections::HashMap;
use std::sync::OnceLock;

use msp_schema::annotations::{Annotations, Delivery};
use msp_schema::published;

/// What kind of notification it is (section 34 of the rules' text).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Part of the view: a cursor, and a source range where it is durable. A method that nobody lists is one too where
    /// it has `sessionId` and `viewCursor` (OPEN-6).
    View,
    /// A cursor, no source range, in no page.
    Ephemeral,
    /// To every connection, outside the view.
    Broadcast,
    /// To the subscribers of a session, outside the view: `view/gap`.
    Subscribers,
    /// To the connection that asked, outside the view.
    Requester,
    /// Of the raw log.
    RawLog,
    /// From the client.
    Client,
    /// Of a method that nobody lists, without a cursor.
    Unlisted,
}

impl Class {
    /// Whether it is a view event: class V or E.
    pub(crate) const fn is_view(self) -> bool {
        matches!(self, Self::View | Self::Ephemeral)
    }
}

/// Class of a method, and whether it is protected; `item/started` is called a view event here, as it mostly is one.
pub(crate) fn of(method: &str) -> Option<(Class, bool)> {
    static CLASSES: OnceLock<HashMap<String, (Class, bool)>> = OnceLock::new();
    let classes = CLASSES.get_or_init(|| {
        // A packaged overlay that cannot be read is an error of the library, which says so before anything is judged.
        let Ok(annotations) = Annotations::parse(published::ANNOTATIONS) else { return HashMap::new() };
        annotations
            .entries()
            .filter_map(|(pointer, entry)| {
                let method = pointer.strip_prefix("/notifications/")?.replace("~1", "/");
                let class = match entry.classes.first()? {
                    Delivery::View => Class::View,
                    Delivery::Ephemeral => Class::Ephemeral,
                    Delivery::Broadcast => Class::Broadcast,
                    Delivery::Subscribers => Class::Subscribers,
                    Delivery::Requester => Class::Requester,
                    Delivery::RawLog => Class::RawLog,
                    Delivery::Client => Class::Client,
                };
                Some((method, (class, entry.protected == Some(true))))
            })
            .collect()
    });
    classes.get(method).copied()
}
