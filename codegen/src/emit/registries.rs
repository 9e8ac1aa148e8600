//! Methods, notifications, functions, triggers, errors and capabilities: one module each.

use std::fmt::Write as _;

use crate::emit::docs::comment;
use crate::emit::rows::literal;
use crate::emit::{Module, Output};
use crate::ir::{Call, Direction, Effect, Event, Expr, Gate, Named};
use crate::shapes;

impl Output<'_> {
    /// The modules of all registries that have rows.
    pub(crate) fn registries(&self) -> Vec<Module> {
        let ir = self.ir;
        let mut modules = vec![
            self.calls("methods", "Requests that a client makes.", &ir.methods),
            self.calls("requests", "Requests that a host makes.", &ir.requests),
            self.calls("functions", "Functions that anyone on the engine can call.", &ir.functions),
            self.events(
                "notifications",
                "Notification",
                "Messages without an answer, of both sides.",
                &ir.notifications,
            ),
            self.events("triggers", "Delivery", "Events that a binding delivers.", &ir.triggers),
            self.errors(),
            self.capabilities(),
        ];
        modules.retain(|module| !module.text.is_empty());
        if !ir.methods.is_empty() && !ir.notifications.is_empty() {
            modules.push(self.frames());
        }
        modules
    }

    fn calls(&self, name: &'static str, docs: &str, rows: &[Call]) -> Module {
        let mut text = String::new();
        if !rows.is_empty() {
            let _ = write!(text, "\ncalls! {{\n    /// {docs}\n    pub enum Request {{\n");
            for row in rows {
                text.push_str(&Self::docs_of(&row.named));
                let effect = match row.effect {
                    Effect::Command => "Command",
                    Effect::Query => "Query",
                };
                let (params, result) = (self.optional(row.params.as_ref()), self.optional(row.result.as_ref()));
                let tail = self.tail(&row.named);
                let head = format!("        {} {}", literal(&row.named.wire), row.named.rust);
                let _ = writeln!(text, "{head}({params}) -> {result}, {effect}, {tail};");
            }
            text.push_str("    }\n}\n");
        }
        module(name, docs, text)
    }

    fn events(&self, name: &'static str, enum_name: &str, docs: &str, rows: &[Event]) -> Module {
        let mut text = String::new();
        if !rows.is_empty() {
            let _ = write!(text, "\nevents! {{\n    /// {docs}\n    pub enum {enum_name} {{\n");
            for row in rows {
                text.push_str(&Self::docs_of(&row.named));
                let direction = match row.direction {
                    Direction::ToHost => "ToHost",
                    Direction::ToClient => "ToClient",
                };
                let (params, tail) = (self.optional(row.params.as_ref()), self.tail(&row.named));
                let head = format!("        {} {}", literal(&row.named.wire), row.named.rust);
                let config =
                    row.config.as_ref().map(|config| format!(" bound {}", self.outer(config))).unwrap_or_default();
                let _ = writeln!(text, "{head}({params}){config}, {direction}, {tail};");
            }
            text.push_str("    }\n}\n");
        }
        module(name, docs, text)
    }

    fn errors(&self) -> Module {
        let docs = "The error table: a constant for each row, and all rows in the order of the schema.";
        let rows = &self.ir.errors;
        let mut text = String::new();
        for row in rows {
            let _ = write!(text, "\n{}{}", comment(row.docs.as_deref().unwrap_or(&row.kind), 0), self.gate(row.gate));
            let code = row.code.map_or("None".to_owned(), |code| format!("Some({code})"));
            let retryable = row.retryable.map_or("None".to_owned(), |retryable| format!("Some({retryable})"));
            let kinds: Vec<String> = row.override_kinds.iter().map(|kind| literal(kind)).collect();
            let (name, kind, kinds) = (&row.rust, literal(&row.kind), kinds.join(", "));
            let _ = writeln!(
                text,
                "pub const {name}: words::ErrorRow = words::ErrorRow::row({code}, {kind}, &[{kinds}], {retryable});"
            );
        }
        if !rows.is_empty() {
            text.push_str("\n/// Every row.\npub const ALL: &[words::ErrorRow] = &[\n");
            for row in rows {
                for line in self.gate(row.gate).lines() {
                    let _ = writeln!(text, "    {line}");
                }
                let _ = writeln!(text, "    {},", row.rust);
            }
            text.push_str("];\n");
        }
        module("errors", docs, text)
    }

    fn capabilities(&self) -> Module {
        let docs = "Capabilities that a client can ask for.";
        let rows = &self.ir.capabilities;
        let mut text = String::new();
        for row in rows {
            let name = &row.rust;
            let _ = write!(text, "\n{}{}", comment(row.docs.as_deref().unwrap_or(&row.wire), 0), self.gate(row.gate));
            let _ = writeln!(text, "pub const {name}: &str = {};", literal(&row.wire));
        }
        if !rows.is_empty() {
            text.push_str("\n/// Every capability.\npub const ALL: &[&str] = &[\n");
            for row in rows {
                for line in self.gate(row.gate).lines() {
                    let _ = writeln!(text, "    {line}");
                }
                let _ = writeln!(text, "    {},", row.rust);
            }
            text.push_str("];\n");
        }
        module("capabilities", docs, text)
    }

    fn frames(&self) -> Module {
        let requests = if self.ir.requests.is_empty() { "super::methods::Request" } else { "super::requests::Request" };
        let text = format!(
            "\n/// What a client reads.\npub type FromHost = words::Frame<{requests}, super::notifications::Notification>;\n\n\
             /// What a host reads.\npub type FromClient = words::Frame<super::methods::Request, super::notifications::Notification>;\n"
        );
        module("frames", "Frames of both directions, decoded in one step.", text)
    }

    fn docs_of(named: &Named) -> String {
        comment(named.docs.as_deref().unwrap_or(&format!("`{}`.", named.wire)), 8)
    }

    fn optional(&self, expr: Option<&Expr>) -> String {
        expr.map_or("words::NoParams".to_owned(), |expr| self.outer(expr))
    }

    /// The text of a definition from inside a registry module, where a marker may have the same name.
    fn outer(&self, expr: &Expr) -> String {
        match expr {
            Expr::Ref(id) if !self.is_replaced(id.0) => format!("super::{}", shapes::text(self.ir, expr)),
            _ => shapes::text(self.ir, expr),
        }
    }

    fn tail(&self, named: &Named) -> String {
        let stability = match named.gate {
            Gate::Open => "Stable",
            Gate::Experimental => "Experimental",
        };
        format!("{stability}{}", self.mark(named.gate))
    }
}

fn module(name: &str, docs: &str, text: String) -> Module {
    Module { name: name.to_owned(), docs: docs.to_owned(), flat: false, gate: Gate::Open, text }
}
