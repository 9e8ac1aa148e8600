//! One call for anybody's `build.rs`: schema in, one Rust file in `OUT_DIR` out.
//!
//! ```no_run
//! // build.rs, with `msp-codegen = { version = "0.1", default-features = false }` among the build dependencies
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     msp_codegen::build("schema/msp.schema.json")?;
//!     Ok(())
//! }
//! ```
//! and in the crate: `include!(concat!(env!("OUT_DIR"), "/schema.rs"));`
//!
//! A second schema in the same build script needs a file of its own:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! msp_codegen::build("schema/msp.schema.json")?; // OUT_DIR/schema.rs
//! msp_codegen::build::Builder::new().schema("schema/lamp.schema.json").file("lamp.rs").write()?;
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::diagnostic::{self, Colour, Diagnostic};
use crate::document::Location;
use crate::input;
use crate::input::load::normalize;
use crate::make::{self, is_clean};
use crate::options::Options;
use crate::output::{self, Files};

/// What this process wrote so far, and from what; a build script is one process.
static WRITTEN: Mutex<BTreeMap<PathBuf, Origin>> = Mutex::new(BTreeMap::new());

/// What a file was made from.
type Origin = (Vec<PathBuf>, Options);

/// Reads the schema at `path`, relative to the package, and writes `OUT_DIR/schema.rs`.
///
/// It always is that file; for a second schema, name another with [`Builder::file`].
///
/// # Errors
/// As [`Builder::write`].
pub fn build(path: impl AsRef<Path>) -> Result<PathBuf, BuildError> {
    Builder::new().schema(path).write()
}

/// A build step with choices.
///
/// ```no_run
/// use msp_codegen::build::Builder;
/// use msp_codegen::options::{Options, Surface};
///
/// let options = Options { surface: Some(Surface::Stable), ..Options::default() };
/// Builder::new().schema("schema/msp").options(options).file("msp.rs").write()?;
/// # Ok::<(), msp_codegen::build::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    schemas: Vec<PathBuf>,
    options: Options,
    file: String,
    out: Option<PathBuf>,
}

impl Default for Builder {
    fn default() -> Self {
        Self { schemas: Vec::new(), options: Options::default(), file: "schema.rs".to_owned(), out: None }
    }
}

impl Builder {
    /// A step without a schema yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input: bundle, folder or JSON Schema; a relative path is taken from the package's folder, where cargo starts build
    /// scripts.
    #[must_use]
    pub fn schema(mut self, path: impl AsRef<Path>) -> Self {
        self.schemas.push(path.as_ref().to_owned());
        self
    }

    /// Sets the choices. Source locations in the output are relative to the package unless [`Options::base`] says otherwise.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the name of the file; `schema.rs` otherwise. Output of several files keeps its own names.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>) -> Self {
        self.file = name.into();
        self
    }

    /// Sets the folder; `OUT_DIR` otherwise.
    #[must_use]
    pub fn out(mut self, folder: impl AsRef<Path>) -> Self {
        self.out = Some(folder.as_ref().to_owned());
        self
    }

    /// Generates and writes. Tells cargo, on standard output, which files to watch and what there is to warn of.
    ///
    /// Gives the path of the file, or of the folder where the output has several.
    ///
    /// # Errors
    /// Everything that is wrong with the schema, a file that cannot be written or that somebody else made, and one that another
    /// step of this process wrote with other text; nothing is written then.
    pub fn write(mut self) -> Result<PathBuf, BuildError> {
        let folder = self.folder()?;
        if self.options.base.is_none() {
            self.options.base = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        }
        let made = make::make(&self.schemas, &self.options);
        // Before anything else, so that a schema that is refused is watched too.
        let watched = input::files(&self.schemas, &made.schemas).into_iter().chain(self.options.annotations.clone());
        tell(watched.map(|path| format!("cargo::rerun-if-changed={}", path.display())));
        if !is_clean(&made.diagnostics) {
            return Err(BuildError { diagnostics: made.diagnostics });
        }
        tell(made.diagnostics.iter().map(|diagnostic| format!("cargo::warning={diagnostic}")));
        let written = self.place(&folder, made.files);
        written.map_err(|diagnostic| BuildError { diagnostics: vec![*diagnostic] })
    }

    fn folder(&self) -> Result<PathBuf, BuildError> {
        self.out.clone().or_else(|| env::var_os("OUT_DIR").map(PathBuf::from)).ok_or_else(|| {
            let at = Location { file: "OUT_DIR".into(), pointer: String::new() };
            let message = "`OUT_DIR` is not set; this runs in a build script";
            let help = "call it from `build.rs`, or name a folder with `Builder::out`";
            BuildError { diagnostics: vec![Diagnostic::error("codegen/unwritable", at, message).help(help)] }
        })
    }

    fn place(&self, folder: &Path, mut files: Files) -> Result<PathBuf, Box<Diagnostic>> {
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = (self.schemas.clone(), self.options.clone());
        let several = files.len() > 1;
        if !several {
            files = files.into_values().map(|text| (self.file.clone(), text)).collect();
        }
        for (path, _) in written.iter().filter(|(_, other)| **other != origin) {
            let kept = files.iter().find(|(name, _)| absolute(&folder.join(name)) == *path);
            let lost = match kept {
                Some((_, text)) => std::fs::read_to_string(path).is_ok_and(|there| there != *text),
                // Several files are the whole content of their folder: what else is there would be removed as stale.
                None => several && path.starts_with(absolute(folder)),
            };
            if lost {
                return Err(taken(path));
            }
        }
        written.extend(files.keys().map(|name| (absolute(&folder.join(name)), origin.clone())));
        if several {
            output::write(&[(folder.to_owned(), files)])?;
            return Ok(folder.to_owned());
        }
        // `OUT_DIR` is ours alone, but a second builder of the same package may have written there: nothing is removed.
        let text = files.pop_first().map(|(_, text)| text).unwrap_or_default();
        output::write_one(&folder.join(&self.file), &text)?;
        Ok(folder.join(&self.file))
    }
}

/// One spelling for one file.
fn absolute(path: &Path) -> PathBuf {
    normalize(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

fn taken(path: &Path) -> Box<Diagnostic> {
    let shown = crate::input::load::display(path);
    let message = format!("`{shown}` was written by another step of this build script, and would be lost");
    let at = Location { file: shown.into(), pointer: String::new() };
    let help = "give each schema a file of its own with `Builder::file`, or a folder with `Builder::out`";
    Box::new(Diagnostic::error("codegen/output-conflict", at, message).help(help))
}

#[expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
fn tell(lines: impl Iterator<Item = String>) {
    for line in lines {
        // A name of the input may hold a line feed, which would start another instruction.
        println!("{}", line.replace(['\n', '\r'], " "));
    }
}

/// Why a build step failed. Its [`Debug`](fmt::Debug) form is the text for people, since that is what cargo shows when `main` of
/// a build script returns it.
pub struct BuildError {
    /// Everything that was found, sorted.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.diagnostics {
            write!(f, "\n{}", diagnostic::to_text(diagnostic, Colour::Never))?;
        }
        Ok(())
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}
