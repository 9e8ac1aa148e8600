//! How far back the view reaches. The log keeps everything; a host that is set to keep less serves no event before a floor, and tells
//! where the view begins now (PAGE-10, SUB-2, RES-8, EPH-5).

use msp_types::msp::errors;
use serde_json::Value;

use super::page::{self, Asked};
use crate::cursor::Position;
use crate::host::Host;
use crate::log::Log;
use crate::refusal::Refusal;
use crate::state::State;

/// The oldest event that the view serves, where it does not serve them all.
///
/// # Errors
/// −32603 when the disk fails.
pub fn earliest(host: &Host, state: &State, log: &Log) -> Result<Option<Position>, Refusal> {
    let floor = host.config.retained_records.map_or(0, |kept| state.last.sequence.saturating_sub(kept));
    if floor <= state.oldest_event.saturating_sub(1) {
        return Ok(None);
    }
    let from = Some(Position { sequence: floor, minor: 0 });
    let asked = Asked { from, backward: false, limit: 1, frame_limit: usize::MAX, earliest: None };
    let kept = page::forward(state, log, asked)?;
    // Where no event is left, the view begins behind the newest one.
    Ok(Some(kept.first().map_or(Position { sequence: state.newest_event, minor: 0 }, |event| event.position)))
}

/// Refuses a place from which the view cannot go on without a hole. `named` is how the client named it; an anchor of a compaction
/// is refused as such.
///
/// # Errors
/// −32040, −32042 `boundaryPruned`, or −32603 when the disk fails.
pub fn check(host: &Host, state: &State, log: &Log, from: Position, named: &str) -> Result<(), Refusal> {
    match earliest(host, state, log)? {
        Some(earliest) if from < earliest && from.sequence > 0 => Err(match state.compaction_anchor(named) {
            Some(_) => pruned(state, named),
            None => truncated(state, Some(earliest)),
        }),
        _ => Ok(()),
    }
}

/// −32042 for a compaction whose boundary the view does not have any more.
fn pruned(state: &State, anchor: &str) -> Refusal {
    let latest = state.facts.get("compaction").map(|fact| fact["anchor"]["boundaryCursor"].clone());
    Refusal::new(errors::BOUNDARY_PRUNED, "the view does not reach back to this compaction any more")
        .with("sessionId", state.header.session_id.as_str())
        .with("anchor", anchor)
        .with("latestBoundaryCursor", latest.unwrap_or_default())
}

/// −32040; `earliest` is where the view begins now, if it can be served at all.
pub fn truncated(state: &State, earliest: Option<Position>) -> Refusal {
    Refusal::new(errors::VIEW_TRUNCATED, "requested range predates the retained view")
        .with("sessionId", state.header.session_id.as_str())
        .with("earliestCursor", earliest.map_or(Value::Null, |earliest| state.cursor(earliest).into()))
}
