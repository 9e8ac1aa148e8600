//! Tests that need nothing but this repository.
//!
//! - `listing`: `dispatch` names every generated type.
//! - `refusals`: what is said of an object that is refused.
//! - `round_trips`: values made from each definition, through its type.
//! - `self_description`: the schema that a type tells of itself against its definition, in the form of `normal`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at what it did not expect")]

mod dispatch;
mod exercise;
mod listing;
#[cfg(feature = "schemars")]
mod normal;
mod refusals;
mod round_trips;
#[cfg(feature = "schemars")]
mod self_description;
mod types;
mod values;
