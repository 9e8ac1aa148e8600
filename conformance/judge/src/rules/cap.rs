//! Capabilities (CAP): what is granted, and what is kept from those who were not granted it.

use crate::facts::{Answer, Event, Id, Map, Request, Value};
use crate::rules::monitor::{Family, Methods, Monitor, Watched, Watches, family};
use crate::rules::out::Out;
use crate::transcript::Side;

family! {
    CAP_2 = "CAP-2",
    CAP_3 = "CAP-3",
    CAP_4 = "CAP-4",
    CAP_5 = "CAP-5",
    CAP_6 = "CAP-6",
    CAP_7 = "CAP-7",
    CAP_8 = "CAP-8",
    CAP_9 = "CAP-9",
}

/// Methods that need a capability, or whose params may.
const GATED: &[&str] = &[
    "session/userShell",
    "turn/start",
    "session/start",
    "session/resume",
    "feedback/submit",
    "computerUseSetup/*",
    "log/*",
    "projection/*",
    "peer/list",
    "admission/*",
];

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        requests: Methods::These(GATED),
        answers: Methods::These(&[
            "initialize",
            "session/rename",
            "session/userShell",
            "turn/start",
            "session/start",
            "session/resume",
            "feedback/submit",
            "computerUseSetup/*",
            "log/*",
            "projection/*",
            "peer/list",
            "admission/*",
        ]),
        events: Methods::These(&["session/listChanged", "computerUseSetup/changed"]),
        ..Watches::NOTHING
    },
    monitor: || Box::<Capabilities>::default(),
};

/// Those that come with the experimental surface alone.
const EXPERIMENTAL: [&str; 3] = ["rawLog", "rawLogPhysical", "peerMessaging"];

#[derive(Default)]
struct Capabilities {
    /// For each connection and capability, the line in which a gated use last got an answer of that gate, and whether
    /// it was let through.
    verdicts: Map<(u32, Id), (u64, bool)>,
}

impl Monitor for Capabilities {
    /// CAP-9: a client asks for nothing that it was not granted.
    fn request(&mut self, request: &Request<'_>, out: &mut Out<'_>) {
        if request.at.side != Side::Client || !out.is_client_run() {
            return;
        }
        let Some(capability) = needed(request.at.method, request.params, out) else { return };
        let Some(granted) = out.core().connection(request.at.conn).has(capability) else { return };
        out.exercised(CAP_9);
        if !granted {
            out.violated(CAP_9, request, "")
                .expected(format!("nothing that needs {capability}, which was not granted"))
                .actual(request.at.method)
                .done();
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        if answer.at.side != Side::Server {
            return;
        }
        let connection = out.core().connection(answer.at.conn);
        if matches!(answer.at.method, "session/start" | "session/rename")
            && answer.result().is_some()
            && connection.has("sessionListStream") == Some(false)
        {
            out.exercised(CAP_7);
        }
        match answer.at.method {
            "initialize" => granted(answer, out),
            "session/rename" => {
                out.exercised(CAP_8);
                if answer.code() == Some(-32010) {
                    out.violated(CAP_8, answer, "/code")
                        .expected("no capability that gates session/rename")
                        .actual("-32010")
                        .contradicts(answer.request.line)
                        .done();
                }
            }
            _ => {
                let Some(capability) = needed(answer.at.method, answer.params, out) else { return };
                match connection.has(capability) {
                    Some(false) => gated(answer, capability, out),
                    granted => self.lasts(answer, capability, granted, out),
                }
            }
        }
    }

    /// CAP-7 and CAP-8: what is told only to those who were granted it.
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let (rule, capability) = match event.method {
            "session/listChanged" => (CAP_7, "sessionListStream"),
            _ if event.session.is_none() => (CAP_8, "computerUseHostSetup"),
            _ => return,
        };
        if event.is_live() && out.core().connection(event.at.conn).has(capability) == Some(false) {
            out.exercised(rule);
            out.violated(rule, event, "")
                .expected(format!("nothing of the kind, as {capability} was not granted"))
                .actual(event.method)
                .done();
        }
    }
}

impl Capabilities {
    /// CAP-2: a grant lasts as long as the connection.
    fn lasts(&mut self, answer: &Answer<'_>, capability: &'static str, granted: Option<bool>, out: &mut Out<'_>) {
        let names_it = answer.data("capability").is_none_or(|it| it.is(capability));
        let passed = match answer.code() {
            None => true,
            Some(-32010) if names_it => false,
            Some(_) => return,
        };
        let key = (answer.at.conn, Id::of(capability.as_bytes()));
        let before = self.verdicts.insert(key, (answer.at.line, passed));
        let before = before.filter(|(_, before)| *before != passed).map(|(line, _)| line);
        out.exercised(CAP_2);
        if before.is_none() && (passed || granted.is_none()) {
            return;
        }
        let granted_at = out.core().connection(answer.at.conn).granted_at;
        let Some(line) = before.filter(|_| granted.is_none()).or(granted_at) else { return };
        if granted == Some(true) && passed {
            return;
        }
        out.violated(CAP_2, answer, if passed { "" } else { "/code" })
            .expected(format!("the same word on {capability} as before"))
            .actual(if passed { "a result" } else { "-32010" })
            .contradicts(line)
            .contradicts(answer.request.line)
            .done();
    }
}

/// The capability that a request needs.
fn needed(method: &str, params: Option<Value<'_>>, out: &Out<'_>) -> Option<&'static str> {
    let has = |name: &str| params.and_then(|it| it.some(name)).is_some();
    match method {
        "session/userShell" => Some("userShell"),
        "turn/start" => (has("userShell") && out.since(1, 4, 6)).then_some("userShell"),
        "session/start" | "session/resume" => {
            let servers = params.and_then(|it| it.path(&["config", "mcpServers"]));
            servers.is_some_and(|it| it.members().next().is_some()).then_some("sessionMcp")
        }
        "feedback/submit" => Some("feedback"),
        "computerUseSetup/check" => Some("computerUseHostSetup"),
        "computerUseSetup/read" | "computerUseSetup/start" => {
            Some(if has("sessionId") { "computerUseSetup" } else { "computerUseHostSetup" })
        }
        // Before the capability, the opt-in is looked at (EXP-1).
        _ if out.core().connection(out.conn).experimental() != Some(true) => None,
        _ if method.starts_with("log/physical") => Some("rawLogPhysical"),
        _ if method.starts_with("log/") || method.starts_with("projection/") => Some("rawLog"),
        "peer/list" | "admission/decide" | "admission/listPending" => Some("peerMessaging"),
        _ => None,
    }
}

/// The rule that says what a capability gates, where there is one.
fn owner(capability: &str) -> Watched {
    match capability {
        "userShell" => CAP_5,
        "sessionMcp" => CAP_6,
        "feedback" | "computerUseSetup" | "computerUseHostSetup" => CAP_8,
        _ => CAP_3,
    }
}

/// CAP-3, 5, 6 and 8: what was not granted is refused, and how.
fn gated(answer: &Answer<'_>, capability: &'static str, out: &mut Out<'_>) {
    let rule = owner(capability);
    let Some(code) = answer.code() else {
        out.exercised(rule);
        return out
            .violated(rule, answer, "")
            .expected(format!("error -32010, as {capability} was not granted"))
            .actual("a result")
            .contradicts(answer.request.line)
            .done();
    };
    // Whether params are looked at before is not settled.
    if matches!(code, -32600 | -32601 | -32602 | -32603 | -32001 | -32002 | -32031) {
        return;
    }
    out.exercised(rule);
    out.exercised(CAP_3);
    let (below, expected, actual) = if code != -32010 {
        ("/code", "error -32010 before anything else of the request is looked at".to_owned(), code.to_string())
    } else if let Some(named) = answer.data("capability").filter(|it| !it.is(capability)) {
        ("/data/capability", format!("\"{capability}\""), named.shown())
    } else if answer.data("capability").is_none() {
        ("/data", format!("`capability` with \"{capability}\""), "none".to_owned())
    } else if answer.data("retryable").is_some_and(|it| it.bool() == Some(true)) {
        ("/data/retryable", "false".to_owned(), "true".to_owned())
    } else {
        return;
    };
    out.violated(CAP_3, answer, below).expected(expected).actual(actual).contradicts(answer.request.line).done();
}

/// CAP-4 and 8: the names in the result of `initialize`.
fn granted(answer: &Answer<'_>, out: &mut Out<'_>) {
    let Some(result) = answer.result() else { return };
    let Some(names) = result.get("grantedCapabilities") else { return };
    let wishes = answer.param("capabilities");
    let asked = |name: &str| {
        let list = wishes.and_then(|it| it.get("requestedCapabilities"));
        list.is_some_and(|it| it.items().any(|asked| asked.is(name)))
    };
    let is_true = |value: Option<Value<'_>>| value.and_then(|it| it.bool()) == Some(true);
    let opted_in = is_true(result.get("experimentalApi")) || is_true(wishes.and_then(|it| it.get("experimentalApi")));
    for (index, name) in names.items().enumerate() {
        let Some(text) = name.text() else { continue };
        let below = format!("/grantedCapabilities/{index}");
        out.exercised(CAP_4);
        if !opted_in && EXPERIMENTAL.contains(&&*text) {
            out.violated(CAP_4, answer, &below)
                .expected("names of the stable surface, as the experimental one is off")
                .actual(name.shown())
                .contradicts(answer.request.line)
                .done();
        }
    }
    if asked("sessionListStream") {
        out.exercised(CAP_8);
        if !names.items().any(|it| it.is("sessionListStream")) {
            out.violated(CAP_8, answer, "/grantedCapabilities")
                .expected("\"sessionListStream\", which whoever asks is granted")
                .actual(names.shown())
                .contradicts(answer.request.line)
                .done();
        }
    }
}
