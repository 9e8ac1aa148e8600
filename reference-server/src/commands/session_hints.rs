//! `session/promptHint` and `session/reportStartupPhases` (experimental).
//!
//! The hint is simulated: the first candidate fits. A report is written into the session's log, once per nonce.

use msp_types::msp::methods::{SessionPromptHint, SessionReportStartupPhases};
use msp_types::msp::{
    SessionPromptHintParams, SessionPromptHintResult, SessionReportStartupPhase, SessionReportStartupPhasesParams,
    SessionReportStartupPhasesResult,
};
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, method, to_value};
use crate::decision::Draft;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[method::<SessionPromptHint>(), method::<SessionReportStartupPhases>()];

/// Name of the fact: `{nonces, phases}`, all nonces so far and the newest report.
const FACT: &str = "startupPhases";

impl HostMethod for SessionPromptHint {
    fn serve(params: SessionPromptHintParams, call: &HostCall<'_>) -> Result<Reply<SessionPromptHintResult>, Refusal> {
        drop(call.host.readable(&params.session_id)?);
        let mut result = SessionPromptHintResult::new();
        result.hint_id = params.candidates.into_iter().next().map(|candidate| candidate.id);
        Ok(Reply::Result(result))
    }
}

impl HostMethod for SessionReportStartupPhases {
    fn serve(
        params: SessionReportStartupPhasesParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<SessionReportStartupPhasesResult>, Refusal> {
        let nonce = normal(&params.launch_nonce)?;
        let mut phases = params.phases;
        for span in &mut phases {
            if span.phase != SessionReportStartupPhase::TerminalProbe {
                span.color_provenance = None;
            }
            span.unknown.clear();
        }
        let loaded = call.host.loaded(&params.session_id)?;
        let mut core = loaded.core();
        let mut nonces =
            core.state.facts.get(FACT).and_then(|fact| fact["nonces"].as_array()).cloned().unwrap_or_default();
        if nonces.iter().any(|seen| *seen == nonce) {
            return Ok(Reply::Result(SessionReportStartupPhasesResult::new(false)));
        }
        nonces.push(Value::from(nonce));
        let fact = json!({ "nonces": nonces, "phases": to_value(&phases)? });
        core.commit(vec![Draft::fact(FACT, fact)])?;
        Ok(Reply::Result(SessionReportStartupPhasesResult::new(true)))
    }
}

/// The digits of a UUID in any textual form: with hyphens or without, in braces, as a URN.
fn normal(nonce: &str) -> Result<String, Refusal> {
    let text = nonce.to_ascii_lowercase();
    let text = text.strip_prefix("urn:uuid:").unwrap_or(&text);
    let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let hyphens: Vec<_> = text.match_indices('-').map(|(at, _)| at).collect();
    let digits = text.replace('-', "");
    let whole = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if whole && (hyphens.is_empty() || hyphens == [8, 13, 18, 23]) {
        Ok(digits)
    } else {
        Err(Refusal::invalid_params("`launchNonce` is no UUID"))
    }
}
