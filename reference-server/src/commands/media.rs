//! Media: `media/upload` (MISC-3). What is kept of an upload is what arrived of it, not its bytes: the provider looks at none.

use std::sync::PoisonError;

use msp_types::msp::errors;
use msp_types::msp::methods::MediaUpload;
use msp_types::msp::{MediaUploadParams, MediaUploadResult};
use serde_json::{Value, json};

use super::turn::is_base64;
use super::{Command, Method, command};
use crate::decision::{Context, Decision, Effect};
use crate::host::Host;
use crate::mint::is_uuid;
use crate::refusal::Refusal;
use crate::session::Core;

/// What this family has.
pub const METHODS: &[Method] = &[command::<MediaUpload>()];

const MEDIA_TYPES: &[&str] = &["video/mp4", "video/quicktime"];

impl Command for MediaUpload {
    fn decide(params: MediaUploadParams, ctx: &mut Context<'_>) -> Result<Decision<MediaUploadResult>, Refusal> {
        check_alone(&params)?;
        let bytes = decoded_len(&params.chunk_base64)?;
        let upload_id = params.upload_id.clone();
        let mut upload = find(ctx.host, &upload_id).unwrap_or_else(|| {
            json!({
                "mediaType": params.media_type, "totalBytes": params.total_bytes, "chunkCount": params.chunk_count,
                "sessionId": params.session_id, "chunks": {},
            })
        });
        let same = upload["mediaType"] == params.media_type
            && upload["totalBytes"] == params.total_bytes
            && upload["chunkCount"] == params.chunk_count
            && upload["sessionId"] == params.session_id;
        if !same {
            return Err(Refusal::invalid_params("the chunks of an upload agree on session, type, count and total"));
        }
        let index = params.chunk_index.to_string();
        if upload["chunks"].get(&index).is_some_and(|held| *held != bytes) {
            return Err(Refusal::invalid_params("`chunkIndex`: this chunk came before with another size"));
        }
        upload["chunks"][index] = bytes.into();
        let (arrived, complete) = (arrived(&upload), is_complete(&upload));
        if arrived > params.total_bytes || (complete && arrived != params.total_bytes) {
            let total = params.total_bytes;
            return Err(Refusal::invalid_params(format!("`totalBytes` is {total}, and the chunks have {arrived}")));
        }
        let effect = Effect::Do(Box::new(move |core: &mut Core| {
            let mut shelves = core.host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
            shelves.entry("media").or_insert_with(|| json!({}))[upload_id] = upload;
        }));
        Ok(Decision::new(MediaUploadResult::new(params.upload_id)).effect(effect))
    }
}

/// What can be wrong with a chunk whatever came before.
fn check_alone(params: &MediaUploadParams) -> Result<(), Refusal> {
    if !is_uuid(&params.upload_id, true) {
        return Err(Refusal::invalid_params("`uploadId` is no UUIDv7"));
    }
    if !MEDIA_TYPES.contains(&params.media_type.as_str()) {
        return Err(Refusal::invalid_params("`mediaType` is neither `video/mp4` nor `video/quicktime`"));
    }
    if params.chunk_count < 1 || !(0..params.chunk_count).contains(&params.chunk_index) {
        return Err(Refusal::invalid_params("`chunkIndex` is not from 0 to `chunkCount` - 1"));
    }
    if params.total_bytes < 1 {
        return Err(Refusal::invalid_params("`totalBytes` is not positive"));
    }
    Ok(())
}

fn decoded_len(text: &str) -> Result<i64, Refusal> {
    if !is_base64(text) {
        return Err(Refusal::invalid_params("`chunkBase64` is empty or no base64"));
    }
    let padding = text.len() - text.trim_end_matches('=').len();
    Ok(i64::try_from(text.len() / 4 * 3 - padding).unwrap_or(i64::MAX))
}

fn arrived(upload: &Value) -> i64 {
    upload["chunks"].as_object().into_iter().flatten().filter_map(|(_, bytes)| bytes.as_i64()).sum()
}

fn is_complete(upload: &Value) -> bool {
    let count = upload["chunks"].as_object().map_or(0, serde_json::Map::len);
    upload["chunkCount"].as_u64().is_some_and(|wanted| u64::try_from(count) == Ok(wanted))
}

fn find(host: &Host, upload_id: &str) -> Option<Value> {
    let shelves = host.shelves.lock().unwrap_or_else(PoisonError::into_inner);
    shelves.get("media").and_then(|shelf| shelf.get(upload_id)).cloned()
}

/// Checks that an upload is complete (MISC-3).
///
/// # Errors
/// −32038 for one that is unknown or not complete.
pub fn check_upload(host: &Host, upload_id: &str) -> Result<(), Refusal> {
    if find(host, upload_id).is_some_and(|upload| is_complete(&upload)) {
        return Ok(());
    }
    let message = format!("no complete upload `{upload_id}`");
    Err(Refusal::new(errors::UPLOAD_NOT_FOUND, message).with("uploadId", upload_id))
}
