//! Tests of the server over pipes in memory: raw frames in, raw frames out, every outgoing frame judged against the schema.
//!
//! - `peer`: the client that the tests are written with.
//! - `bounds`, `long_session`: what a long session costs to read.
//! - `connection`: framing, envelope, handshake, gates, errors.
//! - `session_bridge`: an instance whose records are in another one.
//! - `session_cases`: the `session::*` functions over case files.
//! - `session_stdio`: the same over the pipes of the program.
//! - `session_files`: the file of the `fs` store under damage, reload of the configuration.
//! - `session_kill`: the program killed in the middle of its work.
//! - `session_wire`: the same on a listener: connections, bindings, access, bad input, parallel calls.
//! - `sessions`: start, list, read, resume, fork, leave, the ledger.
//! - `recap`: recaps, uploads.
//! - `settings`: settings, usage.
//! - `shell`: commands of the user as processes.
//! - `turns`: the life of turns and the provider.
//! - `pages`: cursors, pages, subscriptions, gaps.
//! - `retention`: a host that serves the newest events only.
//! - `scripts`: places that the script language names.
//! - `crash`: loss of power at every step.
//! - `hostile`: a client that means harm, against the program.
//! - `kept`: what was told is there after the host died.
//! - `log`: the log under damage and loss of power.
//! - `misbehaving`: what trips clients up, by script; scripts that are wrong.
//! - `compaction`: `session/compact`.
//! - `docs`: the pages are true: examples, frames, records, names of files.
//! - `goals`: `goal/…`.
//! - `computer_use`: computer use, feedback.
//! - `plugins`: skills, plugins, hooks.
//! - `orders`: the orders on the wire.
//! - `process`: the program itself.
//! - `prompts`: approvals and questions to the user.
//! - `raw_log`: the raw log and the projections.
//! - `admissions`: peers that ask to be let in; worktrees.
//! - `experimental`: the families of the host behind the opt-in.
//! - `models`: the catalogue, and the choice from it.
//! - `subagents`: `subagent/…`.
//! - `tasks`: `task/…`, monitors, reminders.
//! - `workflows`: `workflow/…`.
//! - `table`: every method, notification, host request and error row, as rows of data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at what it did not expect")]

mod admissions;
mod bounds;
mod compaction;
mod computer_use;
mod connection;
mod crash;
mod docs;
mod experimental;
mod goals;
mod hostile;
mod kept;
mod log;
mod long_session;
mod misbehaving;
mod models;
mod orders;
mod pages;
mod peer;
mod plugins;
mod process;
mod prompts;
mod raw_log;
mod recap;
mod retention;
mod scripts;
mod session_bridge;
mod session_cases;
mod session_files;
mod session_kill;
mod session_stdio;
mod session_wire;
mod sessions;
mod settings;
mod shell;
mod subagents;
mod table;
mod tasks;
mod turns;
mod workflows;
