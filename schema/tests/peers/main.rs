//! What needs the sources of the data, or nothing yet.

fn main() {}
