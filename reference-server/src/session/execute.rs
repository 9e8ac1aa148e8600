//! Commands: ledger, decide, commit, answer, events, effects; in that order.

use std::sync::Arc;

use serde_json::Value;

use super::{Core, Run};
use crate::connection::Caller;
use crate::decision::{Context, Decision, Draft, Effect, Settles};
use crate::provider;
use crate::record::{Answer, Body, Intake};
use crate::refusal::Refusal;

/// A command whose params were read: what is left is to decide.
pub type Prepared = Box<dyn FnOnce(&mut Context<'_>) -> Result<Decision, Refusal> + Send>;

/// A command on its way to its session.
pub struct Request {
    /// Who asks.
    pub caller: Caller,
    /// Id of the frame.
    pub id: Value,
    /// Method.
    pub method: &'static str,
    /// Id of the command.
    pub command_id: String,
    /// Digest of the canonical params.
    pub digest: String,
    /// The decision to come.
    pub decide: Prepared,
}

/// An answer on its way: it goes out when this is let go of.
pub(super) struct Answering {
    caller: Caller,
    id: Value,
    method: &'static str,
    result: Value,
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.caller.connection.respond_to(self.method, &self.id, &mut self.result, &self.caller.handshake);
    }
}

/// Digest over params: member order does not count, all else does (CMD-8).
pub fn digest(params: &Value) -> String {
    // `Value` keeps its members sorted, so its text is canonical.
    msp_schema::digest::of_bytes(params.to_string().as_bytes())
}

impl Core {
    /// Runs a command.
    pub(super) fn execute(&mut self, request: Request) {
        let Request { caller, id, method, command_id, digest, decide } = request;
        if let Some(intake) = self.state.ledger.get(&command_id) {
            let replayed = replay(intake, method, &digest, &command_id);
            let admitted = replayed.is_ok();
            caller.connection.respond(&id, replayed);
            if admitted && method == "session/leave" {
                self.tell_leave(&command_id, &caller.connection);
            }
            return;
        }
        let host = Arc::clone(&self.host);
        let mut decision = {
            let mut mint = host.mint.lock();
            let (state, subscribers) = (&self.state, self.subscriber_count());
            decide(&mut Context {
                state,
                mint: &mut mint,
                command_id: &command_id,
                caller: &caller,
                host: &host,
                subscribers,
            })
        };
        host.seam().decision(method, &self.state, &mut decision);
        let intake = |answer, settled| {
            let (command_id, method) = (command_id.clone(), method.to_owned());
            Draft::silent(Body::Command(Intake { command_id, method, digest: digest.clone(), answer, settled }))
        };
        let mut decision = match decision {
            Ok(decision) => decision,
            Err(refusal) if refusal.is_rejection() => {
                let refusal = refusal.of_command(method, &command_id);
                let draft = intake(Answer::Error(refusal.to_error()), true);
                let refusal = self.commit(vec![draft]).err().unwrap_or(refusal);
                caller.connection.respond(&id, Err(refusal.to_error()));
                return;
            }
            Err(refusal) => {
                caller.connection.respond(&id, Err(refusal.to_error()));
                return;
            }
        };
        let settled = decision.settles == Settles::Now;
        decision.drafts.insert(0, intake(Answer::Result(decision.result.clone()), settled));
        match self.commit(std::mem::take(&mut decision.drafts)) {
            Ok(events) => {
                let last = decision.effects.iter().any(|effect| self.answers_last(effect));
                let answer = Answering { caller, id, method, result: decision.result };
                let late = last.then_some(answer); // what is not kept goes out here
                self.deliver(&events);
                self.perform(decision.effects);
                if let Some(run) = &mut self.run {
                    run.late = late;
                }
            }
            Err(refusal) => caller.connection.respond(&id, Err(refusal.to_error())),
        }
    }

    /// Whether a turn that is to run wants its answer to come after its end.
    fn answers_last(&self, effect: &Effect) -> bool {
        let Effect::Run(submit) = effect else { return false };
        provider::answers_last(&self.host.config.script, &self.state, submit)
    }

    /// Does what a decision asks for outside the state.
    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::StopRun => self.run = None,
                Effect::Run(submit) => self.run = Some(Run::plan(self, &submit)),
                Effect::LaunchNext => self.launch_next(),
                Effect::Steered => {
                    if let Some(run) = &mut self.run {
                        run.steered += 1;
                    }
                }
                Effect::Broadcast(method, params) => self.host.broadcast(method, &params),
                Effect::Do(work) => work(self),
            }
        }
        self.tell_status();
    }
}

/// The answer of a command that was seen before (CMD-6, CMD-7, CMD-9).
fn replay<'a>(intake: &'a Intake, method: &str, digest: &str, command_id: &str) -> Result<&'a Value, Value> {
    if intake.method != method || intake.digest != digest {
        let message = format!("command id `{command_id}` was used for another command");
        return Err(Refusal::rejected("command_id_conflict", message).with("commandId", command_id).to_error());
    }
    match &intake.answer {
        Answer::Result(result) => Ok(result),
        Answer::Error(error) => Err(error.clone()),
    }
}
