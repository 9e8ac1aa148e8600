//! The configuration value (SF-CFG-1, SF-CFG-2): limits, and where the state is kept.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Page size without `limit`.
const LIST_LIMIT: u64 = 50;
/// Largest page.
const MAX_LIST_LIMIT: u64 = 500;
/// Largest attachment, decoded: 50 MiB.
const MAX_ATTACHMENT_BYTES: u64 = 52_428_800;
/// How long a bridged instance waits for one answer of its main.
const TIMEOUT_MS: u64 = 5000;

/// What callers may ask for at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Page size when a request names none.
    pub default_list_limit: u64,
    /// Largest page; larger requests act as this one.
    pub max_list_limit: u64,
    /// Largest attachment in bytes, decoded.
    pub max_attachment_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            default_list_limit: LIST_LIMIT,
            max_list_limit: MAX_LIST_LIMIT,
            max_attachment_bytes: MAX_ATTACHMENT_BYTES,
        }
    }
}

impl Limits {
    /// The size of a page: 1 to the maximum (SF-PAGE-1, SF-PAGE-2).
    pub(crate) fn page(&self, asked: Option<u64>) -> usize {
        let size = asked.unwrap_or(self.default_list_limit).min(self.max_list_limit).max(1);
        usize::try_from(size).unwrap_or(usize::MAX)
    }
}

/// Where the state is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adapter {
    /// In this process; gone with it. Not a value of the configuration: a start option.
    Memory,
    /// In one file inside this folder; without one, in the folder that the server was started with.
    Fs {
        /// Folder of the file.
        data_dir: Option<PathBuf>,
    },
    /// In another instance.
    Bridge {
        /// Address of the engine or endpoint of the main instance, such as `ws://127.0.0.1:49134`.
        url: String,
        /// Longest wait for one answer, in milliseconds.
        timeout_ms: u64,
    },
}

/// What a stored configuration value says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where the state is kept; `None` leaves it where it is.
    pub adapter: Option<Adapter>,
    /// Limits.
    pub limits: Limits,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    adapter: Option<WrittenAdapter>,
    default_list_limit: Option<u64>,
    max_list_limit: Option<u64>,
    max_attachment_bytes: Option<u64>,
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "name", content = "config", rename_all = "lowercase")]
enum WrittenAdapter {
    Fs(WrittenFs),
    Bridge(WrittenBridge),
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenFs {
    data_dir: Option<PathBuf>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenBridge {
    url: String,
    timeout_ms: Option<u64>,
}

impl Settings {
    /// Reads a stored value.
    ///
    /// # Errors
    /// The first thing that does not fit: unknown members and adapters, an adapter without `config`, a bridge without `url`.
    pub fn read(value: &Value) -> Result<Self, String> {
        let written: Written = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        let defaults = Limits::default();
        let adapter = match written.adapter {
            None => None,
            Some(WrittenAdapter::Fs(fs)) => Some(Adapter::Fs { data_dir: fs.data_dir }),
            Some(WrittenAdapter::Bridge(bridge)) => Some(Adapter::bridge(bridge.url, bridge.timeout_ms)?),
        };
        Ok(Self {
            adapter,
            limits: Limits {
                default_list_limit: written.default_list_limit.unwrap_or(defaults.default_list_limit),
                max_list_limit: written.max_list_limit.unwrap_or(defaults.max_list_limit),
                max_attachment_bytes: written.max_attachment_bytes.unwrap_or(defaults.max_attachment_bytes),
            },
        })
    }

    /// The value that is stored where nothing was.
    pub fn defaults() -> Value {
        let Limits { default_list_limit, max_list_limit, max_attachment_bytes } = Limits::default();
        json!({
            "adapter": { "name": "fs", "config": {} },
            "default_list_limit": default_list_limit,
            "max_list_limit": max_list_limit,
            "max_attachment_bytes": max_attachment_bytes,
        })
    }

    /// The JSON schema of the value, closed like the reading.
    pub fn schema() -> Value {
        let count = json!({ "type": ["integer", "null"], "minimum": 0 });
        let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        let fs = object(json!({ "data_dir": { "type": ["string", "null"] } }), json!([]));
        let bridge = object(json!({ "url": { "type": "string" }, "timeout_ms": count }), json!(["url"]));
        let adapter = |name: &str, config: Value| json!({ "type": "object", "properties": { "name": { "const": name }, "config": config }, "required": ["name", "config"] });
        let properties = json!({
            "adapter": { "anyOf": [{ "type": "null" }, adapter("fs", fs), adapter("bridge", bridge)] },
            "default_list_limit": count,
            "max_list_limit": count,
            "max_attachment_bytes": count,
        });
        object(properties, json!([]))
    }
}

impl Adapter {
    /// A bridge to the given address.
    ///
    /// # Errors
    /// An address that is no `ws://` one.
    pub fn bridge(url: String, timeout_ms: Option<u64>) -> Result<Self, String> {
        if !url.starts_with("ws://") {
            return Err(format!("`{url}` is no `ws://` address"));
        }
        Ok(Self::Bridge { url, timeout_ms: timeout_ms.unwrap_or(TIMEOUT_MS) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_closed() {
        assert_eq!(Settings::read(&json!({})), Ok(Settings::default()));
        let limits = Settings::read(&json!({ "max_list_limit": 7, "default_list_limit": null })).unwrap().limits;
        assert_eq!((limits.max_list_limit, limits.default_list_limit), (7, 50));
        assert_eq!((limits.page(None), limits.page(Some(0)), limits.page(Some(3))), (7, 1, 3));
        let fs = Settings::read(&json!({ "adapter": { "name": "fs", "config": {} } })).unwrap();
        assert_eq!(fs.adapter, Some(Adapter::Fs { data_dir: None }));
        for bad in [
            json!({ "x": 1 }),
            json!({ "adapter": { "name": "fs" } }),
            json!({ "adapter": { "name": "fs", "config": { "x": 1 } } }),
            json!({ "adapter": { "name": "s3", "config": {} } }),
            json!({ "adapter": { "name": "bridge", "config": {} } }),
            json!({ "adapter": { "name": "bridge", "config": { "url": "http://x" } } }),
            json!({ "max_list_limit": -1 }),
            json!([]),
        ] {
            assert!(Settings::read(&bad).is_err(), "{bad}");
        }
    }
}
