//! Peers that ask to be let in.
//!
//! - `admission {"label"?, "requester"?, "workspace"?, "body"?, "expiresMs"?}`: another session asks; it lapses after `expiresMs`
//!   (60,000 without it), such as `admission {"label": "build", "body": "May I?"}`. The turn goes on at once.

use msp_types::msp::notifications::AdmissionRequested;
use serde_json::{Value, json};

use super::{Args, Stage, Verb};
use crate::commands::admission;
use crate::decision::{Draft, Stream};
use crate::session::{Action, Core};
use crate::time::rfc3339;

pub(super) const VERBS: &[Verb] = &[Verb {
    name: "admission",
    members: &["label", "requester", "workspace", "body", "expiresMs"],
    expand: admission,
}];

fn admission(args: &mut Args, stage: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let id = stage.mint.uuid();
    let requester = args.text("requester")?.unwrap_or_else(|| stage.mint.uuid());
    let expires = args.number("expiresMs")?.unwrap_or(60_000);
    let choice = |(id, label, scope): &(&str, &str, &str)| json!({ "choiceId": id, "label": label, "scope": scope });
    let mut params = json!({
        "admissionId": id, "requesterSessionId": requester,
        "requesterLabel": args.text("label")?.unwrap_or_else(|| "peer".to_owned()),
        "availableChoices": admission::CHOICES.iter().map(choice).collect::<Vec<_>>(),
    });
    for (name, member) in [("workspace", "requesterWorkspace"), ("body", "heldBody")] {
        if let Some(text) = args.text(name)? {
            params[member] = text.into();
        }
    }
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        ask(core, params, id, expires);
        Vec::new()
    }))])
}

/// Opens the request, and lets it lapse when its time is over.
fn ask(core: &mut Core, mut params: Value, id: String, expires_ms: u64) {
    let now = core.host.mint.lock().now_ms();
    params["expiresAt"] = rfc3339(now.saturating_add(i64::try_from(expires_ms).unwrap_or(i64::MAX))).into();
    core.emit(vec![Draft::view::<AdmissionRequested>(Stream::Session, params)]);
    if let Some(loaded) = core.handle.as_ref().and_then(std::sync::Weak::upgrade) {
        loaded.later(expires_ms, move |core| admission::lapse(core, &id));
    }
}
