//! One connection: what it says, and what it is told.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::hub::Hub;
use super::{BindRequest, Host, engine};
use crate::message::{ErrorBody, Message, answer, typed};
use crate::queue::Queue;
use crate::{MESSAGE_LIMIT, limits};

/// Longest wait for what is queued to be written once the peer has said good-bye.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves a connection to its end.
pub(super) async fn serve<H: Host>(stream: TcpStream, rest: Vec<u8>, hub: &Arc<Hub<H>>) {
    let socket = WebSocketStream::from_partially_read(stream, rest, Role::Server, Some(limits())).await;
    let (mut sink, mut frames) = socket.split();
    let (queue, mut waiting) = Queue::new();
    let queue = Arc::new(queue);
    let joined = hub.join(&queue);
    queue.push(typed(
        "workerregistered",
        &json!({ "worker_id": joined.worker_id, "reattach_token": joined.token, "features": [] }),
    ));
    let written = Arc::downgrade(&queue); // the writer ends when nobody can queue any more
    let mut writer = tokio::spawn(async move {
        while let Some(text) = waiting.recv().await {
            let mut len = text.len();
            let mut fed = sink.feed(Frame::text(text)).await;
            while let (Ok(()), Ok(text)) = (&fed, waiting.try_recv()) {
                len += text.len();
                fed = sink.feed(Frame::text(text)).await;
            }
            if fed.is_err() || sink.flush().await.is_err() {
                break;
            }
            if let Some(queue) = written.upgrade() {
                queue.written(len);
            }
        }
    });
    let peer = Peer { hub, owner: joined.owner, queue: &queue };
    loop {
        let frame = tokio::select! {
            frame = frames.next() => frame,
            () = queue.closed() => break,
            _ = &mut writer => break,
        };
        match frame {
            Some(Ok(Frame::Text(text))) => peer.hear(text.as_str()).await,
            Some(Ok(Frame::Binary(bytes))) if !bytes.starts_with(b"OTLP") => {
                if let Ok(text) = std::str::from_utf8(&bytes) {
                    peer.hear(text).await;
                }
            }
            Some(Ok(Frame::Close(_)) | Err(_)) | None => break,
            Some(Ok(_)) => {} // pings are answered below this layer
        }
    }
    hub.host.gone(joined.owner);
    hub.leave(joined.owner);
    drop(queue); // with the last sender gone the writer ends, after what is queued
    if !writer.is_finished() && tokio::time::timeout(LAST_WORDS, &mut writer).await.is_err() {
        writer.abort();
    }
}

struct Peer<'a, H> {
    hub: &'a Arc<Hub<H>>,
    owner: u64,
    queue: &'a Arc<Queue>,
}

impl<H: Host> Peer<'_, H> {
    /// Does what a message asks for. What is no message, or of another type, is ignored.
    async fn hear(&self, text: &str) {
        let Some(message) = Message::read(text) else { return };
        match (&*message.kind, message.id.as_deref()) {
            ("invokefunction", _) => self.called(&message).await,
            ("invocationresult", _) => {
                if let Some(id) = message.invocation_id.as_deref() {
                    let outcome = message.error.as_ref().map_or(Ok(message.result.unwrap_or(RawValue::NULL)), Err);
                    self.hub.answered(self.owner, id, outcome);
                }
            }
            ("registerfunction", Some(id)) => self.hub.register(self.owner, id),
            ("unregisterfunction", Some(id)) => self.hub.unregister(self.owner, id),
            ("registertrigger", Some(id)) => self.bound(id, &message),
            ("unregistertrigger", Some(id)) => {
                self.hub.host.unbind(self.owner, id);
            }
            ("reattach", _) => {
                if let (Some(worker), Some(token)) = (&message.previous_worker_id, &message.reattach_token) {
                    self.hub.reattach(worker, token);
                }
            }
            ("ping", _) => {
                self.queue.push(typed("pong", &json!({})));
            }
            _ => {}
        }
    }

    fn bound(&self, id: &str, message: &Message<'_>) {
        let (Some(trigger_type), Some(function_id)) = (&message.trigger_type, &message.function_id) else { return };
        let request = BindRequest {
            id: id.to_owned(),
            trigger_type: trigger_type.clone().into_owned(),
            function_id: function_id.clone().into_owned(),
            config: message.config.clone(),
            metadata: message.metadata.clone(),
        };
        let deliver = self.hub.deliver(self.owner, function_id, message.metadata.clone());
        if let Err(error) = self.hub.host.bind(self.owner, request, deliver) {
            self.queue.push(typed(
                "triggerregistrationresult",
                &json!({ "id": id, "trigger_type": trigger_type, "function_id": function_id, "error": error }),
            ));
        }
    }

    async fn called(&self, message: &Message<'_>) {
        let Some(function_id) = message.function_id.as_deref() else { return };
        let outcome = match &message.action {
            Some(action) if action.kind == "enqueue" => Some(Err(ErrorBody::new("enqueue_error", "there is no queue"))),
            _ if message.namespace.as_deref().is_some_and(|namespace| namespace != "default") => {
                Some(Err(ErrorBody::function_not_found(function_id)))
            }
            _ => self.outcome(function_id, message).await,
        };
        let (Some(outcome), Some(id), false) = (outcome, message.invocation_id.as_deref(), message.is_void()) else {
            return;
        };
        let mut text = answer(id, function_id, outcome.as_deref());
        if text.len() > MESSAGE_LIMIT {
            let error = ErrorBody::new("payload_too_large", "the result is longer than 64 MiB");
            text = answer(id, function_id, Err(&error));
        }
        self.queue.answer(text).await;
    }

    /// What a call gives; `None` where another client will answer.
    async fn outcome(&self, function_id: &str, message: &Message<'_>) -> Option<Result<Box<RawValue>, ErrorBody>> {
        if let Some(outcome) = engine::call(self.hub, function_id, message.payload()) {
            return Some(outcome);
        }
        if let Some(outcome) = self.hub.host.call(function_id, message.payload()).await {
            return Some(outcome);
        }
        let id = message.invocation_id.as_deref().filter(|_| !message.is_void());
        let data = message.data.unwrap_or(RawValue::NULL);
        self.hub.pass(self.owner, id, function_id, data, message.metadata.as_ref()).err().map(Err)
    }
}
