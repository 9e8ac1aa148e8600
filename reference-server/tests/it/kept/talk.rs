//! A seeded client that says a bit of everything, led by what it sees: prompts of many kinds, queue, steer, approvals, answers,
//! names, models, goals, tasks, compactions, forks. It knows nothing of transports.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::history::{Answer, Command, Event, History};

/// Prompts: a reply, a reply in many deltas, thoughts and tools, an approval of two stages, a write that needs approval, questions,
/// turns that wait, tasks, compactions, goals.
const PROMPTS: [&str; 13] = [
    "a prompt of five words",
    "@script\nsay {\"text\":\"a b c d e f g h i j k l m n o p\"}",
    "@script\nthink {\"summary\":[\"s\"],\"text\":\"t\"}\ntool {\"output\":\"o\"}\nsay {\"text\":\"done\"}",
    "@script\ntool {\"tool\":\"shell\",\"output\":\"ok\",\"approval\":{\"subject\":{\"kind\":\"shell\",\"command\":\"git add . && rm x\",\"stages\":[[\"git\",\"add\",\".\"],[\"rm\",\"x\"]]}}}",
    "@script\ntool {\"tool\":\"write_file\",\"output\":\"done\",\"approval\":{\"subject\":{\"kind\":\"fileAccess\",\"path\":\"/w/a\",\"access\":\"write\"},\"protectedWrite\":true}}",
    "@script\nask {\"questions\":[{\"id\":\"db\",\"header\":\"Database\",\"question\":\"Which?\",\"selection\":{\"mode\":\"single\"},\"options\":[{\"label\":\"A\"},{\"label\":\"B\"}]}]}\nsay {\"text\":\"so be it\"}",
    "@script\nhold {\"steers\":1}\nsay {\"text\":\"steered\"}",
    "@script\nsay {\"text\":\"wait for it\"}\nhold {}",
    "@script\ntask {\"command\":\"sleep 9\",\"backgroundAfterMs\":1}\nsay {\"text\":\"it goes on\"}",
    "@script\ntask {\"command\":\"sleep 9\"}",
    "@script\nsay {\"text\":\"much\"}\ncompact {\"tokensBefore\":9000,\"tokensAfter\":900}",
    "@script\ngoal {\"objective\":\"tests are green\",\"percentComplete\":40}\nwait {\"ms\":2}",
    "@script\nnextCompaction {\"outcome\":\"compacted\",\"delayMs\":3}\nsay {\"text\":\"soon\"}",
];

/// The client.
#[derive(Debug)]
pub(crate) struct Talk {
    dice: Dice,
    seed: u64,
    minted: u64,
    sessions: Vec<Session>,
    /// What it saw so far.
    pub(crate) history: History,
}

/// A session as the client sees it.
#[derive(Debug, Default)]
struct Session {
    id: String,
    running: Option<String>,
    over: u64,
    queued: Vec<String>,
    approvals: Vec<Value>,
    questions: Vec<Value>,
    tasks: BTreeSet<String>,
}

/// Seeded numbers (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }
}

impl Talk {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice(seed), seed, minted: 0, sessions: Vec::new(), history: History::default() }
    }

    /// A command id that no other seed and no other command has.
    pub(crate) fn mint(&mut self) -> String {
        self.minted += 1;
        format!("0198f0ab-{:04x}-7000-8000-{:012x}", self.seed & 0xffff, self.minted)
    }

    /// Sessions that were made so far.
    pub(crate) fn known(&self) -> Vec<String> {
        self.sessions.iter().map(|session| session.id.clone()).collect()
    }

    /// A new life of the host: nothing is known of its sessions but their ids.
    pub(crate) fn begin_life(&mut self) {
        self.history.lives.push(super::history::Life::default());
        for session in &mut self.sessions {
            *session = Session { id: std::mem::take(&mut session.id), ..Session::default() };
        }
    }

    /// Takes note of an answer to a command, by its place in the history.
    pub(crate) fn answered(&mut self, command: usize, answer: Answer) {
        let life = self.history.lives.len() - 1;
        let command = &mut self.history.commands[command];
        if let Answer::Result(result) = &answer {
            let id = result["session"]["sessionId"].as_str().unwrap_or_default();
            if !id.is_empty() && self.sessions.iter().all(|session| session.id != id) {
                self.sessions.push(Session { id: id.to_owned(), ..Session::default() });
            }
            if command.method == "turn/start"
                && result["disposition"] == "queued"
                && let Some(session) = self.sessions.iter_mut().find(|session| session.id == command.session())
            {
                session.queued.push(command.id.clone());
            }
        }
        command.answers.push((life, answer));
    }

    /// Takes note of an event that arrived.
    pub(crate) fn saw(&mut self, event: Event) {
        self.follow(&event);
        self.history.lives.last_mut().unwrap().live.push(event);
    }

    /// Looks at an event, live or paged.
    pub(crate) fn follow(&mut self, event: &Event) {
        let Some(session) = self.sessions.iter_mut().find(|session| session.id == event.session()) else { return };
        let text = |member: &str| event.params[member].as_str().unwrap_or_default().to_owned();
        match event.method.as_str() {
            "turn/started" => {
                session.queued.retain(|turn| *turn != text("turnId"));
                session.running = Some(text("turnId"));
            }
            "turn/completed" => {
                session.running = None;
                session.over += 1;
            }
            "turn/unqueued" => session.queued.retain(|turn| *turn != text("turnId")),
            "approval/requested" => session.approvals.push(event.params.clone()),
            "approval/updated" => {
                for asked in &mut session.approvals {
                    if asked["approvalId"] == event.params["approvalId"] {
                        asked["currentRequirementId"] = event.params["currentRequirementId"].clone();
                    }
                }
            }
            "approval/resolved" => session.approvals.retain(|asked| asked["approvalId"] != event.params["approvalId"]),
            "userInput/requested" => session.questions.push(event.params.clone()),
            "userInput/settled" => {
                session.questions.retain(|asked| asked["userInputId"] != event.params["userInputId"]);
            }
            "item/started" | "item/updated" | "item/completed" => session.follow_item(&event.params["item"]),
            _ => {}
        }
    }

    /// The next command: it stands in the history from here on, at the place that is returned.
    pub(crate) fn next(&mut self) -> usize {
        let id = self.mint();
        let (method, mut params) = self.choose();
        params["commandId"] = id.as_str().into();
        self.history.commands.push(Command { id, method, params, answers: Vec::new() });
        self.history.commands.len() - 1
    }

    fn choose(&mut self) -> (&'static str, Value) {
        let dice = &mut self.dice;
        if self.sessions.is_empty() || (self.sessions.len() < 3 && dice.below(10) == 0) {
            return ("session/start", json!({}));
        }
        let (count, number) = (self.sessions.len(), self.minted);
        let session = &self.sessions[dice.below(count)];
        let (method, mut params) = session.choose(dice, number, count < 5);
        params["sessionId"] = session.id.as_str().into();
        (method, params)
    }
}

impl Session {
    fn follow_item(&mut self, item: &Value) {
        if item["kind"] == "toolCall" && item["tool"] == "shell" {
            let id = item["itemId"].as_str().unwrap_or_default().to_owned();
            if item["status"] == "inProgress" {
                self.tasks.insert(id);
            } else {
                self.tasks.remove(&id);
            }
        }
    }

    /// Something that fits what the session is at, most of the time.
    fn choose(&self, dice: &mut Dice, number: u64, may_fork: bool) -> (&'static str, Value) {
        let turn = self.running.clone().unwrap_or_else(|| format!("0198f0ab-0000-7000-8000-{number:012x}"));
        let words = |text: &str| json!([{ "type": "text", "text": text }]);
        if let Some(asked) = self.approvals.first()
            && dice.below(3) > 0
        {
            let choices = asked["availableChoices"].as_array().map_or(1, Vec::len);
            let choice = &asked["availableChoices"][dice.below(choices)]["choiceId"];
            return (
                "approval/decide",
                json!({ "approvalId": asked["approvalId"], "requirementId": asked["currentRequirementId"], "choiceId": choice }),
            );
        }
        if let Some(asked) = self.questions.first()
            && dice.below(3) > 0
        {
            let id = &asked["userInputId"];
            let clarification = json!({ "format": "text", "content": "which of what?" });
            return match dice.below(4) {
                0 => ("userInput/cancel", json!({ "userInputId": id, "reason": "no time" })),
                1 => ("userInput/clarify", json!({ "userInputId": id, "clarification": clarification })),
                2 => ("userInput/interrupt", json!({ "userInputId": id })),
                _ => {
                    let answers = json!([{ "questionId": "db", "selectedLabel": "B" }]);
                    ("userInput/answer", json!({ "userInputId": id, "answers": answers }))
                }
            };
        }
        match (dice.below(24), &self.running) {
            (0, _) => ("session/rename", json!({ "name": format!("name {number}") })),
            (1, _) => ("session/setModel", json!({ "model": { "modelId": format!("model-{number}") } })),
            (2, _) => ("session/compact", json!({})),
            (3, _) => ("goal/set", json!({ "objective": format!("goal {number}") })),
            (4, _) => ("goal/edit", json!({ "objective": format!("goal {number}") })),
            (5, _) => ("goal/pause", json!({})),
            (6, _) => ("goal/resume", json!({})),
            (7, _) if self.over > 0 && may_fork => ("session/fork", json!({})),
            (8, Some(_)) => ("turn/cancel", json!({})),
            (9 | 10, Some(_)) => ("turn/interrupt", json!({ "retract": dice.below(2) == 0 })),
            (11 | 12, Some(_)) => ("turn/steer", json!({ "expectedTurnId": turn, "input": words("and mind the gap") })),
            (13, _) if !self.queued.is_empty() => ("turn/unqueue", json!({ "turnId": self.queued[0] })),
            (14, _) if !self.tasks.is_empty() => ("task/stop", json!({ "taskId": self.tasks.first() })),
            (15 | 16, _) if !self.tasks.is_empty() => ("task/background", json!({ "taskId": self.tasks.last() })),
            (17, _) => ("turn/unqueue", json!({ "turnId": turn })),
            (18, _) => ("goal/clear", json!({})),
            _ => {
                let busy = ["queue", "queue", "steer", "replace"][dice.below(4)];
                let prompt = PROMPTS[dice.below(PROMPTS.len())];
                ("turn/start", json!({ "input": words(prompt), "ifBusy": busy }))
            }
        }
    }
}
