//! Tests that need nothing but this repository. `input`: what reading makes of each kind of path.

mod input;
