//! Stored output (OUT): pages of bytes, and how they are refused.

use crate::facts::{Answer, BySession, Id, Map, Request, Sighting, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::{Out, wrong};

family! { OUT_1 = "OUT-1", OUT_2 = "OUT-2", OUT_3 = "OUT-3", OUT_4 = "OUT-4", OUT_5 = "OUT-5", OUT_6 = "OUT-6" }

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(&["item/readOutput"]),
        answers: Methods::These(&["item/readOutput"]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Outputs>::default(),
};

/// The most bytes that one page may hold.
const MOST: i64 = 6_291_456;

#[derive(Default)]
struct Outputs {
    /// Output references that items showed, by session and item: its id, its address, total, line, and whether the item
    /// has ended.
    shown: BySession<(Id, Id), Shown>,
    /// Total of an output, as the page with its end says, with the line.
    totals: Map<Id, (i64, u64)>,
    media: Map<Id, (Id, u64)>,
}

#[derive(Clone, Copy)]
struct Shown {
    id: Id,
    uri: Option<Id>,
    total: Option<i64>,
    line: u64,
    is_available: bool,
    has_ended: bool,
}

impl Monitor for Outputs {
    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (Some(session), "toolCall" | "userShell") = (sighting.session, sighting.kind) else { return };
        let reference = sighting.item.some("outputRef");
        let is_cut = sighting.item.get("truncated").and_then(|it| it.bool()) == Some(true);
        if sighting.is_terminal() && (is_cut || reference.is_some()) {
            out.exercised(OUT_6);
            if sighting.item.some("visibleOutput").is_some() && is_cut && reference.is_none() {
                out.violated(OUT_6, sighting, "")
                    .expected("`outputRef`, as the view holds less than was stored")
                    .actual("none")
                    .done();
            }
        }
        let Some((reference, id)) = reference.and_then(|it| Some((it, it.id_of("id")?))) else { return };
        let shown = Shown {
            id,
            uri: reference.id_of("uri"),
            total: reference.get("byteLen").and_then(|it| it.int()),
            line: sighting.at.line,
            is_available: reference.get("availability").is_some_and(|it| it.is("available")),
            has_ended: sighting.is_terminal(),
        };
        self.shown.insert((session, sighting.id), shown);
        if let Some((total, line)) = self.totals.get(&id).copied().filter(|_| shown.has_ended && shown.is_available) {
            if shown.total.is_some_and(|it| it != total) {
                out.violated(OUT_6, sighting, "/outputRef/byteLen")
                    .expected(total.to_string())
                    .actual(shown.total.unwrap_or_default().to_string())
                    .contradicts(line)
                    .done();
            }
        }
    }

    /// OUT-6: a client names the output by its id.
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let Some(shown) = self.shown_of(request.session, request.params) else { return };
        let sent = request.param("outputRef").and_then(|it| it.id());
        if sent.is_some() && sent == shown.uri && shown.uri != Some(shown.id) && out.is_client_run() {
            out.violated(OUT_6, request, "/outputRef")
                .expected("the id of the output")
                .actual("its address")
                .contradicts(shown.line)
                .done();
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let shown = self.shown_of(answer.session, answer.params);
        let sent = answer.param("outputRef").and_then(|it| it.id());
        let known = shown.filter(|shown| Some(shown.id) == sent);
        match answer.code() {
            Some(code) => refused(answer, code, (shown, known), out),
            None => {
                if let (Some(result), Some(id)) = (answer.result(), sent) {
                    self.page(answer, result, id, (shown, known), out);
                }
            }
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.shown.forget(session);
    }
}

impl Outputs {
    fn shown_of(&self, session: Option<Id>, params: Option<Value<'_>>) -> Option<Shown> {
        self.shown.get(&(session?, params?.id_of("itemId")?)).copied()
    }

    fn page(
        &mut self,
        answer: &Answer<'_>,
        result: Value<'_>,
        id: Id,
        (shown, known): (Option<Shown>, Option<Shown>),
        out: &mut Out<'_>,
    ) {
        if let Some(shown) = shown.filter(|it| known.is_none() && it.uri == Some(id)) {
            out.exercised(OUT_5);
            wrong(
                OUT_5,
                answer,
                "",
                ("error -32011 for an address in place of the id", "a page".to_owned()),
                Some(shown.line),
                out,
            );
            return;
        }
        let number = |name: &str| result.get(name).and_then(|it| it.int());
        let (offset, length) = (number("offsetBytes").unwrap_or_default(), number("byteLen").unwrap_or_default());
        out.exercised(OUT_1);
        if answer.param("offsetBytes").is_none() && offset != 0 {
            wrong(OUT_1, answer, "/offsetBytes", ("0, as none was asked for", offset.to_string()), None, out);
        }
        for name in ["offsetBytes", "lengthBytes"] {
            if answer.param(name).and_then(|it| it.int()).is_some_and(|it| it < 0) {
                out.exercised(OUT_3);
                wrong(OUT_3, answer, "", ("error -32602 for a negative number", "a page".to_owned()), None, out);
                return;
            }
        }
        if answer.param("lengthBytes").and_then(|it| it.int()).is_some_and(|it| it > MOST) || length > MOST {
            out.exercised(OUT_4);
            if length > MOST {
                wrong(OUT_4, answer, "/byteLen", (&format!("at most {MOST}"), length.to_string()), None, out);
            }
        }
        bytes(answer, result, length, out);
        let media = result.id_of("mediaType");
        if let Some((media, line)) = media.map(|it| *self.media.entry(id).or_insert((it, answer.at.line))) {
            if result.id_of("mediaType") != Some(media) {
                let actual = result.get("mediaType").map_or_else(String::new, |it| it.shown());
                wrong(OUT_2, answer, "/mediaType", ("the type that the pages before had", actual), Some(line), out);
            }
        }
        let eof = result.get("eof").and_then(|it| it.bool()) == Some(true);
        if eof {
            self.totals.insert(id, (offset + length, answer.at.line));
        }
        let Some((shown, total)) = known.and_then(|it| Some((it, it.total?))) else { return };
        if !shown.has_ended || !shown.is_available {
            return;
        }
        out.exercised(OUT_6);
        if eof && offset + length != total {
            wrong(
                OUT_6,
                answer,
                "/byteLen",
                (&format!("an end at {total} bytes, as the item says"), format!("one at {}", offset + length)),
                Some(shown.line),
                out,
            );
        } else if !eof && offset + length >= total {
            wrong(OUT_2, answer, "/eof", ("true, as the end is reached", "false".to_owned()), Some(shown.line), out);
        }
    }
}

/// OUT-2: how bytes are written, and how many there are.
fn bytes(answer: &Answer<'_>, result: Value<'_>, length: i64, out: &mut Out<'_>) {
    out.exercised(OUT_2);
    let is_utf8 = result.get("encoding").is_some_and(|it| it.is("utf8"));
    let is_text = result.text_of("mediaType").is_some_and(|it| it.starts_with("text/"));
    if is_text && !is_utf8 {
        let actual = result.get("encoding").map_or_else(String::new, |it| it.shown());
        wrong(OUT_2, answer, "/encoding", ("\"utf8\" for text", actual), None, out);
        return;
    }
    let Some(content) = result.text_of("content") else { return };
    let is_base64 = result.get("encoding").is_some_and(|it| it.is("base64"));
    let counted = if is_utf8 {
        content.len()
    } else if is_base64 {
        let padding = content.bytes().rev().take_while(|byte| *byte == b'=').count();
        content.len() / 4 * 3 - padding.min(2)
    } else {
        return;
    };
    if i64::try_from(counted) != Ok(length) {
        wrong(OUT_2, answer, "/byteLen", (&counted.to_string(), length.to_string()), None, out);
    }
}

fn refused(answer: &Answer<'_>, code: i64, (shown, known): (Option<Shown>, Option<Shown>), out: &mut Out<'_>) {
    let is_negative = ["offsetBytes", "lengthBytes"]
        .iter()
        .any(|name| answer.param(name).and_then(|it| it.int()).is_some_and(|it| it < 0));
    match code {
        -32024 | -32021 => {
            let is_ephemeral = out.core().connection(answer.at.conn).ephemeral() != Some(false);
            if let (Some(shown), false) = (shown, is_ephemeral) {
                out.exercised(OUT_1);
                wrong(
                    OUT_1,
                    answer,
                    "/code",
                    ("a page, whether the session is loaded or not", code.to_string()),
                    Some(shown.line),
                    out,
                );
            }
        }
        -32041 => {
            out.exercised(OUT_5);
            let is_word = answer.data("availability").is_some();
            if !is_word {
                wrong(OUT_5, answer, "/data", ("`availability`", "none".to_owned()), None, out);
            } else if let Some(shown) = shown.filter(|_| known.is_none()) {
                wrong(
                    OUT_5,
                    answer,
                    "/code",
                    ("error -32011 for an output that the item does not have", code.to_string()),
                    Some(shown.line),
                    out,
                );
            }
        }
        -32011 => out.exercised(OUT_5),
        -32603 if answer.data("kind").is_some_and(|it| it.is("outputResultTooLarge")) => {
            out.exercised(OUT_4);
            for name in ["limitBytes", "sessionId"] {
                if answer.data(name).is_none() {
                    wrong(OUT_4, answer, "/data", (&format!("`{name}`"), "none".to_owned()), None, out);
                }
            }
        }
        -32602 => {
            let asked = answer.param("offsetBytes").and_then(|it| it.int()).unwrap_or_default();
            if is_negative {
                out.exercised(OUT_3);
            } else if let Some(next) = answer.data("alignedNextOffset").and_then(|it| it.int()) {
                out.exercised(OUT_3);
                if !(1..=3).contains(&(next - asked)) {
                    wrong(
                        OUT_3,
                        answer,
                        "/data/alignedNextOffset",
                        ("the next boundary of a character", next.to_string()),
                        None,
                        out,
                    );
                }
            }
        }
        _ if is_negative => {
            out.exercised(OUT_3);
            wrong(OUT_3, answer, "/code", ("error -32602 for a negative number", code.to_string()), None, out);
        }
        _ => {}
    }
}
