//! Makes a transcript of any size from the kit's own recordings, with fresh ids in every repetition.

use std::fmt::Write as _;
use std::io::{self, Write};

use msp_conformance::recordings;
use serde_json::Value;

/// Head of every UUID in the recordings; a repetition puts its own number there.
const UUID_HEAD: &str = "0199c0de";

/// How the frames are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The frame alone.
    Bare,
    /// `{"dir","raw"}`.
    Wrapped,
}

/// A frame, cut where a repetition differs from the next.
struct Template {
    pieces: Vec<Piece>,
}

enum Piece {
    Text(String),
    /// Eight hexadecimal digits.
    Repetition,
    /// A number id.
    Id(u64),
}

/// What was written.
#[derive(Default, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) frames: u64,
    /// Bytes of the frames, before they were wrapped.
    pub(crate) frame_bytes: u64,
    pub(crate) bytes: u64,
}

/// Writes whole repetitions until there are at least so many bytes.
pub(crate) fn write(out: &mut dyn Write, form: Form, least: u64) -> io::Result<Size> {
    let templates = templates(form);
    let mut size = Size::default();
    let mut line = String::new();
    let mut repetition = 0_u64;
    while size.bytes < least {
        for (template, frame_bytes) in &templates {
            line.clear();
            for piece in &template.pieces {
                match piece {
                    Piece::Text(text) => line.push_str(text),
                    Piece::Repetition => write!(line, "{:08x}", 0x0199_c0de + repetition).map_err(io::Error::other)?,
                    Piece::Id(id) => line.push_str(&(repetition * 1_000_000 + id).to_string()),
                }
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
            size.frames += 1;
            size.frame_bytes += frame_bytes;
            size.bytes += line.len() as u64;
        }
        repetition += 1;
    }
    out.flush()?;
    Ok(size)
}

fn templates(form: Form) -> Vec<(Template, u64)> {
    let mut templates = Vec::new();
    for (scenario, recording) in (0_u64..).zip(recordings::ALL) {
        for line in recording.text.lines() {
            let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
            let (Some(side), Some(raw)) = (record["dir"].as_str(), record["raw"].as_str()) else { continue };
            let text = if form == Form::Bare { raw.to_owned() } else { record.to_string() };
            debug_assert!(text.contains(raw) || side == "client" || side == "server");
            templates.push((cut(&text, form, scenario), raw.len() as u64));
        }
    }
    templates
}

fn cut(text: &str, form: Form, scenario: u64) -> Template {
    let mark =
        if form == Form::Bare { "{\"jsonrpc\":\"2.0\",\"id\":" } else { "{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":" };
    let mut pieces = Vec::new();
    let mut rest = text;
    if let Some(at) = rest.find(mark) {
        let (head, tail) = rest.split_at(at + mark.len());
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            pieces.extend(uuids(head));
            pieces.push(Piece::Id(scenario * 10_000 + tail[..digits].parse::<u64>().unwrap_or(0)));
            rest = &tail[digits..];
        } else if let Some(quoted) = tail.strip_prefix(if form == Form::Bare { "\"" } else { "\\\"" }) {
            // A text id gets the repetition as its head.
            pieces.extend(uuids(&text[..text.len() - quoted.len()]));
            pieces.push(Piece::Repetition);
            rest = quoted;
        }
    }
    pieces.extend(uuids(rest));
    Template { pieces }
}

fn uuids(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (index, part) in text.split(UUID_HEAD).enumerate() {
        if index > 0 {
            pieces.push(Piece::Repetition);
        }
        pieces.push(Piece::Text(part.to_owned()));
    }
    pieces
}
