//! Questions to the user.
//!
//! - `ask {"questions", "autoResolutionMs"?, "tool"?, "callId"?, "name"?}`: a call that asks, and ends with the answer (UIN-1, UIN-7).
//!   Questions out of their bounds (UIN-2) are shown to nobody: the call fails, and the reason names the first bound.
//!   With `autoResolutionMs` the prompt settles itself after that time per question, unless somebody engages with it (UIN-10).

use serde_json::{Map, Value, json};

use super::{Args, Stage, Verb};
use crate::items;
use crate::session::{Action, Core, Prompted};
use crate::user_inputs::{self, Settlement};

pub(super) const VERBS: &[Verb] =
    &[Verb { name: "ask", members: &["questions", "autoResolutionMs", "tool", "callId", "name"], expand: ask }];

fn ask(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let questions = args.value("questions").filter(Value::is_array).ok_or("`questions` is no list")?;
    let auto = args.number("autoResolutionMs")?;
    let tool = args.text("tool")?.unwrap_or_else(|| "request_user_input".to_owned());
    let call_id = args.text("callId")?.unwrap_or_else(|| format!("call_{:08x}", stage.mint.random() >> 32));
    let item_id = stage.item_id(args)?;
    args.end()?;
    let members = json!({ "tool": tool, "callId": call_id, "args": json!({ "questions": questions }).to_string() });
    let item = items::new(&item_id, "toolCall", Some(&stage.submit.turn_id), members);
    if let Err(reason) = user_inputs::within_bounds(&questions) {
        let failed = items::complete(&item, "failed", |item| {
            item.insert("failureReason".to_owned(), reason.into());
        });
        return Ok(vec![Action::Emit(vec![items::start(&item)]), Action::Emit(vec![failed])]);
    }
    let id = stage.mint.uuid();
    let count = questions.as_array().map_or(0, Vec::len) as u64;
    let mut actions = vec![
        Action::Emit(vec![items::start(&item)]),
        Action::Emit(vec![user_inputs::request(&item, &id, &questions, auto)]),
    ];
    if let Some(ms) = auto {
        let id = id.clone();
        actions.push(Action::Do(Box::new(move |core| {
            count_down(core, id, ms * count);
            Vec::new()
        })));
    }
    actions.push(Action::UntilSettled(
        Prompted::UserInput,
        id,
        Box::new(move |settled| vec![Action::Emit(vec![end(&item, settled)])]),
    ));
    Ok(actions)
}

/// The end of the call, by how its prompt was settled.
fn end(item: &Map<String, Value>, settled: &Value) -> crate::decision::Draft {
    let reason = settled["reason"].as_str().map(str::to_owned);
    let (status, output) = match settled["outcome"].as_str() {
        Some("answered") => ("completed", Some(shown(settled))),
        Some("clarified") => ("completed", settled["clarification"]["content"].as_str().map(str::to_owned)),
        Some("timedOut") => ("timedOut", None),
        Some("cancelled") => {
            let declined = "User declined to answer";
            let told = reason.as_ref().map_or_else(|| declined.to_owned(), |reason| format!("{declined}: {reason}"));
            ("cancelled", Some(told))
        }
        _ => ("cancelled", None),
    };
    items::complete(item, status, |item| {
        if let Some(output) = output {
            item.insert("visibleOutput".to_owned(), output.into());
            item.insert("truncated".to_owned(), false.into());
        }
        if let Some(reason) = reason.filter(|_| status == "cancelled") {
            item.insert("failureReason".to_owned(), reason.into());
        }
    })
}

/// What was answered, a line a question.
fn shown(settled: &Value) -> String {
    let answers = settled["answers"].as_array().into_iter().flatten();
    let lines = answers.map(|answer| match (&answer["selectedLabel"], &answer["selectedLabels"]) {
        (Value::String(label), _) => label.clone(),
        (_, Value::Array(labels)) => labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => answer["freeText"].as_str().unwrap_or_default().to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Settles a prompt by itself after a while.
fn count_down(core: &mut Core, id: String, ms: u64) {
    let Some(loaded) = core.handle.as_ref().and_then(std::sync::Weak::upgrade) else { return };
    loaded.later(ms, move |core| {
        if core.is_engaged(&id) {
            return;
        }
        let Some(prompt) = core.state.user_inputs.find(&id) else { return };
        let draft = user_inputs::settle(prompt, &Settlement::new("timedOut", None), &mut core.host.mint.lock());
        core.emit(vec![draft]);
    });
}
