//! What the library makes of files.

mod bad_input;
mod references;
