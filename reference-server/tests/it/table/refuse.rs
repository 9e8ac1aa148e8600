//! What follows for a method from its row alone: handshake, gates, shape of params, sessions, ledger (ERR-8 to ERR-10, CMD-2, CMD-7,
//! CMD-15, CAP-3, EXP-1), then the refusals that the row lists. None of it leaves a trace on the view (ERR-11, CMD-21).

use std::sync::Arc;

use msp_reference_server::log::layer::Memory;
use msp_reference_server::seam::Honest;
use msp_reference_server::{Config, Host};
use msp_schema::{Surface, published};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::cover::Caused;
use super::data::{Expected, Role, Row, Session, Settings};
use super::meet::{self, Variables};
use super::play::{STRANGER, everything};
use crate::peer::Peer;

/// A UUID of a version that command ids do not have.
const VERSION_4: &str = "0198f0ab-0000-4000-8000-00000000dead";
/// A member that no params have.
const UNHEARD: &str = "unheardOf";

/// A method that is being refused.
struct Refused<'a> {
    row: &'a Row,
    variables: Variables,
    /// What was not refused as it should.
    wrong: Vec<String>,
}

pub(super) async fn row(row: &Row) -> Caused {
    let mut caused = Caused::default();
    if row.role == Role::Handshake {
        return caused; // its refusals are cases
    }
    let dir = TempDir::new().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    let config = Settings::default().durable().config(&folder.join("sessions"), str::to_owned);
    let host = Host::with(config, Arc::new(Memory::default()), Box::new(Honest));
    let mut variables = Variables::default();
    variables.set("dir", folder.display().to_string().into());
    variables.set("stranger", STRANGER.into());
    let repository = folder.join("repository");
    std::fs::create_dir_all(repository.join(".git")).unwrap();
    variables.set("repository", repository.display().to_string().into());
    let mut refused = Refused { row, variables, wrong: Vec::new() };

    let mut full = Peer::over(Arc::clone(&host), 1 << 20).number(1).shake(everything()).await;
    refused.set_up(&mut full).await;
    let mut raw = Peer::over(Arc::clone(&host), 1 << 20).number(2);
    refused.expect(&mut raw, "before the handshake", refused.base(), &kind(-32600, "notInitialized")).await;
    let mut plain = Peer::over(Arc::clone(&host), 1 << 20).number(3).shake(json!({})).await;
    let mut opted = Peer::over(Arc::clone(&host), 1 << 20).number(4).shake(json!({ "experimentalApi": true })).await;
    refused.gates(&mut plain, &mut opted).await;

    let before = full.pages(&refused.session()).await;
    if row.withheld {
        refused.expect(&mut full, "withheld", refused.base(), &kind(-32601, "methodNotFound")).await;
    } else {
        refused.shapes(&mut full).await;
        refused.sessions(&mut full).await;
        refused.listed(&mut full, &mut plain).await;
        if full.pages(&refused.session()).await != before {
            refused.wrong.push("a refusal shows on the view".to_owned());
        }
        refused.unheard(&mut full).await;
        if row.durable {
            let mut short = Peer::over(Host::new(Config::in_memory()), 1 << 20).number(5).shake(everything()).await;
            refused.expect(&mut short, "without a log", refused.base(), &kind(-32601, "methodNotFound")).await;
            caused.hear(&short.transcript);
            short.finish().await;
        }
    }
    for peer in [raw, plain, opted, full] {
        caused.hear(&peer.transcript);
        peer.finish().await;
    }
    assert!(refused.wrong.is_empty(), "\n  {}", refused.wrong.join("\n  "));
    caused
}

fn kind(code: i64, kind: &str) -> Expected {
    Expected::Kind((code, kind.to_owned()))
}

fn data(code: i64, kind: &str, data: Value) -> Expected {
    Expected::Data((code, kind.to_owned(), data))
}

impl Refused<'_> {
    /// One session that is loaded, one that is not.
    async fn set_up(&mut self, full: &mut Peer) {
        let started = full.command_id();
        let made = full.call("session/start", json!({ "commandId": started })).await.unwrap();
        let session = meet::at(&made, "session.sessionId").as_str().unwrap().to_owned();
        let taken = full.command_id();
        let params = json!({ "sessionId": session, "commandId": taken, "reasoningEffort": "low" });
        full.call("session/setReasoningEffort", params).await.unwrap();
        let stored = full.start().await;
        full.command("session/leave", json!({ "sessionId": stored })).await.unwrap();
        full.until("session/leaveCompleted").await;
        for (name, value) in [("session", session), ("started", started), ("taken", taken), ("stored", stored)] {
            self.variables.set(name, value.into());
        }
    }

    fn session(&self) -> String {
        self.variables.text("${session}")
    }

    /// Params that are well-formed.
    fn base(&self) -> Value {
        self.variables.fill(&Value::Object(self.row.params.clone()))
    }

    /// Params with members in place of those of the row.
    fn with(&self, members: &Map<String, Value>) -> Value {
        let mut params = self.row.params.clone();
        params.extend(members.clone());
        self.variables.fill(&Value::Object(params))
    }

    /// Asks, and notes an answer that is not the expected one.
    async fn expect(&mut self, peer: &mut Peer, what: &str, mut params: Value, expected: &Expected) {
        if self.row.role == Role::Command && params.is_object() && params.get("commandId").is_none() {
            params["commandId"] = peer.command_id().into();
        }
        self.expect_as_is(peer, what, params, expected).await;
    }

    async fn expect_as_is(&mut self, peer: &mut Peer, what: &str, params: Value, expected: &Expected) {
        let verdict = match peer.call(&self.row.method, params.clone()).await {
            Ok(result) => Err(format!("answered with {result}")),
            Err(error) => meet::error(expected, &error, &self.variables),
        };
        if let Err(wrong) = verdict {
            self.wrong.push(format!("{what}, params {params}: {wrong}"));
        }
    }

    async fn gates(&mut self, plain: &mut Peer, opted: &mut Peer) {
        let row = self.row;
        if row.experimental {
            let descriptor = json!({ "descriptor": row.method, "retryable": false });
            let expected = data(-32601, "experimentalRequired", descriptor);
            self.expect(plain, "without the opt-in", self.base(), &expected).await;
        }
        if let Some(capability) = &row.capability {
            let expected = data(-32010, "capabilityRequired", json!({ "capability": capability, "retryable": false }));
            // Before the shape is looked at and before the session is (ERR-10).
            for params in [self.base(), json!({ "sessionId": STRANGER })] {
                self.expect(opted, "without the capability", params, &expected).await;
            }
        }
    }

    /// Every member that is missing or of another type; params that are no object.
    async fn shapes(&mut self, full: &mut Peer) {
        let row = self.row;
        let bad = kind(-32602, "invalidParams");
        self.expect_as_is(full, "a list", json!([]), &bad).await;
        let bundle = published::bundle(Surface::Experimental);
        let params = bundle.find_method(&row.method).and_then(|method| method.params.as_deref());
        let Some(definition) = params.and_then(|name| bundle.definition(name)) else { return };
        let mut whole = self.base();
        if row.role == Role::Command {
            whole["commandId"] = full.command_id().into();
            for id in [VERSION_4, "", "no uuid"] {
                self.expect_as_is(full, "a command id", json!({ "commandId": id }), &bad).await;
                whole["commandId"] = id.into();
                self.expect_as_is(full, "a command id", whole.clone(), &bad).await;
            }
            whole["commandId"] = full.command_id().into();
        }
        for member in definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let mut params = whole.clone();
            assert!(params.as_object_mut().unwrap().remove(member).is_some(), "the row has no `{member}`");
            self.expect_as_is(full, &format!("without `{member}`"), params, &bad).await;
        }
        for member in definition["properties"].as_object().into_iter().flat_map(Map::keys) {
            let mut params = whole.clone();
            params[member] = json!([[]]); // fits no member of any params
            self.expect_as_is(full, &format!("another type of `{member}`"), params, &bad).await;
        }
        if row.strict {
            let mut params = whole.clone();
            params[UNHEARD] = 1.into();
            self.expect_as_is(full, "an unknown member", params, &bad).await;
        }
    }

    /// Unknown and unloaded sessions; a command id that another command has.
    async fn sessions(&mut self, full: &mut Peer) {
        let row = self.row;
        let of = |session: &str| Map::from_iter([("sessionId".to_owned(), Value::from(session))]);
        if row.session != Session::Any {
            let unknown = data(-32020, "sessionNotFound", json!({ "sessionId": STRANGER }));
            self.expect(full, "an unknown session", self.with(&of(STRANGER)), &unknown).await;
        }
        if row.session == Session::Loaded {
            let unloaded = data(-32024, "sessionNotLoaded", json!({ "sessionId": "$stored" }));
            self.expect(full, "a session that is not loaded", self.with(&of("$stored")), &unloaded).await;
        }
        if row.birth || (row.role == Role::Command && row.session == Session::Loaded) {
            let taken = if row.birth { "$started" } else { "$taken" };
            let conflict = json!({ "reason": "command_id_conflict", "commandId": taken });
            let members = Map::from_iter([
                ("commandId".to_owned(), Value::from(taken)),
                ("sessionId".to_owned(), Value::from("$session")),
            ]);
            let expected = data(-32030, "commandRejected", conflict);
            self.expect(full, "the id of another command", self.with(&members), &expected).await;
        }
    }

    /// The refusals that the row lists.
    async fn listed(&mut self, full: &mut Peer, plain: &mut Peer) {
        for (at, refusal) in self.row.refusals.iter().enumerate() {
            let mut params = self.with(&refusal.with);
            for member in &refusal.without {
                params.as_object_mut().unwrap().remove(member);
            }
            let what = format!("refusal {}", at + 1);
            let peer = if refusal.plain { &mut *plain } else { &mut *full };
            self.expect(peer, &what, params, &refusal.error).await;
        }
    }

    /// An unknown member makes no difference where the row does not say so (OPEN-1).
    async fn unheard(&mut self, full: &mut Peer) {
        if self.row.strict {
            return;
        }
        let mut params = self.base();
        params[UNHEARD] = json!({ "deep": [1] });
        if self.row.role == Role::Command {
            params["commandId"] = full.command_id().into();
        }
        if let Err(error) = full.call(&self.row.method, params.clone()).await
            && error["code"] == -32602
        {
            self.wrong.push(format!("an unknown member, params {params}: {error}"));
        }
    }
}
