//! What in the view shows that a command was carried out.

use serde_json::Value;

use super::history::{Command, Event};

type Shows = Box<dyn Fn(&Event) -> bool>;

/// What a command leaves behind.
pub(crate) enum Effect {
    /// One event.
    Once(Shows),
    /// Events that may be told again, such as a value that stays.
    Lasting(Shows),
    /// A turn: waiting, begun, or taken out of the queue.
    Turn(String),
    /// A session of its own.
    Session(String),
}

/// What an acked command must have left; nothing where no event can be told to be its own.
pub(crate) fn of(command: &Command, result: &Value) -> Vec<Effect> {
    let approval = command.params["approvalId"].clone();
    let kept = (command.method == "approval/decide" && command.params["choiceId"] == "allow_always").then(|| {
        once("approval/updated", move |event| {
            event["approvalId"] == approval && event["change"]["kind"] == "policyPersistence"
        })
    });
    // A stage that is allowed for good is told with the last one.
    let kept = kept.filter(|_| result["terminal"] == true);
    main(command, result).into_iter().chain(kept).collect()
}

fn main(command: &Command, result: &Value) -> Option<Effect> {
    let params = command.params.clone();
    let id = command.id.clone();
    let turn = result["turnId"].clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let message = |id: String| {
        Effect::Once(Box::new(move |event: &Event| {
            let item = &event.params["item"];
            event.method == "item/completed" && item["kind"] == "userMessage" && item["commandId"] == id.as_str()
        }))
    };
    Some(match command.method {
        "session/start" | "session/fork" => Effect::Session(text(&result["session"]["sessionId"])),
        "turn/start" if result["disposition"] == "steered" => message(id),
        "turn/steer" => message(id),
        "turn/start" => Effect::Turn(text(&turn)),
        "turn/interrupt" | "turn/cancel" => {
            once("turn/completed", move |event| event["turnId"] == turn && event["terminal"] == "cancelled")
        }
        "turn/unqueue" => once("turn/unqueued", move |event| event["turnId"] == turn),
        "session/rename" => once("session/nameChanged", move |event| event["name"] == params["name"]),
        "session/setModel" => once("session/modelChanged", move |event| event["modelId"] == params["model"]["modelId"]),
        "goal/set" | "goal/edit" => Effect::Lasting(Box::new(move |event| {
            event.method == "session/goalChanged" && event.params["goal"]["objective"] == params["objective"]
        })),
        "approval/decide" if result["terminal"] == true => {
            once("approval/resolved", move |event| event["decidedByCommandId"] == id.as_str())
        }
        "approval/decide" => Effect::Lasting(Box::new(move |event| {
            event.method == "approval/updated" && event.params["approvalId"] == params["approvalId"]
        })),
        "userInput/answer" | "userInput/cancel" | "userInput/clarify" | "userInput/interrupt" => {
            once("userInput/settled", move |event| event["decidedByCommandId"] == id.as_str())
        }
        "session/compact" if result["status"] == "accepted" => Effect::Lasting(Box::new(|event| {
            event.method == "item/started" && event.params["item"]["kind"] == "compaction"
        })),
        "task/stop" => Effect::Once(Box::new(move |event| {
            event.method == "item/completed" && event.params["item"]["itemId"] == params["taskId"]
        })),
        "task/background" => Effect::Lasting(Box::new(move |event| {
            let item = &event.params["item"];
            item["itemId"] == params["taskId"] && item["background"] == true
        })),
        _ => return None,
    })
}

fn once(method: &'static str, shows: impl Fn(&Value) -> bool + 'static) -> Effect {
    Effect::Once(Box::new(move |event| event.method == method && shows(&event.params)))
}

impl Effect {
    /// The session in which it shows.
    pub(crate) fn session<'a>(&'a self, command: &'a Command) -> &'a str {
        match self {
            Self::Session(session) => session,
            Self::Once(_) | Self::Lasting(_) | Self::Turn(_) => command.session(),
        }
    }

    /// How often it shows.
    pub(crate) fn traces(&self, pages: &[Event], queued: &[String]) -> usize {
        match self {
            Self::Once(shows) | Self::Lasting(shows) => pages.iter().filter(|event| shows(event)).count(),
            Self::Turn(turn) => {
                let shows = |event: &&Event| {
                    ["turn/started", "turn/unqueued"].contains(&event.method.as_str())
                        && event.params["turnId"] == turn.as_str()
                };
                // It may leave the queue between the look at it and the pages.
                let waits = queued.iter().filter(|queued| *queued == turn).count();
                pages.iter().filter(shows).count().max(waits)
            }
            Self::Session(_) => 1,
        }
    }
}
