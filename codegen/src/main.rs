//! The command line of `msp-codegen`.

fn main() {}
