//! A frame in the slow lane: a document tree, the rules of the envelope, and everything that is wrong.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::parts::{Part, Same, twice};
use super::{Judge, Place, Told};
use crate::document;
use crate::pairing::IdRef;
use crate::rules::Rule;
use crate::schema::explain::shorten;
use crate::schema::source::Carrier;
use crate::transcript::Side;

/// What a frame is, as far as its members say.
enum Kind {
    Call { id: bool },
    Response,
}

impl Judge {
    /// Says everything that is wrong with a frame, and what the rules have to know of it.
    pub(super) fn slow(&mut self, place: Place<'_>) -> Told {
        let mut told = Told { side: place.frame.side, pending: None };
        let bytes = place.frame.bytes;
        if place.frame.side == Some(Side::Server) && bytes.last() == Some(&b'\r') {
            let finding = self.finding(
                Rule::CARRIAGE_RETURN,
                place,
                "a line feed only",
                "a carriage return before it".to_owned(),
            );
            self.push(finding);
        }
        if let Some(at) = memchr::memchr(b'\n', bytes) {
            let finding =
                self.finding(Rule::INNER_LINE_FEED, place, "no line feed inside", format!("one after {at} bytes"));
            self.push(finding);
        }
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => {
                let finding = self.finding(Rule::JSON, place, "a JSON object", document::fault(bytes, &error));
                self.push(finding);
                return told;
            }
        };
        for finding in twice(bytes, |rule, expected, actual| self.finding(rule, place, expected, actual)) {
            self.push(finding);
        }
        match &value {
            Value::Object(members) => self.envelope(place, members, &mut told),
            Value::Array(_) => {
                let finding = self.finding(Rule::BATCH, place, "one object", "an array".to_owned());
                self.push(finding);
            }
            other => {
                let finding = self.finding(Rule::JSON, place, "a JSON object", shorten(&other.to_string()));
                self.push(finding);
            }
        }
        told
    }

    fn at(&mut self, rule: Rule, place: Place<'_>, pointer: &str, expected: &str, actual: Option<&Value>) {
        let actual = actual.map_or_else(|| "nothing".to_owned(), |value| shorten(&value.to_string()));
        let mut finding = self.finding(rule, place, expected, actual);
        pointer.clone_into(&mut finding.pointer);
        self.push(finding);
    }

    fn envelope(&mut self, place: Place<'_>, members: &Map<String, Value>, told: &mut Told) {
        if members.get("jsonrpc").is_none_or(|version| version != "2.0") {
            self.at(Rule::VERSION, place, "/jsonrpc", "\"2.0\"", members.get("jsonrpc"));
        }
        let Some(kind) = kind(members) else {
            let finding =
                self.finding(Rule::SHAPE, place, "a request, a notification, a result or an error", shape(members));
            return self.push(finding);
        };
        let id = self.id(place, members.get("id"), members.contains_key("error"));
        match kind {
            Kind::Call { id: has_id } => self.call(place, members, has_id, id, told),
            Kind::Response => self.response(place, members, id, told),
        }
    }

    /// The id, where it is one that a table can hold.
    fn id<'v>(&mut self, place: Place<'_>, id: Option<&'v Value>, in_error: bool) -> Option<IdRef<'v>> {
        match id? {
            Value::String(text) => return Some(IdRef::Text(text)),
            Value::Number(number) if number.as_i64().is_some() => return number.as_i64().map(IdRef::Number),
            // An integer all the same, only one that does not fit 64 bits or is written as `1.0`: nothing pairs with it.
            Value::Number(number) if number.as_f64().is_some_and(|it| it.fract() == 0.0) => {}
            Value::Null if in_error => {}
            null @ Value::Null => self.at(Rule::NULL_ID, place, "/id", "a string or an integer", Some(null)),
            other => self.at(Rule::ID_KIND, place, "/id", "a string or an integer", Some(other)),
        }
        None
    }

    fn call(
        &mut self,
        place: Place<'_>,
        members: &Map<String, Value>,
        has_id: bool,
        id: Option<IdRef<'_>>,
        told: &mut Told,
    ) {
        let name = members.get("method").and_then(Value::as_str).unwrap_or_default();
        let schema = Arc::clone(&self.connections[place.conn as usize].schema);
        let found = schema.find_method(name.as_bytes());
        let params = members.get("params");
        let empty = Value::Object(Map::new());
        if let Some(params) = params.filter(|params| !params.is_object()) {
            self.at(Rule::PARAMS_OBJECT, place, "/params", "an object", Some(params));
        } else if let Some(row) = found.map(|method| &schema.methods[method]) {
            if let Some(root) = &row.params {
                let value = params.unwrap_or(&empty);
                let part =
                    Part { method: name, root: &root.name, value, at: "/params", same: Same::Params(row.carrier) };
                self.part(place, &schema, &part);
            }
        }
        if found.is_none() {
            let rule = if has_id { Rule::UNLISTED_REQUEST } else { Rule::UNLISTED_NOTIFICATION };
            let mut finding =
                self.finding(rule, place, "a method that the bundle lists", format!("`{}`", shorten(name)));
            "/method".clone_into(&mut finding.pointer);
            finding.method = Some(name.to_owned());
            self.push(finding);
        }
        let frame = if has_id { "Request" } else { "Notification" };
        self.frame_members(place, &schema, name, frame, members);
        let carrier = found.map(|method| schema.methods[method].carrier);
        if let Some(carrier) = carrier {
            self.carrier(place, name, carrier, has_id);
        }
        told.side = told.side.or(carrier.map(Carrier::sender));
        if let Some(id) = id {
            let sender = carrier.map_or(Side::Client, Carrier::sender);
            self.asked(place, place.frame.side.unwrap_or(sender), id, found);
        }
    }

    /// Whether the method goes this way, and as what it is.
    fn carrier(&mut self, place: Place<'_>, name: &str, carrier: Carrier, has_id: bool) {
        let (sender, request) = (carrier.sender(), carrier.is_request());
        let mut found = Vec::new();
        if request != has_id {
            let (expected, actual) = if request { ("a request", "no id") } else { ("a notification", "an id") };
            // UIN-9 says itself that this one is told, not asked.
            let rule = if name == "userInput/engaged" { Rule::of("UIN-9") } else { Rule::CARRIER };
            found.push(self.finding(rule, place, expected, actual.to_owned()));
        }
        if let Some(side) = place.frame.side.filter(|side| *side != sender) {
            let expected = format!("a frame of the {}", sender.word());
            found.push(self.finding(Rule::DIRECTION, place, &expected, format!("one of the {}", side.word())));
        }
        for mut finding in found {
            "/method".clone_into(&mut finding.pointer);
            finding.method = Some(name.to_owned());
            self.push(finding);
        }
    }

    fn response(&mut self, place: Place<'_>, members: &Map<String, Value>, id: Option<IdRef<'_>>, told: &mut Told) {
        let schema = Arc::clone(&self.connections[place.conn as usize].schema);
        let pending = id.and_then(|id| self.open.find(place.conn, place.frame.side, id));
        let row = pending.and_then(|(_, pending)| pending.method).map(|method| &schema.methods[method]);
        let name = row.map_or("", |row| &row.name);
        if let Some(error) = members.get("error").filter(|_| schema.is_definition("ErrorObject")) {
            let part = Part { method: name, root: "ErrorObject", value: error, at: "/error", same: Same::Definition };
            self.part(place, &schema, &part);
        }
        match members.get("result") {
            Some(result) if !result.is_object() => {
                self.at(Rule::RESULT_OBJECT, place, "/result", "an object", Some(result));
            }
            Some(result) => {
                if let Some((row, root)) = row.and_then(|row| Some((row, row.result.as_ref()?))) {
                    let same = Same::Result(row.carrier);
                    self.part(
                        place,
                        &schema,
                        &Part { method: name, root: &root.name, value: result, at: "/result", same },
                    );
                }
            }
            None => {}
        }
        let Some(id) = id else { return };
        let Some((asker, pending)) = pending else { return self.unasked(place, id) };
        self.open.answer(place.conn, asker, id);
        *told = Told { side: told.side.or(Some(asker.other())), pending: Some(pending.line) };
        if let Some(result) = members.get("result") {
            self.answered(place, pending, result.to_string().as_bytes());
        }
    }
}

fn kind(members: &Map<String, Value>) -> Option<Kind> {
    let id = members.contains_key("id");
    match (members.get("method"), members.contains_key("result"), members.contains_key("error")) {
        (Some(Value::String(_)), false, false) => Some(Kind::Call { id }),
        (None, true, false) | (None, false, true) if id => Some(Kind::Response),
        _ => None,
    }
}

/// What a frame of none of the four shapes looks like.
fn shape(members: &Map<String, Value>) -> String {
    if members.get("method").is_some_and(|method| !method.is_string()) {
        return "a method that is no string".to_owned();
    }
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    if names.is_empty() { "no member".to_owned() } else { shorten(&format!("the members `{}`", names.join("`, `"))) }
}
