//! Tests of the kit: its recordings, and the command as a program.

mod command;
mod recordings;
