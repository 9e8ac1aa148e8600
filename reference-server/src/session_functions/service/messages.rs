//! `messages`, `messages-range`, `get-message`.

use std::collections::{HashMap, HashSet};

use msp_types::session::{
    GetMessageRequest, GetMessageResponse, GetMessageResponseBody, MessagesRangeRequest, MessagesRangeResponse,
    MessagesRequest, MessagesResponse, SessionEntry,
};

use super::path::{behind, blank_images, message_item, tail_item};
use super::{Answer, Service, cursor, normal};
use crate::session_functions::failure::Failure;
use crate::session_functions::members::given;
use crate::session_functions::store::{Climb, Step};

/// What of the active path is asked for.
enum Selection<'a> {
    Span(&'a str, &'a str),
    List(&'a [String]),
}

impl Service<'_> {
    pub(crate) fn get_message(&mut self, request: GetMessageRequest) -> Answer<GetMessageResponse> {
        let known = self.store.meta(&request.session_id)?.is_some();
        let entry = if known { self.store.entry(&request.session_id, &request.entry_id)? } else { None };
        let mut entry = entry.map(|entry| SessionEntry::clone(&entry));
        if let (Some(SessionEntry::Message(entry)), Some(false)) = (&mut entry, request.include_image_data.value())
            && let Some(blocks) = normal::content_of(&mut entry.message)
        {
            blank_images(blocks);
        }
        Ok(GetMessageResponse(entry.map(GetMessageResponseBody::new)))
    }

    pub(crate) fn messages(&mut self, request: MessagesRequest) -> Answer<MessagesResponse> {
        let session_id = &request.session_id;
        self.meta(session_id)?;
        let end = match request.from_entry_id.value() {
            Some(from) if self.store.step(session_id, from)?.is_none() => {
                return Err(Failure::no_entry(session_id, from));
            }
            Some(from) => Some(from.clone()),
            None => self.store.leaf(session_id)?,
        };
        let Some(end) = end else {
            return Ok(MessagesResponse::new(Vec::new())); // SF-MSGS-7
        };
        let mut path = self.chain(session_id, end)?;
        let custom = request.include_custom.value() == Some(&true);
        path.retain(|step| match (request.roles.value(), &step.role) {
            (Some(roles), role) => role.as_ref().is_some_and(|role| roles.contains(role)),
            (None, Some(_)) => true,
            (None, None) => custom,
        });
        let ids = path.iter().map(|step| step.id.as_str());
        let start = match (request.cursor.value(), request.after_entry_id.value()) {
            (Some(text), _) => behind(ids, &cursor::in_path(text)?)?,
            (None, Some(after)) => behind(ids, after)?,
            (None, None) => 0,
        };
        let image_data = request.include_image_data.value() != Some(&false);
        let end = path.len().min(start + self.limits.page(request.limit.value().copied()));
        let mut rows = Vec::with_capacity(end - start);
        for step in &path[start..end] {
            rows.push(message_item(&*self.entry_on_path(session_id, &step.id)?, image_data));
        }
        let mut answer = MessagesResponse::new(rows);
        answer.next_cursor = given((end < path.len()).then(|| cursor::of_path(&path[end - 1].id)));
        Ok(answer)
    }

    pub(crate) fn messages_range(&mut self, request: MessagesRangeRequest) -> Answer<MessagesRangeResponse> {
        let session_id = &request.session_id;
        self.meta(session_id)?;
        let (from, to) = (request.from_entry_id.value(), request.to_entry_id.value());
        let selection = match (from, to, request.entry_ids.value()) {
            (Some(from), Some(to), None) => Selection::Span(from, to),
            (None, None, Some(ids)) => Selection::List(ids),
            _ => {
                let text = "give either `from_entry_id` with `to_entry_id`, or `entry_ids`";
                return Err(Failure::invalid(text));
            }
        };
        let selected = self.selected(session_id, &selection)?;
        let start = match request.cursor.value() {
            Some(text) => behind(selected.iter().map(|step| step.id.as_str()), &cursor::in_path(text)?)?,
            None => 0,
        };
        let image_data = request.include_image_data.value() != Some(&false);
        let end = selected.len().min(start + self.limits.page(request.limit.value().copied()));
        let mut rows = Vec::with_capacity(end - start);
        for step in &selected[start..end] {
            rows.push(tail_item(&*self.entry_on_path(session_id, &step.id)?, image_data));
        }
        let mut answer = MessagesRangeResponse::new(rows);
        answer.next_cursor = given((end < selected.len()).then(|| cursor::of_path(&selected[end - 1].id)));
        Ok(answer)
    }

    /// The chosen entries of the active path, oldest first.
    ///
    /// # Errors
    /// An id is unknown in the session, or on another branch (SF-RANGE-4); a span runs backwards (SF-RANGE-2).
    fn selected(&mut self, session_id: &str, selection: &Selection<'_>) -> Answer<Vec<Step>> {
        let ids: Vec<&str> = match selection {
            Selection::Span(from, to) => vec![from, to],
            Selection::List(ids) => ids.iter().map(String::as_str).collect(),
        };
        for id in &ids {
            if self.store.step(session_id, id)?.is_none() {
                return Err(Failure::no_entry(session_id, id));
            }
        }
        // From the leaf up, no further than the oldest one asked for.
        let mut missing: HashSet<&str> = ids.iter().copied().collect();
        let mut climb = Climb::new(session_id, self.store.leaf(session_id)?);
        let mut path = Vec::new();
        while !missing.is_empty() {
            let Some(step) = climb.step(self.store)? else { break };
            missing.remove(step.id.as_str());
            path.push(step);
        }
        if let Some(id) = ids.iter().find(|id| missing.contains(*id)) {
            return Err(Failure::cursor(format!("entry `{id}` is not on the active path of session `{session_id}`")));
        }
        path.reverse();
        let places: HashMap<&str, usize> =
            path.iter().enumerate().map(|(place, step)| (step.id.as_str(), place)).collect();
        let chosen: Vec<usize> = match selection {
            Selection::Span(from, to) if places[from] > places[to] => {
                return Err(Failure::invalid(format!("entry `{from}` comes after `{to}` on the path")));
            }
            Selection::Span(from, to) => (places[from]..=places[to]).collect(),
            Selection::List(_) => {
                let mut chosen: Vec<usize> =
                    places.into_iter().filter(|(id, _)| ids.contains(id)).map(|(_, place)| place).collect();
                chosen.sort_unstable();
                chosen
            }
        };
        Ok(chosen.into_iter().map(|place| path[place].clone()).collect())
    }
}
