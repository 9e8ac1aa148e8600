//! Models: `model/list` (MODEL-1). The catalogue is built in and says so (`fakeCatalog`): the models of the scripted provider.

use msp_types::msp::methods::ModelList;
use msp_types::msp::{ModelListParams, ModelListResult};
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, from_value, method};
use crate::config::Config;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[method::<ModelList>()];

/// Id, label, release date, context limit, reasoning efforts; the newest first.
const BUILT_IN: &[(&str, &str, &str, i64, &[&str])] = &[
    ("scripted-2", "Scripted 2", "2026-02-01", 400_000, &["low", "medium", "high"]),
    ("scripted-1", "Scripted 1", "2025-06-01", 200_000, &["low", "high"]),
    ("scripted-mini", "Scripted mini", "2025-01-15", 32_000, &[]),
];

impl HostMethod for ModelList {
    fn serve(params: ModelListParams, call: &HostCall<'_>) -> Result<Reply<ModelListResult>, Refusal> {
        let config = &call.host.config;
        let active = match &params.session_id {
            None => None,
            Some(session_id) => {
                let session = call.host.loaded(session_id)?;
                let core = session.core();
                core.state.model_id().map(|model| (model, core.state.provider_id()))
            }
        };
        let models: Vec<_> = catalogue(config)
            .into_iter()
            .map(|mut row| {
                let is_active = active.as_ref().is_some_and(|(model, provider)| {
                    row["modelId"] == *model && provider.as_ref().is_none_or(|provider| row["providerId"] == *provider)
                });
                row["isActive"] = is_active.into();
                row
            })
            .collect();
        Ok(Reply::Result(from_value(json!({
            "models": models, "profileId": null, "providerId": config.provider_id, "source": "fakeCatalog",
        }))?))
    }
}

/// The rows, without what depends on a session; the host's own model is among them whatever it is called.
fn catalogue(config: &Config) -> Vec<Value> {
    let mut rows: Vec<_> = BUILT_IN
        .iter()
        .map(|(id, label, released, context, efforts)| {
            let mut row = row(config, id, label);
            row["releaseDate"] = (*released).into();
            row["contextLimit"] = (*context).into();
            row["outputLimit"] = (context / 8).into();
            row["cost"] = json!({ "input": "1.25", "output": "10.00", "cached": "0.125", "currency": "USD" });
            row["variants"] = json!(efforts);
            row["reasoningEffortVariants"] = efforts.iter().map(|effort| json!({ "tier": effort })).collect();
            if let Some(effort) = efforts.last() {
                row["defaultReasoningEffort"] = (*effort).into();
            }
            row
        })
        .collect();
    if !rows.iter().any(|row| row["modelId"] == config.model_id) {
        rows.push(row(config, &config.model_id, &config.model_id)); // undated, so the last one
    }
    rows
}

fn row(config: &Config, id: &str, label: &str) -> Value {
    json!({
        "modelId": id, "displayLabel": label, "providerId": config.provider_id, "profileId": null,
        "isActive": false, "isDefault": id == config.model_id, "releaseDate": null, "contextLimit": null,
        "outputLimit": null, "cost": null, "description": null, "variants": "unknown",
    })
}

/// Whether a text can name a model (MODEL-2). The list does not decide: hidden models are not in it, and the script plays any.
pub fn is_name(model_id: &str) -> bool {
    !model_id.contains(|character: char| character.is_whitespace() || character.is_control())
}
