//! The conformance kit: judges what hosts and clients of MSP sent, and what session functions were called with.
//!
//! So far it has [`validate`]: recordings and single values against the schemas. The judging itself is `msp-judge`.

pub mod recordings;
pub mod validate;
