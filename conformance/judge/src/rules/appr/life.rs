//! Each approval from its opening to its end, by the order of the view.

use super::{
    APPR_1, APPR_2, APPR_4, APPR_7, APPR_12, APPR_13, APPR_14, APPR_16, APPR_18, APPR_19, APPR_21, APPR_23, Approvals,
    Asks, Opened, Resolved, Seen, Stage, decide, payload, requirement, word,
};
use crate::facts::{Event, Id, ItemPath, Request, Sight, Sighting, Value, Within};
use crate::rules::out::Out;

/// How long an approval has waited when it shows that none expires, in milliseconds.
const LONG: u64 = 1_000;

fn names<'f>(event: &Event<'f>) -> Option<((Id, Id), Value<'f>)> {
    let params = event.params?;
    Some(((event.session?, params.id_of("approvalId")?), params))
}

impl Approvals {
    pub(super) fn requested(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some((key, params)) = names(event) else { return };
        payload::check(event, "", params, out);
        let host = out.core().connection(event.at.conn).host;
        let approval = self.known.entry(key).or_default();
        if let Some(resolved) = &approval.resolved {
            approval.shown_again = Some(event.at.line);
            out.exercised(APPR_23);
            // A host that died before it was resolved, and another that asks.
            let is_other = approval.opened.as_ref().is_some_and(|it| it.cursor != event.cursor && it.host != host);
            if is_other && event.sight == Sight::New && resolved.host == host && decide::is_abort(resolved.decision) {
                out.violated(APPR_19, event, "/approvalId")
                    .expected("another approvalId for what is asked again")
                    .actual("that of the approval which the reload closed")
                    .contradicts(resolved.line)
                    .done();
            }
            return;
        }
        if approval.opened.is_some() {
            return;
        }
        let kind = params.path(&["subject", "kind"]).and_then(|it| it.id());
        let seen = Seen { line: event.at.line, within: event.within() };
        let is_protected = params.get("protectedWrite").and_then(|it| it.bool()) == Some(true);
        approval.now = Asks::of(params, is_protected);
        approval.opened = Some(Opened {
            seen,
            conn: event.at.conn,
            host,
            params: params.hash(),
            cursor: event.cursor,
            turn: params.id_of("turnId"),
            subject: kind.unwrap_or_else(|| word("")),
            is_child: params.get("subagentOrigin").is_some(),
            at_ms: event.at.ms,
        });
        if let Some(turn) = params.id_of("turnId") {
            self.waiting.entry(turn).or_default().push(key);
        }
        if approval.started.is_some() {
            out.exercised(APPR_1);
        }
        if out.is_client_run() && kind.is_some_and(|kind| !payload::is_known(kind)) {
            out.exercised(APPR_7);
        }
        if let (Some(asked), true) = (approval.asked, event.is_live() && out.known(key.0).whole) {
            out.violated(APPR_2, event, "")
                .warn()
                .expected("the notification before the host request")
                .actual("after it")
                .contradicts(asked)
                .done();
        }
    }

    /// APPR-2: what the host asks is what the event says.
    pub(super) fn host_asks(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(params)) = (request.session, request.params) else { return };
        let Some(id) = params.id_of("approvalId") else { return };
        payload::check(request, "", params, out);
        let approval = self.known.entry((session, id)).or_default();
        let is_first = approval.asked.replace(request.at.line).is_none();
        let Some(opened) = &approval.opened else {
            let is_protected = params.get("protectedWrite").and_then(|it| it.bool()) == Some(true);
            approval.now = approval.now.take().or_else(|| Asks::of(params, is_protected));
            return;
        };
        out.exercised(APPR_2);
        let is_same = is_first && approval.updated.is_none() && opened.conn == request.at.conn;
        let epoch_is_same = opened.seen.within == Within::Stretch(out.known(session).epoch);
        if opened.cursor.is_some() && params.id_of("viewCursor") != opened.cursor {
            out.violated(APPR_2, request, "/viewCursor")
                .expected("the cursor of approval/requested")
                .actual(params.get("viewCursor").map_or_else(String::new, |it| it.shown()))
                .contradicts(opened.seen.line)
                .done();
        } else if is_same && epoch_is_same && params.hash() != opened.params {
            out.violated(APPR_2, request, "")
                .expected("the params of approval/requested")
                .actual("others")
                .contradicts(opened.seen.line)
                .done();
        } else if !epoch_is_same && params.get("judgeEscalated").and_then(|it| it.bool()) == Some(true) {
            out.violated(APPR_2, request, "/judgeEscalated")
                .expected("false, as it is asked anew")
                .actual("true")
                .contradicts(opened.seen.line)
                .done();
        }
    }

    pub(super) fn updated(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some((key, params)) = names(event) else { return };
        change(event, params, out);
        payload::subject(event, "", params, out);
        let approval = self.known.entry(key).or_default();
        if approval.resolved.is_none() {
            payload::choices(event, "", params, out);
        }
        let is_protected = approval.now.as_ref().is_some_and(|now| now.is_protected);
        payload::once_only(event, "", params, is_protected, out);
        if event.sight != Sight::New {
            return;
        }
        if let Some(now) = Asks::of(params, is_protected) {
            approval.now = Some(now);
            approval.updated = Some(event.at.line);
        }
        let change = params.get("change");
        let (Some(true), Some(of), Some(choice)) = (
            change.map(|it| it.get("kind").is_some_and(|kind| kind.is("stageResolved"))),
            change.and_then(|it| requirement(it.get("requirementId"))),
            change.and_then(|it| it.id_of("choiceId")),
        ) else {
            return;
        };
        let decision = change.and_then(|it| it.id_of("decision"));
        let met = Stage { line: event.at.line, requirement: of, choice, decision, within: event.within() };
        match approval.stage.take() {
            Some(stage) if event.is_live() => {
                out.exercised(APPR_12);
                let is_moved = requirement(params.get("currentRequirementId")) != Some(stage.requirement);
                if !stage.is_met_by(&met) {
                    out.violated(APPR_12, event, "/change")
                        .expected("requirement, choice and decision of the acked decide")
                        .actual(change.map_or_else(String::new, |it| it.shown()))
                        .contradicts(stage.line)
                        .done();
                } else if !is_moved {
                    out.violated(APPR_12, event, "/currentRequirementId")
                        .expected("the next requirement")
                        .actual("the one that was just met")
                        .contradicts(stage.line)
                        .done();
                }
            }
            _ => approval.met = Some(met),
        }
    }

    pub(super) fn resolved(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some((key, params)) = names(event) else { return };
        let host = out.core().connection(event.at.conn).host;
        let approval = self.known.entry(key).or_default();
        out.exercised(APPR_14);
        let subject = approval.opened.as_ref().map(|it| it.subject);
        words(event, params, subject, out);
        if let Some(first) = &approval.resolved {
            if event.sight == Sight::New && first.cursor != event.cursor {
                out.violated(APPR_14, event, "/approvalId")
                    .expected("one end for each approval")
                    .actual("another")
                    .contradicts(first.line)
                    .done();
            }
            return;
        }
        if approval.opened.as_ref().is_some_and(|it| it.host != host) {
            out.exercised(APPR_19);
        }
        let opened_at = approval.opened.as_ref().map_or(0, |it| it.seen.line);
        for (name, _) in params.everything().filter(|(_, it)| it.id().is_some_and(|it| approval.feedback.contains(&it)))
        {
            out.violated(APPR_13, event, "")
                .expected("nothing of the feedback, which is for the model alone")
                .actual(format!("it in `{}`", name.text()))
                .done();
        }
        approval.feedback = Vec::new();
        let resolved = Resolved {
            line: event.at.line,
            cursor: event.cursor,
            decision: params.id_of("decision").unwrap_or_else(|| word("")),
            by: params.id_of("resolvedBy").unwrap_or_else(|| word("")),
            command: params.some("decidedByCommandId").and_then(|it| it.id()),
            allows: params.get("policyResult").is_some_and(|it| it.is("allow")),
            host,
            stopped: self.stops.since(opened_at),
        };
        if approval.last_word.is_some() {
            out.exercised(APPR_12);
        }
        if let Some(stage) = approval.stage.filter(|stage| stage.within == event.within()) {
            out.violated(APPR_12, event, "")
                .expected("approval/updated with the stage that was decided")
                .actual("the end")
                .contradicts(stage.line)
                .done();
        }
        if let Some((ended, is_cancelled)) = approval.ended.filter(|(ended, _)| ended.within == event.within()) {
            if !is_cancelled {
                out.violated(APPR_1, event, "")
                    .expected("the end of the approval before that of its tool call")
                    .actual("after it")
                    .contradicts(ended.line)
                    .done();
            }
        }
        if let Some(opened) = approval.opened.as_ref().filter(|it| event.is_live() && it.seen.within == event.within())
        {
            unasked(event, opened, &resolved, approval.asked, out);
            let stop = self.stops.of_turn(opened.turn, opened.seen.line);
            by_itself(event, params, opened, &resolved, stop, out);
        }
        approval.resolved = Some(resolved);
        (approval.stage, approval.met, approval.race) = (None, None, None);
    }

    pub(super) fn tool_call(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(event)) = (sighting.session, sighting.event) else { return };
        let Some(id) = sighting.item.some("approvalId").and_then(|it| it.id()) else { return };
        let approval = self.known.entry((session, id)).or_default();
        let seen = Seen { line: sighting.at.line, within: event.within() };
        match sighting.path {
            ItemPath::Started(_) => {
                if let Some(opened) = approval.opened.as_ref().filter(|it| it.seen.within == seen.within) {
                    out.exercised(APPR_1);
                    if approval.started.is_none() && event.sight == Sight::New {
                        out.violated(APPR_1, sighting, "/approvalId")
                            .expected("the tool call before its approval")
                            .actual("after it")
                            .contradicts(opened.seen.line)
                            .done();
                    }
                }
                approval.started = Some(seen);
            }
            ItemPath::Updated(_) => {}
            _ => {
                approval.ended.get_or_insert((seen, sighting.status == "cancelled"));
                let Some(resolved) = &approval.resolved else { return };
                // A host that ended before the call did cancels it when it loads the session again, and a page does not tell
                // when that was.
                let host = out.core().connection(sighting.at.conn).host;
                let may_be_reloaded = sighting.live().is_none() || host != resolved.host;
                let stopped = self.stops.since(resolved.line) || resolved.stopped;
                end_fits(sighting, resolved, stopped || may_be_reloaded && sighting.status == "cancelled", out);
            }
        }
    }

    /// APPR-4, 12 and 18: no approval outlives its turn.
    pub(super) fn turn_ends(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(turn), true) =
            (event.session, event.param("turnId").and_then(|it| it.id()), event.is_live())
        else {
            return;
        };
        let stop = self.stops.ended(turn);
        for key in self.waiting.remove(&turn).unwrap_or_default() {
            let Some(approval) = self.known.get(&key) else { continue };
            let Some(opened) = approval.opened.as_ref().filter(|it| !it.is_child) else { continue };
            if approval.resolved.is_some() || opened.seen.within != event.within() {
                continue;
            }
            let (rule, expected, line) = match (approval.last_word, stop) {
                (Some(line), _) => (APPR_12, "approval/resolved before the end of the turn, as acked", line),
                (None, Some(line)) => (APPR_18, "the approval resolved before the end of the turn", line),
                (None, None) if self.stops.since(opened.seen.line) => continue,
                (None, None) => (APPR_4, "a turn that waits for the approval", opened.seen.line),
            };
            out.exercised(rule);
            out.violated(rule, event, "/turnId")
                .expected(expected)
                .actual("the end of the turn")
                .contradicts(opened.seen.line)
                .contradicts(line)
                .after_next_event(session)
                .done();
        }
    }
}

/// APPR-21: the members that a kind of change has, and no others.
fn change(event: &Event<'_>, params: Value<'_>, out: &mut Out<'_>) {
    const MEMBERS: [(&str, &[&str], &[&str]); 6] = [
        ("stageResolved", &["requirementId", "choiceId", "decision"], &[]),
        ("policyPersistence", &["status"], &["reason"]),
        ("reviewStarted", &[], &[]),
        ("reviewCompleted", &[], &[]),
        ("restartRecovered", &["reparsed", "executable"], &[]),
        ("alreadyTerminal", &[], &[]),
    ];
    const ALL: [&str; 7] = ["requirementId", "choiceId", "decision", "status", "reason", "reparsed", "executable"];
    let Some(change) = params.get("change") else { return };
    let Some(kind) = change.text_of("kind") else { return };
    out.exercised(APPR_21);
    let Some((_, required, optional)) = MEMBERS.iter().find(|(known, ..)| kind == *known) else { return };
    for name in required.iter().filter(|name| change.get(name).is_none()) {
        out.violated(APPR_21, event, "/change")
            .expected(format!("`{name}`, which {kind} has"))
            .actual(change.shown())
            .done();
    }
    let others = ALL.iter().filter(|name| !required.contains(name) && !optional.contains(name));
    // What the automatic judge adds is not known.
    for name in others.filter(|name| !kind.starts_with("review") && change.get(name).is_some()) {
        out.violated(APPR_21, event, &format!("/change/{name}"))
            .expected(format!("no such member in {kind}"))
            .actual(change.get(name).map_or_else(String::new, |it| it.shown()))
            .done();
    }
    let failed = change.get("status").is_none_or(|it| it.is("failed"));
    if let (true, false, Some(reason)) = (kind == "policyPersistence", failed, change.get("reason")) {
        out.violated(APPR_21, event, "/change/reason")
            .expected("a reason only where it failed")
            .actual(reason.shown())
            .done();
    }
}

/// APPR-14: what the words of an end may be.
fn words(event: &Event<'_>, params: Value<'_>, subject: Option<Id>, out: &mut Out<'_>) {
    let Some(decision) = params.text_of("decision") else { return };
    let evidence = params.get("stageEvidence");
    if let (Some(true), Some(evidence)) = (subject.map(|it| it != word("shell")), evidence) {
        if evidence.items().next().is_some() {
            out.violated(APPR_14, event, "/stageEvidence")
                .expected("[], as the subject is no shell command")
                .actual(evidence.shown())
                .done();
        }
    }
    if let (Some(amendment), "approved" | "denied" | "timedOut" | "abort") = (params.some("amendment"), &*decision) {
        out.violated(APPR_14, event, "/amendment")
            .expected("an amendment only where a rule was made")
            .actual(amendment.shown())
            .done();
    }
    let wanted = match &*decision {
        it if it.starts_with("approved") => "allow",
        "denied" | "deniedPolicyAmendment" | "timedOut" | "abort" => "deny",
        _ => return,
    };
    if let Some(result) = params.get("policyResult").filter(|it| !it.is(wanted)) {
        out.violated(APPR_14, event, "/policyResult").expected(format!("\"{wanted}\"")).actual(result.shown()).done();
    }
}

/// APPR-2: what a command decided was asked before.
fn unasked(event: &Event<'_>, opened: &Opened, resolved: &Resolved, asked: Option<u64>, out: &mut Out<'_>) {
    let is_subscribed = out.known(event.session.unwrap_or_else(|| word(""))).subscribed != Some(false);
    if resolved.command.is_some()
        && asked.is_none()
        && is_subscribed
        && opened.conn == event.at.conn
        && !opened.is_child
    {
        out.exercised(APPR_2);
        out.violated(APPR_2, event, "")
            .expected("an approval/request before the decision")
            .actual("none")
            .contradicts(opened.seen.line)
            .done();
    }
}

/// APPR-4 and 18: what ends an approval that nobody decided.
fn by_itself(
    event: &Event<'_>,
    params: Value<'_>,
    opened: &Opened,
    resolved: &Resolved,
    stop: Option<u64>,
    out: &mut Out<'_>,
) {
    let waited = event.at.ms.zip(opened.at_ms).map(|(now, then)| now.saturating_sub(then));
    if waited.is_none_or(|waited| waited >= LONG) {
        out.exercised(APPR_4);
    }
    if resolved.command.is_some() || resolved.by != word("user") {
        return;
    }
    let decision = params.get("decision");
    if let Some(stop) = stop {
        out.exercised(APPR_18);
        if !decide::is_abort(resolved.decision) || resolved.allows {
            out.violated(APPR_18, event, "/decision")
                .expected("\"abort\", as the turn was stopped")
                .actual(decision.map_or_else(String::new, |it| it.shown()))
                .contradicts(stop)
                .done();
        }
    } else if !resolved.stopped {
        out.violated(
            APPR_4,
            event,
            if params.get("decision").is_some_and(|it| it.is("timedOut")) { "/decision" } else { "" },
        )
        .expected("an approval that waits until somebody decides")
        .actual(decision.map_or_else(String::new, |it| it.shown()))
        .contradicts(opened.seen.line)
        .done();
    }
}

/// APPR-16: what the tool call says of its end.
fn end_fits(sighting: &Sighting<'_>, resolved: &Resolved, stopped: bool, out: &mut Out<'_>) {
    let is_policy = resolved.by == word("policy") || resolved.by == word("llmJudge");
    if resolved.allows {
        out.exercised(APPR_16);
        if sighting.status == "rejected" {
            out.violated(APPR_16, sighting, "/status")
                .expected("a tool call that ran, as it was allowed")
                .actual("\"rejected\"")
                .contradicts(resolved.line)
                .done();
        }
        return;
    }
    if stopped || resolved.command.is_none() && !is_policy {
        return;
    }
    out.exercised(APPR_16);
    let reason = sighting.item.some("failureReason");
    if sighting.status != "rejected" {
        out.violated(APPR_16, sighting, "/status")
            .expected("\"rejected\", as it was denied")
            .actual(format!("\"{}\"", sighting.status))
            .contradicts(resolved.line)
            .done();
    } else if reason.is_none_or(|it| it.is("")) {
        let violation = out
            .violated(APPR_16, sighting, "/failureReason")
            .expected("why it was rejected")
            .actual(reason.map_or_else(|| "nothing".to_owned(), |it| it.shown()))
            .contradicts(resolved.line);
        let violation = if is_policy { violation.warn() } else { violation };
        violation.done();
    }
}
