//! The MCP servers that a client gives a session, checked before anything is written (SESS-20). Types tell the two transports apart;
//! what they cannot say is here. No message repeats a command, an argument or an address.

use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// Members of both transports.
const COMMON: &[&str] = &["transport", "mode"];
/// Members of a child process.
const STDIO: &[&str] = &["command", "args", "env", "framing"];
/// Members of an endpoint.
const HTTP: &[&str] = &["url", "headers"];

/// Refuses the `config` of `session/start` and `session/resume` where a definition is not whole.
///
/// # Errors
/// −32602 that names the server and the member.
pub(super) fn check(config: Option<&Value>) -> Result<(), Refusal> {
    let servers = config.and_then(|config| config.get("mcpServers")?.as_object());
    for (name, definition) in servers.into_iter().flatten() {
        let wrong = if is_padded(name) {
            Err("a name is blank or padded with white space".to_owned())
        } else {
            definition.as_object().map_or(Ok(()), check_one)
        };
        wrong.map_err(|wrong| Refusal::invalid_params(format!("`config.mcpServers`: server `{name}`: {wrong}")))?;
    }
    Ok(())
}

fn check_one(definition: &Map<String, Value>) -> Result<(), String> {
    let text = |member: &str| definition.get(member).and_then(Value::as_str).unwrap_or_default();
    let of_process = text("transport") == "stdio";
    let own = if of_process { STDIO } else { HTTP };
    if let Some(other) = definition.keys().find(|member| !COMMON.iter().chain(own).any(|known| known == member)) {
        return Err(format!("transport `{}` has no option `{other}`", text("transport")));
    }
    if of_process && text("command").trim().is_empty() {
        return Err("`command` is blank".to_owned());
    }
    if !of_process && !is_http(text("url")) {
        return Err("`url` is no absolute HTTP or HTTPS address".to_owned());
    }
    let named = ["env", "headers"].iter().filter_map(|member| Some((member, definition.get(*member)?.as_object()?)));
    for (member, names) in named {
        if names.keys().any(|name| is_padded(name)) {
            return Err(format!("a name in `{member}` is blank or padded with white space"));
        }
    }
    Ok(())
}

fn is_padded(name: &str) -> bool {
    name.is_empty() || name.trim() != name
}

/// Whether an address has one of the two schemes, which may be written in any case, and a host.
fn is_http(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let known = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    known && !host.is_empty() && !url.chars().any(char::is_whitespace)
}
