//! Errors (ERR): what an error frame says, and which one a request gets that is wrong by itself.

use crate::facts::{Answer, Event, Fault, Id, Map, Message, Request, Set, Shape};
use crate::rules::Rule;
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;
use crate::transcript::Side;

family! {
    ERR_1 = "ERR-1",
    ERR_3 = "ERR-3",
    ERR_5 = "ERR-5",
    ERR_7 = "ERR-7",
    ERR_8 = "ERR-8",
    ERR_9 = "ERR-9",
    ERR_11 = "ERR-11",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        messages: true,
        requests: Methods::All,
        answers: Methods::All,
        bad: Methods::All,
        events: Methods::These(&[
            "turn/started",
            "session/approvalModeChanged",
            "approval/resolved",
            "userInput/settled",
        ]),
        ..Watches::NOTHING
    },
    monitor: || Box::<Errors>::default(),
};

/// Refusals that come before anything else is looked at.
const EARLIER: [i64; 6] = [-32600, -32601, -32001, -32002, -32010, -32031];

#[derive(Default)]
struct Errors {
    /// Methods that a host once did not know, with the line.
    absent: Map<(u32, Id), u64>,
    /// Commands that wait for their first answer, and whether the view has named them.
    open: Map<Id, Option<u64>>,
    /// Commands that were answered, or that came more than once.
    known: Set<Id>,
}

impl Monitor for Errors {
    /// ERR-1, 3 and 5, of any error frame.
    fn message(&mut self, message: &Message<'_>, out: &mut Out<'_>) {
        if message.shape != Shape::Error || message.at.side != Side::Server {
            return;
        }
        let Some(error) = message.root.get("error") else { return };
        let data = error.get("data");
        let kind = data.and_then(|data| data.text_of("kind"));
        out.exercised(ERR_1);
        let Some(kind) = kind else {
            return out
                .violated(ERR_1, message, "/error")
                .expected("`data` with a `kind`")
                .actual(data.map_or_else(|| "no data".to_owned(), |it| it.shown()))
                .done();
        };
        let Some(code) = error.get("code").and_then(|it| it.int()) else { return };
        kind_fits(message, code, &kind, out);
        let Some(retryable) = data.and_then(|data| data.get("retryable")) else { return };
        out.exercised(ERR_5);
        if matches!(code, -32013 | -32014) && retryable.bool() == Some(true) {
            out.violated(ERR_5, message, "/error/data/retryable")
                .expected("false or nothing, as its row does not say")
                .actual("true")
                .done();
        }
    }

    fn request(&mut self, request: &Request<'_>, _: &mut Out<'_>) {
        let Some(command) = request.command.filter(|_| request.at.side == Side::Client) else { return };
        if self.known.insert(command) {
            self.open.insert(command, None);
        } else {
            self.open.remove(&command);
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.at.side != Side::Server {
            return;
        }
        if answer.at.method == "initialize" && answer.result().is_some() {
            // Another process: one that has shaken hands would refuse to do so again.
            let host = out.core().connection(answer.at.conn).host;
            self.absent.retain(|(of, _), _| *of != host);
        }
        self.method_is_there(answer, out);
        restates(answer, out);
        let named = answer.request.command.and_then(|command| self.open.remove(&command)).flatten();
        let Some(line) = named else { return };
        out.exercised(ERR_7);
        if answer.code().is_some_and(|code| code != -32030) {
            out.violated(ERR_7, answer, "")
                .expected("the ack of a command whose work was shown")
                .actual(shown_code(answer))
                .contradicts(line)
                .contradicts(answer.request.line)
                .done();
        }
    }

    /// ERR-8: a request that its own type refuses.
    fn bad_answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.at.side != Side::Server || !is_plain(answer) {
            return;
        }
        let is_gated = out.core().connection(answer.at.conn).experimental() != Some(true)
            && answer.data("kind").is_some_and(|kind| kind.is("experimentalRequired"));
        if is_gated || answer.code().is_some_and(|code| EARLIER.contains(&code)) {
            return;
        }
        out.exercised(ERR_8);
        if answer.code() != Some(-32602) {
            let actual = shown_code(answer);
            out.violated(ERR_8, answer, if answer.code().is_some() { "/code" } else { "" })
                .expected("error -32602 for params that their type refuses")
                .actual(actual)
                .contradicts(answer.request.line)
                .done();
        }
    }

    /// The view names a command.
    fn event(&mut self, event: &Event<'_>, _: &mut Out<'_>) {
        let command = event.param("commandId").or_else(|| event.param("decidedByCommandId")).and_then(|it| it.id());
        if let Some(open) = command.and_then(|command| self.open.get_mut(&command)) {
            open.get_or_insert(event.at.line);
        }
    }
}

impl Errors {
    /// ERR-9: a method is there, or it is not.
    fn method_is_there(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let connection = out.core().connection(answer.at.conn);
        let key = (connection.host, Id::of(answer.at.method.as_bytes()));
        if answer.code().is_some_and(|code| EARLIER.contains(&code) && code != -32601) {
            return;
        }
        let is_absent = answer.code() == Some(-32601) && answer.data("kind").is_none_or(|it| it.is("methodNotFound"));
        if let Some(line) = self.absent.get(&key).copied() {
            out.exercised(ERR_9);
            if answer.code() != Some(-32601) {
                out.violated(ERR_9, answer, if answer.code().is_some() { "/code" } else { "" })
                    .expected("error -32601, as before")
                    .actual(shown_code(answer))
                    .contradicts(line)
                    .contradicts(answer.request.line)
                    .done();
            }
            return;
        }
        if is_absent {
            self.absent.insert(key, answer.at.line);
        }
        // The other surface may list it (EXP-1).
        let is_gated =
            answer.code() == Some(-32601) && answer.data("kind").is_some_and(|it| it.is("experimentalRequired"));
        if is_gated || connection.listed.has(answer.at.method) || connection.experimental() != Some(false) {
            return;
        }
        out.exercised(ERR_9);
        if !is_absent {
            let below = match answer.code() {
                None => "",
                Some(-32601) => "/data/kind",
                Some(_) => "/code",
            };
            out.violated(ERR_9, answer, below)
                .expected("error -32601 of kind methodNotFound, as no table lists the method")
                .actual(shown_code(answer))
                .contradicts(answer.request.line)
                .done();
        }
    }
}

/// ERR-3: the kind belongs to the code.
fn kind_fits(message: &Message<'_>, code: i64, kind: &str, out: &mut Out<'_>) {
    let listed = &out.core().connection(message.at.conn).listed;
    let kinds: Vec<&str> = listed.errors.iter().filter(|(of, _)| *of == code).map(|(_, kind)| kind.as_str()).collect();
    if kinds.is_empty() {
        return;
    }
    // A kind that nobody knows is a new word of an open enum, which is told as such.
    let is_known = listed.errors.iter().any(|(_, known)| known == kind);
    let expected = kinds.join(" or ");
    let is_of_another = is_known && !kinds.contains(&kind);
    out.exercised(ERR_3);
    if is_of_another {
        out.violated(ERR_3, message, "/error/data/kind").expected(expected).actual(format!("\"{kind}\"")).done();
    }
}

/// ERR-11: what the data of an error restates is what was sent.
fn restates(answer: &Answer<'_>, out: &mut Out<'_>) {
    if answer.code().is_none() {
        return;
    }
    for name in ["sessionId", "approvalId", "userInputId", "commandId"] {
        // CMD-16 says it for the refusals of commands.
        if name == "commandId" && answer.code() == Some(-32030) {
            continue;
        }
        let (Some(said), Some(sent)) = (answer.data(name), answer.param(name)) else { continue };
        out.exercised(ERR_11);
        if said.hash() != sent.hash() {
            out.violated(ERR_11, answer, &format!("/data/{name}"))
                .expected(sent.shown())
                .actual(said.shown())
                .contradicts(answer.request.line)
                .done();
        }
    }
}

/// Whether all that is wrong with a request is its shape, and no other rule says what becomes of it.
fn is_plain(answer: &Answer<'_>) -> bool {
    let is_null = |fault: &Fault| {
        let path: Vec<&str> = fault.pointer.split('/').skip(2).collect();
        answer.params.and_then(|params| params.path(&path)).is_some_and(|it| it.is_null())
    };
    let is_command = |fault: &Fault| {
        fault.pointer == "/params/commandId"
            || fault.keyword.as_deref() == Some("required") && fault.expected.contains("`commandId`")
    };
    let faults = &answer.request.faults;
    !faults.is_empty()
        && faults.iter().all(|fault| {
            let is_word = matches!(fault.keyword.as_deref(), Some("enum" | "const"));
            fault.rule == Rule::SCHEMA
                && fault.pointer.starts_with("/params")
                && !is_word
                && !is_null(fault)
                && !is_command(fault)
        })
}

fn shown_code(answer: &Answer<'_>) -> String {
    answer.code().map_or_else(|| "a result".to_owned(), |code| code.to_string())
}
