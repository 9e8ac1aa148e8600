//! Tests of the kit: its recordings, and the command as a program.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and says what it saw")]

mod command;
mod corpus;
mod output;
mod recordings;
