//! Rust type expressions, made by typify.
//!
//! typify sees bare shapes only: for each of our types an object whose properties are its type expressions, all required, under
//! names that it has no reason to change (`T7` for types, `p0` for expressions). It decides what becomes a `Vec`, a map, an
//! `Option` inside a list, and where a cycle needs a `Box`; what it writes is read back and everything else of it is dropped. This
//! is the only module that knows typify and its schema model.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use schemars08::schema::{
    ArrayValidation, InstanceType, NumberValidation, ObjectValidation, Schema, SchemaObject, SingleOrVec,
    SubschemaValidation,
};
use typify::{TypeSpace, TypeSpaceSettings};

use crate::diagnostic::Diagnostic;
use crate::document::Location;
use crate::ir::{Expr, Ir, TypeId};

/// The Rust text of every expression of every type: `texts[type][expression]`, in the order of [`crate::ir::Type::exprs`].
pub(crate) type Texts = Vec<Vec<String>>;

/// Asks typify for all of them at once.
pub(crate) fn run(ir: &Ir) -> Result<Texts, Vec<Diagnostic>> {
    let definitions: Vec<(String, Schema)> =
        ir.types.iter().enumerate().map(|(index, one)| (format!("T{index}"), bare(&one.exprs()))).collect();
    // typify has assertions on its way; what the passes let through must not bring one down on the user.
    let answer = catch_unwind(AssertUnwindSafe(|| convert(definitions)));
    let file = match answer {
        Ok(Ok(file)) => file,
        Ok(Err(message)) => return Err(vec![refused(ir, &message)]),
        Err(_) => return Err(vec![refused(ir, "a panic inside")]),
    };
    read(ir, &file).map_err(|message| vec![refused(ir, &message)])
}

/// The text of an expression outside of a type, as the registries use it.
pub(crate) fn text(ir: &Ir, expr: &Expr) -> String {
    match expr {
        Expr::Any => "Value".to_owned(),
        Expr::Null => "()".to_owned(),
        Expr::Bool => "bool".to_owned(),
        Expr::Signed => "i64".to_owned(),
        Expr::Unsigned => "u64".to_owned(),
        Expr::Number => "Number".to_owned(),
        Expr::String => "String".to_owned(),
        Expr::Array(inner) => format!("Vec<{}>", text(ir, inner)),
        Expr::Map(inner) => format!("BTreeMap<String, {}>", text(ir, inner)),
        Expr::Nullable(inner) => format!("Option<{}>", text(ir, inner)),
        Expr::Ref(TypeId(index)) => ir.types[*index].name.clone(),
    }
}

fn convert(definitions: Vec<(String, Schema)>) -> Result<syn::File, String> {
    let mut settings = TypeSpaceSettings::default();
    settings.with_map_type("::std::collections::BTreeMap");
    settings.with_conversion(typed(InstanceType::Number), "::serde_json::Number", std::iter::empty());
    let mut space = TypeSpace::new(&settings);
    space.add_ref_types(definitions).map_err(|error| error.to_string())?;
    syn::parse2(space.to_stream()).map_err(|error| error.to_string())
}

fn refused(ir: &Ir, message: &str) -> Diagnostic {
    let file = ir.sources.first().map(String::as_str).unwrap_or_default();
    let at = Location { file: file.into(), pointer: String::new() };
    Diagnostic::error("codegen/shape-refused", at, format!("the conversion to Rust shapes failed: {message}"))
        .help("this is a fault of the generator: please report it with the schema")
}

/// An object with one required property for each expression.
fn bare(exprs: &[&Expr]) -> Schema {
    let properties: schemars08::Map<String, Schema> =
        exprs.iter().enumerate().map(|(index, expr)| (format!("p{index}"), schema(expr))).collect();
    let required = properties.keys().cloned().collect();
    let object = ObjectValidation { properties, required, ..ObjectValidation::default() };
    SchemaObject { object: Some(Box::new(object)), ..typed(InstanceType::Object) }.into()
}

fn typed(instance: InstanceType) -> SchemaObject {
    SchemaObject { instance_type: Some(SingleOrVec::Single(Box::new(instance))), ..SchemaObject::default() }
}

fn schema(expr: &Expr) -> Schema {
    let object = match expr {
        Expr::Any => return Schema::Bool(true),
        Expr::Null => typed(InstanceType::Null),
        Expr::Bool => typed(InstanceType::Boolean),
        Expr::Signed => SchemaObject { format: Some("int64".to_owned()), ..typed(InstanceType::Integer) },
        Expr::Unsigned => SchemaObject {
            format: Some("uint64".to_owned()),
            number: Some(Box::new(NumberValidation { minimum: Some(0.0), ..NumberValidation::default() })),
            ..typed(InstanceType::Integer)
        },
        Expr::Number => typed(InstanceType::Number),
        Expr::String => typed(InstanceType::String),
        Expr::Array(inner) => {
            let array = ArrayValidation {
                items: Some(SingleOrVec::Single(Box::new(schema(inner)))),
                ..ArrayValidation::default()
            };
            SchemaObject { array: Some(Box::new(array)), ..typed(InstanceType::Array) }
        }
        Expr::Map(inner) => {
            let object = ObjectValidation {
                additional_properties: Some(Box::new(schema(inner))),
                ..ObjectValidation::default()
            };
            SchemaObject { object: Some(Box::new(object)), ..typed(InstanceType::Object) }
        }
        Expr::Nullable(inner) => {
            let one_of = Some(vec![schema(inner), typed(InstanceType::Null).into()]);
            let subschemas = Some(Box::new(SubschemaValidation { one_of, ..SubschemaValidation::default() }));
            SchemaObject { subschemas, ..SchemaObject::default() }
        }
        Expr::Ref(TypeId(index)) => SchemaObject::new_ref(format!("#/$defs/T{index}")),
    };
    object.into()
}

/// Finds the struct of each of our types and the fields of its expressions in what typify wrote.
fn read(ir: &Ir, file: &syn::File) -> Result<Texts, String> {
    let mut structs: BTreeMap<usize, &syn::ItemStruct> = BTreeMap::new();
    for item in &file.items {
        if let syn::Item::Struct(one) = item {
            if let Some(index) = number(&one.ident.to_string(), 'T') {
                structs.insert(index, one);
            }
        }
    }
    let mut texts = Vec::with_capacity(ir.types.len());
    for (index, one) in ir.types.iter().enumerate() {
        let wanted = one.exprs().len();
        let mut found = vec![None; wanted];
        for field in structs.get(&index).map(|one| one.fields.iter()).into_iter().flatten() {
            let at = field.ident.as_ref().and_then(|ident| number(&ident.to_string(), 'p'));
            if let Some(slot) = at.and_then(|at| found.get_mut(at)) {
                *slot = Some(print(ir, &field.ty)?);
            }
        }
        let found: Option<Vec<String>> = found.into_iter().collect();
        texts.push(found.ok_or_else(|| format!("`{}` came back without all its {wanted} parts", one.name))?);
    }
    Ok(texts)
}

/// The number in `T7` or `p0`.
fn number(name: &str, letter: char) -> Option<usize> {
    name.strip_prefix(letter)?.parse().ok()
}

/// A type as short text: last path segments, and our names for `T7`.
fn print(ir: &Ir, ty: &syn::Type) -> Result<String, String> {
    match ty {
        syn::Type::Path(path) => {
            let segment = path.path.segments.last().ok_or("an empty path")?;
            let ident = segment.ident.to_string();
            let name = match number(&ident, 'T').and_then(|index| ir.types.get(index)) {
                Some(one) => one.name.clone(),
                None => ident,
            };
            let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return Ok(name) };
            let inner: Result<Vec<String>, String> = arguments
                .args
                .iter()
                .map(|argument| match argument {
                    syn::GenericArgument::Type(ty) => print(ir, ty),
                    _ => Err("a generic argument that is no type".to_owned()),
                })
                .collect();
            Ok(format!("{name}<{}>", inner?.join(", ")))
        }
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => Ok("()".to_owned()),
        _ => Err("a type that is no path".to_owned()),
    }
}
