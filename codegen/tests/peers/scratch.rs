//! A crate in a temporary folder that holds generated output, and cargo on it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use msp_codegen::options::{Layout, Options};

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A folder below `target/` that is kept between runs.
pub(crate) fn cache(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
    let folder = target.join("peers").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Whether everything is run, or a part that takes seconds.
pub(crate) fn full() -> bool {
    std::env::var_os("FULL").is_some_and(|value| value == "1")
}

/// How outputs in a scratch crate are made: files that share the words of the crate.
pub(crate) fn options() -> Options {
    Options { layout: Layout::Files, words: Some("../words.rs".into()), ..Options::default() }
}

/// One crate with one module for each output.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    name: String,
    modules: Vec<String>,
    /// Definition → Rust path, by module.
    pub(crate) types: BTreeMap<String, BTreeMap<String, String>>,
}

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        // The same versions as the workspace, so that nothing is fetched that is not there already.
        fs::copy(workspace().join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
        Self { folder, name: name.to_owned(), modules: Vec::new(), types: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, module: &str, files: &BTreeMap<String, String>) {
        for (path, text) in files {
            let path = self.folder.path().join("src").join(module).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let types = files.values().flat_map(|text| definitions(text));
        self.types.insert(
            module.to_owned(),
            types.map(|(definition, name)| (definition, format!("{module}::{name}"))).collect(),
        );
        self.modules.push(module.to_owned());
    }

    /// Writes manifest, root and a program that answers for the types that were added.
    pub(crate) fn write(&self) {
        let mut manifest = format!(
            "[package]\nname = \"{}\"\nedition = \"2024\"\n\n[features]\ndefault = [\"strict\"]\nstrict = []\nexperimental = []\nschemars = []\n\n[dependencies]\n",
            self.name
        );
        manifest.push_str("serde = { version = \"1\", features = [\"derive\"] }\nserde_json = { version = \"1\", features = [\"float_roundtrip\"] }\nregex-lite = \"0.1\"\n\n[workspace]\n");
        fs::write(self.folder.path().join("Cargo.toml"), manifest).unwrap();
        let mut root = String::from(
            "#[macro_use]\n#[allow(dead_code, unused_macros, unused_imports, clippy::all)]\npub mod words;\n",
        );
        for module in &self.modules {
            writeln!(root, "pub mod {module};").unwrap();
        }
        fs::write(self.folder.path().join("src/lib.rs"), root).unwrap();
        fs::write(self.folder.path().join("src/main.rs"), self.program()).unwrap();
    }

    /// Reads lines of `[path, text]` and answers each with what decoding and encoding, and strict reading, make of it.
    fn program(&self) -> String {
        let mut arms = String::new();
        for path in self.types.values().flat_map(BTreeMap::values) {
            writeln!(arms, "        {path:?} => both::<{}::{path}>(text),", self.name.replace('-', "_")).unwrap();
        }
        let words = format!("{}::words", self.name.replace('-', "_"));
        format!(
            r#"use std::io::{{BufRead as _, Write as _}};

type Answer = (Result<String, String>, Result<(), String>);

fn both<T: serde::Serialize + serde::de::DeserializeOwned + {words}::Checked>(text: &str) -> Answer {{
    let plain = serde_json::from_str::<T>(text).and_then(|value| serde_json::to_string(&value)).map_err(|error| error.to_string());
    (plain, {words}::from_json_strict::<T>(text).map(drop).map_err(|error| error.to_string()))
}}

fn answer(path: &str, text: &str) -> Answer {{
    match path {{
{arms}        _ => (Err("no such type".into()), Err("no such type".into())),
    }}
}}

fn main() {{
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {{
        let (path, text): (String, String) = serde_json::from_str(&line.unwrap()).unwrap();
        let (plain, strict) = answer(&path, &text);
        writeln!(out, "{{}}", serde_json::to_string(&(plain, strict)).unwrap()).unwrap();
    }}
}}
"#
        )
    }

    pub(crate) fn cargo(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).current_dir(self.folder.path()).env("CARGO_NET_OFFLINE", "true");
        command.env("CARGO_TARGET_DIR", cache("scratch")).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        command.output().unwrap()
    }

    /// Runs cargo; on failure the messages, shortened.
    pub(crate) fn pass(&self, arguments: &[&str]) -> Result<(), String> {
        let output = self.cargo(arguments);
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let kept = std::env::var_os("KEEP_SCRATCH").map(|_| self.keep()).unwrap_or_default();
        Err(format!("cargo {}: {}\n{kept}", arguments.join(" "), said.chars().take(6_000).collect::<String>()))
    }

    fn keep(&self) -> String {
        let to = cache("kept").join(&self.name);
        let _ = fs::remove_dir_all(&to);
        let copied =
            Command::new("cp").arg("-r").arg(self.folder.path()).arg(&to).status().is_ok_and(|status| status.success());
        if copied { format!("kept in {}", to.display()) } else { String::new() }
    }

    /// Builds the program and asks it about every `(path, text)`.
    pub(crate) fn ask(&self, questions: &[(String, String)]) -> Result<Vec<Answer>, String> {
        self.pass(&["build", "--quiet"])?;
        let input: String = questions.iter().map(|question| serde_json::to_string(question).unwrap() + "\n").collect();
        let file = self.folder.path().join("questions");
        fs::write(&file, input).unwrap();
        let program = cache("scratch").join("debug").join(&self.name);
        let output = Command::new(program).stdin(fs::File::open(file).unwrap()).output().unwrap();
        if !output.status.success() {
            return Err(format!(
                "the program ended with {}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        let answers = String::from_utf8(output.stdout).unwrap();
        Ok(answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

/// What a type makes of a text: decoded and encoded again, and read strictly.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Answer(pub(crate) Result<String, String>, pub(crate) Result<(), String>);

/// Definition and Rust name of every type of an output: `pub struct Name as "Definition"`.
pub(crate) fn definitions(text: &str) -> Vec<(String, String)> {
    let found = text.lines().filter_map(|line| {
        let (before, after) = line.trim().strip_prefix("pub ")?.split_once(" as \"")?;
        let name = before.rsplit(' ').next()?;
        let escaped = |at: usize| after[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        let end = after.match_indices('"').map(|(at, _)| at).find(|at| !escaped(*at))?;
        Some((after[..end].replace("\\\"", "\"").replace("\\\\", "\\"), name.to_owned()))
    });
    found.collect()
}
