//! What the pages name is there: files, folders, links; and no family of methods is left out of what is simulated.

use std::path::{Path, PathBuf};

use super::page::Page;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All pages of this crate.
fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.chain(["README.md", "RECORDINGS.md"].map(|name| root().join(name)));
    pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Texts between backticks outside of fenced blocks, and targets of links.
fn names(text: &str) -> Vec<String> {
    let prose: Vec<_> = text.split("\n```").step_by(2).collect();
    let prose = prose.join("\n");
    let code = prose.split('`').skip(1).step_by(2).map(str::to_owned);
    let links = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    code.chain(links.filter(|link| !link.contains("://")).map(|link| format!("link:{link}"))).collect()
}

/// Whether a name is meant as a file or a folder of this crate.
fn is_file(name: &str) -> bool {
    let of_code = [".rs", ".py", ".md", "/"].iter().any(|end| name.ends_with(end));
    of_code && !name.contains([' ', '<', '*', '$']) && name.contains('/') | !name.ends_with('/')
}

#[test]
fn files_that_pages_name_are_there() {
    let mut missing = Vec::new();
    let mut found = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for name in names(&text) {
            let places: Vec<PathBuf> = match name.strip_prefix("link:") {
                Some(link) => vec![page.parent().unwrap().join(link.split('#').next().unwrap())],
                None if is_file(&name) => {
                    ["", "src", "docs", ".."].map(|folder| root().join(folder).join(&name)).into()
                }
                None => continue,
            };
            found += 1;
            if !places.iter().any(|place| place.exists()) {
                missing.push(format!("{}: `{name}`", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(found > 50, "only {found} names were seen"); // else this looks at the wrong places
}

#[test]
fn every_family_says_what_it_simulates() {
    let page = Page::open("simulated.md");
    let families = std::fs::read_dir(root().join("src/commands")).unwrap().map(|entry| entry.unwrap().path());
    let mut missing: Vec<_> = families
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| format!("`commands/{}`", path.file_name().unwrap().to_str().unwrap()))
        .filter(|name| !page.text.contains(&format!("| {name} |")))
        .collect();
    missing.sort();
    assert!(missing.is_empty(), "no row of {}", missing.join(", "));
}
