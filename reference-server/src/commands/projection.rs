//! Projections: `projection/list`, `projection/read` (experimental). There is one, `session`: the session as its log folds to it.

use msp_types::msp::methods::{ProjectionList, ProjectionRead};
use msp_types::msp::{ProjectionListParams, ProjectionListResult, ProjectionReadParams, ProjectionReadResult, errors};
use serde_json::json;

use super::{HostCall, HostMethod, Method, Reply, from_value, log, method};
use crate::refusal::Refusal;
use crate::state::Presence;

/// What this family has.
pub const METHODS: &[Method] = &[method::<ProjectionList>(), method::<ProjectionRead>()];

/// The projection that is the `Session` object, as it is when nothing is loaded.
const SESSION: &str = "session";

impl HostMethod for ProjectionList {
    fn serve(params: ProjectionListParams, call: &HostCall<'_>) -> Result<Reply<ProjectionListResult>, Refusal> {
        drop(call.host.readable(&params.session_id)?);
        let projections = json!([{ "name": SESSION, "experimental": true }]);
        Ok(Reply::Result(from_value(json!({ "projections": projections }))?))
    }
}

impl HostMethod for ProjectionRead {
    fn serve(params: ProjectionReadParams, call: &HostCall<'_>) -> Result<Reply<ProjectionReadResult>, Refusal> {
        let readable = call.host.readable(&params.session_id)?;
        if params.projection != SESSION {
            let message = format!("no projection `{}`", params.projection);
            let refusal = Refusal::new(errors::UNKNOWN_PROJECTION, message);
            return Err(refusal.with("projection", params.projection));
        }
        let held = readable.hold();
        let log = held.log().snapshot();
        let state = held.state().session(&call.host.shown_path(held.log()), Presence::NotLoaded);
        Ok(Reply::Later(Box::pin(async move {
            let streams = log::read_streams(&log).await?;
            let basis = json!({ "positions": streams.tails(), "recordCount": streams.record_count() });
            from_value(json!({ "projection": SESSION, "basis": basis, "state": state }))
        })))
    }
}
