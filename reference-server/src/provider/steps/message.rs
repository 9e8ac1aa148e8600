//! Words of the model.
//!
//! - `say {"text", "chunks"?, "delayMs"?, "stream"?, "phase"?, "cutOff"?}`: an agent message; streamed unless `stream` is false, in
//!   `chunks` deltas (default: one a word), `delayMs` apart. `cutOff` breaks it off as a failing provider does.
//! - `heard {}`: a message that quotes what only the model hears: the feedback of decisions so far (APPR-13). The log has it then.
//! - `think {"summary"?, "text"?, "chunks"?, "delayMs"?, "stream"?}`: reasoning, its summary parts streamed (ITEM-61).

use serde_json::{Value, json};

use super::{Args, Stage, Verb, pieces};
use crate::decision::Draft;
use crate::items;
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb { name: "say", members: &["text", "chunks", "delayMs", "stream", "phase", "cutOff", "name"], expand: say },
    Verb { name: "think", members: &["summary", "text", "chunks", "delayMs", "stream", "name"], expand: think },
    Verb { name: "heard", members: &["name"], expand: heard },
];

fn say(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let text = args.text("text")?.ok_or("`text` is missing")?;
    let words = text.split_inclusive(' ').count();
    let chunks = usize::try_from(args.number("chunks")?.unwrap_or(words as u64)).unwrap_or(words);
    let delay = args.number("delayMs")?;
    let stream = args.flag("stream")?.unwrap_or(true);
    let phase = args.text("phase")?;
    let cut_off = args.flag("cutOff")?.unwrap_or(false);
    let id = stage.item_id(args)?;
    args.end()?;
    let item = items::new(&id, "agentMessage", Some(&stage.submit.turn_id), json!({ "text": "" }));
    let finish = |item: &mut serde_json::Map<String, Value>| {
        item.insert("text".to_owned(), text.as_str().into());
        if let Some(phase) = &phase {
            item.insert("messagePhase".to_owned(), phase.as_str().into());
        }
        if cut_off {
            item.insert("cutOff".to_owned(), true.into());
        }
    };
    if !stream {
        let mut item = item;
        finish(&mut item);
        return Ok(vec![Action::Emit(vec![items::single(item)])]);
    }
    let mut actions = vec![Action::Emit(vec![items::stream_start(&item)])];
    for piece in
        if chunks == words { text.split_inclusive(' ').map(str::to_owned).collect() } else { pieces(&text, chunks) }
    {
        actions.extend(delay.map(Action::Sleep));
        actions.push(Action::Emit(vec![items::delta(&id, "text", &piece)]));
    }
    actions.push(Action::Emit(vec![items::complete(&item, if cut_off { "failed" } else { "completed" }, finish)]));
    Ok(actions)
}

fn heard(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.item_id(args)?;
    args.end()?;
    let turn_id = stage.submit.turn_id.clone();
    Ok(vec![Action::Do(Box::new(move |core| {
        let heard = core.run.as_mut().map(|run| std::mem::take(&mut run.heard)).unwrap_or_default();
        let text = if heard.is_empty() { "nothing was said to me".to_owned() } else { heard.join("\n") };
        vec![Action::Emit(vec![items::single(items::new(
            &id,
            "agentMessage",
            Some(&turn_id),
            json!({ "text": text }),
        ))])]
    }))])
}

fn think(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let summary: Vec<String> = match args.value("summary") {
        None => Vec::new(),
        Some(value) => {
            serde_json::from_value(value).map_err(|error| format!("`summary` is no list of texts: {error}"))?
        }
    };
    let text = args.text("text")?;
    let chunks = usize::try_from(args.number("chunks")?.unwrap_or(1)).unwrap_or(1);
    let delay = args.number("delayMs")?;
    let stream = args.flag("stream")?.unwrap_or(true);
    let id = stage.item_id(args)?;
    args.end()?;
    let item = items::new(&id, "reasoning", Some(&stage.submit.turn_id), json!({ "summary": [] }));
    let finish = |item: &mut serde_json::Map<String, Value>| {
        item.insert("summary".to_owned(), json!(summary));
        if let Some(text) = &text {
            item.insert("text".to_owned(), text.as_str().into());
        }
    };
    if !stream {
        let mut item = item;
        finish(&mut item);
        return Ok(vec![Action::Emit(vec![items::single(item)])]);
    }
    let mut actions = vec![Action::Emit(vec![items::stream_start(&item)])];
    for (at, part) in summary.iter().enumerate() {
        for piece in pieces(part, chunks) {
            actions.extend(delay.map(Action::Sleep));
            let delta: Draft = items::delta(&id, &format!("summary.{at}"), &piece);
            actions.push(Action::Emit(vec![delta]));
        }
    }
    actions.push(Action::Emit(vec![items::complete(&item, "completed", finish)]));
    Ok(actions)
}
