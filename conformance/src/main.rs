//! Arguments, exit codes, printing; the work is in the library.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use msp_conformance::rules;
use msp_conformance::validate::{self, Format, Options, Outcome, ValidateError, Verdicts};
use msp_judge::report::visible;
use msp_judge::{CallPart, Surface, Target};

/// Conformance kit for MSP and the session functions.
#[derive(Parser)]
#[command(name = "msp-conformance", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Judge recordings, or single values, by the schemas. Without a path: the recordings that ship with the kit.
    Validate(Box<Validate>),
    /// Say what a rule demands, where it is from, and how it is judged.
    Explain(Explain),
    /// List what the kit knows.
    List(List),
}

#[derive(Args)]
#[command(after_help = "Example: msp-conformance explain CUR-1")]
struct Explain {
    /// Id of the rule, such as CUR-1.
    rule: String,
    /// How to write it.
    #[arg(long, value_enum, default_value = "text")]
    format: FormatName,
}

#[derive(Args)]
#[command(after_help = "Example: msp-conformance list rules --format json")]
struct List {
    /// What to list.
    #[arg(value_enum)]
    what: Listed,
    /// How to write it.
    #[arg(long, value_enum, default_value = "text")]
    format: FormatName,
}

#[derive(Clone, Copy, ValueEnum)]
enum Listed {
    /// The rules of the protocol: level, whom it binds, whether it is judged, statement.
    Rules,
}

#[derive(Args)]
#[command(group = ArgGroup::new("target").multiple(false))]
#[command(after_help = "Exit codes: 0 good, 1 findings, 2 usage or nothing judged, 3 could not tell.")]
struct Validate {
    /// Transcripts (NDJSON), folders to walk for *.ndjson, - for standard input; with a target, JSON files.
    paths: Vec<PathBuf>,
    /// Judge by this bundle (file or folder), or by this folder of session functions.
    #[arg(long, value_name = "PATH")]
    schema: Option<PathBuf>,
    /// Surface of the published bundles.
    #[arg(long, value_enum, default_value = "experimental")]
    surface: SurfaceName,
    /// Judge by this published revision; without it, by the one that the host reports, else by the newest.
    #[arg(long, value_name = "VERSION", conflicts_with = "schema")]
    revision: Option<String>,
    /// Judge by this published revision, or this bundle, too.
    #[arg(long, value_name = "REVISION|PATH")]
    also: Vec<String>,
    /// The files are values of this definition.
    #[arg(long, value_name = "NAME", group = "target")]
    definition: Option<String>,
    /// The files are params or results of this method.
    #[arg(long, value_name = "METHOD", group = "target", requires = "part")]
    method: Option<String>,
    /// The files are params of this notification.
    #[arg(long, value_name = "METHOD", group = "target")]
    notification: Option<String>,
    /// The files are params or results of this host request.
    #[arg(long, value_name = "METHOD", group = "target", requires = "part")]
    request: Option<String>,
    /// The files are the `error` of responses, of this kind.
    #[arg(long, value_name = "KIND", group = "target")]
    error: Option<String>,
    /// The files are requests or responses of this session function.
    #[arg(long, value_name = "ID", group = "target", requires = "part")]
    function: Option<String>,
    /// The files are configs or payloads of this trigger.
    #[arg(long, value_name = "TYPE", group = "target", requires = "part")]
    trigger: Option<String>,
    /// Which part of the target.
    #[arg(long, value_enum, requires = "target")]
    part: Option<PartName>,
    /// How to write the results.
    #[arg(long, value_enum, default_value = "text")]
    format: FormatName,
    /// Let warnings count.
    #[arg(long)]
    strict: bool,
    /// Which verdicts to tell beside the findings.
    #[arg(long, value_enum, default_value = "summary")]
    verdicts: VerdictsName,
    /// By which rules to judge what happens between frames.
    #[arg(long, value_enum, default_value = "all")]
    rules: RulesName,
    /// The most bytes that a frame may have.
    #[arg(long, value_name = "BYTES", default_value_t = msp_judge::transcript::FRAME_LIMIT)]
    frame_limit: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum SurfaceName {
    Stable,
    Experimental,
}

#[derive(Clone, Copy, ValueEnum)]
enum RulesName {
    /// By none: shapes, envelopes and pairing alone, at the full rate.
    None,
    /// By all that this release has a judge for.
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum VerdictsName {
    /// Findings alone.
    None,
    /// How many rules passed, failed and so on.
    Summary,
    /// Each rule.
    All,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Text => Self::Text,
            FormatName::Json => Self::Json,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatName {
    Text,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartName {
    Params,
    Result,
    Request,
    Response,
    Config,
    Payload,
}

impl Validate {
    fn options(self) -> Result<Options, String> {
        let target = self.target()?;
        if target.is_some() && self.paths.is_empty() {
            return Err("a single value needs a file, or - for standard input".to_owned());
        }
        let mut options = Options::default();
        options.target = target;
        options.paths = self.paths;
        options.schema = self.schema;
        options.surface = match self.surface {
            SurfaceName::Stable => Surface::Stable,
            SurfaceName::Experimental => Surface::Experimental,
        };
        options.revision = self.revision;
        options.also = self.also;
        options.format = self.format.into();
        options.verdicts = match self.verdicts {
            VerdictsName::None => Verdicts::None,
            // Where no rule was asked, there is nothing to sum up.
            VerdictsName::Summary if matches!(self.rules, RulesName::None) => Verdicts::None,
            VerdictsName::Summary => Verdicts::Summary,
            VerdictsName::All => Verdicts::All,
        };
        options.rules = matches!(self.rules, RulesName::All);
        options.strict = self.strict;
        options.colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
        options.frame_limit = self.frame_limit;
        Ok(options)
    }

    fn target(&self) -> Result<Option<Target>, String> {
        let call = || match self.part {
            Some(PartName::Params) => Ok(CallPart::Params),
            Some(PartName::Result) => Ok(CallPart::Result),
            _ => Err("--part is params or result here".to_owned()),
        };
        if let Some(name) = &self.method {
            return Ok(Some(Target::Method(name.clone(), call()?)));
        }
        if let Some(name) = &self.request {
            return Ok(Some(Target::Request(name.clone(), call()?)));
        }
        if let Some(id) = &self.function {
            return match self.part {
                Some(PartName::Request) => Ok(Some(Target::Function(id.clone(), "Request"))),
                Some(PartName::Response) => Ok(Some(Target::Function(id.clone(), "Response"))),
                _ => Err("--part is request or response here".to_owned()),
            };
        }
        if let Some(trigger) = &self.trigger {
            return match self.part {
                Some(PartName::Config) => Ok(Some(Target::Trigger(trigger.clone(), "Config"))),
                Some(PartName::Payload) => Ok(Some(Target::Trigger(trigger.clone(), "Payload"))),
                _ => Err("--part is config or payload here".to_owned()),
            };
        }
        let plain = self.definition.clone().map(Target::Definition);
        let plain = plain.or_else(|| self.notification.clone().map(Target::Notification));
        Ok(plain.or_else(|| self.error.clone().map(Target::Error)))
    }
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Validate(arguments) => validate(*arguments),
        Command::Explain(arguments) => {
            let (rule, format) = (&arguments.rule, arguments.format.into());
            match rules::explain(rule, format, &mut BufWriter::new(io::stdout().lock())) {
                Ok(false) => {
                    let like = rules::nearest(rule).map_or_else(String::new, |it| format!("; did you mean `{it}`?"));
                    complain(2, &format!("there is no rule `{rule}`{like}"))
                }
                written => told(written.map(drop)),
            }
        }
        Command::List(arguments) => {
            let Listed::Rules = arguments.what;
            told(rules::list(arguments.format.into(), &mut BufWriter::new(io::stdout().lock())))
        }
    }
}

/// How writing ended; a reader who has seen enough is no fault.
fn told(written: io::Result<()>) -> ExitCode {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(Outcome::CouldNotTell.code(), &format!("the results cannot be written: {error}"))
        }
        _ => ExitCode::SUCCESS,
    }
}

fn validate(arguments: Validate) -> ExitCode {
    let options = match arguments.options() {
        Ok(options) => options,
        Err(message) => return complain(2, &message),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = validate::run(&options, &mut out, &mut io::stderr().lock());
    match outcome {
        Ok(outcome) => ExitCode::from(outcome.code()),
        // Whoever read the results has seen enough; what they came to is not theirs to change.
        Err(ValidateError::Output { outcome, source }) if source.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::from(outcome.code())
        }
        // Results that nobody got are not good ones.
        Err(error @ ValidateError::Output { outcome, .. }) => {
            let code = if outcome == Outcome::Good { Outcome::CouldNotTell.code() } else { outcome.code() };
            complain(code, &error.to_string())
        }
        Err(error) if error.is_usage() => complain(2, &error.to_string()),
        Err(error) => complain(3, &error.to_string()),
    }
}

fn complain(code: u8, message: &str) -> ExitCode {
    // Nothing can be done where even this cannot be written.
    let _ = writeln!(io::stderr(), "msp-conformance: {}", visible(message));
    ExitCode::from(code)
}
