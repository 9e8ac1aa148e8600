//! The view: `view/page`, `view/subscribe`, `view/unsubscribe` (PAGE, SUB).

use msp_types::Call as _;
use msp_types::msp::methods::{ViewPage, ViewSubscribe, ViewUnsubscribe};
use msp_types::msp::{
    ViewPageAnchor, ViewPageDirection, ViewPageParams, ViewPageResult, ViewSubscribeParams, ViewSubscribeResult,
    ViewUnsubscribeParams, ViewUnsubscribeResult, errors,
};
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, from_value, method};
use crate::cursor::Position;
use crate::refusal::Refusal;
use crate::state::State;
use crate::view::page::{self, Asked};
use crate::view::retention;

/// What this family has.
pub const METHODS: &[Method] = &[method::<ViewPage>(), method::<ViewSubscribe>(), method::<ViewUnsubscribe>()];

impl HostMethod for ViewPage {
    fn serve(params: ViewPageParams, call: &HostCall<'_>) -> Result<Reply<ViewPageResult>, Refusal> {
        let anchored = match &params.anchor {
            Some(ViewPageAnchor::LatestCompaction) => true,
            Some(other) => return Err(Refusal::invalid_params(format!("no anchor `{}`", other.as_str()))),
            None => false,
        };
        if anchored && params.cursor.is_some() {
            return Err(Refusal::invalid_params("`anchor` and `cursor` exclude each other"));
        }
        let readable = call.host.readable(&params.session_id)?;
        let held = readable.hold();
        let state = held.state();
        let anchor = if anchored { Some(latest_boundary(state)?) } else { None };
        let from = match &params.cursor {
            Some(cursor) => Some(find(state, cursor)?),
            None => anchor,
        };
        if let Some(from) = from {
            let latest = || state.facts["compaction"]["anchor"]["summarizedThrough"].as_str();
            let named = params.cursor.as_deref().or_else(latest).unwrap_or_default();
            retention::check(call.host, state, held.log(), from, named)?;
        }
        let asked = Asked {
            earliest: retention::earliest(call.host, state, held.log())?,
            from,
            backward: params.direction == Some(ViewPageDirection::Backward),
            limit: usize::try_from(params.limit).unwrap_or(1),
            frame_limit: call.host.config.frame_limit,
        };
        let page = page::read(state, held.log(), asked)?;
        let mut result = json!({ "events": page.events, "nextCursor": page.next_cursor });
        if let Some(anchor) = anchor {
            result["resolvedAnchor"] = json!({ "boundaryCursor": state.cursor(anchor) });
        }
        Ok(Reply::Result(from_value(result)?))
    }
}

/// A place that a client names.
fn find(state: &State, cursor: &str) -> Result<Position, Refusal> {
    state.find_cursor(cursor).ok_or_else(|| Refusal::missing_anchor(&state.header.session_id))
}

/// The boundary of the newest compaction that installed a summary (PAGE-9).
fn latest_boundary(state: &State) -> Result<Position, Refusal> {
    let cursor = state.facts.get("compaction").and_then(|fact| fact["anchor"]["boundaryCursor"].as_str());
    cursor.and_then(|cursor| state.find_cursor(cursor)).ok_or_else(|| {
        Refusal::new(errors::BOUNDARY_PRUNED, "no compaction was installed")
            .of_kind("noBoundary")
            .with("sessionId", state.header.session_id.as_str())
            .with("anchor", Value::Null)
            .with("latestBoundaryCursor", Value::Null)
    })
}

impl HostMethod for ViewSubscribe {
    fn serve(params: ViewSubscribeParams, call: &HostCall<'_>) -> Result<Reply<ViewSubscribeResult>, Refusal> {
        let loaded = call.host.loaded(&params.session_id)?;
        let mut core = loaded.core();
        let after = params.after.as_ref().map(|after| find(&core.state, after)).transpose()?;
        if let Some(after) = after {
            let named = params.after.as_deref().unwrap_or_default();
            retention::check(call.host, &core.state, &core.log, after, named)?;
        }
        let mut result = json!({ "viewCursor": core.state.head_cursor() });
        let connection = &call.caller.connection;
        connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
        let head = core.state.head;
        core.attach(connection, after.unwrap_or(head));
        if let Some(after) = after {
            core.replay(connection, after);
        }
        core.ask_again(connection);
        Ok(Reply::Sent)
    }
}

impl HostMethod for ViewUnsubscribe {
    fn serve(params: ViewUnsubscribeParams, call: &HostCall<'_>) -> Result<Reply<ViewUnsubscribeResult>, Refusal> {
        if let Some(loaded) = call.host.find_loaded(&params.session_id) {
            loaded.core().detach(&call.caller.connection);
        }
        Ok(Reply::Result(ViewUnsubscribeResult::new()))
    }
}
