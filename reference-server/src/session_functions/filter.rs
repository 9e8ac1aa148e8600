//! Which events a binding wants (SF-FILT).

use msp_types::session::Role;
use serde_json::{Map, Value};

use super::event::{Event, Trigger};

/// Why a binding is not taken. The text names the trigger type (SF-FILT-6).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No such trigger type is offered here.
    #[error("no trigger type `{trigger_type}`")]
    UnknownTrigger {
        /// As asked for.
        trigger_type: String,
    },
    /// The config does not fit the trigger type.
    #[error("config of `{trigger_type}`: {text}")]
    Config {
        /// As asked for.
        trigger_type: String,
        /// What does not fit.
        text: String,
    },
}

/// All of these have to hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    session_id: Option<String>,
    roles: Option<Vec<Role>>,
    metadata: Option<Map<String, Value>>,
}

impl Filter {
    /// Reads a config. Absent, `null` and `{}` want everything, and so do members that are `null` (SF-FILT-7).
    ///
    /// # Errors
    /// An unknown member, or a value of the wrong type.
    pub(crate) fn read(trigger: Trigger, config: Option<&Value>) -> Result<Self, Refusal> {
        let refused = |text: String| Refusal::Config { trigger_type: trigger.id().to_owned(), text };
        let members = match config {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(refused("not an object".to_owned())),
        };
        let mut filter = Self::default();
        if trigger == Trigger::Feed {
            return Ok(filter); // complete by design, whatever the config says
        }
        for (name, value) in members {
            let known = match name.as_str() {
                "metadata" => true,
                "session_id" => trigger != Trigger::Created,
                "roles" => matches!(trigger, Trigger::MessageAdded | Trigger::MessageUpdated),
                _ => false,
            };
            if !known {
                return Err(refused(format!("`{name}` is no filter of this type")));
            }
            filter.set(name, value).map_err(|error| refused(format!("`{name}`: {error}")))?;
        }
        Ok(filter)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), serde_json::Error> {
        let value = value.clone();
        match name {
            "session_id" => self.session_id = serde_json::from_value(value)?,
            "roles" => self.roles = serde_json::from_value(value)?,
            _ => self.metadata = serde_json::from_value(value)?,
        }
        Ok(())
    }

    /// Whether an event is wanted.
    pub(crate) fn wants(&self, event: &Event) -> bool {
        self.session_id.as_ref().is_none_or(|wanted| *wanted == event.session_id)
            && self.roles.as_ref().is_none_or(|wanted| event.role.as_ref().is_some_and(|role| wanted.contains(role)))
            && self.metadata.as_ref().is_none_or(|wanted| holds(wanted, event.metadata.as_ref()))
    }
}

/// Whether every wanted key is stored with a deeply equal value (SF-LIST-5).
pub(crate) fn holds(wanted: &Map<String, Value>, stored: Option<&Map<String, Value>>) -> bool {
    wanted.iter().all(|(key, value)| stored.and_then(|stored| stored.get(key)) == Some(value))
}
