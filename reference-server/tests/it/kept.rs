//! Nothing acked, and no durable event that was shown, is lost: what a client sees of a host that dies and comes back.
//!
//! - `history`: what was seen, as plain data.
//! - `check`, `effect`: whether it keeps the promise; `made_up` breaks every clause of it.
//! - `talk`: the client.
//! - `killed`: SIGKILL at seeded moments. `crash` loses power at every write and sync with the same client.

pub(crate) mod check;
mod effect;
pub(crate) mod history;
mod killed;
mod made_up;
pub(crate) mod talk;
