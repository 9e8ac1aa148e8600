//! The whole surface as rows of data: `table/methods.json` says what every method refuses, `table/cases/*.json` cause what the
//! bundle has, `table/reasons.json` says why something cannot be caused here. Adding a row needs no code.
//!
//! - `data`: what the files may say.
//! - `play`: plays the steps of a case.
//! - `refuse`: what follows for a method from its row in `methods.json` alone.
//! - `meet`: whether a frame is what a row expects.
//! - `cover`: what was caused, against the bundle.

mod cover;
mod data;
mod meet;
mod play;
mod refuse;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

use self::cover::Caused;
use self::data::{Case, Row};

/// What came of the whole table.
struct Outcome {
    /// Everything that was caused.
    caused: Caused,
    /// What did not go as the data says, by the name of the row.
    wrong: Vec<String>,
    /// How many cases were played.
    played: usize,
}

/// One row to play.
enum Job<'a> {
    Case(&'a Case),
    Row(&'a Row),
}

/// Plays the table once, for all tests of this file.
fn outcome() -> &'static Outcome {
    static OUTCOME: OnceLock<Outcome> = OnceLock::new();
    OUTCOME.get_or_init(|| {
        let (cases, rows) = (data::cases(), data::rows());
        let jobs = cases.iter().map(Job::Case).chain(rows.iter().map(Job::Row));
        let (queue, outcome) = (Mutex::new(jobs), Mutex::new((Caused::default(), Vec::new())));
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(2, usize::from).min(8) {
                scope.spawn(|| {
                    loop {
                        let Some(job) = queue.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
                        let done = run(&job);
                        let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                        match done {
                            Ok(caused) => outcome.0.add(caused),
                            Err(wrong) => outcome.1.push(wrong),
                        }
                    }
                });
            }
        });
        let (caused, mut wrong) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        wrong.sort();
        Outcome { caused, wrong, played: cases.len() }
    })
}

/// Plays one row on a clock of its own that stands still.
fn run(job: &Job<'_>) -> Result<Caused, String> {
    let name = match job {
        Job::Case(case) => case.name.clone(),
        Job::Row(row) => format!("methods.json, {}", row.method),
    };
    let play = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            match job {
                Job::Case(case) => play::case(case).await,
                Job::Row(row) => refuse::row(row).await,
            }
        })
    };
    catch_unwind(AssertUnwindSafe(play)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        format!("{name}: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without text"))
    })
}

#[test]
fn every_row_is_answered_as_it_says() {
    let outcome = outcome();
    assert!(outcome.wrong.is_empty(), "{} rows:\n{}", outcome.wrong.len(), outcome.wrong.join("\n"));
}

#[test]
fn the_table_covers_the_bundle() {
    let (outcome, rows) = (outcome(), data::rows());
    let (open, counts) = cover::compare(&outcome.caused, &rows, &data::reasons());
    println!("{counts}, by {} cases and {} rows of methods", outcome.played, rows.len());
    assert!(open.is_empty(), "{} places:\n{}", open.len(), open.join("\n"));
}
