//! Reading the view: pages of durable events, and the history that a load brings.

pub mod history;
pub mod page;
pub mod retention;

use std::sync::MutexGuard;

use crate::host::Readable;
use crate::log::Log;
use crate::session::Core;
use crate::state::State;

/// A session to read, held for the moment.
pub enum Held<'a> {
    /// Loaded here.
    Loaded(MutexGuard<'a, Core>),
    /// From the store.
    Stored(&'a State, &'a Log),
}

impl Readable {
    /// The session, held.
    pub fn hold(&self) -> Held<'_> {
        match self {
            Self::Loaded(loaded) => Held::Loaded(loaded.core()),
            Self::Stored(stored) => Held::Stored(&stored.state, &stored.log),
        }
    }
}

impl Held<'_> {
    /// Its state.
    pub fn state(&self) -> &State {
        match self {
            Self::Loaded(core) => &core.state,
            Self::Stored(state, _) => state,
        }
    }

    /// Its log.
    pub fn log(&self) -> &Log {
        match self {
            Self::Loaded(core) => &core.log,
            Self::Stored(_, log) => log,
        }
    }
}
