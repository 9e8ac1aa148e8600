//! One bundle, compiled for both lanes.

mod compile;
pub(crate) mod explain;
mod pattern;
pub(crate) mod program;
pub(crate) mod scan;
pub(crate) mod source;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::error::SchemaError;
use explain::Validators;
use program::{Id, Names, Node, Program};
pub use scan::Why;
use source::{Carrier, Source};
pub use source::{EventShape, KnownWords, Overlay, Place};

/// A bundle to judge by: its program for the fast lane, and its validators, which are built when the slow lane first
/// needs them.
///
/// ```
/// let bundle = serde_json::json!({
///     "$defs": { "Ping": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] } },
///     "methods": { "ping": { "params": { "$ref": "#/$defs/Ping" } } },
/// });
/// let schema = msp_judge::Schema::new("mine", &bundle, &msp_judge::Overlay::default())?;
/// assert_eq!(schema.label(), "mine");
/// assert!(schema.is_definition("Ping"));
/// # Ok::<(), msp_judge::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Schema {
    label: String,
    pub(crate) source: Source,
    pub(crate) program: Program,
    pub(crate) methods: Vec<Method>,
    names: Names,
    pub(crate) event: Option<EventShape>,
    /// Definitions in whose values an event may be.
    with_events: BTreeSet<String>,
    /// What each event carries: the root of its params, or nothing that is known.
    carried: BTreeMap<String, Option<String>>,
    pub(crate) error_object: Option<Id>,
    pub(crate) trace: Option<Id>,
    validators: Mutex<HashMap<String, Arc<Result<Validators, String>>>>,
}

/// What an event carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carried<'s> {
    /// The bundle does not list the event.
    Unlisted,
    /// It has no definition.
    Anything,
    /// A value of this root.
    Root(&'s str),
}

/// A method as both lanes see it.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) carrier: Carrier,
    pub(crate) params: Option<Root>,
    pub(crate) result: Option<Root>,
}

/// A place where validation starts.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    /// Name of the definition, or method and part where the schema stands in the table itself.
    pub(crate) name: String,
    pub(crate) node: Id,
    /// Whether a value without any member fits, which is what params that are left out mean.
    pub(crate) empty_fits: bool,
}

impl Schema {
    /// Compiles a bundle, as published or of one's own; `label` is how findings name it.
    ///
    /// # Errors
    /// When the document is no bundle, has a reference that leads nowhere or out of it, or definitions that only name
    /// each other.
    pub fn new(label: impl Into<String>, bundle: &Value, overlay: &Overlay) -> Result<Self, SchemaError> {
        let source = Source::new(bundle, overlay)?;
        let mut compiler = compile::Compiler::new(&source.definitions, source.dialect, overlay.event.as_ref());
        let nodes: BTreeMap<String, Id> =
            source.definitions.keys().map(|name| (name.clone(), compiler.definition(name))).collect();
        let parts: Vec<[Option<Id>; 2]> = source
            .rows
            .iter()
            .map(|row| {
                [row.params.as_ref().map(|it| compiler.schema(it)), row.result.as_ref().map(|it| compiler.schema(it))]
            })
            .collect();
        let events: Vec<(&str, Option<&Value>)> = source
            .rows
            .iter()
            .filter(|row| row.carrier == Carrier::HostNotification)
            .map(|row| (row.name.as_str(), row.params.as_ref()))
            .collect();
        let program = compiler.finish(&events);
        let methods: Vec<Method> = source
            .rows
            .iter()
            .zip(parts)
            .map(|(row, [params, result])| {
                let root = |part: &str, schema: Option<&Value>, node: Option<Id>| {
                    let (schema, node) = (schema?, node?);
                    let name = source::referenced(schema).map_or_else(|| format!("{} {part}", row.name), str::to_owned);
                    Some(Root { name, node, empty_fits: fits_empty(&program, node) })
                };
                Method {
                    name: row.name.clone(),
                    carrier: row.carrier,
                    params: root("params", row.params.as_ref(), params),
                    result: root("result", row.result.as_ref(), result),
                }
            })
            .collect();
        let names = Names::new(methods.iter().map(|method| method.name.as_str()));
        let (error_object, trace) = (nodes.get("ErrorObject").copied(), nodes.get("TraceContext").copied());
        let event = overlay.event.clone();
        let with_events = event.as_ref().map(|event| source.reaching(&event.definition)).unwrap_or_default();
        let mut carried: BTreeMap<String, Option<String>> = methods
            .iter()
            .filter(|method| method.carrier == Carrier::HostNotification)
            .map(|method| (method.name.clone(), method.params.as_ref().map(|root| root.name.clone())))
            .collect();
        carried.extend(overlay.carried.iter().map(|(name, definition)| (name.clone(), Some(definition.clone()))));
        Ok(Self {
            label: label.into(),
            source,
            program,
            methods,
            names,
            event,
            with_events,
            carried,
            error_object,
            trace,
            validators: Mutex::default(),
        })
    }

    /// How findings name this bundle: a revision such as `1.4.13`, or what the caller gave.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether the bundle defines this name.
    pub fn is_definition(&self, name: &str) -> bool {
        self.source.definitions.contains_key(name)
    }

    /// Whether the bundle lists any method, notification or request; without one there is no frame that it could judge.
    pub fn has_methods(&self) -> bool {
        !self.methods.is_empty()
    }

    /// Builds the validators of all definitions once, to find out early what the slow lane could not work with.
    ///
    /// # Errors
    /// When the validator refuses a definition, for example for a pattern that is none.
    pub fn check(&self) -> Result<(), SchemaError> {
        self.source.definitions.keys().try_for_each(|name| {
            self.validators(name)
                .as_ref()
                .as_ref()
                .map(drop)
                .map_err(|message| SchemaError::Unusable { definition: name.clone(), message: message.clone() })
        })
    }

    /// The codes of the rows to which an error kind belongs.
    pub(crate) fn codes_of(&self, kind: &str) -> Vec<i64> {
        self.source.errors.iter().filter(|(_, known)| known == kind).map(|(code, _)| *code).collect()
    }

    pub(crate) fn find_method(&self, name: &[u8]) -> Option<usize> {
        self.names.find(name)
    }

    pub(crate) fn find_carried(&self, event: &str) -> Carried<'_> {
        match self.carried.get(event) {
            None => Carried::Unlisted,
            Some(None) => Carried::Anything,
            Some(Some(root)) => Carried::Root(root),
        }
    }

    /// Whether an event may be inside a value of this root.
    pub(crate) fn reaches_event(&self, root: &str) -> bool {
        self.with_events.contains(root)
    }

    /// The schema of a root: a reference to the definition, or what stands in the table of methods.
    pub(crate) fn root_schema(&self, name: &str) -> Value {
        if self.source.definitions.contains_key(name) {
            return json!({ "$ref": format!("#/$defs/{name}") });
        }
        let part = name.rsplit_once(' ').and_then(|(method, part)| {
            let row = self.source.rows.iter().find(|row| row.name == method)?;
            if part == "params" { row.params.clone() } else { row.result.clone() }
        });
        part.unwrap_or(Value::Bool(true))
    }

    /// Validators of a root, built at the first use.
    pub(crate) fn validators(&self, name: &str) -> Arc<Result<Validators, String>> {
        let mut built = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = built.get(name) {
            return Arc::clone(known);
        }
        let document = self.source.document(&self.root_schema(name));
        let fresh = Arc::new(Validators::build(document));
        built.insert(name.to_owned(), Arc::clone(&fresh));
        fresh
    }
}

/// Whether `{}` surely fits; where that is not plain to see, the slow lane is asked.
fn fits_empty(program: &Program, node: Id) -> bool {
    match &program.nodes[node as usize] {
        Node::Kinds(kinds) => kinds.holds(program::Kinds::OBJECT),
        Node::Object(object) => object.required == 0,
        Node::Same(other) => fits_empty(program, *other),
        Node::ByKind(by) => fits_empty(program, by[program::Kinds::OBJECT.slot()]),
        _ => false,
    }
}
