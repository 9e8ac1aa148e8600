//! How fast recordings are validated, beside the parser of `serde_json` on the same bytes.
//!
//! ```text
//! cargo bench -p msp-conformance                    prints the table
//! cargo bench -p msp-conformance -- --corpus FILE --megabytes N [--wrapped]
//! ```
//!
//! Rounds are interleaved and the table shows medians, and the median of the ratios of the rounds. Everything runs on
//! one thread. Peak memory is that of a child process which does nothing but the one validation.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a benchmark prints rounded figures")]

mod corpus;

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use corpus::{Form, Size};
use msp_conformance::validate::{Format, Options, Outcome, run};
use msp_judge::transcript::{Line, LineReader, Lines};
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const MEGABYTE: u64 = 1_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let after = |name: &str| arguments.iter().position(|it| it == name).and_then(|at| arguments.get(at + 1));
    if let Some(path) = after("--child") {
        validate(Path::new(path), !arguments.iter().any(|it| it == "--shapes"))?;
        return print_peak();
    }
    let megabytes: u64 = after("--megabytes").map_or(Ok(200), |it| it.parse())?;
    if let Some(path) = after("--corpus") {
        let form = if arguments.iter().any(|it| it == "--wrapped") { Form::Wrapped } else { Form::Bare };
        make(Path::new(path), form, megabytes)?;
        return Ok(());
    }
    if arguments.iter().any(|it| it == "--test") {
        return Ok(()); // `cargo test --benches` only wants to know that it runs
    }
    let folder = tempfile::tempdir()?;
    println!("{megabytes} MB, {ROUNDS} rounds, one thread; MB/s and times `serde_json` to `Value`, medians");
    for (form, name) in [(Form::Bare, "bare frames"), (Form::Wrapped, "{dir, raw} lines")] {
        let path = folder.path().join("corpus.ndjson");
        let size = make(&path, form, megabytes)?;
        println!("\n{name}: {} frames, {} bytes on average", size.frames, size.frame_bytes / size.frames);
        compare(&path, form, &size)?;
    }
    println!();
    for (form, name) in [(Form::Bare, "bare frames"), (Form::Wrapped, "{dir, raw} lines")] {
        for megabytes in [megabytes, 4 * megabytes] {
            let path = folder.path().join("corpus.ndjson");
            make(&path, form, megabytes)?;
            let (shapes, all) = (peak(&path, &["--shapes"])?, peak(&path, &[])?);
            println!(
                "peak memory, {megabytes:4} MB of {name:16}: {shapes:.1} MiB with --rules none, {all:.1} MiB with all rules"
            );
        }
    }
    Ok(())
}

fn make(path: &Path, form: Form, megabytes: u64) -> Result<Size> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    Ok(corpus::write(&mut out, form, megabytes * MEGABYTE)?)
}

/// What the command does, results thrown away: with `--rules none` shapes alone, else by all rules.
fn validate(path: &Path, rules: bool) -> Result<()> {
    let mut options = Options::default();
    options.rules = rules;
    options.paths = vec![PathBuf::from(path)];
    options.format = Format::Json;
    let outcome = run(&options, &mut io::sink(), &mut io::stderr())?;
    if outcome == Outcome::Good { Ok(()) } else { Err(format!("the corpus has findings: {outcome:?}").into()) }
}

/// The parser alone, over the same lines.
fn parse(path: &Path, twice: bool) -> Result<()> {
    let mut lines = LineReader::new(File::open(path)?);
    while let Some((_, line)) = lines.next_line()? {
        let Line::Whole(bytes) = line else { return Err("a line that is not whole".into()) };
        let value: Value = serde_json::from_slice(bytes)?;
        if twice {
            let frame: Value = serde_json::from_str(value["raw"].as_str().unwrap_or_default())?;
            black_box(frame);
        }
        black_box(value);
    }
    Ok(())
}

fn compare(path: &Path, form: Form, size: &Size) -> Result<()> {
    let timed = |work: &dyn Fn() -> Result<()>| -> Result<f64> {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    };
    let (mut base, mut shapes, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        base.push(timed(&|| parse(path, form == Form::Wrapped))?);
        shapes.push(timed(&|| validate(path, false))?);
        all.push(timed(&|| validate(path, true))?);
    }
    let ratio = |ours: &[f64]| median(base.iter().zip(ours).map(|(base, ours)| base / ours).collect());
    let (shapes_ratio, all_ratio) = (ratio(&shapes), ratio(&all));
    let rate = |seconds: Vec<f64>| size.bytes as f64 / 1e6 / median(seconds);
    let name = if form == Form::Bare { "serde_json to Value" } else { "serde_json to Value, twice" };
    println!("  {name:28} {:7.0} MB/s   1.00", rate(base));
    println!("  {:28} {:7.0} MB/s   {shapes_ratio:.2}", "validate --rules none", rate(shapes));
    println!("  {:28} {:7.0} MB/s   {all_ratio:.2}", "validate, all rules", rate(all));
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Peak memory of a process that validates the file, in MiB.
fn peak(path: &Path, more: &[&str]) -> Result<f64> {
    let output = Command::new(std::env::current_exe()?).arg("--child").arg(path).args(more).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse::<f64>()? / 1024.0)
}

/// Prints the most memory that this process had, in KiB.
fn print_peak() -> Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    let peak = line.split_whitespace().nth(1).ok_or("an empty VmHWM")?;
    io::stdout().write_all(format!("{peak}\n").as_bytes())?;
    Ok(())
}
