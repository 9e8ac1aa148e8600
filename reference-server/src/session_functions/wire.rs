//! The functions on the iii worker protocol: on a listener of their own, or as a worker of an engine.

use std::sync::Arc;

use iii_wire::ErrorBody;
use iii_wire::endpoint::{BindRequest, Deliver, FunctionInfo, Host, Page};
use serde_json::Value;
use serde_json::value::RawValue;

use super::bindings::{Binding, Delivery, Owner, Sink};
use super::failure::Failure;
use super::server::Server;
use super::{catalog, configuration};

/// What a browser gets: a reader of functions and sessions that calls the same functions as everyone.
const PAGE: &str = include_str!("page.html");

/// An instance behind a listener.
#[derive(Clone, Debug)]
pub struct Endpoint(Arc<Server>);

impl Endpoint {
    /// Serves an instance.
    pub fn new(server: Arc<Server>) -> Self {
        Self(server)
    }
}

/// Serves a call where it does no harm: what may wait does so on a thread that nobody else needs.
pub(super) async fn call(server: &Arc<Server>, function: &str, payload: &str) -> Result<Box<RawValue>, ErrorBody> {
    let outcome = if let Some(outcome) = server.try_call(function, payload) {
        outcome
    } else {
        let (server, function, payload) = (Arc::clone(server), function.to_owned(), payload.to_owned());
        let waiting = tokio::task::spawn_blocking(move || server.call(&function, &payload)).await;
        waiting.map_err(|_| ErrorBody::new("invocation_failed", "the call ended in a fault of the server"))?
    };
    outcome.map_err(|failure| told(&failure))
}

/// A failure as the wire tells it: the code, and the text with the code before it (SF-ERR-1).
fn told(failure: &Failure) -> ErrorBody {
    ErrorBody::new(failure.code(), failure.to_string())
}

/// A delivery that calls a function of the client.
#[derive(Debug)]
struct Calling(Deliver);

impl Sink for Calling {
    fn deliver(&self, delivery: Delivery) {
        self.0.deliver(&delivery.payload);
    }
}

/// Takes a binding into an instance.
pub(super) fn bind(server: &Server, owner: u64, request: BindRequest, sink: Arc<dyn Sink>) -> Result<(), ErrorBody> {
    let BindRequest { id, trigger_type, function_id, config, metadata } = request;
    let binding = Binding { id, function_id, metadata };
    server
        .bind(Owner(owner), &trigger_type, config.as_ref(), binding, sink)
        .map_err(|refusal| ErrorBody::new("invalid_trigger_config", refusal.to_string()))
}

impl Host for Endpoint {
    async fn call(&self, function_id: &str, payload: &str) -> Option<Result<Box<RawValue>, ErrorBody>> {
        if !self.0.has(function_id) {
            return None; // perhaps a client has it
        }
        Some(call(&self.0, function_id, payload).await)
    }

    fn bind(&self, owner: u64, request: BindRequest, deliver: Deliver) -> Result<(), ErrorBody> {
        bind(&self.0, owner, request, Arc::new(Calling(deliver)))
    }

    fn unbind(&self, owner: u64, id: &str) -> bool {
        self.0.unbind(Owner(owner), id)
    }

    fn gone(&self, owner: u64) {
        self.0.drop_owner(Owner(owner));
    }

    fn functions(&self) -> Vec<FunctionInfo> {
        let mut functions = catalog::functions();
        let own = ["get", "set", "list", "schema"].map(|name| FunctionInfo {
            id: format!("configuration::{name}"),
            metadata: Some(Value::Object(serde_json::Map::new())),
            ..FunctionInfo::default()
        });
        functions.extend(own);
        functions
    }

    fn triggers(&self) -> Vec<(String, String)> {
        let mut triggers = catalog::triggers();
        triggers.push((configuration::TRIGGER.to_owned(), "The stored configuration was set.".to_owned()));
        triggers
    }

    fn page(&self, path: &str) -> Option<Page> {
        (path == "/").then(|| Page { content_type: "text/html; charset=utf-8", body: PAGE.as_bytes().to_vec() })
    }
}
