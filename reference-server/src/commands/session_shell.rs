//! User shell: `session/userShell`, and the `userShell` member of `turn/start` (MISC-2).
//!
//! A real process in the workspace of the session, with its output in one item outside any turn, where it streams up to what the item
//! will hold. What the view does not hold is stored for `item/readOutput`. Nothing asks for an approval: whoever has the grant is the user.

mod process;
mod text;

use std::sync::{Arc, Weak};

use msp_types::msp::methods::SessionUserShell;
use msp_types::msp::{CommandStatus, SessionUserShellParams, SessionUserShellResult};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use self::process::Ended;
use super::{Command, Method, command};
use crate::decision::{Context, Decision, Draft, Effect};
use crate::host::Host;
use crate::items;
use crate::mint::Mint;
use crate::output;
use crate::record::Body;
use crate::refusal::Refusal;
use crate::session::{Action, Core, Loaded, Message};
use crate::state::State;

/// Pieces of output that may wait for the session.
const PIECES: usize = 16;

/// What this family has.
pub const METHODS: &[Method] = &[command::<SessionUserShell>()];

impl Command for SessionUserShell {
    fn decide(
        params: SessionUserShellParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<SessionUserShellResult>, Refusal> {
        let item = open(ctx.mint, &params.command_id, &params.command_text);
        let decision = Decision::new(SessionUserShellResult::new(params.command_id, CommandStatus::Accepted));
        let decision = decision.draft(items::start(&item));
        if !ctx.host.config.shell {
            return Ok(decision.draft(items::complete(&item, "rejected", |_| {})));
        }
        Ok(decision.effect(Effect::Do(Box::new(move |core| run(core, &item)))).settles_later())
    }
}

/// The actions of a turn that begins with a command of the user: it runs, and the turn goes on after it.
pub fn in_turn(mint: &mut Mint, command_id: &str, command_text: &str) -> Vec<Action> {
    let item = open(mint, command_id, command_text);
    let id = id_of(&item).to_owned();
    let begin = Action::Do(Box::new(move |core: &mut Core| {
        begin(core, &item);
        Vec::new()
    }));
    vec![begin, Action::UntilItemEnds(id)]
}

/// A command of the user in a running turn.
pub fn steered(mint: &mut Mint, command_id: &str, command_text: &str) -> Effect {
    let item = open(mint, command_id, command_text);
    Effect::Do(Box::new(move |core| begin(core, &item)))
}

/// Ends whatever the shell of a session still does; that its items end is the closing session's business.
pub fn stop(host: &Host, state: &State) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for item in state.items.open_of(None).filter(|item| item.get("kind").is_some_and(|kind| kind == "userShell")) {
        drafts.extend(settle(state, item));
    }
    for group in groups(host, &state.header.session_id) {
        process::kill(group);
    }
    drafts
}

fn open(mint: &mut Mint, command_id: &str, command_text: &str) -> Map<String, Value> {
    let members = json!({ "commandId": command_id, "commandText": command_text });
    items::new(&mint.uuid(), "userShell", None, members)
}

fn id_of(item: &Map<String, Value>) -> &str {
    item.get("itemId").and_then(Value::as_str).unwrap_or_default()
}

/// Opens the item, and runs its command where there is a shell.
fn begin(core: &mut Core, item: &Map<String, Value>) {
    core.emit(vec![items::start(item)]);
    if core.host.config.shell {
        run(core, item);
    } else {
        core.emit(vec![items::complete(item, "rejected", |_| {})]);
    }
}

/// Runs the command of an open item.
fn run(core: &mut Core, item: &Map<String, Value>) {
    let item_id = id_of(item).to_owned();
    let text = item.get("commandText").and_then(Value::as_str).unwrap_or_default();
    let roots = core.state.facts.get("workspaceRoots").and_then(|roots| roots[0].as_str());
    let workspace = roots.or(core.state.header.workspace_root.as_deref());
    let process = match process::start(text, workspace) {
        Ok(process) => process,
        Err(error) => {
            let output = format!("the shell could not be started: {error}\n");
            return end(core, &item_id, "failed", &Ended { output, code: None, signal: None });
        }
    };
    let group = process.group();
    note(&core.host, &core.state.header.session_id, group, true);
    let (host, session_id) = (Arc::clone(&core.host), core.state.header.session_id.clone());
    let handle = core.handle.clone();
    let (pieces, mut output) = mpsc::channel(PIECES);
    let waits = tokio::task::spawn_blocking(move || process.wait(pieces, || note(&host, &session_id, group, false)));
    tokio::spawn(async move {
        let mut left = output::VIEW_BYTES;
        while let Some(mut piece) = output.recv().await {
            let (item_id, whole) = (item_id.clone(), piece.len());
            piece.truncate(output::end(&piece, left));
            // Once something is cut nothing follows it: the pieces together are what the item holds in the end (DELTA-6).
            left = if piece.len() < whole { 0 } else { left - whole };
            if let Some(loaded) = handle.as_ref().and_then(Weak::<Loaded>::upgrade) {
                loaded.post(Message::Do(Box::new(move |core| stream(core, &item_id, &piece)))).await;
            }
        }
        let Ok(ended) = waits.await else { return };
        if let Some(loaded) = handle.as_ref().and_then(Weak::<Loaded>::upgrade) {
            let end = move |core: &mut Core| end(core, &item_id, "completed", &ended);
            loaded.post(Message::Do(Box::new(end))).await;
        }
    });
}

/// A piece of the output of an item, unless it ended before.
fn stream(core: &mut Core, item_id: &str, piece: &str) {
    let open = core.state.items.find(item_id).is_some_and(|item| item["status"] == "inProgress");
    if open && !piece.is_empty() {
        core.emit(vec![items::delta(item_id, "output", piece)]);
    }
}

/// The end of the item, unless it ended before.
fn end(core: &mut Core, item_id: &str, status: &str, ended: &Ended) {
    let Some(item) = core.state.items.find(item_id).filter(|item| item["status"] == "inProgress") else { return };
    let bounded = output::bound(&ended.output, item_id, "user_shell_output", &mut core.host.mint.lock());
    let completed = items::complete(item, status, |item| {
        item.insert("visibleOutput".to_owned(), bounded.visible.as_str().into());
        if let Some((_, reference)) = &bounded.stored {
            item.insert("truncated".to_owned(), true.into());
            item.insert("outputRef".to_owned(), reference.clone());
        }
        if let Some(code) = ended.code {
            item.insert("exitCode".to_owned(), code.into());
        } else if let Some(signal) = ended.signal {
            item.insert("exitSignal".to_owned(), signal.into());
        }
    });
    let settled = settle(&core.state, item);
    let mut drafts: Vec<_> = bounded.stored.into_iter().map(|(stored, _)| Draft::stored(stored)).collect();
    drafts.push(completed);
    drafts.extend(settled);
    core.emit(drafts);
}

/// The command of an item is over; that of a turn ends with its turn.
fn settle(state: &State, item: &Map<String, Value>) -> Option<Draft> {
    let command_id = item.get("commandId").and_then(Value::as_str)?;
    let intake = state.ledger.get(command_id)?;
    let open = !intake.settled && intake.method == "session/userShell";
    open.then(|| Draft::silent(Body::Settled { command_id: command_id.to_owned(), answer: None }))
}

/// Process groups that run for a session.
fn groups(host: &Host, session_id: &str) -> Vec<u32> {
    let shelves = host.shelves.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let held = shelves.get("session_shell").and_then(|shelf| shelf[session_id].as_array());
    held.into_iter().flatten().filter_map(|group| u32::try_from(group.as_u64()?).ok()).collect()
}

/// Notes that a process group runs, or that it is about to be gone.
fn note(host: &Host, session_id: &str, group: u32, runs: bool) {
    let mut held = groups(host, session_id);
    held.retain(|held| *held != group);
    if runs {
        held.push(group);
    }
    let mut shelves = host.shelves.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    shelves.entry("session_shell").or_insert_with(|| json!({}))[session_id] = json!(held);
}
