//! The input of a submit: parts in order, checked, and what of them is kept (TURN-2).

use msp_types::msp::{TurnInputPart, TurnInputPartType};
use serde_json::{Value, json};

use crate::commands::{media, skill};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::state::Submit;

/// Reads the parts of a submit into `submit`. `skills` says whether a skill part has a place here (`turn/start` only).
///
/// # Errors
/// −32602, −32032 for an unknown skill, −32038 for an upload that is not complete.
pub fn read_input(host: &Host, parts: &[TurnInputPart], skills: bool, submit: &mut Submit) -> Result<(), Refusal> {
    let count = |kind: TurnInputPartType| parts.iter().filter(|part| part.type_ == kind).count();
    let (skill_count, images) = (count(TurnInputPartType::Skill), count(TurnInputPartType::Image));
    if skill_count > 0 && (!skills || skill_count > 1 || skill_count + images < parts.len()) {
        return Err(Refusal::invalid_params(
            "`input`: one `skill` part at most, of `turn/start`, and beside `image` parts only",
        ));
    }
    let mut texts = Vec::new();
    for part in parts {
        match part.type_ {
            TurnInputPartType::Text => texts.push(need(part.text.as_ref(), "text")?.as_str()),
            TurnInputPartType::Image => submit.attachments.push(image(part)?),
            TurnInputPartType::Skill => {
                let selector = need(part.selector.as_ref(), "selector")?;
                skill::check(host, selector, part.source.as_ref())?;
                submit.skill = Some(selector.clone());
            }
            TurnInputPartType::Video => {
                let upload_id = need(part.upload_id.as_ref(), "uploadId")?;
                media::check_upload(host, upload_id)?; // attachments tell of images only (ITEM-12)
            }
        }
    }
    submit.text = texts.join("\n");
    Ok(())
}

/// The metadata of an image; its bytes go no further (ITEM-49).
fn image(part: &TurnInputPart) -> Result<Value, Refusal> {
    let media_type = need(part.media_type.as_ref(), "mediaType")?;
    let data = need(part.base64_data.as_ref(), "base64Data")?;
    if !is_base64(data) {
        return Err(Refusal::invalid_params("`input`: `base64Data` is empty or no base64"));
    }
    let mut attachment = json!({ "type": "image", "mediaType": media_type });
    if let (Some(width), Some(height)) = (part.width, part.height) {
        attachment["width"] = width.into();
        attachment["height"] = height.into();
    }
    Ok(attachment)
}

fn need<'a>(member: Option<&'a String>, name: &str) -> Result<&'a String, Refusal> {
    member.ok_or_else(|| Refusal::invalid_params(format!("`input`: a part lacks its `{name}`")))
}

/// Whether a text is base64 of at least one byte, padded.
pub(crate) fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    !body.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}
