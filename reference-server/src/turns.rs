//! The shape of a turn's life as drafts: launch, end, stop. Pure, and used by commands, the provider, drain and reconciliation alike.

use msp_types::msp::notifications::{ApprovalResolved, ItemCompleted, TurnCompleted, TurnRetracted, TurnStarted};
use serde_json::{Map, Value, json};

use crate::decision::{Draft, Stream};
use crate::inbox;
use crate::items;
use crate::mint::Mint;
use crate::record::Body;
use crate::state::{Prompt, State, Submit};
use crate::time::rfc3339;
use crate::user_inputs::{self, Settlement};

/// How a turn ends by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// `completed`, `failed` or `cancelled`.
    pub terminal: &'static str,
    /// Free text.
    pub reason: Option<String>,
    /// `error` of the event, exactly where it failed.
    pub error: Option<Value>,
    /// Further members of the event, such as `usage`.
    pub members: Map<String, Value>,
}

/// How and why a turn is stopped from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Reason on the turn's terminal.
    pub reason: String,
    /// Outcome of open questions to the user.
    pub user_inputs: &'static str,
    /// A question that was settled before, by the command that stops.
    pub settled: Option<String>,
    /// Whether the submission is to be withdrawn: the command that asks so (TURN-21).
    pub retract: bool,
}

impl End {
    /// It did what it was to do.
    pub fn completed() -> Self {
        Self { terminal: "completed", reason: None, error: None, members: Map::new() }
    }

    /// It failed.
    pub fn failed(kind: &str, message: &str, retryable: bool) -> Self {
        let error = json!({ "kind": kind, "message": message, "retryable": retryable });
        Self { terminal: "failed", reason: Some(message.to_owned()), error: Some(error), members: Map::new() }
    }
}

impl Stop {
    /// A client interrupts or cancels.
    pub fn by_client(reason: &str) -> Self {
        Self { reason: reason.to_owned(), user_inputs: "interrupted", settled: None, retract: false }
    }

    /// Whether a person wanted it, so that the goal behind the turn pauses (GOAL-6).
    fn is_by_client(&self) -> bool {
        self.user_inputs == "interrupted"
    }

    /// The run is torn down for another reason.
    pub fn torn_down(reason: &str) -> Self {
        Self { reason: reason.to_owned(), user_inputs: "aborted", settled: None, retract: false }
    }
}

/// A turn begins that no message of the user opens, such as one that a goal drives.
pub fn begin(submit: &Submit) -> Draft {
    let started = json!({ "turnId": submit.turn_id, "commandId": submit.command_id });
    Draft::view::<TurnStarted>(Stream::Run(submit.turn_id.clone()), started)
}

/// A turn begins: `turn/started`, then the user's message (TURN-5), then what waits in the inbox.
pub fn launch(state: &State, mint: &mut Mint, submit: &Submit) -> Vec<Draft> {
    let stream = Stream::Run(submit.turn_id.clone());
    let mut drafts =
        vec![begin(submit), Draft::view::<ItemCompleted>(stream, json!({ "item": user_message(mint, submit, None) }))];
    if !state.facts.contains_key("firstUserPrompt") && !submit.text.is_empty() {
        drafts.push(Draft::fact("firstUserPrompt", submit.text.as_str().into()));
    }
    drafts.extend(inbox::drain(state, mint, &submit.turn_id));
    drafts
}

/// The user's message of a submit; `steered_into` a running turn, or opening its own.
pub fn user_message(mint: &mut Mint, submit: &Submit, steered_into: Option<&str>) -> Value {
    let item_id = mint.uuid();
    let mut item = json!({
        "itemId": item_id, "kind": "userMessage", "revision": 1, "status": "completed",
        "turnId": steered_into.unwrap_or(&submit.turn_id), "commandId": submit.command_id, "text": submit.text,
    });
    if steered_into.is_some() {
        item["steered"] = true.into();
    }
    if let Some(text) = &submit.display_text {
        item["displayText"] = text.as_str().into();
    }
    if !submit.attachments.is_empty() {
        let number = |(at, attachment): (usize, &Value)| {
            let mut attachment = attachment.clone();
            attachment["attachmentId"] = format!("{item_id}/{}", at + 1).into();
            attachment
        };
        item["attachments"] = submit.attachments.iter().enumerate().map(number).collect();
    }
    item
}

/// A queued submit could not be launched: a terminal without a start (TURN-14).
pub fn launch_failed(submit: &Submit, message: &str) -> Draft {
    let error = json!({ "kind": "launchError", "message": message, "retryable": true });
    let params = json!({ "turnId": submit.turn_id, "terminal": "failed", "reason": message, "error": error });
    Draft::view::<TurnCompleted>(Stream::Run(submit.turn_id.clone()), params)
}

/// The running turn ends by itself; its command is settled.
pub fn end(state: &State, mint: &mut Mint, end: &End) -> Vec<Draft> {
    let Some(turn) = &state.turns.active else { return Vec::new() };
    let mut drafts =
        close_items(state, mint, &turn.turn_id, if end.terminal == "failed" { "failed" } else { "cancelled" });
    let mut params = end.members.clone();
    params.insert("turnId".to_owned(), turn.turn_id.clone().into());
    params.insert("terminal".to_owned(), end.terminal.into());
    params.entry("durationMs").or_insert_with(|| (mint.now_ms() - turn.started_at).max(0).into());
    if let Some(reason) = &end.reason {
        params.insert("reason".to_owned(), reason.as_str().into());
    }
    if let Some(error) = &end.error {
        params.insert("error".to_owned(), error.clone());
    }
    drafts.push(Draft::view::<TurnCompleted>(Stream::Run(turn.turn_id.clone()), Value::Object(params)));
    drafts.extend(settle(state, &turn.command_id));
    drafts
}

/// The running turn is stopped: prompts are closed, items cancelled, and then it ends `cancelled` (TURN-16, APPR-18, UIN-11).
pub fn stop(state: &State, mint: &mut Mint, stop: &Stop) -> Vec<Draft> {
    let Some(turn) = &state.turns.active else { return Vec::new() };
    let mut drafts: Vec<_> = if stop.is_by_client() {
        crate::commands::goal::paused_by_stop(state, mint.now_ms()).into_iter().collect()
    } else {
        Vec::new()
    };
    drafts.extend(close_prompts(state, mint, stop));
    drafts.extend(close_items(state, mint, &turn.turn_id, "cancelled"));
    if stop.retract {
        drafts.extend(retract(state, &turn.turn_id, &turn.command_id, turn.committed));
    }
    let duration = (mint.now_ms() - turn.started_at).max(0);
    let params =
        json!({ "turnId": turn.turn_id, "terminal": "cancelled", "reason": stop.reason, "durationMs": duration });
    drafts.push(Draft::view::<TurnCompleted>(Stream::Run(turn.turn_id.clone()), params));
    drafts.extend(settle(state, &turn.command_id));
    drafts
}

/// Terminals for everything that is open, whatever its turn: the host goes, or went (SESS-14, SESS-15).
pub fn stop_all(state: &State, mint: &mut Mint, how: &Stop) -> Vec<Draft> {
    let mut drafts = stop(state, mint, how);
    let active = state.turns.active.as_ref().map(|turn| turn.turn_id.as_str());
    let open = state.items.iter().filter(|item| item.get("status").is_some_and(|status| status == "inProgress"));
    let left = open.filter(|item| {
        let turn_id = item.get("turnId").and_then(Value::as_str);
        turn_id.is_none() || turn_id != active || items::outlives_turn(item)
    });
    drafts.extend(left.map(|item| items::cut_short(item, "cancelled")));
    drafts
}

/// The command of a turn is over, where the ledger still has it open.
fn settle(state: &State, command_id: &str) -> Option<Draft> {
    let open = state.ledger.get(command_id).is_some_and(|intake| !intake.settled);
    open.then(|| Draft::silent(Body::Settled { command_id: command_id.to_owned(), answer: None }))
}

/// Terminals for all items of a turn that are open and not in the background (ITEM-8, TASK-6).
fn close_items(state: &State, mint: &mut Mint, turn_id: &str, status: &str) -> Vec<Draft> {
    let _ = mint;
    let open = state.items.open_of(Some(turn_id)).filter(|item| !items::outlives_turn(item));
    open.map(|item| items::cut_short(item, status)).collect()
}

/// Open prompts of the running turn come to their end.
fn close_prompts(state: &State, mint: &mut Mint, stop: &Stop) -> Vec<Draft> {
    let now = rfc3339(mint.now_ms());
    let of_turn = |prompt: &&Prompt| {
        state.turns.active.as_ref().is_some_and(|turn| prompt.params["turnId"] == turn.turn_id.as_str())
    };
    let approvals = state.approvals.pending.iter().filter(of_turn).map(|prompt| {
        let params = json!({
            "approvalId": prompt.id, "itemId": prompt.params["itemId"], "turnId": prompt.params["turnId"],
            "decision": "abort", "policyResult": "deny", "resolvedBy": "user", "stageEvidence": [], "decidedAt": now,
        });
        Draft::view::<ApprovalResolved>(Stream::Review(prompt.id.clone()), params)
    });
    let open = state.user_inputs.pending.iter().filter(|prompt| stop.settled.as_ref() != Some(&prompt.id));
    let user_inputs = open.map(|prompt| {
        let reason = if stop.user_inputs == "aborted" { Value::from(stop.reason.as_str()) } else { Value::Null };
        user_inputs::settle(prompt, &Settlement { reason, ..Settlement::new(stop.user_inputs, None) }, mint)
    });
    let approvals: Vec<_> = approvals.collect();
    approvals.into_iter().chain(user_inputs).collect()
}

/// Withdraws the submission of a turn, unless something of the assistant stays (TURN-21).
fn retract(state: &State, turn_id: &str, command_id: &str, committed: bool) -> Vec<Draft> {
    let stream = Stream::Run(turn_id.to_owned());
    let outcome = if committed { "declined" } else { "accepted" };
    let params = json!({ "turnId": turn_id, "commandId": command_id, "outcome": outcome });
    let mut drafts = vec![Draft::view::<TurnRetracted>(stream, params)];
    let message = state.items.iter().find(|item| item.get("commandId").is_some_and(|id| id == command_id));
    if let Some(message) = message.filter(|_| !committed) {
        drafts.push(items::update(message, |item| {
            item.insert("retracted".to_owned(), true.into());
        }));
    }
    drafts
}
