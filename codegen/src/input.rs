//! Reads what a path names, whatever of the known kinds it is, into [`Schemas`].
//!
//! A path is a bundle file, a surface folder, a folder with both surfaces, a folder of session functions, or any JSON Schema.
//! Files that a relative `$ref` names are read too; nothing is ever fetched.

mod bundle;
mod cycles;
mod identities;
pub(crate) mod load;
pub(crate) mod overlay;
mod plain;
mod recognise;
mod references;
mod session;
mod surfaces;
mod uri;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::diagnostic::{self, Diagnostic, Severity};
use crate::options::Options;
use crate::schemas::{DocumentId, Schemas};
use load::Loader;
use recognise::Input;
use references::References;

/// Reads the inputs at `paths`; several are only taken where all are plain JSON Schemas.
///
/// # Errors
/// Everything that is wrong with them, sorted and with excerpts: files that cannot be read or are no JSON, names that stand
/// twice in an object, references that lead nowhere or outside, and rows of a registry that are malformed.
pub fn read<P: AsRef<Path>>(paths: &[P], options: &Options) -> Result<Schemas, Vec<Diagnostic>> {
    let (schemas, diagnostics) = read_all(paths, options);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        Err(diagnostics)
    } else {
        Ok(schemas)
    }
}

/// As [`read`], but keeps what could be read when something was wrong, so that `lint` can say the rest too.
pub fn read_all<P: AsRef<Path>>(paths: &[P], options: &Options) -> (Schemas, Vec<Diagnostic>) {
    let mut reading = Reading::default();
    let inputs: Vec<Input> = paths.iter().filter_map(|path| reading.recognise(path.as_ref(), options)).collect();
    let schemas = reading.read(inputs, options);
    let mut diagnostics = reading.loader.diagnostics;
    diagnostic::attach_excerpts(&mut diagnostics, &schemas.documents);
    diagnostic::sort(&mut diagnostics);
    (schemas, diagnostics)
}

/// The files that an input is made of, for `rerun-if-changed`: those that were read, and the paths as given.
pub fn files<P: AsRef<Path>>(paths: &[P], schemas: &Schemas) -> Vec<PathBuf> {
    let given = paths.iter().map(|path| path.as_ref().to_owned());
    let read = schemas.documents.iter().map(|document| PathBuf::from(&*document.file));
    let mut all: Vec<PathBuf> = given.chain(read).collect();
    all.sort();
    all.dedup();
    all
}

/// The work in progress.
#[derive(Default)]
struct Reading {
    loader: Loader,
    references: References,
    /// Names of root schemas.
    roots: BTreeMap<DocumentId, String>,
}

impl Reading {
    fn read(&mut self, inputs: Vec<Input>, options: &Options) -> Schemas {
        let mut schemas = Schemas::default();
        let mut inputs = inputs.into_iter();
        match inputs.next() {
            Some(Input::Bundle(bundle)) => bundle::read(self, &bundle, &mut schemas, options),
            Some(Input::Session(session)) => session::read(self, &session, &mut schemas),
            Some(Input::Plain(first)) => {
                let mut roots = vec![first];
                for input in inputs.by_ref() {
                    match input {
                        Input::Plain(document) => roots.push(document),
                        Input::Bundle(_) | Input::Session(_) => self.refuse_mixture(),
                    }
                }
                plain::read(self, &roots, &mut schemas, options);
            }
            None => self.finish(&mut schemas),
        }
        if inputs.next().is_some() {
            self.refuse_mixture();
        }
        schemas
    }

    fn refuse_mixture(&mut self) {
        let at = self.loader.documents.first().map_or_else(|| load::whole(Path::new("")), |document| document.at(""));
        let message = "several inputs are given, and not all are plain JSON Schemas";
        self.loader.diagnostics.push(
            Diagnostic::error("codegen/mixed-inputs", at, message)
                .help("read bundles and session folders one at a time"),
        );
    }

    /// Follows the references, then hands documents and definitions over.
    fn finish(&mut self, schemas: &mut Schemas) {
        self.references.follow(&mut self.loader, &self.roots);
        schemas.documents = std::mem::take(&mut self.loader.documents);
        std::mem::take(&mut self.references).fill(schemas);
        self.loader.diagnostics.extend(cycles::find(schemas));
        let mut digest = Sha256::new();
        for document in &schemas.documents {
            digest.update(document.text.as_bytes());
        }
        schemas.digest = hex(&digest.finalize());
        texts_within(schemas);
    }
}

/// Takes the texts that schemas carry for their enum values and members.
fn texts_within(schemas: &mut Schemas) {
    let mut texts = Vec::new();
    for (id, definition) in schemas.iter() {
        let document = definition.document;
        crate::keywords::walk(schemas.node(id), &definition.at.pointer, &mut |schema, at| {
            for (keyword, below) in [("x-enumDescriptions", "enum"), ("x-memberDescriptions", "properties")] {
                let entries = schema.get(keyword).map(crate::document::Node::members).unwrap_or_default();
                for (name, text) in entries {
                    if let Some(text) = text.as_str() {
                        let place = crate::pointer::join(&crate::pointer::join(at, below), name);
                        texts.push((schemas.key(document, &place), text.to_owned()));
                    }
                }
            }
        });
    }
    schemas.texts.extend(texts);
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
