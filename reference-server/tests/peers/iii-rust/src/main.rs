//! Drives the session functions with the published Rust iii SDKs, unmodified: every public function is called, every event type received.
//! Arguments: the SDK (`0.25` or `0.26`), and the address of the endpoint. Exits with 0 when everything holds.

use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Event types that anyone may bind.
const TYPES: [&str; 6] = ["created", "message-added", "message-updated", "status-changed", "meta-updated", "deleted"];

/// One generation of the SDK: what differs is the name of the request, and that 0.26 has no triggers of its own.
macro_rules! generation {
    ($module:ident, $sdk:ident, $request:ident, $call:ident, $bind:item) => {
        pub mod $module {
            use super::*;
            use $sdk::{Error, IIIClient, InitOptions, RegisterFunction, register_worker};

            pub struct Sdk(IIIClient);

            impl Sdk {
                pub fn connect(address: &str) -> Self {
                    Self(register_worker(address, InitOptions::default()))
                }

                pub async fn call(&self, function: &str, payload: Value) -> Result<Value, String> {
                    let request = $sdk::protocol::$request {
                        function_id: function.to_owned(),
                        payload,
                        action: None,
                        timeout_ms: None,
                    };
                    self.0.$call(request).await.map_err(|error| error.to_string())
                }

                pub fn subscribe(&self, function: &str, seen: mpsc::UnboundedSender<(String, Value)>) {
                    let name = function.to_owned();
                    self.0.register_function(
                        function,
                        RegisterFunction::new_async(move |payload: Value| {
                            let told = seen.send((name.clone(), payload));
                            async move { told.map(|()| Value::Null).map_err(|error| Error::Handler(error.to_string())) }
                        }),
                    );
                }

                $bind

                pub fn close(&self) {
                    self.0.shutdown();
                }
            }
        }
    };
}

#[allow(deprecated, reason = "what 0.25 still has and 0.26 has no longer is what is tested")]
mod generations {
    use super::*;

    generation!(
        v25,
        iii25,
        TriggerRequest,
        trigger,
        pub async fn bind(&self, trigger: &str, function: &str) -> Result<(), String> {
            let input = iii25::protocol::RegisterTriggerInput {
                trigger_type: trigger.to_owned(),
                function_id: function.to_owned(),
                config: json!({}),
                metadata: None,
                namespace: None,
                trigger_namespace: None,
            };
            self.0.register_trigger(input).map(drop).map_err(|error| error.to_string())
        }
    );
    generation!(
        v26,
        iii26,
        CallRequest,
        call,
        pub async fn bind(&self, trigger: &str, function: &str) -> Result<(), String> {
            let payload = json!({ "trigger_type": trigger, "function_id": function, "config": {} });
            self.call("engine::register_trigger", payload).await.map(drop)
        }
    );
}

/// The conversation, the same for both.
macro_rules! conversation {
    ($sdk:ty, $address:expr) => {{
        let (watcher, actor) = (<$sdk>::connect($address), <$sdk>::connect($address));
        let (sender, mut seen) = mpsc::unbounded_channel();
        for trigger in TYPES {
            let function = format!("on-{trigger}");
            watcher.subscribe(&function, sender.clone());
            watcher.bind(&format!("session::{trigger}"), &function).await?;
        }
        watcher.call("session::config-status", json!({})).await?; // everything before it has been read
        let call = async |function: &str, payload: Value| actor.call(&format!("session::{function}"), payload).await;
        let session = call("create", json!({ "title": "T" })).await?["session_id"].clone();
        let message = json!({ "role": "user", "content": [{ "type": "text", "text": "x" }], "timestamp": 1 });
        let entry = call("append", json!({ "session_id": session, "message": message })).await?["entry_id"].clone();
        let file = json!({ "session_id": session, "name": "n", "mime": "m", "data": "AAEC" });
        let attachment = call("put-attachment", file).await?["attachment"]["attachment_id"].clone();
        for (function, members) in [
            ("get", json!({})),
            ("ensure", json!({})),
            ("list", json!({})),
            ("set-meta", json!({ "title": "U" })),
            ("set-status", json!({ "status": "done" })),
            ("set-draft", json!({ "draft": "d" })),
            ("append-many", json!({ "messages": [message] })),
            ("update-message", json!({ "entry_id": entry, "content": [] })),
            ("messages", json!({})),
            ("messages-tail", json!({})),
            ("messages-range", json!({ "entry_ids": [entry] })),
            ("get-message", json!({ "entry_id": entry })),
            ("set-active-leaf", json!({ "entry_id": entry })),
            ("fork", json!({ "entry_id": entry })),
            ("get-attachment", json!({ "attachment_id": attachment })),
            ("list-attachments", json!({})),
            ("delete-attachment", json!({ "attachment_id": attachment })),
            ("mention::search", json!({ "query": "U" })),
            ("mention::get", json!({ "id": session })),
            ("config-status", json!({})),
            ("on-config-change", json!({})),
            ("delete", json!({})),
        ] {
            let mut payload = members;
            payload["session_id"] = session.clone();
            let answer = call(function, payload).await.map_err(|error| format!("{function}: {error}"))?;
            if !answer.is_object() {
                return Err(format!("{function}: {answer}"));
            }
        }
        let refused = call("messages", json!({ "session_id": session })).await;
        if !refused.as_ref().is_err_and(|error| error.contains("session/not_found: ")) {
            return Err(format!("not refused by code: {refused:?}"));
        }
        let mut missing: Vec<String> = TYPES.iter().map(|trigger| format!("on-{trigger}")).collect();
        while !missing.is_empty() {
            let (function, payload) = seen.recv().await.ok_or("the subscriber is gone")?;
            if payload["session_id"] != session && payload["forked_from"] != session {
                return Err(format!("{function}: {payload}"));
            }
            missing.retain(|name| *name != function);
        }
        watcher.close();
        actor.close();
        Ok(())
    }};
}

async fn run(sdk: &str, address: &str) -> Result<(), String> {
    match sdk {
        "0.25" => conversation!(generations::v25::Sdk, address),
        "0.26" => conversation!(generations::v26::Sdk, address),
        other => Err(format!("no SDK `{other}`")),
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [sdk, address] = arguments.as_slice() else { panic!("SDK and address are missing") };
    if let Err(error) = run(sdk, address).await {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
