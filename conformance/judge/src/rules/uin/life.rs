//! Each prompt from its opening to its end, by the order of the view.

use super::{Opened, Prompts, Seen, Settled, UIN_1, UIN_6, UIN_7, UIN_9, UIN_10, UIN_11, prompt, word};
use crate::facts::{Event, Id, ItemPath, Request, Sight, Sighting, Value, Within};
use crate::rules::out::Out;

/// How much too early a countdown may run out, in milliseconds: clocks are read at two places.
const GRACE: i64 = 50;

/// How much too late, in milliseconds, before it counts as missing.
const PATIENCE: u64 = 5_000;

fn names<'f>(event: &Event<'f>) -> Option<((Id, Id), Value<'f>)> {
    let params = event.params?;
    Some(((event.session?, params.id_of("userInputId")?), params))
}

impl Prompts {
    pub(super) fn requested(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some((key, params)) = names(event) else { return };
        prompt::check(event, "", params, out);
        let prompt = self.known.entry(key).or_default();
        if prompt.opened.is_some() || prompt.settled.is_some() {
            return;
        }
        prompt.questions = prompt::Question::all(params);
        let each = params.get("autoResolutionMs").and_then(|it| it.int()).and_then(|it| u64::try_from(it).ok());
        let opened = Opened {
            seen: Seen { line: event.at.line, within: event.within() },
            conn: event.at.conn,
            cursor: event.cursor,
            item: params.id_of("itemId"),
            turn: params.id_of("turnId"),
            questions: params.get("questions").map_or(0, |it| it.hash()),
            countdown: each.map(|each| each * prompt.questions.len() as u64),
            at_ms: event.at.ms,
            emitted_at: event.emitted_at,
        };
        if let Some(item) = opened.item {
            self.of_item.insert((key.0, item), key.1);
        }
        if let Some(turn) = opened.turn {
            self.waiting.entry(turn).or_default().push(key);
        }
        prompt.opened = Some(opened);
    }

    /// UIN-1: what the host asks is what the event says.
    pub(super) fn host_asks(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(params)) = (request.session, request.params) else { return };
        let Some(id) = params.id_of("userInputId") else { return };
        prompt::check(request, "", params, out);
        let prompt = self.known.entry((session, id)).or_default();
        if prompt.questions.is_empty() {
            prompt.questions = prompt::Question::all(params);
        }
        if prompt.asked.is_some()
            || prompt.opened.as_ref().is_some_and(|it| it.seen.within != Within::Stretch(out.known(session).epoch))
        {
            prompt.asked_again = Some(request.at.line);
        }
        prompt.asked = prompt.asked.or(Some(request.at.line));
        let Some(opened) = &prompt.opened else { return };
        if opened.cursor.is_some() && params.id_of("viewCursor") != opened.cursor {
            out.violated(UIN_1, request, "/viewCursor")
                .expected("the cursor of userInput/requested")
                .actual(params.get("viewCursor").map_or_else(String::new, |it| it.shown()))
                .contradicts(opened.seen.line)
                .done();
        } else if params.get("questions").map_or(0, |it| it.hash()) != opened.questions {
            out.violated(UIN_1, request, "/questions")
                .expected("the questions of userInput/requested")
                .actual("others")
                .contradicts(opened.seen.line)
                .done();
        }
    }

    /// The user has begun: the countdown is off.
    pub(super) fn engaged(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        out.exercised(UIN_9);
        let Some((key, _)) = names(event) else { return };
        if let Some(prompt) = self.known.get_mut(&key) {
            prompt.engaged.get_or_insert((event.at.line, event.at.ms));
        }
    }

    pub(super) fn settled(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some((key, params)) = names(event) else { return };
        let host = out.core().connection(event.at.conn).host;
        let prompt = self.known.entry(key).or_default();
        out.exercised(UIN_6);
        if let Some(first) = &prompt.settled {
            if event.sight == Sight::New && first.cursor != event.cursor {
                out.violated(UIN_6, event, "/userInputId")
                    .expected("one end for each prompt")
                    .actual("another")
                    .contradicts(first.line)
                    .done();
            }
            return;
        }
        words(event, params, prompt.questions.len(), out);
        let opened_at = prompt.opened.as_ref().map_or(0, |it| it.seen.line);
        let settled = Settled {
            line: event.at.line,
            cursor: event.cursor,
            outcome: params.id_of("outcome").unwrap_or_else(|| word("")),
            reason: params.some("reason").and_then(|it| it.id()),
            command: params.some("decidedByCommandId").and_then(|it| it.id()),
            host,
            stopped: self.stops.since(opened_at),
        };
        if let Some(opened) = &prompt.opened {
            let is_near = event.is_live() && opened.seen.within == event.within();
            if is_near {
                countdown(event, opened, prompt.engaged, &settled, out);
                let is_command = params.some("decidedByCommandId").is_some();
                let withholds =
                    out.core().connection(event.at.conn).asked.as_ref().is_none_or(|it| !it.user_input_dialogs);
                if is_command && prompt.asked.is_none() && !withholds && opened.conn == event.at.conn {
                    out.exercised(UIN_1);
                    out.violated(UIN_1, event, "")
                        .expected("a userInput/request before the settlement")
                        .actual("none")
                        .contradicts(opened.seen.line)
                        .done();
                }
                let stop = self.stops.of_turn(opened.turn, opened_at);
                stopped_fits(event, params, stop, prompt.interrupted, out);
            }
            out.exercised(UIN_1);
        }
        if let Some(ended) = prompt.ended.filter(|ended| ended.within == event.within()) {
            out.violated(UIN_1, event, "")
                .expected("the settlement before the end of the item that asks")
                .actual("after it")
                .contradicts(ended.line)
                .done();
        }
        prompt.settled = Some(settled);
        prompt.race = prompt.race.take().filter(|race| race.open > 0);
    }

    pub(super) fn tool_call(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(event)) = (sighting.session, sighting.event) else { return };
        let seen = Seen { line: sighting.at.line, within: event.within() };
        let key = (session, sighting.id);
        let known = self.of_item.get(&key).and_then(|id| self.known.get_mut(&(session, *id)));
        match sighting.path {
            ItemPath::Started(_) => {
                if let Some(opened) = known.and_then(|it| it.opened.as_ref()) {
                    if opened.seen.within == seen.within && event.sight == Sight::New {
                        out.exercised(UIN_1);
                        out.violated(UIN_1, sighting, "")
                            .expected("the tool call before its question")
                            .actual("after it")
                            .contradicts(opened.seen.line)
                            .done();
                    }
                }
            }
            ItemPath::Completed(_) => {
                let Some(prompt) = known else { return };
                prompt.ended.get_or_insert(seen);
                if let Some(settled) = &prompt.settled {
                    // A host that ended before the call did cancels it when it loads the session again.
                    let is_reloaded =
                        sighting.live().is_none() || out.core().connection(sighting.at.conn).host != settled.host;
                    if is_reloaded && sighting.status == "cancelled" {
                        return;
                    }
                    end_fits(sighting, settled, out);
                }
            }
            _ => {}
        }
    }

    /// UIN-7 and UIN-11: no prompt outlives its turn, and the turn ends as its prompts say.
    pub(super) fn turn_ends(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(turn)) = (event.session, event.param("turnId").and_then(|it| it.id())) else { return };
        if !event.is_live() {
            return;
        }
        self.stops.ended(turn);
        let is_cancelled = event.param("terminal").is_some_and(|it| it.is("cancelled"));
        let waited = self.waiting.remove(&turn).unwrap_or_default();
        let outcome = |key| self.known.get(key).and_then(|it: &super::Prompt| Some(it.settled.as_ref()?.outcome));
        let is_interrupted = waited.iter().any(|key| outcome(key) == Some(word("interrupted")));
        for key in waited {
            let Some(prompt) = self.known.get(&key) else { continue };
            let Some(opened) = prompt.opened.as_ref().filter(|it| it.seen.within == event.within()) else { continue };
            let Some(settled) = &prompt.settled else {
                out.exercised(UIN_11);
                out.violated(UIN_11, event, "/turnId")
                    .expected("the prompt settled before the end of the turn")
                    .actual("a prompt that is open")
                    .contradicts(opened.seen.line)
                    .after_next_event(session)
                    .done();
                continue;
            };
            let is_stopped = is_interrupted || self.stops.since(opened.seen.line);
            let goes_on = ["answered", "cancelled", "clarified"].iter().any(|it| settled.outcome == word(it));
            if goes_on && is_cancelled && !is_stopped {
                out.violated(UIN_7, event, "/terminal")
                    .expected("a turn that goes on after its prompt")
                    .actual("\"cancelled\"")
                    .contradicts(settled.line)
                    .done();
            }
            if prompt.interrupted && settled.outcome == word("interrupted") && !is_cancelled {
                out.violated(UIN_7, event, "/terminal")
                    .expected("\"cancelled\", as its prompt was interrupted")
                    .actual(event.param("terminal").map_or_else(String::new, |it| it.shown()))
                    .contradicts(settled.line)
                    .done();
            }
        }
    }
}

/// UIN-6: what the words of an end may be.
fn words(event: &Event<'_>, params: Value<'_>, questions: usize, out: &mut Out<'_>) {
    let Some(outcome) = params.text_of("outcome") else { return };
    if !["answered", "cancelled", "interrupted", "clarified", "timedOut", "aborted"].contains(&&*outcome) {
        return;
    }
    let answers = params.get("answers").map_or(0, |it| it.items().count());
    let wrong = match &*outcome {
        "answered" => questions != 0 && answers != questions,
        "interrupted" => false,
        _ => answers != 0,
    };
    if wrong {
        out.violated(UIN_6, event, "/answers")
            .expected(if &*outcome == "answered" { "an answer to each question" } else { "[]" })
            .actual(params.get("answers").map_or_else(String::new, |it| it.shown()))
            .done();
    }
    let is_clarified = &*outcome == "clarified";
    if params.some("clarification").is_some() != is_clarified {
        out.violated(UIN_6, event, "/clarification")
            .expected(if is_clarified { "the clarification" } else { "null" })
            .actual(params.get("clarification").map_or_else(|| "nothing".to_owned(), |it| it.shown()))
            .done();
    }
    let is_by_command = params.some("decidedByCommandId").is_some();
    if !is_by_command && matches!(&*outcome, "answered" | "cancelled" | "clarified") {
        out.violated(UIN_6, event, "/decidedByCommandId").expected("the command that settled it").actual("null").done();
    }
}

/// UIN-10: a countdown runs out in time, and not when the user has begun.
fn countdown(
    event: &Event<'_>,
    opened: &Opened,
    engaged: Option<(u64, Option<u64>)>,
    settled: &Settled,
    out: &mut Out<'_>,
) {
    let is_out = settled.outcome == word("timedOut");
    let Some(after) = opened.countdown else { return };
    let passed = event.at.ms.zip(opened.at_ms).map(|(now, then)| now.saturating_sub(then));
    if let Some((line, at_ms)) = engaged {
        // Begun in the last moment: either may be first.
        let is_close = at_ms.zip(opened.at_ms).is_some_and(|(at, then)| at.saturating_sub(then) + 100 > after);
        out.exercised(UIN_10);
        if is_out && !is_close {
            out.violated(UIN_10, event, "/outcome")
                .expected("no end by itself, as the user had begun")
                .actual("\"timedOut\"")
                .contradicts(line)
                .done();
        }
        return;
    }
    if is_out {
        out.exercised(UIN_10);
        let emitted = event.emitted_at.zip(opened.emitted_at).map(|(now, then)| now - then);
        let least = i64::try_from(after).unwrap_or(i64::MAX);
        if let Some(early) = emitted.filter(|it| it.saturating_add(GRACE) < least) {
            out.violated(UIN_10, event, "/outcome")
                .expected(format!("{after} ms for all its questions"))
                .actual(format!("{early} ms"))
                .contradicts(opened.seen.line)
                .done();
        }
    } else if passed.is_some_and(|passed| passed > after + PATIENCE) {
        out.exercised(UIN_10);
        out.violated(UIN_10, event, "/outcome")
            .expected(format!("the end by itself after {after} ms"))
            .actual(event.param("outcome").map_or_else(String::new, |it| it.shown()))
            .contradicts(opened.seen.line)
            .done();
    }
}

/// UIN-11: what a stop of the turn makes of the prompt.
fn stopped_fits(event: &Event<'_>, params: Value<'_>, stop: Option<u64>, interrupted: bool, out: &mut Out<'_>) {
    let outcome = params.get("outcome");
    let is = |word: &str| outcome.is_some_and(|it| it.is(word));
    if let (Some(stop), true) = (stop, params.some("decidedByCommandId").is_none() && !is("timedOut")) {
        out.exercised(UIN_11);
        if !is("interrupted") {
            out.violated(UIN_11, event, "/outcome")
                .expected("\"interrupted\", as the turn was stopped")
                .actual(outcome.map_or_else(String::new, |it| it.shown()))
                .contradicts(stop)
                .done();
        } else if let Some(answers) = params.get("answers").filter(|it| !interrupted && it.items().next().is_some()) {
            out.violated(UIN_11, event, "/answers").expected("[]").actual(answers.shown()).contradicts(stop).done();
        }
    } else if is("aborted") {
        out.exercised(UIN_11);
        if params.some("reason").is_none_or(|it| it.is("")) {
            out.violated(UIN_11, event, "/reason")
                .expected("why it was given up")
                .actual(params.get("reason").map_or_else(|| "nothing".to_owned(), |it| it.shown()))
                .done();
        }
    }
}

/// UIN-7: what the item says of its end.
fn end_fits(sighting: &Sighting<'_>, settled: &Settled, out: &mut Out<'_>) {
    let wanted = match settled.outcome {
        it if it == word("answered") => "completed",
        it if it == word("cancelled") || it == word("interrupted") => "cancelled",
        _ => return,
    };
    out.exercised(UIN_7);
    if sighting.status != wanted {
        // A stop that came right behind is legal.
        if !settled.stopped {
            out.violated(UIN_7, sighting, "/status")
                .expected(format!("\"{wanted}\""))
                .actual(format!("\"{}\"", sighting.status))
                .contradicts(settled.line)
                .done();
        }
        return;
    }
    let reason = sighting.item.some("failureReason");
    if settled.outcome == word("cancelled")
        && settled.reason.is_some()
        && reason.and_then(|it| it.id()) != settled.reason
    {
        out.violated(UIN_7, sighting, "/failureReason")
            .expected("the reason of the cancel")
            .actual(reason.map_or_else(|| "nothing".to_owned(), |it| it.shown()))
            .contradicts(settled.line)
            .done();
    }
}
