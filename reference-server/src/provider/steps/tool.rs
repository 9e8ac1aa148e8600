//! Tools.
//!
//! - `tool {"tool", "args"?, "output"?, "size"?, "chunks"?, "delayMs"?, "status"?, "failureReason"?, "callId"?, "name"?, …}`: a
//!   call that runs and ends. `args` is text as the model wrote it, or a value that becomes text. `size` makes an output of so many
//!   bytes. What does not fit the view is stored for `item/readOutput` (OUT-6). `members` go onto the ended item as they are.

use serde_json::{Map, Value, json};

use super::{Args, Stage, Verb, pieces};
use crate::decision::Draft;
use crate::items;
use crate::output;
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[Verb { name: "tool", expand: tool }];

fn tool(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let call = Call::read(args, stage)?;
    args.end()?;
    let mut actions = vec![Action::Emit(vec![items::start(&call.item)])];
    actions.extend(call.run(stage));
    Ok(actions)
}

/// A call of a tool.
pub(super) struct Call {
    /// Its item at revision 1.
    pub(super) item: Map<String, Value>,
    output: String,
    chunks: usize,
    delay: Option<u64>,
    status: String,
    failure: Option<String>,
    members: Map<String, Value>,
}

impl Call {
    /// Reads the arguments of a step that calls a tool.
    pub(super) fn read(args: &mut Args, stage: &mut Stage<'_>) -> Result<Self, String> {
        let tool = args.text("tool")?.unwrap_or_else(|| "shell".to_owned());
        let arguments = match args.value("args") {
            None => "{}".to_owned(),
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
        };
        let mut output = args.text("output")?.unwrap_or_default();
        if let Some(size) = args.number("size")? {
            output = output::filler(usize::try_from(size).unwrap_or(0).min(64 * 1024 * 1024));
        }
        let call_id = args.text("callId")?.unwrap_or_else(|| format!("call_{:08x}", stage.mint.random() >> 32));
        let id = stage.item_id(args)?;
        let members = json!({ "tool": tool, "callId": call_id, "args": arguments });
        Ok(Self {
            item: items::new(&id, "toolCall", Some(&stage.submit.turn_id), members),
            output,
            chunks: usize::try_from(args.number("chunks")?.unwrap_or(1)).unwrap_or(1),
            delay: args.number("delayMs")?,
            status: args.text("status")?.unwrap_or_else(|| "completed".to_owned()),
            failure: args.text("failureReason")?,
            members: args.object("members")?,
        })
    }

    /// What happens once it may run: output, end.
    pub(super) fn run(self, stage: &mut Stage<'_>) -> Vec<Action> {
        let id = self.item["itemId"].as_str().unwrap_or_default().to_owned();
        let bounded = output::bound(&self.output, &id, "tool_output", stage.mint);
        let mut actions = Vec::new();
        if !bounded.visible.is_empty() && self.chunks > 0 {
            for piece in pieces(&bounded.visible, self.chunks) {
                actions.extend(self.delay.map(Action::Sleep));
                actions.push(Action::Emit(vec![items::delta(&id, "output", &piece)]));
            }
        }
        let item = self.item;
        let end = items::complete(&item, &self.status, |item| {
            item.insert("visibleOutput".to_owned(), bounded.visible.as_str().into());
            item.insert("truncated".to_owned(), bounded.stored.is_some().into());
            if let Some((_, reference)) = &bounded.stored {
                item.insert("outputRef".to_owned(), reference.clone());
            }
            if let Some(failure) = self.failure {
                item.insert("failureReason".to_owned(), failure.into());
            }
            item.extend(self.members);
        });
        let mut drafts: Vec<Draft> = bounded.stored.into_iter().map(|(stored, _)| Draft::stored(stored)).collect();
        drafts.push(end);
        actions.push(Action::Emit(drafts));
        actions
    }
}
