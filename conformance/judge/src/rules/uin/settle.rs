//! The commands that settle a prompt: `userInput/answer`, `cancel`, `clarify` and `interrupt`.

use super::{Prompt, Prompts, Race, Settling, UIN_3, UIN_4, UIN_5, UIN_8, UIN_12, prompt, word};
use crate::facts::{Answer, Request, Value};
use crate::rules::monitor::Watched;
use crate::rules::out::Out;

impl Prompts {
    pub(super) fn settles(&mut self, request: &Request<'_>) {
        let (Some(session), Some(id)) = (request.session, request.param("userInputId").and_then(|it| it.id())) else {
            return;
        };
        let is_repeated = request.command.is_some_and(|command| !self.commands.insert(command));
        let mut settling = Settling {
            prompt: (session, id),
            is_repeated,
            was_settled: false,
            races: false,
            epoch: crate::facts::Epoch::default(),
            fits: prompt::Fit::Unclear,
        };
        if let Some(known) = self.known.get_mut(&(session, id)) {
            settling.was_settled = known.settled.is_some();
            settling.fits = match request.at.method {
                "userInput/answer" => prompt::fit(&known.questions, request.param("answers"), true),
                "userInput/interrupt" => prompt::fit(&known.questions, request.param("answers"), false),
                _ => prompt::Fit::Yes,
            };
            if let Some(opened) = known.opened.as_ref() {
                if let crate::facts::Within::Stretch(epoch) = opened.seen.within {
                    settling.epoch = epoch;
                }
            }
            if !is_repeated && !settling.was_settled {
                let first = request.at.line;
                let race = known.race.get_or_insert_with(|| Race { all_valid: true, first, ..Race::default() });
                race.open += 1;
                race.sent += 1;
                race.all_valid &= settling.fits == prompt::Fit::Yes;
                settling.races = true;
            }
        }
        self.open.insert((request.at.conn, request.at.line), settling);
    }

    pub(super) fn answered(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(settling) = self.open.remove(&(answer.at.conn, answer.request.line)) else { return };
        if let Some(result) = answer.result() {
            echo(answer, result, out);
        }
        if settling.is_repeated || answer.is_of_ledger() || matches!(answer.code(), Some(-32001 | -32031)) {
            if let (true, Some(prompt)) = (settling.races, self.known.get_mut(&settling.prompt)) {
                prompt.race = None;
            }
            return;
        }
        let Some(prompt) = self.known.get_mut(&settling.prompt) else {
            if out.known(settling.prompt.0).whole && !matches!(answer.code(), Some(-32020 | -32024 | -32602)) {
                unknown(answer, out);
            }
            return;
        };
        if settling.was_settled {
            too_late(prompt, answer, out);
            return;
        }
        if settling.races {
            leave_race(prompt, answer, out);
        }
        let is_whole = settling.epoch == out.known(settling.prompt.0).epoch;
        if is_whole && prompt.settled.is_none() {
            fits(prompt, settling.fits, answer, out);
        }
        still_there(prompt, &settling, answer, out);
        if let (Some(_), Some(command)) = (answer.result(), answer.request.command) {
            prompt.interrupted |= answer.at.method == "userInput/interrupt";
            prompt.acked.insert(command);
        }
    }
}

/// UIN-3: the ack names the prompt.
fn echo(answer: &Answer<'_>, result: Value<'_>, out: &mut Out<'_>) {
    out.exercised(UIN_3);
    let sent = answer.param("userInputId");
    if result.id_of("userInputId") != sent.and_then(|it| it.id()) {
        out.violated(UIN_3, answer, "/userInputId")
            .expected(sent.map_or_else(String::new, |it| it.shown()))
            .actual(result.get("userInputId").map_or_else(|| "nothing".to_owned(), |it| it.shown()))
            .contradicts(answer.request.line)
            .done();
    }
}

/// UIN-5: a prompt that no frame of the host ever named.
fn unknown(answer: &Answer<'_>, out: &mut Out<'_>) {
    out.exercised(UIN_5);
    if answer.code() != Some(-32055) {
        wrong(UIN_5, answer, "error -32055 for a prompt that is not there", answer.request.line, out);
    }
}

/// UIN-5: a prompt that is settled, as the client was told before.
fn too_late(prompt: &Prompt, answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(settled) = &prompt.settled else { return };
    out.exercised(UIN_5);
    if answer.result().is_some() && settled.command.is_some() && settled.command == answer.request.command {
        return; // the winner once more (CMD-6), which the transcript does not have from before
    }
    if settled.host != out.core().connection(answer.at.conn).host && answer.code() == Some(-32055) {
        out.violated(UIN_5, answer, "/code")
            .warn()
            .expected("error -32056 for a prompt that was settled before the host began")
            .actual("-32055")
            .contradicts(settled.line)
            .done();
        return;
    }
    if answer.code() != Some(-32056) {
        wrong(UIN_5, answer, "error -32056 for a prompt that is settled", settled.line, out);
        return;
    }
    let settlement = answer.data("settlement");
    for (name, told) in [("outcome", Some(settled.outcome)), ("viewCursor", settled.cursor)] {
        let said = settlement.and_then(|it| it.get(name));
        if told.is_some() && said.and_then(|it| it.id()) != told {
            out.violated(UIN_5, answer, &format!("/data/settlement/{name}"))
                .expected(format!("`{name}` of userInput/settled"))
                .actual(said.map_or_else(|| "nothing".to_owned(), |it| it.shown()))
                .contradicts(settled.line)
                .contradicts(answer.request.line)
                .done();
        }
    }
}

/// UIN-8: of commands that cross, one wins.
fn leave_race(prompt: &mut Prompt, answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(race) = &mut prompt.race else { return };
    race.open = race.open.saturating_sub(1);
    match answer.code() {
        None => race.acks += 1,
        Some(-32056 | -32055) => {}
        Some(_) => race.all_valid = false,
    }
    if race.open > 0 {
        return;
    }
    // A countdown that ran out wins against all of them.
    let by_itself = prompt.settled.as_ref().is_some_and(|it| it.outcome == word("timedOut") || it.stopped);
    if race.sent > 1 && race.all_valid && !by_itself {
        out.exercised(UIN_8);
        if race.acks != 1 {
            out.violated(UIN_8, answer, "")
                .expected("one ack, and -32056 for each other command")
                .actual(if race.acks == 0 { "every one refused" } else { "more than one acked" })
                .contradicts(race.first)
                .contradicts(answer.request.line)
                .done();
        }
    }
    prompt.race = None;
}

/// UIN-4: answers that fit are taken, and others are not.
fn fits(prompt: &Prompt, fit: prompt::Fit, answer: &Answer<'_>, out: &mut Out<'_>) {
    if !matches!(answer.at.method, "userInput/answer" | "userInput/interrupt") {
        return;
    }
    let line = prompt.opened.as_ref().map_or(answer.request.line, |it| it.seen.line);
    match fit {
        prompt::Fit::No => {
            out.exercised(UIN_4);
            if answer.code() != Some(-32057) {
                wrong(UIN_4, answer, "error -32057 for answers that do not fit the questions", line, out);
            }
        }
        prompt::Fit::Yes => {
            out.exercised(UIN_4);
            if answer.code() == Some(-32057) {
                wrong(UIN_4, answer, "an ack, as the answers fit the questions", line, out);
            }
        }
        prompt::Fit::Unclear => {}
    }
}

/// UIN-12: a prompt that was asked again after a resume is still there.
fn still_there(prompt: &Prompt, settling: &Settling, answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(line) = prompt.asked_again.filter(|line| *line < answer.request.line) else { return };
    if settling.fits != prompt::Fit::Yes || prompt.settled.is_some() {
        return;
    }
    out.exercised(UIN_12);
    if answer.code() == Some(-32055) {
        wrong(UIN_12, answer, "an ack, as the prompt was asked again", line, out);
    }
}

fn wrong(rule: Watched, answer: &Answer<'_>, expected: &str, line: u64, out: &mut Out<'_>) {
    out.violated(rule, answer, if answer.code().is_some() { "/code" } else { "" })
        .expected(expected)
        .actual(answer.code().map_or_else(|| "a result".to_owned(), |code| code.to_string()))
        .contradicts(answer.request.line)
        .contradicts(line)
        .done();
}
