//! Why a call failed, and the one place that knows how a failure is told.

use msp_types::ErrorRow;
use msp_types::session::errors;

use super::store::StoreError;

/// Why a call has no result. Nothing was changed and nothing was announced.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A rule of the domain says no (SF-ERR-1).
    #[error("{code}: {text}")]
    Domain {
        /// Code of the error table, such as `session/not_found`.
        code: &'static str,
        /// Free text.
        text: String,
    },
    /// The payload does not fit the request schema (SF-ERR-3).
    #[error("the request does not fit `{function}`: {text}")]
    Malformed {
        /// Function that was called.
        function: String,
        /// What does not fit, and where.
        text: String,
    },
    /// A store function on an instance that keeps its state elsewhere (SF-STORE-1).
    #[error("`{function}` is served by the main instance alone; this one is bridged")]
    NotServed {
        /// Function that was called.
        function: String,
    },
    /// No function has this id here.
    #[error("no function `{function}`")]
    UnknownFunction {
        /// Function that was called.
        function: String,
    },
    /// A function that is an engine's own says no.
    #[error("{text}")]
    Engine {
        /// Code, as an engine has it.
        code: &'static str,
        /// Free text.
        text: String,
    },
    /// The stored configuration cannot be had or read (SF-CFG-8).
    #[error("the stored configuration: {text}")]
    Configuration {
        /// What stands in the way.
        text: String,
    },
}

impl Failure {
    /// A failure of a row of the error table.
    pub fn domain(row: ErrorRow, text: impl Into<String>) -> Self {
        Self::Domain { code: row.kind, text: text.into() }
    }

    /// `session/not_found`.
    pub fn no_session(session_id: &str) -> Self {
        Self::domain(errors::NOT_FOUND, format!("no session `{session_id}`"))
    }

    /// `session/entry_not_found`.
    pub fn no_entry(session_id: &str, entry_id: &str) -> Self {
        Self::domain(errors::ENTRY_NOT_FOUND, format!("session `{session_id}` has no entry `{entry_id}`"))
    }

    /// `session/parent_not_found`.
    pub fn no_parent(session_id: &str, parent_id: &str) -> Self {
        Self::domain(
            errors::PARENT_NOT_FOUND,
            format!("session `{session_id}` has no entry `{parent_id}` to append to"),
        )
    }

    /// `session/invalid_request`.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::domain(errors::INVALID_REQUEST, text)
    }

    /// `session/invalid_cursor`.
    pub fn cursor(text: impl Into<String>) -> Self {
        Self::domain(errors::INVALID_CURSOR, text)
    }

    /// A short word for the kind of failure, as the wire has it: the domain's code, or the bus's own word.
    pub fn code(&self) -> &str {
        match self {
            Self::Domain { code, .. } | Self::Engine { code, .. } => code,
            Self::Malformed { .. } | Self::NotServed { .. } | Self::Configuration { .. } => "invocation_failed",
            Self::UnknownFunction { .. } => "function_not_found",
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::domain(errors::STORAGE, error.to_string())
    }
}
