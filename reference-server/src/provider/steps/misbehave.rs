//! What a host may do, and clients trip over.
//!
//! - `ackLast {}`: as the first step of a turn that starts at once: the answer to its command goes out after its `turn/completed`.
//! - `lose {"events"?}`: so many events (1 without it) reach no subscriber, as if there were no room; the next one tells of the hole.
//!   What is protected is not lost, and does not count.
//! - `notify {"method", "params"?, "session"?}`: a notification outside the view to every connection, whatever its name; `session`
//!   true adds the `sessionId`.
//! - `request {"method", "params"?}`: a request of the host to every subscriber, whatever its name; the answer changes nothing.

use serde_json::Value;

use super::{Args, Stage, Verb};
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb { name: ACK_LAST, members: &[], expand: ack_last },
    Verb { name: "lose", members: &["events"], expand: lose },
    Verb { name: "notify", members: &["method", "params", "session"], expand: notify },
    Verb { name: "request", members: &["method", "params"], expand: request },
];

/// The verb that `provider::answers_last` looks for.
pub(in crate::provider) const ACK_LAST: &str = "ackLast";

fn ack_last(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    args.end()?;
    Ok(Vec::new()) // the command looks for it before it answers
}

fn lose(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let events = args.number("events")?.unwrap_or(1);
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        core.lose(events);
        Vec::new()
    }))])
}

fn notify(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let method = args.text("method")?.ok_or("`method` is missing")?;
    let mut params = args.object("params")?;
    let session = args.flag("session")?.unwrap_or(false);
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        if session {
            params.insert("sessionId".to_owned(), core.state.header.session_id.as_str().into());
        }
        core.host.broadcast(&method, &Value::Object(params));
        Vec::new()
    }))])
}

fn request(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let method = args.text("method")?.ok_or("`method` is missing")?;
    let params = args.object("params")?;
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        core.request(&method, &Value::Object(params));
        Vec::new()
    }))])
}
