//! The session of a child: a session of kind `subagent` with a turn that nobody works on.

use std::sync::Arc;

use msp_types::msp::notifications::ItemCompleted;
use serde_json::{Map, Value, json};

use crate::commands::session_load::give_birth;
use crate::decision::{Draft, Effect, Stream};
use crate::host::Host;
use crate::items;
use crate::record::Body;
use crate::session::{Core, Message};
use crate::state::{Header, Submit};
use crate::turns::{self, End, Stop};

/// What a child is asked. The first member of the first two is the id of the command that asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// A note into its running turn.
    Note(String, String),
    /// Another task, behind those that it has.
    More(String, String),
    /// Its turn ends as cancelled, for this reason.
    Stop(String),
    /// Its turn ends with this text as the answer.
    Answer(String),
}

/// Makes the session of a child whose first task is an objective.
pub fn spawn(parent: &Core, session_id: &str, objective: &str) {
    let host = &parent.host;
    let header = Header {
        session_id: session_id.to_owned(),
        created_at: host.mint.lock().now_ms(),
        command: None,
        kind: "subagent".to_owned(),
        parent_session_id: Some(parent.state.header.session_id.clone()),
        forked_from: None,
        side_from: None,
        model_id: parent.state.model_id(),
        provider_id: parent.state.provider_id(),
        ..parent.state.header.clone()
    };
    match give_birth(host, header, Vec::new()) {
        Ok(loaded) => {
            let mut core = loaded.core();
            let session = core.session();
            host.broadcast("session/started", &json!({ "session": session }));
            let command_id = host.mint.lock().uuid();
            begin(&mut core, command_id, objective);
            core.tell_status();
        }
        Err(_) => host.complain(&format!("session {session_id} of a child could not be made")),
    }
}

/// The effect that asks the child of an item; nothing happens where its session is not loaded.
pub fn ask(item: &Map<String, Value>, task: Task) -> Effect {
    let session_id = item.get("childSessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
    Effect::Do(Box::new(move |core| tell(&core.host, &session_id, task)))
}

/// Asks a child. Its own task does the work, so that no session is held while another one is.
pub fn tell(host: &Arc<Host>, session_id: &str, task: Task) {
    let Some(loaded) = host.find_loaded(session_id) else { return };
    if loaded.send(Message::Do(Box::new(move |core| work(core, task))), true).is_err() {
        host.complain(&format!("session {session_id} of a child has no room for what it is asked"));
    }
}

fn work(core: &mut Core, task: Task) {
    let running = core.state.turns.active.as_ref().map(|turn| turn.turn_id.clone());
    match (task, running) {
        (Task::Note(command_id, text), Some(turn_id)) => {
            let submit = Submit { command_id, text, ..Submit::default() };
            let message = turns::user_message(&mut core.host.mint.lock(), &submit, Some(&turn_id));
            core.emit(vec![Draft::view::<ItemCompleted>(Stream::Run(turn_id), json!({ "item": message }))]);
        }
        (Task::Note(command_id, text) | Task::More(command_id, text), None) => begin(core, command_id, &text),
        (Task::More(command_id, text), Some(_)) => {
            let turn_id = core.host.mint.lock().uuid();
            core.emit(vec![Draft::silent(Body::Queued(Submit { command_id, turn_id, text, ..Submit::default() }))]);
        }
        (Task::Stop(reason), _) => {
            let drafts = turns::stop(&core.state, &mut core.host.mint.lock(), &Stop::by_client(&reason));
            core.emit(drafts);
            core.launch_next();
        }
        (Task::Answer(text), Some(turn_id)) => {
            let item_id = core.host.mint.lock().uuid();
            let message = items::new(&item_id, "agentMessage", Some(&turn_id), json!({ "text": text }));
            core.emit(vec![items::single(message)]);
            core.end_turn(&End::completed());
        }
        (Task::Answer(_), None) => {}
    }
}

/// A turn that stays open.
fn begin(core: &mut Core, command_id: String, text: &str) {
    let turn_id = core.host.mint.lock().uuid();
    let submit = Submit { command_id, turn_id, text: text.to_owned(), ..Submit::default() };
    let drafts = turns::launch(&core.state, &mut core.host.mint.lock(), &submit);
    core.emit(drafts);
}
