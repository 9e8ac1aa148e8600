//! Questions to the user: answer, cancel, clarify, interrupt; `userInput/engaged` (UIN).

mod answers;

use std::sync::Arc;

use msp_types::msp::methods::{UserInputAnswer, UserInputCancel, UserInputClarify, UserInputInterrupt};
use msp_types::msp::{
    CommandStatus, UserInputAnswerParams, UserInputAnswerResult, UserInputCancelParams, UserInputCancelResult,
    UserInputClarifyParams, UserInputClarifyResult, UserInputInterruptParams, UserInputInterruptResult, errors,
};
use serde_json::{Value, json};

use super::{Command, Method, command, to_value};
use crate::decision::{Context, Decision, Effect};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::state::{Prompt, State};
use crate::turns::{self, Stop};
use crate::user_inputs::{self, Settlement};

/// What this family has.
pub const METHODS: &[Method] = &[
    command::<UserInputAnswer>(),
    command::<UserInputCancel>(),
    command::<UserInputClarify>(),
    command::<UserInputInterrupt>(),
];

/// Most characters of a clarification (LIM-6).
const MOST_CHARACTERS: usize = 500;

impl Command for UserInputAnswer {
    fn decide(
        params: UserInputAnswerParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<UserInputAnswerResult>, Refusal> {
        let prompt = find(ctx.state, &params.user_input_id)?;
        let answers = to_value(&params.answers)?;
        answers::check(prompt, &answers, answers::Wanted::All)?;
        let settlement = Settlement { answers, ..Settlement::new("answered", Some(&params.command_id)) };
        let draft = user_inputs::settle(prompt, &settlement, ctx.mint);
        let result = UserInputAnswerResult::new(params.command_id, CommandStatus::Accepted, params.user_input_id);
        Ok(Decision::new(result).draft(draft))
    }
}

impl Command for UserInputCancel {
    fn decide(
        params: UserInputCancelParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<UserInputCancelResult>, Refusal> {
        let prompt = find(ctx.state, &params.user_input_id)?;
        let reason = params.reason.map_or(Value::Null, Value::from);
        let settlement = Settlement { reason, ..Settlement::new("cancelled", Some(&params.command_id)) };
        let draft = user_inputs::settle(prompt, &settlement, ctx.mint);
        let result = UserInputCancelResult::new(params.command_id, CommandStatus::Accepted, params.user_input_id);
        Ok(Decision::new(result).draft(draft))
    }
}

impl Command for UserInputClarify {
    fn decide(
        params: UserInputClarifyParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<UserInputClarifyResult>, Refusal> {
        let prompt = find(ctx.state, &params.user_input_id)?;
        let clarification = &params.clarification;
        if clarification.format != "text" {
            return Err(Refusal::invalid_params(format!("no clarification format `{}`", clarification.format)));
        }
        if clarification.content.chars().count() > MOST_CHARACTERS {
            return Err(Refusal::invalid_params(format!("the clarification is over {MOST_CHARACTERS} characters")));
        }
        let clarification = json!({ "format": "text", "content": clarification.content });
        let settlement = Settlement { clarification, ..Settlement::new("clarified", Some(&params.command_id)) };
        let draft = user_inputs::settle(prompt, &settlement, ctx.mint);
        let result = UserInputClarifyResult::new(params.command_id, CommandStatus::Accepted, params.user_input_id);
        Ok(Decision::new(result).draft(draft))
    }
}

impl Command for UserInputInterrupt {
    fn decide(
        params: UserInputInterruptParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<UserInputInterruptResult>, Refusal> {
        let prompt = find(ctx.state, &params.user_input_id)?;
        let answers = to_value(&params.answers.unwrap_or_default())?;
        answers::check(prompt, &answers, answers::Wanted::Some)?;
        let settlement = Settlement { answers, ..Settlement::new("interrupted", Some(&params.command_id)) };
        let draft = user_inputs::settle(prompt, &settlement, ctx.mint);
        let stop = Stop { settled: Some(prompt.id.clone()), ..Stop::by_client("interrupted by the client") };
        let stopped = turns::stop(ctx.state, ctx.mint, &stop);
        let result = UserInputInterruptResult::new(params.command_id, CommandStatus::Accepted, params.user_input_id);
        Ok(Decision::new(result).draft(draft).drafts(stopped).effect(Effect::StopRun).effect(Effect::LaunchNext))
    }
}

/// The open prompt of an id.
fn find<'a>(state: &'a State, user_input_id: &str) -> Result<&'a Prompt, Refusal> {
    if let Some(prompt) = state.user_inputs.find(user_input_id) {
        return Ok(prompt);
    }
    Err(match state.user_inputs.closed.get(user_input_id) {
        Some(closed) => {
            let settlement = json!({ "outcome": closed["outcome"], "viewCursor": closed["viewCursor"] });
            Refusal::new(errors::USER_INPUT_ALREADY_SETTLED, "the prompt is settled").with("settlement", settlement)
        }
        None => Refusal::new(errors::USER_INPUT_NOT_FOUND, format!("no prompt `{user_input_id}`")),
    }
    .with("userInputId", user_input_id))
}

/// Takes `userInput/engaged`: the countdown of a timed prompt stops. It is never answered, whatever is wrong with it (UIN-9).
pub fn engaged(host: &Arc<Host>, params: &Value) {
    let text = |member: &str| params[member].as_str().unwrap_or_default();
    if let Some(loaded) = host.find_loaded(text("sessionId")) {
        loaded.core().engage(text("userInputId"));
    }
}
