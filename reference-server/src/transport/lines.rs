//! Lines out of a byte stream: ended by LF, a CR before it dropped, empty ones skipped, none longer than the limit kept (FRAME).

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of an oversized line that are kept to find its id in (FRAME-9).
const KEPT_PREFIX: usize = 64 * 1024;
const CHUNK: usize = 64 * 1024;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// One over the limit: its beginning.
    Oversized(Vec<u8>),
}

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    limit: usize,
    buffer: Vec<u8>,
    start: usize,
    /// Bytes of `buffer` that were searched for an LF.
    searched: usize,
    /// The beginning of a line that is being thrown away.
    oversized: Option<Vec<u8>>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> Self {
        Self { input, limit, buffer: Vec::new(), start: 0, searched: 0, oversized: None }
    }

    /// The next line; `None` at the end. What stands after the last LF is no line (FRAME-7).
    ///
    /// # Errors
    /// Of the input.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            while let Some(end) = self.find_end() {
                let line = &self.buffer[self.start..end];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let found = match self.oversized.take() {
                    Some(prefix) => Some(Line::Oversized(prefix)),
                    None if line.len() > self.limit => {
                        Some(Line::Oversized(line[..line.len().min(KEPT_PREFIX)].to_vec()))
                    }
                    None if line.iter().all(u8::is_ascii_whitespace) => None,
                    None => Some(Line::Whole(line.to_vec())),
                };
                self.start = end + 1;
                self.searched = self.start;
                if found.is_some() {
                    return Ok(found);
                }
            }
            self.make_room();
            let before = self.buffer.len();
            self.buffer.reserve(CHUNK);
            if (&mut self.input).take(CHUNK as u64).read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
            debug_assert!(self.buffer.len() > before, "a read of some bytes adds them");
        }
    }

    fn find_end(&mut self) -> Option<usize> {
        let found = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n').map(|at| self.searched + at);
        self.searched = self.buffer.len();
        found
    }

    /// Drops what is done with, and the body of a line that has grown too long (a CR may still follow at the limit).
    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.oversized.is_some() {
            self.buffer.clear();
        } else if self.buffer.len() > self.limit + 1 {
            self.oversized = Some(self.buffer[..self.limit.min(KEPT_PREFIX)].to_vec());
            self.buffer = Vec::new();
        }
        self.searched = self.buffer.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn lines_end_at_line_feeds() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(read(b"{}\r\n\n  \n[1]\r\n\r\nlast", 9).await, [whole("{}"), whole("[1]")]);
    }

    #[tokio::test]
    async fn the_limit_counts_neither_lf_nor_cr() {
        assert_eq!(
            read(b"12345\r\n123456\n1\n", 5).await,
            [Line::Whole("12345".into()), Line::Oversized("123456".into()), Line::Whole("1".into())]
        );
        let mut long = vec![b'x'; 3 * CHUNK];
        long.extend_from_slice(b"\nok\n");
        let lines = read(&long, CHUNK).await;
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], Line::Whole("ok".into()));
    }
}
