//! The handshake: what a client asks for, what it gets (HS, CAP-1).

use std::collections::BTreeSet;
use std::path::Path;

use msp_types::msp::{
    CapabilityName, ClientCapabilities, InitializeParams, InitializeResult, PlatformFamily, PlatformOs, SchemaInfo,
    ServerInfo, SessionDurability,
};
use serde_json::{Map, Value};

use super::gates::gates;
use crate::commands::read_params;
use crate::host::Host;
use crate::refusal::Refusal;

/// What was agreed on a connection, for its life.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handshake {
    /// `clientInfo` as sent.
    pub client: Value,
    /// Name of the client.
    pub client_name: String,
    /// Whether the client opted in to the experimental surface.
    pub experimental: bool,
    /// Capabilities that it got.
    pub granted: BTreeSet<String>,
    /// Notifications that it does not want.
    pub opted_out: BTreeSet<String>,
    /// Whether it can show questions to the user.
    pub dialogs: bool,
}

/// Decides an `initialize`.
pub(super) fn initialize(host: &Host, params: Map<String, Value>) -> Result<(Handshake, Value), Refusal> {
    let client = params.get("clientInfo").cloned().unwrap_or_default();
    let params: InitializeParams = read_params(Value::Object(params))?;
    let capabilities = params.capabilities.unwrap_or_else(ClientCapabilities::new);
    let experimental = capabilities.experimental_api.unwrap_or(false);
    let requested = capabilities.requested_capabilities.unwrap_or_default();
    let granted = gates().grant(&requested, experimental, |name| offers(host, name));
    let handshake = Handshake {
        client,
        client_name: params.client_info.name,
        experimental,
        granted,
        opted_out: capabilities.opt_out_notification_methods.into_iter().flatten().collect(),
        dialogs: capabilities.user_input_dialogs.unwrap_or(true),
    };
    let result = answer(host, &handshake);
    let result = serde_json::to_value(result).map_err(|error| Refusal::internal(error.to_string()))?;
    Ok((handshake, result))
}

/// Capabilities that this host has at all. Renaming needs files that can be replaced in place, and a log (CAP-8).
fn offers(host: &Host, name: &str) -> bool {
    match name {
        _ if host.config.withheld.contains(name) => false,
        "sessionRename" => host.is_durable() && cfg!(unix),
        "rawLogPhysical" => host.is_durable(),
        _ => true,
    }
}

fn answer(host: &Host, handshake: &Handshake) -> InitializeResult {
    let version = crate::VERSION;
    let os = if cfg!(target_os = "macos") {
        PlatformOs::Macos
    } else if cfg!(windows) {
        PlatformOs::Windows
    } else {
        PlatformOs::Linux
    };
    let family = if cfg!(windows) { PlatformFamily::Windows } else { PlatformFamily::Unix };
    let home = host.config.sessions_dir.as_deref().unwrap_or(Path::new("/"));
    let home = std::path::absolute(home).unwrap_or_else(|_| Path::new("/").to_owned());
    let mut result = InitializeResult::new(
        handshake.experimental,
        handshake.granted.iter().map(|name| capability(name)).collect(),
        home.display().to_string(),
        family,
        os,
        SchemaInfo::new(host.config.fingerprint.clone(), 1),
        ServerInfo::new(crate::NAME.to_owned(), version.to_owned()),
        format!("{}/{version} ({}; {})", crate::NAME, std::env::consts::OS, std::env::consts::ARCH),
    );
    let durability = if host.is_durable() { SessionDurability::Durable } else { SessionDurability::Ephemeral };
    result.session_durability = Some(durability);
    result
}

fn capability(name: &str) -> CapabilityName {
    serde_json::from_value(name.into()).unwrap_or_else(|_| CapabilityName::Unlisted(name.to_owned()))
}
