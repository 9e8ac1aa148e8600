//! Makes long sessions without a host: their log as a host would have written it, in a moment.

use std::path::Path;
use std::sync::Arc;

use msp_reference_server::log::layer::Layer;
use msp_reference_server::record::{Body, Record, StreamPosition, VERSION};
use msp_reference_server::state::Header;
use msp_reference_server::store::Store;
use serde_json::{Value, json};

/// What the events are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A turn of 10,000 events, most of them revisions of one call.
    FewItems,
    /// A turn of four events: start, prompt, reply, end.
    ManyItems,
}

/// When the first record was made: 2026-01-01T00:00:00Z.
const BEGINNING_MS: i64 = 1_767_225_600_000;
const SESSION: &str = "0198f0ab-0000-7000-8000-00000000aaaa";

struct Maker {
    records: Vec<Record>,
    sequence: u64,
    of_session: u64,
    of_turn: u64,
    events: u64,
}

impl Maker {
    fn put(&mut self, turn: Option<&str>, body: Body) {
        self.sequence += 1;
        self.events += u64::from(matches!(body, Body::View { .. }));
        let (kind, id, count) = match turn {
            Some(turn) => ("run", turn, &mut self.of_turn),
            None => ("session", SESSION, &mut self.of_session),
        };
        *count += 1;
        let stream = StreamPosition { kind: kind.to_owned(), id: id.to_owned(), sequence: *count, since: None };
        let record_id = uuid('e', self.sequence);
        let at = BEGINNING_MS + i64::try_from(self.sequence).unwrap();
        self.records.push(Record { v: VERSION, more: false, sequence: self.sequence, id: record_id, at, stream, body });
    }

    fn event(&mut self, turn: Option<&str>, method: &str, params: Value) {
        self.put(turn, Body::View { method: method.to_owned(), params });
    }

    fn turn(&mut self, shape: Shape, events: u64) {
        let turn = uuid('a', self.sequence + 1);
        self.of_turn = 0;
        self.event(Some(&turn), "turn/started", json!({ "turnId": turn, "commandId": turn }));
        let item = |at: u64, kind: &str, status: &str, revision: u64, member: &str| {
            json!({ "itemId": uuid('b', at), "kind": kind, "revision": revision, "status": status, "turnId": turn,
                member: format!("some words of the {kind}, which is number {at}") })
        };
        let mut prompt = item(self.sequence, "userMessage", "completed", 1, "text");
        prompt["commandId"] = turn.as_str().into();
        self.event(Some(&turn), "item/completed", json!({ "item": prompt }));
        let of_call = self.sequence;
        let call = |revision: u64, status: &str| {
            let mut call = item(of_call, "toolCall", status, revision, "visibleOutput");
            call["tool"] = "shell".into();
            call["callId"] = "call".into();
            call["args"] = "{}".into();
            json!({ "item": call })
        };
        if shape == Shape::FewItems {
            self.event(None, "item/started", call(1, "inProgress"));
            let revisions = 9_993.min(events.saturating_sub(7).max(1));
            for revision in 0..revisions {
                self.event(None, "item/updated", call(revision + 2, "inProgress"));
            }
            self.event(None, "item/completed", call(revisions + 2, "completed"));
        }
        let reply = item(self.sequence, "agentMessage", "completed", 1, "text");
        self.event(Some(&turn), "item/completed", json!({ "item": reply }));
        self.event(Some(&turn), "turn/completed", json!({ "turnId": turn, "terminal": "completed", "durationMs": 5 }));
    }
}

fn uuid(kind: char, number: u64) -> String {
    format!("0198f0ab-0000-7000-8000-{kind}{number:011x}")
}

/// Writes a log with at least so many view events below a root; gives the id of its session.
pub(crate) fn make(layer: &Arc<dyn Layer>, root: &Path, shape: Shape, events: u64) -> &'static str {
    let store = Store::new(Arc::clone(layer), root.to_owned());
    let mut log = store.create(SESSION, BEGINNING_MS).unwrap();
    let header = Header {
        session_id: SESSION.to_owned(),
        created_at: BEGINNING_MS,
        model_id: Some("scripted-1".to_owned()),
        provider_id: Some("scripted".to_owned()),
        approval_mode: "promptUnmatched".to_owned(),
        kind: "root".to_owned(),
        ..Header::default()
    };
    let mut maker = Maker { records: Vec::new(), sequence: 0, of_session: 0, of_turn: 0, events: 0 };
    maker.put(None, Body::Created(Box::new(header)));
    while maker.events < events {
        maker.turn(shape, events - maker.events);
        if maker.records.len() > 10_000 || maker.events >= events {
            log.append(&std::mem::take(&mut maker.records)).unwrap();
        }
    }
    log.release().unwrap();
    SESSION
}
