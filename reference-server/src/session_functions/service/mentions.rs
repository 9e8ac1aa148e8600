//! `mention::search` and `mention::get`.

use std::sync::Arc;

use msp_types::Presence;
use msp_types::session::{
    MentionField, MentionGetRequest, MentionGetResponse, MentionItem, MentionOpen, MentionOpenSession,
    MentionSearchRequest, MentionSearchResponse, MentionView, SessionKind, SessionMeta, SessionStatus,
};

use super::{Answer, Service};
use crate::session_functions::members::given;
use crate::time::rfc3339;

/// Rows without `limit`.
const ROWS: u64 = 8;
/// Most rows.
const MAX_ROWS: u64 = 50;
/// Shortest query that is compared with the beginning of ids, in bytes.
const ID_QUERY: usize = 4;

impl Service<'_> {
    pub(crate) fn mention_search(&mut self, request: MentionSearchRequest) -> Answer<MentionSearchResponse> {
        let query = request.query.unwrap_or_default().trim().to_lowercase();
        let limit = request.limit.value().copied().unwrap_or(ROWS).clamp(1, MAX_ROWS);
        let here = request.context.value().and_then(|context| context.session_id.value());
        let mut found: Vec<(u8, bool, i64, Arc<SessionMeta>)> = Vec::new();
        for meta in self.store.metas()? {
            if meta.kind == Some(SessionKind::E2e) || here == Some(&meta.session_id) {
                continue;
            }
            if let Some(tier) = tier(&meta, &query) {
                found.push((tier, parent(&meta).is_some(), -meta.updated_at, meta));
            }
        }
        found.sort_by(|a, b| (a.0, a.1, a.2, &a.3.session_id).cmp(&(b.0, b.1, b.2, &b.3.session_id)));
        let rows = found.iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(MentionSearchResponse::new(rows.map(|(.., meta)| row(meta)).collect()))
    }

    pub(crate) fn mention_get(&mut self, request: MentionGetRequest) -> Answer<MentionGetResponse> {
        Ok(MentionGetResponse(self.store.meta(&request.id)?.map(|meta| view(&meta))))
    }
}

/// How well a session matches a trimmed query in lower case; lower is better, `None` is not at all (SF-MENT-3).
fn tier(meta: &SessionMeta, query: &str) -> Option<u8> {
    let (id, title) = (meta.session_id.to_lowercase(), meta.title.to_lowercase());
    if query.is_empty() || id == query || title.starts_with(query) {
        return Some(0);
    }
    let words: Vec<&str> = title.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let in_words = query.split_whitespace().all(|term| words.iter().any(|word| word.starts_with(term)));
    if in_words || query.len() >= ID_QUERY && id.starts_with(query) {
        return Some(1);
    }
    if title.contains(query) {
        return Some(2);
    }
    meta.description.to_lowercase().contains(query).then_some(3)
}

/// The session that this one works for.
fn parent(meta: &SessionMeta) -> Option<&str> {
    text(meta, "parent_session_id")
}

fn text<'a>(meta: &'a SessionMeta, name: &str) -> Option<&'a str> {
    meta.metadata.value()?.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn label(meta: &SessionMeta) -> String {
    Some(meta.title.trim()).filter(|title| !title.is_empty()).unwrap_or("Untitled session").to_owned()
}

/// Word, colour and tone of a status.
fn shown(status: &SessionStatus) -> (&'static str, &'static str, &'static str) {
    match status {
        SessionStatus::Idle => ("Idle", "neutral", "neutral"),
        SessionStatus::Working => ("Working", "blue", "info"),
        SessionStatus::Done => ("Done", "green", "success"),
        SessionStatus::Error => ("Error", "rose", "danger"),
    }
}

fn count(meta: &SessionMeta) -> String {
    let noun = if meta.message_count == 1 { "message" } else { "messages" };
    format!("{} {noun}", meta.message_count)
}

fn row(meta: &SessionMeta) -> MentionItem {
    let (word, color, _) = shown(&meta.status);
    let mut item = MentionItem::new(meta.session_id.clone(), label(meta));
    item.hint = given(parent(meta).map(|_| "sub-agent".to_owned()));
    item.description = Presence::Value(format!("{word} · {}", count(meta)));
    item.color = Presence::Value(color.to_owned());
    item
}

fn view(meta: &SessionMeta) -> MentionView {
    let row = row(meta);
    let mut view = MentionView::new(row.id, row.label);
    view.hint = row.hint;
    view.description = row.description;
    view.color = row.color;
    view.icon = Presence::Value("session".to_owned());
    view.open = Presence::Value(MentionOpen::Session(MentionOpenSession::new(meta.session_id.clone())));
    view.updated_at = Presence::Value(rfc3339(meta.updated_at));
    view.fields = Some(fields(meta));
    view.summary = Presence::Value(summary(meta));
    let mut data = meta.clone();
    data.draft = Presence::Absent;
    data.draft_attachments = Presence::Absent;
    view.data = serde_json::to_value(data).ok();
    view
}

/// The card, in the order of SF-MENT-8.
fn fields(meta: &SessionMeta) -> Vec<MentionField> {
    let (word, _, tone) = shown(&meta.status);
    let mut status = MentionField::new("Status".to_owned(), word.to_owned());
    status.tone = Presence::Value(tone.to_owned());
    let mut fields = vec![status];
    let mut field = |label: &str, value: &str| fields.push(MentionField::new(label.to_owned(), value.to_owned()));
    field("Messages", &meta.message_count.to_string());
    field("Updated", &rfc3339(meta.updated_at));
    let kind = meta.kind.as_ref().filter(|kind| **kind != SessionKind::User);
    let reason = meta.status_reason.value().map(String::as_str).filter(|reason| !reason.is_empty());
    let due = [
        ("Reason", reason),
        ("Agent", text(meta, "agent_profile")),
        ("Parent", parent(meta)),
        ("Kind", kind.map(SessionKind::as_str)),
    ];
    for (label, value) in due {
        if let Some(value) = value {
            field(label, value);
        }
    }
    fields
}

/// One line, whatever the title holds.
fn summary(meta: &SessionMeta) -> String {
    let mut parts = vec![
        format!("\"{}\" ({})", label(meta), meta.session_id),
        meta.status.as_str().to_owned(),
        count(meta),
        format!("updated {}", rfc3339(meta.updated_at)),
    ];
    parts.extend(text(meta, "agent_profile").map(|agent| format!("agent {agent}")));
    parts.extend(parent(meta).map(|parent| format!("parent {parent}")));
    parts.join(" · ").split(['\r', '\n', '\u{2028}', '\u{2029}']).collect::<Vec<_>>().join(" ")
}
