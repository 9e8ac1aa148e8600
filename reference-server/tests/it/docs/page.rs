//! Fenced blocks of a page, and how a block gets new content.

use std::path::PathBuf;

/// A fenced block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// What stands behind the opening fence.
    pub(super) info: String,
    /// Line of the opening fence, from 1.
    pub(super) line: usize,
    /// The lines between the fences.
    pub(super) text: String,
}

/// A page of `docs/`.
pub(super) struct Page {
    path: PathBuf,
    pub(super) text: String,
}

impl Page {
    pub(super) fn open(name: &str) -> Self {
        let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    /// All blocks, in order.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let (mut blocks, mut open): (Vec<Block>, bool) = (Vec::new(), false);
        for (at, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), open) {
                (Some(info), false) => {
                    blocks.push(Block { info: info.to_owned(), line: at + 1, text: String::new() });
                    open = true;
                }
                (Some(_), true) => open = false,
                (None, true) => {
                    let text = &mut blocks.last_mut().unwrap().text;
                    text.push_str(line);
                    text.push('\n');
                }
                (None, false) => {}
            }
        }
        assert!(!open, "{}: a block is not closed", self.path.display());
        blocks
    }

    /// Compares what stands behind blocks with what should stand there; with `BLESS=1` the page is written instead.
    #[track_caller]
    pub(super) fn check(&self, wanted: &[Wanted]) {
        let blocks = self.blocks();
        let wrong: Vec<_> = wanted.iter().filter(|wanted| !wanted.stands_in(&blocks)).collect();
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            if !wrong.is_empty() {
                std::fs::write(&self.path, self.written(&blocks, &wrong)).unwrap();
            }
            return;
        }
        let told = |wanted: &&Wanted| {
            let held = wanted.block(&blocks).map_or("(nothing)\n", |block| block.text.as_str());
            format!("{}:{}: found\n{held}where this was caused\n{}", self.path.display(), wanted.behind, wanted.text)
        };
        let told: Vec<_> = wrong.iter().map(told).collect();
        assert!(told.is_empty(), "{}\n`BLESS=1` writes the page", told.join("\n"));
    }

    /// Compares the blocks that have an info of their own with what they should be; with `BLESS=1` the page is written instead.
    #[track_caller]
    pub(super) fn check_named(&self, wanted: &[(String, String)]) {
        let blocks = self.blocks();
        let (mut text, mut wrong) = (self.text.clone(), Vec::new());
        for (info, line) in wanted {
            let held = blocks.iter().find(|block| block.info == *info);
            let held = held.unwrap_or_else(|| panic!("{}: no block `{info}`", self.path.display()));
            if held.text != *line {
                wrong.push(format!(
                    "{}:{}: found\n{}where this was caused\n{line}",
                    self.path.display(),
                    held.line,
                    held.text
                ));
                text = text.replacen(&format!("```{info}\n{}```\n", held.text), &format!("```{info}\n{line}```\n"), 1);
            }
        }
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&self.path, text).unwrap();
            return;
        }
        assert!(wrong.is_empty(), "{}\n`BLESS=1` writes the page", wrong.join("\n"));
    }

    fn written(&self, blocks: &[Block], wrong: &[&Wanted]) -> String {
        let mut lines: Vec<String> = self.text.lines().map(str::to_owned).collect();
        for wanted in wrong.iter().rev() {
            let before = blocks.iter().find(|block| block.line == wanted.behind).unwrap();
            let end = before.line + before.text.lines().count(); // index behind the closing fence, less one
            let old = wanted.block(blocks).map_or(0, |block| block.text.lines().count() + 2);
            let new = [format!("```{}", wanted.info)]
                .into_iter()
                .chain(wanted.text.lines().map(str::to_owned))
                .chain(["```".to_owned()]);
            lines.splice(end + 1..end + 1 + old, new);
        }
        lines.join("\n") + "\n"
    }
}

/// What should stand right behind a block.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Line of the block in front.
    pub(super) behind: usize,
    pub(super) info: &'static str,
    pub(super) text: String,
}

impl Wanted {
    fn block<'a>(&self, blocks: &'a [Block]) -> Option<&'a Block> {
        let at = blocks.iter().position(|block| block.line == self.behind)?;
        let next = blocks.get(at + 1).filter(|next| next.info == self.info)?;
        let adjacent = next.line == self.behind + blocks[at].text.lines().count() + 2;
        adjacent.then_some(next)
    }

    fn stands_in(&self, blocks: &[Block]) -> bool {
        self.block(blocks).is_some_and(|block| block.text == self.text)
    }
}
