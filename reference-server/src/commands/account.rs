//! Account: `account/read`, `loginStart`, `loginCancel`, `logout`, and `usage/refresh`, which rests on it (experimental).
//!
//! Simulated: no provider stands behind it. A key counts as good as soon as it is given and is not kept; a device code is confirmed
//! [by itself](GRANT_AFTER_MS), or as the verb `account` says. `usage/refresh` gives the [figures](super::usage) observed before, if any.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use msp_types::msp::methods::{AccountLoginCancel, AccountLoginStart, AccountLogout, AccountRead, UsageRefresh};
use msp_types::msp::{
    AccountLoginCancelResult, AccountLoginStartParams, AccountLoginType, AccountState, UsageRefreshResult, errors,
};
use msp_types::{Call as _, NoParams};
use serde_json::{Value, json};

use super::{Handler, HostCall, HostMethod, Method, Reply, bare, from_value};
use crate::host::Host;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[
    bare::<AccountRead>(),
    Method { name: AccountLoginStart::NAME, command: false, handler: Handler::Host(login_start) },
    bare::<AccountLoginCancel>(),
    bare::<AccountLogout>(),
    bare::<UsageRefresh>(),
];

/// Milliseconds after which a device code counts as confirmed.
pub const GRANT_AFTER_MS: u64 = 2_000;
/// Milliseconds in which one `usage/refresh` is served (EXP-9).
const REFRESH_WINDOW_MS: i64 = 60_000;

impl HostMethod for AccountRead {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<AccountState>, Refusal> {
        Ok(Reply::Result(from_value(state(call.host))?))
    }
}

impl HostMethod for AccountLoginCancel {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<AccountLoginCancelResult>, Refusal> {
        let cancelled = on_shelf(call.host, |shelf| shelf["flow"].take().is_number());
        let mut result = json!({ "cancelled": cancelled });
        call.caller.connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
        if cancelled {
            tell_end(call.host, "cancelled");
        }
        Ok(Reply::Sent)
    }
}

impl HostMethod for AccountLogout {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<AccountState>, Refusal> {
        let was = on_shelf(call.host, |shelf| shelf["state"].take());
        let mut result = state(call.host);
        call.caller.connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
        if was.is_string() {
            call.host.broadcast("account/changed", &result);
        }
        Ok(Reply::Sent)
    }
}

impl HostMethod for UsageRefresh {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<UsageRefreshResult>, Refusal> {
        let now = call.host.mint.lock().now_ms();
        on_shelf(call.host, |shelf| {
            if shelf["state"] != "accountLogin" {
                return Err(Refusal::new(errors::USAGE_REFRESH_UNAVAILABLE, "no account is logged in"));
            }
            let wait = shelf["refreshed"].as_i64().map_or(0, |before| before + REFRESH_WINDOW_MS - now);
            if wait > 0 {
                let message = format!("usage was read less than {REFRESH_WINDOW_MS} ms ago");
                return Err(Refusal::new(errors::USAGE_REFRESH_RATE_LIMITED, message).with("retryAfterMs", wait));
            }
            shelf["refreshed"] = now.into();
            Ok(())
        })?;
        let mut result = json!({ "tierName": "simulated", "subscriptionActive": true });
        if let Some(usage) = super::usage::refreshed(call.host, now)? {
            result["usage"] = usage;
        }
        Ok(Reply::Result(from_value(result)?))
    }
}

/// Starts a login. Params are read here, because a refusal must not repeat any of them.
fn login_start(params: Value, call: &HostCall<'_>) -> Result<Reply<Value>, Refusal> {
    let params: AccountLoginStartParams = serde_json::from_value(params).map_err(|_| {
        Refusal::invalid_params("`type` has to be `deviceCode` or `apiKey`, and `apiKey`, where it is given, a text")
    })?;
    let connection = &call.caller.connection;
    let respond = |mut result| {
        connection.respond_to(AccountLoginStart::NAME, call.id, &mut result, &call.caller.handshake);
    };
    match (params.type_, params.api_key.as_deref()) {
        (AccountLoginType::ApiKey, None | Some("")) => {
            Err(Refusal::invalid_params("a login of type `apiKey` needs `apiKey`"))
        }
        (AccountLoginType::DeviceCode, Some(_)) => {
            Err(Refusal::invalid_params("a login of type `deviceCode` takes no `apiKey`"))
        }
        (AccountLoginType::ApiKey, Some(_)) => {
            on_shelf(call.host, |shelf| *shelf = json!({ "state": "apiKey", "flows": shelf["flows"] }));
            respond(json!({}));
            tell_end(call.host, "granted");
            call.host.broadcast("account/changed", &state(call.host));
            Ok(Reply::Sent)
        }
        (AccountLoginType::DeviceCode, None) => {
            let flow = on_shelf(call.host, |shelf| {
                let flow = shelf["flows"].as_u64().unwrap_or(0) + 1;
                shelf["flows"] = flow.into();
                shelf["flow"] = flow.into();
                flow
            });
            respond(json!({ "verificationUrl": "https://login.invalid/device", "userCode": format!("SIM-{flow:04}") }));
            let host = Arc::downgrade(call.host);
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(GRANT_AFTER_MS)).await;
                if let Some(host) = host.upgrade() {
                    end(&host, Some(flow), "granted");
                }
            });
            Ok(Reply::Sent)
        }
    }
}

/// Ends the pending device login, or just the one of a number; nothing happens where there is none.
pub fn end(host: &Host, flow: Option<u64>, outcome: &str) {
    let ended = on_shelf(host, |shelf| {
        let pending = shelf["flow"].as_u64().is_some_and(|pending| flow.is_none_or(|flow| flow == pending));
        if pending {
            shelf["flow"] = Value::Null;
            if outcome == "granted" {
                shelf["state"] = "accountLogin".into();
            }
        }
        pending
    });
    if ended {
        tell_end(host, outcome);
        if outcome == "granted" {
            host.broadcast("account/changed", &state(host));
        }
    }
}

fn tell_end(host: &Host, outcome: &str) {
    host.broadcast("account/loginCompleted", &json!({ "outcome": outcome }));
}

/// The account as the wire shows it. The scripted provider needs no credential.
fn state(host: &Host) -> Value {
    let state = on_shelf(host, |shelf| shelf["state"].clone());
    match state.as_str() {
        Some(kind) => json!({ "state": kind, "credentialRequired": false, "label": "simulated" }),
        None => json!({ "state": "loggedOut", "credentialRequired": false }),
    }
}

/// What the host keeps of the account: `state`, `flow` (the pending login), `flows` (how many there were), `refreshed`.
fn on_shelf<T>(host: &Host, work: impl FnOnce(&mut Value) -> T) -> T {
    let mut shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    work(shelves.entry("account").or_insert_with(|| json!({})))
}
