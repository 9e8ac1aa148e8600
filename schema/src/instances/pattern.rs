//! The part of regular expressions that schemas of the field use: literals, classes, groups, repetitions, anchors.

use super::random::Random;

/// Repetitions without an upper limit are made at most this much longer than their lower limit.
const SPARE: usize = 4;

/// A pattern that values can be made from and checked against.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    branches: Vec<Vec<Piece>>,
}

#[derive(Clone, Debug)]
struct Piece {
    atom: Atom,
    least: usize,
    most: Option<usize>,
}

#[derive(Clone, Debug)]
enum Atom {
    Class { ranges: Vec<(char, char)>, negated: bool },
    Group(Pattern),
    Start,
    End,
}

impl Pattern {
    /// None where the pattern uses something else, which the maker then reports.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let chars: Vec<char> = text.chars().collect();
        let mut reader = Reader { chars: &chars, next: 0 };
        let pattern = reader.branches()?;
        (reader.next == chars.len()).then_some(pattern)
    }

    /// Whether the pattern matches anywhere in `text`, as JSON Schema asks.
    pub(super) fn matches(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        !self.ends(&chars, &(0..=chars.len()).collect::<Vec<_>>()).is_empty()
    }

    /// A text that consists of one match.
    pub(super) fn make(&self, random: &mut Random) -> String {
        let mut out = String::new();
        self.write(random, &mut out);
        out
    }

    fn write(&self, random: &mut Random, out: &mut String) {
        let branch = &self.branches[random.below(self.branches.len())];
        for piece in branch {
            let most = piece.most.unwrap_or(piece.least + SPARE);
            for _ in 0..piece.least + random.below(most - piece.least + 1) {
                match &piece.atom {
                    Atom::Class { ranges, negated } => out.push(pick(ranges, *negated, random)),
                    Atom::Group(group) => group.write(random, out),
                    Atom::Start | Atom::End => {}
                }
            }
        }
    }

    /// Where a match that begins at one of `starts` can end.
    fn ends(&self, chars: &[char], starts: &[usize]) -> Vec<usize> {
        let mut all = Vec::new();
        for branch in &self.branches {
            let mut at = starts.to_vec();
            for piece in branch {
                at = piece.ends(chars, &at);
            }
            all.extend(at);
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Piece {
    fn ends(&self, chars: &[char], starts: &[usize]) -> Vec<usize> {
        let mut at = starts.to_vec();
        for _ in 0..self.least {
            at = self.atom.ends(chars, &at);
        }
        let mut all = at.clone();
        let mut rounds = self.most.map_or(chars.len() + 1, |most| most - self.least);
        while rounds > 0 && !at.is_empty() {
            at = self.atom.ends(chars, &at);
            at.retain(|end| !all.contains(end));
            all.extend(&at);
            rounds -= 1;
        }
        all
    }
}

impl Atom {
    fn ends(&self, chars: &[char], starts: &[usize]) -> Vec<usize> {
        match self {
            Atom::Class { ranges, negated } => starts
                .iter()
                .filter(|at| chars.get(**at).is_some_and(|c| within(ranges, *c) != *negated))
                .map(|at| at + 1)
                .collect(),
            Atom::Group(group) => group.ends(chars, starts),
            Atom::Start => starts.iter().copied().filter(|at| *at == 0).collect(),
            Atom::End => starts.iter().copied().filter(|at| *at == chars.len()).collect(),
        }
    }
}

fn within(ranges: &[(char, char)], c: char) -> bool {
    ranges.iter().any(|(low, high)| (*low..=*high).contains(&c))
}

fn pick(ranges: &[(char, char)], negated: bool, random: &mut Random) -> char {
    if negated {
        let free: Vec<char> = (' '..='~').chain('à'..='ÿ').filter(|c| !within(ranges, *c)).collect();
        return if free.is_empty() { '\u{2603}' } else { free[random.below(free.len())] };
    }
    let (low, high) = ranges[random.below(ranges.len())];
    let span = (low..=high).count();
    (low..=high).nth(random.below(span)).unwrap_or(low)
}

struct Reader<'t> {
    chars: &'t [char],
    next: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.next).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.next += usize::from(found);
        found
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.next += 1;
        Some(c)
    }

    fn branches(&mut self) -> Option<Pattern> {
        let mut branches = vec![self.branch()?];
        while self.take('|') {
            branches.push(self.branch()?);
        }
        Some(Pattern { branches })
    }

    fn branch(&mut self) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            let atom = self.atom()?;
            let (least, most) = self.repetition()?;
            pieces.push(Piece { atom, least, most });
        }
        Some(pieces)
    }

    fn atom(&mut self) -> Option<Atom> {
        match self.bump()? {
            '^' => Some(Atom::Start),
            '$' => Some(Atom::End),
            '.' => Some(Atom::Class { ranges: vec![('\n', '\n'), ('\r', '\r')], negated: true }),
            '[' => self.class(),
            '(' => {
                if self.take('?') && !self.take(':') {
                    return None; // look-around, names
                }
                let group = self.branches()?;
                self.take(')').then_some(Atom::Group(group))
            }
            '\\' => Some(Atom::Class { ranges: self.escape()?, negated: false }),
            '*' | '+' | '?' | '{' | '}' | ']' => None,
            c => Some(Atom::Class { ranges: vec![(c, c)], negated: false }),
        }
    }

    fn escape(&mut self) -> Option<Vec<(char, char)>> {
        match self.bump()? {
            'd' => Some(vec![('0', '9')]),
            'w' => Some(vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]),
            's' => Some(vec![(' ', ' '), ('\t', '\t'), ('\n', '\n')]),
            'n' => Some(vec![('\n', '\n')]),
            't' => Some(vec![('\t', '\t')]),
            c if c.is_alphanumeric() => None,
            c => Some(vec![(c, c)]),
        }
    }

    fn class(&mut self) -> Option<Atom> {
        let negated = self.take('^');
        let mut ranges = Vec::new();
        loop {
            let low = match self.bump()? {
                ']' if !ranges.is_empty() => return Some(Atom::Class { ranges, negated }),
                ']' | '[' => return None,
                '\\' => {
                    ranges.extend(self.escape()?);
                    continue;
                }
                c => c,
            };
            if self.peek() == Some('-') && self.chars.get(self.next + 1).is_some_and(|c| *c != ']') {
                self.next += 1;
                let high = self.bump()?;
                if high == '\\' || high < low {
                    return None;
                }
                ranges.push((low, high));
            } else {
                ranges.push((low, low));
            }
        }
    }

    fn repetition(&mut self) -> Option<(usize, Option<usize>)> {
        let range = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counted(),
            _ => return Some((1, Some(1))),
        };
        self.next += 1;
        (!self.take('?')).then_some(range) // a lazy repetition is left to others
    }

    fn counted(&mut self) -> Option<(usize, Option<usize>)> {
        self.next += 1;
        let least = self.number()?;
        let most = if self.take(',') {
            if self.peek() == Some('}') { None } else { Some(self.number()?) }
        } else {
            Some(least)
        };
        (self.take('}') && most.is_none_or(|most| most >= least)).then_some((least, most))
    }

    fn number(&mut self) -> Option<usize> {
        let start = self.next;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.next += 1;
        }
        self.chars[start..self.next].iter().collect::<String>().parse().ok()
    }
}
