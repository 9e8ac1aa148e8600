//! A link for callers that wait where they are: its own thread does the talking.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use iii_wire::link::{CallError, Handler, Link, Options};
use serde_json::value::RawValue;
use tokio::runtime::{Builder, Handle, Runtime};

/// A link and the thread that keeps it going.
#[derive(Debug)]
pub(crate) struct Blocking {
    link: Link,
    /// `None` while it is being dropped.
    runtime: Option<Runtime>,
    longest: Duration,
}

impl Blocking {
    /// Starts to connect. Whether the other side can be reached shows with the first call.
    ///
    /// # Errors
    /// A text for the user: the system gives no thread.
    pub(crate) fn open<H: Handler>(options: Options, handler: H, longest: Duration) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("session-link")
            .enable_all()
            .build()
            .map_err(|error| format!("link to `{}`: {error}", options.url))?;
        let link = {
            let _inside = runtime.enter();
            Link::open(options, Arc::new(handler))
        };
        Ok(Self { link, runtime: Some(runtime), longest })
    }

    /// Calls a function and waits for the answer.
    ///
    /// # Errors
    /// The other side cannot be reached, is too slow, or refuses.
    pub(crate) fn ask(&self, function: &str, payload: &RawValue) -> Result<Box<RawValue>, CallError> {
        let Some(handle) = self.runtime.as_ref().map(Runtime::handle) else { return Err(CallError::Down) };
        let asked = || handle.block_on(self.link.call(function, payload, self.longest));
        match Handle::try_current() {
            Err(_) => asked(),
            // A thread inside a runtime may not wait; one of our own may.
            Ok(_) => thread::scope(|scope| scope.spawn(asked).join().unwrap_or(Err(CallError::Down))),
        }
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.link.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background(); // dropped wherever a reload happens to run
        }
    }
}
