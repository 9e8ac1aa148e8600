//! Paths: the chain of parents from a leaf to the root, and rows made of its entries.

use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{ContentBlock, CustomPayload, MessageItem, SessionEntry, TailItem};

use super::{Answer, Service, custom_of, normal};
use crate::session_functions::failure::Failure;
use crate::session_functions::store::{Climb, Step, StoreError, id};

impl Service<'_> {
    /// The chain from the root to an entry.
    ///
    /// # Errors
    /// `session/storage`: the chain is broken.
    pub(super) fn chain(&mut self, session_id: &str, to: String) -> Answer<Vec<Step>> {
        let mut climb = Climb::new(session_id, Some(to));
        let mut steps = Vec::new();
        while let Some(step) = climb.step(self.store)? {
            steps.push(step);
        }
        steps.reverse();
        Ok(steps)
    }

    /// An entry of a path that was just read.
    ///
    /// # Errors
    /// `session/storage`: it is gone.
    pub(super) fn entry_on_path(&mut self, session_id: &str, entry_id: &str) -> Answer<Arc<SessionEntry>> {
        let missing = || StoreError::MissingEntry { session_id: session_id.to_owned(), entry_id: entry_id.to_owned() };
        Ok(self.store.entry(session_id, entry_id)?.ok_or_else(missing)?)
    }
}

/// Where a page starts: behind the entry that a cursor or an anchor names.
///
/// # Errors
/// `session/invalid_cursor`: the entry is not there.
pub(super) fn behind<'a>(mut ids: impl Iterator<Item = &'a str>, entry_id: &str) -> Answer<usize> {
    let place = ids.position(|id| id == entry_id);
    Ok(place.ok_or_else(|| Failure::cursor(format!("entry `{entry_id}` is not among what is read")))? + 1)
}

/// A row of `messages`.
pub(super) fn message_item(entry: &SessionEntry, image_data: bool) -> MessageItem {
    let mut item = MessageItem::new(id(entry).to_owned());
    match entry {
        SessionEntry::Message(entry) => {
            let mut message = entry.message.clone();
            if let (false, Some(blocks)) = (image_data, normal::content_of(&mut message)) {
                blank_images(blocks);
            }
            item.message = Presence::Value(message);
            item.origin = entry.origin.clone();
        }
        SessionEntry::Custom(entry) => item.custom = Presence::<CustomPayload>::Value(custom_of(entry)),
        _ => {}
    }
    item
}

/// A row of `messages-tail` and `messages-range`, not elided.
pub(super) fn tail_item(entry: &SessionEntry, image_data: bool) -> TailItem {
    let row = message_item(entry, image_data);
    let mut item = TailItem::new(row.entry_id);
    item.message = row.message;
    item.custom = row.custom;
    item.origin = row.origin;
    item
}

/// Empties the data of images that have a stored original, nested ones too (SF-IMG-2).
pub(super) fn blank_images(blocks: &mut [ContentBlock]) {
    for block in blocks {
        match block {
            ContentBlock::Image(image) if image.attachment_id.value().is_some() => image.data.clear(),
            ContentBlock::FunctionResult(result) => blank_images(&mut result.content),
            _ => {}
        }
    }
}
