//! Keywords that JSON Schema does not have, and those whose value is not what it has to be: either says nothing to anybody.

use super::{Context, Visited, shown};
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::schemas::Kind;
use crate::suggest;

pub(super) const CODE: &str = "codegen/unknown-keyword";
pub(super) const CODE_OF_VALUE: &str = "codegen/bad-keyword";
pub(super) const CODE_OF_FILE: &str = "codegen/no-keyword";

/// What the value of a keyword has to be.
#[derive(Clone, Copy)]
enum Form {
    /// Anything, or what others look at.
    Any,
    Text,
    Flag,
    Number,
    /// A whole number that is not negative.
    Count,
    /// An array of strings.
    Names,
    List,
    Object,
    Schema,
    /// A schema or, before 2020-12, a list of them.
    SchemaOrList,
}

/// The keywords of drafts 7 and 2020-12, annotations included.
const KEYWORDS: [(&str, Form); 63] = [
    ("$anchor", Form::Text),
    ("$comment", Form::Text),
    ("$defs", Form::Object),
    ("$dynamicAnchor", Form::Text),
    ("$dynamicRef", Form::Text),
    ("$id", Form::Text),
    ("$ref", Form::Any),
    ("$schema", Form::Text),
    ("$vocabulary", Form::Object),
    ("additionalItems", Form::Schema),
    ("additionalProperties", Form::Schema),
    ("allOf", Form::List),
    ("anyOf", Form::List),
    ("const", Form::Any),
    ("contains", Form::Schema),
    ("contentEncoding", Form::Text),
    ("contentMediaType", Form::Text),
    ("contentSchema", Form::Schema),
    ("default", Form::Any),
    ("definitions", Form::Object),
    ("dependencies", Form::Object),
    ("dependentRequired", Form::Object),
    ("dependentSchemas", Form::Object),
    ("deprecated", Form::Flag),
    ("description", Form::Text),
    ("else", Form::Schema),
    ("enum", Form::List),
    ("examples", Form::Any),
    ("exclusiveMaximum", Form::Number),
    ("exclusiveMinimum", Form::Number),
    ("format", Form::Text),
    ("if", Form::Schema),
    ("items", Form::SchemaOrList),
    ("maxContains", Form::Count),
    ("maxItems", Form::Count),
    ("maxLength", Form::Count),
    ("maxProperties", Form::Count),
    ("maximum", Form::Number),
    ("minContains", Form::Count),
    ("minItems", Form::Count),
    ("minLength", Form::Count),
    ("minProperties", Form::Count),
    ("minimum", Form::Number),
    ("multipleOf", Form::Number),
    ("not", Form::Schema),
    ("oneOf", Form::List),
    ("pattern", Form::Text),
    ("patternProperties", Form::Object),
    ("prefixItems", Form::List),
    ("properties", Form::Object),
    ("propertyNames", Form::Schema),
    ("readOnly", Form::Flag),
    ("required", Form::Names),
    ("then", Form::Schema),
    ("title", Form::Text),
    ("type", Form::Any),
    ("unevaluatedItems", Form::Schema),
    ("unevaluatedProperties", Form::Schema),
    ("uniqueItems", Form::Flag),
    ("writeOnly", Form::Flag),
    // Of other drafts, for which `codegen/dialect` speaks.
    ("$recursiveAnchor", Form::Any),
    ("$recursiveRef", Form::Any),
    ("id", Form::Any),
];

/// A warning for each member of a schema that is no keyword. Names with `x-` are anybody's.
pub(super) fn check(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    // Where there is no keyword at all one warning for the file is enough.
    for schema in context.all.iter().filter(|schema| !is_plain_data(context, schema)) {
        for (name, _) in schema.node.members() {
            if name.starts_with("x-") || form(name).is_some() {
                continue;
            }
            let message = format!("`{name}` is no keyword of JSON Schema, and means nothing");
            let known = KEYWORDS.iter().map(|(known, _)| *known);
            let help = match suggest::nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("annotations of your own are spelt `x-{name}`"),
            };
            let at = schema.at.join(name);
            out.push(Diagnostic::warning(CODE, at, message).label("not a keyword").help(help));
        }
    }
}

/// A warning for each keyword whose value is of a kind that the keyword cannot have.
pub(super) fn check_values(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    for schema in &context.all {
        for (name, value) in schema.node.members() {
            let Some(expected) = form(name).and_then(|form| misfit(form, value)) else { continue };
            let at = schema.at.join(name);
            // Another dialect may have had the value so, and `codegen/dialect` has said it.
            if out.iter().any(|other| other.at == at) {
                continue;
            }
            let message = format!("the value of `{name}` has to be {expected}, not {}", shown(value));
            out.push(Diagnostic::warning(CODE_OF_VALUE, at, message).label(format!("expected {expected}")));
        }
    }
}

/// A warning for each file that is an object without a single keyword.
pub(super) fn check_files(context: &Context<'_>, out: &mut Vec<Diagnostic>) {
    for schema in context.all.iter().filter(|schema| is_plain_data(context, schema)) {
        let message = "the file has no keyword of JSON Schema: any value fits it";
        out.push(
            Diagnostic::warning(CODE_OF_FILE, schema.at.clone(), message)
                .help("give the schema of the data, not the data itself"),
        );
    }
}

fn is_plain_data(context: &Context<'_>, schema: &Visited<'_>) -> bool {
    let names = schema.node.members();
    context.kind == Kind::Plain
        && schema.at.pointer.is_empty()
        && !names.is_empty()
        && names.iter().all(|(name, _)| form(name).is_none())
}

fn form(name: &str) -> Option<Form> {
    KEYWORDS.iter().find(|(known, _)| *known == name).map(|(_, form)| *form)
}

/// What was expected, where `value` does not have the form.
fn misfit(form: Form, value: &Node) -> Option<&'static str> {
    let (fits, expected) = match form {
        Form::Any => (true, ""),
        Form::Text => (value.as_str().is_some(), "a string"),
        Form::Flag => (value.as_bool().is_some(), "`true` or `false`"),
        Form::Number => (value.as_number().is_some(), "a number"),
        Form::Count => (is_count(value), "a whole number from 0"),
        Form::Names => {
            let names = matches!(value, Node::Array(items) if items.iter().all(|item| item.as_str().is_some()));
            (names, "an array of strings")
        }
        Form::List => (matches!(value, Node::Array(_)), "an array"),
        Form::Object => (value.is_object(), "an object"),
        Form::Schema => (value.is_schema(), "a schema"),
        Form::SchemaOrList => (value.is_schema() || matches!(value, Node::Array(_)), "a schema"),
    };
    (!fits).then_some(expected)
}

/// `2.0` is a whole number to JSON Schema.
fn is_count(value: &Node) -> bool {
    let number = value.as_number().and_then(serde_json::Number::as_f64);
    number.is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}
