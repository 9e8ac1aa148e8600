// The words that generated types are written in: one macro per kind of type, and the few types those macros need.
//
// This file is hand-written and travels: the generator writes it beside its output, so that the output depends on serde and
// serde_json alone (and on regex-lite where a pattern is checked). Edit it in the generator, never in a copy.
// It is one file, however long, because it is handed on whole; sections that an output does not ask for are left out of the copy.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap};
use serde_json::{Map, Number, Value};

/// An optional member that may also be `null`, with the two kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Presence<T> {
    /// The member is not there, and is not written.
    #[default]
    Absent,
    /// The member is there and is `null`.
    Null,
    /// The member is there with a value.
    Value(T),
}

impl<T> Presence<T> {
    /// The value, if there is one; absent and `null` both give `None`.
    pub fn value(&self) -> Option<&T> {
        match self {
            Presence::Value(value) => Some(value),
            Presence::Absent | Presence::Null => None,
        }
    }

    /// Whether the member is written at all.
    pub fn is_absent(&self) -> bool {
        matches!(self, Presence::Absent)
    }
}

impl<T> From<T> for Presence<T> {
    fn from(value: T) -> Self {
        Presence::Value(value)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Presence<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::<T>::deserialize(deserializer)? {
            Some(value) => Presence::Value(value),
            None => Presence::Null,
        })
    }
}

impl<T: Serialize> Serialize for Presence<T> {
    /// Absent is written as `null` where something is written for it at all; objects leave it out.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// Members that the schema does not name, kept as they came and written back.
pub type Unknown<T = Value> = BTreeMap<String, T>;

/// A type whose values can be held against the demands of the schema that go beyond shape: bounds, lengths, patterns,
/// dependent members, closed objects.
pub trait Checked {
    /// Adds every violation below `at` to `out`.
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        let _ = (at, out);
    }

    // [strict]
    /// Every demand of the schema that this value does not meet, in schema order; empty for a good value.
    #[cfg(feature = "strict")]
    fn violations(&self) -> Vec<Violation> {
        let mut out = Vec::new();
        self.check(&Path::Root, &mut out);
        out
    }
    // [/strict]
}

/// Where a value stands inside the value that is checked.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The value itself.
    Root,
    /// A member.
    Member(&'a Path<'a>, &'a str),
    /// An element.
    Element(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    /// The JSON pointer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Member(parent, name) => write!(f, "{parent}/{}", name.replace('~', "~0").replace('/', "~1")),
            Path::Element(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// One demand of the schema that a value of the right shape does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// JSON pointer to the value, from the value that was checked.
    pub pointer: String,
    /// The keyword of JSON Schema that is not met.
    pub keyword: &'static str,
    /// What the keyword asks for.
    pub expected: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} asks for {}", self.pointer, self.keyword, self.expected)
    }
}

// [strict]
/// Why [`from_json_strict`] refused a text.
#[cfg(feature = "strict")]
#[derive(Debug)]
#[non_exhaustive]
pub enum StrictError {
    /// Not JSON, or not of the type's shape.
    Shape(serde_json::Error),
    /// Of the right shape, but in conflict with further demands of the schema.
    Violations(Vec<Violation>),
}

#[cfg(feature = "strict")]
impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrictError::Shape(error) => error.fmt(f),
            StrictError::Violations(all) => {
                for (index, violation) in all.iter().enumerate() {
                    write!(f, "{}{violation}", if index == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(feature = "strict")]
impl std::error::Error for StrictError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StrictError::Shape(error) => Some(error),
            StrictError::Violations(_) => None,
        }
    }
}

/// Decodes a text and holds the value against everything its schema asks for.
///
/// # Errors
/// [`StrictError::Shape`] where plain decoding fails, [`StrictError::Violations`] with all of them otherwise.
#[cfg(feature = "strict")]
pub fn from_json_strict<T: DeserializeOwned + Checked>(text: &str) -> Result<T, StrictError> {
    let value: T = serde_json::from_str(text).map_err(StrictError::Shape)?;
    let violations = value.violations();
    if violations.is_empty() { Ok(value) } else { Err(StrictError::Violations(violations)) }
}
// [/strict]

impl Checked for Value {}
impl Checked for Number {}
impl Checked for Map<String, Value> {}
impl Checked for String {}
impl Checked for bool {}
impl Checked for i64 {}
impl Checked for u64 {}
impl Checked for () {}

impl<T: Checked + ?Sized> Checked for Box<T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        (**self).check(at, out);
    }
}

impl<T: Checked> Checked for Option<T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        if let Some(value) = self {
            value.check(at, out);
        }
    }
}

impl<T: Checked> Checked for Presence<T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        if let Presence::Value(value) = self {
            value.check(at, out);
        }
    }
}

impl<T: Checked> Checked for Vec<T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        for (index, value) in self.iter().enumerate() {
            value.check(&Path::Element(at, index), out);
        }
    }
}

impl<T: Checked> Checked for BTreeMap<String, T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        for (name, value) in self {
            value.check(&Path::Member(at, name), out);
        }
    }
}

/// A demand of the schema beyond shape. Numbers are the keyword's own.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// `minimum`, an integer.
    Minimum(i128),
    /// `maximum`, an integer.
    Maximum(i128),
    /// `exclusiveMinimum`, an integer.
    ExclusiveMinimum(i128),
    /// `exclusiveMaximum`, an integer.
    ExclusiveMaximum(i128),
    /// `minimum`, a fraction.
    MinimumReal(f64),
    /// `maximum`, a fraction.
    MaximumReal(f64),
    /// `exclusiveMinimum`, a fraction.
    ExclusiveMinimumReal(f64),
    /// `exclusiveMaximum`, a fraction.
    ExclusiveMaximumReal(f64),
    /// `multipleOf`.
    MultipleOf(f64),
    /// `minLength`, in Unicode scalar values.
    MinLength(u64),
    /// `maxLength`, in Unicode scalar values.
    MaxLength(u64),
    /// `pattern`, searched anywhere in the text.
    Pattern(&'static str),
    /// `minItems`.
    MinItems(u64),
    /// `maxItems`.
    MaxItems(u64),
    /// `uniqueItems: true`.
    UniqueItems,
    /// `minProperties`.
    MinProperties(u64),
    /// `maxProperties`.
    MaxProperties(u64),
    /// `dependentRequired`: where the first member is there, the others are.
    DependentRequired(&'static str, &'static [&'static str]),
}

/// The JSON type of a value, as a union's alternatives are told apart by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "written in macro calls as JSON Schema writes them")]
pub enum Kind {
    /// `null`.
    null,
    /// `true` or `false`.
    boolean,
    /// A number without fraction and exponent.
    integer,
    /// Any number.
    number,
    /// A string.
    string,
    /// An array.
    array,
    /// An object.
    object,
}

impl Kind {
    /// Whether `value` is of this type.
    pub fn fits(self, value: &Value) -> bool {
        match self {
            Kind::null => value.is_null(),
            Kind::boolean => value.is_boolean(),
            Kind::integer => value.is_i64() || value.is_u64(),
            Kind::number => value.is_number(),
            Kind::string => value.is_string(),
            Kind::array => value.is_array(),
            Kind::object => value.is_object(),
        }
    }
}

/// A row of an error table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorRow {
    /// JSON-RPC code; none where the protocol has words only.
    pub code: Option<i64>,
    /// The kind that the code usually stands for.
    pub kind: &'static str,
    /// Other kinds that come under the same code.
    pub override_kinds: &'static [&'static str],
    /// Whether the same request may succeed later; `None` where the table does not say.
    pub retryable: Option<bool>,
}

impl ErrorRow {
    /// A row of a generated table.
    #[doc(hidden)]
    pub const fn row(
        code: Option<i64>,
        kind: &'static str,
        override_kinds: &'static [&'static str],
        retryable: Option<bool>,
    ) -> Self {
        Self { code, kind, override_kinds, retryable }
    }
}

/// Whether a part of the protocol is open to everyone or needs the experimental opt-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// On the stable surface.
    Stable,
    /// On the experimental surface only.
    Experimental,
}

/// What a request does to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes something and is repeatable by its command id.
    Command,
    /// Reads, subscribes or sets up.
    Query,
}

/// Who sends a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Client to host.
    ToHost,
    /// Host to client.
    ToClient,
}

/// A request that one side makes and the other answers.
pub trait Call {
    /// Wire name.
    const NAME: &'static str;
    /// Params; `()` where there are none.
    type Params: Serialize + DeserializeOwned;
    /// Result.
    type Result: Serialize + DeserializeOwned;
    /// What it does.
    const EFFECT: Effect;
    /// Where it stands.
    const STABILITY: Stability;
}

/// A message without an answer: a notification, or an event that a trigger delivers.
pub trait Event {
    /// Wire name.
    const NAME: &'static str;
    /// Params or payload; `()` where there are none.
    type Params: Serialize + DeserializeOwned;
    /// Who sends it.
    const DIRECTION: Direction;
    /// Where it stands.
    const STABILITY: Stability;
}

/// An event that is delivered to bindings, each with a config of its own.
pub trait Bound: Event {
    /// The config of a binding: its filters.
    type Config: Serialize + DeserializeOwned;
}

/// An enum over all messages of a registry.
pub trait Message: Sized {
    /// Every wire name that the registry lists.
    const LISTED: &'static [&'static str];

    /// The message of this name; a name that is not listed gives the unlisted arm.
    ///
    /// # Errors
    /// When the params do not have the shape that the name asks for.
    fn decode(method: &str, params: Option<Value>) -> Result<Self, serde_json::Error>;

    /// Wire name.
    fn method(&self) -> &str;

    /// Params as JSON; `None` where the message has none.
    ///
    /// # Errors
    /// Never for values that were decoded; a map with keys that are no strings cannot be written.
    fn params(&self) -> Result<Option<Value>, serde_json::Error>;
}

/// Params of a message that has none; whatever came in their place is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoParams(pub Option<Value>);

impl<'de> Deserialize<'de> for NoParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self)
    }
}

impl Serialize for NoParams {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// One JSON-RPC frame, with requests and notifications typed by the two registries.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Frame<R, N> {
    /// A request; the other side answers under the same id.
    Request {
        /// Integer or string.
        id: Value,
        /// What is asked for.
        request: R,
        /// Further members of the frame.
        unknown: Unknown,
    },
    /// A message without an answer.
    Notification {
        /// What happened.
        notification: N,
        /// Further members of the frame, such as `emittedAtMs`.
        unknown: Unknown,
    },
    /// A good answer. Its type is known from the request: decode `result` as [`Call::Result`].
    Response {
        /// The id of the request.
        id: Value,
        /// The result.
        result: Value,
        /// Further members of the frame.
        unknown: Unknown,
    },
    /// A refusal.
    Error {
        /// The id of the request, or `null` where it could not be read.
        id: Value,
        /// The error object.
        error: Value,
        /// Further members of the frame.
        unknown: Unknown,
    },
}

impl<R: Message, N: Message> Frame<R, N> {
    /// Decodes one frame.
    ///
    /// # Errors
    /// When the text is no JSON object, is none of the four forms of a frame, or has params of the wrong shape.
    pub fn decode(text: &str) -> Result<Self, serde_json::Error> {
        use serde::de::Error as _;
        let mut unknown: Unknown = serde_json::from_str(text)?;
        match unknown.remove("jsonrpc") {
            Some(Value::String(version)) if version == "2.0" => {}
            _ => return Err(serde_json::Error::custom("member `jsonrpc` is not \"2.0\"")),
        }
        let id = unknown.remove("id");
        let method = match unknown.remove("method") {
            Some(Value::String(method)) => Some(method),
            Some(_) => return Err(serde_json::Error::custom("`method` is no string")),
            None => None,
        };
        if let Some(method) = method {
            let params = unknown.remove("params");
            if params.as_ref().is_some_and(|params| !params.is_object() && !params.is_array()) {
                return Err(serde_json::Error::custom(format_args!("params of `{method}` are no object and no array")));
            }
            let place = |error| serde_json::Error::custom(format_args!("params of `{method}`: {error}"));
            return Ok(match id {
                Some(id) => {
                    let id = checked_id(id, false)?;
                    Frame::Request { id, request: R::decode(&method, params).map_err(place)?, unknown }
                }
                None => Frame::Notification { notification: N::decode(&method, params).map_err(place)?, unknown },
            });
        }
        let id = id.ok_or_else(|| serde_json::Error::custom("a frame without `method` has to have an `id`"))?;
        match (unknown.remove("result"), unknown.remove("error")) {
            (Some(result), None) => Ok(Frame::Response { id: checked_id(id, false)?, result, unknown }),
            (None, Some(error)) => Ok(Frame::Error { id: checked_id(id, true)?, error, unknown }),
            _ => Err(serde_json::Error::custom("a frame without `method` has either `result` or `error`")),
        }
    }

    /// The frame as one line of JSON, without the line feed.
    ///
    /// # Errors
    /// As [`Message::params`].
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        let mut object = Map::new();
        object.insert("jsonrpc".to_owned(), "2.0".into());
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        let unknown = match self {
            Frame::Request { id, request, unknown } => {
                put("id", id.clone());
                put("method", request.method().into());
                request.params()?.map(|params| put("params", params));
                unknown
            }
            Frame::Notification { notification, unknown } => {
                put("method", notification.method().into());
                notification.params()?.map(|params| put("params", params));
                unknown
            }
            Frame::Response { id, result, unknown } => {
                put("id", id.clone());
                put("result", result.clone());
                unknown
            }
            Frame::Error { id, error, unknown } => {
                put("id", id.clone());
                put("error", error.clone());
                unknown
            }
        };
        for (name, value) in unknown {
            object.insert(name.clone(), value.clone());
        }
        serde_json::to_string(&object)
    }
}

/// An id is a string or an integer; `null` only where the other side could not read it.
fn checked_id(id: Value, nullable: bool) -> Result<Value, serde_json::Error> {
    use serde::de::Error as _;
    match &id {
        Value::String(_) => Ok(id),
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(id),
        Value::Null if nullable => Ok(id),
        _ => Err(serde_json::Error::custom(format_args!("`id` is `{id}`, neither a string nor an integer"))),
    }
}

/// What the macros call. Not for use outside generated code.
#[doc(hidden)]
pub mod internal {
    use super::{
        BTreeMap, Checked, Deserialize, DeserializeOwned, Deserializer, Kind, Limit, Map, MapAccess, Path, Presence,
        Serialize, SerializeMap, Value, Violation, Visitor, fmt,
    };
    use serde::de::{DeserializeSeed, Error};
    use serde::ser::Serializer;
    use std::marker::PhantomData;

    /// A type that is read from an object.
    pub trait Object: Sized {
        fn read<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
    }

    /// Reads an object; `name` is the type's own.
    pub fn object<'de, T: Object, D: Deserializer<'de>>(deserializer: D, name: &'static str) -> Result<T, D::Error> {
        deserializer.deserialize_map(Whole(name, PhantomData))
    }

    struct Whole<T>(&'static str, PhantomData<T>);

    impl<'de, T: Object> Visitor<'de> for Whole<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object that is a `{}`", self.0)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::read(map)
        }
    }

    /// The name of a member as it was read: its place in a list of names, or the text itself.
    enum Name {
        Member(usize),
        Constant(usize),
        Other(String),
    }

    /// Reads a name without allocating where it is known; the search starts behind the last hit, since members mostly come in
    /// the order of the schema.
    struct Names<'a>(&'a [&'static str], &'a [Constant], usize);

    impl<'de> DeserializeSeed<'de> for Names<'_> {
        type Value = Name;
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
            deserializer.deserialize_identifier(self)
        }
    }

    impl Visitor<'_> for Names<'_> {
        type Value = Name;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a member name")
        }
        fn visit_str<E>(self, text: &str) -> Result<Name, E> {
            let (before, after) = self.0.split_at(self.2.min(self.0.len()));
            let behind = after.iter().position(|name| *name == text).map(|at| at + before.len());
            if let Some(at) = behind.or_else(|| before.iter().position(|name| *name == text)) {
                return Ok(Name::Member(at));
            }
            let constant = self.1.iter().position(|constant| constant.name == text);
            Ok(constant.map_or_else(|| Name::Other(text.to_owned()), Name::Constant))
        }
    }

    /// The place of a member while its object is read, whatever its type: so one loop serves all objects, and each type costs a
    /// list of places only.
    pub trait Slot<'de, A: MapAccess<'de>> {
        fn fill(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error>;
    }

    impl<'de, A: MapAccess<'de>, T: Deserialize<'de>> Slot<'de, A> for Option<T> {
        fn fill(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
            if self.is_some() {
                return Err(A::Error::duplicate_field(name));
            }
            *self = Some(map.next_value().map_err(|error| inside(name, &error))?);
            Ok(())
        }
    }

    /// A member that always has the same text, and what came for it.
    pub struct Constant {
        name: &'static str,
        text: &'static str,
        found: Option<String>,
    }

    impl Constant {
        pub fn new(name: &'static str, text: &'static str) -> Self {
            Self { name, text, found: None }
        }

        /// It has to be there with its text.
        fn judge<E: Error>(&self) -> Result<(), E> {
            let Self { name, text, found } = self;
            match found {
                Some(found) if found == text => Ok(()),
                Some(found) => Err(E::custom(format_args!("member `{name}` is `{found}`, expected `{text}`"))),
                None => Err(E::missing_field(name)),
            }
        }
    }

    /// Reads all members of an object into their slots; `names` are those of the slots, in the same order.
    pub fn read<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
        mut map: A,
        names: &'static [&'static str],
        slots: &mut [&mut dyn Slot<'de, A>],
        constants: &mut [Constant],
        unknown: &mut BTreeMap<String, T>,
    ) -> Result<(), A::Error> {
        let mut next = 0;
        while let Some(name) = map.next_key_seed(Names(names, constants, next))? {
            match name {
                Name::Member(at) => {
                    next = at + 1;
                    slots[at].fill(names[at], &mut map)?;
                }
                Name::Constant(at) => constants[at].found.fill(constants[at].name, &mut map)?,
                Name::Other(name) => {
                    let value = map.next_value().map_err(|error| inside(&name, &error))?;
                    unknown.insert(name, value);
                }
            }
        }
        constants.iter().try_for_each(Constant::judge)
    }

    /// The slot of a member before anything was read, by how the member may be missing.
    pub mod empty {
        pub fn req<T>() -> Option<T> {
            None
        }
        pub fn nullable<T>() -> Option<T> {
            None
        }
        pub fn opt<T: Default>() -> T {
            T::default()
        }
        pub fn presence<T>() -> Option<T> {
            None
        }
    }

    /// The member that a slot holds after all was read; none where a required one did not come.
    pub mod filled {
        pub fn req<T>(slot: Option<T>) -> Option<T> {
            slot
        }
        pub fn nullable<T>(slot: Option<T>) -> Option<T> {
            slot
        }
        pub fn opt<T>(slot: T) -> Option<T> {
            Some(slot)
        }
        pub fn presence<T: Default>(slot: Option<T>) -> Option<T> {
            Some(slot.unwrap_or_default())
        }
    }

    pub fn missing<E: Error>(name: &'static str) -> E {
        E::missing_field(name)
    }

    /// An error with the member that it is in, so that the pointer grows on the way out.
    fn inside<E: Error>(name: &str, error: &E) -> E {
        E::custom(inside_text(name, &error.to_string()))
    }

    fn inside_text(name: &str, text: &str) -> String {
        let name = name.replace('~', "~0").replace('/', "~1");
        match text.strip_prefix("`/") {
            Some(rest) => format!("`/{name}/{rest}"),
            None => format!("`/{name}`: {text}"),
        }
    }

    /// Writes the members of an object, by how each may be missing. An error is kept to the end, so that writing a member is one
    /// call without a branch.
    pub struct Writer<S: Serializer>(Result<S::SerializeMap, S::Error>);

    impl<S: Serializer> Writer<S> {
        pub fn new(serializer: S) -> Self {
            Self(serializer.serialize_map(None))
        }

        pub fn req<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) {
            if let Ok(map) = &mut self.0 {
                if let Err(error) = map.serialize_entry(name, value) {
                    self.0 = Err(error);
                }
            }
        }

        pub fn nullable<T: Serialize>(&mut self, name: &'static str, value: &Option<T>) {
            self.req(name, value);
        }

        pub fn opt<T: Serialize>(&mut self, name: &'static str, value: &Option<T>) {
            if let Some(value) = value {
                self.req(name, value);
            }
        }

        pub fn presence<T: Serialize>(&mut self, name: &'static str, value: &Presence<T>) {
            match value {
                Presence::Absent => {}
                Presence::Null => self.req(name, &()),
                Presence::Value(value) => self.req(name, value),
            }
        }

        /// Writes what the schema does not name, and ends the object.
        pub fn end<T: Serialize>(self, unknown: &BTreeMap<String, T>) -> Result<S::Ok, S::Error> {
            let mut map = self.0?;
            for (name, value) in unknown {
                map.serialize_entry(name, value)?;
            }
            map.end()
        }
    }

    /// Reads a string and lets `pick` find its variant; `None` refuses it.
    pub struct Text<F>(pub F, pub &'static str);

    impl<T, F: Fn(&str) -> Option<T>> Visitor<'_> for Text<F> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a string that is a `{}`", self.1)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text)
                .ok_or_else(|| E::custom(format_args!("`{text}` is no value of the closed enum `{}`", self.1)))
        }
    }

    /// Reads an object and gives it with the text of its tag.
    pub fn tagged<'de, D: Deserializer<'de>>(
        deserializer: D,
        tag: &'static str,
    ) -> Result<(String, Map<String, Value>), D::Error> {
        let object = Map::<String, Value>::deserialize(deserializer)?;
        match object.get(tag) {
            Some(Value::String(text)) => Ok((text.clone(), object)),
            Some(_) => Err(D::Error::custom(format_args!("tag `{tag}` is no string"))),
            None => Err(D::Error::missing_field(tag)),
        }
    }

    pub fn decode<T: DeserializeOwned, E: Error>(value: Value) -> Result<T, E> {
        serde_json::from_value(value).map_err(E::custom)
    }

    /// Params that are `null` are none: JSON-RPC allows objects and arrays only.
    pub fn given(params: Value) -> Option<Value> {
        Some(params).filter(|params| !params.is_null())
    }

    pub fn unlisted<E: Error>(tag: &'static str, text: &str) -> E {
        E::custom(format_args!("tag `{tag}` is `{text}`, which no alternative has"))
    }

    /// What the alternatives of a union made of a value.
    pub struct Choice<T> {
        clean: Option<T>,
        first: Option<T>,
        error: Option<serde_json::Error>,
    }

    impl<T: Checked> Choice<T> {
        #[allow(clippy::new_without_default, reason = "an empty choice is no value that anybody should come by")]
        pub fn new() -> Self {
            Self { clean: None, first: None, error: None }
        }

        /// Tries one alternative: the first that meets every demand wins, else the first of the right shape. An object that lacks
        /// what the alternative needs is not tried: each try costs a walk through all that is inside, and unions nest.
        pub fn offer<U: DeserializeOwned>(&mut self, value: &Value, kinds: &[Kind], needs: &[&str], wrap: fn(U) -> T) {
            if self.clean.is_some() || !kinds.iter().any(|kind| kind.fits(value)) {
                return;
            }
            if let Some(missing) =
                needs.iter().find(|need| value.as_object().is_some_and(|object| !object.contains_key(**need)))
            {
                self.error.get_or_insert_with(|| serde_json::Error::custom(format_args!("missing field `{missing}`")));
                return;
            }
            match U::deserialize(value) {
                Ok(inner) => {
                    let whole = wrap(inner);
                    let mut violations = Vec::new();
                    whole.check(&Path::Root, &mut violations);
                    if violations.is_empty() {
                        self.clean = Some(whole);
                    } else if self.first.is_none() {
                        self.first = Some(whole);
                    }
                }
                Err(error) => {
                    self.error.get_or_insert(error);
                }
            }
        }

        pub fn take<E: Error>(self, name: &'static str) -> Result<T, E> {
            self.clean.or(self.first).ok_or_else(|| match self.error {
                Some(error) => E::custom(format_args!("no alternative of `{name}` fits; the first says: {error}")),
                None => E::custom(format_args!("no alternative of `{name}` takes a value of this JSON type")),
            })
        }
    }

    /// One of a closed list of JSON values, each written as JSON text.
    pub fn listed<'de, D: Deserializer<'de>>(deserializer: D, texts: &[&str], name: &str) -> Result<Value, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let same = |text: &&str| serde_json::from_str::<Value>(text).is_ok_and(|listed| equal(&listed, &value));
        if texts.iter().any(same) {
            return Ok(value);
        }
        Err(D::Error::custom(format_args!("`{value}` is no value of `{name}`")))
    }

    /// Equality of JSON Schema: numbers by value, so `1` is `1.0`.
    pub fn equal(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => a == b || (a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64())),
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
            }
            _ => a == b,
        }
    }

    /// Holds a value against limits and against what its own type asks for.
    pub fn member<T: Serialize + Checked>(
        value: &T,
        name: &str,
        at: &Path<'_>,
        limits: &[Limit],
        out: &mut Vec<Violation>,
    ) {
        let at = Path::Member(at, name);
        limited(value, &at, limits, out);
        value.check(&at, out);
    }

    /// An object that allows no other members than it names.
    pub fn closed<T>(unknown: &BTreeMap<String, T>, at: &Path<'_>, out: &mut Vec<Violation>) {
        for name in unknown.keys() {
            let pointer = Path::Member(at, name).to_string();
            out.push(Violation { pointer, keyword: "additionalProperties", expected: "no such member".to_owned() });
        }
    }

    /// Limits are judged over the JSON form: they are rare, and one text of each keyword serves all types.
    pub fn limited<T: Serialize>(value: &T, at: &Path<'_>, limits: &[Limit], out: &mut Vec<Violation>) {
        if limits.is_empty() {
            return;
        }
        // A value that cannot be written has no JSON form to judge.
        let Ok(json) = serde_json::to_value(value) else { return };
        for limit in limits {
            limit.judge(&json, at, out);
        }
    }

    impl Limit {
        fn judge(&self, json: &Value, at: &Path<'_>, out: &mut Vec<Violation>) {
            if let Some((keyword, expected)) = self.broken(json) {
                out.push(Violation { pointer: at.to_string(), keyword, expected });
            }
        }

        /// The keyword and what it asks for, where `json` is of the type it speaks of and does not meet it.
        fn broken(&self, json: &Value) -> Option<(&'static str, String)> {
            use std::cmp::Ordering::{Equal, Greater, Less};
            let say = |bad: bool, keyword: &'static str, expected: String| bad.then_some((keyword, expected));
            let length = |json: &Value| json.as_str().map(|text| text.chars().count() as u64);
            let items = |json: &Value| json.as_array().map(|items| items.len() as u64);
            let members = |json: &Value| json.as_object().map(|object| object.len() as u64);
            match *self {
                Limit::Minimum(n) => say(against(json, n)? == Less, "minimum", format!("at least {n}")),
                Limit::Maximum(n) => say(against(json, n)? == Greater, "maximum", format!("at most {n}")),
                Limit::ExclusiveMinimum(n) => {
                    say(matches!(against(json, n)?, Less | Equal), "exclusiveMinimum", format!("more than {n}"))
                }
                Limit::ExclusiveMaximum(n) => {
                    say(matches!(against(json, n)?, Greater | Equal), "exclusiveMaximum", format!("less than {n}"))
                }
                Limit::MinimumReal(n) => say(json.as_f64()? < n, "minimum", format!("at least {n}")),
                Limit::MaximumReal(n) => say(json.as_f64()? > n, "maximum", format!("at most {n}")),
                Limit::ExclusiveMinimumReal(n) => {
                    say(json.as_f64()? <= n, "exclusiveMinimum", format!("more than {n}"))
                }
                Limit::ExclusiveMaximumReal(n) => {
                    say(json.as_f64()? >= n, "exclusiveMaximum", format!("less than {n}"))
                }
                Limit::MultipleOf(n) => say(!multiple(json, n)?, "multipleOf", format!("a multiple of {n}")),
                Limit::MinLength(n) => say(length(json)? < n, "minLength", some("at least", n, "character")),
                Limit::MaxLength(n) => say(length(json)? > n, "maxLength", some("at most", n, "character")),
                Limit::Pattern(text) => say(!matches(text, json.as_str()?), "pattern", format!("a match of `{text}`")),
                Limit::MinItems(n) => say(items(json)? < n, "minItems", some("at least", n, "item")),
                Limit::MaxItems(n) => say(items(json)? > n, "maxItems", some("at most", n, "item")),
                Limit::UniqueItems => say(!unique(json.as_array()?), "uniqueItems", "items that all differ".to_owned()),
                Limit::MinProperties(n) => say(members(json)? < n, "minProperties", some("at least", n, "member")),
                Limit::MaxProperties(n) => say(members(json)? > n, "maxProperties", some("at most", n, "member")),
                Limit::DependentRequired(name, needs) => {
                    let object = json.as_object()?;
                    let missing = needs.iter().find(|need| !object.contains_key(**need));
                    let missing = missing.filter(|_| object.contains_key(name))?;
                    say(true, "dependentRequired", format!("`{missing}` beside `{name}`"))
                }
            }
        }
    }

    /// `at least 1 item`, `at most 3 items`.
    fn some(how: &str, n: u64, what: &str) -> String {
        format!("{how} {n} {what}{}", if n == 1 { "" } else { "s" })
    }

    fn against(json: &Value, bound: i128) -> Option<std::cmp::Ordering> {
        match json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from)) {
            Some(integer) => Some(integer.cmp(&bound)),
            #[allow(clippy::cast_precision_loss, reason = "the other side is a double already")]
            None => json.as_f64()?.partial_cmp(&(bound as f64)),
        }
    }

    fn multiple(json: &Value, of: f64) -> Option<bool> {
        if let (Some(integer), true) = (json.as_u64(), of.fract() == 0.0 && of.abs() < 9e15) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 2^53")]
            return Some(of != 0.0 && integer % (of.abs() as u64) == 0);
        }
        if let (Some(integer), true) = (json.as_i64(), of.fract() == 0.0 && of.abs() < 9e15) {
            #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
            return Some(of != 0.0 && integer % (of as i64) == 0);
        }
        let quotient = json.as_f64()? / of;
        Some(quotient.is_finite() && (quotient - quotient.round()).abs() <= quotient.abs() * f64::EPSILON)
    }

    fn unique(items: &[Value]) -> bool {
        items.iter().enumerate().all(|(index, item)| !items[..index].iter().any(|earlier| equal(earlier, item)))
    }

    // [strict]
    /// A pattern that cannot be read is not checked; the generator warns of it (`codegen/pattern-unchecked`).
    #[cfg(feature = "strict")]
    fn matches(pattern: &str, text: &str) -> bool {
        regex_lite::Regex::new(pattern).map_or(true, |regex| regex.is_match(text))
    }
    // [/strict]

    // [lenient]
    #[cfg(not(feature = "strict"))]
    fn matches(_pattern: &str, _text: &str) -> bool {
        true
    }
    // [/lenient]
}

/// An object type. Members carry their wire name, how they may be missing (`req`, `opt`, `nullable`: required but perhaps
/// `null`, `presence`: absent, `null` or a value), and the feature they need, if any.
macro_rules! wire {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(as $schema:literal)? new($($arg:ident: $argty:ty),* $(,)?) {
            $(is $cwire:literal = $ctext:literal,)*
            $($(#[$doc:meta])* $wire:literal $kind:ident $(@ $gate:tt)? $field:ident: $ty:ty,)*
            ..$unknown:ident: $rest:ty
        }
        $(check { $(closed $closed:ident,)? $(rest $inner:ident,)? $(self [$($own:tt)*],)? $($cname:literal $cfield:ident [$($limit:tt)*] $(@ $cgate:tt)?,)* })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* $(#[cfg(feature = $gate)])? pub $field: $ty,)*
            /// Members that the schema does not name.
            pub $unknown: $rest,
        }

        #[allow(deprecated, reason = "a member may be; the type itself still has it")]
        impl $name {
            /// With the required members; all others are absent.
            #[allow(clippy::too_many_arguments, reason = "as many as the schema requires")]
            #[allow(clippy::new_without_default, reason = "members may become required")]
            #[inline]
            pub fn new($($arg: $argty),*) -> Self {
                Self {
                    $($(#[cfg(feature = $gate)])? $field: member!(@new $kind $field),)*
                    $unknown: ::std::default::Default::default(),
                }
            }
        }

        #[allow(deprecated, reason = "a member may be; the type itself still has it")]
        impl words::internal::Object for $name {
            fn read<'de, __A: ::serde::de::MapAccess<'de>>(map: __A) -> ::std::result::Result<Self, __A::Error> {
                $($(#[cfg(feature = $gate)])? let mut $field = words::internal::empty::$kind::<$ty>();)*
                let mut $unknown: $rest = ::std::collections::BTreeMap::new();
                words::internal::read(
                    map,
                    &[$($(#[cfg(feature = $gate)])? $wire,)*],
                    &mut [$($(#[cfg(feature = $gate)])? &mut $field,)*],
                    &mut [$(words::internal::Constant::new($cwire, $ctext),)*],
                    &mut $unknown,
                )?;
                $($(#[cfg(feature = $gate)])?
                let ::std::option::Option::Some($field) = words::internal::filled::$kind($field) else {
                    return ::std::result::Result::Err(words::internal::missing($wire));
                };)*
                ::std::result::Result::Ok($name { $($(#[cfg(feature = $gate)])? $field,)* $unknown })
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<__D: ::serde::Deserializer<'de>>(deserializer: __D) -> ::std::result::Result<Self, __D::Error> {
                words::internal::object(deserializer, stringify!($name))
            }
        }

        #[allow(deprecated, reason = "a member may be; the type itself still has it")]
        impl ::serde::Serialize for $name {
            #[allow(unused_mut, reason = "types without members")]
            fn serialize<__S: ::serde::Serializer>(&self, serializer: __S) -> ::std::result::Result<__S::Ok, __S::Error> {
                let mut object = words::internal::Writer::new(serializer);
                $(object.req($cwire, $ctext);)*
                $($(#[cfg(feature = $gate)])? object.$kind($wire, &self.$field);)*
                object.end(&self.$unknown)
            }
        }

        checks! { $name $($(closed $closed,)? $(rest $inner,)? $(self [$($own)*],)? $($cname $cfield [$($limit)*] $(@ $cgate)?,)*)? }
        describe! { @object $name ($($schema)?) [$($cwire = $ctext,)*] [$($wire $kind $(@ $gate)? $ty,)*] $rest
            { $($(closed $closed,)? $(rest $inner,)? $(self [$($own)*],)? $($cname [$($limit)*] $(@ $cgate)?,)*)? } }
    };
}

/// What the kinds of members differ in.
macro_rules! member {
    (@new req $field:ident) => {
        $field
    };
    (@new nullable $field:ident) => {
        $field
    };
    (@new opt $field:ident) => {
        ::std::option::Option::None
    };
    (@new presence $field:ident) => {
        words::Presence::Absent
    };
}

/// Strings of a list that may grow: a text that is not in it is kept.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident $(as $schema:literal)? {
            $($(#[$doc:meta])* $wire:literal $variant:ident $(@ $gate:tt)?,)*
            ..$other:ident
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $(#[cfg(feature = $gate)])? $variant,)*
            /// A text that the schema does not list.
            $other(::std::string::String),
        }

        impl $name {
            /// The text on the wire.
            #[inline]
            pub fn as_str(&self) -> &str {
                match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant => $wire,)*
                    Self::$other(text) => text,
                }
            }
        }

        impl ::std::convert::From<&str> for $name {
            #[inline]
            fn from(text: &str) -> Self {
                match text {
                    $($(#[cfg(feature = $gate)])? $wire => Self::$variant,)*
                    _ => Self::$other(text.to_owned()),
                }
            }
        }

        text! { $name |text| ::std::option::Option::Some($name::from(text)) }
        describe! { @text $name ($($schema)?) "open" [$($wire $(@ $gate)?,)*] }
    };
}

/// Strings of a list that is complete: a text that is not in it is refused.
macro_rules! closed_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident $(as $schema:literal)? {
            $($(#[$doc:meta])* $wire:literal $variant:ident $(@ $gate:tt)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $(#[cfg(feature = $gate)])? $variant,)*
        }

        impl $name {
            /// The text on the wire.
            #[inline]
            pub fn as_str(&self) -> &'static str {
                match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant => $wire,)*
                }
            }
        }

        text! { $name |text| ::std::option::Option::Some(match text {
            $($(#[cfg(feature = $gate)])? $wire => $name::$variant,)*
            _ => return ::std::option::Option::None,
        }) }
        describe! { @text $name ($($schema)?) "closed" [$($wire $(@ $gate)?,)*] }
    };
}

/// The serde half of both enums.
macro_rules! text {
    ($name:ident |$text:ident| $pick:expr) => {
        impl ::std::fmt::Display for $name {
            #[inline]
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<__D: ::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::std::result::Result<Self, __D::Error> {
                #[inline]
                fn pick($text: &str) -> ::std::option::Option<$name> {
                    $pick
                }
                deserializer.deserialize_str(words::internal::Text(pick, stringify!($name)))
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<__S: ::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::std::result::Result<__S::Ok, __S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl words::Checked for $name {}
    };
}

/// A union of objects that a constant member tells apart. A known tag with a bad payload is an error; an unknown tag goes to the
/// last alternative where there is one, else it is an error.
macro_rules! tagged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident $(as $schema:literal)? by $tag:literal {
            $($(#[$doc:meta])* $text:literal $variant:ident($ty:ty) $(@ $gate:tt)?,)*
            $(..$(#[$odoc:meta])* $other:ident($oty:ty))?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "as the schema has them; boxed where a cycle asks for it")]
        pub enum $name {
            $($(#[$doc])* $(#[cfg(feature = $gate)])? $variant($ty),)*
            $($(#[$odoc])* $other($oty),)?
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<__D: ::serde::Deserializer<'de>>(deserializer: __D) -> ::std::result::Result<Self, __D::Error> {
                let (text, object) = words::internal::tagged(deserializer, $tag)?;
                let value = ::serde_json::Value::Object(object);
                $($(#[cfg(feature = $gate)])? if text == $text {
                    return ::std::result::Result::Ok(Self::$variant(words::internal::decode(value)?));
                })*
                $(return ::std::result::Result::Ok(Self::$other(words::internal::decode::<$oty, __D::Error>(value)?));)?
                #[allow(unreachable_code, unused_variables, reason = "reached only where unknown tags are refused")]
                {
                    drop(value);
                    ::std::result::Result::Err(words::internal::unlisted($tag, &text))
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<__S: ::serde::Serializer>(&self, serializer: __S) -> ::std::result::Result<__S::Ok, __S::Error> {
                match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant(value) => ::serde::Serialize::serialize(value, serializer),)*
                    $(Self::$other(value) => ::serde::Serialize::serialize(value, serializer),)?
                }
            }
        }

        impl words::Checked for $name {
            #[inline]
            fn check(&self, at: &words::Path<'_>, out: &mut ::std::vec::Vec<words::Violation>) {
                match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant(value) => words::Checked::check(value, at, out),)*
                    $(Self::$other(value) => words::Checked::check(value, at, out),)?
                }
            }
        }

        describe! { @tagged $name ($($schema)?) $tag [$($text $ty $(=> $gate)?,)*] [$($oty)?] }
    };
}

/// A union that the JSON type tells apart, or that is tried in order where it cannot.
macro_rules! either {
    (
        $(#[$meta:meta])*
        pub enum $name:ident $(as $schema:literal)? {
            $($(#[$doc:meta])* $($kind:ident)|+ $(& [$($need:literal),+])? => $variant:ident($ty:ty) $(@ $gate:tt)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "as the schema has them; boxed where a cycle asks for it")]
        pub enum $name {
            $($(#[$doc])* $(#[cfg(feature = $gate)])? $variant($ty),)*
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<__D: ::serde::Deserializer<'de>>(deserializer: __D) -> ::std::result::Result<Self, __D::Error> {
                let value = <::serde_json::Value as ::serde::Deserialize>::deserialize(deserializer)?;
                let mut choice = words::internal::Choice::new();
                $($(#[cfg(feature = $gate)])? choice.offer(&value, &[$(words::Kind::$kind),+], &[$($($need),+)?], Self::$variant);)*
                choice.take(stringify!($name))
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<__S: ::serde::Serializer>(&self, serializer: __S) -> ::std::result::Result<__S::Ok, __S::Error> {
                match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant(value) => ::serde::Serialize::serialize(value, serializer),)*
                }
            }
        }

        impl words::Checked for $name {
            #[inline]
            fn check(&self, at: &words::Path<'_>, out: &mut ::std::vec::Vec<words::Violation>) {
                match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant(value) => words::Checked::check(value, at, out),)*
                }
            }
        }

        describe! { @union $name ($($schema)?) [$($ty $(=> $gate)?,)*] }
    };
}

/// A type of its own for a definition that is no object, enum or union: a text, a number, a list, a map, or another definition.
macro_rules! alias {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(as $schema:literal)? (pub $ty:ty);
        $(check [$($limit:tt)*])?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(pub $ty);

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<__D: ::serde::Deserializer<'de>>(deserializer: __D) -> ::std::result::Result<Self, __D::Error> {
                ::serde::Deserialize::deserialize(deserializer).map(Self)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<__S: ::serde::Serializer>(&self, serializer: __S) -> ::std::result::Result<__S::Ok, __S::Error> {
                ::serde::Serialize::serialize(&self.0, serializer)
            }
        }

        impl ::std::ops::Deref for $name {
            type Target = $ty;
            fn deref(&self) -> &$ty {
                &self.0
            }
        }

        impl ::std::convert::From<$ty> for $name {
            fn from(value: $ty) -> Self {
                Self(value)
            }
        }

        checks! { @alias $name [$($($limit)*)?] }
        describe! { @alias $name ($($schema)?) $ty [$($($limit)*)?] }
    };
}

/// A closed list of JSON values of any type, each written as JSON text.
macro_rules! values {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(as $schema:literal)? { $($text:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(::serde_json::Value);

        impl $name {
            /// The values that the schema lists, as JSON texts.
            pub const LISTED: &'static [&'static str] = &[$($text),*];

            /// The value.
            pub fn value(&self) -> &::serde_json::Value {
                &self.0
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<__D: ::serde::Deserializer<'de>>(deserializer: __D) -> ::std::result::Result<Self, __D::Error> {
                words::internal::listed(deserializer, Self::LISTED, stringify!($name)).map(Self)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<__S: ::serde::Serializer>(&self, serializer: __S) -> ::std::result::Result<__S::Ok, __S::Error> {
                ::serde::Serialize::serialize(&self.0, serializer)
            }
        }

        impl words::Checked for $name {}
        describe! { @values $name ($($schema)?) [$($text,)*] }
    };
}

// [strict]
/// What the schema asks for beyond shape.
#[cfg(feature = "strict")]
macro_rules! checks {
    (@alias $name:ident [$($limit:ident $(($($arg:tt)*))?),*]) => {
        #[allow(clippy::approx_constant, reason = "bounds are the schema's")]
        impl words::Checked for $name {
            #[inline]
            fn check(&self, at: &words::Path<'_>, out: &mut ::std::vec::Vec<words::Violation>) {
                words::internal::limited(self, at, &[$(words::Limit::$limit $(($($arg)*))?),*], out);
                words::Checked::check(&self.0, at, out);
            }
        }
    };
    ($name:ident) => { impl words::Checked for $name {} };
    (
        $name:ident
        $(closed $closed:ident,)?
        $(rest $inner:ident,)?
        $(self [$($own:ident $(($($oarg:tt)*))?),*],)?
        $($wire:literal $field:ident [$($limit:ident $(($($arg:tt)*))?),*] $(@ $gate:tt)?,)*
    ) => {
        #[allow(deprecated, clippy::approx_constant, reason = "members and bounds are the schema's")]
        impl words::Checked for $name {
            #[inline]
            fn check(&self, at: &words::Path<'_>, out: &mut ::std::vec::Vec<words::Violation>) {
                $(words::internal::limited(self, at, &[$(words::Limit::$own $(($($oarg)*))?),*], out);)?
                $(words::internal::closed(&self.$closed, at, out);)?
                $(words::Checked::check(&self.$inner, at, out);)?
                $($(#[cfg(feature = $gate)])?
                words::internal::member(&self.$field, $wire, at, &[$(words::Limit::$limit $(($($arg)*))?),*], out);)*
            }
        }
    };
}
// [/strict]

// [lenient]
/// Without strictness nothing is checked.
#[cfg(not(feature = "strict"))]
macro_rules! checks {
    (@alias $name:ident $($rest:tt)*) => {
        impl words::Checked for $name {}
    };
    ($name:ident $($rest:tt)*) => {
        impl words::Checked for $name {}
    };
}
// [/lenient]

/// Requests of one side: a marker type for each, and an enum over all of them with an arm for unlisted ones.
macro_rules! calls {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $wire:literal $variant:ident($params:ty) -> $result:ty, $effect:ident, $stability:ident $(@ $gate:tt)?;)*
        }
    ) => {
        $(
            $(#[$doc])*
            $(#[cfg(feature = $gate)])?
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $variant;

            $(#[cfg(feature = $gate)])?
            impl words::Call for $variant {
                const NAME: &'static str = $wire;
                type Params = $params;
                type Result = $result;
                const EFFECT: words::Effect = words::Effect::$effect;
                const STABILITY: words::Stability = words::Stability::$stability;
            }
        )*

        messages! { $(#[$meta])* pub enum $name { $($(#[$doc])* $wire $variant($params) $(@ $gate)?;)* } }
    };
}

/// Messages without an answer: as `calls!`.
macro_rules! events {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $wire:literal $variant:ident($params:ty) $(bound $config:ty)?, $direction:ident, $stability:ident $(@ $gate:tt)?;)*
        }
    ) => {
        $(
            $(#[$doc])*
            $(#[cfg(feature = $gate)])?
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $variant;

            $(#[cfg(feature = $gate)])?
            impl words::Event for $variant {
                const NAME: &'static str = $wire;
                type Params = $params;
                const DIRECTION: words::Direction = words::Direction::$direction;
                const STABILITY: words::Stability = words::Stability::$stability;
            }

            $(
                impl words::Bound for $variant {
                    type Config = $config;
                }
            )?
        )*

        messages! { $(#[$meta])* pub enum $name { $($(#[$doc])* $wire $variant($params) $(@ $gate)?;)* } }
    };
}

/// The enum over all messages of a registry.
macro_rules! messages {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $wire:literal $variant:ident($params:ty) $(@ $gate:tt)?;)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $(#[cfg(feature = $gate)])? $variant(::std::boxed::Box<$params>),)*
            /// A name that the schema does not list, with what came under it.
            Unlisted {
                /// Wire name.
                method: ::std::string::String,
                /// Params as they came.
                params: ::std::option::Option<::serde_json::Value>,
            },
        }

        impl words::Message for $name {
            const LISTED: &'static [&'static str] = &[$($(#[cfg(feature = $gate)])? $wire,)*];

            // Not compiled before somebody calls it: it reaches every type of the registry.
            #[inline]
            fn decode(
                method: &str,
                params: ::std::option::Option<::serde_json::Value>,
            ) -> ::std::result::Result<Self, ::serde_json::Error> {
                ::std::result::Result::Ok(match method {
                    $($(#[cfg(feature = $gate)])? $wire => {
                        Self::$variant(::std::boxed::Box::new(::serde_json::from_value(params.unwrap_or_default())?))
                    })*
                    _ => Self::Unlisted { method: method.to_owned(), params },
                })
            }

            fn method(&self) -> &str {
                match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant(_) => $wire,)*
                    Self::Unlisted { method, .. } => method,
                }
            }

            #[inline]
            fn params(&self) -> ::std::result::Result<::std::option::Option<::serde_json::Value>, ::serde_json::Error> {
                ::std::result::Result::Ok(match self {
                    $($(#[cfg(feature = $gate)])? Self::$variant(params) => words::internal::given(::serde_json::to_value(params)?),)*
                    Self::Unlisted { params, .. } => params.clone(),
                })
            }
        }
    };
}

// [schemars]
/// The schema half: each type tells its own schema, made from the tokens that drive serde.
#[cfg(feature = "schemars")]
macro_rules! describe {
    (@object $name:ident ($($schema:literal)?) [$($cwire:literal = $ctext:literal,)*]
        [$($wire:literal $kind:ident $(@ $gate:tt)? $ty:ty,)*] $rest:ty
        { $(closed $closed:ident,)? $(rest $inner:ident,)? $(self [$($own:ident $(($($oarg:tt)*))?),*],)?
          $($lname:literal [$($limit:ident $(($($arg:tt)*))?),*] $(@ $lgate:tt)?,)* }
    ) => {
        describe! { @impl $name ($($schema)?) |generator| {
            let mut object = words::describe::Object::new();
            $(object.constant($cwire, $ctext);)*
            $($(#[cfg(feature = $gate)])? object.$kind::<$ty>($wire, generator);)*
            object.rest::<$rest>(generator);
            $(object.closed(stringify!($closed));)?
            $(object.limits(&[$(words::Limit::$own $(($($oarg)*))?),*]);)?
            $($(#[cfg(feature = $lgate)])? object.member_limits($lname, &[$(words::Limit::$limit $(($($arg)*))?),*]);)*
            object.schema()
        } }
    };
    (@text $name:ident ($($schema:literal)?) $openness:literal [$($wire:literal $(@ $gate:tt)?,)*]) => {
        describe! { @impl $name ($($schema)?) |_generator| {
            words::describe::text(&[$($(#[cfg(feature = $gate)])? $wire,)*], $openness)
        } }
    };
    (@union $name:ident ($($schema:literal)?) [$($ty:ty $(=> $gate:tt)?,)*]) => {
        describe! { @impl $name ($($schema)?) |generator| {
            words::describe::union([$($(#[cfg(feature = $gate)])? generator.subschema_for::<$ty>(),)*].into())
        } }
    };
    (@tagged $name:ident ($($schema:literal)?) $tag:literal [$($text:literal $ty:ty $(=> $gate:tt)?,)*] [$($oty:ty)?]) => {
        describe! { @impl $name ($($schema)?) |generator| {
            words::describe::union([
                $($(#[cfg(feature = $gate)])? words::describe::arm(generator.subschema_for::<$ty>(), $tag, $text),)*
                $(generator.subschema_for::<$oty>(),)?
            ].into())
        } }
    };
    (@alias $name:ident ($($schema:literal)?) $ty:ty [$($limit:ident $(($($arg:tt)*))?),*]) => {
        describe! { @impl $name ($($schema)?) |generator| {
            words::describe::alias(generator.subschema_for::<$ty>(), &[$(words::Limit::$limit $(($($arg)*))?),*])
        } }
    };
    (@values $name:ident ($($schema:literal)?) [$($text:literal,)*]) => {
        describe! { @impl $name ($($schema)?) |_generator| { words::describe::values(&[$($text),*]) } }
    };
    (@impl $name:ident ($schema:literal) |$generator:ident| $body:block) => {
        #[allow(clippy::approx_constant, reason = "bounds are the schema's")]
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $schema.into()
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }
            fn json_schema($generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema $body
        }
    };
    (@impl $name:ident () |$generator:ident| $body:block) => {
        #[allow(clippy::approx_constant, reason = "bounds are the schema's")]
        impl ::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema($generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema $body
        }
    };
}

/// What the schema half is made of. Not for use outside generated code.
#[cfg(feature = "schemars")]
#[doc(hidden)]
pub mod describe {
    use super::{Limit, Presence, Unknown};
    use schemars::{JsonSchema, Schema, SchemaGenerator};
    use serde_json::{Map, Value, json};

    /// The type inside `Option` or `Presence`.
    pub trait Inner {
        type Of: JsonSchema;
    }
    impl<T: JsonSchema> Inner for Option<T> {
        type Of = T;
    }
    impl<T: JsonSchema> Inner for Presence<T> {
        type Of = T;
    }

    /// The type of the members that are not named.
    pub trait Rest {
        type Of: JsonSchema;
    }
    impl<T: JsonSchema> Rest for Unknown<T> {
        type Of = T;
    }

    #[derive(Default)]
    pub struct Object {
        members: Map<String, Value>,
        required: Vec<Value>,
        others: Map<String, Value>,
    }

    impl Object {
        pub fn new() -> Self {
            Self::default()
        }
        pub fn constant(&mut self, name: &str, text: &str) {
            self.required.push(name.into());
            self.members.insert(name.to_owned(), json!({ "const": text }));
        }
        pub fn req<T: JsonSchema>(&mut self, name: &str, generator: &mut SchemaGenerator) {
            self.required.push(name.into());
            self.members.insert(name.to_owned(), generator.subschema_for::<T>().into());
        }
        pub fn opt<T: Inner>(&mut self, name: &str, generator: &mut SchemaGenerator) {
            self.members.insert(name.to_owned(), generator.subschema_for::<T::Of>().into());
        }
        pub fn nullable<T: Inner>(&mut self, name: &str, generator: &mut SchemaGenerator) {
            self.required.push(name.into());
            self.presence::<T>(name, generator);
        }
        pub fn presence<T: Inner>(&mut self, name: &str, generator: &mut SchemaGenerator) {
            let inner: Value = generator.subschema_for::<T::Of>().into();
            self.members.insert(name.to_owned(), json!({ "anyOf": [inner, { "type": "null" }] }));
        }
        pub fn rest<T: Rest>(&mut self, generator: &mut SchemaGenerator) {
            let rest: Value = generator.subschema_for::<T::Of>().into();
            if rest != Value::Bool(true) {
                self.others.insert("additionalProperties".to_owned(), rest);
            }
        }
        pub fn closed(&mut self, _members: &str) {
            self.others.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        pub fn limits(&mut self, limits: &[Limit]) {
            put_limits(&mut self.others, limits);
        }
        pub fn member_limits(&mut self, name: &str, limits: &[Limit]) {
            if limits.is_empty() {
                return;
            }
            if let Some(member) = self.members.get_mut(name) {
                if !member.is_object() {
                    *member = json!({});
                }
                if let Value::Object(member) = member {
                    put_limits(member, limits);
                }
            }
        }
        pub fn schema(self) -> Schema {
            let mut object = self.others;
            object.insert("type".to_owned(), "object".into());
            object.insert("properties".to_owned(), Value::Object(self.members));
            object.insert("required".to_owned(), Value::Array(self.required));
            object.into()
        }
    }

    pub fn text(words: &[&str], openness: &str) -> Schema {
        schemars::json_schema!({ "type": "string", "enum": words, "x-msp-openness": openness })
    }

    /// An alternative as the union reads it: under its own tag. One that is a definition says so itself.
    pub fn arm(inner: Schema, tag: &str, text: &str) -> Schema {
        let mut object = match Value::from(inner) {
            Value::Object(object) if !object.contains_key("$ref") => object,
            other => return Schema::try_from(other).unwrap_or_default(),
        };
        if let Some(Value::Object(members)) = object.get_mut("properties") {
            members.insert(tag.to_owned(), json!({ "const": text }));
        }
        if let Some(Value::Array(required)) = object.get_mut("required") {
            if !required.iter().any(|name| name == tag) {
                required.push(tag.into());
            }
        }
        object.into()
    }

    pub fn union(alternatives: Vec<Schema>) -> Schema {
        schemars::json_schema!({ "anyOf": alternatives })
    }

    pub fn alias(inner: Schema, limits: &[Limit]) -> Schema {
        let mut object = match Value::from(inner) {
            Value::Object(object) => object,
            Value::Bool(false) => return Schema::from(false),
            _ if limits.is_empty() => return Schema::from(true),
            _ => Map::new(),
        };
        put_limits(&mut object, limits);
        object.into()
    }

    pub fn values(texts: &[&str]) -> Schema {
        let values: Vec<Value> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        schemars::json_schema!({ "enum": values })
    }

    fn put_limits(object: &mut Map<String, Value>, limits: &[Limit]) {
        for limit in limits {
            let (keyword, value) = match *limit {
                Limit::Minimum(n) => ("minimum", integer(n)),
                Limit::Maximum(n) => ("maximum", integer(n)),
                Limit::ExclusiveMinimum(n) => ("exclusiveMinimum", integer(n)),
                Limit::ExclusiveMaximum(n) => ("exclusiveMaximum", integer(n)),
                Limit::MinimumReal(n) => ("minimum", json!(n)),
                Limit::MaximumReal(n) => ("maximum", json!(n)),
                Limit::ExclusiveMinimumReal(n) => ("exclusiveMinimum", json!(n)),
                Limit::ExclusiveMaximumReal(n) => ("exclusiveMaximum", json!(n)),
                Limit::MultipleOf(n) => ("multipleOf", json!(n)),
                Limit::MinLength(n) => ("minLength", json!(n)),
                Limit::MaxLength(n) => ("maxLength", json!(n)),
                Limit::Pattern(text) => ("pattern", json!(text)),
                Limit::MinItems(n) => ("minItems", json!(n)),
                Limit::MaxItems(n) => ("maxItems", json!(n)),
                Limit::UniqueItems => ("uniqueItems", json!(true)),
                Limit::MinProperties(n) => ("minProperties", json!(n)),
                Limit::MaxProperties(n) => ("maxProperties", json!(n)),
                Limit::DependentRequired(name, needs) => {
                    let table = object.entry("dependentRequired").or_insert_with(|| json!({}));
                    if let Value::Object(table) = table {
                        table.insert(name.to_owned(), json!(needs));
                    }
                    continue;
                }
            };
            object.insert(keyword.to_owned(), value);
        }
    }

    /// Bounds beyond 64 bits have no JSON number here; as doubles they keep their size.
    fn integer(n: i128) -> Value {
        let small = i64::try_from(n).map(Value::from).or_else(|_| u64::try_from(n).map(Value::from));
        #[allow(clippy::cast_precision_loss, reason = "said above")]
        small.unwrap_or_else(|_| json!(n as f64))
    }
}
// [/schemars]

// [schemaless]
#[cfg(not(feature = "schemars"))]
macro_rules! describe {
    ($($tokens:tt)*) => {};
}
// [/schemaless]
