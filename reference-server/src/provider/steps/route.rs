//! The route to the model.
//!
//! - `routeUnserved {"provider"?, "model"?}`: a credential brought in a provider that does not serve the selected model; the
//!   selection stands (STATE-1). Simulated: no credential changes.
//!
//! Example: `routeUnserved {"provider":"other"}`

use msp_types::msp::notifications::SessionModelRouteUnserved;
use serde_json::json;

use super::{Args, Stage, Verb};
use crate::decision::{Draft, Stream};
use crate::session::Action;

pub(super) const VERBS: &[Verb] =
    &[Verb { name: "routeUnserved", members: &["provider", "model"], expand: route_unserved }];

fn route_unserved(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let installed = args.text("provider")?.unwrap_or_else(|| "another".to_owned());
    let model = args.text("model")?;
    args.end()?;
    let command_id = stage.submit.command_id.clone();
    Ok(vec![Action::With(Box::new(move |state, _| {
        let params = json!({
            "commandId": command_id, "installedProviderId": installed,
            "modelId": model.or_else(|| state.model_id()).unwrap_or_default(), "providerId": state.provider_id(),
        });
        vec![Draft::view::<SessionModelRouteUnserved>(Stream::Session, params)]
    }))])
}
