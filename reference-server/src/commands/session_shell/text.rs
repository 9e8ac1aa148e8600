//! Bytes to text as they come: no piece ends within a character, and what is no UTF-8 is replaced.

/// Bytes that may be the beginning of a character.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    begun: Vec<u8>,
}

impl Decoder {
    /// The text of further bytes, without a character that is not whole yet.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let whole = match self.begun.utf8_chunks().last() {
            // Up to three bytes at the end may still become a character.
            Some(last) if !last.invalid().is_empty() && may_become(last.invalid()) => {
                self.begun.len() - last.invalid().len()
            }
            _ => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let text = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun = rest;
        text
    }

    /// What is left, once nothing more comes.
    pub(super) fn end(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.begun)).into_owned()
    }
}

/// Whether bytes are the beginning of a character, rather than none at all.
fn may_become(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_are_the_text_of_the_whole() {
        let bytes = "grüße, ὦ 😀\n".bytes().chain(*b"\xff\xe2\x82(\xf0\x9f\x98").collect::<Vec<_>>();
        for size in 1..=bytes.len() {
            let mut decoder = Decoder::default();
            let mut text: String = bytes.chunks(size).map(|piece| decoder.push(piece)).collect();
            assert!(!text.ends_with('\u{fffd}') || size >= 3, "a character that is not whole waits");
            text.push_str(&decoder.end());
            assert_eq!(text, String::from_utf8_lossy(&bytes), "pieces of {size}");
        }
    }
}
