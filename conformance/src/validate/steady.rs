//! An output that may break, while the judging goes on.

use std::io::{self, Write};

/// Takes everything; after the first fault nothing is passed on any more, and the fault is kept.
pub(super) struct Steady<'w> {
    inner: &'w mut dyn Write,
    pub(super) fault: Option<io::Error>,
}

impl<'w> Steady<'w> {
    pub(super) fn new(inner: &'w mut dyn Write) -> Self {
        Self { inner, fault: None }
    }
}

impl Write for Steady<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.fault.is_none() {
            self.fault = self.inner.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.fault.is_none() {
            self.fault = self.inner.flush().err();
        }
        Ok(())
    }
}
