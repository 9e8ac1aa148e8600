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

recordings![
    "account-settings-and-usage",
    "approval-in-stages",
    "approval-screen-control",
    "first-turn",
    "fork-side-chat-and-resume",
    "gap-and-pages",
    "goal-from-set-to-clear",
    "handshake-refusals",
    "items-of-every-kind",
    "lists-and-catalogues",
    "long-answers",
    "peers-and-admissions",
    "questions-to-the-user",
    "raw-log",
    "screen-control-setup",
    "session-functions",
    "session-settings",
    "skills-and-plugins",
    "subagent-life",
    "tasks-and-queue",
    "uploads-and-outputs",
    "workflow-with-children",
];
