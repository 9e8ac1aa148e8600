//! One macro call for each type.

use std::fmt::Write as _;

use crate::emit::Output;
use crate::emit::docs::{comment, visible};
use crate::emit::rows::{limits, literal};
use crate::ir::{Arm, Expr, Member, Named, Openness, Presence, Rest, Shape, Type};
use crate::passes::{UNKNOWN, UNLISTED};

/// Longest line of the output.
const WIDTH: usize = 120;

impl Output<'_> {
    /// The call for the type with this index, with a blank line before it.
    pub(crate) fn emit_type(&self, id: usize) -> String {
        let one = &self.ir.types[id];
        let texts = &self.texts[id];
        let mut out = format!("\n{}", self.gate(one.gate));
        match &one.shape {
            Shape::Struct { members, rest } => self.emit_struct(&mut out, one, members, rest, texts),
            Shape::Enum { values, openness } => self.emit_enum(&mut out, one, values, *openness),
            Shape::Tagged { tag, arms, other } => self.emit_tagged(&mut out, one, tag, (arms, other.as_ref()), texts),
            Shape::Either { arms } => self.emit_either(&mut out, one, arms, texts),
            Shape::Newtype(_) => self.emit_alias(&mut out, one, texts),
            Shape::Values(values) => self.emit_values(&mut out, one, values),
        }
        out
    }

    /// Docs, further derives and attributes of a type.
    fn head(&self, one: &Type, macro_name: &str) -> String {
        let mut out = format!("{macro_name}! {{\n");
        let docs = match (&one.docs, one.parent) {
            (Some(text), _) => text.clone(),
            (None, Some(parent)) => format!("A part of [`{}`].", self.ir.types[parent.0].name),
            (None, None) => format!(
                "The definition `{}`; the schema says no more about it.",
                one.definition.as_deref().unwrap_or_default()
            ),
        };
        let docs =
            if one.parent.is_some() && one.docs.is_none() { format!("    /// {docs}\n") } else { comment(&docs, 4) };
        out.push_str(&docs);
        if let Shape::Struct { members, .. } = &one.shape {
            for member in members {
                if let Presence::Constant(text) = &member.presence {
                    let said = member.docs.as_deref().unwrap_or_default();
                    let _ = write!(
                        out,
                        "    ///\n{}",
                        comment(&format!("`{}` is always `{text}`. {said}", member.wire), 4)
                    );
                }
            }
        }
        let _ = writeln!(out, "    ///\n    /// Schema: `{}`.", place(one));
        let name = one.definition.as_deref();
        let lists = [self.options.derives.get("*"), name.and_then(|name| self.options.derives.get(name))];
        // What the macros derive already is not derived again.
        let given: &[&str] = match &one.shape {
            Shape::Enum { .. } => &["Clone", "Debug", "PartialEq", "Eq", "Hash"],
            _ => &["Clone", "Debug", "PartialEq"],
        };
        let asked = lists.into_iter().flatten().flatten().map(String::as_str);
        let derives: Vec<&str> = asked.filter(|derive| !given.contains(derive)).collect();
        if !derives.is_empty() {
            let _ = writeln!(out, "    #[derive({})]", derives.join(", "));
        }
        self.attributes(&mut out, one, None, 4);
        out
    }

    fn attributes(&self, out: &mut String, one: &Type, member: Option<&str>, indent: usize) {
        let Some(name) = one.definition.as_deref() else { return };
        for attribute in &self.options.attributes {
            let (of, wire) = match attribute.path.split_once('/') {
                Some((of, wire)) => (of, Some(wire)),
                None => (attribute.path.as_str(), None),
            };
            if of == name && wire == member {
                let _ = writeln!(out, "{}{}", " ".repeat(indent), attribute.attribute);
            }
        }
    }

    fn emit_struct(&self, out: &mut String, one: &Type, members: &[Member], rest: &Rest, texts: &[String]) {
        out.push_str(&self.head(one, "wire"));
        let fields: Vec<(&Member, String)> =
            members.iter().zip(texts).map(|(member, text)| (member, whole(&member.presence, text))).collect();
        let arguments: Vec<String> = fields
            .iter()
            .filter(|(member, _)| matches!(member.presence, Presence::Required | Presence::Nullable))
            .map(|(member, text)| format!("{}: {text}", member.field))
            .collect();
        let line = format!("    pub struct {}{} new({}) {{\n", one.name, schema_name(one), arguments.join(", "));
        if line.chars().count() <= WIDTH {
            out.push_str(&line);
        } else {
            let rows = arguments.join(",\n        ");
            let _ = writeln!(out, "    pub struct {}{} new(\n        {rows},\n    ) {{", one.name, schema_name(one));
        }
        for member in members {
            if let Presence::Constant(text) = &member.presence {
                let _ = writeln!(out, "        is {} = {},", literal(&member.wire), literal(text));
            }
        }
        for (member, text) in fields.iter().filter(|(member, _)| !matches!(member.presence, Presence::Constant(_))) {
            out.push_str(&member.docs.as_deref().map(|docs| comment(docs, 8)).unwrap_or_default());
            self.attributes(out, one, Some(&member.wire), 8);
            let (wire, word) = (literal(&member.wire), word(&member.presence));
            let _ = writeln!(out, "        {wire} {word}{} {}: {text},", self.mark(member.gate), member.field);
        }
        let bag = match rest {
            Rest::Typed(_) => format!("Unknown<{}>", texts.last().map(String::as_str).unwrap_or_default()),
            Rest::Any | Rest::Closed => "Unknown".to_owned(),
        };
        let _ = writeln!(out, "        ..{UNKNOWN}: {bag}\n    }}");
        if one.strict {
            self.emit_checks(out, one, members, rest);
        }
        out.push_str("}\n");
    }

    fn emit_checks(&self, out: &mut String, one: &Type, members: &[Member], rest: &Rest) {
        out.push_str("    check {\n");
        if matches!(rest, Rest::Closed) {
            let _ = writeln!(out, "        closed {UNKNOWN},");
        }
        if matches!(rest, Rest::Typed(expr) if self.is_strict(expr)) {
            let _ = writeln!(out, "        rest {UNKNOWN},");
        }
        if !one.limits.is_empty() {
            let _ = writeln!(out, "        self {},", limits(&one.limits));
        }
        for member in members.iter().filter(|member| !matches!(member.presence, Presence::Constant(_))) {
            if self.is_strict(&member.expr) || !member.limits.is_empty() {
                let (wire, mark) = (literal(&member.wire), self.mark(member.gate));
                let _ = writeln!(out, "        {wire} {} {}{mark},", member.field, limits(&member.limits));
            }
        }
        out.push_str("    }\n");
    }

    /// Whether a value of this type can break a limit.
    fn is_strict(&self, expr: &Expr) -> bool {
        expr.references().iter().any(|id| self.ir.types[id.0].strict)
    }

    fn emit_enum(&self, out: &mut String, one: &Type, values: &[Named], openness: Openness) {
        let macro_name = match openness {
            Openness::Open => "open_enum",
            Openness::Closed => "closed_enum",
        };
        out.push_str(&self.head(one, macro_name));
        let _ = writeln!(out, "    pub enum {}{} {{", one.name, schema_name(one));
        for value in values {
            let stated =
                if value.wire.is_empty() { "The empty text.".to_owned() } else { format!("`{}`.", value.wire) };
            out.push_str(&comment(value.docs.as_deref().unwrap_or(&stated), 8));
            let _ = writeln!(out, "        {} {}{},", literal(&value.wire), value.rust, self.mark(value.gate));
        }
        if openness == Openness::Open {
            let _ = writeln!(out, "        ..{UNLISTED}");
        }
        out.push_str("    }\n}\n");
    }

    fn emit_tagged(&self, out: &mut String, one: &Type, tag: &str, arms: (&[Arm], Option<&Arm>), texts: &[String]) {
        out.push_str(&self.head(one, "tagged"));
        let _ = writeln!(out, "    pub enum {}{} by {} {{", one.name, schema_name(one), literal(tag));
        let (listed, other) = arms;
        for (arm, text) in listed.iter().zip(texts) {
            out.push_str(&comment(arm.docs.as_deref().unwrap_or(&format!("`{}`.", arm.tag)), 8));
            let _ = writeln!(out, "        {} {}({text}){},", literal(&arm.tag), arm.variant, self.mark(arm.gate));
        }
        if let (Some(arm), Some(text)) = (other, texts.last()) {
            let docs = comment(
                arm.docs.as_deref().unwrap_or("A tag that the schema does not list, with all that came under it."),
                8,
            );
            let _ = writeln!(out, "        ..\n{docs}        {}({text})", arm.variant);
        }
        out.push_str("    }\n}\n");
    }

    fn emit_either(&self, out: &mut String, one: &Type, arms: &[Arm], texts: &[String]) {
        out.push_str(&self.head(one, "either"));
        let _ = writeln!(out, "    pub enum {}{} {{", one.name, schema_name(one));
        for (arm, text) in arms.iter().zip(texts) {
            let kinds: Vec<&str> = arm.kinds.iter().map(|kind| kind.name()).collect();
            let needs: Vec<String> = arm.needs.iter().map(|need| literal(need)).collect();
            let needs = if needs.is_empty() { String::new() } else { format!(" & [{}]", needs.join(", ")) };
            let stated = format!("As {}.", kinds.join(" or "));
            out.push_str(&comment(arm.docs.as_deref().unwrap_or(&stated), 8));
            let mark = self.mark(arm.gate);
            let _ = writeln!(out, "        {}{needs} => {}({text}){mark},", kinds.join(" | "), arm.variant);
        }
        out.push_str("    }\n}\n");
    }

    fn emit_alias(&self, out: &mut String, one: &Type, texts: &[String]) {
        out.push_str(&self.head(one, "alias"));
        let text = texts.first().map(String::as_str).unwrap_or_default();
        let _ = writeln!(out, "    pub struct {}{} (pub {text});", one.name, schema_name(one));
        if !one.limits.is_empty() {
            let _ = writeln!(out, "    check {}", limits(&one.limits));
        }
        out.push_str("}\n");
    }

    fn emit_values(&self, out: &mut String, one: &Type, values: &[String]) {
        out.push_str(&self.head(one, "values"));
        let _ = writeln!(out, "    pub struct {}{} {{", one.name, schema_name(one));
        for value in values {
            let _ = writeln!(out, "        {},", literal(value));
        }
        out.push_str("    }\n}\n");
    }
}

/// The name under which a type stands in a schema; inline parts have none.
fn schema_name(one: &Type) -> String {
    one.definition.as_ref().map(|name| format!(" as {}", literal(name))).unwrap_or_default()
}

/// Where the schema of a type stands, as short as it is unambiguous in its output.
fn place(one: &Type) -> String {
    let file = one.at.file.rsplit('/').next().unwrap_or_default();
    visible(&format!("{file}#{}", one.at.pointer)).replace('`', "'")
}

/// The word for how a member may be missing.
fn word(presence: &Presence) -> &'static str {
    match presence {
        Presence::Required | Presence::Constant(_) => "req",
        Presence::Nullable => "nullable",
        Presence::Optional => "opt",
        Presence::OptionalNullable => "presence",
    }
}

fn whole(presence: &Presence, text: &str) -> String {
    match presence {
        Presence::Required | Presence::Constant(_) => text.to_owned(),
        Presence::Nullable | Presence::Optional => format!("Option<{text}>"),
        Presence::OptionalNullable => format!("Presence<{text}>"),
    }
}
