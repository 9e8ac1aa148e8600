//! The files of this crate, embedded.

use std::sync::OnceLock;

use crate::Surface;
use crate::bundle::{Bundle, Manifest};

/// The release that both bundles describe.
pub const HOST_VERSION: &str = "1.4.13";

/// The bundle of the stable surface.
pub const STABLE: &str = include_str!("../msp/stable/msp.schema.json");
/// The bundle of the experimental surface.
pub const EXPERIMENTAL: &str = include_str!("../msp/experimental/msp.schema.json");
/// The manifest of the stable surface.
pub const STABLE_MANIFEST: &str = include_str!("../msp/stable/manifest.json");
/// The manifest of the experimental surface.
pub const EXPERIMENTAL_MANIFEST: &str = include_str!("../msp/experimental/manifest.json");
/// What a bundle cannot say; read it with [`annotations`](crate::annotations).
pub const ANNOTATIONS: &str = include_str!("../msp/annotations.json");
/// The keywords that were added to every revision; read them with [`keywords`](crate::keywords).
pub const KEYWORDS: &str = include_str!("../msp/keywords.json");

static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The text of a bundle.
pub const fn text(surface: Surface) -> &'static str {
    match surface {
        Surface::Stable => STABLE,
        Surface::Experimental => EXPERIMENTAL,
    }
}

/// A bundle, read once per process.
#[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "the text is embedded and a test reads it")]
pub fn bundle(surface: Surface) -> &'static Bundle {
    static BUNDLES: [OnceLock<Bundle>; 2] = [const { OnceLock::new() }; 2];
    BUNDLES[surface as usize].get_or_init(|| Bundle::parse(text(surface)).expect("the embedded bundle is whole"))
}

/// The manifest of a bundle.
#[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "the text is embedded and a test reads it")]
pub fn manifest(surface: Surface) -> Manifest {
    let text = match surface {
        Surface::Stable => STABLE_MANIFEST,
        Surface::Experimental => EXPERIMENTAL_MANIFEST,
    };
    Manifest::parse(text).expect("the embedded manifest is whole")
}

/// All embedded files, sorted by their path relative to the crate, such as `session/functions/session.append.json`.
/// The older revisions are not among them; see [`revisions`](crate::revisions).
pub const fn files() -> &'static [(&'static str, &'static str)] {
    FILES
}
