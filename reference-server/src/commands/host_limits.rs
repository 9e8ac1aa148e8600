//! Limits: `host/readLimits`, `session/readLimits` (experimental). Served only over a same-user socket; this host has stdio, so it
//! withholds both for its whole life.

use msp_types::Call as _;
use msp_types::msp::methods::{HostReadLimits, SessionReadLimits};
use serde_json::Value;

use super::{Handler, HostCall, Method, Reply};
use crate::refusal::Refusal;

/// What this family has: refusals that look at no params, as for every method that a host does not have (ERR-10).
pub const METHODS: &[Method] = &[
    Method { name: HostReadLimits::NAME, command: false, handler: Handler::Host(host) },
    Method { name: SessionReadLimits::NAME, command: false, handler: Handler::Host(session) },
];

fn host(_: Value, _: &HostCall<'_>) -> Result<Reply<Value>, Refusal> {
    Err(Refusal::method_not_found(HostReadLimits::NAME))
}

fn session(_: Value, _: &HostCall<'_>) -> Result<Reply<Value>, Refusal> {
    Err(Refusal::method_not_found(SessionReadLimits::NAME))
}
