//! `session/resume`: loads or attaches, brings the history, then what is missed and what is asked again (RES).

use msp_types::msp::methods::SessionResume;
use msp_types::msp::{HistoryPreference, SessionResumeParams, SessionResumeResult};
use msp_types::{Call as _, Presence as Given};
use serde_json::Value;

use super::birth::{find_position, load};
use super::mcp_servers;
use crate::commands::{HostCall, HostMethod, Reply, permission_profile, to_value};
use crate::decision::Draft;
use crate::record::{Answer, Body, Intake};
use crate::refusal::Refusal;
use crate::session::{Core, digest};
use crate::view::history::{self, Wanted};
use crate::view::retention;

impl HostMethod for SessionResume {
    fn serve(params: SessionResumeParams, call: &HostCall<'_>) -> Result<Reply<SessionResumeResult>, Refusal> {
        let host = call.host;
        let config = params.config.as_ref().map(to_value).transpose()?;
        mcp_servers::check(config.as_ref())?;
        let rejected = |refusal: Refusal| {
            if refusal.is_rejection() { refusal.of_command(Self::NAME, &params.command_id) } else { refusal }
        };
        permission_profile::check(params.permission_profile.as_deref(), host.is_durable()).map_err(rejected)?;
        let recovery_mode = params.recovery_mode.as_ref().map(|mode| mode.as_str().to_owned());
        let warm = host.find_loaded(&params.session_id);
        match (&warm, &params.cursor) {
            (Some(loaded), _) => check_recovery(&loaded.core(), recovery_mode.as_deref())?,
            // A cursor that the session never gave out must not load it (RES-9).
            (None, Given::Value(cursor)) => drop(find_position(&host.store.read(&params.session_id)?.state, cursor)?),
            (None, _) => {}
        }
        let name = &call.caller.handshake.client_name;
        let loaded = load(host, &params.session_id, Some(name), recovery_mode)?;
        let mut core = loaded.core();
        let digest = digest(&to_value(&params)?);
        if let Some(result) = replay(&core, &params, &digest)? {
            let head = core.state.head;
            core.attach(&call.caller.connection, head);
            call.caller.connection.respond_to(Self::NAME, call.id, &mut result.clone(), &call.caller.handshake);
            core.ask_again(&call.caller.connection);
            return Ok(Reply::Sent);
        }
        let cursor = match &params.cursor {
            Given::Value(cursor) => find_position(&core.state, cursor)?,
            _ => None,
        };
        let earliest = retention::earliest(host, &core.state, &core.log)?;
        if let (Given::Value(named), Some(place)) = (&params.cursor, cursor)
            && core.state.compaction_anchor(named).is_some()
        {
            retention::check(host, &core.state, &core.log, place, named)?; // no snapshot stands in for a boundary (RES-8)
        }
        let is_stale = cursor.is_some_and(|cursor| earliest.is_some_and(|earliest| cursor < earliest));
        let cursor = cursor.filter(|_| !is_stale);
        let result = if is_stale {
            // What the cursor would have brought is served as a snapshot, or not at all (RES-8).
            let rebuilt = answer(&core, &stale(&params), false, host.config.frame_limit);
            if rebuilt["history"]["mode"] == "none" {
                return Err(retention::truncated(&core.state, earliest));
            }
            rebuilt
        } else {
            answer(&core, &params, cursor.is_some(), host.config.frame_limit)
        };
        if warm.is_none() {
            core.commit(config.into_iter().map(|config| Draft::fact("config", config)).collect())?;
            remember(&mut core, &params, digest, &result)?;
        }
        let head = core.state.head;
        call.caller.connection.respond_to(Self::NAME, call.id, &mut result.clone(), &call.caller.handshake);
        core.attach(&call.caller.connection, cursor.unwrap_or(head));
        if let Some(cursor) = cursor {
            core.replay(&call.caller.connection, cursor);
        }
        core.ask_again(&call.caller.connection);
        Ok(Reply::Sent)
    }
}

/// The same resume without its cursor, which is too old.
fn stale(params: &SessionResumeParams) -> SessionResumeParams {
    let mut params = params.clone();
    params.history = Some(HistoryPreference::Snapshot);
    params.exclude_items = None;
    params.cursor = Given::default();
    params
}

/// A warm attach cannot change the recovery choice (RES-20).
fn check_recovery(core: &Core, wanted: Option<&str>) -> Result<(), Refusal> {
    match wanted {
        Some(wanted) if core.state.header.recovery_mode.as_deref() != Some(wanted) => {
            Err(Refusal::invalid_params("`recoveryMode` differs from that of the loaded session"))
        }
        _ => Ok(()),
    }
}

fn replay(core: &Core, params: &SessionResumeParams, digest: &str) -> Result<Option<Value>, Refusal> {
    let Some(intake) = core.state.ledger.get(&params.command_id) else { return Ok(None) };
    if intake.method != SessionResume::NAME || intake.digest != digest {
        let message = format!("command id `{}` was used for another command", params.command_id);
        return Err(Refusal::rejected("command_id_conflict", message).with("commandId", params.command_id.as_str()));
    }
    match &intake.answer {
        Answer::Result(result) => Ok(Some(result.clone())),
        Answer::Error(_) => Ok(None),
    }
}

/// Keeps the answer of a load, without a history that the log has anyway: a replay right after it reads it anew.
fn remember(core: &mut Core, params: &SessionResumeParams, digest: String, result: &Value) -> Result<(), Refusal> {
    if result.to_string().len() > 64 * 1024 {
        return Ok(()); // attaching again appends nothing and gives the same answer (RES-10)
    }
    let intake = Intake {
        command_id: params.command_id.clone(),
        method: SessionResume::NAME.to_owned(),
        digest,
        answer: Answer::Result(result.clone()),
        settled: true,
    };
    core.commit(vec![Draft::silent(Body::Command(intake))]).map(drop)
}

fn answer(core: &Core, params: &SessionResumeParams, by_cursor: bool, frame_limit: usize) -> Value {
    let history = if by_cursor {
        history::none("cursorSuffix")
    } else {
        let preference = params.history.clone().unwrap_or(HistoryPreference::Auto);
        history::history(&core.state, &Wanted { preference, excluded: params.exclude_items == Some(true), frame_limit })
    };
    let mut envelope = history::envelope(&core.state, history);
    envelope.insert("session".to_owned(), core.session());
    Value::Object(envelope)
}
