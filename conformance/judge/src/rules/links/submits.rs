//! The message of a submit (ITEM-12): what the client sent, as the view shows it.

use super::{ITEM_12, Links, Session, fail};
use crate::facts::{Answer, Event, Id, Request, Sighting, Value};
use crate::rules::out::Out;

/// Submits of a session that are remembered without a message.
const MOST_SUBMITS: usize = 1024;

/// What a client submitted.
pub(super) struct Submit {
    line: u64,
    /// The one text, where there is one part of text and no skill.
    text: Option<Id>,
    display: Option<Id>,
    images: usize,
    /// Whether it was taken into a running turn; nothing while that is not known.
    steered: Option<bool>,
    /// Line where it was taken back, and accepted.
    retracted: Option<u64>,
}

impl Links {
    /// Remembers a submit.
    pub(super) fn submitted(&mut self, request: &Request<'_>) {
        let (Some(session), Some(command)) = (request.session, request.command) else { return };
        let submits = &mut self.sessions.entry(session).or_default().submits;
        // A replay says nothing new, and a shell command makes no message.
        if submits.contains_key(&command) || request.param("userShell").is_some() || submits.len() >= MOST_SUBMITS {
            return;
        }
        let parts: Vec<Value<'_>> = request.param("input").iter().flat_map(Value::items).collect();
        let of = |kind: &str| parts.iter().filter(|part| part.get("type").is_some_and(|it| it.is(kind))).count();
        let text = parts.iter().find_map(|part| part.id_of("text")).filter(|_| of("text") == 1 && of("skill") == 0);
        let submit = Submit {
            line: request.at.line,
            text,
            display: request.param("displayText").and_then(|it| it.id()),
            images: of("image"),
            steered: (request.at.method == "turn/steer").then_some(true),
            retracted: None,
        };
        submits.insert(command, submit);
    }

    /// Remembers what became of a submit; one that was refused makes no message.
    pub(super) fn acked(&mut self, answer: &Answer<'_>) {
        let (Some(session), Some(command)) = (answer.session, answer.request.command) else { return };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        let Some(submit) = state.submits.get_mut(&command).filter(|submit| submit.line == answer.request.line) else {
            return;
        };
        match answer.result().and_then(|result| result.text_of("disposition")).as_deref() {
            Some("started" | "queued") => submit.steered = Some(false),
            // Of a steer by `turn/start`, TURN-9 says what its message has.
            _ if answer.result().is_none() => drop(state.submits.remove(&command)),
            _ => {}
        }
    }

    /// Remembers that a submit was taken back.
    pub(super) fn taken_back(&mut self, event: &Event<'_>, session: Id) {
        let declined = event.param("outcome").is_some_and(|outcome| outcome.is("declined"));
        let command = event.param("commandId").and_then(|it| it.id());
        let submit = self.sessions.get_mut(&session).and_then(|state| state.submits.get_mut(&command?));
        if let Some(submit) = submit.filter(|_| !declined) {
            submit.retracted.get_or_insert(event.at.line);
        }
    }
}

impl Session {
    /// ITEM-12: the message against the submit.
    pub(super) fn message(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let item = sighting.item;
        let Some(command) = item.id_of("commandId") else {
            out.violated(ITEM_12, sighting, "").expected("a `commandId`").actual("none").warn().done();
            return;
        };
        let Some(submit) = self.submits.get(&command) else { return };
        out.exercised(ITEM_12);
        let line = submit.line;
        let mut differ = |below: &str, expected: &str, actual: Option<Value<'_>>| {
            let actual = actual.map_or_else(|| "none".to_owned(), |value| value.shown());
            out.violated(ITEM_12, sighting, below).expected(expected).actual(actual).contradicts(line).done();
        };
        let text = item.get("text");
        if submit.text.is_some() && text.and_then(|it| it.id()) != submit.text {
            differ("/text", "the text that was submitted", text);
        }
        let display = item.get("displayText");
        if display.and_then(|it| it.id()) != submit.display {
            let expected = if submit.display.is_some() { "the one that was submitted" } else { "none" };
            differ("/displayText", expected, display);
        }
        if item.get("steered").and_then(|it| it.bool()) == Some(true) && submit.steered == Some(false) {
            differ("/steered", "nothing, since the submit made a turn of its own", item.get("steered"));
        }
        let attachments = item.get("attachments");
        let count = attachments.map_or(0, |it| it.items().count());
        if count != submit.images {
            differ("/attachments", &format!("{}, one for each image", submit.images), attachments);
        }
        let id = item.text_of("itemId").unwrap_or_default();
        for (number, attachment) in (1..).zip(attachments.iter().flat_map(Value::items)) {
            let expected = format!("{id}/{number}");
            if let Some(named) = attachment.get("attachmentId").filter(|named| !named.is(&expected)) {
                let below = format!("/attachments/{}/attachmentId", number - 1);
                fail(ITEM_12, sighting, &below, &format!("\"{expected}\""), Some(named), out);
            }
        }
    }
}
