//! Tools.
//!
//! - `tool {"tool"?, "args"?, "output"?, "size"?, "chunks"?, "delayMs"?, "status"?, "failureReason"?, "callId"?, "name"?, …}`: a
//!   call that runs and ends. `args` is text as the model wrote it, or a value that becomes text; `argsBytes` makes it so long.
//!   `size` makes an output of so many bytes; what does not fit the view is stored for `item/readOutput` (OUT-6).
//!   `patch` is a list of `{"path", "lines"}`, the lines of a diff: it is stored, and summed up on the item (ITEM-22).
//!   `label {"active", "done", "neutral"}` is how people are shown the call. `members` go onto the ended item as they are.
//!   `approval {…}` makes it wait for a decision as mode and rules say:
//!   `{"subject"?, "choices"?, "protectedWrite"?, "explicit"?, "timeoutMs"?, "judge"?, "child"?, "resolveThemselves"?, "quiet"?}`.
//!   A `subject` of kind `shell` may have `stages`, a list of argument lists (APPR); `choices` are objects, or names of usual choices. `judge` is `allow`, `deny` or `escalate`;
//!   `child` names a subagent that asks (AGENT-8); `resolveThemselves` are numbers of stages that need nobody; with `quiet` later
//!   stages are told by `approval/updated` alone.

use serde_json::{Map, Value, json};

use super::{Args, Stage, Verb, pieces};
use crate::approvals::{self, Ask, Policy};
use crate::decision::Draft;
use crate::items;
use crate::output;
use crate::session::{Action, Core, Prompted};

pub(super) const VERBS: &[Verb] = &[Verb {
    name: "tool",
    members: &[
        "tool",
        "args",
        "argsBytes",
        "output",
        "size",
        "chunks",
        "delayMs",
        "status",
        "failureReason",
        "callId",
        "name",
        "patch",
        "label",
        "members",
        "approval",
    ],
    expand: tool,
}];

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

/// What a step says of the approval that its call needs.
struct Asking {
    ask: Ask,
    judge: Option<String>,
    timeout: Option<u64>,
    resolve_themselves: Vec<u64>,
    quiet: bool,
    child: Option<String>,
}

impl Asking {
    fn read(call: &Call, approval: Value, stage: &Stage<'_>) -> Result<Self, String> {
        let Value::Object(approval) = approval else { return Err("`approval` is no object".to_owned()) };
        let mut args = Args::new(approval);
        let tool = call.item["tool"].clone();
        let subject = args.value("subject").unwrap_or_else(|| json!({ "kind": "tool", "toolName": tool }));
        let ask = Ask {
            item: call.item.clone(),
            subject,
            choices: args.value("choices"),
            protected: args.flag("protectedWrite")?.unwrap_or(false),
            explicit: args.flag("explicit")?.unwrap_or(false),
            origin: None,
            escalated: false,
        };
        let judge = args.text("judge")?;
        if let Some(other) = judge.as_deref().filter(|judge| !["allow", "deny", "escalate"].contains(judge)) {
            return Err(format!("a judge does not `{other}`"));
        }
        let stages = args.value("resolveThemselves").unwrap_or_else(|| json!([]));
        let resolve_themselves: Vec<u64> = serde_json::from_value(stages)
            .map_err(|error| format!("`resolveThemselves` is no list of stage numbers: {error}"))?;
        if resolve_themselves.contains(&0) {
            return Err("the first stage, 0, is the one that is asked about".to_owned());
        }
        let child = args.text("child")?.map(|name| stage.id_of(&name)).transpose()?;
        let (timeout, quiet) = (args.number("timeoutMs")?, args.flag("quiet")?.unwrap_or(false));
        args.end()?;
        Ok(Self { ask, judge, timeout, resolve_themselves, quiet, child })
    }
}

/// A call that has to be approved: what happens is decided when its turn comes, by the mode and the rules of that moment.
fn ask(call: Call, approval: Value, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let mut asking = Asking::read(&call, approval, stage)?;
    let (id, task_id) = (stage.mint.uuid(), stage.mint.uuid());
    let run = call.run(stage);
    Ok(vec![Action::Do(Box::new(move |core| {
        asking.ask.origin = asking.child.as_ref().and_then(|child| origin(core, child));
        let persistent = core.host.rules();
        let policy = approvals::policy(&core.state, &asking.ask, &persistent);
        if policy == Policy::Allow {
            let mut actions = vec![Action::Emit(vec![items::start(&asking.ask.item)])];
            actions.extend(run);
            return actions;
        }
        asking.ask.item.insert("approvalId".to_owned(), id.as_str().into());
        if policy == Policy::Deny {
            return at_once(core, &asking.ask, (&id, &task_id), ("denied", "policy"), run);
        }
        let Some(judge) = asking.judge.take() else { return prompt(asking, id, &task_id, run) };
        let mut actions = vec![Action::Emit(vec![approvals::review(&asking.ask, &id, &task_id)])];
        asking.ask.escalated = judge == "escalate";
        actions.extend(match judge.as_str() {
            "allow" => at_once(core, &asking.ask, (&id, &task_id), ("approved", "llmJudge"), run),
            "deny" => at_once(core, &asking.ask, (&id, &task_id), ("denied", "llmJudge"), run),
            _ => prompt(asking, id, &task_id, run),
        });
        actions
    }))])
}

/// Where the approval of a child comes from (AGENT-8); nothing where the child has no session yet.
fn origin(core: &Core, item_id: &str) -> Option<Value> {
    let item = core.state.items.find(item_id)?;
    let session_id = item.get("childSessionId")?;
    let run = core.host.find_loaded(session_id.as_str()?)?.core().state.turns.active.as_ref()?.turn_id.clone();
    Some(json!({ "subagentId": item["subagentId"], "childSessionId": session_id, "childRunId": run }))
}

/// Asked and answered in one go: nobody is prompted (APPR-17).
fn at_once(core: &Core, ask: &Ask, ids: (&str, &str), how: (&str, &str), run: Vec<Action>) -> Vec<Action> {
    let ((id, task_id), (decision, by)) = (ids, how);
    let settled = approvals::settle(ask, id, decision, by, &mut core.host.mint.lock());
    let mut drafts = vec![approvals::request(ask, id, task_id), settled];
    let allowed = decision == "approved";
    if !allowed {
        drafts.push(reject(&ask.item, if by == "policy" { "denied by policy" } else { "denied by the judge" }));
    }
    let mut actions = vec![Action::Emit(vec![items::start(&ask.item)]), Action::Emit(drafts)];
    actions.extend(run.into_iter().filter(|_| allowed));
    actions
}

/// Asks a person, and goes on as that one decides.
fn prompt(asking: Asking, id: String, task_id: &str, run: Vec<Action>) -> Vec<Action> {
    let Asking { ask, timeout, resolve_themselves, quiet, .. } = asking;
    let mut drafts = vec![approvals::request(&ask, &id, task_id)];
    if quiet || !resolve_themselves.is_empty() {
        drafts.push(approvals::stage_plan(&id, &resolve_themselves, quiet));
    }
    let mut actions = vec![Action::Emit(vec![items::start(&ask.item)]), Action::Emit(drafts)];
    let item = ask.item.clone();
    if let Some(ms) = timeout {
        let id = id.clone();
        actions.push(Action::Do(Box::new(move |core| {
            core.after(ms, move |core| time_out(core, &ask, &id));
            Vec::new()
        })));
    }
    let then = move |resolved: &Value| match (resolved["policyResult"].as_str(), resolved["decision"].as_str()) {
        (Some("allow"), _) => run,
        (_, Some("abort")) => vec![Action::Emit(vec![reject(&item, "approval aborted")])],
        (_, Some("timedOut")) => vec![Action::Emit(vec![reject(&item, "approval timed out")])],
        _ => vec![Action::Emit(vec![reject(&item, "approval denied")])],
    };
    actions.push(Action::UntilSettled(Prompted::Approval, id, Box::new(then)));
    actions
}

/// Nobody decided in time. This protocol has no such time of its own (APPR-4), so only a script makes it.
fn time_out(core: &mut Core, ask: &Ask, id: &str) {
    if core.state.approvals.find(id).is_some() {
        let draft = approvals::settle(ask, id, "timedOut", "policy", &mut core.host.mint.lock());
        core.emit(vec![draft]);
        core.tell_status();
    }
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
    patch: Option<Patch>,
    members: Map<String, Value>,
}

/// What a call did to files.
struct Patch {
    body: Value,
    summary: Value,
}

impl Patch {
    fn read(patch: &Value) -> Result<Self, String> {
        let wrong = || "`patch` is no list of `{\"path\", \"lines\"}`".to_owned();
        let files = patch.as_array().filter(|files| !files.is_empty()).ok_or_else(wrong)?;
        let (mut added, mut removed) = (0, 0);
        for file in files {
            let lines = file["lines"].as_array().filter(|_| file["path"].is_string()).ok_or_else(wrong)?;
            for line in lines {
                let line = line.as_str().ok_or_else(wrong)?;
                added += u64::from(line.starts_with('+'));
                removed += u64::from(line.starts_with('-'));
            }
        }
        let summary = json!({ "files": files.len(), "added": added, "removed": removed });
        Ok(Self { body: json!({ "files": files }), summary })
    }
}

/// So many bytes of text.
fn filled(size: u64) -> String {
    output::filler(usize::try_from(size).unwrap_or(0).min(64 * 1024 * 1024))
}

/// How a call is shown to people: three texts, a line each (ITEM-48).
fn label_of(label: Value) -> Result<Value, String> {
    let Value::Object(label) = label else { return Err("`label` is no object".to_owned()) };
    let mut args = Args::new(label);
    let mut line = |name: &str| -> Result<String, String> {
        let text = args.text(name)?.ok_or_else(|| format!("`{name}` of `label` is missing"))?;
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let label = json!({ "active": line("active")?, "done": line("done")?, "neutral": line("neutral")? });
    args.end()?;
    Ok(label)
}

impl Call {
    /// Reads the arguments of a step that calls a tool.
    pub(super) fn read(args: &mut Args, stage: &mut Stage<'_>) -> Result<Self, String> {
        let tool = args.text("tool")?.unwrap_or_else(|| "shell".to_owned());
        let arguments = match (args.value("args"), args.number("argsBytes")?) {
            (None, None) => "{}".to_owned(),
            (None, Some(size)) => filled(size),
            (Some(_), Some(_)) => return Err("`args` or `argsBytes`, not both".to_owned()),
            (Some(Value::String(text)), _) => text,
            (Some(value), _) => value.to_string(),
        };
        let mut output = args.text("output")?.unwrap_or_default();
        if let Some(size) = args.number("size")? {
            output = filled(size);
        }
        let call_id = args.text("callId")?.unwrap_or_else(|| format!("call_{:08x}", stage.mint.random() >> 32));
        let id = stage.item_id(args)?;
        let mut members = json!({ "tool": tool, "callId": call_id, "args": arguments });
        if let Some(label) = args.value("label") {
            members["displayLabel"] = label_of(label)?;
        }
        Ok(Self {
            patch: args.value("patch").map(|patch| Patch::read(&patch)).transpose()?,
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
        let patch = self.patch.map(|patch| {
            let (stored, reference) =
                output::store(&patch.body.to_string(), &id, "tool_patch", "application/json", stage.mint);
            (stored, (reference, patch.summary))
        });
        let (patch_stored, patch) = patch.unzip();
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
            if let Some((reference, summary)) = patch {
                item.insert("patchRef".to_owned(), reference);
                item.insert("patchSummary".to_owned(), summary);
            }
            item.extend(self.members);
        };
        let stored: Vec<_> = stored.into_iter().chain(patch_stored).collect();
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
