//! The conformance kit: judges what hosts and clients of MSP sent, and what session functions were called with.
//!
//! So far it has [`validate`]: recordings and single values against the schemas. The judging itself is `msp-judge`.
//! The [`recordings`] that ship with the kit use every method, notification, host request, item kind and error kind of
//! the experimental surface, and every session function and trigger.
//!
//! ```
//! use msp_conformance::validate::{Options, Outcome, run};
//!
//! let mut out = Vec::new();
//! let outcome = run(&Options::default(), &mut out, &mut Vec::new())?;
//! assert_eq!(outcome, Outcome::Good);
//! assert!(String::from_utf8(out)?.ends_with(": 0 errors, 0 warnings, 0 notes\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Speed
//!
//! `cargo bench -p msp-conformance --bench validate` makes 200 MB of transcript from the recordings (mean frame 536
//! bytes, both directions, fresh ids in every repetition, no finding) and validates it on one thread, beside
//! `serde_json` that only parses the same lines to `Value` (for `{dir, raw}` lines the record, then the frame). Medians
//! of five interleaved rounds on a shared machine of two cores that was busy otherwise, Rust 1.95:
//!
//! | lines | `serde_json` | `--rules none`, ratio | all rules, ratio |
//! |---|---|---|---|
//! | bare frames | 48 MB/s | 110 MB/s, 2.30 | 20 MB/s, 0.46 |
//! | `{dir, raw}` | 46 MB/s | 162 MB/s, 2.22 | 44 MB/s, 0.66 |
//!
//! The machine was busy; on a quiet one shapes alone ran at 633 and 486 MB/s (2.71, 2.62). Peak memory of shapes alone is
//! 13.1 MiB at 200 MB and at 800 MB alike; with all rules it grows, to 145 and 541 MiB. `-- --megabytes N` takes
//! another size, `-- --corpus FILE --megabytes N [--wrapped]` only writes the transcript.

pub mod recordings;
pub mod rules;
pub mod validate;
