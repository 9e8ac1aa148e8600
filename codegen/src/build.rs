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

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::diagnostic::{self, Colour, Diagnostic, Severity};
use crate::document::Location;
use crate::options::Options;
use crate::output::{self, Files};
use crate::{generate, input, lint};

/// Reads the schema at `path`, relative to the package, and writes `OUT_DIR/schema.rs`.
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
    /// Everything that is wrong with the schema, and a file that cannot be written; nothing is written then.
    pub fn write(mut self) -> Result<PathBuf, BuildError> {
        let folder = self.folder()?;
        if self.options.base.is_none() {
            self.options.base = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        }
        let (schemas, mut diagnostics) = input::read_all(&self.schemas, &self.options);
        // First of all, so that a schema that is refused is watched too.
        let watched = input::files(&self.schemas, &schemas).into_iter().chain(self.options.annotations.clone());
        tell(watched.map(|path| format!("cargo::rerun-if-changed={}", path.display())));
        if is_clean(&diagnostics) {
            diagnostics.extend(lint::lint(&schemas).into_iter().filter(|found| found.severity != Severity::Note));
        }
        let mut files = Files::new();
        if is_clean(&diagnostics) {
            let (made, mut found) = generate::generate(&schemas, &self.options);
            diagnostic::attach_excerpts(&mut found, &schemas.documents);
            diagnostics.append(&mut found);
            files = made;
        }
        diagnostic::sort(&mut diagnostics);
        if !is_clean(&diagnostics) {
            return Err(BuildError { diagnostics });
        }
        tell(diagnostics.iter().map(|diagnostic| format!("cargo::warning={diagnostic}")));
        let written = self.place(&folder, files);
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
        if files.len() > 1 {
            output::write(&[(folder.to_owned(), files)])?;
            return Ok(folder.to_owned());
        }
        // `OUT_DIR` is ours alone, but a second builder of the same package may have written there: nothing is removed.
        let text = files.pop_first().map(|(_, text)| text).unwrap_or_default();
        output::write_one(&folder.join(&self.file), &text)?;
        Ok(folder.join(&self.file))
    }
}

#[expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
fn tell(lines: impl Iterator<Item = String>) {
    for line in lines {
        // A name of the input may hold a line feed, which would start another instruction.
        println!("{}", line.replace(['\n', '\r'], " "));
    }
}

fn is_clean(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
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
