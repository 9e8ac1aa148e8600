//! The handshake (HS): what stands before everything else on a connection.

use crate::facts::{Answer, Class, Event, Map, Request};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;
use crate::transcript::Side;

family! {
    HS_5 = "HS-5",
    HS_8 = "HS-8",
    HS_9 = "HS-9",
    HS_12 = "HS-12",
    HS_14 = "HS-14",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::All,
        answers: Methods::These(&["initialize"]),
        bad: Methods::These(&["initialize"]),
        events: Methods::All,
        ..Watches::NOTHING
    },
    monitor: || Box::<Handshake>::default(),
};

#[derive(Default)]
struct Handshake {
    /// Lines of what the host sent before `initialized`, by connection: the first of each.
    early: Map<u32, u64>,
}

impl Monitor for Handshake {
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        let at = request.at;
        match (at.side, at.method) {
            (Side::Client, "initialize") => out.exercised(HS_8),
            (Side::Server, _) => self.too_early(request, out),
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(result) = answer.result() else { return };
        out.exercised(HS_12);
        let asked = answer.params.and_then(|it| it.path(&["capabilities", "experimentalApi"])).and_then(|it| it.bool());
        let has = result.get("experimentalApi").and_then(|it| it.bool());
        match (asked, has) {
            (None | Some(false), Some(true)) => out
                .violated(HS_12, answer, "/experimentalApi")
                .expected("false, since the client did not ask for it")
                .actual("true")
                .contradicts(answer.request.line)
                .done(),
            // A host without an experimental surface has nothing to switch on.
            (Some(true), Some(false)) => out
                .violated(HS_12, answer, "/experimentalApi")
                .expected("true, since the client asked for it")
                .actual("false")
                .contradicts(answer.request.line)
                .note()
                .done(),
            _ => {}
        }
        platform(answer, out);
    }

    fn bad_request(&mut self, _: &Request<'_>, out: &mut Out<'_>) {
        out.exercised(HS_8);
    }

    /// HS-8, the half of the host: a name that is none is refused.
    fn bad_answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let of_client_info = answer.request.faults.iter().any(|fault| fault.pointer.starts_with("/params/clientInfo"));
        let missing = answer.params.is_none_or(|params| params.get("clientInfo").is_none());
        if !of_client_info && !missing {
            return;
        }
        out.exercised_by(HS_8, Side::Server);
        let line = answer.request.line;
        match answer.code() {
            Some(-32602) => {}
            // Some hosts answer so (DIS-1).
            Some(-32700) => out
                .violated_by(HS_8, Side::Server, answer, "/code")
                .expected("-32602")
                .actual("-32700")
                .contradicts(line)
                .warn()
                .done(),
            code => out
                .violated_by(HS_8, Side::Server, answer, if code.is_some() { "/code" } else { "" })
                .expected("error -32602 for a `clientInfo` that is none")
                .actual(code.map_or_else(|| "a result".to_owned(), |code| code.to_string()))
                .contradicts(line)
                .done(),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let connection = out.core().connection(event.at.conn);
        if event.class == Class::Client {
            if event.method == "initialized" && connection.from_start && connection.granted_at.is_some() {
                out.exercised_by(HS_5, Side::Server);
            }
            return;
        }
        if !event.is_live() {
            return;
        }
        self.too_early(event, out);
        if connection.asked.as_ref().is_some_and(|asked| !asked.opt_out.is_empty()) {
            out.exercised(HS_14);
            if connection.opted_out(event.method) && !event.protected {
                let granted = connection.granted_at.unwrap_or_default();
                out.violated(HS_14, event, "")
                    .expected("no notification that the client opted out of")
                    .actual(event.method)
                    .contradicts(granted)
                    .done();
            }
        }
    }
}

impl Handshake {
    /// HS-5: the host is silent until `initialized`, but for answers.
    fn too_early(&mut self, fact: &impl crate::facts::Placed, out: &mut Out<'_>) {
        let at = fact.at();
        let connection = out.core().connection(at.conn);
        if !connection.from_start || connection.initialized_at.is_some() || self.early.contains_key(&at.conn) {
            return;
        }
        self.early.insert(at.conn, at.line);
        out.violated(HS_5, fact, "").expected("nothing before `initialized`").actual(at.method).done();
    }
}

/// HS-9: what the result of `initialize` says of the machine fits together.
fn platform(answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(result) = answer.result() else { return };
    let text = |name: &str| result.text_of(name).unwrap_or_default();
    out.exercised(HS_9);
    let home = text("museHome");
    let drive = home.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && home.get(1..3) == Some(":\\");
    if !home.starts_with('/') && !home.starts_with("\\\\") && !drive {
        out.violated(HS_9, answer, "/museHome").expected("an absolute path").actual(format!("\"{home}\"")).done();
    }
    let (family, os) = (text("platformFamily"), text("platformOs"));
    let fits = match &*os {
        "macos" | "linux" => family == "unix",
        "windows" => family == "windows",
        _ => true,
    };
    if !fits {
        out.violated(HS_9, answer, "/platformFamily").expected(format!("the family of {os}")).actual(&*family).done();
    }
    if result.get("sandboxUnavailableReason").is_some() && text("sandboxAvailability") != "unavailable" {
        out.violated(HS_9, answer, "/sandboxUnavailableReason")
            .expected("no reason, since the sandbox is not unavailable")
            .actual(text("sandboxUnavailableReason"))
            .done();
    }
}
