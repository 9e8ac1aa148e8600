//! What the connections of an endpoint share: who is there, who has which function, and which calls wait for whom.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::ids::uuid;
use crate::message::{ErrorBody, Invoke, answer};
use crate::queue::Queue;

/// The shared state.
pub(crate) struct Hub<H> {
    pub(crate) host: Arc<H>,
    made: AtomicU64,
    board: Arc<Mutex<Board>>,
}

#[derive(Debug, Default)]
struct Board {
    peers: HashMap<u64, Peer>,
    /// Functions of clients, and whose they are.
    routes: HashMap<String, u64>,
    /// Calls that were passed on, by the id that they were passed on under.
    passed: HashMap<String, Passed>,
}

#[derive(Debug)]
struct Peer {
    queue: Arc<Queue>,
    worker_id: String,
    token: String,
}

/// A call that waits for another client's answer.
#[derive(Debug)]
struct Passed {
    from: u64,
    to: u64,
    invocation_id: Option<String>,
    function_id: String,
}

/// What a new connection is told.
pub(crate) struct Joined {
    pub(crate) owner: u64,
    pub(crate) worker_id: String,
    pub(crate) token: String,
}

impl<H> Hub<H> {
    pub(crate) fn new(host: Arc<H>) -> Self {
        Self { host, made: AtomicU64::new(super::ENDPOINT), board: Arc::default() }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }

    pub(crate) fn join(&self, queue: &Arc<Queue>) -> Joined {
        let owner = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let (worker_id, token) = (uuid(), uuid());
        let peer = Peer { queue: Arc::clone(queue), worker_id: worker_id.clone(), token: token.clone() };
        self.board().peers.insert(owner, peer);
        Joined { owner, worker_id, token }
    }

    /// A connection ended: its functions go, and whoever waits for it is told.
    pub(crate) fn leave(&self, owner: u64) {
        let mut board = self.board();
        board.peers.remove(&owner);
        board.routes.retain(|_, of| *of != owner);
        let over: Vec<String> = board
            .passed
            .iter()
            .filter(|(_, call)| call.from == owner || call.to == owner)
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            if let Some(call) = board.passed.remove(&id) {
                board.settle(&call, Err(&ErrorBody::new("invocation_stopped", "the other side left")));
            }
        }
    }

    /// Ends the connection that a client had before, if it can prove that it was its own.
    pub(crate) fn reattach(&self, worker_id: &str, token: &str) {
        let board = self.board();
        let old = board.peers.values().find(|peer| peer.worker_id == worker_id && peer.token == token);
        if let Some(old) = old {
            old.queue.close();
        }
    }

    pub(crate) fn register(&self, owner: u64, function_id: &str) {
        self.board().routes.insert(function_id.to_owned(), owner);
    }

    pub(crate) fn unregister(&self, owner: u64, function_id: &str) {
        let mut board = self.board();
        if board.routes.get(function_id) == Some(&owner) {
            board.routes.remove(function_id);
        }
    }

    /// Passes a call on to the client that has the function.
    ///
    /// # Errors
    /// No client has it.
    pub(crate) fn pass(
        &self,
        from: u64,
        invocation_id: Option<&str>,
        function_id: &str,
        data: &RawValue,
        metadata: Option<&Value>,
    ) -> Result<(), ErrorBody> {
        let mut board = self.board();
        let to = board.routes.get(function_id).copied().filter(|to| board.peers.contains_key(to));
        let Some(to) = to else { return Err(ErrorBody::function_not_found(function_id)) };
        let id = uuid();
        let invoke = Invoke { metadata, ..Invoke::answered(&id, function_id, data) };
        board.push(to, invoke.text());
        let call = Passed {
            from,
            to,
            invocation_id: invocation_id.map(ToOwned::to_owned),
            function_id: function_id.to_owned(),
        };
        board.passed.insert(id, call);
        Ok(())
    }

    /// A client answered a call that was passed on to it.
    pub(crate) fn answered(&self, owner: u64, id: &str, outcome: Result<&RawValue, &ErrorBody>) {
        let mut board = self.board();
        if board.passed.get(id).is_some_and(|call| call.to == owner)
            && let Some(call) = board.passed.remove(id)
        {
            board.settle(&call, outcome);
        }
    }

    /// Deliveries for a binding.
    pub(crate) fn deliver(&self, owner: u64, function_id: &str, metadata: Option<Value>) -> Deliver {
        Deliver { board: Arc::downgrade(&self.board), owner, function_id: function_id.to_owned(), metadata }
    }
}

impl Board {
    fn push(&self, to: u64, text: String) {
        if let Some(peer) = self.peers.get(&to) {
            peer.queue.push(text);
        }
    }

    fn settle(&self, call: &Passed, outcome: Result<&RawValue, &ErrorBody>) {
        if let Some(id) = &call.invocation_id {
            self.push(call.from, answer(id, &call.function_id, outcome));
        }
    }
}

fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Delivers to one binding. The function may be registered after the binding: what comes before that is lost.
#[derive(Clone)]
pub struct Deliver {
    board: Weak<Mutex<Board>>,
    owner: u64,
    function_id: String,
    metadata: Option<Value>,
}

impl fmt::Debug for Deliver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliver").field("function_id", &self.function_id).finish_non_exhaustive()
    }
}

impl Deliver {
    /// Calls the bound function, without waiting for it or for its answer.
    pub fn deliver(&self, payload: &RawValue) {
        let Some(board) = self.board.upgrade() else { return };
        let board = lock(&board);
        let to = board.routes.get(&self.function_id).copied().unwrap_or(self.owner);
        let invoke = Invoke { metadata: self.metadata.as_ref(), ..Invoke::void(&self.function_id, payload) };
        board.push(to, invoke.text());
    }
}
