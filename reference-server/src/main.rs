//! The command line: for now it tells its version, and says that there is nothing to run yet.

use clap::Parser;

/// Reference server for MSP and the session functions; nothing can be served yet.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {}

fn main() {
    Arguments::parse();
}
