//! The bytes of the files: two spaces, a final newline, no escapes that are not needed, and sorted keys in `msp/`.

use std::fs;

use super::{files_below, root};

/// The text with its white space laid out anew and nothing else touched, so that the order of members stays.
fn laid_out(text: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    let mut letters = text.chars().filter({
        let (mut inside, mut escaped) = (false, false);
        move |letter| {
            let keep = inside || !letter.is_ascii_whitespace();
            if *letter == '"' && !escaped {
                inside = !inside;
            }
            escaped = inside && *letter == '\\' && !escaped;
            keep
        }
    });
    let mut next = letters.next();
    while let Some(letter) = next {
        next = letters.next();
        if in_string {
            out.push(letter);
            in_string = letter != '"' || escaped;
            escaped = letter == '\\' && !escaped;
            continue;
        }
        match letter {
            '{' | '[' if matches!(next, Some('}' | ']')) => out.push(letter),
            '}' | ']' if out.ends_with(['{', '[']) => out.push(letter),
            '{' | '[' => {
                depth += 1;
                out.push(letter);
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth -= 1;
                line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                in_string = letter == '"';
                out.push(letter);
            }
        }
    }
    out.push('\n');
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[test]
fn every_file_is_laid_out() {
    for path in files_below("msp").into_iter().chain(files_below("session")) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        assert!(text == laid_out(&text), "{} is not laid out", path.display());
        assert!(!text.contains("\\u"), "{} escapes what UTF-8 can say", path.display());
    }
}

#[test]
fn msp_files_have_sorted_keys() {
    for path in files_below("msp") {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let sorted = serde_json::to_string_pretty(&value).unwrap() + "\n";
        assert!(text == sorted, "{} is not sorted", path.display());
    }
}

#[test]
fn a_bundle_has_the_published_members_and_keywords() {
    const MEMBERS: [&str; 9] = [
        "$defs",
        "$schema",
        "capabilities",
        "description",
        "errors",
        "methods",
        "notifications",
        "requests",
        "reserved",
    ];
    for surface in msp_schema::Surface::ALL {
        let bundle = msp_schema::published::bundle(surface).value();
        assert_eq!(bundle.as_object().unwrap().keys().collect::<Vec<_>>(), MEMBERS);
        let manifest = super::read_json(format!("msp/{surface}/manifest.json"));
        assert_eq!(
            manifest.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["experimental", "fingerprint", "schemaVersion"]
        );
        super::each_schema(bundle, "", &mut |at, schema| {
            let extensions = schema.as_object().unwrap().keys().filter(|keyword| keyword.starts_with("x-"));
            assert!(extensions.into_iter().all(|keyword| keyword == "x-msp-openness"), "{at}");
            assert_eq!(schema.get("enum").is_some(), schema.get("x-msp-openness").is_some(), "{at}");
        });
    }
}
