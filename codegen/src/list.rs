//! What an input holds, as tables.

mod text;

use msp_schema::annotations::{Direction, Role};
use serde_json::{Map, Value, json};

use crate::diagnostic::Diagnostic;
use crate::document::Location;
use crate::options::Options;
use crate::schemas::{DefinitionId, Kind, RawRow, Schemas};
use crate::{ir, passes, pointer};

/// One kind of thing: methods, notifications, ….
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the rows are, in the plural; the name of the table in JSON.
    pub title: &'static str,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// The cells: strings, numbers, booleans, arrays of strings, or null where nothing is known.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// The table with a heading and aligned columns.
    pub fn to_text(&self) -> String {
        text::to_text(self)
    }

    /// The rows as an array of objects; cells without a value are left out.
    pub fn to_json(&self) -> Value {
        let row = |cells: &Vec<Value>| {
            let named = self.columns.iter().zip(cells).filter(|(_, cell)| !cell.is_null());
            Value::Object(named.map(|(column, cell)| ((*column).to_owned(), cell.clone())).collect())
        };
        Value::Array(self.rows.iter().map(row).collect())
    }
}

/// All tables as one object.
pub fn to_json(tables: &[Table]) -> Value {
    Value::Object(tables.iter().map(|table| (table.title.to_owned(), table.to_json())).collect::<Map<_, _>>())
}

/// Everything that the input holds; kinds of which there is nothing have no table.
pub fn list(schemas: &Schemas) -> Vec<Table> {
    let mut tables = all(schemas);
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// As [`list`], with the kinds of which there is nothing.
pub fn all(schemas: &Schemas) -> Vec<Table> {
    let view = View { schemas };
    vec![
        view.methods(),
        view.notifications(),
        view.requests(),
        view.functions(),
        view.triggers(),
        view.errors(),
        view.capabilities(),
        view.definitions(),
    ]
}

/// Which Rust type each schema became: the place of the schema, the name of its definition (none for inline schemas), the path of
/// the type below the root of the output, and the family, which is its module where the output has several.
///
/// Comes with what the generator found on the way; where that has an error the table is not whole.
pub fn rust_names(schemas: &Schemas, options: &Options) -> (Table, Vec<Diagnostic>) {
    let (ir, diagnostics) = passes::run(schemas, options);
    let row = |one: &ir::Type| {
        let replaced = one.definition.as_ref().and_then(|name| options.replace.get(name));
        let family = ir.families.get(one.family).filter(|_| replaced.is_none());
        vec![json!(one.at.to_string()), json!(one.definition), json!(replaced.unwrap_or(&one.name)), json!(family)]
    };
    let columns = vec!["at", "definition", "path", "family"];
    (Table { title: "rustNames", columns, rows: ir.types.iter().map(row).collect() }, diagnostics)
}

struct View<'a> {
    schemas: &'a Schemas,
}

impl View<'_> {
    fn methods(&self) -> Table {
        let row = |row: &RawRow| {
            let entry = self.schemas.overlay.as_ref().and_then(|overlay| overlay.method(&row.name));
            let role = entry.and_then(|entry| entry.role).map(|role| match role {
                Role::Handshake => "handshake",
                Role::Command => "command",
                Role::Query => "query",
                Role::Other => "other",
            });
            vec![json!(row.name), json!(role), self.stability(&row.at), self.name(row.params), self.name(row.result)]
        };
        let columns = vec!["name", "role", "stability", "params", "result"];
        Table { title: "methods", columns, rows: self.schemas.methods.iter().map(row).collect() }
    }

    fn notifications(&self) -> Table {
        let row =
            |row: &RawRow| vec![json!(row.name), self.direction(row), self.stability(&row.at), self.name(row.params)];
        let columns = vec!["name", "direction", "stability", "params"];
        Table { title: "notifications", columns, rows: self.schemas.notifications.iter().map(row).collect() }
    }

    fn requests(&self) -> Table {
        let row = |row: &RawRow| {
            let (params, result) = (self.name(row.params), self.name(row.result));
            vec![json!(row.name), self.direction(row), self.stability(&row.at), params, result]
        };
        let columns = vec!["name", "direction", "stability", "params", "result"];
        Table { title: "requests", columns, rows: self.schemas.requests.iter().map(row).collect() }
    }

    fn functions(&self) -> Table {
        let rows = self.schemas.functions.iter().map(|function| {
            let (request, response) = (self.name(Some(function.request)), self.name(Some(function.response)));
            vec![json!(function.id), json!(function.internal), request, response]
        });
        let columns = vec!["id", "internal", "request", "response"];
        Table { title: "functions", columns, rows: rows.collect() }
    }

    fn triggers(&self) -> Table {
        let rows = self.schemas.triggers.iter().map(|trigger| {
            vec![json!(trigger.trigger_type), self.name(Some(trigger.config)), self.name(Some(trigger.payload))]
        });
        Table { title: "triggers", columns: vec!["type", "config", "payload"], rows: rows.collect() }
    }

    fn errors(&self) -> Table {
        let rows = self.schemas.errors.iter().map(|error| {
            let key = error.code.map(|code| format!("/errors/{code}"));
            let stability = self.stability_of_key(key.as_deref());
            vec![json!(error.code), json!(error.kind), stability, json!(error.retryable), json!(error.override_kinds)]
        });
        let columns = vec!["code", "kind", "stability", "retryable", "overrideKinds"];
        Table { title: "errors", columns, rows: rows.collect() }
    }

    fn capabilities(&self) -> Table {
        let rows = self
            .schemas
            .capabilities
            .iter()
            .map(|(name, _)| vec![json!(name), self.stability_of_key(Some(&pointer::join("/capabilities", name)))]);
        Table { title: "capabilities", columns: vec!["name", "stability"], rows: rows.collect() }
    }

    fn definitions(&self) -> Table {
        let rows = self.schemas.definitions.iter().map(|definition| {
            let key = self.schemas.key(definition.document, &definition.at.pointer);
            vec![json!(definition.name), self.stability_of_key(Some(&key)), json!(definition.at.to_string())]
        });
        Table { title: "definitions", columns: vec!["name", "stability", "at"], rows: rows.collect() }
    }

    fn name(&self, definition: Option<DefinitionId>) -> Value {
        json!(definition.map(|id| &self.schemas.definition(id).name))
    }

    /// Rows stand in the first document, whose keys are plain pointers.
    fn stability(&self, at: &Location) -> Value {
        self.stability_of_key(Some(&at.pointer))
    }

    fn stability_of_key(&self, key: Option<&str>) -> Value {
        let known = key.filter(|_| self.schemas.kind == Some(Kind::Bundle));
        json!(known.map(|key| if self.schemas.gated.contains(key) { "experimental" } else { "stable" }))
    }

    fn direction(&self, row: &RawRow) -> Value {
        let known = self.schemas.overlay.as_ref().map(|overlay| match overlay.direction(&row.name) {
            Direction::HostToClient => "host to client",
            Direction::ClientToHost => "client to host",
        });
        json!(known)
    }
}
