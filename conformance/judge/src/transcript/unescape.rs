//! The text of a JSON string, into a buffer that is used again and again.

use crate::schema::scan::{find_special, hex4};

/// Reads the string whose opening quote is at `at`, appends its text to `out`, and gives the place behind the closing
/// quote. `None` where it is no string that a parser would take.
pub(crate) fn unescape(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        let stop = find_special(bytes, at);
        out.extend_from_slice(&bytes[at..stop]);
        match bytes.get(stop)? {
            b'"' => return Some(stop + 1),
            b'\\' => at = escape(bytes, stop, out)?,
            _ => return None,
        }
    }
}

fn escape(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let plain = match bytes.get(at + 1)? {
        plain @ (b'"' | b'\\' | b'/') => *plain,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode(bytes, at, out),
        _ => return None,
    };
    out.push(plain);
    Some(at + 2)
}

fn unicode(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let unit = hex4(bytes, at + 2)?;
    let (point, end) = match unit {
        0xD800..=0xDBFF => {
            let low = (bytes.get(at + 6..at + 8)? == b"\\u").then(|| hex4(bytes, at + 8)).flatten()?;
            if !(0xDC00..=0xDFFF).contains(&low) {
                return None;
            }
            (0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), at + 12)
        }
        unit => (unit, at + 6),
    };
    let mut room = [0; 4];
    out.extend_from_slice(char::from_u32(point)?.encode_utf8(&mut room).as_bytes());
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_parser_reads_is_what_comes_out() {
        for text in [
            r#""""#,
            r#""a\"b\\c\/d""#,
            r#""\b\f\n\r\t""#,
            r#""\u0041\u00e9\ud83d\ude00\u0000""#,
            "\"caf\u{e9} \u{1f600}\"",
        ] {
            let mut out = Vec::new();
            assert_eq!(unescape(text.as_bytes(), 0, &mut out), Some(text.len()));
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::from_str::<String>(text).unwrap());
        }
    }

    #[test]
    fn what_a_parser_refuses_is_refused() {
        for text in
            [r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\u0041""#, r#""\x""#, r#""\u12G4""#, "\"a\nb\"", r#""open"#, "1"]
        {
            assert_eq!(unescape(text.as_bytes(), 0, &mut Vec::new()), None, "{text}");
            assert!(serde_json::from_str::<String>(text).is_err(), "{text}");
        }
    }
}
