//! Tests of the judge as a library.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and says what it saw")]

mod cases;
mod format;
mod frames;
mod mutate;
mod reference;
mod rules;
mod soundness;
