//! Tells the kinds of input apart.

use std::path::{Path, PathBuf};

use super::Reading;
use super::load::{self, display};
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::options::{Options, Surface};
use crate::schemas::DocumentId;

/// Name of the bundle file in a surface folder.
const BUNDLE: &str = "msp.schema.json";

/// An input whose kind is known, with its main documents read.
pub(super) enum Input {
    Bundle(Bundle),
    Session(Session),
    Plain(DocumentId),
}

/// One bundle, or two to be merged.
pub(super) struct Bundle {
    /// What the definitions come from.
    pub(super) main: DocumentId,
    /// The stable surface, where `main` is the experimental one.
    pub(super) stable: Option<DocumentId>,
    /// Files that may hold the manifests of these surfaces.
    pub(super) manifests: Vec<PathBuf>,
}

/// A set of session functions.
#[derive(Default)]
pub(super) struct Session {
    pub(super) definitions: Option<DocumentId>,
    pub(super) functions: Vec<DocumentId>,
    pub(super) triggers: Vec<DocumentId>,
    pub(super) errors: Option<DocumentId>,
}

impl Reading {
    /// What stands at `path`; `None` where it is nothing that can be read, which is reported.
    pub(super) fn recognise(&mut self, path: &Path, options: &Options) -> Option<Input> {
        if !path.is_dir() {
            return self.recognise_file(path);
        }
        if path.join("functions").is_dir() || path.join("triggers").is_dir() {
            return self.session_folder(path).map(Input::Session);
        }
        let (stable, experimental) = (path.join("stable"), path.join("experimental"));
        match (stable.is_dir(), experimental.is_dir(), options.surface) {
            (true, true, None) => {
                let main = self.surface_folder(&experimental);
                let stable_document = self.surface_folder(&stable);
                let manifests = [stable, experimental].map(|folder| folder.join("manifest.json")).to_vec();
                Some(Input::Bundle(Bundle { main: main?, stable: Some(stable_document?), manifests }))
            }
            (true, _, Some(Surface::Stable)) | (true, false, None) => self.one_surface(&stable),
            (_, true, Some(Surface::Experimental)) | (false, true, None) => self.one_surface(&experimental),
            _ => self.one_surface(path),
        }
    }

    fn recognise_file(&mut self, path: &Path) -> Option<Input> {
        let id = self.loader.load(path)?;
        let root = &self.loader.document(id).root;
        if is_bundle(root) {
            let manifests = vec![path.with_file_name("manifest.json")];
            return Some(Input::Bundle(Bundle { main: id, stable: None, manifests }));
        }
        if root.get("function_id").is_some() && root.get("request_schema").is_some() {
            return Some(Input::Session(Session { functions: vec![id], ..Session::default() }));
        }
        if root.get("trigger_type").is_some() && root.get("payload_schema").is_some() {
            return Some(Input::Session(Session { triggers: vec![id], ..Session::default() }));
        }
        if root.is_schema() {
            return Some(Input::Plain(id));
        }
        let message = format!("the file holds a value of type {}, not a schema", root.json_type());
        let diagnostic = Diagnostic::error("codegen/not-a-bundle", load::whole(path), message);
        self.loader.diagnostics.push(diagnostic.help("a schema is an object or a boolean"));
        None
    }

    fn one_surface(&mut self, folder: &Path) -> Option<Input> {
        let main = self.surface_folder(folder)?;
        Some(Input::Bundle(Bundle { main, stable: None, manifests: vec![folder.join("manifest.json")] }))
    }

    /// The bundle of a surface folder: the file with the published name, else the only bundle in it.
    fn surface_folder(&mut self, folder: &Path) -> Option<DocumentId> {
        let published = folder.join(BUNDLE);
        let candidates = if published.is_file() { vec![published] } else { self.json_files(folder)? };
        let mut bundles = Vec::new();
        let mut unreadable = false;
        for candidate in candidates {
            match load::read_document(&candidate) {
                Ok(document) if is_bundle(&document.root) => bundles.push(candidate),
                Ok(_) => {}
                Err(diagnostics) => {
                    unreadable = true;
                    self.loader.diagnostics.extend(diagnostics);
                }
            }
        }
        match bundles.as_slice() {
            [bundle] => self.loader.load(bundle),
            [] if unreadable => None,
            [] => {
                let message = format!("`{}` holds no bundle and no session functions", display(folder));
                let diagnostic = Diagnostic::error("codegen/not-a-bundle", load::whole(folder), message);
                self.loader.diagnostics.push(diagnostic.help(format!("a surface folder has `{BUNDLE}`")));
                None
            }
            [first, second, ..] => {
                let message = format!("`{}` holds several bundles", display(folder));
                let help = format!("name one of `{}`, `{}`, …", display(first), display(second));
                let diagnostic = Diagnostic::error("codegen/not-a-bundle", load::whole(folder), message);
                self.loader.diagnostics.push(diagnostic.help(help));
                None
            }
        }
    }

    fn session_folder(&mut self, folder: &Path) -> Option<Session> {
        let mut session = Session::default();
        let optional = |reading: &mut Self, name: &str| {
            let path = folder.join(name);
            path.is_file().then(|| reading.loader.load(&path)).flatten()
        };
        session.definitions = optional(self, "defs.json");
        session.functions = self.load_folder(&folder.join("functions"))?;
        session.triggers = self.load_folder(&folder.join("triggers"))?;
        session.errors = optional(self, "errors.json");
        Some(session)
    }

    fn load_folder(&mut self, folder: &Path) -> Option<Vec<DocumentId>> {
        if !folder.is_dir() {
            return Some(Vec::new());
        }
        Some(self.json_files(folder)?.iter().filter_map(|path| self.loader.load(path)).collect())
    }

    /// The `*.json` files of a folder, sorted by name.
    fn json_files(&mut self, folder: &Path) -> Option<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>());
        match entries {
            Ok(mut paths) => {
                paths.retain(|path| path.extension().is_some_and(|extension| extension == "json") && path.is_file());
                paths.sort();
                Some(paths)
            }
            Err(error) => {
                self.loader.diagnostics.push(load::unreadable(folder, &error));
                None
            }
        }
    }
}

/// Whether this is a bundle: definitions, and at least one registry of methods beside them.
fn is_bundle(root: &Node) -> bool {
    let has = |name: &str| root.get(name).is_some_and(Node::is_object);
    has("$defs") && (has("methods") || has("notifications") || has("requests"))
}
