//! The `session::*` functions: a session manager that any caller of the protocol can use, without an engine behind it.
//!
//! ```text
//! wire (iii WebSocket, stdio) ── calls in, answers and deliveries out
//!   └ server ── one call at a time: decode, serve, commit, publish
//!       ├ functions ── the 43 functions: types in, types out
//!       │   └ service ── the rules, pure over a Store
//!       │       └ store ── memory, sqlite, bridge: records and one transaction for each mutation
//!       └ bindings ── who gets an event; filters; in commit order
//! ```
//!
//! What holds: a call that fails changes nothing and announces nothing; a mutation is one transaction of the store; events leave after it,
//! in the order of the transactions, without waiting for anybody.

mod bindings;
mod blocking;
mod catalog;
mod clock;
mod configuration;
mod engine;
mod event;
mod failure;
mod filter;
mod functions;
mod members;
mod server;
mod service;
mod settings;
pub mod stdio;
pub mod store;
mod wire;

pub use bindings::{Binding, Delivery, Owner, Sink};
pub use configuration::Configurations;
pub use engine::{EngineConfiguration, work};
pub use event::{Event, Trigger};
pub use failure::Failure;
pub use filter::Refusal;
pub use functions::{FUNCTIONS, Function, MISSING};
pub use server::{Server, Start, Stored};
pub use settings::{Adapter, Limits, Settings};
pub use wire::Endpoint;
