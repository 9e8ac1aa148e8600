//! MCP servers: `mcpServer/*` (experimental).
//!
//! The list is real: the servers that `config.mcpServers` gave a session; the host has none of its own but [`OWN`]. Logins are
//! simulated: one is granted [by itself](GRANT_AFTER_MS), or ends as the verb `mcpLogin` says; nothing is revoked anywhere.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use msp_types::Call as _;
use msp_types::msp::methods::{McpServerList, McpServerOauthLogin, McpServerOauthLoginCancel, McpServerOauthLogout};
use msp_types::msp::{
    McpServerListParams, McpServerListResult, McpServerOAuthLoginCancelParams, McpServerOAuthLoginCancelResult,
    McpServerOAuthLoginParams, McpServerOAuthLoginResult, McpServerOAuthLogoutParams, McpServerOAuthLogoutResult,
};
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, from_value, method};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::state::State;

/// What this family has.
pub const METHODS: &[Method] = &[
    method::<McpServerList>(),
    method::<McpServerOauthLogin>(),
    method::<McpServerOauthLoginCancel>(),
    method::<McpServerOauthLogout>(),
];

/// The one server of the host itself; made up, so that there is something to log in to.
pub const OWN: &str = "simulated";
/// Milliseconds after which a login counts as confirmed.
pub const GRANT_AFTER_MS: u64 = 2_000;

impl HostMethod for McpServerList {
    fn serve(params: McpServerListParams, call: &HostCall<'_>) -> Result<Reply<McpServerListResult>, Refusal> {
        let mut rows = vec![(OWN.to_owned(), "settings", "streamableHttp")];
        if let Some(session_id) = &params.session_id {
            let loaded = call.host.loaded(session_id)?;
            let own = configured(&loaded.core().state);
            rows.extend(own.into_iter().map(|(name, transport)| (name, "session", transport)));
        }
        let servers = on_shelf(call.host, |logins| {
            let row = |(name, source, transport): (String, _, &str)| {
                let oauth = match (transport, &logins[LOGGED_IN][&name]) {
                    ("streamableHttp", Value::Bool(true)) => "loggedIn",
                    ("streamableHttp", _) => "loggedOut",
                    _ => "notSupported",
                };
                json!({ "name": name, "source": source, "transport": transport, "oauth": oauth })
            };
            rows.into_iter().map(row).collect::<Vec<_>>()
        });
        Ok(Reply::Result(from_value(json!({ "servers": servers }))?))
    }
}

impl HostMethod for McpServerOauthLogin {
    fn serve(
        params: McpServerOAuthLoginParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<McpServerOAuthLoginResult>, Refusal> {
        let server = params.server;
        let configured_here =
            || call.host.sessions().iter().any(|session| is_remote(&configured(&session.core().state), &server));
        if server != OWN && !configured_here() {
            return Err(Refusal::invalid_params(format!("no MCP server `{server}` takes a login")));
        }
        let flow = on_shelf(call.host, |logins| {
            let flow = logins["flows"].as_u64().unwrap_or(0) + 1;
            logins["flows"] = flow.into();
            logins["pending"][&server] = flow.into(); // replaces one that was pending
            flow
        });
        let host = Arc::downgrade(call.host);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(GRANT_AFTER_MS)).await;
            if let Some(host) = host.upgrade() {
                end(&host, &server, Some(flow), "granted");
            }
        });
        let url = format!("https://login.invalid/authorize?state={flow}");
        Ok(Reply::Result(McpServerOAuthLoginResult::new(url)))
    }
}

impl HostMethod for McpServerOauthLoginCancel {
    fn serve(
        params: McpServerOAuthLoginCancelParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<McpServerOAuthLoginCancelResult>, Refusal> {
        let pending = on_shelf(call.host, |logins| logins["pending"][&params.server].is_number());
        let mut result = json!({ "cancelled": pending });
        call.caller.connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
        end(call.host, &params.server, None, "cancelled");
        Ok(Reply::Sent)
    }
}

impl HostMethod for McpServerOauthLogout {
    fn serve(
        params: McpServerOAuthLogoutParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<McpServerOAuthLogoutResult>, Refusal> {
        let removed = on_shelf(call.host, |logins| logins[LOGGED_IN][&params.server].take() == true);
        let revocation = if removed { "succeeded" } else { "notAttempted" };
        Ok(Reply::Result(from_value(json!({ "removed": removed, "revocation": revocation }))?))
    }
}

/// Ends the pending login to a server, or just the one of a number; nothing happens where there is none.
pub fn end(host: &Host, server: &str, flow: Option<u64>, outcome: &str) {
    let ended = on_shelf(host, |logins| {
        let held = logins["pending"][server].as_u64();
        let pending = held.is_some_and(|held| flow.is_none_or(|flow| flow == held));
        if pending {
            logins["pending"][server] = Value::Null;
            if outcome == "granted" {
                logins[LOGGED_IN][server] = true.into();
            }
        }
        pending
    });
    if ended {
        host.broadcast("mcpServer/oauthLoginCompleted", &json!({ "server": server, "outcome": outcome }));
    }
}

const LOGGED_IN: &str = "loggedIn";

/// Names and transports of the servers of a session, by name.
fn configured(state: &State) -> Vec<(String, &'static str)> {
    // A load may bring other servers than the start did.
    let config = state.facts.get("config").or(state.header.config.as_ref());
    let servers = config.and_then(|config| config["mcpServers"].as_object());
    let transport = |definition: &Value| match definition["transport"].as_str() {
        Some("stdio") => "stdio",
        Some("streamableHttp") => "streamableHttp",
        _ => "unknown",
    };
    servers.into_iter().flatten().map(|(name, definition)| (name.clone(), transport(definition))).collect()
}

fn is_remote(servers: &[(String, &str)], server: &str) -> bool {
    servers.iter().any(|(name, transport)| name == server && *transport == "streamableHttp")
}

/// What the host keeps of logins: `pending` and `loggedIn` by server, `flows` (how many there were).
fn on_shelf<T>(host: &Host, work: impl FnOnce(&mut Value) -> T) -> T {
    let mut shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    work(shelves.entry("mcpLogins").or_insert_with(|| json!({ "pending": {}, "loggedIn": {} })))
}
