//! One connection to an engine or an endpoint that comes back by itself: for workers that host functions, for callers, and for instances
//! that keep their state in another one.
//!
//! What an engine forgets when a link drops (functions, trigger types, bindings) is registered again with every connection. Calls in
//! flight fail at once; calls made while the link is known to be down fail without waiting.

mod session;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::endpoint::{BindRequest, FunctionInfo};
use crate::ids::uuid;
use crate::message::{ErrorBody, Invoke};
use crate::queue::Queue;

/// Pause between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);
/// Longest wait for one attempt to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// What a link connects to, and what it brings along.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Address, such as `ws://127.0.0.1:49134`.
    pub url: String,
    /// Bearer token.
    pub token: Option<String>,
    /// Name of the worker; has to be unique among those that are connected.
    pub name: String,
    /// Functions that the handler serves.
    pub functions: Vec<FunctionInfo>,
    /// Trigger types that the handler provides, with what they tell.
    pub triggers: Vec<(String, String)>,
    /// Bindings that are made with every connection.
    pub bindings: Vec<BindRequest>,
}

/// Serves what comes in over a link.
pub trait Handler: Send + Sync + 'static {
    /// Serves a call of one of the link's functions.
    fn call(&self, function_id: &str, payload: &str) -> impl Future<Output = Result<Box<RawValue>, ErrorBody>> + Send;

    /// Takes a call that wants no answer, in the order in which such calls come. False: it is served as any other, beside the others.
    fn told(&self, function_id: &str, payload: &str) -> bool {
        let _ = (function_id, payload);
        false
    }

    /// Takes a binding of a trigger type that the link provides. The namespace is that of the function.
    ///
    /// # Errors
    /// The config does not fit the type.
    fn bind(&self, link: &Link, request: BindRequest, namespace: Option<String>) -> Result<(), ErrorBody>;

    /// Drops a binding.
    fn unbind(&self, id: &str);

    /// The link dropped: the other side's bindings are gone, and come again with the next connection.
    fn dropped(&self);
}

/// A handler of nothing, for callers.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Handler for Nothing {
    async fn call(&self, function_id: &str, _: &str) -> Result<Box<RawValue>, ErrorBody> {
        Err(ErrorBody::function_not_found(function_id))
    }

    fn bind(&self, _: &Link, request: BindRequest, _: Option<String>) -> Result<(), ErrorBody> {
        Err(ErrorBody::new("trigger_type_not_found", format!("no trigger type `{}`", request.trigger_type)))
    }

    fn unbind(&self, _: &str) {}

    fn dropped(&self) {}
}

/// Why a call over a link has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The link is down, or went down before the answer.
    #[error("not connected")]
    Down,
    /// No answer came in time.
    #[error("no answer within {0} ms")]
    Late(u128),
    /// The other side refused.
    #[error("{0}")]
    Refused(ErrorBody),
}

/// Whether a link is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first attempt is not over.
    New,
    Up,
    Down,
}

type Outcome = Result<Box<RawValue>, CallError>;

/// A link. Clones are the same link; it ends with [`Link::close`].
#[derive(Clone, Debug)]
pub struct Link(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    wire: Mutex<Wire>,
    state: watch::Sender<State>,
    task: Mutex<Option<AbortHandle>>,
}

#[derive(Debug, Default)]
struct Wire {
    queue: Option<Arc<Queue>>,
    open: HashMap<String, oneshot::Sender<Outcome>>,
}

impl Link {
    /// Starts to connect, and goes on until closed. Must be called within a tokio runtime.
    pub fn open<H: Handler>(options: Options, handler: Arc<H>) -> Self {
        let shared = Shared { wire: Mutex::default(), state: watch::Sender::new(State::New), task: Mutex::default() };
        let link = Self(Arc::new(shared));
        let running = link.clone();
        let task = tokio::spawn(async move {
            loop {
                session::run(&running, &options, &handler).await;
                running.down();
                handler.dropped();
                sleep(RETRY).await;
            }
        });
        *lock(&link.0.task) = Some(task.abort_handle());
        link
    }

    /// Calls a function, waiting so long at most, the connecting included.
    ///
    /// # Errors
    /// The link is down, the answer is late, or the other side refused.
    pub async fn call(&self, function_id: &str, payload: &RawValue, longest: Duration) -> Outcome {
        timeout(longest, self.called(function_id, payload)).await.unwrap_or(Err(CallError::Late(longest.as_millis())))
    }

    async fn called(&self, function_id: &str, payload: &RawValue) -> Outcome {
        if !self.up().await {
            return Err(CallError::Down);
        }
        let id = uuid();
        let (sender, outcome) = oneshot::channel();
        let _forgotten_when_late = Forget { link: self, id: &id };
        {
            let mut wire = self.wire();
            let queue = wire.queue.clone().ok_or(CallError::Down)?;
            wire.open.insert(id.clone(), sender);
            queue.push(Invoke::answered(&id, function_id, payload).text());
        }
        outcome.await.unwrap_or(Err(CallError::Down))
    }

    /// Waits for the first attempt to connect, and tells whether the link is up.
    pub async fn up(&self) -> bool {
        let mut state = self.0.state.subscribe();
        state.wait_for(|state| *state != State::New).await.is_ok_and(|state| *state == State::Up)
    }

    /// Calls a function without waiting for it or its answer. While the link is down, nothing is sent.
    pub fn notify(&self, function_id: &str, payload: &RawValue, metadata: Option<&Value>, namespace: Option<&str>) {
        if let Some(queue) = &self.wire().queue {
            queue.push(Invoke { metadata, namespace, ..Invoke::void(function_id, payload) }.text());
        }
    }

    /// Ends the link for good.
    pub fn close(&self) {
        if let Some(task) = lock(&self.0.task).take() {
            task.abort();
        }
        self.down();
    }

    fn wire(&self) -> MutexGuard<'_, Wire> {
        lock(&self.0.wire)
    }

    fn down(&self) {
        self.0.state.send_replace(State::Down);
        let open = {
            let mut wire = self.wire();
            if let Some(queue) = wire.queue.take() {
                queue.close();
            }
            std::mem::take(&mut wire.open)
        };
        for (_, waiting) in open {
            let _left = waiting.send(Err(CallError::Down)); // whoever asked may have gone
        }
    }
}

/// Forgets an open call when it is no longer waited for.
struct Forget<'a> {
    link: &'a Link,
    id: &'a str,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.link.wire().open.remove(self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
