//! The seam: the few places that every decision, every draft and every outgoing frame passes. By default nothing happens there; a
//! deliberate fault (`--fault`) changes what passes, so that no command needs to know of faults.

use serde_json::Value;

use crate::decision::{Decision, Draft};
use crate::refusal::Refusal;
use crate::state::State;

/// What may be changed on its way. All methods do nothing unless overridden.
pub trait Seam: Send + std::fmt::Debug {
    /// A command was decided, and nothing is written yet.
    fn decision(&mut self, method: &str, state: &State, decision: &mut Result<Decision, Refusal>) {
        let _ = (method, state, decision);
    }

    /// Drafts are about to be numbered and written.
    fn drafts(&mut self, state: &State, drafts: &mut Vec<Draft>) {
        let _ = (state, drafts);
    }

    /// A request that needs no session was answered.
    fn answer(&mut self, method: &str, answer: &mut Result<Value, Refusal>) {
        let _ = (method, answer);
    }

    /// A frame is about to be written; `None` drops it.
    fn frame(&mut self, frame: Value) -> Option<Value> {
        Some(frame)
    }

    /// The bytes of a frame, line feed included, are about to be queued.
    fn bytes(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    /// A frame came in, before anything looks at it; `None` ignores it.
    fn incoming(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        Some(line)
    }
}

/// The seam of a host that behaves.
#[derive(Debug)]
pub struct Honest;

impl Seam for Honest {}
