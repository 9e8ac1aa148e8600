//! The methods, one file per family, and the table of them.
//!
//! A command of a loaded session implements [`Command`]: `decide` looks at the state and says what is written, answered and done;
//! it is pure but for ids and clock. Everything else implements [`HostMethod`] and is served on the connection. A family lists
//! what it has in its `METHODS`, and the table of the tests holds them all against the bundle.

pub mod account;
pub mod admission;
pub mod approval;
pub mod computer_use;
pub mod feedback;
pub mod goal;
pub mod hook;
pub mod host_limits;
pub mod item;
pub mod log;
pub mod mcp_server;
pub mod media;
pub mod model;
pub mod peer;
pub mod permission_profile;
pub mod plugin;
pub mod projection;
pub mod recap;
pub mod session_compact;
pub mod session_hints;
pub mod session_leave;
pub mod session_list;
pub mod session_load;
pub mod session_rename;
pub mod session_settings;
pub mod session_shell;
pub mod settings;
pub mod skill;
pub mod subagent;
pub mod task;
pub mod turn;
pub mod usage;
pub mod user_input;
pub mod view;
pub mod workflow;
pub mod worktree;

use std::pin::Pin;
use std::sync::Arc;

use msp_types::msp::errors;
use msp_types::msp::methods;
use msp_types::{Call, Checked, Effect, NoParams};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::connection::Caller;
use crate::decision::{Context, Decision};
use crate::host::Host;
use crate::mint::is_uuid;
use crate::refusal::Refusal;
use crate::session::{self, Prepared};

/// Methods that an ephemeral host does not have.
const NEED_A_LOG: &[&str] = &[
    methods::SessionFork::NAME,
    methods::SessionRead::NAME,
    methods::SessionRename::NAME,
    methods::SessionResume::NAME,
];

/// All families, in the order of section 33.
const FAMILIES: &[&[Method]] = &[
    session_load::METHODS,
    session_list::METHODS,
    session_leave::METHODS,
    session_rename::METHODS,
    session_compact::METHODS,
    session_settings::METHODS,
    session_shell::METHODS,
    turn::METHODS,
    view::METHODS,
    item::METHODS,
    approval::METHODS,
    user_input::METHODS,
    model::METHODS,
    usage::METHODS,
    goal::METHODS,
    subagent::METHODS,
    workflow::METHODS,
    task::METHODS,
    media::METHODS,
    skill::METHODS,
    hook::METHODS,
    plugin::METHODS,
    recap::METHODS,
    feedback::METHODS,
    computer_use::METHODS,
    account::METHODS,
    admission::METHODS,
    host_limits::METHODS,
    log::METHODS,
    mcp_server::METHODS,
    peer::METHODS,
    permission_profile::METHODS,
    projection::METHODS,
    session_hints::METHODS,
    settings::METHODS,
    worktree::METHODS,
];

/// A command of a loaded session.
pub trait Command: Call {
    /// Urgent commands overtake others that wait for the session (TURN-16).
    const URGENT: bool = false;

    /// Says what is written, answered and done.
    ///
    /// # Errors
    /// The refusal; a rejection (−32030) takes the command id.
    fn decide(params: Self::Params, ctx: &mut Context<'_>) -> Result<Decision<Self::Result>, Refusal>;
}

/// A method that is served on the connection: queries, and what makes or loads sessions.
pub trait HostMethod: Call {
    /// Answers.
    ///
    /// # Errors
    /// The refusal.
    fn serve(params: Self::Params, call: &HostCall<'_>) -> Result<Reply<Self::Result>, Refusal>;
}

/// The answer to a method that is served on the connection.
pub enum Reply<R> {
    /// This.
    Result(R),
    /// It was sent already, or will be, because something has to follow it at once.
    Sent,
    /// This, once it is there: everything else goes on meanwhile.
    Later(Later<R>),
}

/// An answer to come.
pub type Later<R> = Pin<Box<dyn Future<Output = Result<R, Refusal>> + Send>>;

/// A request as its method sees it.
pub struct HostCall<'a> {
    /// The host.
    pub host: &'a Arc<Host>,
    /// Who asks.
    pub caller: &'a Caller,
    /// Id of the frame.
    pub id: &'a Value,
}

/// A row of the table.
pub struct Method {
    /// Wire name.
    pub name: &'static str,
    command: bool,
    handler: Handler,
}

enum Handler {
    Session(fn(Value) -> Result<Prepared, Refusal>, bool),
    Host(fn(Value, &HostCall<'_>) -> Result<Reply<Value>, Refusal>),
}

/// The row of a command.
pub const fn command<C>() -> Method
where
    C: Command + 'static,
    C::Params: Checked + Send,
{
    Method { name: C::NAME, command: true, handler: Handler::Session(prepare::<C>, C::URGENT) }
}

/// The row of a method that is served on the connection.
pub const fn method<C>() -> Method
where
    C: HostMethod,
    C::Params: Checked,
    C::Result: 'static,
{
    Method { name: C::NAME, command: matches!(C::EFFECT, Effect::Command), handler: Handler::Host(serve::<C>) }
}

/// The row of a method without params that is served on the connection.
pub const fn bare<C>() -> Method
where
    C: HostMethod<Params = NoParams>,
    C::Result: 'static,
{
    Method { name: C::NAME, command: false, handler: Handler::Host(serve_bare::<C>) }
}

/// The row of a method.
pub fn find(method: &str) -> Option<&'static Method> {
    FAMILIES.iter().flat_map(|family| family.iter()).find(|row| row.name == method)
}

/// Whether a host withholds a method for its whole life: what needs a log, where none is kept (EPH-2).
pub fn is_withheld(host: &Host, method: &str) -> bool {
    NEED_A_LOG.contains(&method) && !host.is_durable()
}

/// Takes a notification of the client; it is never answered.
pub fn hear(host: &Arc<Host>, method: &str, params: &Value) {
    if method == "userInput/engaged" {
        user_input::engaged(host, params);
    }
}

/// Reads params, bounds and patterns included.
///
/// # Errors
/// −32602 that names the place.
pub fn read_params<T: DeserializeOwned + Checked>(params: Value) -> Result<T, Refusal> {
    let params: T = serde_json::from_value(params).map_err(|error| Refusal::invalid_params(error.to_string()))?;
    match params.violations().first() {
        Some(violation) => Err(Refusal::invalid_params(violation.to_string())),
        None => Ok(params),
    }
}

impl Method {
    /// Serves a request: at once, or by handing it to its session.
    ///
    /// # Errors
    /// The refusal; what a session refuses, it tells itself.
    pub fn serve(&self, call: &HostCall<'_>, params: Value) -> Result<(), Refusal> {
        if self.command {
            check_command_id(&params)?;
        }
        match self.handler {
            Handler::Host(serve) => match serve(params, call)? {
                Reply::Sent => Ok(()),
                Reply::Result(result) => answer(self.name, call, Ok(result)),
                Reply::Later(later) => {
                    let (host, caller, id, name) =
                        (Arc::clone(call.host), call.caller.clone(), call.id.clone(), self.name);
                    tokio::spawn(async move {
                        let result = later.await;
                        let call = HostCall { host: &host, caller: &caller, id: &id };
                        if let Err(refusal) = result.and_then(|result| answer(name, &call, Ok(result))) {
                            caller.connection.respond(&id, Err(refusal.to_error()));
                        }
                    });
                    Ok(())
                }
            },
            Handler::Session(prepare, urgent) => self.hand_over(call, params, prepare, urgent),
        }
    }

    fn hand_over(
        &self,
        call: &HostCall<'_>,
        params: Value,
        prepare: fn(Value) -> Result<Prepared, Refusal>,
        urgent: bool,
    ) -> Result<(), Refusal> {
        let text = |member: &str| params[member].as_str().unwrap_or_default().to_owned();
        let (session_id, command_id) = (text("sessionId"), text("commandId"));
        let digest = session::digest(&params);
        let decide = prepare(params)?;
        let session = match call.host.loaded(&session_id) {
            Ok(session) => session,
            Err(refusal) => {
                let told = session_leave::tell_again(call, self.name, &session_id, &command_id, &digest);
                return if told { Ok(()) } else { Err(refusal) };
            }
        };
        let (caller, id) = (call.caller.clone(), call.id.clone());
        let request = session::Request { caller, id, method: self.name, command_id, digest, decide };
        session.send(session::Message::Command(Box::new(request)), urgent).map_err(|_| {
            if call.host.find_loaded(&session_id).is_none() {
                return Refusal::session_not_loaded(&session_id);
            }
            let capacity = call.host.config.command_capacity;
            Refusal::new(errors::BACKPRESSURED, format!("{capacity} commands wait already")).with("capacity", capacity)
        })
    }
}

/// Answers a request that needs no session.
fn answer(method: &str, call: &HostCall<'_>, mut result: Result<Value, Refusal>) -> Result<(), Refusal> {
    call.host.seam().answer(method, &mut result);
    call.caller.connection.respond_to(method, call.id, &mut result?, &call.caller.handshake);
    Ok(())
}

/// A command carries a UUID of version 7 (CMD-2).
fn check_command_id(params: &Value) -> Result<(), Refusal> {
    match params.get("commandId") {
        Some(Value::String(id)) if is_uuid(id, true) => Ok(()),
        Some(_) => Err(Refusal::invalid_params("`commandId` is no UUIDv7")),
        None => Err(Refusal::invalid_params("missing field `commandId`")),
    }
}

fn prepare<C>(params: Value) -> Result<Prepared, Refusal>
where
    C: Command + 'static,
    C::Params: Checked + Send,
{
    let params: C::Params = read_params(params)?;
    Ok(Box::new(move |ctx| {
        let Decision { drafts, result, effects, settles } = C::decide(params, ctx)?;
        Ok(Decision { drafts, result: to_value(&result)?, effects, settles })
    }))
}

fn serve<C>(params: Value, call: &HostCall<'_>) -> Result<Reply<Value>, Refusal>
where
    C: HostMethod,
    C::Params: Checked,
    C::Result: 'static,
{
    reply(C::serve(read_params(params)?, call)?)
}

fn serve_bare<C>(params: Value, call: &HostCall<'_>) -> Result<Reply<Value>, Refusal>
where
    C: HostMethod<Params = NoParams>,
    C::Result: 'static,
{
    reply(C::serve(NoParams(Some(params)), call)?)
}

fn reply<R: serde::Serialize + 'static>(reply: Reply<R>) -> Result<Reply<Value>, Refusal> {
    Ok(match reply {
        Reply::Result(result) => Reply::Result(to_value(&result)?),
        Reply::Sent => Reply::Sent,
        Reply::Later(later) => Reply::Later(Box::pin(async move { to_value(&later.await?) })),
    })
}

/// A typed value as JSON.
///
/// # Errors
/// −32603, for a value that JSON cannot hold.
pub fn to_value<T: serde::Serialize>(value: &T) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(|error| Refusal::internal(error.to_string()))
}

/// JSON as a typed value of ours.
///
/// # Errors
/// −32603: the host made something that its own types do not take.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    serde_json::from_value(value)
        .map_err(|error| Refusal::internal(format!("a value of the host's own does not fit: {error}")))
}
