//! The official test suite of JSON Schema, drafts 7 and 2020-12, through the generator.
//!
//! It comes out of the source distribution of a Python package and is never committed. Every schema must give Rust that
//! compiles or a diagnostic; what compiles must take the suite's valid values and refuse its invalid ones, but for what
//! `suite-exceptions.json` lists, entry by entry with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use msp_codegen::diagnostic::Severity;
use msp_codegen::generate::generate;
use msp_codegen::input;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::scratch::{Answer, Scratch, cache, options};
use crate::values::same;

/// The package that carries the suite, and its version.
const PACKAGE: &str = "jsonschema";
const VERSION: &str = "4.25.1";

/// Dialects, by the folder of the suite that tests them.
const DRAFTS: [(&str, &str); 2] = [
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
];

/// The suite, unpacked; downloaded first where that is asked for.
pub(crate) fn folder(download: bool) -> Result<PathBuf, String> {
    let cache = cache("suite");
    let tests = cache.join(format!("{PACKAGE}-{VERSION}/json/tests"));
    if tests.is_dir() {
        return Ok(tests);
    }
    if !download {
        return Err(format!("{PACKAGE} {VERSION} is not downloaded"));
    }
    let pin = format!("{PACKAGE}=={VERSION}");
    let run = |command: &mut Command| match command.current_dir(&cache).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    };
    run(Command::new("pip").args(["download", "--quiet", "--no-deps", "--no-binary", ":all:", &pin]))?;
    run(Command::new("tar").arg("xzf").arg(format!("{PACKAGE}-{VERSION}.tar.gz")))?;
    if tests.is_dir() { Ok(tests) } else { Err("the package has no suite".into()) }
}

/// One schema of the suite with its values.
struct Group {
    /// `draft7/enum.json`, without the ending.
    file: String,
    title: String,
    schema: Value,
    values: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

fn groups(tests: &Path) -> Vec<Group> {
    let mut groups = Vec::new();
    for (draft, dialect) in DRAFTS {
        for file in files(&tests.join(draft)) {
            let text = fs::read_to_string(&file).unwrap();
            let name = file.strip_prefix(tests).unwrap().with_extension("").display().to_string();
            for mut group in serde_json::from_str::<Vec<Value>>(&text).unwrap() {
                let mut schema = group["schema"].take();
                if let Some(object) = schema.as_object_mut() {
                    object.entry("$schema").or_insert_with(|| json!(dialect));
                }
                let title = group["description"].as_str().unwrap_or_default().to_owned();
                let values = serde_json::from_value(group["tests"].take()).unwrap();
                groups.push(Group { file: name.clone(), title, schema, values });
            }
        }
    }
    groups
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// What must stay true of the counts, and what the types do otherwise than the suite says.
#[derive(Deserialize)]
struct Exceptions {
    /// Schemas that generate, at least. It only rises.
    floor: usize,
    rows: Vec<Row>,
}

/// One reason for which types do otherwise than the suite says.
#[derive(Deserialize)]
struct Row {
    /// For the reader of the list.
    #[serde(rename = "why")]
    _why: String,
    /// `invalid-accepted`, `valid-refused` or `changed`.
    what: String,
    /// Files of the suite without draft and ending (`oneOf`, `optional/format/date`), or a group of one (`oneOf: the title`).
    of: Vec<String>,
}

/// Runs the whole suite.
pub(crate) fn run(tests: &Path) -> Result<(), Failed> {
    let list =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/suite-exceptions.json")).unwrap();
    let exceptions: Exceptions = serde_json::from_str(&list).unwrap();
    let groups = groups(tests);
    let work = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::new("suite-scratch");
    let (mut panics, mut codes, mut generated) = (Vec::new(), BTreeMap::<String, usize>::new(), Vec::new());
    for (index, group) in groups.iter().enumerate() {
        let path = work.path().join(format!("case-{index}.json"));
        fs::write(&path, group.schema.to_string()).unwrap();
        match catch_unwind(AssertUnwindSafe(|| attempt(&path))) {
            Err(_) => panics.push(format!("{}: {}", group.file, group.title)),
            Ok(Err(code)) => *codes.entry(code).or_default() += 1,
            Ok(Ok(files)) => {
                scratch.add(&format!("s{index:04}"), &files);
                generated.push(index);
            }
        }
    }
    println!(
        "{} schemas: {} generate, {} are refused, {} panics",
        groups.len(),
        generated.len(),
        codes.values().sum::<usize>(),
        panics.len()
    );
    for (code, count) in &codes {
        println!("  {code}: {count}");
    }
    if !panics.is_empty() {
        return Err(panics.join("\n").into());
    }
    if generated.len() < exceptions.floor || generated.len() * 2 < groups.len() {
        return Err(format!(
            "{} of {} generate; the floor is {} and half",
            generated.len(),
            groups.len(),
            exceptions.floor
        )
        .into());
    }
    scratch.write();
    let asked = questions(&groups, &generated, &scratch)?;
    let answers = scratch.ask(&asked.questions)?;
    println!("{} values of the suite were read", answers.len());
    judge(&exceptions, &asked, &answers)
}

fn attempt(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut options = options();
    options.root = Some("Root".into());
    let code = |all: &[msp_codegen::diagnostic::Diagnostic]| {
        let error = all.iter().find(|one| one.severity == Severity::Error);
        error.map_or_else(|| "no diagnostic".to_owned(), |one| one.code.to_owned())
    };
    let schemas = input::read(&[path], &options).map_err(|all| code(&all))?;
    let (files, diagnostics) = generate(&schemas, &options);
    if diagnostics.iter().any(|one| one.severity == Severity::Error) { Err(code(&diagnostics)) } else { Ok(files) }
}

/// What was asked: a path and a text for the program, and where they come from.
#[derive(Default)]
struct Asked<'g> {
    questions: Vec<(String, String)>,
    about: Vec<(&'g Group, &'g Case)>,
}

fn questions<'g>(groups: &'g [Group], generated: &[usize], scratch: &Scratch) -> Result<Asked<'g>, Failed> {
    let mut asked = Asked::default();
    for index in generated {
        let group = &groups[*index];
        let types = &scratch.types[&format!("s{index:04}")];
        let root =
            types.get("Root").ok_or_else(|| format!("{}: {} has no type for its root", group.file, group.title))?;
        for case in &group.values {
            asked.questions.push((root.clone(), case.data.to_string()));
            asked.about.push((group, case));
        }
    }
    Ok(asked)
}

/// What the types did otherwise than the suite says, against the list: none missing, none too many.
fn judge(exceptions: &Exceptions, asked: &Asked, answers: &[Answer]) -> Result<(), Failed> {
    let (mut used, mut unlisted) = (BTreeSet::new(), Vec::new());
    for (((group, case), (_, text)), Answer(plain, strict)) in asked.about.iter().zip(&asked.questions).zip(answers) {
        let what = match (case.valid, plain, strict) {
            (false, _, Ok(())) => "invalid-accepted",
            (true, Err(_), _) | (true, _, Err(_)) => "valid-refused",
            (true, Ok(back), Ok(())) if !same(&case.data, &serde_json::from_str(back).unwrap()) => "changed",
            _ => continue,
        };
        let keyword = group.file.split_once('/').map_or(group.file.as_str(), |(_, keyword)| keyword);
        let named = [keyword.to_owned(), format!("{keyword}: {}", group.title)];
        let listed = exceptions.rows.iter().filter(|row| row.what == what).flat_map(|row| &row.of);
        match listed.into_iter().find(|of| named.contains(of)) {
            Some(of) => drop(used.insert((what, of))),
            None => unlisted.push(format!(
                "{} | {} | {}: {what}\n    schema {}\n    value {text}, strict {strict:?}, plain {plain:?}",
                group.file, group.title, case.description, group.schema
            )),
        }
    }
    for row in &exceptions.rows {
        let idle = row.of.iter().filter(|of| !used.contains(&(row.what.as_str(), *of)));
        unlisted.extend(idle.map(|of| format!("the list has `{of}` as {}, which is no longer needed", row.what)));
    }
    println!("{} places of the suite are listed with a reason", used.len());
    if unlisted.is_empty() {
        Ok(())
    } else {
        Err(format!("{} deviations:\n{}", unlisted.len(), unlisted.join("\n")).into())
    }
}
