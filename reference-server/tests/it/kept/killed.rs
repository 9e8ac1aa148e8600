//! SIGKILL at seeded moments, as often as the host comes back.
//!
//! `FULL=1` plays 500 seeds, otherwise 20; `KILL_SEED=7` plays one. A seed fixes what the client says and when it kills, not how the
//! system schedules the two processes: a failure may need several runs to come again.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::check::check;
use super::history::{Answer, Event, Found};
use super::talk::{Dice, Talk};

/// Hosts that run at once.
const WORKERS: usize = 4;
/// Commands in flight at once.
const WINDOW: usize = 3;
/// What ends the wait for a host that says nothing; no test hangs on it.
const SILENCE: Duration = Duration::from_secs(60);

/// When a host is killed: whatever comes first.
#[derive(Clone, Copy, Debug)]
struct Kill {
    /// After so many frames.
    frames: usize,
    /// So long after so many requests.
    after: (usize, Duration),
}

/// A host that may be killed while one waits for it.
struct Host {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Vec<u8>>,
    kill: Option<Kill>,
    seed: u64,
    frames: usize,
    requests: usize,
    deadline: Option<Instant>,
    killed: bool,
    /// Requests that wait for their answer: the command, or none.
    open: BTreeMap<usize, Option<usize>>,
}

impl Host {
    fn start(folder: &Path, kill: Option<Kill>, seed: u64) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_msp-reference-server"))
            .args(["serve", "--sessions-dir"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                // A line that has no end was cut off by the kill: it was never told.
                if output.read_until(b'\n', &mut line).is_err() || !line.ends_with(b"\n") || sender.send(line).is_err()
                {
                    return;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        let open = BTreeMap::new();
        Self { child, input, lines, kill, seed, frames: 0, requests: 0, deadline: None, killed: false, open }
    }

    fn send(&mut self, method: &str, params: &Value, command: Option<usize>) -> usize {
        self.requests += 1;
        let frame = json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params });
        self.write(&frame);
        self.open.insert(self.requests, command);
        if let Some(Kill { after: (requests, delay), .. }) = self.kill
            && requests == self.requests
        {
            self.deadline = Some(Instant::now() + delay);
        }
        self.requests
    }

    fn write(&mut self, frame: &Value) {
        // A host that was killed takes nothing any more.
        let _ = self.input.write_all(format!("{frame}\n").as_bytes());
    }

    fn end(&mut self) {
        if !self.killed {
            self.killed = true;
            self.child.kill().unwrap();
        }
    }

    /// The next frame; `None` once it was killed and everything that it wrote was read.
    fn next(&mut self) -> Option<Value> {
        if self.kill.is_some_and(|kill| self.frames >= kill.frames) {
            self.end();
        }
        let now = Instant::now();
        let until = self.deadline.filter(|_| !self.killed).unwrap_or(now + SILENCE);
        match self.lines.recv_timeout(until.saturating_duration_since(now)) {
            Ok(line) => {
                self.frames += 1;
                Some(serde_json::from_slice(&line).unwrap())
            }
            Err(RecvTimeoutError::Timeout) if self.deadline.is_some() && !self.killed => {
                self.end();
                self.next()
            }
            Err(RecvTimeoutError::Timeout) => {
                panic!("seed {}: the host says nothing; open: {:?}", self.seed, self.open)
            }
            Err(RecvTimeoutError::Disconnected) => {
                assert!(self.killed, "seed {}: the host went away by itself", self.seed);
                None
            }
        }
    }
}

/// One run: a folder, a client, and hosts one after another.
struct Run {
    talk: Talk,
    dice: Dice,
}

impl Run {
    /// Takes a frame; gives the answer to a request that is no command of the talk.
    fn take(&mut self, host: &mut Host, frame: &Value) -> Option<(usize, Answer)> {
        if let Some(event) = Event::of(frame) {
            self.talk.saw(event);
            return None;
        }
        if frame.get("method").is_some() {
            if frame.get("id").is_some() {
                host.write(&json!({ "jsonrpc": "2.0", "id": frame["id"], "result": {} }));
            }
            return None;
        }
        let id = usize::try_from(frame["id"].as_u64().unwrap()).unwrap();
        let answer = match frame.get("error") {
            Some(error) => Answer::Error(error.clone()),
            None => Answer::Result(frame["result"].clone()),
        };
        match host.open.remove(&id).unwrap() {
            Some(command) => {
                self.talk.answered(command, answer);
                None
            }
            None => Some((id, answer)),
        }
    }

    /// Sends a request and waits for its answer; `None` when the host was killed first.
    fn call(&mut self, host: &mut Host, method: &str, params: &Value) -> Option<Answer> {
        let id = host.send(method, params, None);
        loop {
            let frame = host.next()?;
            if let Some((answered, answer)) = self.take(host, &frame)
                && answered == id
            {
                return Some(answer);
            }
        }
    }

    /// A life of the host. `None` when it was killed.
    fn live(&mut self, host: &mut Host) -> Option<()> {
        let hello = json!({ "clientInfo": { "name": "tests", "version": "1" } });
        self.call(host, "initialize", &hello)?;
        host.write(&json!({ "jsonrpc": "2.0", "method": "initialized" }));
        for session in self.talk.known() {
            let found = self.find(host, &session)?;
            self.talk.history.lives.last_mut().unwrap().found.insert(session, found);
        }
        // Every command once more, whatever became of it.
        for command in 0..self.talk.history.commands.len() {
            let before = self.talk.history.commands[command].clone();
            if before.answers.last().is_none_or(|(_, answer)| answer.settles()) {
                host.send(before.method, &before.params, Some(command));
                self.answers(host, 0)?;
            }
        }
        while host.kill.is_some() && self.talk.history.commands.len() < 160 {
            let command = self.talk.next();
            let said = self.talk.history.commands[command].clone();
            host.send(said.method, &said.params, Some(command));
            self.answers(host, WINDOW - 1)?;
        }
        Some(())
    }

    /// Waits until at most so many commands are in flight.
    fn answers(&mut self, host: &mut Host, most: usize) -> Option<()> {
        while host.open.len() > most {
            let frame = host.next()?;
            self.take(host, &frame);
        }
        Some(())
    }

    /// Resumes a session and pages through it.
    fn find(&mut self, host: &mut Host, session: &str) -> Option<Found> {
        let params = json!({ "sessionId": session, "commandId": self.talk.mint(), "history": "snapshot" });
        let resumed = match self.call(host, "session/resume", &params)? {
            Answer::Result(result) => result,
            Answer::Error(error) => return Some(Found::Refused(error)),
        };
        let waiting = resumed["history"]["snapshot"]["state"]["queuedTurns"].as_array().unwrap();
        let queued = waiting.iter().map(|turn| turn["turnId"].as_str().unwrap().to_owned()).collect();
        let mut pages: Vec<Event> = Vec::new();
        let mut params = json!({ "sessionId": session, "limit": 1 + self.dice.below(300) });
        loop {
            let Answer::Result(page) = self.call(host, "view/page", &params)? else { panic!("no page") };
            for event in page["events"].as_array().unwrap() {
                let method = event["method"].as_str().unwrap().to_owned();
                pages.push(Event { method, params: event["params"].clone() });
            }
            if page["nextCursor"].is_null() {
                break;
            }
            params["cursor"] = page["nextCursor"].clone();
        }
        for event in &pages {
            self.talk.follow(event);
        }
        Some(Found::There { pages, queued })
    }
}

/// Plays a seed; what is wrong with it, and how many events and commands it saw.
fn play(seed: u64) -> (Vec<String>, usize, usize) {
    let folder = tempfile::TempDir::new().unwrap();
    let mut run = Run { talk: Talk::new(seed), dice: Dice(seed ^ 0xdead) };
    let kills = 1 + run.dice.below(2);
    for life in 0..=kills {
        let frames = 3 + run.dice.below(if life == 0 { 150 } else { 250 });
        let after = (1 + run.dice.below(60), Duration::from_micros(run.dice.below(4000) as u64));
        // Every other seed kills by frames alone.
        let after = if seed.is_multiple_of(2) { after } else { (usize::MAX, Duration::ZERO) };
        let mut host = Host::start(folder.path(), (life < kills).then_some(Kill { frames, after }), seed);
        run.talk.begin_life();
        run.live(&mut host);
        host.end();
        while let Some(frame) = host.next() {
            run.take(&mut host, &frame);
        }
        host.child.wait().unwrap();
    }
    let history = &run.talk.history;
    let violations = check(history).into_iter().map(|found| format!("{:?}: {}", found.clause, found.at)).collect();
    (violations, history.lives.iter().map(|life| life.live.len()).sum(), history.commands.len())
}

#[test]
fn nothing_that_was_told_is_lost_when_the_host_is_killed() {
    let only = std::env::var("KILL_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let count = if std::env::var_os("FULL").is_some_and(|full| full == "1") { 500 } else { 20 };
    let seeds = only.map_or(0..count, |seed| seed..seed + 1);
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let (mut wrong, mut events, mut commands) = (Vec::new(), 0, 0);
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return (wrong, events, commands);
            }
            let (violations, told, said) = play(seed);
            wrong.extend(violations.into_iter().map(|violation| (seed, violation)));
            events += told;
            commands += said;
        }
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let wrong: Vec<_> = results.iter().flat_map(|(wrong, ..)| wrong).collect();
    let told: Vec<_> = wrong.iter().map(|(seed, violation)| format!("seed {seed}: {violation}")).collect();
    let (events, commands): (usize, usize) =
        results.iter().fold((0, 0), |(events, commands), (_, seen, sent)| (events + seen, commands + sent));
    assert!(
        wrong.is_empty(),
        "{} violations. One seed alone: KILL_SEED={} cargo test -p msp-reference-server --test it killed\n{}",
        wrong.len(),
        wrong[0].0,
        told.join("\n")
    );
    assert!(
        only.is_some() || (events > 500 && commands > 200),
        "only {events} events of {commands} commands were seen"
    );
}
