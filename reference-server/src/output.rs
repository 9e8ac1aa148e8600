//! Output of tools and commands: what the view shows of it, and what is stored for `item/readOutput` (LIM-5, OUT-6).

use serde_json::{Value, json};

use crate::mint::Mint;
use crate::record::Stored;

/// Bytes of retained text on an item.
pub const VIEW_BYTES: usize = 64 * 1024;

/// An output cut for the view.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    /// What the item shows.
    pub visible: String,
    /// The whole of it and the reference to it, where it was cut.
    pub stored: Option<(Stored, Value)>,
}

/// Cuts an output on a character boundary; a whole one is not stored.
pub fn bound(output: &str, item_id: &str, kind: &str, mint: &mut Mint) -> Bounded {
    if output.len() <= VIEW_BYTES {
        return Bounded { visible: output.to_owned(), stored: None };
    }
    let (stored, reference) = store(output, item_id, kind, "text/plain", mint);
    Bounded { visible: cut(output).0, stored: Some((stored, reference)) }
}

/// As much of a text as an item retains, and whether that is less than the whole.
pub fn cut(text: &str) -> (String, bool) {
    let end = end(text, VIEW_BYTES);
    (text[..end].to_owned(), end < text.len())
}

/// The last end of a character within so many bytes.
pub fn end(text: &str, most: usize) -> usize {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// A text to store, and the reference that its item carries.
pub fn store(text: &str, item_id: &str, kind: &str, media_type: &str, mint: &mut Mint) -> (Stored, Value) {
    let id = format!("out-{}", mint.uuid());
    let reference = json!({
        "id": id, "uri": format!("msp-output:{id}"), "kind": kind, "availability": "available",
        "byteLen": text.len(), "mediaType": media_type,
    });
    let stored =
        Stored { id, item_id: item_id.to_owned(), media_type: media_type.to_owned(), content: text.to_owned() };
    (stored, reference)
}

/// So many bytes of text in numbered lines.
pub fn filler(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut line = 0u64;
    while text.len() < bytes {
        line += 1;
        text.push_str("line ");
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text.truncate(bytes); // ASCII
    text
}
