//! Base 64 with the usual alphabet, for frames that are no text.

/// Appends the bytes that `text` stands for; false where it is no base 64.
pub(crate) fn decode(text: &str, out: &mut Vec<u8>) -> bool {
    let digits = text.trim_end_matches('=').as_bytes();
    if text.len() % 4 != 0 || text.len() - digits.len() > 2 {
        return false;
    }
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return false,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        let [_, first, second, third] = bits.to_be_bytes();
        out.extend_from_slice(&[first, second, third][..group.len() - 1]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_remainder_come_back() {
        for (text, bytes) in [("", &b""[..]), ("/w==", b"\xff"), ("AP8=", b"\x00\xff"), ("e30K", b"{}\n")] {
            let mut out = Vec::new();
            assert!(decode(text, &mut out));
            assert_eq!(out, bytes);
        }
        for text in ["A", "AA", "A===", "AA*A", "e30K\n"] {
            assert!(!decode(text, &mut Vec::new()), "{text}");
        }
    }
}
