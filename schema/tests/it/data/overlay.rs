//! The overlay says something about every place that needs it, and nothing about places that do not exist.

use std::collections::{BTreeMap, BTreeSet};

use msp_schema::annotations::{Annotations, Carried, Delivery, Direction, ErrorDataMembers, Role};
use msp_schema::{Surface, published};
use serde_json::Value;

use super::each_schema;

fn overlay() -> &'static Annotations {
    Annotations::published()
}

fn experimental() -> &'static msp_schema::bundle::Bundle {
    published::bundle(Surface::Experimental)
}

fn members(definition: &str) -> Vec<&String> {
    experimental().definition(definition).unwrap()["properties"].as_object().unwrap().keys().collect()
}

#[test]
fn every_key_has_its_target_on_its_surface() {
    assert_eq!(overlay().host_version(), published::HOST_VERSION);
    for surface in Surface::ALL {
        for (pointer, _) in overlay().entries_of(surface) {
            assert!(published::bundle(surface).find(pointer).is_some(), "{surface}: {pointer}");
        }
    }
}

#[test]
fn every_experimental_place_is_named() {
    let stable = published::bundle(Surface::Stable);
    let mut missing = Vec::new();
    let mut need = |pointer: String| {
        if stable.find(&pointer).is_none() && overlay().entry(&pointer).is_none() {
            missing.push(pointer);
        }
    };
    for (name, definition) in experimental().definitions() {
        need(format!("/$defs/{name}"));
        if stable.definition(name).is_some() {
            for member in definition["properties"].as_object().into_iter().flatten().map(|(member, _)| member) {
                need(format!("/$defs/{name}/properties/{member}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    for method in experimental().methods() {
        assert!(overlay().method(&method.name).is_some(), "{}", method.name);
    }
}

#[test]
fn only_two_notifications_come_from_the_client() {
    let rows = experimental().notifications().iter().map(|row| row.name.as_str());
    let client: Vec<_> = rows.filter(|name| overlay().direction(name) == Direction::ClientToHost).collect();
    assert_eq!(client, ["initialized", "userInput/engaged"]);
    assert_eq!(overlay().direction("vendor/unheard"), Direction::HostToClient);
}

#[test]
fn every_notification_and_request_has_direction_and_class() {
    for row in experimental().notifications() {
        let entry = overlay().notification(&row.name).unwrap();
        assert!(entry.direction.is_some() && entry.protected.is_some() && !entry.classes.is_empty(), "{}", row.name);
        let from_client = entry.direction == Some(Direction::ClientToHost);
        assert_eq!(from_client, entry.classes.contains(&Delivery::Client), "{}", row.name);
        // A view event has what pages need.
        if entry.classes.contains(&Delivery::View) {
            let params = experimental().definition(row.params.as_ref().unwrap()).unwrap();
            for member in ["sessionId", "viewCursor", "sourceRange"] {
                assert!(params["properties"].get(member).is_some(), "{} {member}", row.name);
            }
        }
    }
    for row in experimental().requests() {
        let entry = overlay().request(&row.name).unwrap();
        assert_eq!((entry.direction, entry.classes.len()), (Some(Direction::HostToClient), 1), "{}", row.name);
    }
}

#[test]
fn commands_are_the_methods_that_require_a_command_id() {
    for row in experimental().methods() {
        let params = row.params.as_ref().and_then(|name| experimental().definition(name)).unwrap_or(&Value::Null);
        let required = params["required"].as_array().into_iter().flatten().any(|member| member == "commandId");
        let role = overlay().method(&row.name).unwrap().role.unwrap();
        assert_eq!(role == Role::Command, required, "{}: {role:?}", row.name);
    }
}

#[test]
fn item_kinds_are_kinds_of_items() {
    let kinds: BTreeSet<_> = experimental().definition("ItemKind").unwrap()["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| kind.as_str().unwrap())
        .collect();
    assert_eq!(kinds.len(), 18);
    let mut named: BTreeMap<&str, usize> = kinds.iter().map(|kind| (*kind, 0)).collect();
    for member in members("Item") {
        for kind in overlay().member("Item", member).unwrap().item_kinds.keys().filter(|kind| *kind != "*") {
            *named.get_mut(kind.as_str()).unwrap_or_else(|| panic!("{member}: {kind}")) += 1;
        }
    }
    assert!(overlay().member("Item", "status").unwrap().presence("toolCall").is_some());
    assert!(overlay().member("Item", "action").unwrap().presence("toolCall").is_none());
}

fn assert_members_of_error_data(data: &ErrorDataMembers, kind: &str) {
    let known = members("ErrorData");
    let listed: Vec<_> = data.always.iter().chain(&data.optional).collect();
    assert!(listed.iter().all(|member| known.contains(member)), "{kind}");
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "{kind} names a member twice");
    assert!(data.nullable.iter().all(|member| data.always.contains(member)), "{kind}");
    assert!(data.always.iter().any(|member| member == "kind"), "{kind}");
}

#[test]
fn every_kind_of_error_has_its_data() {
    let mut used = BTreeSet::new();
    for row in experimental().errors() {
        for kind in row.kinds() {
            let data: Vec<_> = overlay().error_data(kind).collect();
            assert!(data.iter().any(|(code, _)| *code == row.code), "{kind}");
            for (_, data) in data {
                assert_members_of_error_data(data, kind);
                used.extend(data.always.iter().chain(&data.optional));
            }
        }
    }
    let unused: Vec<_> = members("ErrorData").into_iter().filter(|member| !used.contains(member)).collect();
    assert_eq!(unused, ["details", "recoveryObservation"]);
    for member in unused {
        let entry = overlay().member("ErrorData", member).unwrap();
        assert!(entry.note.is_some(), "no kind has {member}, and nothing says why");
    }
}

#[test]
fn gates_lead_to_rows_and_refusals_to_errors() {
    for capability in &experimental().capabilities().grantable {
        let entry = overlay().capability(capability).unwrap();
        for gate in &entry.opens {
            assert!(experimental().find(&gate.at).is_some(), "{capability}: {}", gate.at);
            assert_eq!(gate.member.is_some(), gate.when.is_some(), "{capability}");
        }
        if let Some(code) = entry.refusal {
            assert!(overlay().error(code).is_some(), "{capability}");
        }
    }
}

#[test]
fn roots_are_what_the_tables_do_not_reach() {
    for surface in Surface::ALL {
        let bundle = published::bundle(surface);
        let mut reached = BTreeSet::new();
        let rows = bundle.methods().iter().chain(bundle.notifications()).chain(bundle.requests());
        let mut open: Vec<_> = rows.flat_map(|row| row.params.iter().chain(&row.result)).map(String::as_str).collect();
        while let Some(name) = open.pop() {
            if reached.insert(name) {
                each_schema(bundle.definition(name).unwrap(), "", &mut |_, schema| {
                    if let Some(reference) = schema["$ref"].as_str() {
                        let target = reference.strip_prefix("#/$defs/").unwrap();
                        open.push(bundle.definitions().find(|(name, _)| *name == target).unwrap().0);
                    }
                });
            }
        }
        let unreached: BTreeSet<_> =
            bundle.definitions().map(|(name, _)| name).filter(|name| !reached.contains(name)).collect();
        assert_eq!(overlay().roots(surface).map(|(name, _)| name).collect::<BTreeSet<_>>(), unreached);
    }
}

#[test]
fn every_bare_object_has_what_it_carries() {
    let mut bare = BTreeSet::new();
    for (name, definition) in experimental().definitions() {
        each_schema(definition, &format!("/$defs/{name}"), &mut |at, schema| {
            let no_members = schema["properties"].as_object().is_none_or(serde_json::Map::is_empty);
            if schema["type"] == "object" && no_members && schema.get("additionalProperties").is_none() {
                bare.insert(at.to_owned());
            }
        });
    }
    bare.insert("/$defs/UnframedViewNotification/properties/params".to_owned()); // three members of many
    let carries: BTreeMap<_, _> = overlay().carries(Surface::Experimental).collect();
    assert_eq!(carries.keys().map(|at| (*at).to_owned()).collect::<BTreeSet<_>>(), bare);
    for (at, carries) in carries {
        match &carries.what {
            Carried::Definition { definition, .. } => assert!(experimental().definition(definition).is_some(), "{at}"),
            Carried::Notification { name, .. } | Carried::Request { name } | Carried::Response { name } => {
                let parent = at.rsplit_once('/').unwrap().0;
                assert!(experimental().find(&format!("{parent}/{name}")).is_some(), "{at}: {name}");
            }
            _ => {}
        }
    }
}

#[test]
fn known_stream_kinds_are_those_of_the_rule() {
    let kind = overlay().member("StreamRef", "kind").unwrap();
    assert_eq!(kind.known_values, ["session", "run", "task", "approval.review"]);
}
