//! `session/fork` copies a log through a cut; `session/sideChat` opens an empty session beside a loaded one (FORK).

use std::sync::Arc;

use msp_types::Call as _;
use msp_types::msp::methods::{SessionFork, SessionSideChat};
use msp_types::msp::{
    HistoryPreference, SessionForkParams, SessionForkResult, SessionSideChatParams, SessionSideChatResult, errors,
};
use serde_json::{Value, json};

use super::birth::{Labour, give_birth};
use crate::commands::{HostCall, HostMethod, Reply};
use crate::decision::{Draft, Stream};
use crate::fold::ViewEvent;
use crate::items;
use crate::log::{Line, Log};
use crate::record::{Body, Record};
use crate::refusal::Refusal;
use crate::session::{Core, Loaded};
use crate::state::{Header, State};
use crate::view::history::{self, Wanted};

impl HostMethod for SessionFork {
    fn serve(params: SessionForkParams, call: &HostCall<'_>) -> Result<Reply<SessionForkResult>, Refusal> {
        let labour = Labour::new(Self::NAME, &params.command_id, &params)?;
        let excluded = params.exclude_items == Some(true);
        if let Some(mut result) = labour.replay(call, |core| answer(core, excluded))? {
            call.caller.connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
            return Ok(Reply::Sent);
        }
        let explicit = params.cut_point.as_ref().map(|cut| cut.last_turn_id.as_str());
        let readable = call.host.readable(&params.session_id)?;
        let (header, drafts) = {
            let held = readable.hold();
            let cut = cut(held.state(), explicit)?;
            let forked_from = json!({
                "commandId": params.command_id, "sessionId": params.session_id,
                "cutCursor": format!("cut-{cut}"), "cutExplicit": explicit.is_some(),
            });
            let header = Header { forked_from: Some(forked_from), ..heir(held.state(), call, &labour) };
            (header, copy(held.log(), cut)?)
        };
        let loaded = give_birth(call.host, header, drafts)?;
        open(call, &labour, &loaded, excluded)?;
        Ok(Reply::Sent)
    }
}

impl HostMethod for SessionSideChat {
    fn serve(params: SessionSideChatParams, call: &HostCall<'_>) -> Result<Reply<SessionSideChatResult>, Refusal> {
        let labour = Labour::new(Self::NAME, &params.command_id, &params)?;
        if let Some(mut result) = labour.replay(call, |core| answer(core, false))? {
            let events = show_side(call, &params, result["session"]["sessionId"].as_str().unwrap_or_default())?;
            call.caller.connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
            call.host.loaded(&params.session_id)?.core().deliver(&events);
            return Ok(Reply::Sent);
        }
        let parent = call.host.loaded(&params.session_id)?;
        let header = {
            let core = parent.core();
            let side_from = json!({
                "commandId": params.command_id, "sessionId": params.session_id,
                "cutCursor": format!("cut-{}", core.state.newest_event),
            });
            Header { side_from: Some(side_from), ..heir(&core.state, call, &labour) }
        };
        let side_id = header.session_id.clone();
        let loaded = give_birth(call.host, header, Vec::new())?;
        let events = show_side(call, &params, &side_id)?;
        open(call, &labour, &loaded, false)?;
        parent.core().deliver(&events);
        Ok(Reply::Sent)
    }
}

/// Writes the item down that shows a side chat in its parent, unless it is there; it is told behind the answer.
fn show_side(call: &HostCall<'_>, params: &SessionSideChatParams, side_id: &str) -> Result<Vec<ViewEvent>, Refusal> {
    let parent = call.host.loaded(&params.session_id)?;
    let mut core = parent.core();
    if core.state.items.iter().any(|item| item.get("sideSessionId").is_some_and(|id| id == side_id)) {
        return Ok(Vec::new());
    }
    let item_id = call.host.mint.lock().uuid();
    let members = json!({ "sideSessionId": side_id });
    core.commit(vec![items::start(&items::new(&item_id, "sideChat", None, members))])
}

/// Tells of a new session and answers with its envelope.
fn open(call: &HostCall<'_>, labour: &Labour, loaded: &Arc<Loaded>, excluded: bool) -> Result<(), Refusal> {
    let mut core = loaded.core();
    let result = answer(&core, excluded);
    labour.settle(call.host, &mut core, &result)?;
    call.host.broadcast("session/started", &json!({ "session": result["session"] }));
    call.caller.connection.respond_to(labour.method, call.id, &mut result.clone(), &call.caller.handshake);
    let head = core.state.head;
    core.attach(&call.caller.connection, head);
    core.tell_list();
    Ok(())
}

/// The envelope of a session that comes from another.
fn answer(core: &Core, excluded: bool) -> Value {
    let wanted = Wanted { preference: HistoryPreference::Auto, excluded, frame_limit: core.host.config.frame_limit };
    let mut envelope = history::envelope(&core.state, history::history(&core.state, &wanted));
    envelope.remove("lastTurn"); // the types of fork and side chat have none
    envelope.insert("session".to_owned(), core.session());
    Value::Object(envelope)
}

/// The header of a session that comes from another.
fn heir(state: &State, call: &HostCall<'_>, labour: &Labour) -> Header {
    let mut mint = call.host.mint.lock();
    Header {
        session_id: mint.uuid(),
        created_at: mint.now_ms(),
        command: Some(labour.mark()),
        forked_from: None,
        side_from: None,
        parent_session_id: None,
        kind: "root".to_owned(),
        client: Some(call.caller.handshake.client.clone()),
        model_id: state.model_id(),
        provider_id: state.provider_id(),
        ..state.header.clone()
    }
}

/// The last record that belongs to the cut: that of the turn's end (FORK-1, FORK-2).
fn cut(state: &State, last_turn_id: Option<&str>) -> Result<u64, Refusal> {
    match last_turn_id {
        None => Ok(state.turns.ended.values().map(|end| end.sequence).max().unwrap_or(0)),
        Some(turn_id) => state.turns.ended.get(turn_id).map(|end| end.sequence).ok_or_else(|| {
            Refusal::new(errors::FORK_BOUNDARY_INVALID, format!("turn `{turn_id}` is unknown or has not ended"))
                .with("sessionId", state.header.session_id.as_str())
                .with("lastTurnId", turn_id)
        }),
    }
}

/// What of a log goes into a fork: what was shown and stored, and nothing of commands, queues and prompts that are still open.
fn copy(log: &Log, cut: u64) -> Result<Vec<Draft>, Refusal> {
    let mut drafts = Vec::new();
    log.scan(0, |line| {
        let Line::Record(record, _) = line else { return true };
        if record.sequence > cut {
            return false;
        }
        drafts.extend(inherit(*record));
        true
    })
    .map_err(|error| Refusal::internal(format!("the session's log could not be read: {error}")))?;
    Ok(drafts)
}

fn inherit(record: Record) -> Option<Draft> {
    if !matches!(record.body, Body::View { .. } | Body::Stored(_) | Body::Fact { .. }) {
        return None;
    }
    let stream = match record.stream.kind.as_str() {
        "run" => Stream::Run(record.stream.id),
        "session" => Stream::Session,
        _ => Stream::Other(record.stream.kind, record.stream.id),
    };
    Some(Draft::Record(record.body, stream))
}
