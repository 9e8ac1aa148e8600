//! Rust names: types, fields and variants, unique where they have to be, and the same for the same input.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};

use crate::ir::{Arm, Expr, Ir, Named, Presence, Shape};
use crate::options::Options;
use crate::passes::unions::plain_type;

/// Type names that the output uses without a path.
const TAKEN: &[&str] = &[
    "Box", "BTreeMap", "Err", "None", "Ok", "Some", "Map", "NoParams", "Number", "Option", "Presence", "Result",
    "Self", "String", "Unknown", "Value", "Vec",
];

/// The variant of an open enum that keeps texts that are not listed, and of a union that keeps tags that are not.
pub(crate) const UNLISTED: &str = "Unlisted";

/// The field for members that the schema does not name.
pub(crate) const UNKNOWN: &str = "unknown";

/// Fills every Rust name of `ir`.
pub(crate) fn run(ir: &mut Ir, options: &Options) {
    types(ir, options);
    let names: Vec<String> = ir.types.iter().map(|one| one.name.clone()).collect();
    for one in &mut ir.types {
        match &mut one.shape {
            Shape::Struct { members, .. } => {
                let mut fields = Unique::with(&[UNKNOWN]);
                for member in members.iter_mut().filter(|member| !matches!(member.presence, Presence::Constant(_))) {
                    member.field = fields.take(&field(&member.wire), "_");
                }
            }
            Shape::Enum { values, .. } => variants(values),
            Shape::Tagged { arms, other, .. } => {
                let mut taken = Unique::with(&[UNLISTED]);
                for arm in arms.iter_mut() {
                    arm.variant = taken.take(&variant(&arm.tag), "");
                }
                if let Some(other) = other {
                    UNLISTED.clone_into(&mut other.variant);
                }
            }
            Shape::Either { arms } => {
                let mut taken = Unique::default();
                for arm in arms.iter_mut() {
                    arm.variant = taken.take(&arm_name(arm, &one.name, &names), "");
                }
            }
            Shape::Newtype(_) | Shape::Values(_) => {}
        }
    }
    registries(ir);
}

fn types(ir: &mut Ir, options: &Options) {
    let mut taken = Unique::with(TAKEN);
    // What parts are named after: the name that a replaced definition would have had, not the path in its place.
    let mut stems: Vec<String> = Vec::with_capacity(ir.types.len());
    for index in 0..ir.types.len() {
        let one = &ir.types[index];
        let replaced = one.definition.as_ref().and_then(|name| options.replace.get(name));
        let stem = match (one.parent, &one.definition) {
            (Some(parent), _) => taken.take(&format!("{}{}", stems[parent.0], upper_camel(&one.name)), ""),
            (None, definition) => taken.take(&upper_camel(definition.as_deref().unwrap_or_default()), ""),
        };
        ir.types[index].name = replaced.cloned().unwrap_or_else(|| stem.clone());
        stems.push(stem);
    }
}

fn variants(values: &mut [Named]) {
    let mut taken = Unique::with(&[UNLISTED]);
    for value in values {
        value.rust = taken.take(&variant(&value.wire), "");
    }
}

fn registries(ir: &mut Ir) {
    for calls in [&mut ir.methods, &mut ir.requests, &mut ir.functions] {
        let mut taken = Unique::with(&["Request", UNLISTED]);
        for row in calls.iter_mut() {
            row.named.rust = taken.take(&row_name(&row.named.wire), "");
        }
    }
    for events in [&mut ir.notifications, &mut ir.triggers] {
        let mut taken = Unique::with(&["Notification", "Delivery", UNLISTED]);
        for row in events.iter_mut() {
            row.named.rust = taken.take(&row_name(&row.named.wire), "");
        }
    }
    let mut taken = Unique::with(&["ALL"]);
    for row in &mut ir.capabilities {
        row.rust = taken.take(&constant(&row.wire), "_");
    }
    let mut taken = Unique::with(&["ALL"]);
    for row in &mut ir.errors {
        row.rust = taken.take(&constant(row.kind.strip_prefix("session/").unwrap_or(&row.kind)), "_");
    }
}

/// `turn/start` is `TurnStart`, `session::store::put-meta` is `StorePutMeta`.
fn row_name(wire: &str) -> String {
    upper_camel(wire.strip_prefix("session::").unwrap_or(wire))
}

fn arm_name(arm: &Arm, owner: &str, names: &[String]) -> String {
    match (&arm.expr, plain_type(&arm.expr)) {
        (Expr::Ref(id), _) => {
            // A type of the caller's own may be a path with arguments; its words make the variant.
            let name = names[id.0].rsplit("::").next().unwrap_or_default();
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric());
            let name = &if plain { name.to_owned() } else { upper_camel(name) };
            name.strip_prefix(owner)
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
                .unwrap_or(name)
                .to_owned()
        }
        (_, Some(json_type)) => upper_camel(json_type.name()),
        (_, None) => "Any".to_owned(),
    }
}

/// Names that were given out. A name that is taken gets a number; the first to ask keeps the plain one, so that a later addition to
/// the schema renames nothing before it.
#[derive(Default)]
struct Unique(BTreeSet<String>);

impl Unique {
    fn with(taken: &[&str]) -> Self {
        Self(taken.iter().map(|name| (*name).to_owned()).collect())
    }

    fn take(&mut self, name: &str, separator: &str) -> String {
        let mut candidate = name.to_owned();
        let stem = name.trim_end_matches('_'); // a number is enough to tell the name from a keyword
        let mut number = 2;
        while !self.0.insert(candidate.clone()) {
            candidate = format!("{stem}{separator}{number}");
            number += 1;
        }
        candidate
    }
}

/// A type name. What is in upper camel case already stays.
pub(crate) fn upper_camel(text: &str) -> String {
    let plain = spell(text);
    let kept = plain.starts_with(|c: char| c.is_ascii_uppercase())
        && plain.chars().all(|c| c.is_ascii_alphanumeric())
        && plain.chars().any(|c| c.is_ascii_lowercase());
    let name = if kept { plain } else { plain.to_upper_camel_case() };
    match name.chars().next() {
        None => "Empty".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("N{name}"),
        Some(_) if is_keyword(&name) => format!("{name}Word"),
        Some(_) => name,
    }
}

/// A variant name: as a type name, with numbers and signs readable.
fn variant(text: &str) -> String {
    upper_camel(&signs(text))
}

/// The name of a constant.
fn constant(text: &str) -> String {
    upper_camel(text).to_shouty_snake_case()
}

/// A field name.
fn field(wire: &str) -> String {
    let name = snake(&signs(wire));
    if is_keyword(&name) { format!("{name}_") } else { name }
}

/// A module or field name, not yet safe from keywords.
pub(crate) fn snake(text: &str) -> String {
    let name = spell(text).to_snake_case();
    match name.chars().next() {
        None => "empty".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("n{name}"),
        Some(_) => name,
    }
}

/// Signs that would vanish from a name and leave two values alike: a leading `+`, `-`, `$`, and a point between digits.
fn signs(text: &str) -> String {
    let (sign, rest) = match text.as_bytes().first() {
        Some(b'+') => ("plus ", &text[1..]),
        Some(b'-') => ("minus ", &text[1..]),
        _ => ("", text),
    };
    let mut out = String::from(sign);
    let mut before = ' ';
    let mut rest = rest.chars().peekable();
    while let Some(c) = rest.next() {
        let between_digits = c == '.' && before.is_ascii_digit() && rest.peek().is_some_and(char::is_ascii_digit);
        if between_digits {
            out.push_str(" point ");
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Letters that are not ASCII by their code point: names that look like another are no names.
fn spell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() && !c.is_ascii() {
            let _ = write!(out, " U{:04x} ", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a word cannot be a Rust name.
pub(super) fn is_keyword(name: &str) -> bool {
    // Edition 2024 has one more than the parser knows.
    name == "gen" || syn::parse_str::<syn::Ident>(name).is_err()
}
