//! Small schemas that stopped or misled generators: each comes out right, or is refused with a diagnostic.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use msp_schema::instances::{Coverage, Maker, relax};
use msp_schema::pointer;
use serde_json::Value;

use crate::bundles::files_of;
use crate::scratch::{Scratch, options};
use crate::values::same;

/// Faults that are to be refused, by name, with the code of the diagnostic.
const REFUSED: [(&str, &str); 1] = [("oneof-beside-properties", "codegen/")];

const SEED: u64 = 11;

pub(crate) fn run(shared: &Path) -> Result<(), Failed> {
    let mut paths: Vec<_> =
        fs::read_dir(shared.join("faults/codegen")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let work = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::new("fault-scratch");
    let mut documents = Vec::new();
    for path in &paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let document = serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap()["schema"].take();
        let file = work.path().join(format!("{name}.json"));
        fs::write(&file, document.to_string()).unwrap();
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        match (files_of(&file, &options()), refused) {
            (Ok(files), None) => {
                let module = name.replace('-', "_");
                scratch.add(&module, &files);
                documents.push((module, document));
            }
            (Err(said), Some((_, code))) if said.starts_with(code) => println!("{name}: refused, {said}"),
            (Ok(_), Some(_)) => return Err(format!("{name}: generates, although it is listed as refused").into()),
            (Err(said), _) => return Err(format!("{name}: {said}").into()),
        }
    }
    scratch.write();
    scratch.pass(&["clippy", "--quiet", "--lib", "--", "-D", "warnings"])?;
    judge(&scratch, &documents)
}

/// Round trips and refusals for every definition of every fault that generated.
fn judge(scratch: &Scratch, documents: &[(String, Value)]) -> Result<(), Failed> {
    let (mut questions, mut expected, mut total) = (Vec::new(), Vec::new(), Coverage::default());
    for (module, document) in documents {
        let maker = Maker::new(document);
        let validators = jsonschema::options().should_validate_formats(false).build_map(&relax(document)).unwrap();
        let accepts =
            |at: &str, value: &Value| validators.get(&format!("#{at}")).is_some_and(|one| one.is_valid(value));
        for definition in document["$defs"].as_object().unwrap().keys() {
            let at = pointer::of(&["$defs", definition]);
            let path =
                scratch.types[module].get(definition).ok_or_else(|| format!("{module}: no type for `{definition}`"))?;
            let mut coverage = Coverage::count(document, &at);
            let made = maker.valid(&at, 200, SEED).unwrap();
            assert_eq!(made.gaps, [], "{module}: {definition}");
            for value in made.values {
                assert!(accepts(&at, &value), "{module}: {definition} refuses {value}");
                coverage.mark(document, &at, &value, &accepts);
                questions.push((path.clone(), value.to_string()));
                expected.push(Some(value));
            }
            for mutant in maker.broken(&at, 50, SEED).unwrap().mutants {
                assert_eq!(accepts(&at, &mutant.value), mutant.schema_accepts, "{module}: {definition} and {mutant:?}");
                questions.push((path.clone(), mutant.value.to_string()));
                expected.push(None);
            }
            assert_eq!(coverage.missing().collect::<Vec<_>>(), Vec::<&_>::new(), "{module}: {definition}");
            total.merge(coverage);
        }
    }
    let answers = scratch.ask(&questions)?;
    let mut wrong = Vec::new();
    for ((question, expected), answer) in questions.iter().zip(&expected).zip(&answers) {
        let right = match (expected, answer) {
            (Some(value), crate::scratch::Answer(Ok(back), Ok(()))) => {
                same(value, &serde_json::from_str(back).unwrap())
            }
            (None, crate::scratch::Answer(_, strict)) => strict.is_err(),
            _ => false,
        };
        if !right {
            wrong.push(format!("{question:?}: {answer:?}"));
        }
    }
    println!("{} values over {} faults\n{total}", questions.len(), documents.len());
    if wrong.is_empty() { Ok(()) } else { Err(format!("{} differences:\n{}", wrong.len(), wrong.join("\n")).into()) }
}
