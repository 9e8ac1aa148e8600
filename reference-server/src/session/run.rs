//! Runs: what the provider still has to do for the running turn, one action at a time.

use std::collections::VecDeque;

use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::Core;
use super::execute::Answering;
use crate::decision::Draft;
use crate::mint::Mint;
use crate::provider;
use crate::record::{Answer, Body};
use crate::refusal::Refusal;
use crate::state::{State, Submit};
use crate::turns;

/// The running turn, as the provider has it.
pub struct Run {
    /// Turn.
    pub turn_id: String,
    /// Command that submitted it.
    pub command_id: String,
    /// What only the model hears: feedback with a decision (APPR-13).
    pub heard: Vec<String>,
    /// Steered inputs so far.
    pub steered: u64,
    /// The answer to its command, where that comes last.
    pub(super) late: Option<Answering>,
    actions: VecDeque<Action>,
    until: Option<Instant>,
}

/// One action of the provider.
pub enum Action {
    /// Commits and shows.
    Emit(Vec<Draft>),
    /// Works out from the state what to commit and show.
    With(Box<Late>),
    /// Lets time pass, in milliseconds.
    Sleep(u64),
    /// Waits until so many inputs were steered in; for ever when that never happens.
    UntilSteered(u64),
    /// Waits until an approval is resolved or a question settled, then goes on with what is made of its last event.
    UntilSettled(Prompted, String, Box<Then>),
    /// Waits until an item is over.
    UntilItemEnds(String),
    /// Does whatever else, such as to start a process; may add actions in front.
    Do(Box<Work>),
    /// Fails the launch of a queued turn (TURN-14); nothing happens to one that was started at once.
    RefuseLaunch(String),
    /// Ends the turn; without it a run ends `completed`.
    End(turns::End),
}

impl Action {
    /// Whether it can be done beside the turn of its step.
    pub fn needs_no_turn(&self) -> bool {
        matches!(self, Self::Emit(_) | Self::With(_) | Self::Do(_) | Self::Sleep(_))
    }
}

/// Makes drafts of the state at its time.
pub type Late = dyn FnOnce(&State, &mut Mint) -> Vec<Draft> + Send;

/// Goes on from the last event of a prompt.
pub type Then = dyn FnOnce(&Value) -> Vec<Action> + Send;

/// Does something to the session; what it gives comes next.
pub type Work = dyn FnOnce(&mut Core) -> Vec<Action> + Send;

/// What kind of prompt is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompted {
    /// An approval.
    Approval,
    /// A question to the user.
    UserInput,
}

/// What a session does next on its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Did something.
    Ran,
    /// Nothing before then.
    Sleep(Instant),
    /// Nothing before a message.
    Wait,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("turn_id", &self.turn_id)
            .field("actions", &self.actions.len())
            .finish_non_exhaustive()
    }
}

impl Run {
    /// What the provider does for a submit.
    pub fn plan(core: &mut Core, submit: &Submit) -> Self {
        let actions = provider::plan(&core.host.config.script, &core.state, submit, &mut core.host.mint.lock());
        let (turn_id, command_id) = (submit.turn_id.clone(), submit.command_id.clone());
        Self { turn_id, command_id, heard: Vec::new(), steered: 0, late: None, actions: actions.into(), until: None }
    }

    /// Why its launch is refused, if its script says so.
    fn refused_launch(&self) -> Option<String> {
        match self.actions.front() {
            Some(Action::RefuseLaunch(message)) => Some(message.clone()),
            _ => None,
        }
    }
}

impl Core {
    /// One action of the provider.
    pub fn step(&mut self) -> Step {
        if self.failed {
            return Step::Wait;
        }
        let Some(run) = &mut self.run else { return Step::Wait };
        if let Some(until) = run.until {
            if Instant::now() < until {
                return Step::Sleep(until);
            }
            run.until = None;
        }
        let Some(action) = run.actions.pop_front() else {
            self.end_turn(&turns::End::completed());
            return Step::Ran;
        };
        match action {
            Action::Emit(drafts) => self.emit(drafts),
            Action::With(make) => {
                let drafts = make(&self.state, &mut self.host.mint.lock());
                self.emit(drafts);
            }
            Action::Sleep(ms) => {
                self.host.mint.lock().advance(ms);
                run.until = Some(Instant::now() + Duration::from_millis(ms));
            }
            Action::UntilSteered(count) => {
                if run.steered < count {
                    run.actions.push_front(Action::UntilSteered(count));
                    return Step::Wait;
                }
            }
            Action::UntilSettled(kind, id, then) => {
                let prompts = if kind == Prompted::Approval { &self.state.approvals } else { &self.state.user_inputs };
                let Some(closed) = prompts.closed.get(&id) else {
                    run.actions.push_front(Action::UntilSettled(kind, id, then));
                    return Step::Wait;
                };
                put_in_front(run, then(closed));
            }
            Action::UntilItemEnds(id) => {
                if self.state.items.find(&id).is_some_and(|item| item["status"] == "inProgress") {
                    run.actions.push_front(Action::UntilItemEnds(id));
                    return Step::Wait;
                }
            }
            Action::Do(work) => {
                let first = work(self);
                if let Some(run) = &mut self.run {
                    put_in_front(run, first);
                }
            }
            Action::RefuseLaunch(_) => {}
            Action::End(end) => self.end_turn(&end),
        }
        self.tell_status();
        Step::Ran
    }

    /// Adds actions before all that the run still has to do.
    pub fn act_first(&mut self, actions: Vec<Action>) {
        if let Some(run) = &mut self.run {
            put_in_front(run, actions);
        }
    }

    /// Does actions that need no turn, whatever runs.
    pub fn act_beside(&mut self, actions: Vec<Action>) {
        let mut actions: VecDeque<_> = actions.into();
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Emit(drafts) => self.emit(drafts),
                Action::With(make) => {
                    let drafts = make(&self.state, &mut self.host.mint.lock());
                    self.emit(drafts);
                }
                Action::Do(work) => {
                    for first in work(self).into_iter().rev() {
                        actions.push_front(first);
                    }
                }
                Action::Sleep(ms) => {
                    self.after(ms, move |core| core.act_beside(actions.into()));
                    return;
                }
                // No such action is let in here, and none of them can be made by another one.
                Action::UntilSteered(_)
                | Action::UntilSettled(..)
                | Action::UntilItemEnds(_)
                | Action::RefuseLaunch(_)
                | Action::End(_) => {}
            }
        }
        self.tell_status();
    }

    /// Ends the running turn and launches the next queued one.
    pub fn end_turn(&mut self, end: &turns::End) {
        let ended = self.run.take();
        let drafts = turns::end(&self.state, &mut self.host.mint.lock(), end);
        self.emit(drafts);
        drop(ended); // with an answer that comes last
        self.launch_next();
        self.tell_status();
    }

    /// Launches the first queued submit that can be launched, if no turn runs (TURN-8, TURN-14).
    pub fn launch_next(&mut self) {
        while self.state.turns.active.is_none() && !self.failed {
            let Some(submit) = self.state.turns.queue.front().cloned() else { return };
            let run = Run::plan(self, &submit);
            let launched = Draft::silent(Body::Launched { turn_id: submit.turn_id.clone() });
            let mut drafts = vec![launched];
            if let Some(message) = run.refused_launch() {
                drafts.push(turns::launch_failed(&submit, &message));
                let rejected =
                    Refusal::rejected("deferred_start_failed", message).with("commandId", submit.command_id.as_str());
                let answer = Some(Answer::Error(rejected.to_error()));
                drafts.push(Draft::silent(Body::Settled { command_id: submit.command_id, answer }));
                self.emit(drafts);
                continue;
            }
            drafts.extend(turns::launch(&self.state, &mut self.host.mint.lock(), &submit));
            self.emit(drafts);
            self.run = Some(run);
        }
    }
}

fn put_in_front(run: &mut Run, actions: Vec<Action>) {
    for action in actions.into_iter().rev() {
        run.actions.push_front(action);
    }
}
