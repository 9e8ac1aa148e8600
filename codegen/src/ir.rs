//! The plain data between reading and writing: types with their shapes, and the registries. No JSON Schema and no Rust syntax.

use crate::document::Location;
use crate::schemas::Kind;

/// Index into [`Ir::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub usize);

/// Everything that one output holds.
#[derive(Clone, Debug, Default)]
pub struct Ir {
    /// Kind of input.
    pub kind: Option<Kind>,
    /// Types: those of the definitions first and in their order, parts made from inline schemas behind them.
    pub types: Vec<Type>,
    /// Names of the families, in output order; [`Type::family`] points here.
    pub families: Vec<String>,
    /// Requests that a client makes.
    pub methods: Vec<Call>,
    /// Requests that a host makes.
    pub requests: Vec<Call>,
    /// Session functions.
    pub functions: Vec<Call>,
    /// Notifications.
    pub notifications: Vec<Event>,
    /// Triggers: payloads are events, and each has a binding config.
    pub triggers: Vec<Event>,
    /// Error table.
    pub errors: Vec<ErrorRow>,
    /// Capabilities that can be granted.
    pub capabilities: Vec<Named>,
    /// Published fingerprints: surface and text.
    pub fingerprints: Vec<(String, String)>,
    /// Display paths of the documents that were read.
    pub sources: Vec<String>,
    /// SHA-256 over the documents.
    pub digest: String,
}

/// One Rust type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Rust name, unique in the output.
    pub name: String,
    /// Name of the definition in the input; `None` for a part that was inline.
    pub definition: Option<String>,
    /// The type that an inline part stands in.
    pub parent: Option<TypeId>,
    /// Where its schema stands.
    pub at: Location,
    /// Text for people.
    pub docs: Option<String>,
    /// On which surface it is.
    pub gate: Gate,
    /// Index into [`Ir::families`].
    pub family: usize,
    /// What it looks like.
    pub shape: Shape,
    /// Demands on the value as a whole.
    pub limits: Vec<Limit>,
    /// Whether a value can violate a limit, its own or one further inside.
    pub strict: bool,
}

/// On which surface something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// On all.
    #[default]
    Open,
    /// On the experimental one only.
    Experimental,
}

/// The shapes of types.
#[derive(Clone, Debug)]
pub enum Shape {
    /// An object with named members.
    Struct {
        /// Members in schema order.
        members: Vec<Member>,
        /// The others.
        rest: Rest,
    },
    /// A string out of a list.
    Enum {
        /// Values in schema order.
        values: Vec<Named>,
        /// Whether others are kept.
        openness: Openness,
    },
    /// Objects told apart by a constant member.
    Tagged {
        /// Wire name of that member.
        tag: String,
        /// Alternatives in schema order.
        arms: Vec<Arm>,
        /// Where unknown tags go; refused without it.
        other: Option<Arm>,
    },
    /// Alternatives told apart by JSON type, or tried in order.
    Either {
        /// Alternatives in schema order.
        arms: Vec<Arm>,
    },
    /// A type of its own around another.
    Newtype(Expr),
    /// One of a list of JSON values, each as compact JSON text.
    Values(Vec<String>),
}

/// Whether an enum keeps texts that it does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    /// Keeps them.
    Open,
    /// Refuses them.
    Closed,
}

/// What an object does with members that it does not name.
#[derive(Clone, Debug)]
pub enum Rest {
    /// Keeps them as they are.
    Any,
    /// They have a type.
    Typed(Expr),
    /// The schema forbids them: kept, and a violation.
    Closed,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub struct Member {
    /// Wire name.
    pub wire: String,
    /// Rust name of the field.
    pub field: String,
    /// Whether it may be missing or `null`.
    pub presence: Presence,
    /// Its type, without `null`.
    pub expr: Expr,
    /// Text for people.
    pub docs: Option<String>,
    /// On which surface it is.
    pub gate: Gate,
    /// Demands on its value.
    pub limits: Vec<Limit>,
}

/// How a member may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Has to be there, and is not `null`.
    Required,
    /// Has to be there, may be `null`.
    Nullable,
    /// May be absent, is not `null`.
    Optional,
    /// May be absent, and may be `null`.
    OptionalNullable,
    /// Has to be there and always has this text.
    Constant(String),
}

/// One alternative of a union.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Rust name of the variant.
    pub variant: String,
    /// Text of the tag; empty in unions without one.
    pub tag: String,
    /// Its type.
    pub expr: Expr,
    /// JSON types that it may have.
    pub kinds: Vec<JsonType>,
    /// Members that an object of this alternative has to have; one that lacks them need not be tried.
    pub needs: Vec<String>,
    /// Text for people.
    pub docs: Option<String>,
    /// On which surface it is.
    pub gate: Gate,
}

/// The types of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JsonType {
    /// `null`.
    Null,
    /// `boolean`.
    Boolean,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `string`.
    String,
    /// `array`.
    Array,
    /// `object`.
    Object,
}

/// A type where it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Any JSON value.
    Any,
    /// `null` alone.
    Null,
    /// A boolean.
    Bool,
    /// An integer of 64 bits with sign.
    Signed,
    /// An integer of 64 bits without sign: the minimum is not negative.
    Unsigned,
    /// A number in its own spelling.
    Number,
    /// A string.
    String,
    /// A list.
    Array(Box<Expr>),
    /// An object used as a map.
    Map(Box<Expr>),
    /// The inner type, or `null`.
    Nullable(Box<Expr>),
    /// Another type of the output.
    Ref(TypeId),
}

/// A demand beyond shape: keyword and value, as the words of the output take it.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, whole.
    Integer(Bound, i128),
    /// The same, with a fraction.
    Real(Bound, f64),
    /// `multipleOf`.
    MultipleOf(f64),
    /// `minLength`, `maxLength`, `minItems`, `maxItems`, `minProperties`, `maxProperties`.
    Count(Count, u64),
    /// `pattern`.
    Pattern(String),
    /// `uniqueItems`.
    UniqueItems,
    /// `dependentRequired`, one row.
    DependentRequired(String, Vec<String>),
}

/// The keywords that bound a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `minimum`.
    Minimum,
    /// `maximum`.
    Maximum,
    /// `exclusiveMinimum`.
    ExclusiveMinimum,
    /// `exclusiveMaximum`.
    ExclusiveMaximum,
}

/// The keywords that bound a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// `minLength`.
    MinLength,
    /// `maxLength`.
    MaxLength,
    /// `minItems`.
    MinItems,
    /// `maxItems`.
    MaxItems,
    /// `minProperties`.
    MinProperties,
    /// `maxProperties`.
    MaxProperties,
}

/// A wire text with its Rust name.
#[derive(Clone, Debug)]
pub struct Named {
    /// On the wire.
    pub wire: String,
    /// In Rust.
    pub rust: String,
    /// Text for people.
    pub docs: Option<String>,
    /// On which surface it is.
    pub gate: Gate,
}

/// A row of a registry of requests.
#[derive(Clone, Debug)]
pub struct Call {
    /// Wire name, Rust name, text, surface.
    pub named: Named,
    /// Params or request; `None` where there are none.
    pub params: Option<Expr>,
    /// Result or response.
    pub result: Option<Expr>,
    /// Whether it changes a session and carries a command id.
    pub effect: Effect,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Carries a command id.
    Command,
    /// Everything else.
    Query,
}

/// A row of a registry of messages without an answer.
#[derive(Clone, Debug)]
pub struct Event {
    /// Wire name, Rust name, text, surface.
    pub named: Named,
    /// Params or payload; `None` where there are none.
    pub params: Option<Expr>,
    /// Binding config of a trigger.
    pub config: Option<Expr>,
    /// Whether the client sends it.
    pub direction: Direction,
}

/// Who sends a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    ToHost,
    /// The host.
    ToClient,
}

/// A row of the error table.
#[derive(Clone, Debug)]
pub struct ErrorRow {
    /// JSON-RPC code.
    pub code: Option<i64>,
    /// Kind, or code word.
    pub kind: String,
    /// Name of its constant in Rust.
    pub rust: String,
    /// Other kinds under the same code.
    pub override_kinds: Vec<String>,
    /// Whether a retry may help.
    pub retryable: Option<bool>,
    /// Text for people.
    pub docs: Option<String>,
    /// On which surface it is.
    pub gate: Gate,
}

impl Type {
    /// Every type expression of this type, in the order in which `shapes` numbers them.
    pub fn exprs(&self) -> Vec<&Expr> {
        match &self.shape {
            Shape::Struct { members, rest } => {
                let typed = match rest {
                    Rest::Typed(expr) => Some(expr),
                    Rest::Any | Rest::Closed => None,
                };
                members.iter().map(|member| &member.expr).chain(typed).collect()
            }
            Shape::Tagged { arms, other, .. } => arms.iter().chain(other).map(|arm| &arm.expr).collect(),
            Shape::Either { arms } => arms.iter().map(|arm| &arm.expr).collect(),
            Shape::Newtype(expr) => vec![expr],
            Shape::Enum { .. } | Shape::Values(_) => Vec::new(),
        }
    }
}

impl Expr {
    /// The types that this expression names.
    pub fn references(&self) -> Vec<TypeId> {
        match self {
            Expr::Array(inner) | Expr::Map(inner) | Expr::Nullable(inner) => inner.references(),
            Expr::Ref(id) => vec![*id],
            Expr::Any | Expr::Null | Expr::Bool | Expr::Signed | Expr::Unsigned | Expr::Number | Expr::String => {
                Vec::new()
            }
        }
    }
}
