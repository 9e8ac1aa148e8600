//! The judge: entries in, findings out, one entry at a time.

pub(crate) mod parts;
mod session;
mod slow;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::facts::Fault;
use crate::frame::{Fast, Good, Shape};
use crate::library::Library;
use crate::pairing::{IdRef, Insertion, Open, Pending};
use crate::report::{Counts, Finding, Report};
use crate::rules::tally::{Tally, UnderTest};
use crate::rules::watch::{Input, Watch};
use crate::rules::{Rule, Severity};
use crate::schema::explain::shorten;
use crate::schema::{Schema, Why};
use crate::sessions::SessionSchema;
use crate::transcript::{Damage, Entry, Frame, LineReader, Lines, Recogniser, Side, What};

/// How to judge.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Profile {
    /// Known revisions: where a frame has a fault, they are asked whether they accept it.
    pub library: Option<Arc<Library>>,
    /// Whether a host is judged by the revision that it reports in its `initialize` result, where `library` knows it.
    pub follow: bool,
    /// Schemas of the session functions, for transcripts that have such lines.
    pub session: Option<Arc<SessionSchema>>,
    /// Findings kept until somebody takes them; further ones are counted.
    pub keep: usize,
    /// Whether to judge by the rules of the protocol too, not by shape alone.
    pub rules: bool,
    /// Who is judged. What a side does that is not under test is no finding: it follows a script.
    pub under_test: UnderTest,
    /// Whether this is the run of a client under test against a scripted host: some rules are judged only there.
    pub client_run: bool,
    /// The most bytes of a frame that the host takes, where that is known.
    pub frame_limit: Option<u64>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            library: None,
            follow: false,
            session: None,
            keep: 10_000,
            rules: true,
            under_test: UnderTest::Both,
            client_run: false,
            frame_limit: None,
        }
    }
}

/// Judges the entries of one transcript, in their order.
///
/// Memory does not grow with the transcript: what is kept are the open requests, at most 65,536, one small state a
/// connection, and findings up to [`Profile::keep`].
///
/// ```
/// use msp_judge::transcript::{Entry, Frame, Side, What};
/// use msp_judge::{Judge, Library, Profile, Surface};
///
/// let schema = Library::new(Surface::Stable)?.newest()?;
/// let mut judge = Judge::new(schema, Profile::default());
/// let bytes = br#"{"jsonrpc":"2.0","id":1,"method":"session/read","params":{}}"#;
/// judge.observe(&Entry { line: 1, conn: "", at_ms: None, what: What::Frame(Frame { side: Some(Side::Client), bytes }) });
/// let report = judge.finish();
/// assert_eq!(report.findings[0].expected, "member `sessionId`");
/// # Ok::<(), msp_judge::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Judge {
    profile: Profile,
    newest: Arc<Schema>,
    connections: Vec<Connection>,
    by_name: HashMap<String, u32>,
    open: Open,
    calls: session::Calls,
    findings: Vec<Finding>,
    dropped: u64,
    counts: Counts,
    unpaired_from: u64,
    unnamed: Vec<u64>,
    broken: Option<Why>,
    /// The rules, where they are judged.
    watch: Option<Box<Watch>>,
    /// What was found in the frame that is being judged.
    faults: Vec<Fault>,
}

#[derive(Debug)]
struct Connection {
    name: String,
    schema: Arc<Schema>,
    /// Whether the transcript has the connection from its start: then a response to no request is a fault.
    from_start: bool,
}

/// Judges a whole transcript. Its findings are in the report, as far as [`Profile::keep`] goes.
///
/// # Errors
/// What reading gives.
pub fn judge_transcript(input: impl std::io::Read, mut judge: Judge) -> std::io::Result<Report> {
    let (mut lines, mut recogniser) = (LineReader::new(input), Recogniser::new());
    while let Some((number, line)) = lines.next_line()? {
        if let Some(entry) = recogniser.recognise(number, line) {
            judge.observe(&entry);
        }
    }
    Ok(judge.finish())
}

/// Where in a transcript the judge is.
#[derive(Clone, Copy)]
struct Place<'e> {
    line: u64,
    conn: u32,
    at_ms: Option<u64>,
    frame: Frame<'e>,
}

/// What the lanes have found out about a frame for the rules.
#[derive(Clone, Copy, Default)]
struct Told {
    side: Option<Side>,
    /// Line of the request that it answers.
    pending: Option<u64>,
}

impl Judge {
    /// A judge of one transcript.
    pub fn new(schema: Arc<Schema>, profile: Profile) -> Self {
        let watch = profile
            .rules
            .then(|| Box::new(Watch::new(Tally::new(profile.under_test, profile.client_run, profile.frame_limit))));
        Self {
            profile,
            newest: schema,
            watch,
            faults: Vec::new(),
            connections: Vec::new(),
            by_name: HashMap::new(),
            open: Open::default(),
            calls: session::Calls::default(),
            findings: Vec::new(),
            dropped: 0,
            counts: Counts::default(),
            unpaired_from: 0,
            unnamed: Vec::new(),
            broken: None,
        }
    }

    /// Makes the fast lane ignore one reason to ask. Only for tests that want to see the difference.
    #[doc(hidden)]
    pub fn break_fast_lane(&mut self, why: Why) {
        self.broken = Some(why);
    }

    /// Judges one entry.
    pub fn observe(&mut self, entry: &Entry<'_>) {
        self.counts.entries += 1;
        match entry.what {
            What::Frame(frame) => {
                let conn = self.connection(entry.conn);
                self.frame(Place { line: entry.line, conn, at_ms: entry.at_ms, frame });
            }
            What::Session(bytes) => self.session_line(entry, bytes),
            What::Event { name, line } => {
                let conn = self.connection(entry.conn);
                if let Some(watch) = &mut self.watch {
                    let (side, at_ms) = (Side::Server, entry.at_ms);
                    watch.happened(Input { line: entry.line, conn, side, at_ms, bytes: line }, name);
                }
                self.take_of_rules();
            }
            What::Damaged { damage, side, bytes } => {
                self.damaged(entry, damage);
                if let Some(side) = side {
                    let conn = self.connection(entry.conn);
                    if let Some(watch) = &mut self.watch {
                        watch.damaged(Input { line: entry.line, conn, side, at_ms: entry.at_ms, bytes }, damage);
                    }
                    self.take_of_rules();
                }
            }
        }
    }

    /// Takes over what the monitors found.
    fn take_of_rules(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        if watch.tally.findings.is_empty() {
            return;
        }
        for (conn, mut finding) in std::mem::take(&mut watch.tally.findings) {
            let connection = &self.connections[conn as usize];
            finding.conn.clone_from(&connection.name);
            connection.schema.label().clone_into(&mut finding.revision);
            if let Some(watch) = &mut self.watch {
                watch.count(finding.rule, finding.severity);
            }
            self.keep(finding);
        }
    }

    /// The findings so far. Taking them as they come keeps memory flat, and their order is that of the transcript.
    pub fn take_findings(&mut self) -> std::vec::Drain<'_, Finding> {
        self.findings.drain(..)
    }

    /// How much was judged so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Ends the transcript.
    pub fn finish(mut self) -> Report {
        if self.counts.unpaired > 0 {
            let actual = format!(
                "{} that answer no request of the transcript; only their envelopes were judged",
                self.counts.unpaired
            );
            self.add(Rule::UNPAIRED, self.unpaired_from, "responses to requests of the transcript", actual);
        }
        if self.open.forgotten > 0 {
            let actual = format!("{} more, which were forgotten unanswered", self.open.forgotten);
            self.add(Rule::FORGOTTEN, 0, "65,536 open requests or fewer", actual);
        }
        if let Some(watch) = &mut self.watch {
            watch.finish();
        }
        self.take_of_rules();
        let verdicts = self.watch.as_ref().map(|watch| watch.verdicts()).unwrap_or_default();
        let used: BTreeSet<&str> = self.connections.iter().map(|connection| connection.schema.label()).collect();
        let revisions = used.into_iter().map(str::to_owned).collect();
        Report { findings: self.findings, dropped: self.dropped, revisions, verdicts, counts: self.counts }
    }

    fn connection(&mut self, name: &str) -> u32 {
        if let Some(known) = self.connections.first() {
            // Most transcripts have one connection without a name, and comparing nothing costs a call all the same.
            if known.name.len() == name.len() && (name.is_empty() || known.name == name) {
                return 0;
            }
        }
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let index = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        self.connections.push(Connection {
            name: name.to_owned(),
            schema: Arc::clone(&self.newest),
            from_start: false,
        });
        self.by_name.insert(name.to_owned(), index);
        if let Some(watch) = &mut self.watch {
            watch.connect(index, &self.newest);
        }
        index
    }

    fn frame(&mut self, place: Place<'_>) {
        self.counts.frames += 1;
        self.counts.bytes += place.frame.bytes.len() as u64;
        let Place { conn, frame, .. } = place;
        let odd = frame.bytes.last() == Some(&b'\r') && frame.side == Some(Side::Server)
            || frame.side.is_some() && memchr::memchr(b'\n', frame.bytes).is_some();
        let schema = &self.connections[conn as usize].schema;
        let fast = Fast { schema, open: &self.open, conn, side: frame.side, broken: self.broken };
        self.faults.clear();
        let told = match fast.read(frame.bytes, &mut self.unnamed) {
            Ok(good) if !odd => self.accept(place, &good),
            _ => {
                self.counts.asked += 1;
                self.slow(place)
            }
        };
        // The bundle may be another from this frame on.
        let schema = &self.connections[conn as usize].schema;
        if let (Some(watch), Some(side)) = (&mut self.watch, told.side) {
            let input = Input { line: place.line, conn, side, at_ms: place.at_ms, bytes: frame.bytes };
            watch.frame(input, schema, told.pending, &self.faults);
            self.take_of_rules();
        }
    }

    /// Remembers what a good frame means for the ones after it.
    fn accept(&mut self, place: Place<'_>, good: &Good<'_>) -> Told {
        let mut told = Told { side: good.side, pending: None };
        match &good.shape {
            Shape::Notification => {}
            Shape::Request { id, method } => {
                let asker = good.side.unwrap_or(Side::Client);
                self.asked(place, asker, *id, Some(*method));
            }
            Shape::Response { id, pending: None, .. } => self.unasked(place, *id),
            Shape::Response { id, pending: Some(pending), result } => {
                let asker = good.side.map_or(Side::Client, Side::other);
                self.open.answer(place.conn, asker, *id);
                told.pending = Some(pending.line);
                if let Some(result) = result {
                    self.answered(place, *pending, result);
                }
            }
        }
        told
    }

    fn asked(&mut self, place: Place<'_>, asker: Side, id: IdRef<'_>, method: Option<usize>) {
        let connection = &mut self.connections[place.conn as usize];
        let name = method.map_or("", |method| connection.schema.methods[method].name.as_str());
        connection.from_start |= name == "initialize" && place.frame.side.is_some();
        let earlier = self.open.insert(place.conn, asker, id, Pending { method, line: place.line });
        if let (Insertion::InFlight(line), Some(_)) = (earlier, place.frame.side) {
            let name = method.map(|_| name.to_owned());
            let actual = format!("the id of the request in line {line}, which is open");
            let mut finding = self.finding(Rule::ID_IN_FLIGHT, place, "an id that is free", actual);
            "/id".clone_into(&mut finding.pointer);
            finding.method = name;
            finding.from = Some(asker);
            self.push(finding);
        }
    }

    /// A response to a request that is not open: a fault where the transcript has everything, else a gap in it.
    fn unasked(&mut self, place: Place<'_>, id: IdRef<'_>) {
        if self.connections[place.conn as usize].from_start && place.frame.side.is_some() {
            let actual = match id {
                IdRef::Number(number) => number.to_string(),
                IdRef::Text(text) => format!("\"{text}\""),
            };
            let mut finding = self.finding(Rule::UNASKED, place, "the id of an open request", actual);
            "/id".clone_into(&mut finding.pointer);
            self.push(finding);
            return;
        }
        self.count_unpaired(place.line);
    }

    fn count_unpaired(&mut self, line: u64) {
        if self.counts.unpaired == 0 {
            self.unpaired_from = line;
        }
        self.counts.unpaired += 1;
    }

    /// From the result of `initialize` on, a connection is judged by the revision that its host reports.
    fn answered(&mut self, place: Place<'_>, pending: Pending, result: &[u8]) {
        #[derive(serde::Deserialize)]
        struct Reported<'r> {
            #[serde(borrow)]
            schema: Option<Fingerprint<'r>>,
            #[serde(borrow, rename = "serverInfo")]
            server_info: Option<Version<'r>>,
        }
        #[derive(serde::Deserialize)]
        struct Fingerprint<'r> {
            #[serde(borrow)]
            fingerprint: std::borrow::Cow<'r, str>,
        }
        #[derive(serde::Deserialize)]
        struct Version<'r> {
            #[serde(borrow)]
            version: std::borrow::Cow<'r, str>,
        }
        let conn = place.conn;
        let connection = &self.connections[conn as usize];
        let is_handshake = pending.method.is_some_and(|method| connection.schema.methods[method].name == "initialize");
        let Some(library) = self.profile.library.as_ref().filter(|_| self.profile.follow && is_handshake) else {
            return;
        };
        let Ok(reported) = serde_json::from_slice::<Reported<'_>>(result) else { return };
        let fingerprint = reported.schema.as_ref().map_or("", |it| &it.fingerprint);
        let host_version = reported.server_info.as_ref().map_or("", |it| &it.version);
        let (found, doubt) = library.find_reported_with_doubt(fingerprint, host_version);
        if let Some(schema) =
            found.filter(|it| *it != connection.schema.label()).and_then(|it| library.revision(it).ok())
        {
            self.move_to(conn, schema);
        }
        if let Some(doubt) = doubt {
            let by = self.connections[conn as usize].schema.label();
            let actual = format!(
                "version `{}` with fingerprint `{}`: {doubt}; judged by {by}",
                shorten(host_version),
                shorten(fingerprint)
            );
            let mut finding = self.finding(Rule::REVISION, place, "a host of a known revision", actual);
            finding.method = Some("initialize".to_owned());
            "/result".clone_into(&mut finding.pointer);
            self.push(finding);
        }
    }

    /// Judges a connection by another schema from here on; its open requests keep their methods, by name.
    fn move_to(&mut self, conn: u32, schema: Arc<Schema>) {
        let old = Arc::clone(&self.connections[conn as usize].schema);
        self.open.renumber(conn, |method| schema.find_method(old.methods[method].name.as_bytes()));
        if let Some(watch) = &mut self.watch {
            watch.connect(conn, &schema);
        }
        self.connections[conn as usize].schema = schema;
    }

    fn damaged(&mut self, entry: &Entry<'_>, damage: Damage) {
        let (rule, expected, actual) = match damage {
            Damage::NotUtf8 { valid } => {
                (Rule::JSON, "a line in UTF-8", format!("a byte that is not, after {valid} bytes"))
            }
            Damage::NoLineFeed { length } => {
                (Rule::LINE_FEED, "a line feed at the end", format!("the end after {length} bytes"))
            }
            Damage::TooLong { length } => (Rule::TOO_LONG, "a frame within the limit", format!("{length} bytes")),
            Damage::NotARecord { what } => (Rule::TRANSCRIPT, "a line of a transcript", what.to_owned()),
            Damage::UnknownForm => (Rule::TRANSCRIPT, "a line of a known form", "one that is not".to_owned()),
        };
        let mut finding = Finding::new(rule, entry.line, expected, actual, self.newest.label());
        entry.conn.clone_into(&mut finding.conn);
        self.push(finding);
    }

    fn add(&mut self, rule: Rule, line: u64, expected: &str, actual: String) {
        let finding = Finding::new(rule, line, expected, actual, self.newest.label());
        self.push(finding);
    }

    fn finding(&self, rule: Rule, place: Place<'_>, expected: &str, actual: String) -> Finding {
        let connection = &self.connections[place.conn as usize];
        let mut finding = Finding::new(rule, place.line, expected, actual, connection.schema.label());
        finding.conn.clone_from(&connection.name);
        finding.from = place.frame.side;
        finding
    }

    fn push(&mut self, finding: Finding) {
        // That an id is open or not says nothing about the frame itself.
        if finding.severity == Severity::Error && !matches!(finding.rule, Rule::ID_IN_FLIGHT | Rule::UNASKED) {
            self.faults.push(Fault {
                rule: finding.rule,
                pointer: finding.pointer.clone(),
                keyword: finding.keyword.clone(),
                expected: finding.expected.clone(),
            });
        }
        let is_tested = |side: Side| self.watch.as_ref().is_none_or(|watch| watch.tally.tests(side));
        if finding.from.is_none_or(is_tested) {
            // New words and the like carry the id of a rule about those who meet them, and break it not.
            let counts = finding.severity == Severity::Error || !Rule::OWN.contains(&finding.rule);
            if let Some(watch) = self.watch.as_mut().filter(|_| counts) {
                watch.count(finding.rule, finding.severity);
            }
            self.keep(finding);
        }
    }

    /// Counts a finding, and keeps it where there is room.
    fn keep(&mut self, finding: Finding) {
        self.counts.note(finding.severity);
        // A note closes a transcript and is kept in any case.
        if self.findings.len() < self.profile.keep || finding.severity == Severity::Note && finding.line == 0 {
            self.findings.push(finding);
        } else {
            self.dropped += 1;
        }
    }
}
