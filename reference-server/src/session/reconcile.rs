//! What a load finds after a host died: open items, turns, prompts and commands get their end, once (SESS-15, CMD-12, APPR-19).

use crate::decision::Draft;
use crate::mint::Mint;
use crate::record::{Answer, Body};
use crate::refusal::Refusal;
use crate::state::State;
use crate::turns::{self, Stop};

/// Reason on the terminals that a load writes.
pub const ORPHANED: &str = "resume_reconcile:orphaned_by_process_loss";

/// Drafts that bring a session, loaded from its log, to rest. None for one that was let go in an orderly way.
pub fn reconcile(state: &State, mint: &mut Mint) -> Vec<Draft> {
    let mut drafts = turns::stop_all(state, mint, &Stop::torn_down(ORPHANED));
    let stopped = state.turns.active.as_ref().map(|turn| turn.command_id.as_str());
    // What was asked is asked again, by an id of its own; what no turn waits for any more stays as it is (APPR-19).
    let again = state.approvals.pending.iter().filter(|prompt| {
        state.turns.active.as_ref().is_some_and(|turn| prompt.params["turnId"] == turn.turn_id.as_str())
    });
    drafts.extend(again.map(crate::approvals::ask_again));
    let waits = |command_id: &str| state.turns.queue.iter().any(|submit| submit.command_id == command_id);
    for intake in state.ledger.values().filter(|intake| !intake.settled && !waits(&intake.command_id)) {
        if intake.method == "session/leave" {
            drafts.extend(super::leave::end(state, &intake.command_id, Some("abandoned")));
            continue;
        }
        let message = format!("{} command {} was cut off", intake.method, intake.command_id);
        let error = Refusal::rejected("abandoned", message).with("commandId", intake.command_id.as_str()).to_error();
        let settled = Body::Settled { command_id: intake.command_id.clone(), answer: Some(Answer::Error(error)) };
        if stopped == Some(intake.command_id.as_str()) {
            // The stop settled it with its old ack; a replay must not promise what will not come.
            drafts.retain(|draft| !matches!(draft, Draft::Record(Body::Settled { command_id, .. }, _) if *command_id == intake.command_id));
        }
        drafts.push(Draft::silent(settled));
    }
    drafts
}
