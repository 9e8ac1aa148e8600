//! Frames on their way to the peer: bounded, so that a slow reader costs no memory without limit (BP-1).
//!
//! What may be dropped is refused when the queue is full; what is protected always goes in, and the reader of requests waits while
//! too much of it is queued, so that it is bounded by what the peer itself asks for.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A write takes this part of a queue at most, since what it took is no longer bounded with the rest: to write each frame by itself
/// costs more than to make it.
const A_WRITE: usize = 64;
/// Bytes that frames are joined to.
const A_WRITE_BYTES: usize = 64 * 1024;

/// The queue of one connection.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<Queue>,
    readable: Notify,
    writable: Notify,
    most_frames: usize,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    closed: bool,
    broken: bool,
}

impl Queue {
    /// Takes at most so many frames, and no more once they are long.
    fn take(&mut self, most: usize) -> Option<Vec<u8>> {
        let mut taken = self.frames.pop_front()?;
        self.bytes -= taken.len();
        for _ in 1..most {
            let fits = |frame: &Vec<u8>| taken.len() + frame.len() <= A_WRITE_BYTES;
            if !self.frames.front().is_some_and(fits) {
                break;
            }
            if let Some(frame) = self.frames.pop_front() {
                self.bytes -= frame.len();
                taken.extend_from_slice(&frame);
            }
        }
        Some(taken)
    }
}

/// Whether a frame may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Always goes in (BP-4).
    Protected,
    /// Goes in if there is room.
    Droppable,
}

impl Outbox {
    /// An empty queue; droppable frames find room below these bounds.
    pub fn new(most_frames: usize, most_bytes: usize) -> Self {
        Self { queue: Mutex::default(), readable: Notify::new(), writable: Notify::new(), most_frames, most_bytes }
    }

    /// Queues frames together, or none of them.
    pub fn push(&self, frames: Vec<Vec<u8>>, delivery: Delivery) -> bool {
        let mut queue = self.queue();
        if queue.broken {
            return true; // nobody reads any more, which is no gap
        }
        let full = queue.frames.len() >= self.most_frames || queue.bytes >= self.most_bytes;
        if queue.closed || (full && delivery == Delivery::Droppable) {
            return false;
        }
        for frame in frames {
            queue.bytes += frame.len();
            queue.frames.push_back(frame);
        }
        drop(queue);
        self.readable.notify_one();
        true
    }

    /// The next frames, one behind the other as far as they are there and are few; `None` once the queue is closed and empty.
    pub async fn pop(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut queue = self.queue();
                if let Some(frames) = queue.take(1 + self.most_frames / A_WRITE) {
                    drop(queue);
                    self.writable.notify_waiters();
                    return Some(frames);
                }
                if queue.closed || queue.broken {
                    return None;
                }
            }
            self.readable.notified().await;
        }
    }

    /// Returns once there is room for answers to further requests.
    pub async fn room(&self) {
        self.until(|outbox, queue| queue.frames.len() < 2 * outbox.most_frames && queue.bytes < 2 * outbox.most_bytes)
            .await;
    }

    /// Returns once so much was written that droppable frames find room for a while; `false` when nothing will be any more.
    pub async fn half_empty(&self) -> bool {
        self.until(|outbox, queue| {
            queue.frames.len() <= outbox.most_frames / 2 && queue.bytes <= outbox.most_bytes / 2
        })
        .await;
        let queue = self.queue();
        !(queue.closed || queue.broken)
    }

    /// Whether a droppable frame finds room now.
    pub fn has_room(&self) -> bool {
        let queue = self.queue();
        queue.broken || (queue.frames.len() < self.most_frames && queue.bytes < self.most_bytes)
    }

    /// How many frames wait.
    pub fn waiting(&self) -> usize {
        self.queue().frames.len()
    }

    async fn until(&self, holds: impl Fn(&Self, &Queue) -> bool) {
        loop {
            let written = self.writable.notified();
            tokio::pin!(written);
            written.as_mut().enable(); // what is written from here on is not missed
            {
                let queue = self.queue();
                if queue.broken || queue.closed || holds(self, &queue) {
                    return;
                }
            }
            written.await;
        }
    }

    /// Takes nothing more; what is queued is still written.
    pub fn close(&self) {
        self.queue().closed = true;
        self.readable.notify_one();
        self.writable.notify_waiters();
    }

    /// The peer reads no more: what is queued is dropped, and what comes too.
    pub fn break_off(&self) {
        let mut queue = self.queue();
        queue.broken = true;
        queue.frames.clear();
        queue.bytes = 0;
        drop(queue);
        self.writable.notify_waiters();
        self.readable.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
