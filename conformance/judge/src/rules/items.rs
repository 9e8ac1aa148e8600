//! The lives of items (ITEM): from the first sight over revisions to the one end, and what stays the same on the way.

mod kept;

use crate::facts::{BySession, Epoch, Event, Id, ItemPath, Map, Path, Sight, Sighting};
use crate::rules::monitor::{Family, Methods, Monitor, Watches, family};
use crate::rules::out::Out;

use kept::Kept;

family! {
    ITEM_2 = "ITEM-2",
    ITEM_3 = "ITEM-3",
    ITEM_5 = "ITEM-5",
    ITEM_6 = "ITEM-6",
    ITEM_8 = "ITEM-8",
    ITEM_13 = "ITEM-13",
    ITEM_19 = "ITEM-19",
    ITEM_20 = "ITEM-20",
    ITEM_24 = "ITEM-24",
    ITEM_33 = "ITEM-33",
    ITEM_35 = "ITEM-35",
    ITEM_40 = "ITEM-40",
    ITEM_59 = "ITEM-59",
    ITEM_63 = "ITEM-63",
    ITEM_64 = "ITEM-64",
    ITEM_65 = "ITEM-65",
}

pub(crate) const FAMILY: Family = Family {
    rules: RULES,
    watches: Watches {
        events: Methods::These(&["turn/started", "turn/completed", "item/delta"]),
        items: true,
        ..Watches::NOTHING
    },
    monitor: || Box::<Lives>::default(),
};

/// Kinds that may outlive their turn (ITEM-8).
const OUTLIVES: [&str; 2] = ["subagent", "workflow"];

#[derive(Default)]
struct Lives {
    /// Items of each session, by session and item.
    of_session: BySession<(Id, Id), Life>,
    /// Open items of each turn, by connection and turn.
    open: Map<(u32, Id), Vec<(Id, Id)>>,
    /// The stretch in which a turn was seen to start.
    turns: Map<(u32, Id), Epoch>,
    /// Replies that were cut off, by turn, with their lines.
    cut_off: Map<Id, u64>,
    /// The page that is being read, and the highest revisions in it.
    page: (u64, Map<Id, (i64, bool)>),
}

/// What is remembered of an item for the life of its session.
struct Life {
    kind: Id,
    turn: Option<Id>,
    /// Line of the first sight.
    first: u64,
    /// The highest revision that came live, and its line.
    top: i64,
    line: u64,
    /// Line of its end.
    ended: Option<u64>,
    is_open: bool,
    /// Whether it may outlive its turn.
    outlives: bool,
    epoch: Epoch,
    /// What some kinds keep over their revisions.
    kept: Kept,
}

impl Monitor for Lives {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        match event.method {
            "turn/started" if event.is_live() && event.sight == Sight::New => {
                if let Some(turn) = event.param("turnId").and_then(|it| it.id()) {
                    self.turns.insert((event.at.conn, turn), event.epoch);
                }
            }
            "turn/completed" => self.turn_ends(event, out),
            "item/delta" => self.delta(event, out),
            _ => {}
        }
    }

    fn item(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let Some(session) = sighting.session else { return };
        let key = (session, sighting.id);
        let kind = Id::of(sighting.kind.as_bytes());
        if let Some(life) = self.of_session.get(&key) {
            out.exercised(ITEM_2);
            let another_turn = matches!((life.turn, sighting.turn), (Some(one), Some(other)) if one != other);
            if life.kind != kind || another_turn {
                let (below, what) = if life.kind == kind { ("/turnId", "turn") } else { ("/kind", "kind") };
                out.violated(ITEM_2, sighting, below)
                    .expected(format!("the {what} that the item had before"))
                    .actual(format!(
                        "another one: {}",
                        sighting.item.get(&below[1..]).map_or_else(String::new, |it| it.shown())
                    ))
                    .contradicts(life.first)
                    .done();
                return;
            }
        }
        let is_new = sighting.event.is_some_and(|event| event.sight == Sight::New);
        if is_new {
            self.opens_well(sighting, out);
            match sighting.live() {
                Some(_) => self.goes_on(sighting, out),
                None => self.goes_on_in_a_page(sighting, out),
            }
        }
        let (number, epoch) = (sighting.at.line, sighting.epoch);
        let life = self.of_session.entry(key).or_insert_with(|| Life {
            kind,
            turn: sighting.turn,
            first: number,
            top: 0,
            line: number,
            ended: None,
            is_open: false,
            outlives: OUTLIVES.contains(&sighting.kind),
            epoch,
            kept: Kept::default(),
        });
        life.kept.take(sighting, out);
        if sighting.kind == "agentMessage" && sighting.item.get("cutOff").is_some() {
            if let Some(turn) = sighting.turn {
                self.cut_off.entry(turn).or_insert(number);
            }
        }
        if !is_new || sighting.live().is_none() {
            return;
        }
        (life.top, life.line) = (life.top.max(sighting.revision), number);
        life.turn = life.turn.or(sighting.turn);
        life.outlives |= outlives(sighting);
        match sighting.path {
            ItemPath::Started(_) => {
                (life.is_open, life.epoch) = (true, sighting.epoch);
                if let Some(turn) = sighting.turn {
                    self.open.entry((sighting.at.conn, turn)).or_default().push(key);
                }
            }
            ItemPath::Completed(_) => {
                life.ended.get_or_insert(number);
                life.is_open = false;
            }
            _ => life.is_open &= !sighting.is_terminal(),
        }
    }

    fn closed(&mut self, _: u32, session: Id) {
        self.of_session.forget(session);
        self.open.retain(|_, items| items.first().is_none_or(|(owner, _)| *owner != session));
    }
}

/// Whether this revision says that the item may outlive its turn.
fn outlives(sighting: &Sighting<'_>) -> bool {
    let says = |name: &str| sighting.item.get(name).and_then(|it| it.bool()) == Some(true);
    match sighting.kind {
        "toolCall" => says("background"),
        "reminderChild" => !says("blocking"),
        _ => false,
    }
}

impl Lives {
    /// ITEM-6, ITEM-63, ITEM-64, ITEM-65: how an item of its kind is first seen.
    fn opens_well(&self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let Some(session) = sighting.session else { return };
        let known = self.of_session.get(&(session, sighting.id));
        let (started, completed) =
            (matches!(sighting.path, ItemPath::Started(_)), matches!(sighting.path, ItemPath::Completed(_)));
        match sighting.kind {
            "userMessage" if started || completed => {
                out.exercised(ITEM_6);
                if started {
                    fail(out, ITEM_6, sighting, "", "item/completed, since it is complete at once", "item/started");
                } else if sighting.revision != 1 && known.is_none() {
                    fail(out, ITEM_6, sighting, "/revision", "1", &sighting.revision.to_string());
                }
            }
            "agentMessage" if completed && known.is_none() => {
                let seen_from_start = sighting
                    .turn
                    .and_then(|turn| self.turns.get(&(sighting.at.conn, turn)))
                    .is_some_and(|epoch| *epoch == sighting.epoch);
                if sighting.live().is_some() && seen_from_start {
                    out.exercised(ITEM_6);
                    if sighting.revision != 1 {
                        fail(out, ITEM_6, sighting, "/revision", "1", &sighting.revision.to_string());
                    }
                }
            }
            "hookRun" | "sideChat" | "webSearch" if known.is_none() => first_of_kind(sighting, started, completed, out),
            "sideChat" if matches!(sighting.path, ItemPath::Updated(_)) => {
                out.exercised(ITEM_64);
                fail(out, ITEM_64, sighting, "", "no revision between start and end", "item/updated");
            }
            _ => {}
        }
        if sighting.kind == "hookRun" && sighting.is_terminal() {
            ends_as_it_ran(sighting, out);
        }
        if sighting.kind == "webSearch"
            && sighting.status == "completed"
            && out.core().connection(sighting.at.conn).experimental() == Some(true)
            && sighting.item.get("action").is_none()
        {
            fail(out, ITEM_65, sighting, "", "an `action`", "none");
        }
    }

    /// ITEM-3, ITEM-5: live events come in the order of the view.
    fn goes_on(&self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let known = sighting.session.and_then(|session| self.of_session.get(&(session, sighting.id)));
        if let Some((line, top)) = known.and_then(|life| Some((life.ended?, life.top))) {
            after_the_end(sighting, top, Some(line), out);
        } else {
            on_the_way(sighting, known.filter(|life| life.top > 0).map(|life| (life.top, life.line)), out);
        }
    }

    /// The same for what a page shows for the first time: in the order of that page alone.
    fn goes_on_in_a_page(&mut self, sighting: &Sighting<'_>, out: &mut Out<'_>) {
        let (ItemPath::Started(Path::Page { request, .. })
        | ItemPath::Updated(Path::Page { request, .. })
        | ItemPath::Completed(Path::Page { request, .. })) = sighting.path
        else {
            return;
        };
        if self.page.0 != request {
            self.page = (request, Map::default());
        }
        let before = self.page.1.get(&sighting.id).copied();
        match before {
            Some((top, true)) => after_the_end(sighting, top, None, out),
            before => on_the_way(sighting, before.map(|(top, _)| (top, sighting.at.line)), out),
        }
        let ended = matches!(sighting.path, ItemPath::Completed(_)) || before.is_some_and(|(_, ended)| ended);
        let top = before.map_or(0, |(top, _)| top).max(sighting.revision);
        self.page.1.insert(sighting.id, (top, ended));
    }

    /// ITEM-8, ITEM-20: what has to have ended, and how.
    fn turn_ends(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let Some(turn) = event.param("turnId").and_then(|it| it.id()) else { return };
        if let Some(line) = self.cut_off.remove(&turn) {
            out.exercised(ITEM_20);
            let terminal = event.param("terminal");
            if terminal.is_some_and(|terminal| !terminal.is("failed")) {
                out.violated(ITEM_20, event, "/terminal")
                    .expected("failed, since its reply was cut off")
                    .actual(terminal.map_or_else(String::new, |it| it.shown()))
                    .contradicts(line)
                    .done();
            }
        }
        if !event.is_live() || event.sight != Sight::New {
            return;
        }
        self.turns.remove(&(event.at.conn, turn));
        let Some(session) = event.session else { return };
        let items = self.open.remove(&(event.at.conn, turn)).unwrap_or_default();
        if !items.is_empty() {
            out.exercised(ITEM_8);
        }
        for life in items.iter().filter_map(|key| self.of_session.get(key)) {
            if life.is_open && !life.outlives && life.epoch == event.epoch && life.kept.is_known_kind() {
                out.violated(ITEM_8, event, "/turnId")
                    .expected("every item of the turn ended")
                    .actual("one that is open")
                    .contradicts(life.line)
                    .after_next_event(session)
                    .done();
            }
        }
    }

    /// ITEM-65: a search streams nothing.
    fn delta(&self, event: &Event<'_>, out: &mut Out<'_>) {
        let (Some(session), Some(item)) = (event.session, event.param("itemId").and_then(|it| it.id())) else { return };
        let life = self.of_session.get(&(session, item));
        if let Some(life) = life.filter(|life| life.kind == Id::of(b"webSearch")) {
            out.exercised(ITEM_65);
            out.violated(ITEM_65, event, "")
                .expected("no delta for a search")
                .actual("one")
                .contradicts(life.first)
                .done();
        }
    }
}

/// ITEM-63, ITEM-64, ITEM-65: kinds that are opened before they end.
fn first_of_kind(sighting: &Sighting<'_>, started: bool, completed: bool, out: &mut Out<'_>) {
    let rule = match sighting.kind {
        "hookRun" => ITEM_63,
        "sideChat" => ITEM_64,
        _ => ITEM_65,
    };
    if started {
        out.exercised(rule);
        // That nothing of its end is shown yet is ITEM-17.
    } else if completed && sighting.revision == 1 {
        out.exercised(rule);
        fail(out, rule, sighting, "", "item/started first", "item/completed with revision 1");
    }
}

/// ITEM-63: what ran says how the item ended.
fn ends_as_it_ran(sighting: &Sighting<'_>, out: &mut Out<'_>) {
    out.exercised(ITEM_63);
    let run = sighting.item.text_of("runStatus");
    let known = ["completed", "failed", "timedOut", "cancelled"];
    if let Some(run) = run.filter(|run| known.contains(&&**run) && known.contains(&sighting.status)) {
        if run != sighting.status {
            out.violated(ITEM_63, sighting, "/runStatus").expected(sighting.status).actual(&*run).warn().done();
        }
    }
}

/// ITEM-3: a start is the first revision, and each further one is higher.
fn on_the_way(sighting: &Sighting<'_>, top: Option<(i64, u64)>, out: &mut Out<'_>) {
    out.exercised(ITEM_3);
    match sighting.path {
        ItemPath::Started(_) if sighting.kind != "userMessage" => {
            if sighting.revision != 1 {
                fail(out, ITEM_3, sighting, "/revision", "1 on a start", &sighting.revision.to_string());
            }
            if sighting.is_terminal() {
                fail(out, ITEM_3, sighting, "/status", "inProgress on a start", sighting.status);
            }
        }
        ItemPath::Completed(_) if !sighting.is_terminal() => {
            fail(out, ITEM_3, sighting, "/status", "an end", sighting.status);
        }
        _ => {}
    }
    let Some((top, line)) = top else { return };
    if sighting.revision <= top {
        out.violated(ITEM_3, sighting, "/revision")
            .expected(format!("a revision above {top}"))
            .actual(sighting.revision.to_string())
            .contradicts(line)
            .done();
    }
}

/// ITEM-5: behind the end comes nothing but a higher revision that is ended too.
fn after_the_end(sighting: &Sighting<'_>, top: i64, line: Option<u64>, out: &mut Out<'_>) {
    out.exercised(ITEM_5);
    let (below, expected, actual) = match sighting.path {
        ItemPath::Completed(_) => ("", "one end", "a second item/completed".to_owned()),
        ItemPath::Started(_) => ("", "nothing but item/updated behind the end", "item/started".to_owned()),
        _ if !sighting.is_terminal() => ("/status", "a status that is an end", sighting.status.to_owned()),
        _ if sighting.revision <= top => ("/revision", "a revision above the last", sighting.revision.to_string()),
        _ => return,
    };
    let violation = out.violated(ITEM_5, sighting, below).expected(expected).actual(actual);
    match line {
        Some(line) => violation.contradicts(line).done(),
        None => violation.done(),
    }
}

fn fail(
    out: &mut Out<'_>,
    rule: crate::rules::monitor::Watched,
    sighting: &Sighting<'_>,
    below: &str,
    expected: &str,
    actual: &str,
) {
    out.violated(rule, sighting, below).expected(expected).actual(actual).done();
}
