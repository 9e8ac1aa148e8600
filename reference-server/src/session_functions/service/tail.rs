//! `messages-tail`: the newest blocks of the active path. It is read from the leaf up, no further than the page needs.

use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{MessagesTailRequest, MessagesTailResponse, SessionEntry, TailItem};

use super::path::tail_item;
use super::{Answer, Service, blocks, elide};
use crate::session_functions::failure::Failure;
use crate::session_functions::members::given;
use crate::session_functions::store::{Climb, Store, id};

/// The filtered path from the leaf up.
struct Walk<'a> {
    store: &'a mut dyn Store,
    climb: Climb<'a>,
    custom: bool,
    until: Option<&'a str>,
    /// Seen already, and not yet taken.
    ahead: Option<Arc<SessionEntry>>,
}

impl Walk<'_> {
    /// The next older entry, full.
    fn next(&mut self) -> Answer<Option<Arc<SessionEntry>>> {
        if let Some(entry) = self.ahead.take() {
            return Ok(Some(entry));
        }
        while let Some(entry) = self.climb.entry(self.store)? {
            if self.custom || matches!(&*entry, SessionEntry::Message(_)) {
                self.until = self.until.filter(|until| *until != id(&entry));
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Goes on to behind the block that holds an entry.
    ///
    /// # Errors
    /// `session/invalid_cursor`: it is not on the path.
    fn pass(&mut self, session_id: &str, entry_id: &str) -> Answer<()> {
        let mut current = None;
        while let Some(step) = self.climb.step(self.store)? {
            if self.custom || step.role.is_some() {
                self.until = self.until.filter(|until| *until != step.id);
                if step.id == entry_id {
                    current = Some(step.id);
                    break;
                }
            }
        }
        let Some(current) = current else { return Err(off_path(session_id, entry_id)) };
        let entry = self.store.entry(session_id, &current)?;
        if entry.is_some_and(|entry| blocks::in_run(&entry)) {
            while let Some(entry) = self.next()? {
                if !blocks::in_run(&entry) {
                    self.ahead = Some(entry);
                    break;
                }
            }
        }
        Ok(())
    }
}

fn off_path(session_id: &str, entry_id: &str) -> Failure {
    Failure::cursor(format!("entry `{entry_id}` is not on the path that is read of session `{session_id}`"))
}

impl Service<'_> {
    pub(crate) fn messages_tail(&mut self, request: MessagesTailRequest) -> Answer<MessagesTailResponse> {
        let session_id = &request.session_id;
        self.meta(session_id)?;
        let Some(leaf) = self.store.leaf(session_id)? else {
            return Ok(MessagesTailResponse::new(Vec::new(), false)); // SF-TAIL-8
        };
        let limit = self.limits.page(request.limit.value().copied());
        let mut walk = Walk {
            store: &mut *self.store,
            climb: Climb::new(session_id, Some(leaf)),
            custom: request.include_custom.value() != Some(&false),
            until: request.until_entry_id.value().map(String::as_str),
            ahead: None,
        };
        if let Some(before) = request.before_entry_id.value() {
            walk.pass(session_id, before)?;
        }
        let mut page: Vec<Vec<Arc<SessionEntry>>> = Vec::new(); // both levels newest first
        let mut in_run = false;
        let has_more = loop {
            let full = page.len() >= limit && walk.until.is_none(); // decided before the next entry is looked at
            let Some(entry) = walk.next()? else { break false };
            let member = blocks::in_run(&entry);
            match page.last_mut() {
                Some(run) if in_run && member => run.push(entry),
                _ if full => break true,
                _ => page.push(vec![entry]),
            }
            in_run = member;
        };
        if let Some(until) = walk.until {
            return Err(off_path(session_id, until));
        }
        let image_data = request.include_image_data.value() != Some(&false);
        let rows = rows(page, image_data);
        let oldest = rows.first().map(|row| row.entry_id.clone());
        let mut answer = MessagesTailResponse::new(rows, has_more);
        answer.oldest_entry_id = given(oldest);
        Ok(answer)
    }
}

/// The rows of a page, oldest first, with the members of runs reduced that do not come whole.
fn rows(mut page: Vec<Vec<Arc<SessionEntry>>>, image_data: bool) -> Vec<TailItem> {
    page.reverse();
    let mut rows = Vec::new();
    for mut block in page {
        block.reverse();
        let elided = if blocks::in_run(&block[0]) { blocks::elided(&block) } else { vec![false] };
        for (entry, elided) in block.iter().zip(elided) {
            let mut row = tail_item(entry, image_data);
            if elided {
                if let Presence::Value(message) = &mut row.message {
                    elide::reduce(message);
                }
                row.elided = Presence::Value(true);
            }
            rows.push(row);
        }
    }
    rows
}
