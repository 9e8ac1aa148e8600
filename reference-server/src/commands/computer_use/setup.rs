//! The setup, of a session or of the host. Its commands belong to no log: they are remembered while the host runs.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use msp_types::Call as _;
use msp_types::NoParams;
use msp_types::msp::methods::{ComputerUseSetupCheck, ComputerUseSetupRead, ComputerUseSetupStart};
use msp_types::msp::{ComputerUseSetupReadParams, ComputerUseSetupStartParams, ComputerUseSetupState};
use serde_json::{Value, json};

use super::{SETUP_MS, gate};
use crate::commands::{HostCall, HostMethod, Reply, from_value, to_value};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::session::digest;

impl HostMethod for ComputerUseSetupRead {
    fn serve(params: ComputerUseSetupReadParams, call: &HostCall<'_>) -> Result<Reply<ComputerUseSetupState>, Refusal> {
        gate(call.host)?;
        let target = target(call, params.session_id.as_deref())?;
        Ok(Reply::Result(from_value(state(call.host, &target))?))
    }
}

impl HostMethod for ComputerUseSetupCheck {
    fn serve(_: NoParams, call: &HostCall<'_>) -> Result<Reply<ComputerUseSetupState>, Refusal> {
        gate(call.host)?;
        let state = on_shelf(call.host, |shelf| {
            let states = shelf["states"].as_object();
            let busy = states.into_iter().flatten().any(|(_, state)| state["setup"] == "inProgress");
            if busy { None } else { Some(state_of(shelf, "")) }
        });
        match state {
            Some(state) => Ok(Reply::Result(from_value(state)?)),
            None => Err(Refusal::rejected_request("runtime_busy", "a setup is under way")),
        }
    }
}

impl HostMethod for ComputerUseSetupStart {
    fn serve(
        params: ComputerUseSetupStartParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<ComputerUseSetupState>, Refusal> {
        gate(call.host)?;
        let target = target(call, params.session_id.as_deref())?;
        let digest = digest(&to_value(&params)?);
        let command_id = params.command_id;
        let seen = on_shelf(call.host, |shelf| shelf["commands"].get(&command_id).cloned());
        match seen {
            Some(seen) if seen["digest"] != digest => {
                let refusal = Refusal::rejected("command_id_conflict", "the command id was used for another command");
                return Err(refusal.with("commandId", command_id));
            }
            Some(seen) if seen["state"].is_object() => return Ok(Reply::Result(from_value(seen["state"].clone())?)),
            _ => {}
        }
        let under_way = on_shelf(call.host, |shelf| state_of(shelf, &target)["setup"] == "inProgress");
        if under_way {
            return Err(Refusal::rejected("runtime_busy", "a setup is under way").with("commandId", command_id));
        }
        on_shelf(call.host, |shelf| shelf["commands"][command_id.as_str()] = json!({ "digest": digest }));
        become_state(call.host, &target, "inProgress", "unknown");
        let (host, caller, id) = (Arc::clone(call.host), call.caller.clone(), call.id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(SETUP_MS)).await;
            let mut state = become_state(&host, &target, "readyForTarget", "granted");
            on_shelf(&host, |shelf| shelf["commands"][command_id.as_str()]["state"] = state.clone());
            caller.connection.respond_to(Self::NAME, &id, &mut state, &caller.handshake);
        });
        Ok(Reply::Sent)
    }
}

/// Whose setup it is: a session that is loaded here, or, as the empty text, the host.
fn target(call: &HostCall<'_>, session_id: Option<&str>) -> Result<String, Refusal> {
    if let Some(session_id) = session_id {
        call.host.loaded(session_id)?;
    }
    Ok(session_id.unwrap_or_default().to_owned())
}

fn state(host: &Host, target: &str) -> Value {
    on_shelf(host, |shelf| state_of(shelf, target))
}

fn state_of(shelf: &Value, target: &str) -> Value {
    shelf["states"].get(target).cloned().unwrap_or_else(|| make("dormant", "unknown"))
}

fn make(setup: &str, permission: &str) -> Value {
    json!({
        "setup": setup, "accessibility": permission, "screenRecording": permission, "inputMonitoring": permission,
    })
}

/// Changes the state and tells so.
fn become_state(host: &Host, target: &str, setup: &str, permission: &str) -> Value {
    let state = make(setup, permission);
    on_shelf(host, |shelf| shelf["states"][target] = state.clone());
    let mut note = json!({ "state": state });
    if !target.is_empty() {
        note["sessionId"] = target.into();
    }
    host.broadcast("computerUseSetup/changed", &note);
    state
}

fn on_shelf<T>(host: &Host, work: impl FnOnce(&mut Value) -> T) -> T {
    let mut shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    work(shelves.entry("computer_use_setup").or_insert_with(|| json!({ "states": {}, "commands": {} })))
}
