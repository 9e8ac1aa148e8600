//! `session/compact` (MISC-1): a compaction item that opens and ends, and the boundary that an installed summary leaves behind.
//!
//! Simulated: nothing is summarized, and the token counts are those that a script gives. What becomes of the next compaction that a
//! client asks for (failure, cancellation, a delay) is said by the verb `nextCompaction`; without it a summary is installed at once.

use msp_types::msp::methods::SessionCompact;
use msp_types::msp::{CompactStatus, SessionCompactParams, SessionCompactResult};
use serde_json::{Map, Value, json};

use super::{Command, Method, command};
use crate::cursor::Position;
use crate::decision::{Context, Decision, Draft, Effect};
use crate::items;
use crate::mint::{Mint, is_uuid};
use crate::record::Body;
use crate::refusal::Refusal;
use crate::session::Core;
use crate::state::State;

/// What this family has.
pub const METHODS: &[Method] = &[command::<SessionCompact>()];

/// Strategy that the host names; a made-up word.
const STRATEGY: &str = "scripted-summary";

impl Command for SessionCompact {
    fn decide(params: SessionCompactParams, ctx: &mut Context<'_>) -> Result<Decision<SessionCompactResult>, Refusal> {
        let turn_id = run(ctx.state, params.turn_id.as_deref())?;
        let mut result = SessionCompactResult::new(params.command_id, CompactStatus::Accepted);
        if !is_compactable(ctx.state) {
            result.status = CompactStatus::Noop;
            result.reason = Some("no_compactable_history".to_owned());
            return Ok(Decision::new(result));
        }
        let plan = ctx.state.facts.get("nextCompaction").filter(|plan| !plan.is_null()).cloned();
        let (item_id, start) = open(ctx.mint, turn_id.as_deref(), "manual");
        let mut decision = Decision::new(result).draft(start).settles_later();
        if plan.is_some() {
            decision = decision.draft(Draft::fact("nextCompaction", Value::Null));
        }
        let (plan, command_id) = (plan.unwrap_or_else(|| json!({})), ctx.command_id.to_owned());
        let delay = plan["delayMs"].as_u64().unwrap_or(0);
        let work = move |core: &mut Core| {
            end(core, &item_id, &plan);
            core.emit(vec![Draft::silent(Body::Settled { command_id, answer: None })]);
        };
        Ok(decision.effect(Effect::Do(Box::new(move |core| core.after(delay, work)))))
    }
}

/// The run whose context is meant, which owns the item (ITEM-1): the running one, the named one, or the last one of a session at rest.
fn run(state: &State, turn_id: Option<&str>) -> Result<Option<String>, Refusal> {
    let active = state.turns.active.as_ref().map(|turn| turn.turn_id.as_str());
    match (turn_id, active) {
        (Some(turn_id), _) if !is_uuid(turn_id, false) => Err(Refusal::invalid_params("`turnId` is no UUID")),
        (None, Some(active)) => Ok(Some(active.to_owned())),
        (Some(turn_id), Some(active)) if turn_id == active => Ok(Some(active.to_owned())),
        (Some(turn_id), _) if state.turns.ended.contains_key(turn_id) => Ok(Some(turn_id.to_owned())),
        (None, None) if !state.turns.ended.is_empty() => {
            Ok(state.turns.last.as_ref().and_then(|last| last["turnId"].as_str()).map(str::to_owned))
        }
        (Some(turn_id), _) => Err(Refusal::rejected("missing_run", format!("no turn `{turn_id}` ran here"))),
        (None, None) => Err(Refusal::rejected("missing_run", "no turn ran yet")),
    }
}

/// Whether anything but prompts came to its end since the last boundary.
fn is_compactable(state: &State) -> bool {
    let before = state.facts.get("compaction").and_then(|fact| fact["itemsBefore"].as_u64()).unwrap_or(0);
    state.items.iter().skip(usize::try_from(before).unwrap_or(0)).any(|item| {
        let is = |member: &str, value: &str| item.get(member).is_some_and(|held| held == value);
        !is("status", "inProgress") && !is("kind", "userMessage") && !is("kind", "compaction")
    })
}

/// Opens the item of a compaction. `trigger` is `manual` or `auto`.
pub fn open(mint: &mut Mint, turn_id: Option<&str>, trigger: &str) -> (String, Draft) {
    let item_id = mint.uuid();
    let item = items::new(&item_id, "compaction", turn_id, json!({ "trigger": trigger }));
    let start = items::start(&item);
    (item_id, start)
}

/// Ends a compaction as its plan says, unless a stop of its turn did; an installed summary makes the boundary that
/// `anchor: latestCompaction` and anchored histories begin at.
pub fn end(core: &mut Core, item_id: &str, plan: &Value) {
    let Some(item) = core.state.items.find(item_id).filter(|item| item["status"] == "inProgress") else { return };
    let outcome = plan["outcome"].as_str().unwrap_or("compacted");
    let status = match outcome {
        "failed" | "cancelled" => outcome,
        _ => "completed",
    };
    let anchor = format!("boundary:{}:{item_id}", core.state.newest_event);
    let members = members(plan, outcome, &anchor);
    let complete = items::complete(item, status, |item| item.extend(members));
    let items_before = core.state.items.iter().take_while(|item| item["itemId"] != item_id).count();
    let mut drafts = vec![complete];
    if outcome == "compacted" {
        // The boundary is the item's own place. It is known before, so that no crash leaves an anchor that leads nowhere.
        let boundary = Position { sequence: core.state.last.sequence + 1, minor: 0 };
        let fact = json!({
            "anchor": { "summarizedThrough": anchor, "boundaryCursor": core.state.cursor(boundary) },
            "itemsBefore": items_before,
        });
        let known = json!({ anchor: boundary.sequence });
        drafts.push(Draft::fact("compaction", fact));
        drafts.push(Draft::fact("compactionAnchors", known));
    }
    core.emit(drafts);
}

/// What the end adds to the item (ITEM-38).
fn members(plan: &Value, outcome: &str, anchor: &str) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("outcome".to_owned(), outcome.into());
    if outcome == "compacted" {
        members.insert("strategyId".to_owned(), STRATEGY.into());
        members.insert("summarizedThrough".to_owned(), anchor.into());
    } else {
        let reason = plan["reason"].as_str().unwrap_or(match outcome {
            "noop" => "no_compactable_history",
            "cancelled" => "cancelled",
            _ => "summarizer_failed",
        });
        members.insert("reason".to_owned(), reason.into());
    }
    for name in ["tokensBefore", "tokensAfter"] {
        if plan[name].is_u64() {
            members.insert(name.to_owned(), plan[name].clone());
        }
    }
    members
}
