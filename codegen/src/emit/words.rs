//! The words beside the types: the sections that the options ask for.

use crate::options::{Options, When};

/// The hand-written file, with all its sections.
pub const WORDS: &str = include_str!("../words.rs");

/// The words as these options want them.
pub(crate) fn text(options: &Options) -> String {
    let mut out = String::with_capacity(WORDS.len());
    let mut skipped: Option<&str> = None;
    for line in WORDS.lines() {
        let mark = line.trim().strip_prefix("// [").and_then(|rest| rest.strip_suffix(']'));
        match (mark, skipped) {
            (Some(name), None) if !name.starts_with('/') && !kept(name, options) => skipped = Some(name),
            (Some(name), Some(section)) if name.strip_prefix('/') == Some(section) => skipped = None,
            (None, None) if !is_condition(line, options) => {
                out.push_str(line);
                out.push('\n');
            }
            _ => {}
        }
    }
    out
}

/// Whether a section stays.
fn kept(name: &str, options: &Options) -> bool {
    match name {
        "strict" => options.strict != When::Never,
        "lenient" => options.strict != When::Always,
        "schemars" => options.schemars != When::Never,
        "schemaless" => options.schemars != When::Always,
        _ => true,
    }
}

/// Whether a line is a condition on a feature that is settled.
fn is_condition(line: &str, options: &Options) -> bool {
    let settled = |feature: &str, when: When| {
        when != When::Feature
            && [format!("#[cfg(feature = \"{feature}\")]"), format!("#[cfg(not(feature = \"{feature}\"))]")]
                .contains(&line.trim().to_owned())
    };
    settled("strict", options.strict) || settled("schemars", options.schemars)
}
