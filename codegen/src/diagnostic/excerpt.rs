//! One line of a file, cut to a width that a terminal holds, with the part that matters marked.

use crate::document::Document;
use crate::pointer;

/// Longest excerpt in characters; a bundle may be one line of half a megabyte.
const WIDTH: usize = 120;
/// What is kept to the left of the mark when the line has to be cut.
const BEFORE: usize = 30;

/// A line and a mark below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Number of the line, from 1.
    pub line: usize,
    /// Column in characters, from 1, of the mark in the file.
    pub column: usize,
    /// The line, or the part of it around the mark; tabs are blanks.
    pub text: String,
    /// Where the mark starts in [`Excerpt::text`], in characters from 0.
    pub start: usize,
    /// Width of the mark in characters, at least 1.
    pub width: usize,
}

impl Excerpt {
    /// The excerpt of the value at `pointer`, or of its nearest ancestor that exists.
    pub fn of(document: &Document, mut pointer: &str) -> Option<Self> {
        loop {
            if let Some(range) = document.locate(pointer) {
                let before = &document.text[..range.start];
                let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
                let text = first_line(&document.text[line_start..]);
                // A value of several lines is marked up to the end of its first.
                let end = range.end.min(line_start + text.len());
                let start = document.text[line_start..range.start].chars().count();
                let width = document.text[range.start..end].chars().count();
                return Some(Self::cut(line, text, start, width));
            }
            pointer = pointer::parent(pointer)?;
        }
    }

    /// The excerpt of one character, by line and by column in bytes, both from 1 as `serde_json` counts them.
    pub fn at_line(text: &str, line: usize, column: usize) -> Option<Self> {
        let line_text = text.split('\n').nth(line.checked_sub(1)?)?;
        let line_text = first_line(line_text);
        let start = line_text.char_indices().take_while(|(offset, _)| *offset + 1 < column).count();
        Some(Self::cut(line, line_text, start, 1))
    }

    fn cut(line: usize, text: &str, start: usize, width: usize) -> Self {
        let column = start + 1;
        let width = width.max(1);
        let length = text.chars().count();
        let skip = if length <= WIDTH { 0 } else { start.saturating_sub(BEFORE) };
        let shown: String = text.chars().skip(skip).take(WIDTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let left = if skip > 0 { "…" } else { "" };
        let right = if length > skip + WIDTH { "…" } else { "" };
        let start = start - skip;
        let width = width.min(WIDTH.saturating_sub(start)).max(1);
        Self { line, column, text: format!("{left}{shown}{right}"), start: start + left.chars().count(), width }
    }
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default().trim_end_matches('\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_long_lines_around_the_mark() {
        let text = format!("[{}\"here\", {}]", "0, ".repeat(500), "0, ".repeat(500));
        let document = Document::parse("a.json", text.replace(", ]", "]").as_bytes()).unwrap();
        let excerpt = Excerpt::of(&document, "/500").unwrap();
        assert_eq!(excerpt.column, 1502);
        let marked: String = excerpt.text.chars().skip(excerpt.start).take(excerpt.width).collect();
        assert_eq!(marked, "\"here\"");
        assert!(excerpt.text.chars().count() <= WIDTH + 2);
    }

    #[test]
    fn falls_back_to_an_ancestor() {
        let document = Document::parse("a.json", b"{\n\t\"a\": {\n}}").unwrap();
        let excerpt = Excerpt::of(&document, "/a/missing/too").unwrap();
        assert_eq!((excerpt.line, excerpt.text.as_str(), excerpt.start, excerpt.width), (2, " \"a\": {", 6, 1));
    }
}
