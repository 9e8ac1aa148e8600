//! The host under load, beside the bare work that it cannot do without: `cargo bench -p msp-reference-server`.
//!
//! Each part prints its figures and ratios; words behind `--` choose parts by name. Nothing here judges a time: what must hold of
//! bytes is a test (`tests/it/bounds.rs`).
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a program for people")]

mod client;
mod commands;
mod deltas;
mod idle;
mod long;
#[path = "../../tests/it/long_session.rs"]
mod long_session;

use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [word, path] = arguments.as_slice()
        && word == deltas::BARE
    {
        return deltas::write_bare(path);
    }
    let parts: [(&str, fn()); 4] =
        [("deltas", deltas::run), ("idle", idle::run), ("long", long::run), ("commands", commands::run)];
    for (name, run) in parts {
        if arguments.is_empty() || arguments.iter().any(|word| word == name) {
            println!("{name}");
            run();
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How many of something in a second.
#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark")]
fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn ratio(of: Duration, to: Duration) -> f64 {
    of.as_secs_f64() / to.as_secs_f64()
}
