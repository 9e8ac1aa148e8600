//! The index and the bundles of the older revisions.

use msp_schema::bundle::Bundle;
use msp_schema::revisions::{find, find_by_fingerprint, find_by_host_version, index};
use msp_schema::{Surface, published};

use super::{each_schema, root};

fn read(version: &str, surface: Surface) -> Bundle {
    Bundle::read(root().join(format!("msp/revisions/{version}/{surface}"))).unwrap()
}

fn older() -> impl Iterator<Item = &'static str> {
    let all = index().iter().map(|revision| revision.version.as_str());
    all.filter(|version| *version != published::HOST_VERSION)
}

#[test]
fn the_index_is_in_order_and_names_every_folder() {
    let number = |version: &str| version.split('.').map(|part| part.parse().unwrap()).collect::<Vec<u32>>();
    assert!(index().is_sorted_by_key(|revision| number(&revision.version)));
    let mut folders: Vec<_> = std::fs::read_dir(root().join("msp/revisions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "index.json")
        .collect();
    folders.sort_by_key(|version| number(version));
    assert_eq!(folders, older().collect::<Vec<_>>());
}

#[test]
fn look_ups_give_all_that_share() {
    let versions = |found: Vec<&msp_schema::revisions::Revision>| {
        found.iter().map(|revision| revision.version.clone()).collect::<Vec<_>>()
    };
    let shared: Vec<_> = index()
        .iter()
        .map(|revision| versions(find_by_fingerprint(revision.fingerprint(Surface::Stable))))
        .filter(|versions| versions.len() > 1)
        .collect();
    assert_eq!(shared, [["1.4.9", "1.4.10"], ["1.4.9", "1.4.10"]]);
    assert_eq!(versions(find_by_host_version("1.3.0")), ["1.3.1"]);
    assert_eq!(versions(find_by_host_version("1.4.13")), ["1.4.13"]);
    assert!(find_by_host_version("1.3.1").is_empty());
    assert!(find_by_fingerprint("sha256:00").is_empty());
    assert!(find("1.4.3").is_none());
}

#[test]
fn fingerprints_have_the_published_form() {
    for surface in Surface::ALL {
        let newest = find(published::HOST_VERSION).unwrap();
        let manifest = published::manifest(surface);
        assert_eq!(manifest.fingerprint, newest.fingerprint(surface));
        assert_eq!(manifest.experimental, surface == Surface::Experimental);
        assert_eq!(manifest.schema_version, 1);
        for revision in index() {
            let digits = revision.fingerprint(surface).strip_prefix("sha256:").unwrap();
            assert!(digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        }
    }
}

#[test]
fn older_bundles_say_only_what_is_known() {
    for version in older() {
        for surface in Surface::ALL {
            let bundle = read(version, surface);
            assert!(bundle.value().get("description").is_none() && bundle.value().get("reserved").is_none());
            assert!(!bundle.methods().is_empty() && !bundle.errors().is_empty(), "{version} {surface}");
            assert!(bundle.reserved().is_empty() && bundle.capabilities().reserved.is_empty());
            each_schema(bundle.value(), "", &mut |at, schema| {
                for keyword in ["description", "x-msp-stability"] {
                    assert!(schema.get(keyword).is_none(), "{version} {surface}{at}/{keyword}");
                }
                if let Some(reference) = schema["$ref"].as_str() {
                    bundle.resolve(reference).unwrap();
                }
            });
            for row in bundle.methods().iter().chain(bundle.notifications()).chain(bundle.requests()) {
                for name in row.params.iter().chain(&row.result) {
                    assert!(bundle.definition(name).is_some(), "{version} {surface} {name}");
                }
            }
        }
    }
}

#[cfg(feature = "revisions")]
#[test]
fn embedded_bundles_are_the_files() {
    use msp_schema::revisions::text;

    for version in older() {
        for surface in Surface::ALL {
            let path = root().join(format!("msp/revisions/{version}/{surface}/msp.schema.json"));
            assert!(text(version, surface).unwrap() == std::fs::read_to_string(path).unwrap(), "{version} {surface}");
        }
    }
    assert_eq!(text(published::HOST_VERSION, Surface::Stable).unwrap(), published::STABLE);
    let error = msp_schema::revisions::bundle("1.4.3", Surface::Stable).unwrap_err();
    assert_eq!(error.code(), "schema/unknown-revision");
    assert!(error.to_string().starts_with("no revision `1.4.3` is known; known are 1.3.1, 1.4.2, "), "{error}");
}
