//! What needs the experimental opt-in or a capability, read from the overlay of the schema: nothing is listed here a second time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use msp_schema::annotations::{Annotations, Delivery as Class};
use msp_schema::{Surface, pointer, published};
use msp_types::msp::errors;
use serde_json::{Map, Value};

use super::Handshake;
use crate::refusal::Refusal;
use crate::state::ADMISSION_PENDING;

/// The definition of an event on a page.
const EVENT: &str = "UnframedViewNotification";

/// Gates of all methods and notifications.
#[derive(Debug, Default)]
pub struct Gates {
    methods: BTreeMap<String, MethodGate>,
    notifications: BTreeMap<String, NotificationGate>,
    /// Capabilities that only the experimental surface grants.
    experimental_capabilities: BTreeSet<String>,
    /// All capabilities.
    capabilities: BTreeSet<String>,
    /// By definition: members that only the experimental surface has, and the definitions of the others.
    definitions: BTreeMap<String, Shape>,
}

#[derive(Debug, Default)]
struct MethodGate {
    experimental: bool,
    members: Vec<(String, String)>,
    /// Values of params that need the opt-in: path, value, descriptor.
    values: Vec<(String, String, String)>,
    capabilities: Vec<CapabilityGate>,
    result: Option<String>,
}

#[derive(Debug)]
struct CapabilityGate {
    capability: String,
    member: Option<String>,
    when_absent: bool,
}

#[derive(Debug, Default)]
struct NotificationGate {
    experimental: bool,
    protected: bool,
    capability: Option<CapabilityGate>,
    params: Option<String>,
}

#[derive(Debug, Default)]
struct Shape {
    withheld: BTreeSet<String>,
    inner: BTreeMap<String, String>,
}

/// The gates of the packaged schema.
pub fn gates() -> &'static Gates {
    static GATES: OnceLock<Gates> = OnceLock::new();
    GATES.get_or_init(Gates::read)
}

impl Gates {
    fn read() -> Self {
        let (bundle, overlay) = (published::bundle(Surface::Experimental), Annotations::published());
        let mut gates = Self::default();
        for row in bundle.methods() {
            let mut gate = MethodGate { result: row.result.clone(), ..MethodGate::default() };
            let entry = overlay.method(&row.name);
            gate.experimental = entry.is_some_and(|entry| entry.surface == Surface::Experimental);
            let properties =
                row.params.as_ref().and_then(|name| bundle.definition(name)?.get("properties")?.as_object());
            for member in properties.into_iter().flat_map(Map::keys) {
                let entry = row.params.as_ref().and_then(|params| overlay.member(params, member));
                if !gate.experimental && entry.is_some_and(|entry| entry.surface == Surface::Experimental) {
                    gate.members.push((member.clone(), format!("{}.{member}", row.name)));
                }
            }
            for unlisted in entry.into_iter().flat_map(|entry| &entry.unlisted) {
                let Some(descriptor) = unlisted.descriptor.clone() else { continue };
                match unlisted.when.as_str() {
                    "present" => gate.members.push((unlisted.member.clone(), descriptor)),
                    value => gate.values.push((unlisted.member.clone(), value.to_owned(), descriptor)),
                }
            }
            gates.methods.insert(row.name.clone(), gate);
        }
        for row in bundle.notifications() {
            let entry = overlay.notification(&row.name);
            let gate = NotificationGate {
                experimental: entry.is_some_and(|entry| entry.surface == Surface::Experimental),
                protected: entry.is_some_and(|entry| entry.protected == Some(true)),
                capability: None,
                params: row.params.clone(),
            };
            gates.notifications.insert(row.name.clone(), gate);
        }
        gates.read_capabilities(overlay);
        gates.read_shapes(overlay);
        gates
    }

    fn read_capabilities(&mut self, overlay: &Annotations) {
        for name in &published::bundle(Surface::Experimental).capabilities().grantable {
            self.capabilities.insert(name.clone());
            let Some(entry) = overlay.capability(name) else { continue };
            if entry.surface == Surface::Experimental {
                self.experimental_capabilities.insert(name.clone());
            }
            for opened in &entry.opens {
                let tokens: Vec<_> =
                    pointer::tokens(&opened.at).map(|token| pointer::unescape(&token).into_owned()).collect();
                let gate = CapabilityGate {
                    capability: name.clone(),
                    member: opened.member.clone(),
                    when_absent: opened.when.as_deref() == Some("absent"),
                };
                match tokens.as_slice() {
                    [kind, method] if kind == "methods" && entry.refusal.is_some() => {
                        self.methods.entry(method.clone()).or_default().capabilities.push(gate);
                    }
                    [kind, method] if kind == "notifications" => {
                        self.notifications.entry(method.clone()).or_default().capability = Some(gate);
                    }
                    _ => {}
                }
            }
        }
    }

    fn read_shapes(&mut self, overlay: &Annotations) {
        let bundle = published::bundle(Surface::Experimental);
        for (name, definition) in bundle.definitions() {
            let mut shape = Shape::default();
            for (member, schema) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if overlay.member(name, member).is_some_and(|entry| entry.surface == Surface::Experimental) {
                    shape.withheld.insert(member.clone());
                } else if let Some(inner) = referenced(schema) {
                    shape.inner.insert(member.clone(), inner);
                }
            }
            self.definitions.insert(name.to_owned(), shape);
        }
    }

    /// Refuses what a connection may not use: the method, a member, for want of the opt-in or of a capability (ERR-10).
    ///
    /// # Errors
    /// −32601 or −32602 with `experimentalRequired`, −32010.
    pub fn check(&self, method: &str, params: &Map<String, Value>, handshake: &Handshake) -> Result<(), Refusal> {
        let Some(gate) = self.methods.get(method) else { return Ok(()) };
        if gate.experimental && !handshake.experimental {
            return Err(Refusal::experimental(errors::METHOD_NOT_FOUND, method));
        }
        let withheld = |(member, _): &&(String, String)| params.contains_key(member);
        if let Some((_, descriptor)) = gate.members.iter().find(withheld).filter(|_| !handshake.experimental) {
            return Err(Refusal::experimental(errors::INVALID_PARAMS, descriptor));
        }
        let used = |(path, value, _): &&(String, String, String)| holds(&Value::Object(params.clone()), path, value);
        if let Some((_, _, descriptor)) = gate.values.iter().filter(|_| !handshake.experimental).find(used) {
            return Err(Refusal::experimental(errors::INVALID_PARAMS, descriptor));
        }
        for gate in &gate.capabilities {
            let present = gate.member.as_ref().is_none_or(|path| find(params, path).is_some());
            if present != gate.when_absent && !handshake.granted.contains(&gate.capability) {
                return Err(Refusal::capability(method, &gate.capability));
            }
        }
        Ok(())
    }

    /// Capabilities that a connection gets: those that it asked for and that this host knows (CAP-1).
    pub fn grant(&self, requested: &[String], experimental: bool, host: impl Fn(&str) -> bool) -> BTreeSet<String> {
        let known = |name: &&String| {
            self.capabilities.contains(*name)
                && (experimental || !self.experimental_capabilities.contains(*name))
                && host(name)
        };
        requested.iter().filter(known).cloned().collect()
    }

    /// Whether a connection gets a notification at all.
    pub fn delivers(&self, method: &str, params: &Map<String, Value>, handshake: &Handshake) -> bool {
        let Some(gate) = self.notifications.get(method) else { return true };
        let opted_out = !gate.protected && handshake.opted_out.contains(method);
        let hidden_item = params.get("item").is_some_and(|item| item["kind"] == "skillRead") && !handshake.experimental;
        !opted_out && !hidden_item && self.shows(method, params, handshake)
    }

    /// Whether a connection may see a notification at all, live or on a page.
    fn shows(&self, method: &str, params: &Map<String, Value>, handshake: &Handshake) -> bool {
        let Some(gate) = self.notifications.get(method) else { return true };
        let capability = gate.capability.as_ref().is_none_or(|gate| {
            let applies = gate.member.as_ref().is_none_or(|member| params.get(member).is_some() != gate.when_absent);
            !applies || handshake.granted.contains(&gate.capability)
        });
        capability && (handshake.experimental || !gate.experimental)
    }

    /// Whether a notification is never dropped and never opted out of (HS-15, BP-4).
    pub fn is_protected(&self, method: &str) -> bool {
        self.notifications.get(method).is_some_and(|gate| gate.protected)
    }

    /// Takes out of a result what its connection may not see: members that the stable surface does not have, events of a page that
    /// need the opt-in or a capability.
    pub fn strip_result(&self, method: &str, result: &mut Value, handshake: &Handshake) {
        if let Some(definition) = self.methods.get(method).and_then(|gate| gate.result.as_ref()) {
            self.strip(definition, result, handshake);
        }
    }

    /// The same for a notification's params.
    pub fn strip_params(&self, method: &str, params: &mut Value, handshake: &Handshake) {
        let definition = self.notifications.get(method).and_then(|gate| gate.params.as_ref());
        if let Some(definition) = definition.filter(|_| !handshake.experimental) {
            self.strip(definition, params, handshake);
        }
    }

    fn strip(&self, definition: &str, value: &mut Value, handshake: &Handshake) {
        match value {
            Value::Array(values) => {
                if definition == EVENT {
                    values.retain(|event| {
                        let method = event["method"].as_str().unwrap_or_default();
                        event["params"].as_object().is_none_or(|params| self.shows(method, params, handshake))
                    });
                }
                for value in values {
                    self.strip(definition, value, handshake);
                }
            }
            Value::Object(object) => {
                if definition == EVENT {
                    let method = object.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
                    if let Some(params) = object.get_mut("params") {
                        self.strip_params(&method, params, handshake);
                    }
                    return;
                }
                let Some(shape) = self.definitions.get(definition) else { return };
                if !handshake.experimental {
                    shape.withhold(object);
                }
                for (member, inner) in &shape.inner {
                    if let Some(value) = object.get_mut(member) {
                        self.strip(inner, value, handshake);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Shape {
    /// Takes out what only the experimental surface has.
    fn withhold(&self, object: &mut Map<String, Value>) {
        object.retain(|member, _| !self.withheld.contains(member));
        if let Some(Value::Array(flags)) = object.get_mut("attention") {
            flags.retain(|flag| flag != ADMISSION_PENDING);
            if flags.is_empty() {
                object.remove("attention"); // SESS-9
            }
        }
    }
}

/// The definition that a member refers to: itself, as an element, or as one of its alternatives.
fn referenced(schema: &Value) -> Option<String> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return name.rsplit('/').next().map(str::to_owned);
    }
    let alternatives = ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
    schema.get("items").into_iter().chain(alternatives).find_map(referenced)
}

/// A member by dotted path.
fn find<'a>(params: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = params.get(first)?;
    rest.map_or(Some(value), |rest| find(value.as_object()?, rest))
}

/// Whether a place, `[]` standing for any element of a list, has a value.
fn holds(value: &Value, path: &str, wanted: &str) -> bool {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let next = |value: &Value| rest.map_or_else(|| value == wanted, |rest| holds(value, rest, wanted));
    match first.strip_suffix("[]") {
        Some(member) => value.get(member).and_then(Value::as_array).is_some_and(|values| values.iter().any(next)),
        None => value.get(first).is_some_and(next),
    }
}

/// Whether a notification is a view event.
pub fn is_view_event(method: &str) -> bool {
    let view = |class: &Class| matches!(class, Class::View | Class::Ephemeral);
    Annotations::published().notification(method).is_some_and(|entry| entry.classes.iter().any(view))
}
