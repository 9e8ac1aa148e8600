//! Feedback: `feedback/submit` (MISC-8). The report is written into a bundle on this machine and goes nowhere: there is no key for
//! an intake, and the receipt says so (`noCredential`). A session record is therefore never sent.

use std::path::{Path, PathBuf};

use msp_types::msp::methods::FeedbackSubmit;
use msp_types::msp::{FeedbackClassification, FeedbackSubmitParams, FeedbackSubmitResult};
use serde_json::json;

use super::{HostCall, HostMethod, Method, Reply, from_value, method, to_value};
use crate::host::Host;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[method::<FeedbackSubmit>()];

impl HostMethod for FeedbackSubmit {
    fn serve(params: FeedbackSubmitParams, call: &HostCall<'_>) -> Result<Reply<FeedbackSubmitResult>, Refusal> {
        let attach = params.attach_session_record == Some(true);
        check(&params, attach)?;
        let log = match &params.session_id {
            Some(session_id) => {
                let readable = call.host.readable(session_id)?;
                let held = readable.hold();
                Some(PathBuf::from(call.host.shown_path(held.log())))
            }
            None => None,
        };
        let folder = folder(call.host, log.as_deref());
        let bundle = folder.join(format!("feedback-{}.json", call.host.mint.lock().uuid()));
        let text = to_value(&params)?.to_string();
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&bundle, text))
            .map_err(|error| Refusal::internal(format!("the bundle could not be written: {error}")))?;
        let mut receipt = json!({
            "outcome": "noCredential", "bundlePath": bundle,
            "sessionRecordAttached": false, "sessionRecordTruncated": false,
        });
        if attach {
            receipt["sessionNote"] = "The session's record was not sent, because nothing was.".into();
        }
        Ok(Reply::Result(from_value(receipt)?))
    }
}

fn check(params: &FeedbackSubmitParams, attach: bool) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(Refusal::invalid_params(message));
    if params.classification == FeedbackClassification::Bug && params.note.trim().is_empty() {
        return refuse("`note` is empty, and the class is `bug`");
    }
    let artifacts = params.client_artifacts_path.as_ref().map(PathBuf::from);
    if artifacts.is_some_and(|path| !path.is_absolute() || !path.is_file()) {
        return refuse("`clientArtifactsPath` is no absolute path of a file");
    }
    if !attach {
        return Ok(());
    }
    let with_record = matches!(params.classification, FeedbackClassification::Bug | FeedbackClassification::BadResult);
    match (params.with_files, &params.session_id, with_record) {
        (false, ..) => refuse("`attachSessionRecord` needs `withFiles`"),
        (_, None, _) => refuse("`attachSessionRecord` needs `sessionId`"),
        (.., false) => refuse("`attachSessionRecord` goes with the classes `bug` and `badResult`"),
        _ => Ok(()),
    }
}

/// Where the bundle goes: beside the log of its session, else into a folder of the host; of an ephemeral one, for a while.
fn folder(host: &Host, log: Option<&Path>) -> PathBuf {
    let beside = log.and_then(Path::parent).filter(|folder| folder.is_absolute());
    let of_host = || match &host.config.sessions_dir {
        Some(dir) => std::path::absolute(dir).unwrap_or_else(|_| dir.clone()).join("feedback"),
        None => std::env::temp_dir().join(format!("{}-feedback", crate::NAME)),
    };
    beside.map_or_else(of_host, Path::to_owned)
}
