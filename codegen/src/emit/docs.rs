//! Text for people as doc comments: reflowed, and safe from whatever Markdown or rustdoc would make of it.

use std::fmt::Write as _;

/// Longest line of the output, indentation included.
const WIDTH: usize = 120;

/// Doc comment lines for `text`, each with `indent` blanks before it. Blank lines separate paragraphs; single line ends do not count.
pub(crate) fn comment(text: &str, indent: usize) -> String {
    let prefix = format!("{}///", " ".repeat(indent));
    let width = WIDTH - indent - 4;
    let mut out = String::new();
    for (index, paragraph) in paragraphs(text).iter().enumerate() {
        if index > 0 {
            out.push_str(&prefix);
            out.push('\n');
        }
        for line in wrap(&visible(&escape(paragraph)), width) {
            out.push_str(&prefix);
            out.push(' ');
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// Lines between blank lines, as one line each. A backslash at a line end and the blanks behind it are a line continuation that leaked
/// into some published texts.
fn paragraphs(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for line in text.lines().chain([""]) {
        let line = line.strip_suffix('\\').unwrap_or(line);
        if line.trim().is_empty() {
            if !words.is_empty() {
                all.push(words.join(" "));
                words.clear();
            }
        } else {
            words.extend(line.split_whitespace());
        }
    }
    all
}

/// Marks that turn the direction of text, and control characters, by their code point: what people read is what there is.
pub(crate) fn visible(text: &str) -> String {
    let hidden = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(hidden) {
        return text.to_owned();
    }
    text.chars().map(|c| if hidden(c) { format!("U+{:04X}", u32::from(c)) } else { c.to_string() }).collect()
}

/// Outside of code spans nothing is a link, a tag or an emphasis; bare addresses become links.
fn escape(paragraph: &str) -> String {
    let balanced = paragraph.matches('`').count() % 2 == 0 && !paragraph.contains("```");
    let mut out = String::with_capacity(paragraph.len() + 16);
    for (index, piece) in paragraph.split('`').enumerate() {
        let code = balanced && index % 2 == 1;
        if index > 0 {
            out.push_str(if balanced { "`" } else { "\\`" });
        }
        if code {
            out.push_str(piece);
        } else {
            out.push_str(&escape_prose(piece));
        }
    }
    out
}

fn escape_prose(piece: &str) -> String {
    let mut out = String::with_capacity(piece.len());
    for (index, word) in piece.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let address = word.starts_with("http://") || word.starts_with("https://");
        if address && !word.contains(['<', '>', '\\']) {
            let address = word.trim_end_matches(['.', ',', ';', ':', ')', '>']);
            let _ = write!(out, "<{address}>{}", &word[address.len()..]);
            continue;
        }
        for c in word.chars() {
            if matches!(c, '[' | ']' | '<' | '*' | '_' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

/// Lines of at most `width` characters; code spans with blanks may be broken, which Markdown allows.
fn wrap(paragraph: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in paragraph.split(' ') {
        let long = word.chars().count();
        if !line.is_empty() && length + 1 + long > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if line.is_empty() {
            line.push_str(&start(word));
            length = long;
        } else {
            line.push(' ');
            line.push_str(word);
            length += 1 + long;
        }
    }
    lines.push(line);
    lines
}

/// A word that would begin a list, a heading or a quotation at the start of a line.
fn start(word: &str) -> String {
    let digits = word.trim_end_matches(['.', ')']);
    let ordered = digits.len() < word.len() && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if ordered {
        return format!("{digits}\\{}", &word[digits.len()..]);
    }
    let marks = ["-", "+", ">", "#", "=", "~~~", "|"];
    if marks.iter().any(|mark| word.starts_with(mark)) { format!("\\{word}") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reflows_and_escapes() {
        let text = "A [link] and `code [x]`,\nsee https://example.org/a_b. Map<String>\n\n- no list";
        let expected =
            "/// A \\[link\\] and `code [x]`, see <https://example.org/a_b>. Map\\<String>\n///\n/// \\- no list\n";
        assert_eq!(comment(text, 0), expected);
    }

    #[test]
    fn lone_backticks_are_text() {
        assert_eq!(comment("a ` b", 0), "/// a \\` b\n");
    }
}
