//! `session/start` (SESS-1 to SESS-7).

use std::path::Path;

use msp_types::msp::methods::SessionStart;
use msp_types::msp::notifications::SessionApprovalModeChanged;
use msp_types::msp::{SessionStartParams, SessionStartResult};
use msp_types::{Call as _, Presence as Given};
use serde_json::{Value, json};

use super::birth::{Labour, give_birth};
use super::mcp_servers;
use crate::commands::session_settings::within_ceiling;
use crate::commands::{HostCall, HostMethod, Reply, from_value, permission_profile, to_value, worktree};
use crate::decision::{Draft, Stream};
use crate::mint::is_uuid;
use crate::provider;
use crate::refusal::Refusal;
use crate::session::Core;
use crate::state::Header;

impl HostMethod for SessionStart {
    fn serve(params: SessionStartParams, call: &HostCall<'_>) -> Result<Reply<SessionStartResult>, Refusal> {
        let labour = Labour::new(Self::NAME, &params.command_id, &params)?;
        let mut header = header(&params, call, &labour)?;
        if let Some(result) = labour.replay(call, answer)? {
            return Ok(Reply::Result(from_value(result)?));
        }
        let root = header.workspace_root.as_deref();
        let worktree =
            params.worktree.as_ref().map(|asked| worktree::Choice::read(call.host, asked, root)).transpose()?;
        let result = check_preconditions(&params, &header, call).and_then(|()| {
            if let Some(choice) = worktree {
                let (path, worktree) = choice.make(&header.session_id)?;
                header.workspace_root = Some(path.clone());
                header.workspace_roots = vec![path];
                header.worktree = Some(worktree);
            }
            start(&params, header, call, &labour)
        });
        result.map_err(|refusal| labour.reject(call.host, refusal))
    }
}

fn start(
    params: &SessionStartParams,
    mut header: Header,
    call: &HostCall<'_>,
    labour: &Labour,
) -> Result<Reply<SessionStartResult>, Refusal> {
    let host = call.host;
    let default = &host.config.approval_mode;
    let mut drafts = Vec::new();
    if header.approval_mode != *default {
        // The start changes what the host would do: that is an event of its own (SESS-5).
        let changed = json!({
            "mode": header.approval_mode, "commandId": params.command_id,
            "clientName": call.caller.handshake.client_name, "source": "approvalReconfigure",
        });
        drafts.push(Draft::view::<SessionApprovalModeChanged>(Stream::Session, changed));
        header.approval_mode.clone_from(default);
    }
    let loaded = give_birth(host, header, drafts)?;
    let mut core = loaded.core();
    let result = answer(&core);
    labour.settle(host, &mut core, &result)?;
    host.broadcast("session/started", &json!({ "session": result["session"] }));
    call.caller.connection.respond_to(SessionStart::NAME, call.id, &mut result.clone(), &call.caller.handshake);
    let head = core.state.head;
    core.attach(&call.caller.connection, head);
    core.tell_list();
    let first = provider::at_start(&host.config.script, &core.state, &mut host.mint.lock());
    match first {
        Ok(drafts) => core.emit(drafts),
        Err(message) => host.complain(&message),
    }
    Ok(Reply::Sent)
}

fn answer(core: &Core) -> Value {
    json!({ "session": core.session(), "viewCursor": core.state.head_cursor() })
}

/// What the params say of the session, their shape checked.
fn header(params: &SessionStartParams, call: &HostCall<'_>, labour: &Labour) -> Result<Header, Refusal> {
    if params.session_id.as_deref().is_some_and(|id| !is_uuid(id, true)) {
        return Err(Refusal::invalid_params("`sessionId` is no UUIDv7"));
    }
    if params.limits.is_some() {
        return Err(Refusal::invalid_params("`limits`: a host on stdio keeps none")); // EXP-7
    }
    let config = params.config.as_ref().map(to_value).transpose()?;
    mcp_servers::check(config.as_ref())?;
    let (workspace_root, workspace_roots) = workspace(params)?;
    let host = call.host;
    let mut mint = host.mint.lock();
    let provider_id = match &params.provider_id {
        Given::Value(provider) => provider.clone(),
        _ => host.config.provider_id.clone(),
    };
    let approval_mode = match &params.approval_mode {
        Given::Value(mode) => mode.as_str().to_owned(),
        _ => host.config.approval_mode.clone(),
    };
    let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    Ok(Header {
        session_id: params.session_id.clone().unwrap_or_else(|| mint.uuid()),
        created_at: mint.now_ms(),
        command: Some(labour.mark()),
        workspace_root,
        workspace_roots,
        model_id: Some(non_empty(&params.model_id).unwrap_or_else(|| host.config.model_id.clone())),
        provider_id: Some(provider_id),
        approval_mode,
        kind: "root".to_owned(),
        client: Some(call.caller.handshake.client.clone()),
        config,
        recovery_mode: params.recovery_mode.as_ref().map(|mode| mode.as_str().to_owned()),
        permission_profile: params.permission_profile.clone(),
        ..Header::default()
    })
}

/// Roots that exist, and that agree (SESS-4).
fn workspace(params: &SessionStartParams) -> Result<(Option<String>, Vec<String>), Refusal> {
    let Some(roots) = &params.workspace_roots else {
        let root = params.workspace_root.clone();
        return Ok((root.clone(), root.into_iter().collect()));
    };
    let first = check_roots(roots)?;
    if let Some(root) = &params.workspace_root
        && Path::new(root).canonicalize().ok() != Path::new(&first).canonicalize().ok()
    {
        return Err(Refusal::invalid_params(
            "`workspaceRoot` and the first of `workspaceRoots` name different folders",
        ));
    }
    Ok((Some(first), roots.clone()))
}

/// The first of some roots, once all are absolute, canonical folders.
///
/// # Errors
/// −32602.
pub(crate) fn check_roots(roots: &[String]) -> Result<String, Refusal> {
    for root in roots {
        let path = Path::new(root);
        let canonical = path.canonicalize().is_ok_and(|canonical| canonical == path);
        if !(path.is_absolute() && canonical && path.is_dir()) {
            return Err(Refusal::invalid_params(format!(
                "`workspaceRoots`: `{root}` is no absolute, canonical folder that exists"
            )));
        }
    }
    roots.first().cloned().ok_or_else(|| Refusal::invalid_params("`workspaceRoots` is empty"))
}

/// Refusals that take the command id.
fn check_preconditions(params: &SessionStartParams, header: &Header, call: &HostCall<'_>) -> Result<(), Refusal> {
    let host = call.host;
    if !within_ceiling(&host.config.approval_mode, &header.approval_mode) {
        return Err(Refusal::rejected(
            "approval_mode_ceiling",
            "the approval mode is above what the host was started with",
        ));
    }
    permission_profile::check(params.permission_profile.as_deref(), host.is_durable())?;
    let taken = host.find_loaded(&header.session_id).is_some()
        || (params.session_id.is_some()
            && !matches!(host.store.find(&header.session_id), Err(refusal) if refusal == Refusal::session_not_found(&header.session_id)));
    if taken {
        return Err(Refusal::rejected("session_id_conflict", format!("session `{}` exists", header.session_id)));
    }
    Ok(())
}
