//! Whatever has no verb of its own. What is written goes to the wire as it is: these verbs can break rules of the protocol.
//!
//! - `item {"kind", "members"?, "name"?, "single"?, "ephemeral"?, "turn"?, "stream"?}`: opens an item; `single` completes it at once,
//!   `ephemeral` opens it without a record, `turn` false gives it no turn. `stream` is as for `event`; without it the kind decides.
//! - `update {"name", "members"}`: the next revision of a named item; a null member is taken away.
//! - `complete {"name", "status"?, "members"?}`: its end.
//! - `delta {"name", "field"?, "text"}`: appends to a field of it.
//! - `event {"method", "params"?, "stream"?}`: a durable view event; `stream` is `session` (default), `run`, or another
//!   kind of stream as `{"kind","id"?}`.

use serde_json::{Map, Value};

use super::{Args, Stage, Verb};
use crate::decision::{Draft, Stream};
use crate::items;
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb { name: "item", members: &["kind", "members", "name", "single", "ephemeral", "turn", "stream"], expand: item },
    Verb { name: "update", members: &["name", "members"], expand: update },
    Verb { name: "complete", members: &["name", "status", "members"], expand: complete },
    Verb { name: "delta", members: &["name", "field", "text"], expand: delta },
    Verb { name: "event", members: &["method", "params", "stream"], expand: event },
];

fn item(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let kind = args.text("kind")?.ok_or("`kind` is missing")?;
    let members = args.object("members")?;
    let (single, ephemeral) = (args.flag("single")?.unwrap_or(false), args.flag("ephemeral")?.unwrap_or(false));
    let in_turn = args.flag("turn")?.unwrap_or(true);
    let stream = stream(args, stage)?;
    let id = stage.item_id(args)?;
    args.end()?;
    let turn_id = in_turn.then_some(stage.submit.turn_id.as_str());
    let item = items::new(&id, &kind, turn_id, Value::Object(members));
    let mut draft = match (single, ephemeral) {
        (true, _) => items::single(item),
        (false, true) => items::stream_start(&item),
        (false, false) => items::start(&item),
    };
    if let (Draft::Record(_, usual), Some(stream)) = (&mut draft, stream) {
        *usual = stream;
    }
    Ok(vec![Action::Emit(vec![draft])])
}

fn update(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let (id, members) = (stage.named(args)?, args.object("members")?);
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        state.items.find(&id).map(|item| items::update(item, |item| put(item, members))).into_iter().collect()
    }))])
}

fn complete(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let (id, members) = (stage.named(args)?, args.object("members")?);
    let status = args.text("status")?.unwrap_or_else(|| "completed".to_owned());
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        state
            .items
            .find(&id)
            .map(|item| items::complete(item, &status, |item| put(item, members)))
            .into_iter()
            .collect()
    }))])
}

fn delta(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.named(args)?;
    let field = args.text("field")?.unwrap_or_else(|| "text".to_owned());
    let text = args.text("text")?.ok_or("`text` is missing")?;
    args.end()?;
    Ok(vec![Action::Emit(vec![items::delta(&id, &field, &text)])])
}

fn event(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let method = args.text("method")?.ok_or("`method` is missing")?;
    let params = Value::Object(args.object("params")?);
    let stream = stream(args, stage)?.unwrap_or(Stream::Session);
    args.end()?;
    Ok(vec![Action::Emit(vec![Draft::view_named(&method, stream, params)])])
}

/// The stream that a step names.
fn stream(args: &mut Args, stage: &mut Stage<'_>) -> Result<Option<Stream>, String> {
    match args.value("stream") {
        None => Ok(None),
        Some(Value::String(name)) if name == "session" => Ok(Some(Stream::Session)),
        Some(Value::String(name)) if name == "run" => Ok(Some(Stream::Run(stage.submit.turn_id.clone()))),
        Some(Value::Object(members)) => {
            let mut args = Args::new(members);
            let kind = args.text("kind")?.ok_or("`kind` of `stream` is missing")?;
            let id = args.text("id")?.unwrap_or_else(|| stage.mint.uuid());
            args.end()?;
            Ok(Some(Stream::Other(kind, id)))
        }
        Some(other) => Err(format!("`stream` is neither `session` nor `run` nor a kind: {other}")),
    }
}

fn put(item: &mut Map<String, Value>, members: Map<String, Value>) {
    for (member, value) in members {
        if value.is_null() && member != "turnId" {
            item.remove(&member);
        } else {
            item.insert(member, value);
        }
    }
}
