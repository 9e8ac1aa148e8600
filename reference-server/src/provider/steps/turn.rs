//! The turn itself.
//!
//! - `retry {"attempt"?, "nextAttempt"?, "maxAttempts"?, "retryDelayMs"?, "reason"?, "of"?}`: a retry is scheduled; `of` is `turn`
//!   (default) or `model` (TURN-22). `system`, `errorKind` and `httpStatus` may be given too.
//! - `usage {"inputTokens", "outputTokens", "cachedTokens"?, "reasoningTokens"?}`: a model call is counted (STATE-2).
//! - `fail {"kind"?, "message"?, "retryable"?, "quota"?}`: the turn fails here.
//! - `end {"terminal"?, "reason"?, …}`: the turn ends here, with further members of `turn/completed` such as `usage`.
//! - `refuseLaunch {"message"?}`: as the first step of a turn that was queued: it cannot be launched (TURN-14).

use msp_types::msp::notifications::{SessionTokenUsage, TurnModelRetryScheduled, TurnRetryScheduled};
use serde_json::json;

use super::{Args, Stage, Verb};
use crate::decision::{Draft, Stream};
use crate::session::Action;
use crate::turns::End;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "retry",
        members: &[
            "attempt",
            "nextAttempt",
            "maxAttempts",
            "retryDelayMs",
            "reason",
            "of",
            "system",
            "errorKind",
            "httpStatus",
        ],
        expand: retry,
    },
    Verb { name: "usage", members: &["inputTokens", "outputTokens", "cachedTokens", "reasoningTokens"], expand: usage },
    Verb { name: "fail", members: &["kind", "message", "retryable", "quota"], expand: fail },
    Verb { name: "end", members: &["terminal", "reason", "durationMs", "timeToFirstTokenMs", "usage"], expand: end },
    Verb { name: "refuseLaunch", members: &["message"], expand: refuse_launch },
];

fn retry(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let attempt = args.number("attempt")?.unwrap_or(1);
    let next = args.number("nextAttempt")?.unwrap_or(attempt + 1);
    let of_model = match args.text("of")?.as_deref() {
        None | Some("turn") => false,
        Some("model") => true,
        Some(other) => return Err(format!("`of` is neither `turn` nor `model`: {other}")),
    };
    let mut params = json!({
        "turnId": stage.submit.turn_id, "attempt": attempt, "nextAttempt": next,
        "maxAttempts": args.number("maxAttempts")?.unwrap_or(next.max(3)),
        "retryDelayMs": args.number("retryDelayMs")?.unwrap_or(0),
    });
    if !of_model {
        let reason = args.text("reason")?.unwrap_or_else(|| "provider stream disconnected".to_owned());
        params["reason"] = reason.chars().take(160).collect::<String>().into(); // LIM-7
    }
    for member in ["system", "errorKind", "httpStatus"] {
        if let Some(value) = args.value(member) {
            params[member] = value;
        }
    }
    args.end()?;
    let draft = if of_model {
        Draft::view::<TurnModelRetryScheduled>(Stream::Session, params)
    } else {
        Draft::view::<TurnRetryScheduled>(Stream::Session, params)
    };
    Ok(vec![Action::Emit(vec![draft])])
}

fn usage(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let mut count = |name: &str| args.number(name).map(|number| number.unwrap_or(0));
    let (input, output) = (count("inputTokens")?, count("outputTokens")?);
    let (cached, reasoning) = (count("cachedTokens")?, count("reasoningTokens")?);
    args.end()?;
    let turn_id = stage.submit.turn_id.clone();
    Ok(vec![Action::With(Box::new(move |state, _| {
        let before = |member: &str| {
            state.value("session/tokenUsage", "cumulative").and_then(|held| held[member].as_u64()).unwrap_or(0)
        };
        let params = json!({
            "turnId": turn_id,
            "modelId": state.model_id(),
            "promptTokens": input,
            "totalTokens": input + output,
            "usage": { "inputTokens": input, "outputTokens": output, "cachedTokens": cached, "reasoningTokens": reasoning },
            "cumulative": {
                "promptTokens": before("promptTokens") + input,
                "outputTokens": before("outputTokens") + output,
                "totalTokens": before("totalTokens") + input + output,
            },
        });
        vec![Draft::view::<SessionTokenUsage>(Stream::Run(turn_id.clone()), params)]
    }))])
}

fn fail(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let kind = args.text("kind")?.unwrap_or_else(|| "modelError".to_owned());
    let message = args.text("message")?.unwrap_or_else(|| "the provider failed".to_owned());
    let retryable = args.flag("retryable")?.unwrap_or(true);
    let mut end = End::failed(&kind, &message, retryable);
    if let (Some(quota), Some(error)) = (args.value("quota"), &mut end.error) {
        error["quota"] = quota;
    }
    args.end()?;
    Ok(vec![Action::End(end)])
}

fn end(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let terminal = match args.text("terminal")?.as_deref() {
        None | Some("completed") => "completed",
        Some("cancelled") => "cancelled",
        Some(other) => return Err(format!("a turn does not end `{other}` like this")),
    };
    let mut end = End { terminal, reason: args.text("reason")?, ..End::completed() };
    for member in ["durationMs", "timeToFirstTokenMs", "usage"] {
        if let Some(value) = args.value(member) {
            end.members.insert(member.to_owned(), value);
        }
    }
    args.end()?;
    Ok(vec![Action::End(end)])
}

fn refuse_launch(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let message = args.text("message")?.unwrap_or_else(|| "queued turn launch failed: provider unavailable".to_owned());
    args.end()?;
    Ok(vec![Action::RefuseLaunch(message)])
}
