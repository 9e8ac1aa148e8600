//! Reference server for MSP: a host that a client cannot tell from a correct one, small enough to read in an evening.
//!
//! ```text
//! transport ── lines in, frames out, over any AsyncRead and AsyncWrite
//!   └ connection ── envelope, handshake, gates (opt-in, capabilities), outbox
//!       └ commands ── the method table; one file per family
//!           ├ HostMethod: queries, and what makes or loads sessions ─ store, view
//!           └ Command: decide(params, state) ─ pure ─→ drafts, answer, effects
//!                └ session (a task each) ── log: append and sync → fold → answer → events
//!                     ├ run ── the provider's actions, one at a time
//!                     └ subscribers ── bounded, holes bracketed by view/gap
//! ```
//!
//! What holds: no answer and no durable event leaves before its records are synced; the state changes by folding records only;
//! clock, ids and randomness come from one [`mint`]; every decision, draft and frame passes the [`seam`].
//!
//! ```
//! use msp_reference_server::{Config, Host, serve};
//! use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let host = Host::new(Config::in_memory());
//! let (client, server) = tokio::io::duplex(64 * 1024);
//! let (input, output) = tokio::io::split(server);
//! let serving = tokio::spawn(async move { serve(&host, input, output).await });
//!
//! let (reader, mut writer) = tokio::io::split(client);
//! writer.write_all(br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"doc","version":"1"}}}"#).await?;
//! writer.write_all(b"\n").await?;
//! let mut line = String::new();
//! BufReader::new(reader).read_line(&mut line).await?;
//! assert!(line.contains(r#""experimentalApi":false"#));
//! writer.shutdown().await?; // the end of input lets the host go
//! serving.await?
//! # }
//! ```

pub mod approvals;
pub mod commands;
pub mod config;
pub mod connection;
pub mod cursor;
pub mod decision;
pub mod fold;
pub mod host;
pub mod inbox;
pub mod items;
pub mod log;
pub mod mint;
pub mod output;
pub mod provider;
pub mod record;
pub mod refusal;
pub mod seam;
pub mod session;
pub mod session_functions;
pub mod state;
pub mod store;
pub mod time;
pub mod transport;
pub mod turns;
pub mod user_inputs;
pub mod view;

pub use config::Config;
pub use host::Host;
pub use transport::serve;

/// Version of the server, as it reports it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Name of the server, as it reports it.
pub const NAME: &str = "msp-reference-server";
