//! Queries for what items name: stored output, child sessions, skills.

use super::{ITEM_23, ITEM_26, ITEM_39, ITEM_53, Links, Session, Stored, fail};
use crate::facts::hash::Hash;
use crate::facts::{Answer, Id, Sighting, Value};
use crate::rules::out::Out;

impl Links {
    /// ITEM-23, ITEM-26: what a reference leads to can be read.
    pub(super) fn read_output(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let Some(state) = answer.session.and_then(|session| self.sessions.get(&session)) else { return };
        let named = answer.param("outputRef").and_then(|it| it.id());
        let Some((stored, line)) = named.and_then(|named| state.refs.get(&named)).copied() else { return };
        let rule = if stored == Stored::Patch { ITEM_23 } else { ITEM_26 };
        out.exercised(rule);
        let encoding = answer.result().and_then(|result| result.get("encoding"));
        if answer.code() == Some(-32011) {
            out.violated(rule, answer, "/code")
                .expected("the stored text")
                .actual("-32011")
                .contradicts(line)
                .contradicts(answer.request.line)
                .done();
        } else if let Some(encoding) = encoding.filter(|it| stored == Stored::Patch && !it.is("utf8")) {
            out.violated(ITEM_23, answer, "/encoding")
                .expected("\"utf8\"")
                .actual(encoding.shown())
                .contradicts(line)
                .done();
        }
    }

    /// ITEM-53: a session that an item names can be read.
    pub(super) fn read_session(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let asked = answer.request.session;
        let Some(line) = asked.and_then(|asked| self.named.get(&asked)).copied() else { return };
        let connection = out.core().connection(answer.at.conn);
        let with_cursor = answer.param("cursor").is_some() || answer.param("anchor").is_some();
        if connection.ephemeral() == Some(true) && answer.at.method == "session/read" || with_cursor {
            return;
        }
        match answer.code() {
            None => out.exercised(ITEM_53),
            Some(code @ (-32020 | -32011 | -32602)) => {
                out.exercised(ITEM_53);
                out.violated(ITEM_53, answer, "/code")
                    .expected("the session that an item names")
                    .actual(code.to_string())
                    .contradicts(line)
                    .contradicts(answer.request.line)
                    .done();
            }
            Some(_) => {}
        }
    }

    /// The rows of `skill/list`, until something changes them.
    pub(super) fn skills(&mut self, answer: &Answer<'_>) {
        let (Some(session), Some(result)) = (answer.session, answer.result()) else { return };
        let state = self.sessions.entry(session).or_default();
        if answer.at.method != "skill/list" {
            state.skills = None;
            return;
        }
        let rows = result.get("skills");
        let row = |row: Value<'_>| Some(pair(row.id_of("selector")?, row.id_of("source")?));
        state.skills = Some(rows.iter().flat_map(Value::items).filter_map(row).collect());
    }
}

impl Session {
    /// ITEM-39: which skill was read, as the list has it.
    pub(super) fn skill_read(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        if out.core().connection(sighting.at.conn).experimental() != Some(true) {
            return;
        }
        out.exercised(ITEM_39);
        let (selector, source) = (sighting.item.get("selector"), sighting.item.get("source"));
        for (name, value) in [("selector", selector), ("source", source)] {
            if value.and_then(|it| it.text()).is_none() {
                fail(ITEM_39, sighting, "", &format!("a `{name}`"), None, out);
            }
        }
        let (Some(skills), Some(selector), Some(source)) = (&self.skills, selector, source) else { return };
        let (Some(selector), Some(source_id)) = (selector.id(), source.id()) else { return };
        if !source.is("") && !skills.contains(&pair(selector, source_id)) {
            fail(ITEM_39, sighting, "/selector", "a row of skill/list", sighting.item.get("selector"), out);
        }
    }
}

fn pair(selector: Id, source: Id) -> Id {
    let hash = Hash::new(7).then(selector.get()).then(source.get()).get();
    Id::of(&hash.to_le_bytes())
}
