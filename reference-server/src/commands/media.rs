//! Media: `media/upload` (MISC-3).

use super::Method;

/// What this family has.
pub const METHODS: &[Method] = &[];

/// The media type of a completed upload (MISC-3).
///
/// # Errors
/// −32038 for one that is unknown or not complete.
pub fn check_upload(host: &crate::host::Host, upload_id: &str) -> Result<String, crate::refusal::Refusal> {
    let _ = host; // uploads come with the family; until then there is none
    let row = msp_types::msp::errors::UPLOAD_NOT_FOUND;
    Err(crate::refusal::Refusal::new(row, format!("no complete upload `{upload_id}`")).with("uploadId", upload_id))
}
