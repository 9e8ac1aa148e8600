//! Approvals as drafts: what is asked, by which policy it needs no asking, and how a decision moves it on. Pure (APPR).

use msp_types::msp::notifications::{ApprovalRequested, ApprovalResolved, ApprovalReviewing, ApprovalUpdated};
use serde_json::{Map, Value, json};

use crate::decision::{Draft, Stream};
use crate::mint::{Mint, derived_uuid};
use crate::record::Body;
use crate::state::{Prompt, State};
use crate::time::rfc3339;

/// Something that needs approval.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The call's item at revision 1.
    pub item: Map<String, Value>,
    /// What is to be done; kind `shell` with `stages` of argument lists is decided stage by stage.
    pub subject: Value,
    /// Choices in place of the usual ones, or the names of those of them that are offered.
    pub choices: Option<Value>,
    /// Whether a protected file is written (APPR-22).
    pub protected: bool,
    /// Whether the model asked for permission itself, which `onRequest` prompts for.
    pub explicit: bool,
    /// The child that asks, where it is one (AGENT-8).
    pub origin: Option<Value>,
    /// Whether a judge looked at it and left it to a person.
    pub escalated: bool,
}

/// How the stages of an approval move on, where that is not the usual way: a fact of the session, by the approval's id.
const STAGE_PLANS: &str = "stagePlans";

/// Notes that some stages resolve themselves, and whether later stages are told by `approval/updated` alone.
pub fn stage_plan(approval_id: &str, resolve_themselves: &[u64], quiet: bool) -> Draft {
    let plan = json!({ "resolveThemselves": resolve_themselves, "quiet": quiet });
    Draft::fact(STAGE_PLANS, json!({ approval_id: plan }))
}

/// Whether nobody is asked again when a stage of an approval is over.
pub fn is_quiet(state: &State, approval_id: &str) -> bool {
    state.facts.get(STAGE_PLANS).is_some_and(|plans| plans[approval_id]["quiet"] == true)
}

/// Resolves the stages after a decided one that need nobody.
fn resolve_themselves(state: &State, approval_id: &str, subject: &mut Value) {
    let plans = state.facts.get(STAGE_PLANS);
    let stages = plans.and_then(|plans| plans[approval_id]["resolveThemselves"].as_array());
    while let Some(stage) = current_stage(subject) {
        if !stages.is_some_and(|stages| stages.iter().any(|index| *index == stage)) {
            return;
        }
        subject["stages"][stage]["resolution"] = json!({ "kind": "policyAllow" });
    }
}

/// What the policy says of an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It may run.
    Allow,
    /// It may not, and nobody is asked.
    Deny,
    /// A person decides.
    Prompt,
}

/// What mode and rules say (APPR-26). Persistent rules are those of the host.
pub fn policy(state: &State, ask: &Ask, persistent: &[String]) -> Policy {
    let rule = rule(&ask.subject);
    let session = state.facts.get("approvalRules").and_then(Value::as_array);
    let known =
        persistent.contains(&rule) || session.is_some_and(|rules| rules.iter().any(|known| *known == rule.as_str()));
    match state.approval_mode(false)["mode"].as_str() {
        Some("allowAll") => Policy::Allow,
        _ if known && !ask.protected => Policy::Allow,
        Some("denyUnmatched") => Policy::Deny,
        Some("onRequest") if !ask.explicit => Policy::Allow,
        _ => Policy::Prompt,
    }
}

/// The rule that would allow a subject the next time: one line for people, and what is compared.
pub fn rule(subject: &Value) -> String {
    let text = |member: &str| subject[member].as_str().unwrap_or_default();
    match text("kind") {
        "shell" => format!("run {}", text("command")),
        "fileAccess" => format!("{} {}", text("access"), text("path")),
        "network" => format!("connect {}", text("host")),
        "process" => format!("control {}", text("target")),
        _ => format!("use {}", text("toolName")),
    }
}

/// `approval/requested` of an ask, under an id.
pub fn request(ask: &Ask, approval_id: &str, task_id: &str) -> Draft {
    let text = |member: &str| ask.item.get(member).cloned().unwrap_or_default();
    let subject = subject(ask, approval_id);
    let mut params = json!({
        "approvalId": approval_id, "turnId": text("turnId"), "taskId": task_id, "itemId": text("itemId"),
        "toolCallId": text("callId"), "toolName": text("tool"), "rawArgs": text("args"),
        "currentRequirementId": requirement(approval_id, current_stage(&subject).unwrap_or(0)),
        "availableChoices": offered(ask, &subject),
        "subject": subject, "protectedWrite": ask.protected, "judgeEscalated": ask.escalated,
    });
    if let Some(origin) = &ask.origin {
        params["subagentOrigin"] = origin.clone();
    }
    Draft::view::<ApprovalRequested>(Stream::Review(approval_id.to_owned()), params)
}

/// `approval/reviewing`: a judge looks at it before anybody is asked.
pub fn review(ask: &Ask, approval_id: &str, task_id: &str) -> Draft {
    let Draft::Record(Body::View { params, .. }, stream) = request(ask, approval_id, task_id) else {
        return request(ask, approval_id, task_id);
    };
    Draft::view::<ApprovalReviewing>(stream, params)
}

/// The end of an approval that nobody was asked about (APPR-17), or that nobody answered in time.
pub fn settle(ask: &Ask, approval_id: &str, decision: &str, by: &str, mint: &mut Mint) -> Draft {
    let policy = if decision.starts_with("approved") { "allow" } else { "deny" };
    let mut params = json!({
        "approvalId": approval_id, "itemId": ask.item["itemId"], "turnId": ask.item["turnId"], "decision": decision,
        "policyResult": policy, "resolvedBy": by, "stageEvidence": [], "decidedAt": rfc3339(mint.now_ms()),
    });
    if let Some(origin) = &ask.origin {
        params["subagentOrigin"] = origin.clone();
    }
    Draft::view::<ApprovalResolved>(Stream::Review(approval_id.to_owned()), params)
}

/// The approval under which what a dead host had asked is asked again: an id that each load makes the same (APPR-19).
pub fn ask_again(prompt: &Prompt) -> Draft {
    let approval_id = derived_uuid(&prompt.id, &prompt.id);
    let mut params = prompt.params.clone();
    let fresh = |value: &mut Value| *value = approval_id.as_str().into();
    fresh(&mut params["approvalId"]);
    fresh(&mut params["currentRequirementId"]["approvalId"]);
    let stages = params["subject"].get_mut("stages").and_then(Value::as_array_mut);
    for stage in stages.into_iter().flatten() {
        fresh(&mut stage["requirementId"]["approvalId"]);
    }
    params["judgeEscalated"] = false.into();
    if let Some(params) = params.as_object_mut() {
        for member in ["sessionId", "viewCursor", "sourceRange"] {
            params.remove(member);
        }
    }
    Draft::view::<ApprovalRequested>(Stream::Review(approval_id), params)
}

/// Where a decision leads.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Whether it ends the approval.
    pub terminal: bool,
    /// Its events.
    pub drafts: Vec<Draft>,
    /// A rule that outlives the session, to be kept.
    pub persistent: Option<String>,
}

/// Applies a choice to a pending approval (APPR-12, APPR-14).
pub fn decide(state: &State, prompt: &Prompt, choice: &Value, command_id: &str, mint: &mut Mint) -> Moved {
    let stream = || Stream::Review(prompt.id.clone());
    let decision = choice["decision"].as_str().unwrap_or_default();
    let allowed = decision.starts_with("approved");
    let mut subject = prompt.params["subject"].clone();
    let current = current_stage(&subject);
    if let Some(stage) = current.filter(|_| allowed) {
        let kind = if decision == "approved" { "allowOnce" } else { "policyAmendment" };
        subject["stages"][stage]["resolution"] = json!({ "kind": kind });
        if kind == "policyAmendment" {
            subject["stages"][stage]["resolution"]["argvPrefix"] = subject["stages"][stage]["argv"].clone();
        }
        resolve_themselves(state, &prompt.id, &mut subject);
        if let Some(next) = current_stage(&subject) {
            let protected = prompt.params["protectedWrite"] == true;
            let update = json!({
                "approvalId": prompt.id,
                "availableChoices": choices(&subject, protected),
                "currentRequirementId": requirement(&prompt.id, next),
                "subject": subject,
                "change": {
                    "kind": "stageResolved", "requirementId": prompt.params["currentRequirementId"],
                    "choiceId": choice["choiceId"], "decision": decision,
                },
            });
            return Moved {
                terminal: false,
                drafts: vec![Draft::view::<ApprovalUpdated>(stream(), update)],
                persistent: None,
            };
        }
    }
    let mut resolved = json!({
        "approvalId": prompt.id, "itemId": prompt.params["itemId"], "turnId": prompt.params["turnId"],
        "decision": decision, "policyResult": if allowed { "allow" } else { "deny" }, "resolvedBy": "user",
        "stageEvidence": evidence(&subject), "decidedByCommandId": command_id, "decidedAt": rfc3339(mint.now_ms()),
    });
    if let Some(origin) = prompt.params.get("subagentOrigin") {
        resolved["subagentOrigin"] = origin.clone();
    }
    let rule = choice["rulePreview"].as_str().map_or_else(|| rule(&subject), str::to_owned);
    let persists = choice["scope"] == "localPersistent";
    let amends = persists || choice["scope"] == "session";
    let mut drafts = Vec::new();
    if amends {
        resolved["amendment"] =
            json!({ "durability": if persists { "localPersistent" } else { "session" }, "rulePreview": rule });
        if allowed && !persists {
            let mut rules = state.facts.get("approvalRules").and_then(Value::as_array).cloned().unwrap_or_default();
            rules.push(rule.as_str().into());
            drafts.push(Draft::fact("approvalRules", rules.into()));
        }
    }
    drafts.insert(0, Draft::view::<ApprovalResolved>(stream(), resolved));
    Moved { terminal: true, drafts, persistent: (amends && allowed && persists).then_some(rule) }
}

/// Tells whether a persistent rule was kept; a failure does not undo the decision (APPR-21).
pub fn persistence(prompt: &Prompt, failed: Option<&str>) -> Draft {
    let mut change =
        json!({ "kind": "policyPersistence", "status": if failed.is_some() { "failed" } else { "succeeded" } });
    if let Some(reason) = failed {
        change["reason"] = reason.into();
    }
    let params = json!({
        "approvalId": prompt.id, "availableChoices": prompt.params["availableChoices"], "change": change,
        "currentRequirementId": prompt.params["currentRequirementId"], "subject": prompt.params["subject"],
    });
    Draft::view::<ApprovalUpdated>(Stream::Review(prompt.id.clone()), params)
}

/// The choices of an ask.
fn offered(ask: &Ask, subject: &Value) -> Value {
    let usual = choices(subject, ask.protected);
    let named = ask.choices.as_ref().and_then(Value::as_array).filter(|named| named.iter().all(Value::is_string));
    match (named, &ask.choices, usual) {
        (Some(named), _, Value::Array(usual)) => {
            usual.into_iter().filter(|choice| named.contains(&choice["choiceId"])).collect()
        }
        (None, Some(own), _) => own.clone(),
        (_, _, usual) => usual,
    }
}

/// The usual choices: once, for the session, for good, and no; only once and no where a rule has no place (APPR-22).
fn choices(subject: &Value, protected: bool) -> Value {
    let mut choices =
        vec![json!({ "choiceId": "allow_once", "label": "Allow once", "decision": "approved", "scope": "once" })];
    if !protected && subject["kind"] != "unixSocket" {
        let rule = rule(subject);
        choices.push(json!({
            "choiceId": "allow_session", "label": "Allow for this session", "decision": "approvedForSession",
            "scope": "session", "rulePreview": rule,
        }));
        choices.push(json!({
            "choiceId": "allow_always", "label": "Always allow", "decision": "approvedPolicyAmendment",
            "scope": "localPersistent", "rulePreview": rule,
        }));
    }
    choices.push(json!({
        "choiceId": "abort", "label": "Reject", "decision": "abort", "scope": "once", "acceptsFeedback": true,
    }));
    choices.into()
}

/// The subject, the stages of a shell command written out (APPR-27).
fn subject(ask: &Ask, approval_id: &str) -> Value {
    let mut subject = ask.subject.clone();
    if subject["kind"] != "shell" {
        if subject.get("toolName").is_none() && subject["kind"] != "shell" {
            subject["toolName"] = ask.item.get("tool").cloned().unwrap_or_default();
        }
        return subject;
    }
    let argvs = subject["stages"].as_array().cloned().unwrap_or_default();
    let argvs =
        if argvs.is_empty() { vec![json!(words(subject["command"].as_str().unwrap_or_default()))] } else { argvs };
    let total = argvs.len();
    let stages = argvs.into_iter().enumerate().map(|(at, argv)| {
        json!({
            "requirementId": requirement(approval_id, at), "position": at + 1, "totalStages": total,
            "argv": argv, "argvComplete": true, "resolution": { "kind": "unresolved" },
        })
    });
    subject["stages"] = stages.collect();
    subject
}

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

fn requirement(approval_id: &str, stage: usize) -> Value {
    json!({ "approvalId": approval_id, "sourceIndex": stage })
}

/// The first stage that nobody decided.
fn current_stage(subject: &Value) -> Option<usize> {
    subject["stages"].as_array()?.iter().position(|stage| stage["resolution"]["kind"] == "unresolved")
}

/// What was decided stage by stage; empty for subjects without stages.
fn evidence(subject: &Value) -> Vec<Value> {
    let members = ["argv", "position", "requirementId", "resolution", "totalStages"];
    let stages = subject["stages"].as_array().into_iter().flatten();
    stages.map(|stage| members.iter().map(|member| ((*member).to_owned(), stage[*member].clone())).collect()).collect()
}
