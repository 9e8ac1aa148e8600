//! The recordings that ship with the kit: conversations of our own that together use everything the schemas have.

/// A recording: its scenario and its lines.
#[derive(Debug, Clone, Copy)]
pub struct Recording {
    /// Name of the scenario, and of its folder.
    pub scenario: &'static str,
    /// The transcript.
    pub text: &'static str,
}

macro_rules! recordings {
    ($($scenario:literal),* $(,)?) => {
        /// All of them, by name.
        pub const ALL: &[Recording] = &[$(Recording {
            scenario: $scenario,
            text: include_str!(concat!("../recordings/", $scenario, "/transcript.ndjson")),
        }),*];
    };
}

recordings![];
