//! Plugins: `plugin/list`, `install`, `marketplaceAdd`, `marketplaceRemove`, `marketplaceUpdate`, and their notes (MISC-5).
//!
//! Marketplaces and plugins on this machine are read for real: a marketplace is a folder of folders, each with a `plugin.json`
//! (`name`, `version`, `hooks` of `key` and `event`, `skills` of `id` and `description`). Nothing of them is run. Simulated: the
//! built-in marketplace `official`, and every marketplace elsewhere, which nobody asks and which offers one plugin `sample`.
//! All of it is kept for the life of the host.

mod market;

use std::path::Path;
use std::sync::PoisonError;

use msp_types::msp::errors;
use msp_types::msp::methods::{
    PluginInstall, PluginList, PluginMarketplaceAdd, PluginMarketplaceRemove, PluginMarketplaceUpdate,
};
use msp_types::msp::{PluginInstallParams, PluginInstallResult, PluginListParams, PluginListResult};
use serde_json::{Value, json};

use super::{Command, HostCall, HostMethod, Method, Reply, command, from_value, method};
use crate::decision::{Context, Decision, Effect};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::session::Core;

/// What this family has.
pub const METHODS: &[Method] = &[
    method::<PluginList>(),
    command::<PluginInstall>(),
    command::<PluginMarketplaceAdd>(),
    command::<PluginMarketplaceRemove>(),
    command::<PluginMarketplaceUpdate>(),
];

impl HostMethod for PluginList {
    fn serve(params: PluginListParams, call: &HostCall<'_>) -> Result<Reply<PluginListResult>, Refusal> {
        call.host.loaded(&params.session_id)?;
        let rows: Vec<_> = installed(call.host)
            .iter()
            .map(|plugin| {
                json!({
                    "id": plugin["id"], "version": plugin["version"], "source": plugin["source"],
                    "enabled": plugin["enabled"],
                })
            })
            .collect();
        Ok(Reply::Result(from_value(json!({ "plugins": rows }))?))
    }
}

impl Command for PluginInstall {
    fn decide(params: PluginInstallParams, ctx: &mut Context<'_>) -> Result<Decision<PluginInstallResult>, Refusal> {
        let session_id = params.session_id.as_str();
        let (plugin, warning) = match (&params.target.marketplace, &params.target.local_path) {
            (Some(target), None) => {
                may_change(ctx.host, session_id)?;
                (market::offered(ctx.host, session_id, &target.marketplace, &target.name)?, None)
            }
            (None, Some(target)) => {
                may_change(ctx.host, session_id)?;
                local(Path::new(&target.path))?
            }
            _ => return Err(Refusal::invalid_params("`target` has exactly one of `marketplace` and `localPath`")),
        };
        let mut note = json!({
            "id": plugin["id"], "version": plugin["version"], "source": plugin["source"], "enabled": true,
        });
        let mut result = note.clone();
        result["commandId"] = params.command_id.into();
        result["status"] = "accepted".into();
        if let Some(warning) = warning {
            result["warning"] = warning.into();
        }
        note["sessionId"] = session_id.into();
        let write = Effect::Do(Box::new(move |core: &mut Core| {
            change(&core.host, |shelf| {
                let mut plugin = plugin;
                plugin["enabled"] = true.into();
                let id = plugin["id"].as_str().unwrap_or_default().to_owned();
                shelf["installed"][id] = plugin;
            });
        }));
        Ok(Decision::new(from_value(result)?).effect(write).effect(Effect::Broadcast("plugin/changed", note)))
    }
}

/// A plugin in a folder, and what to say about it.
fn local(folder: &Path) -> Result<(Value, Option<String>), Refusal> {
    if !folder.is_dir() {
        return Err(Refusal::rejected("invalid_target", format!("`{}` is no folder", folder.display())));
    }
    if folder.join("plugin.json").exists() {
        let manifest = manifest(folder).map_err(|reason| Refusal::rejected("invalid_target", reason))?;
        return Ok((record(&manifest, "nativeLocal"), None));
    }
    let name = folder.file_name().map_or_else(|| "plugin".into(), |name| name.to_string_lossy());
    let plugin = record(&json!({ "name": name, "version": "0.0.0" }), "nativeLocal");
    Ok((plugin, Some("the folder has no `plugin.json`: the plugin contributes nothing".to_owned())))
}

/// The manifest of a plugin, or why it cannot be offered.
fn manifest(folder: &Path) -> Result<Value, String> {
    let text =
        std::fs::read_to_string(folder.join("plugin.json")).map_err(|error| format!("`plugin.json`: {error}"))?;
    let manifest: Value = serde_json::from_str(&text).map_err(|error| format!("`plugin.json`: {error}"))?;
    let named = ["name", "version"].iter().all(|member| manifest[member].as_str().is_some_and(|text| !text.is_empty()));
    if named { Ok(manifest) } else { Err("`plugin.json` lacks `name` or `version`".to_owned()) }
}

/// What is kept of a plugin.
fn record(manifest: &Value, source: &str) -> Value {
    json!({
        "id": manifest["name"], "version": manifest["version"], "source": source,
        "hooks": manifest["hooks"], "skills": manifest["skills"],
    })
}

fn may_change(host: &Host, session_id: &str) -> Result<(), Refusal> {
    if host.config.plugin_changes {
        return Ok(());
    }
    Err(Refusal::new(errors::PLUGIN_MUTATIONS_DISABLED, "plugins of this host are managed")
        .with("sessionId", session_id))
}

/// Plugins that are installed, by id.
fn installed(host: &Host) -> Vec<Value> {
    shelf(host)["installed"].as_object().map(|all| all.values().cloned().collect()).unwrap_or_default()
}

/// Skills of installed plugins that have an id, each with its plugin.
pub fn skills(host: &Host) -> Vec<(String, Value)> {
    contributed(host, "skills", "id")
}

/// Hooks of installed plugins that have a key, each with its plugin.
pub fn hooks(host: &Host) -> Vec<(String, Value)> {
    contributed(host, "hooks", "key")
}

fn contributed(host: &Host, what: &str, name: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for plugin in installed(host) {
        let id = plugin["id"].as_str().unwrap_or_default();
        let named = plugin[what].as_array().into_iter().flatten().filter(|entry| entry[name].is_string());
        all.extend(named.map(|entry| (id.to_owned(), entry.clone())));
    }
    all
}

fn shelf(host: &Host) -> Value {
    let shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    shelves.get("plugin").cloned().unwrap_or_else(market::fresh)
}

fn change(host: &Host, change: impl FnOnce(&mut Value)) {
    let mut shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    change(shelves.entry("plugin").or_insert_with(market::fresh));
}
