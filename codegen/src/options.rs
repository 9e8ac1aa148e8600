//! Everything that a caller may choose, as plain data: command line, configuration file and build helper all fill this.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::input::load::{display, normalize};

/// Which surface of a bundle is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Surface {
    /// Stable parts only: `stable/` of a folder that has both; the marked parts of a single bundle are left out.
    Stable,
    /// All parts: `experimental/` of a folder that has both. Gates are still known where the input marks them.
    Experimental,
}

/// How the output is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Layout {
    /// One file with everything in one module; what a build script wants.
    #[default]
    Single,
    /// One file per family, and one that names them all.
    Files,
    /// One file with one module per family.
    Modules,
}

/// When an optional part of the output is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum When {
    /// Not written at all.
    Never,
    /// Behind the cargo feature of that name in the crate that holds the output.
    Feature,
    /// Without a condition.
    Always,
}

/// One attribute for one type or member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// `Item` for the type of that definition, `Item/text` for its member `text`; names as the schema has them.
    pub path: String,
    /// The attribute as Rust text, `#[…]`.
    pub attribute: String,
}

/// The choices for one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Surface to read; `None` takes both and gates what is experimental only.
    pub surface: Option<Surface>,
    /// Names of definitions, methods, … to keep, with all they reach; empty keeps everything.
    pub only: Vec<String>,
    /// Name of the root schema of a plain JSON Schema; the file name otherwise.
    pub root: Option<String>,
    /// Overlay to use in place of the embedded one.
    pub annotations: Option<PathBuf>,
    /// Layout of the output.
    pub layout: Layout,
    /// Definition → path of a Rust type to use in its place; nothing is written for the definition.
    pub replace: BTreeMap<String, String>,
    /// Definition, or `*` for all → further derives.
    pub derives: BTreeMap<String, Vec<String>>,
    /// Further attributes, in the order given.
    pub attributes: Vec<Attribute>,
    /// How experimental parts are compiled; [`When::Never`] is not a choice here, [`Surface::Stable`] is.
    pub experimental: When,
    /// Whether types describe themselves through `schemars` 1.
    pub schemars: When,
    /// Whether types have `violations` and `from_json_strict`.
    pub strict: When,
    /// File of the words that the types need, relative to the output folder and outside of it if need be
    /// (`../words.rs`); `None` puts them beside the types, or into the one file of a single-file layout.
    pub words: Option<String>,
    /// Folder that source locations in the output are relative to, so that they do not hang on where the program was started:
    /// that of the configuration file, or of the package that is built. `None` keeps paths as they were given.
    pub base: Option<PathBuf>,
}

impl Options {
    /// The path of a document as the output names it.
    pub fn source(&self, file: &str) -> String {
        let shown = self.base.as_deref().map(normalize).and_then(|base| {
            let inside = normalize(Path::new(file)).strip_prefix(base).ok()?.to_owned();
            Some(display(&inside))
        });
        shown.unwrap_or_else(|| file.to_owned())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            surface: None,
            only: Vec::new(),
            root: None,
            annotations: None,
            layout: Layout::default(),
            replace: BTreeMap::new(),
            derives: BTreeMap::new(),
            attributes: Vec::new(),
            experimental: When::Always,
            schemars: When::Never,
            strict: When::Always,
            words: None,
            base: None,
        }
    }
}
