//! Findings for people: message, place, the line with a mark under it, one line of advice.

use super::{Diagnostic, Severity, one_line};

/// Whether the text carries colours; the caller looks at its terminal and at `NO_COLOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI escapes.
    Always,
}

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const CYAN: &str = "\x1b[1;36m";
const BLUE: &str = "\x1b[1;34m";

/// The finding as a block of lines, each with its line feed.
pub fn to_text(diagnostic: &Diagnostic, colour: Colour) -> String {
    let paint = |style: &str, text: &str| match colour {
        Colour::Never => text.to_owned(),
        Colour::Always => format!("{style}{text}\x1b[0m"),
    };
    let strong = match diagnostic.severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
        Severity::Note => CYAN,
    };
    let title = format!("{}[{}]", diagnostic.severity.word(), diagnostic.code);
    let number = diagnostic.excerpt.as_ref().map(|excerpt| excerpt.line.to_string()).unwrap_or_default();
    let margin = " ".repeat(number.len());
    let bar = paint(BLUE, "|");

    let mut lines = vec![
        format!("{}{}", paint(strong, &title), paint(BOLD, &format!(": {}", one_line(&diagnostic.message)))),
        format!("{margin} {} {}", paint(BLUE, "-->"), diagnostic.place()),
    ];
    if let Some(excerpt) = &diagnostic.excerpt {
        let label = diagnostic.label.as_deref().unwrap_or_default();
        let mark = format!("{} {}", "^".repeat(excerpt.width), one_line(label));
        lines.push(format!("{margin} {bar}"));
        lines.push(format!("{} {bar} {}", paint(BLUE, &number), excerpt.text));
        lines.push(format!("{margin} {bar} {}{}", " ".repeat(excerpt.start), paint(strong, mark.trim_end())));
    }
    if let Some(help) = &diagnostic.help {
        lines.push(format!("{margin} {} {}", paint(BLUE, "="), paint(BOLD, "help:") + " " + &one_line(help)));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn colours_change_nothing_but_colours() {
        let document = Document::parse("a.json", b"{ \"a\": 1 }").unwrap();
        let mut found =
            [Diagnostic::warning("codegen/test", document.at("/a"), "message").label("here").help("advice")];
        crate::diagnostic::attach_excerpts(&mut found, &[document]);
        let [found] = found;
        let plain = to_text(&found, Colour::Never);
        assert!(!plain.contains('\x1b'));
        let mut coloured = to_text(&found, Colour::Always);
        assert!(coloured.starts_with(YELLOW));
        for style in [BOLD, RED, YELLOW, CYAN, BLUE, "\x1b[0m"] {
            coloured = coloured.replace(style, "");
        }
        assert_eq!(coloured, plain);
    }
}
