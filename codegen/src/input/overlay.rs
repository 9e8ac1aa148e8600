//! The overlay: what a bundle cannot say, keyed by pointers into it.

use crate::diagnostic::Diagnostic;
use crate::options::Options;
use crate::schemas::Schemas;

/// Adds gates and texts of the overlay, where it is given or the bundle is the newest published one.
pub(super) fn apply(_schemas: &mut Schemas, _options: &Options, _diagnostics: &mut Vec<Diagnostic>) {}
