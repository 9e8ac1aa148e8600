//! The two surfaces of a release.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which part of the protocol a bundle describes. The experimental one holds all of the stable one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Surface {
    /// Open to every connection; changes by addition only, if the publisher keeps its word.
    Stable,
    /// Open to connections that opted in; may change or go between any two releases.
    Experimental,
}

impl Surface {
    /// Both, the smaller one first.
    pub const ALL: [Self; 2] = [Self::Stable, Self::Experimental];

    /// The name of its folder and of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Experimental => "experimental",
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
