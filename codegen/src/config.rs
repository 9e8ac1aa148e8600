//! `msp-codegen.toml`: one table for each output.
//!
//! ```toml
//! [[output]]
//! schema = ["schema/msp"]                # paths, relative to this file
//! out = "generated/src/gen/msp"          # folder, relative to this file
//! layout = "files"                       # single, files (one per family), modules (one per family)
//! surface = "stable"                     # or experimental; both, with gates, when left out
//! only = ["Item"]                        # with all they reach
//! root = "Root"                          # name of the root of a plain schema
//! annotations = "annotations.json"       # another overlay
//! experimental = "feature"               # or always
//! schemars = "feature"                   # never, feature, always
//! strict = "feature"                     # never, feature, always
//! words = "../words.rs"                  # relative to `out`
//! replace = { SessionId = "crate::SessionId" }
//! derives = { "*" = ["PartialEq"], Item = ["Hash"] }
//!
//! [[output.attribute]]
//! path = "Item/text"
//! attribute = "#[deprecated]"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::diagnostic::{Diagnostic, Excerpt};
use crate::document::Location;
use crate::options::{Attribute, Layout, Options, Surface, When};

/// One output: what to read, where to write, and the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Paths to read.
    pub schema: Vec<PathBuf>,
    /// Folder to write.
    pub out: PathBuf,
    /// Choices.
    pub options: Options,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    output: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    schema: Vec<PathBuf>,
    out: PathBuf,
    layout: Option<Layout>,
    surface: Option<Surface>,
    #[serde(default)]
    only: Vec<String>,
    root: Option<String>,
    annotations: Option<PathBuf>,
    experimental: Option<When>,
    schemars: Option<When>,
    strict: Option<When>,
    words: Option<String>,
    #[serde(default)]
    replace: BTreeMap<String, String>,
    #[serde(default)]
    derives: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    attribute: Vec<Attribute>,
}

/// Reads the file at `path`; the paths in it are taken relative to its folder.
///
/// # Errors
/// `codegen/unreadable`, and `codegen/config` with the line for anything that is not TOML, not known, or not possible.
pub fn read(path: &Path) -> Result<Vec<Output>, Box<Diagnostic>> {
    let file = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    let at = Location { file: file.as_str().into(), pointer: String::new() };
    let text = std::fs::read_to_string(path).map_err(|error| {
        Box::new(Diagnostic::error("codegen/unreadable", at.clone(), format!("`{file}` cannot be read: {error}")))
    })?;
    parse(&text, &at, path.parent().unwrap_or(Path::new("")))
}

fn parse(text: &str, at: &Location, folder: &Path) -> Result<Vec<Output>, Box<Diagnostic>> {
    let config: Config = toml::from_str(text).map_err(|error| {
        let excerpt = error.span().and_then(|span| {
            let before = text.get(..span.start)?;
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            Excerpt::at_line(text, before.split('\n').count(), span.start - line_start + 1)
        });
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        let diagnostic = Diagnostic::error("codegen/config", at.clone(), message).excerpt(excerpt);
        Box::new(diagnostic.help("the documentation of `msp_codegen::config` shows every key"))
    })?;
    let refuse = |message: &str| Box::new(Diagnostic::error("codegen/config", at.clone(), message));
    if config.output.is_empty() {
        return Err(refuse("there is no `[[output]]`"));
    }
    let outputs: Vec<Output> = config.output.into_iter().map(|table| output(table, folder)).collect();
    for output in &outputs {
        if output.schema.is_empty() {
            return Err(refuse("`schema` names no path"));
        }
        if output.options.experimental == When::Never {
            return Err(refuse("`experimental` is `feature` or `always`; without such parts, `surface` is `stable`"));
        }
    }
    Ok(outputs)
}

fn output(table: Table, folder: &Path) -> Output {
    let defaults = Options::default();
    Output {
        schema: table.schema.iter().map(|path| folder.join(path)).collect(),
        out: folder.join(table.out),
        options: Options {
            surface: table.surface,
            only: table.only,
            root: table.root,
            annotations: table.annotations.map(|path| folder.join(path)),
            layout: table.layout.unwrap_or(defaults.layout),
            replace: table.replace,
            derives: table.derives,
            attributes: table.attribute,
            experimental: table.experimental.unwrap_or(defaults.experimental),
            schemars: table.schemars.unwrap_or(defaults.schemars),
            strict: table.strict.unwrap_or(defaults.strict),
            words: table.words,
            base: Some(folder.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the documentation of this module names every key and is accepted.
    #[test]
    fn the_documented_example_is_whole() {
        let source = include_str!("config.rs").lines().map_while(|line| line.strip_prefix("//!"));
        let example: Vec<&str> =
            source.skip_while(|line| *line != " ```toml").skip(1).take_while(|line| *line != " ```").collect();
        let at = Location { file: "config.rs".into(), pointer: String::new() };
        let outputs = parse(&example.join("\n"), &at, Path::new("folder")).unwrap();
        let [Output { schema, out, options }] = outputs.as_slice() else { panic!("one output") };
        assert_eq!(schema, &[Path::new("folder/schema/msp")]);
        assert_eq!(out, Path::new("folder/generated/src/gen/msp"));
        let Options {
            surface,
            only,
            root,
            annotations,
            layout,
            replace,
            derives,
            attributes,
            experimental,
            schemars,
            strict,
            words,
            base,
        } = options;
        assert_eq!(*surface, Some(Surface::Stable));
        assert_eq!(*only, ["Item"]);
        assert_eq!(root.as_deref(), Some("Root"));
        assert_eq!(annotations.as_deref(), Some(Path::new("folder/annotations.json")));
        assert_eq!(*layout, Layout::Files);
        assert_eq!(replace["SessionId"], "crate::SessionId");
        assert_eq!(
            (derives["*"].as_slice(), derives["Item"].as_slice()),
            (&["PartialEq".to_owned()][..], &["Hash".to_owned()][..])
        );
        assert_eq!(attributes[0], Attribute { path: "Item/text".to_owned(), attribute: "#[deprecated]".to_owned() });
        assert_eq!((*experimental, *schemars, *strict), (When::Feature, When::Feature, When::Feature));
        assert_eq!(words.as_deref(), Some("../words.rs"));
        assert_eq!(base.as_deref(), Some(Path::new("folder")));
    }
}
