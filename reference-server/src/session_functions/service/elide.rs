//! The reduced view of run members whose heavy parts a reader of the tail does not need (SF-BLOCK-4 to SF-BLOCK-6).

use msp_types::session::{AgentMessage, ContentBlock};
use serde_json::{Map, Value};

/// Calls of this function keep a word of what they are for.
const AGENT_TRIGGER: &str = "agent_trigger";
/// Longest `function` that is kept, in characters.
const FUNCTION_LIMIT: usize = 256;
/// Where `description` is cut, in characters.
const DESCRIPTION_LIMIT: usize = 120;

/// Reduces a message in place.
pub(super) fn reduce(message: &mut AgentMessage) {
    match message {
        AgentMessage::Assistant(assistant) => {
            assistant.content.retain(|block| !matches!(block, ContentBlock::Thinking(_)));
            for block in &mut assistant.content {
                if let ContentBlock::FunctionCall(call) = block {
                    call.arguments = Some(arguments(&call.function_id, call.arguments.as_ref()));
                    call.unknown.clear();
                }
            }
        }
        AgentMessage::FunctionResult(result) => {
            result.content.clear();
            result.details = Some(Value::Null);
        }
        _ => {}
    }
}

fn arguments(function_id: &str, given: Option<&Value>) -> Value {
    let mut kept = Map::new();
    if function_id == AGENT_TRIGGER {
        let text = |name: &str| given.and_then(|given| given.get(name)).and_then(Value::as_str);
        if let Some(function) = text("function").filter(|text| text.chars().count() <= FUNCTION_LIMIT) {
            kept.insert("function".to_owned(), function.into());
        }
        if let Some(description) = text("description") {
            kept.insert(
                "description".to_owned(),
                description.chars().take(DESCRIPTION_LIMIT).collect::<String>().into(),
            );
        }
    }
    Value::Object(kept)
}
