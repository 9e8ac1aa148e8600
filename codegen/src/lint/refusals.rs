//! What no lint looks for because only the generator minds: keywords that no type can say, and shapes that it cannot make.

use crate::diagnostic::{self, Diagnostic};
use crate::options::Options;
use crate::passes;
use crate::schemas::Schemas;

/// Faults of references, which reading has reported, and which the generator would meet again at each use.
const OF_REFERENCES: &str = "codegen/unresolved-ref";
/// Inputs that the generator must not be let loose on: it would go round in circles, or sees half of what it was given.
const HOPELESS: [&str; 2] = ["codegen/ref-cycle", "codegen/mixed-inputs"];

/// What `generate` would refuse or warn of, beside what was `found` before, with excerpts. The surface of `options` counts.
pub fn refusals(schemas: &Schemas, found: &[Diagnostic], options: &Options) -> Vec<Diagnostic> {
    if found.iter().any(|one| HOPELESS.contains(&one.code)) {
        return Vec::new();
    }
    let (_, mut diagnostics) = passes::run(schemas, options);
    diagnostics.retain(|one| {
        let known = found.iter().any(|other| other.code == one.code && other.at == one.at);
        !known && one.code != OF_REFERENCES && !HOPELESS.contains(&one.code)
    });
    diagnostic::attach_excerpts(&mut diagnostics, &schemas.documents);
    diagnostic::sort(&mut diagnostics);
    diagnostics.dedup();
    diagnostics
}
