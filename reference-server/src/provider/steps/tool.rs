//! Tools.
//!
//! - `tool {"tool", "args"?, "output"?, "size"?, "chunks"?, "delayMs"?, "status"?, "failureReason"?, "callId"?, "name"?, …}`: a
//!   call that runs and ends. `args` is text as the model wrote it, or a value that becomes text. `size` makes an output of so many
//!   bytes; what does not fit the view is stored for `item/readOutput` (OUT-6). `members` go onto the ended item as they are.
//!   `approval {"subject"?, "choices"?, "protectedWrite"?, "explicit"?}` makes it wait for a decision as mode and rules say; a
//!   `subject` of kind `shell` may have `stages`, a list of argument lists (APPR). `choices` are objects, or names of usual choices.

use serde_json::{Map, Value, json};

use super::{Args, Stage, Verb, pieces};
use crate::approvals::{self, Ask, Policy};
use crate::decision::Draft;
use crate::items;
use crate::output;
use crate::session::{Action, Prompted};

pub(super) const VERBS: &[Verb] = &[Verb { name: "tool", expand: tool }];

fn tool(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let call = Call::read(args, stage)?;
    let approval = args.value("approval");
    args.end()?;
    if let Some(approval) = approval {
        return ask(call, approval, stage);
    }
    let mut actions = vec![Action::Emit(vec![items::start(&call.item)])];
    actions.extend(call.run(stage));
    Ok(actions)
}

/// A call that has to be approved: what happens is decided when its turn comes, by the mode and the rules of that moment.
fn ask(call: Call, approval: Value, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let Value::Object(approval) = approval else { return Err("`approval` is no object".to_owned()) };
    let mut approval = Args::new(approval);
    let tool = call.item["tool"].clone();
    let subject = approval.value("subject").unwrap_or_else(|| json!({ "kind": "tool", "toolName": tool }));
    let mut ask = Ask {
        item: call.item.clone(),
        subject,
        choices: approval.value("choices"),
        protected: approval.flag("protectedWrite")?.unwrap_or(false),
        explicit: approval.flag("explicit")?.unwrap_or(false),
    };
    approval.end()?;
    let (id, task_id) = (stage.mint.uuid(), stage.mint.uuid());
    let run = call.run(stage);
    Ok(vec![Action::Do(Box::new(move |core| {
        let persistent = core.host.rules();
        let policy = approvals::policy(&core.state, &ask, &persistent);
        if policy == Policy::Allow {
            let mut actions = vec![Action::Emit(vec![items::start(&ask.item)])];
            actions.extend(run);
            return actions;
        }
        ask.item.insert("approvalId".to_owned(), id.as_str().into());
        let start = items::start(&ask.item);
        let request = approvals::request(&ask, &id, &task_id);
        if policy == Policy::Deny {
            let denied = approvals::deny_by_policy(&ask, &id, &mut core.host.mint.lock());
            let rejected = reject(&ask.item, "denied by policy");
            return vec![Action::Emit(vec![start]), Action::Emit(vec![request, denied, rejected])];
        }
        let item = ask.item;
        let then = move |resolved: &Value| match (resolved["policyResult"].as_str(), resolved["decision"].as_str()) {
            (Some("allow"), _) => run,
            (_, Some("abort")) => vec![Action::Emit(vec![reject(&item, "approval aborted")])],
            _ => vec![Action::Emit(vec![reject(&item, "approval denied")])],
        };
        vec![
            Action::Emit(vec![start]),
            Action::Emit(vec![request]),
            Action::UntilSettled(Prompted::Approval, id, Box::new(then)),
        ]
    }))])
}

/// The end of a call that was not executed (APPR-16).
fn reject(item: &Map<String, Value>, reason: &str) -> Draft {
    items::complete(item, "rejected", |item| {
        item.insert("failureReason".to_owned(), reason.into());
        item.insert("visibleOutput".to_owned(), format!("tool denied: {reason}").into());
        item.insert("truncated".to_owned(), false.into());
    })
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
        let (stored, reference) = bounded.stored.unzip();
        let mut actions = Vec::new();
        if !bounded.visible.is_empty() && self.chunks > 0 {
            for piece in pieces(&bounded.visible, self.chunks) {
                actions.extend(self.delay.map(Action::Sleep));
                actions.push(Action::Emit(vec![items::delta(&id, "output", &piece)]));
            }
        }
        let (item_id, status) = (id, self.status);
        let change = move |item: &mut Map<String, Value>| {
            item.insert("visibleOutput".to_owned(), bounded.visible.as_str().into());
            item.insert("truncated".to_owned(), reference.is_some().into());
            if let Some(reference) = reference {
                item.insert("outputRef".to_owned(), reference);
            }
            if let Some(failure) = self.failure {
                item.insert("failureReason".to_owned(), failure.into());
            }
            item.extend(self.members);
        };
        actions.push(Action::With(Box::new(move |state, _| {
            let end = state
                .items
                .find(&item_id)
                .filter(|item| item["status"] == "inProgress")
                .map(|item| items::complete(item, &status, change));
            stored.into_iter().map(Draft::stored).chain(end).collect()
        })));
        actions
    }
}
