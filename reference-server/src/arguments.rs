//! The arguments, and the settings that they make.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use msp_reference_server::Config;
use msp_reference_server::provider::Script;

use crate::session_command::Session;

/// Reference server for MSP: a deterministic host to develop and test clients against.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve MSP on stdin and stdout until stdin ends.
    Serve(Box<Serve>),
    /// Serve the `session::*` functions.
    Session(Box<Session>),
}

/// Settings of the host.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches that have nothing to do with each other")]
pub(crate) struct Serve {
    /// Keep sessions in this folder [default: the user's data directory].
    #[arg(long, value_name = "DIR")]
    sessions_dir: Option<PathBuf>,
    /// Keep nothing: sessions live in memory (the ephemeral profile).
    #[arg(long, conflicts_with = "sessions_dir")]
    no_session_log: bool,
    /// Play this script instead of echoing prompts.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Make ids, clock and provider repeat themselves.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Longest frame, without its line feed.
    #[arg(long, value_name = "BYTES", default_value_t = 10 * 1024 * 1024)]
    frame_limit: usize,
    /// Report this schema fingerprint.
    #[arg(long, value_name = "SHA256")]
    fingerprint: Option<String>,
    /// Approval mode of new sessions, and the ceiling of changes.
    #[arg(long, value_name = "MODE", default_value = "promptUnmatched")]
    #[arg(value_parser = ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"])]
    approval_mode: String,
    /// Accept `session/userShell`, and reject what it asks for.
    #[arg(long)]
    disable_shell: bool,
    /// Grant this capability to nobody; may be given more than once.
    #[arg(long, value_name = "CAPABILITY")]
    withhold: Vec<String>,
    /// Refuse changes to plugins and marketplaces, as a managed host does.
    #[arg(long)]
    lock_plugins: bool,
    /// Be a host without computer use.
    #[arg(long)]
    disable_computer_use: bool,
    /// Refuse requests as overloaded while so many frames wait to be read [default: read no more requests instead].
    #[arg(long, value_name = "FRAMES")]
    overload_at: Option<usize>,
    /// Let the view serve the events of so many records only [default: all that the log has].
    #[arg(long, value_name = "N")]
    retained_records: Option<u64>,
    /// Take workspaces as trusted.
    #[arg(long)]
    trust_workspace: bool,
}

impl Serve {
    /// The settings.
    ///
    /// # Errors
    /// A text for the user: no place for sessions, or a script that cannot be read.
    pub(crate) fn config(self) -> Result<Config, String> {
        let mut config = match (self.no_session_log, self.sessions_dir) {
            (true, _) => Config::in_memory(),
            (false, Some(dir)) => Config::durable(dir),
            (false, None) => {
                Config::durable(default_dir().ok_or("no home directory: give `--sessions-dir` or `--no-session-log`")?)
            }
        };
        if let Some(path) = self.script {
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("script `{}`: {error}", path.display()))?;
            config.script = Script::parse(&text).map_err(|error| format!("script `{}`: {error}", path.display()))?;
        }
        config.seed = self.seed;
        config.frame_limit = self.frame_limit;
        config.approval_mode = self.approval_mode;
        config.shell = !self.disable_shell;
        config.withheld = self.withhold.into_iter().collect();
        config.plugin_changes = !self.lock_plugins;
        config.computer_use = !self.disable_computer_use;
        config.skill_folders = skill_folders();
        config.overload_at = self.overload_at;
        config.retained_records = self.retained_records;
        config.trust_workspace = self.trust_workspace;
        if let Some(fingerprint) = self.fingerprint {
            config.fingerprint = fingerprint;
        }
        Ok(config)
    }
}

/// Where other programs keep their skills.
fn skill_folders() -> BTreeMap<String, PathBuf> {
    let home = std::env::home_dir();
    let codex = std::env::var_os("CODEX_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let codex = codex.or_else(|| home.as_ref().map(|home| home.join(".codex")));
    let claude = home.map(|home| home.join(".claude"));
    let all = [("claude", claude), ("codex", codex)];
    all.into_iter().filter_map(|(name, folder)| Some((name.to_owned(), folder?.join("skills")))).collect()
}

fn default_dir() -> Option<PathBuf> {
    data_folder("sessions")
}

/// A folder in the user's data directory, below one of our own name.
pub(crate) fn data_folder(name: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")))
    };
    data.map(|data| data.join("msp-reference-server").join(name))
}
