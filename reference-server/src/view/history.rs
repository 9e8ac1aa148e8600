//! The history of a load: the first form that fits the frame, and an answer that says which one it is (RES-3, RES-4).

use msp_types::msp::HistoryPreference;
use serde_json::{Map, Value, json};

use crate::state::State;

/// Bytes of the answer that are not history.
const RESERVE: usize = 64 * 1024;
/// Characters of a long text that an elided item keeps.
const KEPT_CHARACTERS: usize = 200;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Rung to begin at.
    pub preference: HistoryPreference,
    /// Whether none is wanted.
    pub excluded: bool,
    /// Longest frame.
    pub frame_limit: usize,
}

/// The `history` member.
pub fn history(state: &State, wanted: &Wanted) -> Value {
    if wanted.excluded {
        return none("excluded");
    }
    let room = wanted.frame_limit.saturating_sub(RESERVE);
    let anchored = || boundary(state).map(|anchor| of_mode("anchoredSnapshot", snapshot(state, Some(&anchor), false)));
    let inline = || Some(json!({ "mode": "inline", "items": items(state), "snapshot": null }));
    let whole = || Some(of_mode("snapshot", snapshot(state, None, false)));
    let elided = || Some(of_mode("snapshot", snapshot(state, None, true)));
    let rungs: [&dyn Fn() -> Option<Value>; 4] = [&anchored, &inline, &whole, &elided];
    let first = match wanted.preference {
        HistoryPreference::Inline => 1,
        HistoryPreference::Snapshot => 2,
        _ => 0,
    };
    let fits = |history: &Value| history.to_string().len() <= room;
    rungs[first..].iter().filter_map(|rung| rung()).find(fits).unwrap_or_else(|| none("historyBudget"))
}

/// No history, and why.
pub fn none(reason: &str) -> Value {
    json!({ "mode": "none", "items": null, "snapshot": null, "noneReason": reason })
}

/// The members of a resume envelope beside `session`.
pub fn envelope(state: &State, history: Value) -> Map<String, Value> {
    let mut envelope = Map::new();
    envelope.insert("viewCursor".to_owned(), state.head_cursor().into());
    envelope.insert("history".to_owned(), history);
    envelope.insert("pendingRequests".to_owned(), pending(state).into());
    if let Some(last) = &state.turns.last {
        envelope.insert("lastTurn".to_owned(), last.clone());
    }
    envelope
}

/// Pointers to all open prompts, in opening order.
fn pending(state: &State) -> Vec<Value> {
    let approvals = state.approvals.pending.iter().map(
        |prompt| json!({ "kind": "approval", "approvalId": prompt.id, "viewCursor": prompt.params["viewCursor"] }),
    );
    let user_inputs = state.user_inputs.pending.iter().map(
        |prompt| json!({ "kind": "userInput", "userInputId": prompt.id, "viewCursor": prompt.params["viewCursor"] }),
    );
    approvals.chain(user_inputs).collect()
}

fn items(state: &State) -> Vec<Value> {
    state.items.iter().cloned().map(Value::Object).collect()
}

fn of_mode(mode: &str, snapshot: Value) -> Value {
    [("mode", mode.into()), ("items", Value::Null), ("snapshot", snapshot)]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// The newest compaction that can be shown from, as the anchor of a snapshot.
fn boundary(state: &State) -> Option<Value> {
    state.facts.get("compaction").and_then(|fact| fact.get("anchor")).cloned()
}

/// A snapshot of the whole view at its head (RES-13).
fn snapshot(state: &State, anchor: Option<&Value>, elide: bool) -> Value {
    let since = anchor.and_then(|_| state.facts["compaction"]["itemsBefore"].as_u64()).unwrap_or(0);
    let since = usize::try_from(since).unwrap_or(0);
    let shown =
        state.items.iter().skip(since).map(|item| if elide { elided(item) } else { Value::Object(item.clone()) });
    let mut snapshot = json!({
        "schemaVersion": 1,
        "viewCursor": state.head_cursor(),
        "state": snapshot_state(state, &shown.collect()),
    });
    if let Some(anchor) = anchor {
        snapshot["anchor"] = anchor.clone();
    }
    snapshot
}

fn snapshot_state(state: &State, items: &Value) -> Value {
    let pick = |method: &str, members: &[&str]| {
        state.values.get(method).map_or(Value::Null, |params| {
            members.iter().filter_map(|member| Some(((*member).to_owned(), params.get(*member)?.clone()))).collect()
        })
    };
    let pointer = |member: &str, prompt: &crate::state::Prompt| json!({ member: prompt.id, "itemId": prompt.params["itemId"], "viewCursor": prompt.params["viewCursor"] });
    let model = match state.values.get("session/modelChanged") {
        Some(_) => pick("session/modelChanged", &["modelId", "providerId", "source"]),
        None => state.header.model_id.as_ref().map_or(
            Value::Null,
            |model| json!({ "modelId": model, "providerId": state.header.provider_id, "source": "default" }),
        ),
    };
    let usage = state.value("session/tokenUsage", "cumulative").cloned();
    let mut all = json!({
        "items": items,
        "activeTurn": state.turns.active.as_ref().map(|turn| json!({ "turnId": turn.turn_id, "commandId": turn.command_id })),
        "queuedTurns": state.turns.queue.iter().map(turn_ref).collect::<Vec<_>>(),
        "pendingApprovals": state.approvals.pending.iter().map(|prompt| pointer("approvalId", prompt)).collect::<Vec<_>>(),
        "pendingUserInputs": state.user_inputs.pending.iter().map(|prompt| pointer("userInputId", prompt)).collect::<Vec<_>>(),
        "approvalMode": state.approval_mode(true),
        "effectiveModel": model,
        "goal": state.value("session/goalChanged", "goal"),
        "todoList": pick("session/todoListChanged", &["items", "revision", "sourceTool"]),
        "branch": pick("session/branchChanged", &["branch", "vcs", "workspaceRoot"]),
        "tokenUsage": usage.unwrap_or_else(|| json!({ "outputTokens": 0, "promptTokens": 0, "totalTokens": 0 })),
        "turnCount": state.turns.completed,
    });
    let optional = [
        ("contextUsage", pick("session/contextUsage", &["pressure", "usedTokens", "windowTokens"])),
        ("reasoningEffort", pick("session/reasoningEffortChanged", &["reasoningEffort", "source"])),
        ("name", state.value("session/nameChanged", "name").cloned().unwrap_or_default()),
    ];
    for (member, value) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
        all[member] = value;
    }
    all
}

/// A queued submit, as `queuedTurns` lists it.
pub fn turn_ref(submit: &crate::state::Submit) -> Value {
    let mut turn = json!({ "turnId": submit.turn_id, "commandId": submit.command_id });
    let text = submit.display_text.as_ref().unwrap_or(&submit.text);
    if !text.is_empty() {
        turn["displayText"] = text.chars().take(KEPT_CHARACTERS).collect::<String>().into();
        if text.chars().nth(KEPT_CHARACTERS).is_some() {
            turn["truncated"] = true.into();
        }
    }
    turn
}

/// An item whose long bodies are cut where the protocol knows a cut (ITEM-18); references stay (ITEM-24).
fn elided(item: &Map<String, Value>) -> Value {
    let mut item = item.clone();
    let kind = item.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let fields: &[&str] = match kind.as_str() {
        "agentMessage" => &["text"],
        "toolCall" | "userShell" => &["visibleOutput"],
        "subagent" => &["objective"],
        _ => &[],
    };
    let mut cut = false;
    for field in fields {
        if let Some(Value::String(text)) = item.get_mut(*field) {
            cut |= shorten(text);
        }
    }
    if kind == "reasoning" {
        for part in item.get_mut("summary").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::String(text) = part {
                cut |= shorten(text);
            }
        }
        item.remove("text");
    }
    if cut {
        item.insert("truncated".to_owned(), true.into());
    }
    Value::Object(item)
}

fn shorten(text: &mut String) -> bool {
    let end = text.char_indices().nth(KEPT_CHARACTERS).map(|(end, _)| end);
    if let Some(end) = end {
        text.truncate(end);
    }
    end.is_some()
}
