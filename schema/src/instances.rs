//! Values made from a definition: valid ones that reach every part of it, and broken ones that say how they are broken.
//!
//! ```text
//! document → plan (references followed, tags found) → valid values ─┬→ every one fits
//!                                                                  └→ mutants: one thing broken in each
//! ```
//!
//! Everything is seeded: the same document, pointer, limit and seed give the same values on every platform.
//! Nothing is guessed: what cannot be made is a [`Gap`].
//!
//! ```
//! use msp_schema::instances::Maker;
//! let document = serde_json::json!({ "$defs": { "Flag": { "type": "boolean" } } });
//! let maker = Maker::new(&document);
//! let made = maker.valid("/$defs/Flag", 200, 7)?;
//! assert_eq!(made.values.len(), 2); // no more exist
//! # Ok::<(), msp_schema::instances::UnknownPointer>(())
//! ```

mod compile;
mod coverage;
mod fits;
mod make;
mod merge;
mod pattern;
mod plan;
mod random;
mod relax;
mod scalars;
mod spoil;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

pub use coverage::{Accepts, Aspect, Coverage, Fact};
pub use relax::relax;

/// Makes values of the definitions of one document.
///
/// Reads `$defs`, `definitions`, the root, and all that these refer to inside the document; drafts 7 and 2020-12.
#[derive(Debug)]
pub struct Maker {
    plan: plan::Plan,
    by_pointer: BTreeMap<String, plan::NodeId>,
}

/// Valid values of a definition.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Distinct values. Fewer than asked for where no more exist, more where that many are needed to reach every part.
    pub values: Vec<Value>,
    /// What was not made.
    pub gaps: Vec<Gap>,
}

/// A part of a definition that the maker does not make values of, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// JSON pointer of the subschema in the document.
    pub at: String,
    /// The reason.
    pub why: String,
}

/// Broken values of a definition.
#[derive(Clone, Debug, Default)]
pub struct Broken {
    /// Distinct values; fewer than asked for where no more ways exist.
    pub mutants: Vec<Mutant>,
}

/// A value with one thing broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutant {
    /// The value.
    pub value: Value,
    /// What is broken.
    pub kind: Kind,
    /// Where in the value: a JSON pointer, of the object for a member that is missing.
    pub at: String,
    /// JSON Schema takes the value all the same: generated types are stricter here, see [`Kind`].
    pub schema_accepts: bool,
}

/// How a mutant is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A required member is not there.
    MissingRequired,
    /// A value of another type.
    WrongType,
    /// `null` where it is not allowed.
    NullNotAllowed,
    /// A value that a closed enum does not list.
    ClosedEnumUnknown,
    /// Another value than the only one allowed, or a tag that no alternative has.
    WrongConst,
    /// A number, length or count beyond its limit.
    BoundPassed,
    /// A string that does not match its pattern.
    PatternBroken,
    /// A member is there, and one that it needs is not.
    DependentMissing,
    /// A member that `additionalProperties: false` forbids.
    UnknownMember,
    /// `1.0` for an integer; JSON Schema takes it.
    IntegralFloat,
    /// An integer that the Rust type does not hold; JSON Schema takes it.
    BeyondInteger,
}

/// No schema was read at this pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPointer(pub String);

impl fmt::Display for UnknownPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no definition stands at `{}`", self.0)
    }
}

impl std::error::Error for UnknownPointer {}

impl Maker {
    /// Reads a document.
    pub fn new(document: &Value) -> Self {
        let (plan, by_pointer) = compile::compile(document);
        Self { plan, by_pointer }
    }

    /// Up to `limit` valid values of the definition at `pointer` (`/$defs/Item`; empty for the root).
    ///
    /// Every alternative inside the definition is taken at least once, if need be by more values than `limit`: members
    /// present and absent, `null`, empty, each enum value, each branch, unknown members and unknown words of open enums,
    /// ends of ranges. What lies behind references is filled at random, and definitions have values of their own.
    ///
    /// # Errors
    /// Where no definition stands at the pointer.
    pub fn valid(&self, pointer: &str, limit: usize, seed: u64) -> Result<Made, UnknownPointer> {
        Ok(make::valid(&self.plan, self.find(pointer)?, limit, seed))
    }

    /// Up to `limit` values of the definition at `pointer` with one thing broken in each.
    ///
    /// # Errors
    /// Where no definition stands at the pointer.
    pub fn broken(&self, pointer: &str, limit: usize, seed: u64) -> Result<Broken, UnknownPointer> {
        Ok(spoil::broken(&self.plan, self.find(pointer)?, limit, seed))
    }

    fn find(&self, pointer: &str) -> Result<plan::NodeId, UnknownPointer> {
        self.by_pointer.get(pointer).copied().ok_or_else(|| UnknownPointer(pointer.to_owned()))
    }
}
