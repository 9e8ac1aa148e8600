//! Parts of a frame that have a definition: what the slow lane says about them, as findings.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Judge, Place as Where};
use crate::document;
use crate::report::Finding;
use crate::rules::Rule;
use crate::rules::claims::{self, Place};
use crate::schema::Schema;
use crate::schema::explain::{Explained, Fault, shorten};
use crate::schema::source::Carrier;

/// Part of a frame that has a definition.
pub(crate) struct Part<'v> {
    pub(crate) method: &'v str,
    pub(crate) root: &'v str,
    pub(crate) value: &'v Value,
    pub(crate) at: &'static str,
    pub(crate) same: Same,
}

/// How the same part is found in another revision.
#[derive(Clone, Copy)]
pub(crate) enum Same {
    Params(Carrier),
    Result(Carrier),
    Definition,
}

impl Judge {
    pub(super) fn part(&mut self, place: Where<'_>, schema: &Arc<Schema>, part: &Part<'_>) {
        match schema.explain(part.root, part.value, part.at) {
            Ok(explained) => {
                let fits = if explained.faults.is_empty() { Vec::new() } else { self.fits(schema, part) };
                self.explained(place, schema, part, explained, &fits);
            }
            Err(message) => {
                let mut finding = self.finding(Rule::SCHEMA, place, "a definition that can be used", message);
                finding.definition = Some(part.root.to_owned());
                self.push(finding);
            }
        }
    }

    /// The members of the envelope that no rule claims: `emittedAtMs` and `trace`.
    pub(super) fn frame_members(
        &mut self,
        place: Where<'_>,
        schema: &Arc<Schema>,
        method: &str,
        definition: &str,
        members: &Map<String, Value>,
    ) {
        if !schema.is_definition(definition) || !["emittedAtMs", "trace"].iter().any(|name| members.contains_key(*name))
        {
            return;
        }
        let value = Value::Object(members.clone());
        let Ok(mut explained) = schema.explain(definition, &value, "") else { return };
        let claimed = |pointer: &str| pointer.starts_with("/emittedAtMs") || pointer.starts_with("/trace");
        explained.faults.retain(|fault| claimed(&fault.pointer));
        explained.novelties.retain(|novelty| claimed(&novelty.pointer));
        (explained.more, explained.unlisted) = (0, Vec::new());
        let part = Part { method, root: definition, value: &value, at: "", same: Same::Definition };
        self.explained(place, schema, &part, explained, &[]);
    }

    /// The other revisions that have nothing against this part of a frame.
    fn fits(&self, schema: &Schema, part: &Part<'_>) -> Vec<String> {
        let Some(library) = &self.profile.library else { return Vec::new() };
        let accepts = |version: &&str| library.revision(version).is_ok_and(|other| accepts(&other, part));
        library.versions().filter(|version| *version != schema.label()).filter(accepts).map(str::to_owned).collect()
    }

    /// Turns what the slow lane says into findings.
    fn explained(&mut self, place: Where<'_>, schema: &Schema, part: &Part<'_>, explained: Explained, fits: &[String]) {
        let method = part.method;
        let made = findings(explained, fits, claimed(schema, part), |rule, expected, actual| {
            let mut finding = self.finding(rule, place, expected, actual);
            finding.method = (!method.is_empty()).then(|| method.to_owned());
            finding
        });
        for finding in made {
            self.push(finding);
        }
    }
}

/// Whether another revision has the same part and nothing against this one.
pub(crate) fn accepts(other: &Schema, part: &Part<'_>) -> bool {
    let row = |carrier: Carrier| {
        let row = other.find_method(part.method.as_bytes()).map(|index| &other.methods[index]);
        row.filter(|row| row.carrier == carrier)
    };
    let root = match part.same {
        Same::Definition if other.is_definition(part.root) => return other.accepts(part.root, part.value),
        Same::Definition => return false,
        Same::Params(carrier) => row(carrier).map(|row| &row.params),
        Same::Result(carrier) => row(carrier).map(|row| &row.result),
    };
    // A method that is there without a definition takes anything.
    root.is_some_and(|root| root.as_ref().is_none_or(|root| other.accepts(&root.name, part.value)))
}

/// The findings of names that come twice in a text; `make` gives each its place in the transcript.
pub(crate) fn twice(bytes: &[u8], make: impl Fn(Rule, &str, String) -> Finding) -> Vec<Finding> {
    let twice = document::duplicates(bytes);
    let shown = twice.pointers.into_iter().map(|pointer| {
        let mut finding = make(Rule::DUPLICATE, "a name that comes once", "the name again".to_owned());
        finding.pointer = pointer;
        finding
    });
    let mut found: Vec<Finding> = shown.collect();
    if twice.more > 0 {
        found.push(make(Rule::MORE, "every name that comes twice in this list", format!("{} more", twice.more)));
    }
    found
}

/// The rule that a fault breaks: the one that claims its place in a bundle, else `SCHEMA`.
pub(crate) fn claimed<'s>(schema: &'s Schema, part: &'s Part<'_>) -> impl Fn(&Fault) -> Rule + use<'s> {
    move |fault| {
        let place = Place {
            method: part.method,
            pointer: &fault.pointer,
            definition: &fault.definition,
            schema: &fault.schema,
            missing: fault.missing.as_deref(),
            actual: &fault.actual,
            value: part.value,
            at: part.at,
        };
        claims::rule_of(schema, &place)
    }
}

/// The findings of what the slow lane says; `rule` says which rule a fault breaks, `make` gives each its place in the
/// transcript.
pub(crate) fn findings(
    explained: Explained,
    fits: &[String],
    rule: impl Fn(&Fault) -> Rule,
    make: impl Fn(Rule, &str, String) -> Finding,
) -> Vec<Finding> {
    let mut out = Vec::new();
    for fault in explained.faults {
        let rule = rule(&fault);
        let mut finding = make(rule, &fault.expected, fault.actual);
        finding.definition = Some(fault.definition);
        finding.pointer = fault.pointer;
        finding.keyword = Some(fault.keyword);
        finding.schema = Some(fault.schema);
        finding.fits = fits.to_vec();
        out.push(finding);
    }
    if explained.more > 0 {
        out.push(make(Rule::MORE, "every fault of the frame in this list", format!("{} more", explained.more)));
    }
    for novelty in explained.novelties {
        let of_overlay = novelty.rule.as_deref().and_then(Rule::find);
        let rule = of_overlay.or_else(|| claims::of_word(&novelty.schema)).unwrap_or(Rule::NEW_WORD);
        let expected = format!("a word of `{}`", novelty.definition);
        let mut finding = make(rule, &expected, format!("`{}`", shorten(&novelty.word)));
        // A word that nobody knows is a warning, whichever rule says so (OPEN-10).
        finding.severity = Rule::NEW_WORD.severity();
        finding.definition = Some(novelty.definition);
        finding.pointer = novelty.pointer;
        finding.keyword = Some("enum".to_owned());
        finding.schema = Some(novelty.schema);
        out.push(finding);
    }
    for (pointer, event) in explained.unlisted {
        let mut finding =
            make(Rule::UNLISTED_NOTIFICATION, "an event that the bundle lists", format!("`{}`", shorten(&event)));
        finding.pointer = pointer;
        out.push(finding);
    }
    out
}
