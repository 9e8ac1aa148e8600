//! An endpoint that listens itself: SDKs connect to it as if it were an engine (section 13 of the protocol).
//!
//! Calls of one connection are served in the order in which they come; connections do not wait for each other. Answers wait for a peer
//! that reads slowly; a peer that does not read its deliveries is cut off.

mod connection;
mod engine;
mod hub;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};

pub use crate::http::{Access, Page};
pub use hub::Deliver;

use crate::http::{self, Decision};
use crate::message::ErrorBody;
use hub::Hub;

/// A binding that a client asks for.
#[derive(Clone, Debug)]
pub struct BindRequest {
    /// Id of the binding, unique for its owner.
    pub id: String,
    /// Trigger type.
    pub trigger_type: String,
    /// Function that deliveries call.
    pub function_id: String,
    /// Filters.
    pub config: Option<Value>,
    /// Handed back with every delivery.
    pub metadata: Option<Value>,
}

/// A function that is offered.
#[derive(Clone, Debug, Default)]
pub struct FunctionInfo {
    /// Id.
    pub id: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of the payload.
    pub request: Option<Value>,
    /// JSON Schema of the result.
    pub response: Option<Value>,
    /// Flags of the registration.
    pub metadata: Option<Value>,
}

/// What an endpoint serves.
pub trait Host: Send + Sync + 'static {
    /// Serves a call; `None` where the function is not this host's.
    fn call(
        &self,
        function_id: &str,
        payload: &str,
    ) -> impl Future<Output = Option<Result<Box<RawValue>, ErrorBody>>> + Send;

    /// Takes a binding of an owner, in place of an earlier one with its id.
    ///
    /// # Errors
    /// The trigger type is unknown, or the config does not fit it.
    fn bind(&self, owner: u64, request: BindRequest, deliver: Deliver) -> Result<(), ErrorBody>;

    /// Drops a binding; whether there was one.
    fn unbind(&self, owner: u64, id: &str) -> bool;

    /// Drops all bindings of an owner that is gone.
    fn gone(&self, owner: u64);

    /// What is offered, in the order in which it is listed.
    fn functions(&self) -> Vec<FunctionInfo>;

    /// Trigger types that are offered, with what they tell.
    fn triggers(&self) -> Vec<(String, String)>;

    /// The page under a path.
    fn page(&self, path: &str) -> Option<Page>;
}

/// Owner of the bindings that are made by calling a function: they last as long as the endpoint.
pub const ENDPOINT: u64 = 0;

/// Serves every connection that comes, until the listener fails.
///
/// # Errors
/// The listener failed.
pub async fn serve<H: Host>(listener: TcpListener, host: Arc<H>, access: Access) -> io::Result<()> {
    let hub = Arc::new(Hub::new(host));
    let access = Arc::new(access);
    let local = listener.local_addr()?;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let (hub, access) = (Arc::clone(&hub), Arc::clone(&access));
        tokio::spawn(async move { greet(stream, &hub, &access, local).await });
    }
}

/// Whether an error of `accept` concerns one connection alone.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

async fn greet<H: Host>(mut stream: TcpStream, hub: &Arc<Hub<H>>, access: &Access, local: SocketAddr) {
    let _as_it_is = stream.set_nodelay(true);
    match http::decide(&mut stream, access, local).await {
        None => {}
        Some(Decision::Refused(status, text)) => {
            http::finish(&mut stream, status, "text/plain; charset=utf-8", text.as_bytes()).await;
        }
        Some(Decision::Page(path)) => {
            if let Some(page) = hub.host.page(&path) {
                http::finish(&mut stream, "200 OK", page.content_type, &page.body).await;
            } else {
                let text = b"nothing is served under that path";
                http::finish(&mut stream, "404 Not Found", "text/plain; charset=utf-8", text).await;
            }
        }
        Some(Decision::Upgrade(rest)) => connection::serve(stream, rest, hub).await,
    }
}
