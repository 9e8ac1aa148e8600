//! Time and ids of the session functions.

use crate::mint::SharedMint;

/// A clock that never goes back, and ids that nobody had before.
#[derive(Debug)]
pub(crate) struct Clock {
    mint: SharedMint,
    latest: i64,
}

impl Clock {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self { mint: SharedMint::new(seed), latest: 0 }
    }

    /// Unix time in milliseconds.
    pub(crate) fn now_ms(&mut self) -> i64 {
        self.latest = self.latest.max(self.mint.lock().now_ms());
        self.latest
    }

    /// A new id: the prefix and 32 hexadecimal digits (SF-WIRE-7).
    pub(crate) fn id(&mut self, prefix: &str) -> String {
        format!("{prefix}{}", self.mint.lock().uuid().replace('-', ""))
    }
}
