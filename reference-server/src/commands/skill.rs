//! Skills: `skill/list`, `setActivation`, `import`, and `skill/changed` (MISC-4).
//!
//! The catalogue is simulated: two bundled skills, those of installed plugins, and imported ones. An import is real as far as it
//! goes: it looks for folders with a `SKILL.md` where the program in question keeps them, and takes note of them; nothing is copied.
//! Activations and imports are kept for the life of the host.

use std::path::Path;
use std::sync::PoisonError;

use msp_types::msp::errors;
use msp_types::msp::methods::{SkillImport, SkillList, SkillSetActivation};
use msp_types::msp::{
    SkillImportParams, SkillImportResult, SkillInvocationSource, SkillListParams, SkillListResult,
    SkillSetActivationParams, SkillSetActivationResult,
};
use serde_json::{Value, json};

use super::plugin;
use super::{Command, HostCall, HostMethod, Method, Reply, command, from_value, method, to_value};
use crate::decision::{Context, Decision, Effect};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::session::Core;

/// What this family has.
pub const METHODS: &[Method] = &[method::<SkillList>(), command::<SkillSetActivation>(), command::<SkillImport>()];

/// Selector, description.
const BUNDLED: &[(&str, &str)] =
    &[("explain", "Explains what a piece of code does."), ("review", "Reviews the changes in the workspace.")];

impl HostMethod for SkillList {
    fn serve(params: SkillListParams, call: &HostCall<'_>) -> Result<Reply<SkillListResult>, Refusal> {
        call.host.loaded(&params.session_id)?;
        let shelf = shelf(call.host);
        let rows: Vec<_> = catalogue(call.host, &shelf)
            .into_iter()
            .filter(|row| activation(&shelf, row["source"].as_str().unwrap_or_default(), selector_of(row)) != "off")
            .collect();
        Ok(Reply::Result(from_value(json!({ "skills": rows }))?))
    }
}

impl Command for SkillSetActivation {
    fn decide(
        params: SkillSetActivationParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<SkillSetActivationResult>, Refusal> {
        let held = shelf(ctx.host);
        let selector = params.selector.clone();
        if !catalogue(ctx.host, &held).iter().any(|row| row["selector"] == selector) {
            return Err(unknown(&selector));
        }
        let scope = params.scope.as_str();
        let previous = activation(&held, scope, &selector).to_owned();
        let (key, state) = (key(scope, &selector), params.activation.as_str().to_owned());
        let result = json!({
            "commandId": params.command_id, "status": "accepted", "selector": selector, "scope": scope,
            "activation": state, "previous": previous,
        });
        let changed = previous != state;
        let write = Effect::Do(Box::new(move |core: &mut Core| {
            put(&core.host, |shelf| shelf["activations"][key] = state.into());
        }));
        let mut decision = Decision::new(from_value(result)?).effect(write);
        if changed {
            decision = decision.effect(tell(&params.session_id));
        }
        Ok(decision)
    }
}

impl Command for SkillImport {
    fn decide(params: SkillImportParams, ctx: &mut Context<'_>) -> Result<Decision<SkillImportResult>, Refusal> {
        let source = params.source.as_str();
        let (dry_run, force) = (params.dry_run == Some(true), params.force == Some(true));
        let held = shelf(ctx.host);
        let imported = |id: &str| !held["imported"][id].is_null();
        let found = ctx.host.config.skill_folders.get(source).map(|folder| candidates(folder)).unwrap_or_default();
        let (mut installed, mut skipped, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (id, description) in found {
            match description {
                Err(reason) => failed.push(json!({ "id": id, "reason": reason })),
                Ok(_) if imported(&id) && !force => skipped.push(Value::from(id)),
                Ok(description) => installed.push((id, description)),
            }
        }
        let ids: Vec<_> = installed.iter().map(|(id, _)| id.clone()).collect();
        let result = json!({
            "commandId": params.command_id, "status": "accepted", "source": source, "dryRun": dry_run,
            "counts": { "installed": ids.len(), "skipped": skipped.len(), "failed": failed.len(), "quarantined": 0 },
            "installed": ids, "skipped": skipped, "failed": failed, "quarantined": [],
        });
        let decision = Decision::new(from_value(result)?);
        if dry_run || ids.is_empty() {
            return Ok(decision);
        }
        let write = Effect::Do(Box::new(move |core: &mut Core| {
            put(&core.host, |shelf| {
                for (id, description) in installed {
                    shelf["imported"][id] = description.into();
                }
            });
        }));
        Ok(decision.effect(write).effect(tell(&params.session_id)))
    }
}

fn tell(session_id: &str) -> Effect {
    Effect::Broadcast("skill/changed", json!({ "sessionId": session_id }))
}

/// Skills in a folder of another program, by name: the first line of text as description, or why there is none.
fn candidates(folder: &Path) -> Vec<(String, Result<String, String>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
        let id = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path().join("SKILL.md"));
        found.push((id, text.map(|text| describe(&text)).map_err(|error| format!("`SKILL.md`: {error}"))));
    }
    found.sort();
    found
}

fn describe(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("description:"));
    let line = line.or_else(|| text.lines().find(|line| !line.trim().is_empty()));
    line.unwrap_or_default().trim_matches(['#', ' ']).to_owned()
}

/// All skills, those that are off included.
fn catalogue(host: &Host, shelf: &Value) -> Vec<Value> {
    let row = |selector: &str, description: &str, source: &str| json!({ "selector": selector, "displayName": selector, "description": description, "source": source });
    let mut rows: Vec<_> =
        BUNDLED.iter().map(|(selector, description)| row(selector, description, "bundled")).collect();
    for (id, description) in shelf["imported"].as_object().into_iter().flatten() {
        rows.push(row(id, description.as_str().unwrap_or_default(), "user"));
    }
    for (plugin_id, skill) in plugin::skills(host) {
        let name = skill["id"].as_str().unwrap_or_default();
        let mut row = row(&format!("{plugin_id}:{name}"), skill["description"].as_str().unwrap_or_default(), "plugin");
        row["displayName"] = name.into();
        row["pluginId"] = plugin_id.into();
        rows.push(row);
    }
    rows
}

fn selector_of(row: &Value) -> &str {
    row["selector"].as_str().unwrap_or_default()
}

fn key(scope: &str, selector: &str) -> String {
    format!("{scope}/{selector}")
}

fn activation<'a>(shelf: &'a Value, scope: &str, selector: &str) -> &'a str {
    shelf["activations"][key(scope, selector)].as_str().unwrap_or("on")
}

fn shelf(host: &Host) -> Value {
    let shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    shelves.get("skill").cloned().unwrap_or_else(|| json!({}))
}

fn put(host: &Host, change: impl FnOnce(&mut Value)) {
    let mut shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    change(shelves.entry("skill").or_insert_with(|| json!({ "activations": {}, "imported": {} })));
}

fn unknown(selector: &str) -> Refusal {
    Refusal::new(errors::SKILL_NOT_FOUND, format!("no skill `{selector}`")).with("selector", selector)
}

/// Refuses a skill that is in no catalogue, or off (TURN-2).
///
/// # Errors
/// −32032.
pub fn check(host: &Host, selector: &str, source: Option<&SkillInvocationSource>) -> Result<(), Refusal> {
    let source = source.map(to_value).transpose()?;
    let shelf = shelf(host);
    let rows = catalogue(host, &shelf);
    let fits =
        |row: &&Value| selector_of(row) == selector && source.as_ref().is_none_or(|source| row["source"] == *source);
    let row = rows.iter().find(fits).ok_or_else(|| unknown(selector))?;
    if activation(&shelf, row["source"].as_str().unwrap_or_default(), selector) == "off" {
        return Err(unknown(selector));
    }
    Ok(())
}
