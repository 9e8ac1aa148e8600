//! What one prompt looks like, by itself.

use super::{APPR_5, APPR_6, APPR_22, APPR_27, requirement, word};
use crate::facts::{Placed, Value};
use crate::rules::out::Out;

const DECISIONS: [&str; 7] = [
    "approved",
    "approvedForSession",
    "approvedPolicyAmendment",
    "denied",
    "deniedPolicyAmendment",
    "timedOut",
    "abort",
];
const SCOPES: [&str; 3] = ["once", "session", "localPersistent"];
/// Kinds of subject other than shell, with the members that each brings.
const SUBJECTS: [(&str, &[&str]); 5] = [
    ("fileAccess", &["toolName", "path", "access"]),
    ("network", &["toolName", "host"]),
    ("unixSocket", &["toolName"]),
    ("process", &["toolName", "target", "access"]),
    ("tool", &["toolName"]),
];

/// Whether the kind of a subject is a known one.
pub(super) fn is_known(kind: crate::facts::Id) -> bool {
    kind == word("shell") || SUBJECTS.iter().any(|(known, _)| word(known) == kind)
}

/// A whole prompt: of an event, a host request, or a row of the list.
pub(super) fn check(fact: &impl Placed, below: &str, params: Value<'_>, out: &mut Out<'_>) {
    out.exercised(APPR_6);
    let approval = params.id_of("approvalId");
    let current = requirement(params.get("currentRequirementId"));
    if current.map(|(approval, _)| approval) != approval {
        out.violated(APPR_6, fact, &format!("{below}/currentRequirementId/approvalId"))
            .expected("the approvalId of the prompt")
            .actual(params.path(&["currentRequirementId", "approvalId"]).map_or_else(String::new, |it| it.shown()))
            .done();
    }
    for name in ["subagentId", "childSessionId", "childRunId"] {
        if let Some(origin) = params.get("subagentOrigin").filter(|origin| origin.get(name).is_none()) {
            out.violated(APPR_6, fact, &format!("{below}/subagentOrigin")).expected(name).actual(origin.shown()).done();
        }
    }
    let is_protected = params.get("protectedWrite").and_then(|it| it.bool()) == Some(true);
    choices(fact, below, params, out);
    once_only(fact, below, params, is_protected, out);
    subject(fact, below, params, out);
}

/// APPR-5: there is something to choose from.
pub(super) fn choices(fact: &impl Placed, below: &str, params: Value<'_>, out: &mut Out<'_>) {
    let Some(choices) = params.get("availableChoices") else { return };
    out.exercised(APPR_5);
    if choices.items().next().is_none() {
        out.violated(APPR_5, fact, &format!("{below}/availableChoices"))
            .expected("at least one choice")
            .actual("[]")
            .done();
    }
    for (index, choice) in choices.items().enumerate() {
        let place = format!("{below}/availableChoices/{index}");
        if choice.get("acceptsFeedback").and_then(|it| it.bool()) == Some(false) {
            out.violated(APPR_5, fact, &format!("{place}/acceptsFeedback"))
                .expected("true, or nothing")
                .actual("false")
                .done();
        }
        let is_repeated = choices.items().take(index).any(|other| other.id_of("choiceId") == choice.id_of("choiceId"));
        if is_repeated {
            out.violated(APPR_5, fact, &format!("{place}/choiceId"))
                .warn()
                .expected("another id for each choice")
                .actual(choice.get("choiceId").map_or_else(String::new, |it| it.shown()))
                .done();
        }
    }
}

/// APPR-22: what is protected, and a socket, is allowed for one time only.
pub(super) fn once_only(fact: &impl Placed, below: &str, params: Value<'_>, is_protected: bool, out: &mut Out<'_>) {
    let is_socket = params.path(&["subject", "kind"]).is_some_and(|kind| kind.is("unixSocket"));
    if !is_protected && !is_socket {
        return;
    }
    out.exercised(APPR_22);
    for (index, choice) in params.get("availableChoices").into_iter().flat_map(|it| it.items()).enumerate() {
        let place = format!("{below}/availableChoices/{index}");
        let scope = choice.get("scope").filter(|it| !it.is("once") && SCOPES.iter().any(|known| it.is(known)));
        if let Some(scope) = scope {
            out.violated(APPR_22, fact, &format!("{place}/scope")).expected("\"once\"").actual(scope.shown()).done();
        } else if let (true, Some(decision)) = (is_protected, choice.get("decision")) {
            let fits = ["approved", "denied", "abort"].iter().any(|it| decision.is(it));
            if !fits && DECISIONS.iter().any(|it| decision.is(it)) {
                out.violated(APPR_22, fact, &format!("{place}/decision"))
                    .expected("approved, denied or abort")
                    .actual(decision.shown())
                    .done();
            }
        }
    }
}

/// APPR-27: the members that a kind of subject brings, and the stages of a shell command.
pub(super) fn subject(fact: &impl Placed, below: &str, params: Value<'_>, out: &mut Out<'_>) {
    let Some(subject) = params.get("subject") else { return };
    let Some(kind) = subject.text_of("kind") else { return };
    let current = params.path(&["currentRequirementId", "sourceIndex"]).and_then(|it| it.int());
    if kind == "shell" {
        out.exercised(APPR_27);
        shell(fact, below, params, subject, out);
    } else if let Some((_, members)) = SUBJECTS.iter().find(|(known, _)| kind == *known) {
        out.exercised(APPR_27);
        for name in members.iter().filter(|name| subject.get(name).is_none()) {
            out.violated(APPR_27, fact, &format!("{below}/subject"))
                .expected(format!("`{name}`, which a subject of kind {kind} brings"))
                .actual(subject.shown())
                .done();
        }
        if current.is_some_and(|index| index != 0) {
            out.violated(APPR_27, fact, &format!("{below}/currentRequirementId/sourceIndex"))
                .expected("0, as there are no stages")
                .actual(current.unwrap_or_default().to_string())
                .done();
        }
    }
}

fn shell(fact: &impl Placed, below: &str, params: Value<'_>, subject: Value<'_>, out: &mut Out<'_>) {
    for name in ["command", "stages"] {
        if subject.get(name).is_none() {
            out.violated(APPR_27, fact, &format!("{below}/subject"))
                .expected(format!("`{name}`"))
                .actual(subject.shown())
                .done();
        }
    }
    let approval = params.id_of("approvalId");
    let mut first = None;
    let mut has_unknown = false;
    for (index, stage) in subject.get("stages").into_iter().flat_map(|it| it.items()).enumerate() {
        let place = format!("{below}/subject/stages/{index}");
        let Some(of) = requirement(stage.get("requirementId")) else { continue };
        if Some(of.0) != approval {
            out.violated(APPR_27, fact, &format!("{place}/requirementId/approvalId"))
                .expected("the approvalId of the prompt")
                .actual(stage.path(&["requirementId", "approvalId"]).map_or_else(String::new, |it| it.shown()))
                .done();
        }
        let position = stage.get("position").and_then(|it| it.int());
        if position != Some(of.1 + 1) {
            out.violated(APPR_27, fact, &format!("{place}/position"))
                .expected((of.1 + 1).to_string())
                .actual(position.map_or_else(String::new, |it| it.to_string()))
                .done();
        }
        let is_part = stage.get("argvComplete").and_then(|it| it.bool()) == Some(false);
        if let (true, Some(prefix)) = (is_part, stage.get("suggestedPrefix")) {
            out.violated(APPR_27, fact, &format!("{place}/suggestedPrefix"))
                .expected("no prefix of words that are not all there")
                .actual(prefix.shown())
                .done();
        }
        let resolution = stage.path(&["resolution", "kind"]);
        let is_open = resolution.is_some_and(|kind| kind.is("unresolved"));
        let settled = ["knownSafe", "policyAllow", "allowOnce", "policyAmendment"];
        has_unknown |= !is_open && !resolution.is_some_and(|kind| settled.iter().any(|it| kind.is(it)));
        if is_open && first.is_none() {
            first = Some(of);
        }
    }
    let current = requirement(params.get("currentRequirementId"));
    if let (Some(first), Some(current), false) = (first, current, has_unknown) {
        if first.1 != current.1 && Some(current.0) == approval {
            out.violated(APPR_27, fact, &format!("{below}/currentRequirementId/sourceIndex"))
                .expected(format!("{}, the first stage that is open", first.1))
                .actual(current.1.to_string())
                .done();
        }
    }
}
