//! `session/list` and `session/read`: queries that load nothing and take no lease (LIST, READ).

mod filter;

use msp_types::Presence as Given;
use msp_types::msp::methods::{SessionList, SessionRead};
use msp_types::msp::{HistoryPreference, SessionListParams, SessionListResult, SessionReadParams, SessionReadResult};
use serde_json::{Value, json};

use super::{HostCall, HostMethod, Method, Reply, from_value, method, to_value};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::state::{Presence, State};
use crate::time::parse_rfc3339;
use crate::view::Held;
use crate::view::history::{self, Wanted};

/// What this family has.
pub const METHODS: &[Method] = &[method::<SessionList>(), method::<SessionRead>()];

const CURSOR: &str = "lc:";

impl HostMethod for SessionList {
    fn serve(params: SessionListParams, call: &HostCall<'_>) -> Result<Reply<SessionListResult>, Refusal> {
        let limit = params.limit.unwrap_or(50);
        let limit = usize::try_from(limit).ok().filter(|limit| (1..=200).contains(limit));
        let limit = limit.ok_or_else(|| Refusal::invalid_params("`limit` is not in 1…200"))?;
        let after = match &params.updated_after {
            Some(text) => {
                Some(parse_rfc3339(text).ok_or_else(|| Refusal::invalid_params("`updatedAfter` is no RFC 3339 time"))?)
            }
            None => None,
        };
        let applied = params.filter.as_ref().map(|filter| filter::canonical(&to_value(filter)?)).transpose()?;
        // A list cursor belongs to one listing: it names the last row and the listing's own filters (LIST-3).
        let listing = crate::session::digest(&json!([params.workspace_root, params.updated_after, applied]));
        let from = match &params.cursor {
            Given::Value(cursor) => Some(read_cursor(cursor, &listing)?),
            _ => None,
        };
        let mut rows = rows(call.host);
        rows.retain(|row| {
            params.workspace_root.as_ref().is_none_or(|root| row.session["workspaceRoot"] == root.as_str())
                && after.is_none_or(|after| row.updated_at > after)
                && applied.as_ref().is_none_or(|filter| filter::matches(filter, &row.session))
                && from.as_ref().is_none_or(|(updated_at, id)| (-row.updated_at, &row.id) > (-updated_at, id))
        });
        rows.sort_by(|a, b| (-a.updated_at, &a.id).cmp(&(-b.updated_at, &b.id)));
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| write_cursor(row, &listing));
        let sessions: Vec<_> = rows.into_iter().map(|row| row.session).collect();
        let mut result = json!({ "sessions": sessions, "nextCursor": next });
        if let Some(applied) = applied {
            result["appliedFilter"] = applied;
        }
        Ok(Reply::Result(from_value(result)?))
    }
}

/// A row, and what it is sorted by.
struct Row {
    id: String,
    updated_at: i64,
    session: Value,
}

fn rows(host: &Host) -> Vec<Row> {
    if !host.is_durable() {
        return Vec::new(); // EPH-3
    }
    let mut rows: Vec<_> = host
        .sessions()
        .iter()
        .map(|loaded| {
            let core = loaded.core();
            row(&core.state, core.session())
        })
        .collect();
    let loaded: std::collections::BTreeSet<_> = rows.iter().map(|row| row.id.clone()).collect();
    for folder in host.store.folders().unwrap_or_default() {
        let Some(id) = folder.file_name().and_then(|name| name.to_str()).filter(|id| !loaded.contains(*id)) else {
            continue;
        };
        // One that cannot be read is no row; `session/read` says what is wrong with it.
        if let Ok(stored) = host.store.read(id) {
            let session = stored.state.session(&host.shown_path(&stored.log), Presence::NotLoaded);
            rows.push(row(&stored.state, session));
        }
    }
    rows
}

fn row(state: &State, session: Value) -> Row {
    let updated_at = state.updated_at.max(state.header.created_at);
    Row { id: state.header.session_id.clone(), updated_at, session }
}

fn write_cursor(row: &Row, listing: &str) -> String {
    format!("{CURSOR}{}~{}~{}", &listing[listing.len().saturating_sub(12)..], row.updated_at, row.id)
}

fn read_cursor(cursor: &str, listing: &str) -> Result<(i64, String), Refusal> {
    let parts = cursor.strip_prefix(CURSOR).map(|rest| rest.split('~').collect::<Vec<_>>());
    match parts.as_deref() {
        Some([of, updated_at, id]) if listing.ends_with(of) => {
            let updated_at = updated_at.parse().map_err(|_| Refusal::invalid_params("`cursor` is no list cursor"))?;
            Ok((updated_at, (*id).to_owned()))
        }
        _ => Err(Refusal::invalid_params("`cursor` is no cursor of this listing")),
    }
}

impl HostMethod for SessionRead {
    fn serve(params: SessionReadParams, call: &HostCall<'_>) -> Result<Reply<SessionReadResult>, Refusal> {
        let readable = call.host.readable(&params.session_id)?;
        let held = readable.hold();
        let state = held.state();
        let wanted = Wanted {
            preference: HistoryPreference::Auto,
            excluded: params.exclude_items.unwrap_or(true),
            frame_limit: call.host.config.frame_limit,
        };
        let mut envelope = history::envelope(state, history::history(state, &wanted));
        let session = match &held {
            Held::Loaded(core) => core.session(),
            Held::Stored(state, log) => state.session(&call.host.shown_path(log), Presence::NotLoaded),
        };
        envelope.insert("session".to_owned(), session);
        if !state.turns.queue.is_empty() {
            let inputs = state.turns.queue.iter().enumerate().map(
                |(at, submit)| json!({ "sequence": at + 1, "text": submit.text, "sourceCommandId": submit.command_id }),
            );
            envelope.insert("queuedInputs".to_owned(), inputs.collect());
        }
        Ok(Reply::Result(from_value(Value::Object(envelope))?))
    }
}
