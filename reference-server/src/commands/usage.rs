//! Use of the subscription: `usage/read` and `usage/changed` (MISC-6); `usage/refresh` is with the [account](super::account).
//!
//! Simulated: figures come from the verb `subscription`, and are kept for the life of the host.

use std::sync::{Arc, PoisonError};

use msp_types::NoParams;
use msp_types::msp::UsageReadResult;
use msp_types::msp::errors;
use msp_types::msp::methods::UsageRead;
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, bare, from_value};
use crate::host::Host;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[bare::<UsageRead>()];

impl HostMethod for UsageRead {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<UsageReadResult>, Refusal> {
        let mut result = json!({});
        if let Some(usage) = shelf(call.host).get("usage") {
            result["usage"] = usage.clone();
        }
        Ok(Reply::Result(from_value(result)?))
    }
}

/// What a refresh gives: the figures as observed now, or that it failed.
///
/// # Errors
/// −32082, where the verb `subscription` asked for it.
pub fn refreshed(host: &Host, now_ms: i64) -> Result<Option<Value>, Refusal> {
    let mut shelf = shelf(host);
    if let Some(kind) = shelf["refreshFails"].as_str() {
        let refusal = Refusal::new(errors::USAGE_REFRESH_FAILED, format!("the refresh failed: {kind}"));
        return Err(refusal.with("failureKind", kind).with("retryable", kind == "transient"));
    }
    if shelf.get("usage").is_none_or(Value::is_null) {
        return Ok(None);
    }
    shelf["usage"]["observedAtMs"] = now_ms.into();
    let usage = shelf["usage"].clone();
    put(host, shelf);
    Ok(Some(usage))
}

/// Takes figures as observed now; everyone is told where they differ from the last ones. `refresh_fails` is what refreshes end with
/// from now on.
pub fn observe(host: &Arc<Host>, mut usage: Value, refresh_fails: Option<String>) {
    let mut shelf = shelf(host);
    let now = host.mint.lock().now_ms();
    for member in ["window", "weekly"] {
        if usage[member]["resetsAtMs"].is_null() {
            let length = if member == "window" { 5 * 3_600_000 } else { 7 * 24 * 3_600_000 };
            // Windows begin at round times, so that equal figures stay equal.
            usage[member]["resetsAtMs"] = ((now / length + 1) * length).into();
        }
    }
    usage["observedAtMs"] = Value::Null;
    let mut before = shelf["usage"].clone();
    if before.is_object() {
        before["observedAtMs"] = Value::Null;
    }
    let changed = before != usage;
    usage["observedAtMs"] = now.into();
    shelf["usage"] = usage.clone();
    shelf["refreshFails"] = refresh_fails.into();
    put(host, shelf);
    if changed {
        host.broadcast("usage/changed", &usage);
    }
}

fn shelf(host: &Host) -> Value {
    let shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    shelves.get("usage").cloned().unwrap_or_else(|| json!({}))
}

fn put(host: &Host, shelf: Value) {
    host.shelves.lock().unwrap_or_else(PoisonError::into_inner).insert("usage", shelf);
}
