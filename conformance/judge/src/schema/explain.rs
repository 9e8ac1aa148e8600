//! The slow lane: `jsonschema` over a document tree. It alone says *bad*, and it writes the words.
//!
//! Two validators a root: the *relaxed* one, in which open enums are plain strings, says whether a value is bad; the
//! *closed* one says which open words are new.

use std::collections::HashSet;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

use super::source::{FIRST_KEYWORD, RULE_KEYWORD, referenced, relax};
use super::{Carried, Schema};
use crate::pointer;

/// Faults of one value that are described; further ones are counted.
const MOST_FAULTS: usize = 24;
/// Characters of a value that a message shows.
const SHOWN: usize = 60;

/// Both validators of a root.
#[derive(Debug)]
pub(crate) struct Validators {
    relaxed: Validator,
    closed: Validator,
    document: Value,
}

/// A place where a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) pointer: String,
    pub(crate) keyword: String,
    pub(crate) schema: String,
    pub(crate) definition: String,
    /// The member that is missing, for `required`.
    pub(crate) missing: Option<String>,
    pub(crate) expected: String,
    pub(crate) actual: String,
}

/// A word that an open enum does not list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Novelty {
    pub(crate) pointer: String,
    pub(crate) definition: String,
    pub(crate) word: String,
    /// Rule of its own, where the overlay gives one.
    pub(crate) rule: Option<String>,
    pub(crate) schema: String,
}

/// What the slow lane says about a value.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    pub(crate) faults: Vec<Fault>,
    /// Faults beyond the described ones.
    pub(crate) more: usize,
    pub(crate) novelties: Vec<Novelty>,
    /// Stored events of methods that the bundle does not list: where, and which.
    pub(crate) unlisted: Vec<(String, String)>,
}

impl Validators {
    /// Builds both from a closed document.
    pub(crate) fn build(document: Value) -> Result<Self, String> {
        let build = |document: &Value| {
            let draft = if document["$schema"].as_str().is_some_and(|uri| uri.contains("draft-07")) {
                Draft::Draft7
            } else {
                Draft::Draft202012
            };
            let options = jsonschema::options().with_draft(draft).should_validate_formats(false);
            options.build(document).map_err(|error| error.to_string())
        };
        Ok(Self { relaxed: build(&relax(&document))?, closed: build(&document)?, document })
    }

    fn explain(&self, root: &str, value: &Value, at: &str, out: &mut Explained) {
        for error in self.relaxed.iter_errors(value) {
            self.add_fault(root, &error, at, out);
        }
        if out.faults.is_empty() && !self.closed.is_valid(value) {
            for error in self.closed.iter_errors(value) {
                self.add_novelties(&error, at, &mut out.novelties);
            }
        }
    }

    /// The keyword's schema of an error, and that schema's pointer.
    fn place<'d>(&'d self, error: &ValidationError<'_>) -> (String, Option<&'d Value>) {
        let schema = error.schema_path().as_str().to_owned();
        let parent = schema.rsplit_once('/').map_or("", |(parent, _)| parent);
        let node = self.document.pointer(parent);
        (schema, node)
    }

    fn add_fault(&self, root: &str, error: &ValidationError<'_>, at: &str, out: &mut Explained) {
        let (schema, node) = self.place(error);
        if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind() {
            // In a place that this crate widened, what the overlay says is there is what was expected.
            let widened = node.is_some_and(|node| node.get(FIRST_KEYWORD).is_some());
            let meant = if widened { context.first() } else { meant(error, context) };
            if let Some(branch) = meant {
                for inner in branch {
                    self.add_fault(root, inner, at, out);
                }
                return;
            }
        }
        if out.faults.len() == MOST_FAULTS {
            out.more += 1;
            return;
        }
        let (mut expected, actual) = words(error);
        let mut keyword = error.kind().keyword();
        if let Some((dependent, asking)) = dependent(error, &schema, node) {
            keyword = dependent;
            expected = format!("{expected}, asked for by `{asking}`");
        }
        let missing = match error.kind() {
            ValidationErrorKind::Required { property } if keyword == "required" => property.as_str().map(str::to_owned),
            _ => None,
        };
        out.faults.push(Fault {
            missing,
            pointer: format!("{at}{}", error.instance_path().as_str()),
            keyword: keyword.to_owned(),
            definition: definition_of(&schema).unwrap_or(root).to_owned(),
            schema,
            expected,
            actual,
        });
    }

    fn add_novelties(&self, error: &ValidationError<'_>, at: &str, out: &mut Vec<Novelty>) {
        match error.kind() {
            ValidationErrorKind::Enum { .. } => {
                let (schema, node) = self.place(error);
                let rule = node.and_then(|node| node.get(RULE_KEYWORD)).and_then(Value::as_str).map(str::to_owned);
                out.push(Novelty {
                    pointer: format!("{at}{}", error.instance_path().as_str()),
                    definition: definition_of(&schema).unwrap_or_default().to_owned(),
                    word: error.instance().as_str().unwrap_or_default().to_owned(),
                    rule,
                    schema,
                });
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                // The branch that fits but for new words is the one that was meant.
                if let Some(branch) = context.iter().find(|branch| branch.iter().all(|error| self.is_only_new(error))) {
                    for error in branch {
                        self.add_novelties(error, at, out);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether nothing is wrong but words that open enums do not list.
    fn is_only_new(&self, error: &ValidationError<'_>) -> bool {
        match error.kind() {
            ValidationErrorKind::Enum { .. } => {
                self.place(error).1.is_some_and(|node| node.get("x-msp-openness").is_some_and(|it| it == "open"))
                    && error.instance().is_string()
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                context.iter().any(|branch| branch.iter().all(|error| self.is_only_new(error)))
            }
            _ => false,
        }
    }
}

impl Schema {
    /// Everything that the slow lane has to say about a value; `at` is where the value stands in its frame.
    ///
    /// # Errors
    /// When the validator cannot be built; [`Schema::check`] finds that out beforehand.
    pub(crate) fn explain(&self, root: &str, value: &Value, at: &str) -> Result<Explained, String> {
        let mut out = Explained::default();
        let validators = self.validators(root);
        let validators = validators.as_ref().as_ref().map_err(Clone::clone)?;
        validators.explain(root, value, at, &mut out);
        let (faults, novelties) = (out.faults.len(), out.novelties.len());
        let mut places = HashSet::new();
        for (place, name, params) in self.stored_events(root, value) {
            // Two branches may lead to one event.
            if !places.insert(place.clone()) {
                continue;
            }
            let here = format!("{at}{place}");
            let carried = match self.find_carried(name) {
                Carried::Root(root) => root,
                Carried::Anything => continue,
                Carried::Unlisted => {
                    out.unlisted.push((here, name.to_owned()));
                    continue;
                }
            };
            let validators = self.validators(carried);
            let validators = validators.as_ref().as_ref().map_err(Clone::clone)?;
            let inside = pointer::join(&here, self.event.as_ref().map_or("params", |it| &it.payload));
            let mut inner = Explained::default();
            validators.explain(carried, params, &inside, &mut inner);
            // What the base members of an event already say is not said twice.
            let known = |fault: &Fault, faults: &[Fault]| {
                faults.iter().any(|it| it.pointer == fault.pointer && it.expected == fault.expected)
            };
            let fresh: Vec<Fault> =
                inner.faults.into_iter().filter(|fault| !known(fault, &out.faults[..faults])).collect();
            let left = MOST_FAULTS.saturating_sub(out.faults.len());
            out.more += inner.more + fresh.len().saturating_sub(left);
            out.faults.extend(fresh.into_iter().take(left));
            let fresh: Vec<Novelty> = inner
                .novelties
                .into_iter()
                .filter(|it| !out.novelties[..novelties].iter().any(|old| old.pointer == it.pointer))
                .collect();
            out.novelties.extend(fresh);
        }
        Ok(out)
    }

    /// Whether a value fits, stored events included.
    pub(crate) fn accepts(&self, root: &str, value: &Value) -> bool {
        self.explain(root, value, "").is_ok_and(|it| it.faults.is_empty())
    }

    /// The stored events inside a value: where each is, what it is named, and its params.
    fn stored_events<'v>(&self, root: &str, value: &'v Value) -> Vec<(String, &'v str, &'v Value)> {
        let mut found = Vec::new();
        if self.reaches_event(root) {
            self.walk(&self.root_schema(root), value, String::new(), 0, &mut found);
        }
        found
    }

    fn walk<'v>(
        &self,
        schema: &Value,
        value: &'v Value,
        at: String,
        depth: u32,
        found: &mut Vec<(String, &'v str, &'v Value)>,
    ) {
        let Some(event) = self.event.as_ref().filter(|_| depth < 64) else { return };
        if let Some(name) = referenced(schema) {
            if name == event.definition {
                if let (Some(method), Some(params)) =
                    (value.get(&event.name).and_then(Value::as_str), value.get(&event.payload))
                {
                    found.push((at, method, params));
                }
            } else if self.reaches_event(name) {
                if let Some(schema) = self.source.definitions.get(name) {
                    self.walk(schema, value, at, depth + 1, found);
                }
            }
            return;
        }
        if let (Some(Value::Object(properties)), Value::Object(members)) = (schema.get("properties"), value) {
            for (name, schema) in properties {
                if let Some(member) = members.get(name) {
                    self.walk(schema, member, pointer::join(&at, name), depth + 1, found);
                }
            }
        }
        if let (Some(items), Value::Array(list)) = (schema.get("items"), value) {
            for (index, item) in list.iter().enumerate() {
                self.walk(items, item, format!("{at}/{index}"), depth + 1, found);
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for branch in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.walk(branch, value, at.clone(), depth + 1, found);
            }
        }
    }
}

/// The one branch that the value was surely meant for: all others ask for another kind of value, or for another tag.
fn meant<'c>(
    error: &ValidationError<'_>,
    branches: &'c [Vec<ValidationError<'static>>],
) -> Option<&'c Vec<ValidationError<'static>>> {
    let here = error.instance_path().as_str();
    let is_other = |inner: &ValidationError<'_>| {
        let below = inner.instance_path().as_str().strip_prefix(here).unwrap_or_default();
        match inner.kind() {
            ValidationErrorKind::Type { .. } => below.is_empty(),
            ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => below.matches('/').count() <= 1,
            _ => false,
        }
    };
    let mut left = branches.iter().filter(|branch| !branch.iter().any(is_other));
    let first = left.next()?;
    if left.next().is_none() { Some(first) } else { None }
}

/// For a member that is missing because others are there: the keyword, and those others.
fn dependent(error: &ValidationError<'_>, schema: &str, node: Option<&Value>) -> Option<(&'static str, String)> {
    let ValidationErrorKind::Required { property } = error.kind() else { return None };
    let mut steps = schema.rsplit('/');
    let (last, before) = (steps.next()?, steps.next()?);
    let keyword = ["dependentRequired", "dependencies"].into_iter().find(|it| [last, before].contains(it))?;
    // The pointer ends with the keyword, or with the member that asks.
    let needs = if last == keyword { node?.get(keyword)? } else { node? }.as_object()?;
    let present = |name: &str| error.instance().get(name).is_some();
    let asks = |wanted: &Value| wanted.as_array().is_some_and(|list| list.contains(property));
    let asking = needs.iter().filter(|(name, wanted)| present(name) && asks(wanted));
    let asking: Vec<&str> = asking.map(|(name, _)| name.as_str()).collect();
    (!asking.is_empty()).then(|| (keyword, asking.join("` and `")))
}

/// The definition in which a keyword stands, by its pointer.
fn definition_of(schema: &str) -> Option<&str> {
    let at = schema.rfind("/$defs/")?;
    schema[at + 7..].split('/').next()
}

/// What was expected and what was there, in a few words.
fn words(error: &ValidationError<'_>) -> (String, String) {
    let value = error.instance();
    let actual = shorten(&value.to_string());
    let expected = match error.kind() {
        ValidationErrorKind::Required { property } => {
            return (format!("member `{}`", property.as_str().unwrap_or_default()), members_of(value));
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            return ("no other member".to_owned(), format!("`{}`", unexpected.join("`, `")));
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => kind.to_string(),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
        }
        ValidationErrorKind::Enum { options } => format!("one of {}", shorten(&options.to_string())),
        ValidationErrorKind::Constant { expected_value } => expected_value.to_string(),
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::Pattern { pattern } => format!("a string that matches `{pattern}`"),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let mut branches: Vec<String> =
                context.iter().map(|branch| branch.first().map_or_else(String::new, |it| words(it).0)).collect();
            branches.dedup();
            branches.join(", or ")
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => "a value that fits one branch only".to_owned(),
        ValidationErrorKind::FalseSchema => "no value".to_owned(),
        _ => error.to_string(),
    };
    (expected, actual)
}

/// The members that are there, where one is missing.
fn members_of(value: &Value) -> String {
    match value.as_object() {
        Some(members) if members.is_empty() => "no member".to_owned(),
        Some(members) => {
            shorten(&format!("only `{}`", members.keys().map(String::as_str).collect::<Vec<_>>().join("`, `")))
        }
        None => shorten(&value.to_string()),
    }
}

/// The first characters of a text that may be long.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
