//! The small schemas of `tests/cases/generate`: what comes out compiles without a warning, and values go through it unchanged.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use msp_schema::instances::{Maker, relax};
use msp_schema::pointer;
use serde_json::Value;

use crate::bundles::files_of;
use crate::scratch::{Answer, Scratch, options};
use crate::values::same;

const SEED: u64 = 5;

/// Values made for a definition, and for how many definitions the maker could not make all.
#[derive(Default)]
struct Count {
    values: usize,
    gaps: usize,
}

pub(crate) fn run(cases: &Path) -> Result<(), Failed> {
    let mut folders: Vec<_> = fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut scratch = Scratch::new("case-scratch");
    let mut documents = Vec::new();
    for folder in &folders {
        // Cases with choices of their own name types of a crate that is not there, or keep a part only.
        let path = folder.join("schema.json");
        if !path.exists() || folder.join("msp-codegen.toml").exists() {
            continue;
        }
        let module = format!("case_{}", folder.file_name().unwrap().to_string_lossy().replace('-', "_"));
        // What is refused is held by its snapshot.
        if let Ok(files) = files_of(&path, &options()) {
            scratch.add(&module, &files);
            documents.push((module, serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap()));
        }
    }
    scratch.write();
    scratch.pass(&["clippy", "--quiet", "--lib", "--", "-D", "warnings"])?;
    let (questions, expected, count) = questions(&scratch, &documents);
    let answers = scratch.ask(&questions)?;
    let mut wrong = Vec::new();
    for ((question, expected), Answer(plain, strict)) in questions.iter().zip(&expected).zip(&answers) {
        let back = plain.as_deref().map(|text| serde_json::from_str::<Value>(text).unwrap());
        if !(strict.is_ok() && back.is_ok_and(|back| same(expected, &back))) {
            wrong.push(format!("{question:?}: {plain:?}, {strict:?}"));
        }
    }
    println!("{} cases, {} values, {} definitions with gaps", documents.len(), count.values, count.gaps);
    if wrong.is_empty() { Ok(()) } else { Err(format!("{} differences:\n{}", wrong.len(), wrong.join("\n")).into()) }
}

/// Values of every definition that the schema itself accepts; where the maker has gaps it may also make others.
fn questions(scratch: &Scratch, documents: &[(String, Value)]) -> (Vec<(String, String)>, Vec<Value>, Count) {
    let (mut questions, mut expected, mut count) = (Vec::new(), Vec::new(), Count::default());
    for (module, document) in documents {
        let maker = Maker::new(document);
        let validators = jsonschema::options().should_validate_formats(false).build_map(&relax(document)).unwrap();
        for definition in document["$defs"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let at = pointer::of(&["$defs", definition]);
            let Some(path) = scratch.types[module].get(definition) else { continue };
            let made = maker.valid(&at, 100, SEED).unwrap();
            count.gaps += usize::from(!made.gaps.is_empty());
            let Some(validator) = validators.get(&format!("#{at}")) else { continue };
            for value in made.values.into_iter().filter(|value| validator.is_valid(value)) {
                questions.push((path.clone(), value.to_string()));
                expected.push(value);
            }
        }
    }
    count.values = questions.len();
    (questions, expected, count)
}
