//! The stable surface is the experimental one without what the overlay marks.

use msp_schema::annotations::Annotations;
use msp_schema::{Surface, pointer, published};
use serde_json::{Map, Value};

/// Takes the target of a pointer away, from `required` too.
fn remove(bundle: &mut Value, at: &str) {
    let tokens: Vec<_> = pointer::tokens(at).collect();
    match tokens.iter().map(AsRef::as_ref).collect::<Vec<_>>()[..] {
        ["errors", code] => {
            let code: i64 = code.parse().unwrap();
            retain(&mut bundle["errors"], |row| row["code"] != code);
        }
        ["capabilities", name] => retain(&mut bundle["capabilities"]["grantable"], |item| item != name),
        ["$defs", definition, "enum", value] => {
            retain(&mut bundle["$defs"][definition]["enum"], |item| item != value);
        }
        ["$defs", definition, "properties", member] => {
            object(&mut bundle["$defs"][definition]["properties"]).remove(member);
            retain(&mut bundle["$defs"][definition]["required"], |item| item != member);
        }
        [table @ ("$defs" | "methods" | "notifications" | "requests"), name] => {
            object(&mut bundle[table]).remove(name);
        }
        _ => panic!("no rule how to remove {at}"),
    }
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().unwrap()
}

fn retain(list: &mut Value, keep: impl Fn(&Value) -> bool) {
    if let Some(list) = list.as_array_mut() {
        list.retain(keep);
    }
}

/// Their texts and lists of reserved names differ by nature.
fn without_what_differs(mut bundle: Value) -> Value {
    object(&mut bundle).retain(|member, _| member != "description" && member != "reserved");
    object(&mut bundle["capabilities"]).remove("reserved");
    bundle
}

#[test]
fn stable_is_experimental_without_its_marks() {
    let marks: Vec<_> = Annotations::published()
        .entries()
        .filter(|(_, entry)| entry.surface == Surface::Experimental)
        .map(|(pointer, _)| pointer)
        .collect();
    // What stands inside of something marked goes with it.
    let inside =
        |pointer: &str| marks.iter().any(|mark| pointer.strip_prefix(mark).is_some_and(|rest| rest.starts_with('/')));
    let mut bundle = published::bundle(Surface::Experimental).value().clone();
    for pointer in marks.iter().filter(|pointer| !inside(pointer)) {
        remove(&mut bundle, pointer);
    }
    let stable = without_what_differs(published::bundle(Surface::Stable).value().clone());
    let reduced = without_what_differs(bundle);
    for (member, value) in stable.as_object().unwrap() {
        assert_eq!(&reduced[member], value, "{member}");
    }
    assert_eq!(reduced, stable);
}

#[test]
fn every_mark_is_needed() {
    for (pointer, entry) in Annotations::published().entries() {
        let on_stable = published::bundle(Surface::Stable).find(pointer).is_some();
        assert_eq!(entry.surface == Surface::Stable, on_stable, "{pointer}");
    }
}
