//! Marketplaces: where plugins come from.

use std::path::{Path, PathBuf};

use msp_types::msp::errors;
use msp_types::msp::methods::{PluginMarketplaceAdd, PluginMarketplaceRemove, PluginMarketplaceUpdate};
use msp_types::msp::{
    CommandStatus, PluginMarketplaceAddParams, PluginMarketplaceRecordResult, PluginMarketplaceRemoveParams,
    PluginMarketplaceRemoveResult, PluginMarketplaceUpdateParams,
};
use serde_json::{Value, json};

use super::{change, manifest, may_change, record, shelf};
use crate::commands::{Command, from_value};
use crate::decision::{Context, Decision, Effect};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::session::Core;

/// What a host begins with.
pub(super) fn fresh() -> Value {
    let hello = json!({
        "name": "hello", "version": "1.0.0", "hooks": [{ "key": "greet", "event": "sessionStart" }],
        "skills": [{ "id": "greet", "description": "Says hello." }],
    });
    let official = json!({
        "source": { "kind": "builtIn", "path": "official" }, "plugins": [record(&hello, "curated")], "skipped": [],
    });
    json!({ "installed": {}, "marketplaces": { "official": official } })
}

impl Command for PluginMarketplaceAdd {
    fn decide(
        params: PluginMarketplaceAddParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<PluginMarketplaceRecordResult>, Refusal> {
        let (session_id, name) = (params.session_id, params.name);
        if name.is_empty() || params.source.is_empty() {
            return Err(Refusal::invalid_params("`name` or `source` is empty"));
        }
        may_change(ctx.host, &session_id)?;
        if find(ctx.host, &name).is_some() {
            let refusal = Refusal::new(errors::MARKETPLACE_ALREADY_EXISTS, format!("a marketplace `{name}` exists"));
            return Err(refusal.with("sessionId", session_id).with("name", name));
        }
        stored(&params.command_id, &session_id, &name, "added", read(&source(&params.source))?)
    }
}

impl Command for PluginMarketplaceUpdate {
    fn decide(
        params: PluginMarketplaceUpdateParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<PluginMarketplaceRecordResult>, Refusal> {
        may_change(ctx.host, &params.session_id)?;
        let held = known(ctx.host, &params.session_id, &params.name)?;
        let market = if held["source"]["kind"] == "builtIn" { held } else { read(&held["source"])? };
        stored(&params.command_id, &params.session_id, &params.name, "updated", market)
    }
}

impl Command for PluginMarketplaceRemove {
    fn decide(
        params: PluginMarketplaceRemoveParams,
        ctx: &mut Context<'_>,
    ) -> Result<Decision<PluginMarketplaceRemoveResult>, Refusal> {
        may_change(ctx.host, &params.session_id)?;
        known(ctx.host, &params.session_id, &params.name)?;
        let note = json!({ "sessionId": params.session_id, "name": params.name, "change": "removed" });
        let name = params.name.clone();
        let write = Effect::Do(Box::new(move |core: &mut Core| {
            change(&core.host, |shelf| {
                if let Some(all) = shelf["marketplaces"].as_object_mut() {
                    all.remove(&name);
                }
            });
        }));
        let result = PluginMarketplaceRemoveResult::new(params.command_id, params.name, CommandStatus::Accepted);
        Ok(Decision::new(result).effect(write).effect(Effect::Broadcast("plugin/marketplaceChanged", note)))
    }
}

/// Stores a marketplace as it is now, answers with it, and tells.
fn stored(
    command_id: &str,
    session_id: &str,
    name: &str,
    what: &str,
    market: Value,
) -> Result<Decision<PluginMarketplaceRecordResult>, Refusal> {
    let count = |member: &str| market[member].as_array().map_or(0, Vec::len);
    let result = json!({
        "commandId": command_id, "status": "accepted", "name": name, "source": market["source"],
        "pluginCount": count("plugins"), "skipped": market["skipped"],
    });
    let note = json!({
        "sessionId": session_id, "name": name, "change": what,
        "pluginCount": count("plugins"), "skippedCount": count("skipped"),
    });
    let name = name.to_owned();
    let write = Effect::Do(Box::new(move |core: &mut Core| {
        change(&core.host, |shelf| shelf["marketplaces"][name] = market);
    }));
    Ok(Decision::new(from_value(result)?).effect(write).effect(Effect::Broadcast("plugin/marketplaceChanged", note)))
}

/// A plugin that a marketplace offers.
pub(super) fn offered(host: &Host, session_id: &str, marketplace: &str, name: &str) -> Result<Value, Refusal> {
    let market = known(host, session_id, marketplace)?;
    let plugin = market["plugins"].as_array().into_iter().flatten().find(|plugin| plugin["id"] == name).cloned();
    plugin.ok_or_else(|| {
        Refusal::new(errors::PLUGIN_NOT_FOUND, format!("no plugin `{name}` in marketplace `{marketplace}`"))
            .with("sessionId", session_id)
            .with("marketplace", marketplace)
            .with("name", name)
    })
}

fn find(host: &Host, name: &str) -> Option<Value> {
    shelf(host)["marketplaces"].get(name).cloned()
}

fn known(host: &Host, session_id: &str, name: &str) -> Result<Value, Refusal> {
    find(host, name).ok_or_else(|| {
        let refusal = Refusal::new(errors::MARKETPLACE_NOT_FOUND, format!("no marketplace `{name}`"));
        refusal.with("sessionId", session_id).with("name", name)
    })
}

/// A source in the form in which it is stored.
fn source(text: &str) -> Value {
    if let Some(path) = text.strip_prefix("file://") {
        return json!({ "kind": "path", "path": path });
    }
    let is_path = text.starts_with(['/', '.', '~']) || Path::new(text).is_absolute();
    let kind = if is_path {
        "path"
    } else if text.contains("://") || text.starts_with("git@") {
        "git"
    } else if text.split('/').count() == 2 {
        "github"
    } else {
        "path"
    };
    json!({ "kind": kind, "path": text })
}

/// What a source offers.
fn read(source: &Value) -> Result<Value, Refusal> {
    if source["kind"] != "path" {
        let sample = record(&json!({ "name": "sample", "version": "0.1.0" }), "marketplaceUserAdded");
        return Ok(json!({ "source": source, "plugins": [sample], "skipped": [] }));
    }
    let folder = PathBuf::from(source["path"].as_str().unwrap_or_default());
    let entries = std::fs::read_dir(&folder)
        .map_err(|error| Refusal::rejected("invalid_target", format!("`{}`: {error}", folder.display())))?;
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let (mut plugins, mut skipped) = (Vec::new(), Vec::new());
    for folder in folders {
        match manifest(&folder) {
            Ok(manifest) => plugins.push(record(&manifest, "marketplaceUserAdded")),
            Err(reason) => {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                skipped.push(json!({ "plugin": name, "reason": reason }));
            }
        }
    }
    Ok(json!({ "source": source, "plugins": plugins, "skipped": skipped }))
}
