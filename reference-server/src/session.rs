//! A loaded session: one task that takes commands and provider steps in turn. Each is decided, appended and synced, folded, and
//! only then told: answer first, then events.

mod core;
mod execute;
pub mod followers;
mod leave;
pub mod reconcile;
mod run;
mod subscribers;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::mint::SharedMint;

pub use self::core::{Closing, Core};
pub use self::execute::{Prepared, Request, digest};
pub use self::followers::Followers;
pub use self::run::{Action, Late, Prompted, Run, Step, Then, Work};
pub use self::subscribers::Subscriber;

/// A session of this host.
#[derive(Debug)]
pub struct Loaded {
    /// Its id.
    pub id: String,
    core: Mutex<Core>,
    mint: SharedMint,
    commands: mpsc::Sender<Message>,
    urgent: mpsc::Sender<Message>,
}

/// What the task of a session is asked.
pub enum Message {
    /// A command of a client.
    Command(Box<Request>),
    /// Work of a family: a timer that ran out, a process that ended.
    Do(Box<dyn FnOnce(&mut Core) + Send>),
    /// Let the session go.
    Close(Closing, Option<oneshot::Sender<()>>),
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Command(_) => "Command",
            Self::Do(_) => "Do",
            Self::Close(..) => "Close",
        })
    }
}

impl Loaded {
    /// Starts the task of a session. `capacity` bounds the commands that wait (LIM-9).
    pub fn start(core: Core, capacity: usize) -> Arc<Self> {
        let (commands, command_queue) = mpsc::channel(capacity.max(1));
        let (urgent, urgent_queue) = mpsc::channel(capacity.max(1));
        let id = core.state.header.session_id.clone();
        let mint = core.host.mint.clone();
        let loaded = Arc::new(Self { id, core: Mutex::new(core), mint, commands, urgent });
        loaded.core().handle = Some(Arc::downgrade(&loaded));
        tokio::spawn(work(Arc::clone(&loaded), command_queue, urgent_queue));
        loaded
    }

    /// The session itself. Never held across an await.
    pub fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a message over; gives it back when the queue is full.
    ///
    /// # Errors
    /// The message, when there is no room or the session is gone.
    pub fn send(&self, message: Message, urgent: bool) -> Result<(), Box<Message>> {
        let queue = if urgent { &self.urgent } else { &self.commands };
        queue.try_send(message).map_err(|error| {
            Box::new(match error {
                mpsc::error::TrySendError::Full(message) | mpsc::error::TrySendError::Closed(message) => message,
            })
        })
    }

    /// Hands work over, waiting for room.
    pub async fn post(&self, message: Message) {
        // The only failure is a session that is gone, which has no use for it.
        let _ = self.urgent.send(message).await;
    }

    /// Does something to the session after a while, unless it is gone by then.
    pub fn later(self: &Arc<Self>, delay_ms: u64, work: impl FnOnce(&mut Core) + Send + 'static) {
        let (weak, then) = (Arc::downgrade(self), self.mint.lock().in_ms(delay_ms));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            if let Some(loaded) = weak.upgrade() {
                let work = move |core: &mut Core| {
                    core.host.mint.lock().reach(then);
                    work(core);
                };
                loaded.post(Message::Do(Box::new(work))).await;
            }
        });
    }
}

/// The task: messages before provider steps, urgent ones first, so that a stop is never behind the work that it stops.
async fn work(session: Arc<Loaded>, mut commands: mpsc::Receiver<Message>, mut urgent: mpsc::Receiver<Message>) {
    loop {
        let message = match urgent.try_recv().or_else(|_| commands.try_recv()) {
            Ok(message) => message,
            Err(_) => match next(&session, &mut commands, &mut urgent).await {
                Some(message) => message,
                None if leave(&session) => return,
                None => continue,
            },
        };
        match message {
            Message::Command(request) => session.core().execute(*request),
            Message::Do(work) => {
                let mut core = session.core();
                work(&mut core);
                core.tell_status();
            }
            Message::Close(closing, done) => {
                session.core().close(closing);
                if let Some(done) = done {
                    let _ = done.send(()); // nobody waits any more
                }
                return;
            }
        }
        if leave(&session) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Lets the session go if a `session/leave` may go ahead.
fn leave(session: &Loaded) -> bool {
    let mut core = session.core();
    let closing = core.take_leave();
    closing.map(|closing| core.close(closing)).is_some()
}

/// Lets the provider work until there is a message. `None` after a step.
async fn next(
    session: &Loaded,
    commands: &mut mpsc::Receiver<Message>,
    urgent: &mut mpsc::Receiver<Message>,
) -> Option<Message> {
    let step = session.core().step();
    match step {
        Step::Ran => {
            tokio::task::yield_now().await; // others go on as well
            None
        }
        Step::Sleep(until) => tokio::select! {
            biased;
            Some(message) = urgent.recv() => Some(message),
            Some(message) = commands.recv() => Some(message),
            () = tokio::time::sleep_until(until) => None,
        },
        Step::Wait => {
            let idle = Duration::from_millis(session.core().host.config.idle_ms);
            tokio::select! {
                biased;
                Some(message) = urgent.recv() => Some(message),
                Some(message) = commands.recv() => Some(message),
                () = tokio::time::sleep(idle) => session.core().is_idle().then(|| Message::Close(Closing::Idle, None)),
            }
        }
    }
}
