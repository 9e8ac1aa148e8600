//! Schemas in, [`Ir`] out: each pass takes one thing out of JSON Schema that Rust says in another way.
//!
//! `view` sorts the keywords of one schema and takes `null` out, `read` turns views into shapes with the help of `objects`,
//! `enums`, `unions` and `limits`; then come the passes over the whole: `registries`, `kinds` (JSON types of alternatives),
//! `cycles`, `families`, `keep` (only what was asked for), `strictness`, and last `names`.

mod cycles;
mod enums;
mod families;
mod gates;
mod keep;
mod kinds;
mod layers;
mod limits;
mod names;
mod objects;
mod read;
mod registries;
mod strictness;
mod surface;
mod unions;
mod view;

pub(crate) use names::{UNKNOWN, UNLISTED, snake};

use crate::diagnostic::{Diagnostic, Severity};
use crate::ir::Ir;
use crate::options::{Options, Surface};
use crate::schemas::Schemas;

/// Runs every pass. With an error among the diagnostics the value is incomplete and nothing may be written from it.
pub(crate) fn run(schemas: &Schemas, options: &Options) -> (Ir, Vec<Diagnostic>) {
    let (mut ir, mut diagnostics) = read::run(schemas);
    registries::run(schemas, &mut ir);
    diagnostics.extend(cycles::run(&ir));
    if diagnostics.iter().any(|one| one.severity == Severity::Error) {
        return (ir, diagnostics);
    }
    gates::run(&mut ir, options);
    if options.surface == Some(Surface::Stable) {
        surface::run(&mut ir);
    }
    diagnostics.extend(keep::run(&mut ir, &options.only));
    kinds::run(&mut ir);
    families::run(&mut ir);
    strictness::run(&mut ir, options);
    names::run(&mut ir, options);
    (ir, diagnostics)
}
