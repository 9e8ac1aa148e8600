//! `approval/decide`: which of them count, and how the others are refused.

use super::{
    APPR_7, APPR_8, APPR_9, APPR_10, APPR_11, APPR_12, APPR_13, APPR_15, APPR_22, APPR_23, Approval, Approvals, Asks,
    Decide, Race, Stage, payload, requirement, word,
};
use crate::facts::{Answer, Request, Value, Within};
use crate::rules::out::Out;

/// Nothing was admitted, so nothing was said about the command.
const NOT_ADMITTED: [i64; 2] = [-32001, -32031];

impl Approvals {
    pub(super) fn decides(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(id)) = (request.session, request.param("approvalId").and_then(|it| it.id())) else {
            return;
        };
        let is_repeated = request.command.is_some_and(|command| !self.commands.insert(command));
        let state = request.state;
        let conn = out.core().connection(request.at.conn);
        let is_alone = out.core().connections().filter(|it| it.host == conn.host).count() == 1;
        let mut decide = Decide {
            approval: (session, id),
            asks: None,
            is_repeated,
            races: false,
            was_resolved: false,
            epoch: out.known(session).epoch,
            is_unsubscribed: is_alone && state.subscribed == Some(false),
        };
        if let Some(approval) = self.known.get_mut(&(session, id)) {
            judge_client(approval, request, out);
            decide.was_resolved = approval.resolved.is_some();
            decide.asks.clone_from(&approval.now);
            approval.feedback.extend(request.param("feedback").and_then(|it| it.id()));
            if !is_repeated && !decide.was_resolved {
                enter_race(approval, &mut decide, request);
            }
        }
        self.open.insert((request.at.conn, request.at.line), decide);
    }

    pub(super) fn decided(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(decide) = self.open.remove(&(answer.at.conn, answer.request.line)) else { return };
        if let Some(result) = answer.result() {
            echo(answer, result, out);
        }
        let is_admitted = !answer.is_of_ledger() && !answer.code().is_some_and(|code| NOT_ADMITTED.contains(&code));
        if !is_admitted || decide.is_repeated {
            if let (true, Some(approval)) = (decide.races, self.known.get_mut(&decide.approval)) {
                approval.race = None;
            }
            return;
        }
        let Some(approval) = self.known.get_mut(&decide.approval) else {
            if out.known(decide.approval.0).whole {
                unknown(answer, out);
            }
            return;
        };
        if decide.was_resolved {
            too_late(approval, answer, out);
            return;
        }
        if decide.races {
            leave_race(approval, answer, out);
        }
        // Without a break, what it asks now or asked when the decide was sent is what the host looked at.
        if decide.epoch == out.known(decide.approval.0).epoch && approval.resolved.is_none() {
            refused(approval, &decide, answer, out);
        }
        acked(approval, &decide, answer, out);
    }
}

/// APPR-7 and APPR-23: what a client must not decide.
fn judge_client(approval: &Approval, request: &Request<'_>, out: &mut Out<'_>) {
    if let Some(line) = approval.shown_again {
        out.violated(APPR_23, request, "/approvalId")
            .expected("no decide for an approval that is resolved")
            .actual("a decide for one that was shown again")
            .contradicts(approval.resolved.as_ref().map_or(line, |it| it.line))
            .contradicts(line)
            .done();
    }
    let Some(opened) = approval.opened.as_ref().filter(|_| out.is_client_run()) else { return };
    let choice = request.param("choiceId").and_then(|it| it.id());
    let approves = approval.now.as_ref().and_then(|now| now.choice(choice)).is_some_and(|it| it.approves);
    if approves && !payload::is_known(opened.subject) {
        out.violated(APPR_7, request, "/choiceId")
            .expected("no approval of a subject of unknown kind")
            .actual(request.param("choiceId").map_or_else(String::new, |it| it.shown()))
            .contradicts(opened.seen.line)
            .done();
    }
}

/// Whether it is a decide that nothing speaks against, as far as the client could know.
fn is_valid(asks: &Asks, requirement_of: Option<(crate::facts::Id, i64)>, params: Value<'_>) -> bool {
    let choice = asks.choice(params.id_of("choiceId"));
    let feedback = params.some("feedback").is_some();
    requirement_of == Some(asks.requirement) && choice.is_some_and(|it| it.accepts_feedback || !feedback)
}

fn enter_race(approval: &mut Approval, decide: &mut Decide, request: &Request<'_>) {
    let (Some(asks), Some(params)) = (&approval.now, request.params) else { return };
    let is_valid = is_valid(asks, requirement(params.get("requirementId")), params);
    let race = approval.race.get_or_insert_with(|| Race { all_valid: true, first: request.at.line, ..Race::default() });
    race.open += 1;
    race.sent += 1;
    race.all_valid &= is_valid;
    decide.races = true;
}

/// APPR-15: of decides that cross, one wins.
fn leave_race(approval: &mut Approval, answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(race) = &mut approval.race else { return };
    race.open = race.open.saturating_sub(1);
    match answer.code() {
        None if answer.result().and_then(|it| it.get("terminal")?.bool()) == Some(true) => race.acks += 1,
        Some(-32054..=-32050) => {}
        _ => race.all_valid = false,
    }
    if race.open > 0 {
        return;
    }
    if race.sent > 1 && race.all_valid {
        out.exercised(APPR_15);
        let actual = match race.acks {
            0 => "every one refused",
            1 => "",
            _ => "more than one acked as the last",
        };
        if !actual.is_empty() {
            out.violated(APPR_15, answer, "")
                .expected("one ack, and -32051 for each other decide")
                .actual(actual)
                .contradicts(race.first)
                .contradicts(answer.request.line)
                .done();
        }
    }
    approval.race = None;
}

/// APPR-8: the ack names the approval.
fn echo(answer: &Answer<'_>, result: Value<'_>, out: &mut Out<'_>) {
    out.exercised(APPR_8);
    let sent = answer.param("approvalId");
    if result.id_of("approvalId") != sent.and_then(|it| it.id()) {
        out.violated(APPR_8, answer, "/approvalId")
            .expected(sent.map_or_else(String::new, |it| it.shown()))
            .actual(result.get("approvalId").map_or_else(|| "nothing".to_owned(), |it| it.shown()))
            .contradicts(answer.request.line)
            .done();
    }
}

/// APPR-11: an approval that no frame of the host ever named.
fn unknown(answer: &Answer<'_>, out: &mut Out<'_>) {
    if matches!(answer.code(), Some(-32020 | -32024 | -32602)) {
        return; // refused before the approval was looked for (ERR-10)
    }
    out.exercised(APPR_11);
    if answer.code() != Some(-32050) {
        wrong(APPR_11, answer, "error -32050 for an approval that is not there", None, out);
    }
}

/// APPR-11: an approval that is resolved, as the client was told before.
fn too_late(approval: &Approval, answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(resolved) = &approval.resolved else { return };
    if resolved.host != out.core().connection(answer.at.conn).host {
        closed_by_reload(resolved.line, answer, out);
        return;
    }
    out.exercised(APPR_11);
    if answer.result().is_some() && resolved.command.is_some() && resolved.command == answer.request.command {
        return; // the winner once more, which the transcript does not have from before
    }
    if answer.code() != Some(-32051) {
        wrong(APPR_11, answer, "error -32051 for an approval that is resolved", Some(resolved.line), out);
        return;
    }
    let Some(resolution) = answer.data("resolution") else {
        wrong(APPR_11, answer, "`resolution` in the data", Some(resolved.line), out);
        return;
    };
    let told =
        [("decision", Some(resolved.decision)), ("resolvedBy", Some(resolved.by)), ("viewCursor", resolved.cursor)];
    for (name, told) in told {
        if told.is_some() && resolution.id_of(name) != told {
            out.violated(APPR_11, answer, &format!("/data/resolution/{name}"))
                .expected(format!("`{name}` of approval/resolved"))
                .actual(resolution.get(name).map_or_else(|| "nothing".to_owned(), |it| it.shown()))
                .contradicts(resolved.line)
                .contradicts(answer.request.line)
                .done();
        }
    }
}

/// APPR-19: what a reload closed stays closed.
fn closed_by_reload(line: u64, answer: &Answer<'_>, out: &mut Out<'_>) {
    out.exercised(super::APPR_19);
    if !matches!(answer.code(), Some(-32050 | -32051 | -32020 | -32024)) {
        wrong(super::APPR_19, answer, "error -32050 or -32051 for an approval that a reload closed", Some(line), out);
    }
}

/// APPR-9, 10, 13 and 22: what is refused, and how.
fn refused(approval: &Approval, decide: &Decide, answer: &Answer<'_>, out: &mut Out<'_>) {
    let (Some(then), Some(now), Some(params)) = (&decide.asks, &approval.now, answer.params) else { return };
    let sent = requirement(params.get("requirementId"));
    let line = approval.updated.or(approval.opened.as_ref().map(|it| it.seen.line));
    if then != now {
        return;
    }
    let is_stale = sent.is_some_and(|sent| sent != now.requirement);
    let choice = now.choice(params.id_of("choiceId"));
    match (is_stale, choice) {
        (true, Some(_)) => stale(now, line, answer, out),
        (true, None) => {}
        (false, None) => {
            out.exercised(APPR_10);
            if answer.code() != Some(-32052) {
                wrong(APPR_10, answer, "error -32052 for a choice that is not offered", line, out);
            }
        }
        (false, Some(_)) if now.is_protected && decide.is_unsubscribed => {
            out.exercised(APPR_22);
            if answer.code() != Some(-32054) {
                wrong(APPR_22, answer, "error -32054 while no client is subscribed", line, out);
            }
        }
        (false, Some(choice)) => feedback(choice.accepts_feedback, params, line, answer, out),
    }
}

fn stale(now: &Asks, line: Option<u64>, answer: &Answer<'_>, out: &mut Out<'_>) {
    out.exercised(APPR_9);
    if answer.code() != Some(-32053) {
        wrong(APPR_9, answer, "error -32053 for a requirement that is not the current one", line, out);
        return;
    }
    let current = requirement(answer.data("currentRequirementId"));
    if current != Some(now.requirement) {
        let violation = out
            .violated(APPR_9, answer, "/data/currentRequirementId")
            .expected("the current requirement")
            .actual(answer.data("currentRequirementId").map_or_else(|| "nothing".to_owned(), |it| it.shown()))
            .contradicts(answer.request.line);
        let violation = match line {
            Some(line) => violation.contradicts(line),
            None => violation,
        };
        violation.done();
    }
}

fn feedback(accepts: bool, params: Value<'_>, line: Option<u64>, answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(feedback) = params.get("feedback") else { return };
    out.exercised(APPR_13);
    if !feedback.is_null() && !accepts {
        if answer.code() != Some(-32052) {
            wrong(APPR_13, answer, "error -32052 for feedback that the choice does not take", line, out);
        }
    } else if matches!(answer.code(), Some(-32052 | -32602)) {
        wrong(APPR_13, answer, "an ack: null is as good as nothing, and the choice takes feedback", line, out);
    }
}

/// What an ack promises (APPR-12).
fn acked(approval: &mut Approval, decide: &Decide, answer: &Answer<'_>, out: &mut Out<'_>) {
    let (Some(result), Some(params)) = (answer.result(), answer.params) else { return };
    if result.get("terminal").and_then(|it| it.bool()) == Some(true) {
        approval.last_word = Some(answer.at.line);
        if approval.resolved.is_some() {
            out.exercised(APPR_12);
        }
        return;
    }
    let (Some(requirement), Some(choice)) = (requirement(params.get("requirementId")), params.id_of("choiceId")) else {
        return;
    };
    let decision = decide.asks.as_ref().and_then(|asks| asks.choice(Some(choice))).map(|it| it.decision);
    let within = Within::Stretch(out.known(decide.approval.0).epoch);
    let stage = Stage { line: answer.at.line, requirement, choice, decision, within };
    match approval.met.take().filter(|met| met.line > answer.request.line) {
        Some(met) => {
            out.exercised(APPR_12);
            if !stage.is_met_by(&met) {
                wrong(APPR_12, answer, "the stage that approval/updated tells of", Some(met.line), out);
            }
        }
        None => approval.stage = Some(stage),
    }
}

impl Stage {
    /// Whether an update tells of this stage.
    pub(super) fn is_met_by(&self, met: &Self) -> bool {
        let is_decision = self.decision.is_none() || met.decision.is_none() || self.decision == met.decision;
        self.requirement == met.requirement && self.choice == met.choice && is_decision
    }
}

fn wrong(
    rule: crate::rules::monitor::Watched,
    answer: &Answer<'_>,
    expected: &str,
    line: Option<u64>,
    out: &mut Out<'_>,
) {
    let actual = answer.code().map_or_else(|| "a result".to_owned(), |code| code.to_string());
    let violation = out
        .violated(rule, answer, if answer.code().is_some() { "/code" } else { "" })
        .expected(expected)
        .actual(actual)
        .contradicts(answer.request.line);
    let violation = match line {
        Some(line) => violation.contradicts(line),
        None => violation,
    };
    violation.done();
}

/// The decision that ends an approval for good when the turn is stopped.
pub(super) fn is_abort(decision: crate::facts::Id) -> bool {
    decision == word("abort")
}
