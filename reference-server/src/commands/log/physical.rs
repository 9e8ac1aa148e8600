//! The file of the log, line by line: `log/physicalFiles`, `physicalSubscribe`, `physicalUnsubscribe`.
//!
//! `startOffset` and `endOffset` of a chunk are those of its whole line, line feed included; chunks count from 0.

use msp_types::Call as _;
use msp_types::msp::methods::{LogPhysicalFiles, LogPhysicalSubscribe, LogPhysicalUnsubscribe};
use msp_types::msp::{
    LogPhysicalFilesParams, LogPhysicalFilesResult, LogPhysicalSubscribeParams, LogPhysicalSubscribeResult,
    LogPhysicalUnsubscribeParams, LogPhysicalUnsubscribeResult,
};
use serde_json::json;

use crate::commands::{HostCall, HostMethod, Reply, from_value};
use crate::log::Log;
use crate::refusal::Refusal;
use crate::session::followers::LineFollower;

/// The file, relative to the folder of its session.
const FILE: &str = "session.jsonl";
/// Bytes of a chunk: the default, and the bounds. A character takes up to four.
const CHUNK: (i64, i64, i64) = (64 * 1024, 4, 1024 * 1024);
/// Greatest ordinal.
const LAST_ORDINAL: u64 = 1 << 63;

impl HostMethod for LogPhysicalFiles {
    fn serve(params: LogPhysicalFilesParams, call: &HostCall<'_>) -> Result<Reply<LogPhysicalFilesResult>, Refusal> {
        let readable = call.host.readable(&params.session_id)?;
        let size = readable.hold().log().length();
        let file = json!({ "sessionId": params.session_id, "relPath": FILE, "sizeBytes": size });
        Ok(Reply::Result(from_value(json!({ "files": [file] }))?))
    }
}

impl HostMethod for LogPhysicalSubscribe {
    fn serve(
        params: LogPhysicalSubscribeParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<LogPhysicalSubscribeResult>, Refusal> {
        let (default, least, most) = CHUNK;
        let chunk = params.chunk_bytes.unwrap_or(default);
        if !(least..=most).contains(&chunk) {
            return Err(Refusal::invalid_params(format!("`chunkBytes` is not between {least} and {most}")));
        }
        let ordinal = params.after.next_ordinal;
        if !(1..=LAST_ORDINAL).contains(&ordinal) {
            return Err(Refusal::invalid_params("`after.nextOrdinal` is not between 1 and 2^63"));
        }
        let loaded = call.host.loaded(&params.session_id)?;
        let mut core = loaded.core();
        let offset = boundary(call, &core.log, params.after.byte_offset)?;
        let id = super::next_id(call);
        let mut result = json!({ "subscriptionId": id, "relPath": FILE, "tailOffset": core.log.length() });
        let connection = call.caller.connection.clone();
        connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
        let chunk = usize::try_from(chunk).unwrap_or(1);
        core.follow_lines(LineFollower::new(id, connection, offset, ordinal, chunk));
        Ok(Reply::Sent)
    }
}

/// The offset, if a line begins there.
fn boundary(call: &HostCall<'_>, log: &Log, offset: i64) -> Result<u64, Refusal> {
    let refused = || Refusal::invalid_params("`after.byteOffset` is neither 0 nor right behind a line feed");
    let offset = u64::try_from(offset).map_err(|_| refused())?;
    let Some(before) = offset.checked_sub(1) else { return Ok(0) };
    let byte = call.host.store.layer.read(&log.path(), before, 1).unwrap_or_default();
    if offset <= log.length() && byte == b"\n" { Ok(offset) } else { Err(refused()) }
}

impl HostMethod for LogPhysicalUnsubscribe {
    fn serve(
        params: LogPhysicalUnsubscribeParams,
        call: &HostCall<'_>,
    ) -> Result<Reply<LogPhysicalUnsubscribeResult>, Refusal> {
        for session in call.host.sessions() {
            session.core().followers.leave_lines(params.subscription_id, &call.caller.connection);
        }
        Ok(Reply::Result(LogPhysicalUnsubscribeResult::new()))
    }
}
