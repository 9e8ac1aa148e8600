//! Settings of a host: fixed at its start, never on the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::provider::Script;

/// Bytes of a frame, without its line feed, that are taken and sent (FRAME-8).
pub const FRAME_LIMIT: usize = 10 * 1024 * 1024;

/// Settings of a host.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "switches that have nothing to do with each other")]
pub struct Config {
    /// Where sessions are kept; `None` keeps them in memory: the ephemeral profile (EPH).
    pub sessions_dir: Option<PathBuf>,
    /// What the provider plays; without one it echoes.
    pub script: Script,
    /// Makes a run repeat itself byte by byte.
    pub seed: Option<u64>,
    /// Longest frame, in bytes.
    pub frame_limit: usize,
    /// `schema.fingerprint` of the handshake.
    pub fingerprint: String,
    /// Whether `session/userShell` runs anything.
    pub shell: bool,
    /// Capabilities that no client gets, whatever it asks for (CAP-1).
    pub withheld: BTreeSet<String>,
    /// Whether workspaces count as trusted.
    pub trust_workspace: bool,
    /// Approval mode of new sessions, and the ceiling of changes (APPR-25).
    pub approval_mode: String,
    /// Commands of one session that may wait (LIM-9).
    pub command_capacity: usize,
    /// After how long without anybody and anything to do a session is let go, in milliseconds (SESS-12).
    pub idle_ms: u64,
    /// Frames that wait for a slow reader from which on its requests are refused as overloaded (BP-2); `None` never refuses, but
    /// reads no further requests while twice [`Self::outbox_frames`] wait.
    pub overload_at: Option<usize>,
    /// Records behind the newest one whose events the view still serves; `None` serves all that the log has (EPH-5).
    pub retained_records: Option<u64>,
    /// Frames that may wait for a slow reader before events are dropped behind a gap.
    pub outbox_frames: usize,
    /// Bytes that may wait for a slow reader before events are dropped behind a gap.
    pub outbox_bytes: usize,
    /// Model of new sessions.
    pub model_id: String,
    /// Its provider.
    pub provider_id: String,
    /// Where other programs keep skills that can be imported, by the name of the program.
    pub skill_folders: BTreeMap<String, PathBuf>,
    /// Whether clients may change plugins and marketplaces.
    pub plugin_changes: bool,
    /// Whether computer use is there, in the simulated form of this host.
    pub computer_use: bool,
}

impl Config {
    /// A host without files, for tests and for those who embed one.
    pub fn in_memory() -> Self {
        Self {
            sessions_dir: None,
            script: Script::default(),
            seed: None,
            frame_limit: FRAME_LIMIT,
            fingerprint: msp_schema::published::manifest(msp_schema::Surface::Stable).fingerprint,
            shell: true,
            withheld: BTreeSet::new(),
            trust_workspace: false,
            approval_mode: "promptUnmatched".to_owned(),
            command_capacity: 64,
            idle_ms: 600_000,
            overload_at: None,
            retained_records: None,
            outbox_frames: 4096,
            outbox_bytes: 8 * 1024 * 1024,
            model_id: "scripted-1".to_owned(),
            provider_id: "scripted".to_owned(),
            skill_folders: BTreeMap::new(),
            plugin_changes: true,
            computer_use: true,
        }
    }

    /// A host that keeps its sessions in a folder.
    pub fn durable(sessions_dir: PathBuf) -> Self {
        Self { sessions_dir: Some(sessions_dir), ..Self::in_memory() }
    }
}
