//! Peers: `peer/list` (experimental). The peers of a session are the other sessions that this host has loaded.

use msp_types::msp::methods::PeerList;
use msp_types::msp::{PeerListParams, PeerListResult, PeerRow, PeerStatus};
use serde_json::Value;

use super::{HostCall, HostMethod, Method, Reply, method};
use crate::refusal::Refusal;
use crate::session::Loaded;

/// What this family has.
pub const METHODS: &[Method] = &[method::<PeerList>()];

impl HostMethod for PeerList {
    fn serve(params: PeerListParams, call: &HostCall<'_>) -> Result<Reply<PeerListResult>, Refusal> {
        if let Some(member) = params.unknown.keys().next() {
            return Err(Refusal::invalid_params(format!("unknown member `{member}`"))); // EXP-8
        }
        drop(call.host.readable(&params.session_id)?);
        let sessions = call.host.sessions(); // by id
        let peers = sessions.iter().filter(|peer| peer.id != params.session_id).map(|peer| row(peer)).collect();
        Ok(Reply::Result(PeerListResult::new(peers, params.session_id)))
    }
}

fn row(peer: &Loaded) -> PeerRow {
    let core = peer.core();
    let name = core.state.value("session/nameChanged", "name").and_then(Value::as_str).map(str::to_owned);
    let label = name.clone().unwrap_or_else(|| peer.id.clone());
    let status = if core.state.is_running() { PeerStatus::Busy } else { PeerStatus::Idle };
    // It lives in this process, so it is seen now.
    PeerRow::new(true, label, 0, peer.id.clone(), name, status)
}
