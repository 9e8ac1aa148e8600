//! Computer use: `computerUseSettings/read`, `update`, and `computerUseSetup/read`, `check`, `start` with `computerUseSetup/changed`
//! (MISC-9).
//!
//! Simulated throughout: there is no helper and nothing is controlled. Settings are kept for the life of the host; a setup takes
//! [a moment](SETUP_MS) and ends ready. The built-in block is an application of our own naming.

mod setup;

use std::sync::PoisonError;

use msp_types::msp::errors;
use msp_types::msp::methods::{
    ComputerUseSettingsRead, ComputerUseSettingsUpdate, ComputerUseSetupCheck, ComputerUseSetupRead,
    ComputerUseSetupStart,
};
use msp_types::msp::{ComputerUseSettings, ComputerUseSettingsReadParams, ComputerUseSettingsUpdateParams};
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, bare, from_value, method, to_value};
use crate::host::Host;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[
    method::<ComputerUseSettingsRead>(),
    method::<ComputerUseSettingsUpdate>(),
    method::<ComputerUseSetupRead>(),
    bare::<ComputerUseSetupCheck>(),
    method::<ComputerUseSetupStart>(),
];

/// How long a setup takes, in milliseconds.
pub const SETUP_MS: u64 = 100;
/// The application that is blocked whatever a user says.
const BUILT_IN_BLOCK: &str = "org.example.keychain";

impl HostMethod for ComputerUseSettingsRead {
    fn serve(
        params: ComputerUseSettingsReadParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<ComputerUseSettings>, Refusal> {
        gate(call.host)?;
        let mut settings = show(&shelf(call.host), params.show_built_ins == Some(true));
        if params.installed == Some(true) {
            settings["installedApps"] = json!([
                { "bundleId": "org.example.editor", "name": "Editor" },
                { "bundleId": BUILT_IN_BLOCK, "name": "Keychain" },
            ]);
        }
        Ok(Reply::Result(from_value(settings)?))
    }
}

impl HostMethod for ComputerUseSettingsUpdate {
    fn serve(
        params: ComputerUseSettingsUpdateParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<ComputerUseSettings>, Refusal> {
        gate(call.host)?;
        let mut shelf = shelf(call.host);
        let (blocks, unblocks) = (params.block_apps.unwrap_or_default(), params.unblock_apps.unwrap_or_default());
        let mut edits: Vec<(String, Value)> = Vec::new();
        for patch in params.apps.unwrap_or_default() {
            edits.push((patch.bundle_id, to_value(&patch.choice)?));
        }
        edits.extend(blocks.into_iter().map(|id| (id, "blocked".into())));
        edits.extend(unblocks.into_iter().map(|id| (id, "ask".into())));
        for (at, (id, choice)) in edits.iter().enumerate() {
            if id == BUILT_IN_BLOCK {
                return Err(Refusal::invalid_params(format!("application `{id}` is locked")));
            }
            if edits.iter().take(at).any(|(before, _)| before == id) {
                return Err(Refusal::invalid_params(format!("application `{id}` is named twice")));
            }
            known(choice, &["ask", "alwaysAllow", "blocked"])?;
        }
        for (member, choice) in [("computerControl", params.computer_control), ("screenshots", params.screenshots)] {
            if let Some(choice) = choice {
                let choice = to_value(&choice)?;
                known(&choice, &["ask", "alwaysAllow"])?;
                shelf[member] = choice;
            }
        }
        let mut apps = shelf["apps"].as_array().cloned().unwrap_or_default();
        for (id, choice) in edits {
            apps.retain(|app| app["bundleId"] != id);
            if choice != "ask" {
                apps.push(json!({ "bundleId": id, "choice": choice }));
            }
        }
        shelf["apps"] = apps.into();
        let settings = show(&shelf, false);
        call.host.shelves.lock().unwrap_or_else(PoisonError::into_inner).insert("computer_use", shelf);
        Ok(Reply::Result(from_value(settings)?))
    }
}

/// A choice that this host can keep.
fn known(choice: &Value, choices: &[&str]) -> Result<(), Refusal> {
    if choices.iter().any(|known| choice == known) {
        return Ok(());
    }
    Err(Refusal::invalid_params(format!("no choice {choice}")))
}

/// The settings as the wire shows them: grants first, then the user's blocks, locked rows at the end.
fn show(shelf: &Value, built_ins: bool) -> Value {
    let all = shelf["apps"].as_array().cloned().unwrap_or_default();
    let (mut blocked, mut apps): (Vec<_>, Vec<_>) = all.into_iter().partition(|app| app["choice"] == "blocked");
    let mut blocks: Vec<_> =
        blocked.iter().map(|app| json!({ "bundleId": app["bundleId"], "locked": false })).collect();
    apps.append(&mut blocked);
    if built_ins {
        blocks.push(json!({ "bundleId": BUILT_IN_BLOCK, "locked": true }));
        apps.push(json!({ "bundleId": BUILT_IN_BLOCK, "choice": "blocked", "locked": true, "lockedBy": "builtIn" }));
    }
    json!({
        "computerControl": shelf["computerControl"].as_str().unwrap_or("ask"),
        "screenshots": shelf["screenshots"].as_str().unwrap_or("ask"), "blockedApps": blocks, "apps": apps,
    })
}

/// Refuses where the host has no computer use.
fn gate(host: &Host) -> Result<(), Refusal> {
    if host.config.computer_use {
        return Ok(());
    }
    Err(Refusal::new(errors::COMPUTER_USE_UNAVAILABLE, "this host has no computer use"))
}

fn shelf(host: &Host) -> Value {
    let shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    shelves.get("computer_use").cloned().unwrap_or_else(|| json!({}))
}
