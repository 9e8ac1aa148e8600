//! Logins of the host, which a person would finish elsewhere.
//!
//! - `account {"outcome"}`: ends the pending device login, such as `account {"outcome": "denied"}`.
//! - `mcpLogin {"outcome", "server"?}`: ends the pending login to an MCP server, such as `mcpLogin {"outcome": "expired"}`.
//!
//! Outcomes are `granted`, `denied`, `expired`, `cancelled`, `failed`. Nothing happens where no login is pending.

use super::{Args, Stage, Verb};
use crate::commands::{account, mcp_server};
use crate::session::Action;

pub(super) const VERBS: &[Verb] = &[
    Verb { name: "account", members: &["outcome"], expand: account_login },
    Verb { name: "mcpLogin", members: &["outcome", "server"], expand: mcp_login },
];

fn account_login(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let outcome = args.text("outcome")?.ok_or("`outcome` is missing")?;
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        account::end(&core.host, None, &outcome);
        Vec::new()
    }))])
}

fn mcp_login(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let outcome = args.text("outcome")?.ok_or("`outcome` is missing")?;
    let server = args.text("server")?.unwrap_or_else(|| mcp_server::OWN.to_owned());
    args.end()?;
    Ok(vec![Action::Do(Box::new(move |core| {
        mcp_server::end(&core.host, &server, None, &outcome);
        Vec::new()
    }))])
}
