//! Lines of a byte stream, without ever holding one that is too long.

use std::io::{self, Read};

use super::FRAME_LIMIT;

/// Bytes read at a time.
const CHUNK: usize = 256 * 1024;
/// Room for the members beside the frame in a line `{"dir", "raw"}`.
const RECORD_ROOM: usize = 64 * 1024;
/// Each byte of a frame takes at most so many inside a JSON string (`\u0000`).
const WORST_ESCAPE: usize = 6;

/// A line, without its line feed.
#[derive(Clone, Copy, Debug)]
pub enum Line<'a> {
    /// A line that ends with a line feed.
    Whole(&'a [u8]),
    /// What stands after the last line feed of the stream.
    Unfinished(&'a [u8]),
    /// A line that is longer than the limit; its bytes were passed over.
    TooLong {
        /// Its length in bytes.
        length: u64,
    },
}

/// Something that gives lines one after the other.
pub trait Lines {
    /// The next line and its number, from 1; none at the end.
    ///
    /// # Errors
    /// What reading gives.
    fn next_line(&mut self) -> io::Result<Option<(u64, Line<'_>)>>;
}

/// Reads lines through one buffer, which grows up to the limit and no further.
///
/// ```
/// use msp_judge::transcript::{Line, LineReader, Lines};
///
/// let mut lines = LineReader::new(&b"{}\n[]"[..]);
/// assert!(matches!(lines.next_line()?, Some((1, Line::Whole(b"{}")))));
/// assert!(matches!(lines.next_line()?, Some((2, Line::Unfinished(b"[]")))));
/// assert!(lines.next_line()?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// What of the buffer is filled and not given out yet.
    start: usize,
    end: usize,
    /// Up to where the buffer is known to hold no line feed.
    searched: usize,
    number: u64,
    limit: usize,
    ended: bool,
}

impl<R: Read> LineReader<R> {
    /// A reader with the limit of the protocol ([`FRAME_LIMIT`]).
    pub fn new(input: R) -> Self {
        Self::with_limit(input, FRAME_LIMIT)
    }

    /// A reader with a limit of one's own: frames of more bytes are passed over. A line that holds a frame as a JSON
    /// string may have so many more bytes as escapes can take.
    pub fn with_limit(input: R, limit: usize) -> Self {
        Self { input, buffer: vec![0; CHUNK], start: 0, end: 0, searched: 0, number: 0, limit, ended: false }
    }

    /// Reads more into the buffer, making room first. Gives false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let length = self.buffer.len();
            self.buffer.resize(length * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.end += count;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The most bytes that the line which starts here may have.
    fn most(&self) -> usize {
        let head = &self.buffer[self.start..self.end.min(self.start + 256)];
        let is_record =
            memchr::memmem::find(head, b"\"raw\"").is_some() || memchr::memmem::find(head, b"\"rawBase64\"").is_some();
        if is_record { self.limit.saturating_mul(WORST_ESCAPE).saturating_add(RECORD_ROOM) } else { self.limit }
    }

    /// Passes over the rest of a line whose first `length` bytes are in the buffer.
    fn pass_over(&mut self) -> io::Result<u64> {
        let mut length = (self.end - self.start) as u64;
        loop {
            self.start = 0;
            self.end = 0;
            self.searched = 0;
            self.buffer.truncate(CHUNK);
            self.buffer.shrink_to(CHUNK);
            if !self.fill()? {
                return Ok(length);
            }
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[..self.end]) {
                self.start = at + 1;
                self.searched = at + 1;
                return Ok(length + at as u64);
            }
            length += self.end as u64;
        }
    }
}

impl<R: Read> Lines for LineReader<R> {
    fn next_line(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
                let (from, to) = (self.start, self.searched + at);
                let too_long = to - from > self.limit && to - from > self.most();
                self.start = to + 1;
                self.searched = to + 1;
                self.number += 1;
                let line = if too_long {
                    Line::TooLong { length: (to - from) as u64 }
                } else {
                    Line::Whole(&self.buffer[from..to])
                };
                return Ok(Some((self.number, line)));
            }
            self.searched = self.end;
            if self.end - self.start > self.limit && self.end - self.start > self.most() {
                self.number += 1;
                let length = self.pass_over()?;
                return Ok(Some((self.number, Line::TooLong { length })));
            }
            if !self.fill()? {
                if self.start == self.end {
                    return Ok(None);
                }
                let (from, to) = (self.start, self.end);
                self.start = to;
                self.searched = to;
                self.number += 1;
                return Ok(Some((self.number, Line::Unfinished(&self.buffer[from..to]))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8], limit: usize) -> Vec<String> {
        let mut lines = LineReader::with_limit(input, limit);
        let mut out = Vec::new();
        while let Some((number, line)) = lines.next_line().unwrap() {
            out.push(match line {
                Line::Whole(bytes) => format!("{number} whole {}", bytes.len()),
                Line::Unfinished(bytes) => format!("{number} unfinished {}", bytes.len()),
                Line::TooLong { length } => format!("{number} too long {length}"),
            });
        }
        out
    }

    #[test]
    fn a_line_of_the_limit_is_read_and_one_byte_more_is_passed_over() {
        assert_eq!(read(b"aaaa\nbbbbb\nc\n", 4), ["1 whole 4", "2 too long 5", "3 whole 1"]);
    }

    #[test]
    fn a_long_line_does_not_make_the_buffer_grow() {
        let mut input = vec![b'x'; 4 * CHUNK];
        input.extend_from_slice(b"\nshort\n");
        let mut lines = LineReader::with_limit(&input[..], 1000);
        assert!(
            matches!(lines.next_line().unwrap(), Some((1, Line::TooLong { length })) if length == 4 * CHUNK as u64)
        );
        assert!(matches!(lines.next_line().unwrap(), Some((2, Line::Whole(b"short")))));
        assert_eq!(lines.buffer.len(), CHUNK);
    }

    #[test]
    fn lines_over_the_ends_of_the_buffer_are_whole() {
        let line = vec![b'y'; CHUNK - 7];
        let mut input = Vec::new();
        for _ in 0..5 {
            input.extend_from_slice(&line);
            input.push(b'\n');
        }
        assert_eq!(read(&input, FRAME_LIMIT).len(), 5);
        assert!(read(&input, FRAME_LIMIT).iter().all(|it| it.ends_with(&format!("whole {}", line.len()))));
    }
}
