//! Makes facts of frames and hands them to the monitors that watch for them.

use std::collections::HashMap;
use std::sync::Arc;

use super::monitor::{Family, Methods, Monitor};
use super::out::{Out, Sides, place_of};
use super::registry::FAMILIES;
use super::table::{Row, Table, Version};
use super::tally::{RuleVerdict, Tally};
use super::{Rule, registry};
use crate::facts::connection::Listed;
use crate::facts::core::Seeing;
use crate::facts::document::Tree;
use crate::facts::hash::Hash;
use crate::facts::{
    Answer, Asked, At, Class, Core, Event, Fault, Happened, Id, ItemPath, Line, Message, Outcome, Path, Request, Shape,
    Sight, Sighting, Value, class,
};
use crate::schema::Schema;
use crate::transcript::{Damage, Side};

/// Everything that rules need for one transcript.
pub(crate) struct Watch {
    core: Core,
    pub(crate) tally: Tally,
    families: Vec<Running>,
    routes: HashMap<String, Arc<Routes>>,
    /// The routes of each connection.
    of_connection: Vec<Arc<Routes>>,
    /// Families that watch each line, each frame, items, processes: one bit each.
    lines: u64,
    messages: u64,
    items: u64,
    processes: u64,
    tree: Tree,
    asked_tree: Tree,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("core", &self.core).field("tally", &self.tally).finish_non_exhaustive()
    }
}

struct Running {
    monitor: Box<dyn Monitor>,
    /// Places of its rules in the table.
    places: Vec<usize>,
}

/// Which families watch for what of each method of a bundle.
#[derive(Debug)]
struct Routes {
    methods: Vec<Route>,
    listed: Arc<Listed>,
    /// For each rule of the table, for whom it is judged.
    sides: Vec<Sides>,
}

/// For whom a rule is judged in a revision.
fn sides_of(row: &Row, revision: Version, tally: &Tally) -> Sides {
    let tests = |side: Side| row.holds_in(revision) && tally.tests(side);
    Sides { binds: row.who(), host: tests(Side::Server), client: tests(Side::Client) }
}

#[derive(Debug, Clone, Copy)]
struct Route {
    requests: u64,
    answers: u64,
    bad: u64,
    events: u64,
    class: Class,
    protected: bool,
}

impl Route {
    fn of(method: &str, families: &[&Family]) -> Self {
        let mask = |wanted: fn(&Family) -> Methods| {
            let bits = families.iter().enumerate().filter(|(_, family)| wanted(family).has(method));
            bits.fold(0, |mask, (index, _)| mask | 1 << index)
        };
        let (class, protected) = class::of(method).unwrap_or((Class::Unlisted, false));
        Self {
            requests: mask(|family| family.watches.requests),
            answers: mask(|family| family.watches.answers),
            bad: mask(|family| family.watches.bad),
            events: mask(|family| family.watches.events),
            class,
            protected,
        }
    }
}

/// A line as the judge knows it.
#[derive(Clone, Copy)]
pub(crate) struct Input<'f> {
    pub(crate) line: u64,
    pub(crate) conn: u32,
    pub(crate) side: Side,
    pub(crate) at_ms: Option<u64>,
    pub(crate) bytes: &'f [u8],
}

impl<'f> Input<'f> {
    fn at(&self, method: &'f str) -> At<'f> {
        At { line: self.line, conn: self.conn, side: self.side, method, ms: self.at_ms }
    }
}

impl Watch {
    pub(crate) fn new(tally: Tally) -> Self {
        let mut watch = Self {
            core: Core::default(),
            tally,
            families: Vec::new(),
            routes: HashMap::new(),
            of_connection: Vec::new(),
            lines: 0,
            messages: 0,
            items: 0,
            processes: 0,
            tree: Tree::default(),
            asked_tree: Tree::default(),
        };
        for (index, family) in FAMILIES.iter().enumerate() {
            let bit = |is: bool| u64::from(is) << index;
            watch.lines |= bit(family.watches.lines);
            watch.messages |= bit(family.watches.messages);
            watch.items |= bit(family.watches.items);
            watch.processes |= bit(family.watches.processes);
            // That each is there is tested.
            let places = family.rules.iter().filter_map(|id| place_of(id)).collect();
            watch.families.push(Running { monitor: (family.monitor)(), places });
        }
        watch
    }

    /// A connection and the bundle by which it is judged: the next one, or one whose bundle changes.
    pub(crate) fn connect(&mut self, conn: u32, schema: &Schema) {
        let revision = Version::parse(schema.label()).unwrap_or(Version::NEWEST);
        let tally = &self.tally;
        let routes = self.routes.entry(schema.label().to_owned()).or_insert_with(|| {
            let methods = schema.methods.iter().map(|method| Route::of(&method.name, FAMILIES)).collect();
            let names = schema.methods.iter().map(|method| Id::of(method.name.as_bytes())).collect();
            let listed = Arc::new(Listed { errors: schema.source.errors.clone(), methods: names });
            let sides = Table::msp().rows().iter().map(|row| sides_of(row, revision, tally)).collect();
            Arc::new(Routes { methods, listed, sides })
        });
        if self.core.is_connected(conn) {
            self.core.set_revision(conn, revision, Arc::clone(&routes.listed));
            self.of_connection[conn as usize] = Arc::clone(routes);
        } else {
            self.core.connect(revision, Arc::clone(&routes.listed));
            self.of_connection.push(Arc::clone(routes));
        }
    }

    /// Counts a finding of the judge itself that names a rule of the table.
    pub(crate) fn count(&mut self, rule: Rule, severity: super::Severity) {
        if let Some(place) = place_of(rule.id()) {
            self.tally.count(place, severity);
        }
    }

    /// A line that is no frame for the schema.
    pub(crate) fn damaged(&mut self, input: Input<'_>, damage: Damage) {
        let fact = Line { at: input.at(""), bytes: input.bytes, damage: Some(damage), json: None, faults: &[] };
        let lines = self.lines;
        let mut tell = self.tell(input);
        tell.each(lines, |monitor, out| monitor.line(&fact, out));
        if input.side == Side::Server {
            self.core.break_off(input.conn);
        }
    }

    /// A frame. `pending` is the line of the request that it answers; `faults` are what was found in it, and the frame
    /// is well formed where nothing was.
    pub(crate) fn frame(&mut self, input: Input<'_>, schema: &Schema, pending: Option<u64>, faults: &[Fault]) {
        let mut tree = std::mem::take(&mut self.tree);
        let root = tree.read(input.bytes);
        let fact = Line { at: input.at(""), bytes: input.bytes, damage: None, json: root, faults };
        if self.lines != 0 {
            let lines = self.lines;
            self.tell(input).each(lines, |monitor, out| monitor.line(&fact, out));
        }
        match root {
            Some(root) if faults.is_empty() => self.good(input, root, schema, pending),
            Some(root) => self.bad(input, root, schema, pending, faults),
            None => {}
        }
        if !faults.is_empty() && input.side == Side::Server {
            self.core.break_off(input.conn);
        }
        self.tree = tree;
    }

    fn tell(&mut self, input: Input<'_>) -> Tell<'_> {
        let Self { core, tally, families, of_connection, .. } = self;
        let sides = &of_connection[input.conn as usize].sides;
        Tell { families, core, tally, sides, conn: input.conn, side: input.side }
    }

    fn route(&self, conn: u32, schema: &Schema, method: &str) -> Route {
        let index = schema.find_method(method.as_bytes());
        let known = index.and_then(|index| self.of_connection[conn as usize].methods.get(index));
        known.copied().unwrap_or_else(|| Route::of(method, FAMILIES))
    }

    fn good(&mut self, input: Input<'_>, root: Value<'_>, schema: &Schema, pending: Option<u64>) {
        let method = root.get("method").and_then(|it| it.text());
        let has_id = root.get("id").is_some();
        let shape = match &method {
            Some(_) if has_id => Shape::Request,
            Some(_) => Shape::Notification,
            None if root.get("result").is_some() => Shape::Result,
            None => Shape::Error,
        };
        let asked = pending.filter(|_| method.is_none()).and_then(|line| self.core.take_asked(input.conn, line));
        let name = method.as_deref().or(asked.as_ref().map(|asked| &*asked.method)).unwrap_or_default();
        let at = input.at(name);
        if self.messages != 0 {
            let (fact, messages) = (Message { at, bytes: input.bytes, root, shape }, self.messages);
            self.tell(input).each(messages, |monitor, out| monitor.message(&fact, out));
        }
        match (shape, &asked) {
            (Shape::Request, _) => {
                let route = self.route(input.conn, schema, name);
                let request = self.request(at, root, &[]);
                self.tell(input).each(route.requests, |monitor, out| monitor.request(&request, out));
                self.core.request(&request, input.bytes);
            }
            (Shape::Notification, _) => {
                let route = self.route(input.conn, schema, name);
                self.event(&Told {
                    input,
                    at,
                    method: name,
                    params: root.get("params"),
                    path: Path::Live,
                    route,
                    root,
                });
            }
            (_, Some(asked)) => self.answer(input, at, root, schema, asked),
            (_, None) => {}
        }
    }

    fn request<'f>(&self, at: At<'f>, root: Value<'f>, faults: &'f [Fault]) -> Request<'f> {
        let params = root.get("params").filter(Value::is_object);
        let id = |name: &str| params.and_then(|params| params.id_of(name));
        let session = id("sessionId");
        let state = self.core.state(at.conn, session);
        Request { at, root, params, session, command: id("commandId"), state, faults }
    }

    fn bad(&mut self, input: Input<'_>, root: Value<'_>, schema: &Schema, pending: Option<u64>, faults: &[Fault]) {
        if let Some(line) = pending {
            self.core.take_asked(input.conn, line);
        }
        let Some(method) = root.get("method").and_then(|it| it.text()).filter(|_| root.get("id").is_some()) else {
            return;
        };
        let route = self.route(input.conn, schema, &method);
        let request = self.request(input.at(&method), root, faults);
        self.tell(input).each(route.bad, |monitor, out| monitor.bad_request(&request, out));
        self.core.request(&request, input.bytes);
    }

    fn answer(&mut self, input: Input<'_>, at: At<'_>, root: Value<'_>, schema: &Schema, asked: &Asked) {
        let outcome = match (root.get("result"), root.get("error")) {
            (Some(result), _) => Outcome::Result(result),
            (None, Some(error)) => {
                let code = error.get("code").and_then(|code| code.int()).unwrap_or_default();
                Outcome::Error { code, data: error.get("data").filter(Value::is_object) }
            }
            (None, None) => return,
        };
        let mut asked_tree = std::mem::take(&mut self.asked_tree);
        let params = asked_tree.read(&asked.bytes).and_then(|request| request.get("params")).filter(Value::is_object);
        let born = root.path(&["result", "session", "sessionId"]).and_then(|it| it.id());
        let is_birth = matches!(at.method, "session/start" | "session/fork" | "session/sideChat");
        let session = if is_birth { born } else { asked.session };
        let state = self.core.state(at.conn, session);
        let answer = Answer { at, root, outcome, request: asked, params, session, state };
        let route = self.route(input.conn, schema, at.method);
        if asked.faults.is_empty() {
            self.tell(input).each(route.answers, |monitor, out| monitor.answer(&answer, out));
        } else {
            self.tell(input).each(route.bad, |monitor, out| monitor.bad_answer(&answer, out));
        }
        if at.side == Side::Server {
            if at.method == "view/page" {
                self.page(input, &answer, schema);
            }
            if let Some(history) = answer.result().and_then(|result| result.get("history")) {
                self.history(input, &answer, history);
            }
        }
        self.core.answer(&answer);
        self.asked_tree = asked_tree;
    }

    /// The elements of a page, as events.
    fn page(&mut self, input: Input<'_>, answer: &Answer<'_>, schema: &Schema) {
        let Some(events) = answer.result().and_then(|result| result.get("events")) else { return };
        let of = events.items().count();
        let forward = answer.param("direction").is_none_or(|it| !it.is("backward"));
        let asked = answer.param("cursor").and_then(|it| it.id());
        let mut previous = asked.filter(|_| forward);
        for (index, element) in events.items().enumerate() {
            let Some(method) = element.get("method").and_then(|it| it.text()) else { continue };
            let path = Path::Page { index, of, forward, request: answer.request.line, previous };
            let route = self.route(input.conn, schema, &method);
            let params = element.get("params");
            let told = Told { input, at: answer.at, method: &method, params, path, route, root: element };
            previous = self.event(&told).or(previous);
        }
        if let (false, Some(session), Some(last), Some(asked)) = (forward, answer.session, previous, asked) {
            self.core.precedes(session, last, asked);
        }
    }

    /// Hands an event out, and the item that it carries. Gives its cursor where it is durable.
    fn event(&mut self, told: &Told<'_>) -> Option<Id> {
        let Told { input, at, method, params, path, route, root } = *told;
        let conn = at.conn;
        let id = |name: &str| params.and_then(|params| params.id_of(name));
        let named = || params.and_then(|params| params.path(&["session", "sessionId"]))?.id();
        let (session, cursor) = (id("sessionId").or_else(named), id("viewCursor"));
        let durable = params.is_some_and(|params| params.some("sourceRange").is_some());
        let class = match route.class {
            Class::Unlisted if session.is_some() && cursor.is_some() => Class::View,
            Class::View if method == "item/started" && !durable => Class::Ephemeral,
            class => class,
        };
        let durable = durable && class == Class::View;
        let content = match params {
            Some(params) if durable => Hash::new(Id::of(method.as_bytes()).get()).then(params.hash()).get(),
            _ => 0,
        };
        let live = path == Path::Live;
        let previous = if let Path::Page { previous, .. } = path { previous } else { None };
        if let ("view/gap", Some(session), true) = (method, session, live) {
            self.core.interrupt(conn, session);
        }
        let sight = if class.is_view() {
            let (number, protected) = (at.line, route.protected);
            let seeing = Seeing { line: number, session, cursor, durable, protected, content, live, previous };
            self.core.see(conn, &seeing)
        } else {
            Sight::None
        };
        let epoch = self.core.epoch(conn, session);
        let event = Event {
            at,
            method,
            params,
            path,
            class,
            protected: route.protected,
            session,
            cursor,
            durable,
            sight,
            content,
            epoch,
            emitted_at: root.get("emittedAtMs").and_then(|it| it.int()),
            state: self.core.state(conn, session),
        };
        if let Some(session) = session.filter(|_| live) {
            self.tally.next_event(conn, session, epoch);
        }
        self.tell(input).each(route.events, |monitor, out| monitor.event(&event, out));
        let item_path = match method {
            "item/started" => Some(ItemPath::Started(path)),
            "item/updated" => Some(ItemPath::Updated(path)),
            "item/completed" => Some(ItemPath::Completed(path)),
            _ => None,
        };
        if let (Some(item_path), Some(item)) = (item_path, params.and_then(|params| params.get("item"))) {
            self.item(input, at, item, item_path, session, Some(&event));
        }
        if let Some(session) = self.core.event(&event) {
            for running in &mut self.families {
                running.monitor.closed(conn, session);
            }
        }
        cursor.filter(|_| durable)
    }

    /// The items that a history lists.
    fn history(&mut self, input: Input<'_>, answer: &Answer<'_>, history: Value<'_>) {
        let inline = history.some("items");
        let snapshot = history.some("snapshot").and_then(|snapshot| snapshot.path(&["state", "items"]));
        for (index, item) in inline.iter().flat_map(Value::items).enumerate() {
            self.item(input, answer.at, item, ItemPath::Inline(index), answer.session, None);
        }
        for (index, item) in snapshot.iter().flat_map(Value::items).enumerate() {
            self.item(input, answer.at, item, ItemPath::Snapshot(index), answer.session, None);
        }
    }

    fn item<'f>(
        &mut self,
        input: Input<'_>,
        at: At<'f>,
        item: Value<'f>,
        path: ItemPath,
        session: Option<Id>,
        event: Option<&'f Event<'f>>,
    ) {
        if self.items == 0 {
            return;
        }
        let (Some(id), Some(kind), Some(status), Some(revision)) = (
            item.id_of("itemId"),
            item.text_of("kind"),
            item.text_of("status"),
            item.get("revision").and_then(|revision| revision.int()),
        ) else {
            return;
        };
        let turn = item.id_of("turnId");
        let epoch = self.core.epoch(at.conn, session);
        let (kind, status) = (&*kind, &*status);
        let sighting = Sighting { at, item, path, session, id, kind, status, revision, turn, event, epoch };
        let items = self.items;
        self.tell(input).each(items, |monitor, out| monitor.item(&sighting, out));
    }

    /// Something that happened to a process. `line` is the whole line as JSON.
    pub(crate) fn happened(&mut self, input: Input<'_>, what: &str) {
        let mut tree = std::mem::take(&mut self.tree);
        if let Some(line) = tree.read(input.bytes) {
            let side = if line.get("side").is_some_and(|side| side.is("client")) { Side::Client } else { Side::Server };
            let happened = Happened { at: At { side, ..input.at("") }, what, line };
            let processes = self.processes;
            self.tell(input).each(processes, |monitor, out| monitor.happened(&happened, out));
            self.core.happened(&happened);
        }
        self.tree = tree;
    }

    /// Ends the transcript, and says what came of each rule that has a judge.
    pub(crate) fn finish(&mut self) {
        let Self { core, tally, families, of_connection, .. } = self;
        if core.is_connected(0) {
            let sides = &of_connection[0].sides;
            let mut tell = Tell { families, core, tally, sides, conn: 0, side: Side::Server };
            tell.each(u64::MAX, |monitor, out| monitor.finish(out));
        }
    }

    /// What came of each rule that has a judge, in the order of the table.
    pub(crate) fn verdicts(&self) -> Vec<RuleVerdict> {
        let judged = registry::judged();
        self.tally.verdicts((0..Table::msp().rows().len()).filter(|place| judged.contains(place)))
    }
}

/// What is needed to make an event.
#[derive(Clone, Copy)]
struct Told<'f> {
    input: Input<'f>,
    at: At<'f>,
    method: &'f str,
    params: Option<Value<'f>>,
    path: Path,
    route: Route,
    /// The frame, or the element of the page.
    root: Value<'f>,
}

struct Tell<'t> {
    families: &'t mut [Running],
    core: &'t Core,
    tally: &'t mut Tally,
    sides: &'t [Sides],
    conn: u32,
    side: Side,
}

impl Tell<'_> {
    fn each(&mut self, mut mask: u64, mut tell: impl FnMut(&mut dyn Monitor, &mut Out<'_>)) {
        while mask != 0 {
            let index = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            let Some(Running { monitor, places }) = self.families.get_mut(index) else { return };
            let (core, sides, conn, side) = (self.core, self.sides, self.conn, self.side);
            tell(&mut **monitor, &mut Out { core, tally: self.tally, places, sides, conn, side });
        }
    }
}
