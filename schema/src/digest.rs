//! Our own digest of files. It says which bytes of ours something was made from, and nothing about a host.
//!
//! A published *fingerprint* is another thing: a host computes it over its own model, never over a file.

use sha2::{Digest as _, Sha256};

/// SHA-256 of one text, as `sha256:` and 64 lower-case hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    finish(Sha256::new_with_prefix(bytes))
}

/// SHA-256 over several files: for each, in the order of their paths, the path, a zero byte, the length in decimal, a
/// zero byte, the content. Paths are relative and written with `/`, so that every platform gets the same value.
pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_unstable();
    let mut hash = Sha256::new();
    for (path, content) in files {
        hash.update(path);
        hash.update([0]);
        hash.update(content.len().to_string());
        hash.update([0]);
        hash.update(content);
    }
    finish(hash)
}

fn finish(hash: Sha256) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{of_bytes, of_files};

    #[test]
    fn a_known_text_has_its_known_digest() {
        assert_eq!(of_bytes(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn order_does_not_matter_and_borders_do() {
        let one = of_files([("a", b"xy".as_slice()), ("b", b"z")]);
        assert_eq!(one, of_files([("b", b"z".as_slice()), ("a", b"xy")]));
        // Without lengths, one file could spell out the border to the next.
        assert_ne!(of_files([("a", b"b\0\0c".as_slice())]), of_files([("a", b"".as_slice()), ("b", b"c")]));
    }
}
