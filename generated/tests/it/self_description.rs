//! The schema that each type makes from its Rust fields is the definition that it came from, in the form of `normal`.

use crate::exercise;
use crate::normal::normal;

#[test]
fn every_type_describes_its_definition() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for family in exercise::families() {
        if family.name == "stable" && cfg!(feature = "experimental") {
            continue; // there is one set of types, and with the feature it has the experimental members
        }
        for one in family.types {
            let definition = normal(&family.document["$defs"][one.name]);
            let told = normal(&(one.schema)());
            compared += 1;
            if definition != told {
                wrong.push(format!("{} {}\n    definition {definition}\n    type       {told}", family.name, one.name));
            }
        }
    }
    println!("{compared} definitions compared, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
}
