//! Ids that nobody else has.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

static MADE: AtomicU64 = AtomicU64::new(0);

/// A random UUID (version 4). The standard library seeds its hash maps from the system; each id hashes a counter twice with fresh keys.
pub(crate) fn uuid() -> String {
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let half = |salt: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(made);
        hasher.write_u64(salt);
        hasher.finish()
    };
    let (high, low) = (half(0), half(1));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        0x8000 | low >> 48 & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}
