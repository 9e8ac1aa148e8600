//! State of the session that the model or its tools change. An event goes out only where the value is new (CUR-13, STATE-3).
//!
//! - `todo {"items", "tool"?}`: the list of things to do, whole; entries are `{"text", "status", "activeForm"?}`.
//! - `context {"usedTokens", "pressure"?, "windowTokens"?}`: how full the context is.
//! - `branch {"name", "vcs"?}`: the branch of the workspace; null where none is checked out.
//! - `title {"name"}`: the session gets an automatic name, unless a person named it.

use msp_types::Event;
use msp_types::msp::notifications::{
    SessionBranchChanged, SessionContextUsage, SessionNameChanged, SessionTodoListChanged,
};
use serde_json::{Value, json};

use super::{Args, Stage, Verb};
use crate::decision::{Draft, Stream};
use crate::session::Action;
use crate::state::State;

pub(super) const VERBS: &[Verb] = &[
    Verb { name: "todo", members: &["items", "tool"], expand: todo },
    Verb { name: "context", members: &["usedTokens", "pressure", "windowTokens"], expand: context },
    Verb { name: "branch", members: &["name", "vcs"], expand: branch },
    Verb { name: "title", members: &["name"], expand: title },
];

/// The event, unless the session has these members already.
fn where_new<E: Event>(state: &State, params: Value) -> Option<Draft> {
    let held = state.values.get(E::NAME);
    let differs = |(member, value): (&String, &Value)| held.and_then(|held| held.get(member)) != Some(value);
    let new = held.is_none() || params.as_object().into_iter().flatten().any(differs);
    new.then(|| Draft::view::<E>(Stream::Session, params))
}

fn todo(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let items = args.value("items").filter(Value::is_array).ok_or("`items` is no list")?;
    let tool = args.text("tool")?.unwrap_or_else(|| "todo".to_owned());
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        let Some(mut draft) = where_new::<SessionTodoListChanged>(state, json!({ "items": items, "sourceTool": tool }))
        else {
            return Vec::new();
        };
        let before = state.value(SessionTodoListChanged::NAME, "revision").and_then(Value::as_i64).unwrap_or(0);
        if let Draft::Record(crate::record::Body::View { params, .. }, _) = &mut draft {
            params["revision"] = (before + 1).into();
        }
        vec![draft]
    }))])
}

fn context(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let mut params = json!({
        "usedTokens": args.number("usedTokens")?.ok_or("`usedTokens` is missing")?,
        "pressure": args.text("pressure")?.unwrap_or_else(|| "normal".to_owned()),
    });
    if let Some(window) = args.number("windowTokens")? {
        params["windowTokens"] = window.into();
    }
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        where_new::<SessionContextUsage>(state, params).into_iter().collect()
    }))])
}

fn branch(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let branch = args.value("name").ok_or("`name` is missing")?;
    if !branch.is_string() && !branch.is_null() {
        return Err(format!("`name` is neither text nor null: {branch}"));
    }
    let vcs = args.text("vcs")?;
    args.end()?;
    Ok(vec![Action::With(Box::new(move |state, _| {
        let root = state.header.workspace_roots.first().cloned().unwrap_or_default();
        let mut params = json!({ "branch": branch, "workspaceRoot": root });
        if let Some(vcs) = vcs {
            params["vcs"] = vcs.into();
        }
        where_new::<SessionBranchChanged>(state, params).into_iter().collect()
    }))])
}

fn title(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let name = args.text("name")?.ok_or("`name` is missing")?;
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        let custom = core.state.value(SessionNameChanged::NAME, "nameOrigin").is_some_and(|origin| origin == "custom");
        let params = json!({ "name": name, "nameOrigin": "automatic" });
        let draft = where_new::<SessionNameChanged>(&core.state, params).filter(|_| !custom);
        if let Some(draft) = draft {
            core.emit(vec![draft]);
            core.tell_list();
        }
        Vec::new()
    }))])
}
