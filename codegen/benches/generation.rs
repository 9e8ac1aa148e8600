//! Generation with formatting, beside plain typify with prettyplease on the same bundle, in turn in one process.
//!
//! `cargo bench -p msp-codegen` prints medians and their ratio. Both sides begin with the file and end with Rust text.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a program for people")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use msp_codegen::options::Options;
use msp_codegen::{generate, input};
use schemars08::schema::RootSchema;
use typify::{TypeSpace, TypeSpaceSettings};

const ROUNDS: usize = 25;

fn main() {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/msp/experimental/msp.schema.json");
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    let (mut our_size, mut plain_size) = (0, 0);
    for _ in 0..ROUNDS {
        let (time, size) = timed(|| generated(&bundle));
        ours.push(time);
        our_size = size;
        let (time, size) = timed(|| plainly(&bundle));
        plain.push(time);
        plain_size = size;
    }
    let (our_median, plain_median) = (median(&mut ours), median(&mut plain));
    println!("experimental bundle, {ROUNDS} rounds in turn, medians");
    println!("  msp-codegen            {our_median:>10.1?}  {our_size:>8} bytes of Rust");
    println!("  typify + prettyplease  {plain_median:>10.1?}  {plain_size:>8} bytes of Rust");
    println!("  ratio                  {:>10.2}", our_median.as_secs_f64() / plain_median.as_secs_f64());
}

fn timed(work: impl FnOnce() -> usize) -> (Duration, usize) {
    let start = Instant::now();
    let size = work();
    (start.elapsed(), size)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn generated(bundle: &PathBuf) -> usize {
    let options = Options::default();
    let schemas = input::read(&[bundle], &options).unwrap();
    let (files, _) = generate::generate(&schemas, &options);
    assert!(!files.is_empty(), "the bundle generates");
    files.values().map(String::len).sum()
}

fn plainly(bundle: &PathBuf) -> usize {
    let text = std::fs::read_to_string(bundle).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let definitions = serde_json::json!({ "definitions": rewritten(&document["$defs"]) });
    let root: RootSchema = serde_json::from_value(definitions).unwrap();
    let mut space = TypeSpace::new(&TypeSpaceSettings::default());
    space.add_ref_types(root.definitions).unwrap();
    let file: syn::File = syn::parse2(space.to_stream()).unwrap();
    prettyplease::unparse(&file).len()
}

/// typify resolves references by their last part; the place of the definitions is named for form's sake.
fn rewritten(definitions: &serde_json::Value) -> serde_json::Value {
    serde_json::from_str(&definitions.to_string().replace("#/$defs/", "#/definitions/")).unwrap()
}
