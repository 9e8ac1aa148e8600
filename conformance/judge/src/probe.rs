//! The fast lane alone, for tests that compare it with the library. Not part of the interface.

use crate::frame::Fast;
use crate::pairing::{IdRef, Open, Pending};
use crate::schema::{Schema, Why};
use crate::transcript::Side;

/// The fast lane with one open request at most.
#[derive(Debug)]
pub struct Probe<'s> {
    schema: &'s Schema,
    open: Open,
}

impl<'s> Probe<'s> {
    /// A probe for a bundle.
    pub fn new(schema: &'s Schema) -> Self {
        Self { schema, open: Open::default() }
    }

    /// Opens a request, to be answered by a frame.
    pub fn ask(&mut self, asker: Side, id: i64, method: &str) {
        self.open = Open::default();
        let method = self.schema.find_method(method.as_bytes());
        self.open.insert(0, asker, IdRef::Number(id), Pending { method, line: 1 });
    }

    /// Whether the fast lane accepts a frame; `broken` is a reason that it ignores.
    ///
    /// # Errors
    /// The first reason to ask the slow lane.
    pub fn accept(&self, side: Side, bytes: &[u8], broken: Option<Why>) -> Result<(), Why> {
        let fast = Fast { schema: self.schema, open: &self.open, conn: 0, side: Some(side), broken };
        if std::str::from_utf8(bytes).is_err() {
            return Err(Why::Syntax);
        }
        fast.read(bytes, &mut Vec::new()).map(drop).map_err(|ask| ask.0)
    }
}
