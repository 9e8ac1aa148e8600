//! Tables: one folder per kind of input.

use msp_codegen::options::Options;
use msp_codegen::{input, list};

use crate::cases;

/// Each folder below `cases/list` is read and shown, as text and as JSON; an `annotations.json` in it is its overlay.
#[test]
fn cases() {
    for case in cases::all("list") {
        let options = Options { annotations: case.optional("annotations.json"), ..Options::default() };
        let schemas = input::read(&[case.schema()], &options).unwrap();
        let tables = list::list(&schemas);
        let text: Vec<String> = tables.iter().map(list::Table::to_text).collect();
        case.assert("text", &text.join("\n"));
        case.assert("json", &format!("{:#}", list::to_json(&tables)));
    }
}
