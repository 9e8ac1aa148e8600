//! What waits to be written on one connection, bounded in bytes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};

/// Bytes above which answers wait: the peer asks faster than it reads.
const SLOW: usize = 8 * 1024 * 1024;
/// Bytes at which a peer is cut off that does not read what it is sent unasked.
const FULL: usize = 128 * 1024 * 1024;

/// The writing side's end.
pub(crate) type Waiting = mpsc::UnboundedReceiver<String>;

/// A bounded queue: the channel is unbounded, the bytes in it are not.
#[derive(Debug)]
pub(crate) struct Queue {
    sender: mpsc::UnboundedSender<String>,
    bytes: AtomicUsize,
    room: Notify,
    cut: AtomicBool,
    end: Notify,
}

impl Queue {
    pub(crate) fn new() -> (Self, Waiting) {
        let (sender, waiting) = mpsc::unbounded_channel();
        let queue = Self {
            sender,
            bytes: AtomicUsize::default(),
            room: Notify::new(),
            cut: AtomicBool::default(),
            end: Notify::new(),
        };
        (queue, waiting)
    }

    /// Queues what the peer did not ask for; a peer whose queue is full is cut off. Whether it was queued.
    pub(crate) fn push(&self, text: String) -> bool {
        let len = text.len();
        if self.cut.load(Ordering::Relaxed) {
            return false;
        }
        if self.bytes.fetch_add(len, Ordering::Relaxed) + len > FULL {
            self.close();
            return false;
        }
        self.sender.send(text).is_ok()
    }

    /// Queues an answer, once the peer has read enough of the earlier ones.
    pub(crate) async fn answer(&self, text: String) {
        loop {
            let room = self.room.notified(); // before the look, so that no notice is missed
            if self.bytes.load(Ordering::Relaxed) <= SLOW || self.cut.load(Ordering::Relaxed) {
                break;
            }
            room.await;
        }
        self.push(text);
    }

    /// The writer has written so many bytes.
    pub(crate) fn written(&self, len: usize) {
        let before = self.bytes.fetch_sub(len, Ordering::Relaxed);
        if before > SLOW && before - len <= SLOW {
            self.room.notify_waiters();
        }
    }

    /// Ends the connection without waiting for what is queued.
    pub(crate) fn close(&self) {
        self.cut.store(true, Ordering::Relaxed);
        self.end.notify_one();
        self.room.notify_waiters();
    }

    /// Waits for [`Self::close`].
    pub(crate) async fn closed(&self) {
        self.end.notified().await;
    }
}
