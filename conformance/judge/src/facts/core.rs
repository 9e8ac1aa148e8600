//! What all monitors may ask: the state of connections and sessions, and what is known of cursors.

use std::cmp::Ordering;
use std::sync::Arc;

use super::connection::{Connection, Listed};
use super::cursors::{Cursors, Sight};
use super::hash::{Id, Map};
use super::session::{Attached, Epoch, Known, State, Turn};
use super::{Answer, Asked, Class, Event, Happened, Request, connection};
use crate::rules::table::Version;
use crate::transcript::Side;

/// Requests that are remembered with their bytes; beyond that the oldest half is forgotten, and what answers one of
/// them is no fact.
const MOST_ASKED: usize = 4096;

/// What is remembered between facts.
#[derive(Debug, Default)]
pub(crate) struct Core {
    connections: Vec<Connection>,
    hosts: u32,
    attached: Map<(u32, Id), Attached>,
    cursors: Map<Id, Cursors>,
    asked: Map<(u32, u64), Asked>,
    /// Where the next live event of a session stands behind.
    last: Map<(u32, Id), Id>,
}

impl Core {
    /// A connection. Every connection that a fact names is there.
    pub(crate) fn connection(&self, conn: u32) -> &Connection {
        &self.connections[conn as usize]
    }

    /// All connections of the transcript so far.
    pub(crate) fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter()
    }

    /// How far a connection knows a session.
    pub(crate) fn known(&self, conn: u32, session: Id) -> Known {
        let epoch = self.epoch(conn, Some(session));
        match self.attached.get(&(conn, session)) {
            Some(attached) => Known { whole: attached.whole, subscribed: attached.state.subscribed, epoch },
            None => Known { whole: false, subscribed: None, epoch },
        }
    }

    /// How a session stands on a connection.
    pub(crate) fn state(&self, conn: u32, session: Option<Id>) -> State {
        let Some(attached) = session.and_then(|session| self.attached.get(&(conn, session))) else {
            return State::default();
        };
        let mut state = attached.state;
        // Who is told of no start or no end of a turn does not see what the turn does.
        if ["turn/started", "turn/completed"].iter().any(|method| self.connection(conn).opted_out(method)) {
            state.turn = Turn::Unknown;
        }
        state
    }

    /// The stretch of a session in which nothing was missed.
    pub(crate) fn epoch(&self, conn: u32, session: Option<Id>) -> Epoch {
        let attached = session.and_then(|session| self.attached.get(&(conn, session)));
        Epoch { connection: self.connection(conn).breaks, session: attached.map_or(0, |it| it.breaks) }
    }

    /// Line in which a cursor of a session was first seen as that of an event.
    pub(crate) fn seen(&self, session: Id, cursor: Id) -> Option<u64> {
        self.cursors.get(&session)?.seen(cursor)
    }

    /// Whether a cursor may be that of an event of the session which the transcript has shown; false is certain.
    pub(crate) fn may_have_seen(&self, session: Id, cursor: Id) -> bool {
        self.cursors.get(&session).is_some_and(|cursors| cursors.may_have_seen(cursor))
    }

    /// The order of two durable events of a session in its view, where it is known. Of page elements it is what was
    /// known without that page, where the two were seen before.
    pub(crate) fn compare(&self, session: Id, one: Id, other: Id) -> Option<Ordering> {
        self.cursors.get(&session)?.compare(one, other)
    }

    /// The durable event right behind another, where it is known that nothing is between.
    pub(crate) fn successor(&self, session: Id, cursor: Id) -> Option<Id> {
        self.cursors.get(&session)?.successor(cursor)
    }

    // What follows is for the maker of facts.

    pub(crate) fn connect(&mut self, revision: Version, listed: Arc<Listed>) {
        self.hosts += 1;
        self.connections.push(Connection::new(self.hosts, revision, listed));
    }

    pub(crate) fn is_connected(&self, conn: u32) -> bool {
        (conn as usize) < self.connections.len()
    }

    pub(crate) fn set_revision(&mut self, conn: u32, revision: Version, listed: Arc<Listed>) {
        self.connections[conn as usize].listed = listed;
        self.connections[conn as usize].revision = revision;
    }

    /// After a fault of the host, something may be missing of any of its sessions.
    pub(crate) fn break_off(&mut self, conn: u32) {
        self.connections[conn as usize].breaks += 1;
        for ((_, _), attached) in self.attached.iter_mut().filter(|((owner, _), _)| *owner == conn) {
            (attached.whole, attached.state.turn) = (false, Turn::Unknown);
        }
        self.last.retain(|(owner, _), _| *owner != conn);
    }

    fn attached(&mut self, conn: u32, session: Id) -> &mut Attached {
        self.attached.entry((conn, session)).or_default()
    }

    /// Gives an event its sight and its place; before it is handed out.
    pub(crate) fn see(&mut self, conn: u32, event: &Seeing) -> Sight {
        let (Some(session), Some(cursor)) = (event.session, event.cursor) else { return Sight::None };
        let cursors = self.cursors.entry(session).or_default();
        if !event.durable {
            return cursors.see_ephemeral(cursor, event.line, conn);
        }
        let sight = cursors.see(cursor, event.line, conn, event.content, event.live);
        if !event.live {
            cursors.follows(event.previous, cursor, true);
        } else if sight == Sight::New && !event.protected {
            let last = self.last.insert((conn, session), cursor);
            // Something protected may be between, so neighbours live are none for certain.
            cursors.follows(last, cursor, false);
        }
        sight
    }

    /// Learns that an event stands right before another: the last one of a page that was asked backward.
    pub(crate) fn precedes(&mut self, session: Id, cursor: Id, asked: Id) {
        if let Some(cursors) = self.cursors.get_mut(&session) {
            cursors.follows(Some(cursor), asked, true);
        }
    }

    /// A gap: before it is handed out, so that its own epoch is the one behind it.
    pub(crate) fn interrupt(&mut self, conn: u32, session: Id) {
        self.attached(conn, session).interrupt();
    }

    /// Takes an event in; after it was handed out. Gives the session that it closes.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> Option<Id> {
        let (conn, line) = (event.at.conn, event.at.line);
        if event.method == "initialized" && event.at.side == Side::Client {
            self.connections[conn as usize].initialized_at.get_or_insert(line);
        }
        let session = event.session.filter(|_| event.is_live())?;
        if event.method == "turn/completed" {
            if let Some(cursors) = self.cursors.get_mut(&session) {
                cursors.end_turn();
            }
        }
        let attached = self.attached.entry((conn, session)).or_default();
        if matches!(event.class, Class::View) && event.durable && event.sight == Sight::New {
            attached.state.head = event.cursor;
        }
        match event.method {
            "turn/started" if event.sight == Sight::New => {
                let turn = connection::id_of(event.params, "turnId");
                attached.state.turn = turn.map_or(Turn::Unknown, Turn::Open);
            }
            "turn/completed" if event.sight == Sight::New => attached.state.turn = Turn::Idle,
            "session/closed" => {
                attached.interrupt();
                (attached.state.loaded, attached.state.subscribed) = (Some(false), Some(false));
                let is_restart = event.param("reason").is_some_and(|reason| reason.is("hostShutdown"));
                if !is_restart {
                    self.cursors.remove(&session);
                }
                return Some(session);
            }
            _ => {}
        }
        None
    }

    /// Remembers a request until its answer.
    pub(crate) fn request(&mut self, request: &Request<'_>, bytes: &[u8]) {
        let at = request.at;
        if at.side == Side::Client {
            self.connections[at.conn as usize].asked(request);
        }
        if self.asked.len() >= MOST_ASKED {
            let mut lines: Vec<u64> = self.asked.values().map(|asked| asked.line).collect();
            lines.sort_unstable();
            let middle = lines[lines.len() / 2];
            self.asked.retain(|_, asked| asked.line >= middle);
        }
        let asked = Asked {
            line: at.line,
            ms: at.ms,
            method: at.method.into(),
            session: request.session,
            command: request.command,
            state: request.state,
            faults: request.faults.to_vec(),
            bytes: bytes.into(),
        };
        self.asked.insert((at.conn, at.line), asked);
    }

    /// Takes the request that an answer answers away.
    pub(crate) fn take_asked(&mut self, conn: u32, line: u64) -> Option<Asked> {
        self.asked.remove(&(conn, line))
    }

    /// Takes an answer in; after it was handed out.
    pub(crate) fn answer(&mut self, answer: &Answer<'_>) {
        let conn = answer.at.conn;
        let Some(result) = answer.result().filter(|_| answer.at.side == Side::Server) else { return };
        let method = &*answer.request.method;
        if method == "initialize" {
            return self.connections[conn as usize].answered(answer);
        }
        let Some(session) = answer.session else { return };
        let head = result.id_of("viewCursor");
        match method {
            "session/start" | "session/fork" | "session/sideChat" => {
                let attached = self.attached(conn, session);
                let is_first = attached.state.loaded.is_none() && attached.breaks == 0;
                attached.whole = is_first;
                attached.state.loaded = Some(true);
                attached.state.subscribed = Some(true);
                if is_first && attached.state.turn == Turn::Unknown {
                    attached.state.turn = Turn::Idle;
                }
                attached.state.head = attached.state.head.or(head);
            }
            "session/resume" => {
                let turn = match result.path(&["session", "activeTurnId"]) {
                    Some(turn) => turn.id().map_or(Turn::Idle, Turn::Open),
                    None => Turn::Unknown,
                };
                let attached = self.attached(conn, session);
                attached.interrupt();
                let state = State { loaded: Some(true), subscribed: Some(true), turn, head };
                attached.state = state;
                self.last.remove(&(conn, session));
            }
            "view/subscribe" => {
                let attached = self.attached(conn, session);
                if attached.state.subscribed != Some(true) {
                    attached.interrupt();
                    self.last.remove(&(conn, session));
                }
                let attached = self.attached(conn, session);
                attached.state.subscribed = Some(true);
                attached.state.loaded = Some(true);
            }
            "view/unsubscribe" => {
                let attached = self.attached(conn, session);
                attached.interrupt();
                attached.state.subscribed = Some(false);
            }
            _ => {}
        }
    }

    /// Takes what happened in; after it was handed out.
    pub(crate) fn happened(&mut self, happened: &Happened<'_>) {
        let conn = happened.at.conn;
        match happened.what {
            "spawn" => {
                self.hosts += 1;
                let (host, revision) = (self.hosts, self.connection(conn).revision);
                let listed = Arc::clone(&self.connection(conn).listed);
                self.connections[conn as usize] =
                    Connection { from_start: true, ..Connection::new(host, revision, listed) };
                self.attached.retain(|(owner, _), _| *owner != conn);
                self.last.retain(|(owner, _), _| *owner != conn);
            }
            "exit" | "signal" => {
                self.break_off(conn);
                self.connections[conn as usize].ended = true;
                for ((_, _), attached) in self.attached.iter_mut().filter(|((owner, _), _)| *owner == conn) {
                    (attached.state.loaded, attached.state.subscribed) = (Some(false), Some(false));
                }
            }
            _ => {}
        }
    }
}

/// What the core has to know of an event to place it.
pub(crate) struct Seeing {
    pub(crate) line: u64,
    pub(crate) session: Option<Id>,
    pub(crate) cursor: Option<Id>,
    pub(crate) durable: bool,
    pub(crate) protected: bool,
    pub(crate) content: u64,
    pub(crate) live: bool,
    /// The element before it in its page, or the cursor that the page was asked from.
    pub(crate) previous: Option<Id>,
}
