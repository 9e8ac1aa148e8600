//! What can go wrong before anything is judged.

/// A schema that cannot be judged by.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The document is none that this crate reads.
    #[error("this is not a bundle: {what}")]
    NotABundle {
        /// What is missing or of the wrong kind.
        what: &'static str,
    },
    /// Definitions that refer to each other with no value in between.
    #[error("these definitions only name each other and describe no value: `{}`", .definitions.join("`, `"))]
    AliasCycle {
        /// The definitions on the circle, or leading into it.
        definitions: Vec<String>,
    },
    /// A definition, method, notification, function or part that the schema does not have.
    #[error("the schema has no {what} `{name}`{}", .like.as_ref().map_or_else(String::new, |it| format!("; did you mean `{it}`?")))]
    Unknown {
        /// What was asked for: `definition`, `method`, …
        what: &'static str,
        /// The name that was asked for.
        name: String,
        /// A name that is there and much like it.
        like: Option<String>,
    },
    /// The validator refuses a definition, for example because of a reference that leads nowhere.
    #[error("`{definition}` cannot be used: {message}")]
    Unusable {
        /// Definition, or method and part.
        definition: String,
        /// What the validator says.
        message: String,
    },
    /// The schemas that ship with this build cannot be read.
    #[error("the packaged schemas cannot be read: {message}")]
    Packaged {
        /// What the reader says.
        message: String,
    },
}

impl SchemaError {
    /// Stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotABundle { .. } => "judge/not-a-bundle",
            Self::AliasCycle { .. } => "judge/alias-cycle",
            Self::Unknown { .. } => "judge/unknown-name",
            Self::Unusable { .. } => "judge/unusable-definition",
            Self::Packaged { .. } => "judge/packaged-schemas",
        }
    }
}
