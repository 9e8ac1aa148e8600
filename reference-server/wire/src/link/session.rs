//! One connection of a link, from the handshake to its end.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::{CONNECT, CallError, Handler, Link, Options, State};
use crate::endpoint::BindRequest;
use crate::limits;
use crate::message::{ErrorBody, Message, answer, typed};
use crate::queue::Queue;

/// Port of an address without one.
const PORT: u16 = 49134;

/// Connects, registers, and serves until the connection ends or fails.
pub(super) async fn run<H: Handler>(link: &Link, options: &Options, handler: &Arc<H>) {
    let Ok(Some(socket)) = timeout(CONNECT, connect(options)).await else { return };
    let (mut sink, mut frames) = socket.split();
    let (queue, mut waiting) = Queue::new();
    let queue = Arc::new(queue);
    register(&queue, options);
    link.wire().queue = Some(Arc::clone(&queue));
    link.0.state.send_replace(State::Up);
    let written = Arc::clone(&queue);
    let write = async {
        while let Some(text) = waiting.recv().await {
            let len = text.len();
            if sink.send(Frame::text(text)).await.is_err() {
                return;
            }
            written.written(len);
        }
    };
    let read = async {
        while let Some(Ok(frame)) = frames.next().await {
            match frame {
                Frame::Text(text) => hear(link, handler, &queue, text.as_str()),
                Frame::Close(_) => return,
                _ => {}
            }
        }
    };
    tokio::select! {
        () = write => {}
        () = read => {}
        () = queue.closed() => {}
    }
}

async fn connect(options: &Options) -> Option<WebSocketStream<TcpStream>> {
    let mut request = options.url.as_str().into_client_request().ok()?;
    if let Some(token) = &options.token {
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).ok()?);
    }
    let (host, port) = (request.uri().host()?, request.uri().port_u16().unwrap_or(PORT));
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await.ok()?;
    stream.set_nodelay(true).ok()?;
    let (socket, _) = client_async_with_config(request, stream, Some(limits())).await.ok()?;
    Some(socket)
}

/// Says what this side brings: trigger types, functions, bindings; and who it is.
fn register(queue: &Queue, options: &Options) {
    for (id, description) in &options.triggers {
        queue.push(typed("registertriggertype", &json!({ "id": id, "description": description })));
    }
    for function in &options.functions {
        let mut members = json!({ "id": function.id });
        let given = [
            ("description", function.description.clone().map(Into::into)),
            ("request_format", function.request.clone()),
            ("response_format", function.response.clone()),
            ("metadata", function.metadata.clone()),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                members[name] = value;
            }
        }
        queue.push(typed("registerfunction", &members));
    }
    for binding in &options.bindings {
        let BindRequest { id, trigger_type, function_id, config, .. } = binding;
        let config = config.clone().unwrap_or_else(|| json!({})); // an engine drops a binding without
        queue.push(typed(
            "registertrigger",
            &json!({ "id": id, "trigger_type": trigger_type, "function_id": function_id, "config": config }),
        ));
    }
    let data = json!({ "runtime": "rust", "version": env!("CARGO_PKG_VERSION"), "name": options.name,
        "os": std::env::consts::OS, "pid": std::process::id() });
    queue.push(typed(
        "invokefunction",
        &json!({ "function_id": "engine::workers::register", "data": data, "action": { "type": "void" } }),
    ));
}

fn hear<H: Handler>(link: &Link, handler: &Arc<H>, queue: &Arc<Queue>, text: &str) {
    let Some(message) = Message::read(text) else { return };
    match (&*message.kind, message.id.as_deref()) {
        ("invokefunction", _) => called(handler, queue, &message),
        ("invocationresult", _) => {
            let waiting = message.invocation_id.as_deref().and_then(|id| link.wire().open.remove(id));
            let outcome = match &message.error {
                Some(error) => Err(CallError::Refused(error.clone())),
                None => Ok(message.result.unwrap_or(RawValue::NULL).to_owned()),
            };
            if let Some(waiting) = waiting {
                let _left = waiting.send(outcome); // whoever asked may have gone
            }
        }
        ("registertrigger", Some(id)) => bound(link, handler, queue, id, &message),
        ("unregistertrigger", Some(id)) => handler.unbind(id),
        ("registrationrejected", _) => queue.close(), // another connection has the name: come again later
        ("ping", _) => {
            queue.push(typed("pong", &json!({})));
        }
        _ => {}
    }
}

/// Serves a call beside the reading, so that a handler may call over the same link.
fn called<H: Handler>(handler: &Arc<H>, queue: &Arc<Queue>, message: &Message<'_>) {
    let Some(function_id) = message.function_id.as_deref().map(ToOwned::to_owned) else { return };
    if message.is_void() && handler.told(&function_id, message.payload()) {
        return;
    }
    let (handler, queue) = (Arc::clone(handler), Arc::clone(queue));
    let payload = message.payload().to_owned();
    let id = message.invocation_id.as_deref().filter(|_| !message.is_void()).map(ToOwned::to_owned);
    tokio::spawn(async move {
        let outcome = handler.call(&function_id, &payload).await;
        if let Some(id) = id {
            queue.answer(answer(&id, &function_id, outcome.as_deref())).await;
        }
    });
}

fn bound<H: Handler>(link: &Link, handler: &Arc<H>, queue: &Queue, id: &str, message: &Message<'_>) {
    let (Some(trigger_type), Some(function_id)) = (&message.trigger_type, &message.function_id) else { return };
    let request = BindRequest {
        id: id.to_owned(),
        trigger_type: trigger_type.clone().into_owned(),
        function_id: function_id.clone().into_owned(),
        config: message.config.clone(),
        metadata: message.metadata.clone(),
    };
    let bound: Result<(), ErrorBody> = handler.bind(link, request, message.namespace.as_deref().map(ToOwned::to_owned));
    let mut members = json!({ "id": id, "trigger_type": trigger_type, "function_id": function_id });
    if let Err(error) = bound {
        members["error"] = json!(error);
    }
    queue.push(typed("triggerregistrationresult", &members));
}
