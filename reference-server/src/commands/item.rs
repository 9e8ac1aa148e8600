//! `item/readOutput`: stored output in pages of bytes (OUT).

use msp_types::msp::methods::ItemReadOutput;
use msp_types::msp::{ItemReadOutputParams, ItemReadOutputResult, errors};
use serde_json::json;

use super::{HostCall, HostMethod, Method, Reply, from_value, method};
use crate::log::{Line, Log};
use crate::record::{Body, Stored};
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[method::<ItemReadOutput>()];

/// Most stored bytes of one answer (LIM-4).
const MOST_BYTES: usize = 6 * 1024 * 1024;

impl HostMethod for ItemReadOutput {
    fn serve(params: ItemReadOutputParams, call: &HostCall<'_>) -> Result<Reply<ItemReadOutputResult>, Refusal> {
        let number = |value: Option<i64>, member: &str| {
            value
                .map(usize::try_from)
                .transpose()
                .map_err(|_| Refusal::invalid_params(format!("`{member}` is negative")))
        };
        let offset = number(params.offset_bytes, "offsetBytes")?.unwrap_or(0);
        let length = number(params.length_bytes, "lengthBytes")?.unwrap_or(MOST_BYTES).min(MOST_BYTES);
        let readable = call.host.readable(&params.session_id)?;
        let held = readable.hold();
        let output = held.state().outputs.get(&params.output_ref).filter(|output| output.item_id == params.item_id);
        let output = output.ok_or_else(|| {
            Refusal::not_found("no such item, or no such output of it")
                .with("sessionId", params.session_id.as_str())
                .with("itemId", params.item_id.as_str())
                .with("outputRef", params.output_ref.as_str())
        })?;
        let unavailable = |availability: &str| {
            Refusal::new(errors::OUTPUT_UNAVAILABLE, "the stored output cannot be read")
                .with("availability", availability)
                .with("itemId", params.item_id.as_str())
                .with("outputRef", params.output_ref.as_str())
        };
        let stored = find(held.log(), output.sequence).map_err(|_| unavailable("accessFailed"))?;
        let stored = stored.ok_or_else(|| unavailable("missing"))?;
        // All that this host stores is text; a page of it may not grow in JSON beyond a frame.
        let limit = length.min(call.host.config.frame_limit.saturating_sub(4096) / 6);
        let content = &stored.content;
        let start = offset.min(content.len());
        if !content.is_char_boundary(start) {
            let aligned = (start..=content.len()).find(|at| content.is_char_boundary(*at)).unwrap_or(content.len());
            return Err(Refusal::invalid_params("`offsetBytes` is inside a character")
                .with("sessionId", params.session_id.as_str())
                .with("alignedNextOffset", aligned));
        }
        let mut end = start.saturating_add(limit).min(content.len());
        while !content.is_char_boundary(end) {
            end -= 1;
        }
        let page = &content[start..end];
        if page.is_empty() && start < content.len() && limit < length {
            return Err(Refusal::internal("not one character of the output fits a frame")
                .of_kind("outputResultTooLarge")
                .with("sessionId", params.session_id.as_str())
                .with("limitBytes", call.host.config.frame_limit));
        }
        Ok(Reply::Result(from_value(json!({
            "content": page, "encoding": "utf8", "mediaType": stored.media_type,
            "offsetBytes": start, "byteLen": page.len(), "eof": end == content.len(),
        }))?))
    }
}

/// The record of a stored output, as long as it is where the state says; the log may have been damaged since.
fn find(log: &Log, sequence: u64) -> std::io::Result<Option<Stored>> {
    let mut found = None;
    let offset = log.offset_of(sequence)?;
    log.scan(offset, |line| {
        if let Line::Record(record, _) = line
            && record.sequence == sequence
            && let Body::Stored(stored) = record.body
        {
            found = Some(stored);
        }
        false
    })?;
    Ok(found)
}
