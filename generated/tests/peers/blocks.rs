//! One macro call of the generated text, and what can be changed in it so that it still compiles.

use std::fmt::Write as _;

/// A macro call that makes the type of a definition.
#[derive(Clone)]
pub(crate) struct Block {
    /// `msp` or `session`.
    pub(crate) family: &'static str,
    pub(crate) definition: String,
    pub(crate) name: String,
    macro_name: String,
    /// Lines between the braces, without docs.
    lines: Vec<String>,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edit {
    FieldGone,
    FieldRetyped,
    FieldRenamed,
    MadeOptional,
    MadeRequired,
    NullDropped,
    VariantGone,
    VariantRenamed,
    OpennessTurned,
    TagRenamed,
    LimitGone,
}

impl Edit {
    pub(crate) const ALL: [Self; 11] = [
        Self::FieldGone,
        Self::FieldRetyped,
        Self::FieldRenamed,
        Self::MadeOptional,
        Self::MadeRequired,
        Self::NullDropped,
        Self::VariantGone,
        Self::VariantRenamed,
        Self::OpennessTurned,
        Self::TagRenamed,
        Self::LimitGone,
    ];
}

/// Every block of a generated file that belongs to a definition.
pub(crate) fn read(family: &'static str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(macro_name) = line.strip_suffix("! {").filter(|name| !name.contains(' ')) else { continue };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
        let code = inside.iter().filter(|line| !line.trim_start().starts_with("///"));
        let lines: Vec<String> = joined(code.map(|line| (*line).to_owned()));
        let Some((before, after)) = lines.first().and_then(|head| head.split_once(" as \"")) else { continue };
        blocks.push(Block {
            family,
            definition: after[..after.find('"').unwrap()].to_owned(),
            name: before.rsplit(' ').next().unwrap().to_owned(),
            macro_name: macro_name.to_owned(),
            lines,
        });
    }
    blocks
}

/// The head of a struct with many arguments goes over several lines; here it is one.
fn joined(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        match out.last_mut() {
            Some(head) if head.ends_with('(') || (head.contains(" new(") && !head.ends_with('{')) => {
                head.push_str(line.trim());
            }
            _ => out.push(line),
        }
    }
    out
}

/// `        "wire" kind @ "gate" field: Type,`
struct Row {
    wire: String,
    kind: String,
    gate: String,
    field: String,
    ty: String,
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let (wire, rest) = line.trim().strip_prefix('"')?.split_once("\" ")?;
        let (head, ty) = rest.strip_suffix(',')?.split_once(": ")?;
        let mut words = head.split(' ');
        let kind = words.next().filter(|kind| ["req", "opt", "nullable", "presence"].contains(kind))?;
        let field = words.next_back()?;
        let gate = words.collect::<Vec<_>>().join(" ");
        Some(Self { wire: wire.into(), kind: kind.into(), gate, field: field.into(), ty: ty.into() })
    }

    fn write(&self) -> String {
        let gate = if self.gate.is_empty() { String::new() } else { format!(" {}", self.gate) };
        format!("        \"{}\" {}{gate} {}: {},", self.wire, self.kind, self.field, self.ty)
    }

    /// The type without what its kind puts around it.
    fn bare(&self) -> &str {
        let inner = |wrapper: &str| self.ty.strip_prefix(wrapper).and_then(|rest| rest.strip_suffix('>'));
        inner("Option<").or_else(|| inner("Presence<")).unwrap_or(&self.ty)
    }

    fn become_kind(&mut self, kind: &str, ty: &str) {
        self.ty = match kind {
            "req" => ty.to_owned(),
            "presence" => format!("Presence<{ty}>"),
            _ => format!("Option<{ty}>"),
        };
        kind.clone_into(&mut self.kind);
    }
}

impl Block {
    /// A module that holds this type alone, beside all others as they are.
    pub(crate) fn module(&self, name: &str) -> String {
        let mut out = format!(
            "pub mod {name} {{\n#![allow(dead_code, unused_imports)]\nuse crate::{}::*;\n\
             use {{crate::words::{{self, NoParams, Presence, Unknown}}, serde_json::{{Map, Number, Value}}, std::collections::BTreeMap}};\n{}! {{\n",
            self.family, self.macro_name
        );
        for line in &self.lines {
            writeln!(out, "{line}").unwrap();
        }
        out.push_str("}\n}\n");
        out
    }

    /// The block with one thing changed, `turn` choosing which of several; none where there is nothing of the kind.
    pub(crate) fn edited(&self, edit: Edit, turn: usize) -> Option<Self> {
        let mut copy = self.clone();
        match edit {
            Edit::VariantGone | Edit::VariantRenamed => copy.edit_variant(edit, turn)?,
            Edit::OpennessTurned => copy.turn_openness()?,
            Edit::TagRenamed => {
                let head = self.lines[0].strip_suffix("\" {").filter(|head| head.contains("\" by \""))?;
                copy.lines[0] = format!("{head}X\" {{");
            }
            Edit::LimitGone => {
                let at = self.lines.iter().position(|line| line.trim() == "closed unknown," || line.contains('['))?;
                match copy.lines[at].find('[') {
                    Some(start) => copy.lines[at].replace_range(start.., "[],"),
                    None => drop(copy.lines.remove(at)),
                }
            }
            _ => copy.edit_row(edit, turn)?,
        }
        (copy.lines != self.lines || copy.macro_name != self.macro_name).then_some(copy)
    }

    fn edit_row(&mut self, edit: Edit, turn: usize) -> Option<()> {
        let fits = |row: &Row| match edit {
            Edit::MadeOptional => row.kind == "req",
            Edit::MadeRequired => row.kind == "opt",
            Edit::NullDropped => row.kind == "presence" || row.kind == "nullable",
            _ => true,
        };
        let rows = self.lines.iter().enumerate().filter_map(|(at, line)| Some((at, Row::read(line).filter(fits)?)));
        let mut rows: Vec<(usize, Row)> = rows.collect();
        if rows.is_empty() || self.macro_name != "wire" {
            return None;
        }
        let choice = turn % rows.len();
        let (at, mut row) = rows.swap_remove(choice);
        let (wire, kind, bare) = (row.wire.clone(), row.kind.clone(), row.bare().to_owned());
        match edit {
            Edit::FieldRetyped => row.become_kind(&kind, if bare == "bool" { "String" } else { "bool" }),
            Edit::FieldRenamed => row.wire.push('X'),
            Edit::MadeOptional => row.become_kind("opt", &bare),
            Edit::MadeRequired => row.become_kind("req", &bare),
            Edit::NullDropped => row.become_kind(if kind == "presence" { "opt" } else { "req" }, &bare),
            _ => {}
        }
        self.lines[at] = row.write();
        if edit == Edit::FieldGone {
            self.lines.remove(at);
        }
        // What is checked of the member goes with it.
        let checked = format!("\"{wire}\" {} [", row.field);
        self.lines.retain(|line| !line.trim().starts_with(&checked));
        self.write_head();
        Some(())
    }

    /// `new` takes what is required.
    fn write_head(&mut self) {
        let rows = self.lines.iter().filter_map(|line| Row::read(line));
        let required = rows.filter(|row| row.kind == "req" || row.kind == "nullable");
        let arguments: Vec<String> = required.map(|row| format!("{}: {}", row.field, row.ty)).collect();
        let start = self.lines[0].find(" new(").unwrap();
        self.lines[0].replace_range(start.., &format!(" new({}) {{", arguments.join(", ")));
    }

    fn edit_variant(&mut self, edit: Edit, turn: usize) -> Option<()> {
        let rows = |line: &String| line.starts_with("        \"") || line.contains(" => ");
        let places: Vec<usize> = (1..self.lines.len()).filter(|at| rows(&self.lines[*at])).collect();
        if self.macro_name == "wire" || places.len() < 2 {
            return None;
        }
        let at = places[turn % places.len()];
        if edit == Edit::VariantGone {
            self.lines.remove(at);
            return Some(());
        }
        let (start, end) = (self.lines[at].find('"')?, self.lines[at].rfind("\" ")?);
        let wire = self.lines[at][start + 1..end].to_owned();
        self.lines[at].replace_range(start + 1..end, &format!("{wire}X"));
        Some(())
    }

    fn turn_openness(&mut self) -> Option<()> {
        match self.macro_name.as_str() {
            "open_enum" => {
                "closed_enum".clone_into(&mut self.macro_name);
                self.lines.retain(|line| line.trim() != "..Unlisted");
            }
            "closed_enum" => {
                "open_enum".clone_into(&mut self.macro_name);
                let end = self.lines.len() - 1;
                self.lines.insert(end, "        ..Unlisted".to_owned());
            }
            _ => return None,
        }
        Some(())
    }
}
