//! What may stand on the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::options::{Attribute, Layout, Options, Surface, When};

/// What every `--help` says at its end.
const EXIT_CODES: &str = "Exit codes: 0 good, warnings and notes included; 1 findings, refused schema or drift; \
2 usage; 3 a file that cannot be opened or is nothing that is read.";

/// Rust types from the schemas of coding-agent session protocols, with nothing lost.
#[derive(Debug, Parser)]
#[command(name = "msp-codegen", version, about, max_term_width = 100)]
#[command(after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write the Rust types of a schema, or check that they are up to date
    #[command(after_help = EXIT_CODES)]
    Generate(Box<Generate>),
    /// Say what is wrong with a schema
    #[command(after_help = EXIT_CODES)]
    Lint(Lint),
    /// Show what a schema holds
    #[command(after_help = EXIT_CODES)]
    List(List),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct Lint {
    /// Bundle, surface folder, folder of both surfaces, folder of session functions, or JSON Schema
    #[arg(required = true)]
    pub(super) path: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) reading: Reading,
    /// Let warnings count as findings
    #[arg(long)]
    pub(super) strict: bool,
    /// Form of the findings
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Bundle, surface folder, folder of both surfaces, folder of session functions, or JSON Schema
    #[arg(required = true)]
    pub(super) path: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) reading: Reading,
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TABLE")]
    pub(super) what: Vec<What>,
    /// Show which Rust type each schema becomes, in place of the tables
    #[arg(long, conflicts_with = "what")]
    pub(super) rust_names: bool,
    /// Form of the tables
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum What {
    Methods,
    Notifications,
    Requests,
    Functions,
    Triggers,
    Errors,
    Capabilities,
    Definitions,
}

impl What {
    /// The title of the table.
    pub(super) fn title(self) -> &'static str {
        match self {
            What::Methods => "methods",
            What::Notifications => "notifications",
            What::Requests => "requests",
            What::Functions => "functions",
            What::Triggers => "triggers",
            What::Errors => "errors",
            What::Capabilities => "capabilities",
            What::Definitions => "definitions",
        }
    }
}

/// How an input is read.
#[derive(Debug, Args)]
pub(super) struct Reading {
    /// Surface to read, where the input has both
    #[arg(long, value_enum)]
    surface: Option<Surface>,
    /// Name of the root of a plain JSON Schema; its file name otherwise
    #[arg(long, value_name = "NAME")]
    root: Option<String>,
    /// Overlay to apply in place of the built-in one
    #[arg(long, value_name = "PATH")]
    annotations: Option<PathBuf>,
}

impl Reading {
    pub(super) fn options(&self) -> Options {
        Options {
            surface: self.surface,
            root: self.root.clone(),
            annotations: self.annotations.clone(),
            ..Options::default()
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Generate {
    /// What to read; several are only taken where all are plain JSON Schemas
    #[arg(long, value_name = "PATH", required_unless_present = "config")]
    pub(super) schema: Vec<PathBuf>,
    /// Folder to write
    #[arg(long, value_name = "DIR", required_unless_present = "config")]
    pub(super) out: Option<PathBuf>,
    /// File with one or more outputs, in place of all options but --check and --format
    #[arg(long, value_name = "FILE", conflicts_with_all = ["schema", "out", "choices", "surface", "root", "annotations"])]
    pub(super) config: Option<PathBuf>,
    /// Write nothing; show what would change as a diff, with exit code 1
    #[arg(long)]
    pub(super) check: bool,
    /// Form of results and findings
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    choices: Choices,
}

#[derive(Debug, Args)]
#[group(id = "choices", multiple = true)]
struct Choices {
    /// Definition, method, … to keep, with all it reaches; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// One file, one file per family, or one module per family
    #[arg(long, value_enum, default_value = "single")]
    layout: Layout,
    /// Use a Rust type of your own for a definition
    #[arg(long, value_name = "DEFINITION=TYPE", value_parser = pair)]
    replace: Vec<(String, String)>,
    /// Further derives, for one definition or for all
    #[arg(long, value_name = "[DEFINITION=]DERIVE,…")]
    derive: Vec<String>,
    /// Attribute for a type (`Item`) or member (`Item/text`)
    #[arg(long, value_name = "PATH=#[…]", value_parser = pair)]
    attribute: Vec<(String, String)>,
    /// How experimental parts are compiled
    #[arg(long, value_parser = ["feature", "always"], default_value = "always")]
    experimental: String,
    /// Whether the types describe themselves through schemars
    #[arg(long, value_enum, default_value = "never")]
    schemars: When,
    /// Whether the types have checks beyond their shape
    #[arg(long, value_enum, default_value = "always")]
    strict: When,
    /// File of the words that the types need, relative to DIR; `words.rs` for --layout files, inside the one file otherwise
    #[arg(long, value_name = "FILE")]
    words: Option<String>,
}

impl Generate {
    /// The choices of the command line.
    pub(super) fn options(&self) -> Options {
        let choices = &self.choices;
        let defaults = self.reading.options();
        let attribute =
            |(path, attribute): &(String, String)| Attribute { path: path.clone(), attribute: attribute.clone() };
        Options {
            only: choices.only.clone(),
            layout: choices.layout,
            replace: choices.replace.iter().cloned().collect(),
            derives: derives(&choices.derive),
            attributes: choices.attribute.iter().map(attribute).collect(),
            experimental: if choices.experimental == "feature" { When::Feature } else { When::Always },
            schemars: choices.schemars,
            strict: choices.strict,
            words: choices.words.clone(),
            ..defaults
        }
    }
}

/// `Eq,Hash` is for all, `Item=Eq,Hash` for one definition.
fn derives(arguments: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut derives: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for argument in arguments {
        let (definition, list) = argument.split_once('=').unwrap_or(("*", argument));
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        derives.entry(definition.to_owned()).or_default().extend(names);
    }
    derives
}

fn pair(argument: &str) -> Result<(String, String), String> {
    match argument.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => Ok((left.to_owned(), right.to_owned())),
        _ => Err("it has the form LEFT=RIGHT".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `--help` shows as defaults are those of the library.
    #[test]
    fn defaults_are_those_of_the_library() {
        let cli = Cli::parse_from(["msp-codegen", "generate", "--schema", "in.json", "--out", "out"]);
        let Command::Generate(arguments) = cli.command else { panic!("another command") };
        assert_eq!(arguments.options(), Options::default());
    }
}
