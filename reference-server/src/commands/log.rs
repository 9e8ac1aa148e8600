//! The raw log: `log/*` (experimental). Everything is real: the records of `session.jsonl`, and its lines.
//!
//! Nothing is ever pruned, so −32061 has no cause here. A page has at most [`PAGE_LIMIT`] records; no source states a bound.

mod physical;
mod streams;

use msp_types::Call as _;
use msp_types::msp::methods::{
    LogPage, LogPhysicalFiles, LogPhysicalSubscribe, LogPhysicalUnsubscribe, LogStreams, LogSubscribe, LogUnsubscribe,
};
use msp_types::msp::{
    LogPageParams, LogPageResult, LogStreamsParams, LogStreamsResult, LogSubscribeParams, LogSubscribeResult,
    LogUnsubscribeParams, LogUnsubscribeResult,
};
use serde_json::{Value, json};

pub use self::streams::{Streams, read as read_streams};
use super::{HostCall, HostMethod, Method, Reply, from_value, method, to_value};
use crate::refusal::Refusal;
use crate::session::followers::{RecordFollower, envelope, position, stream};

/// What this family has.
pub const METHODS: &[Method] = &[
    method::<LogStreams>(),
    method::<LogPage>(),
    method::<LogSubscribe>(),
    method::<LogUnsubscribe>(),
    method::<LogPhysicalFiles>(),
    method::<LogPhysicalSubscribe>(),
    method::<LogPhysicalUnsubscribe>(),
];

/// Most records of a page.
pub const PAGE_LIMIT: i64 = 1000;

impl HostMethod for LogStreams {
    fn serve(params: LogStreamsParams, call: &HostCall<'_>) -> Result<Reply<LogStreamsResult>, Refusal> {
        let readable = call.host.readable(&params.session_id)?;
        let streams = streams::read(readable.hold().log())?;
        Ok(Reply::Result(from_value(json!({ "streams": streams.rows() }))?))
    }
}

impl HostMethod for LogPage {
    fn serve(params: LogPageParams, call: &HostCall<'_>) -> Result<Reply<LogPageResult>, Refusal> {
        let missing = |member: &str| Refusal::invalid_params(format!("missing field `{member}`"));
        let session_id = params.session_id.ok_or_else(|| missing("sessionId"))?;
        let asked = to_value(&params.stream.ok_or_else(|| missing("stream"))?)?;
        let limit = params.limit.ok_or_else(|| missing("limit"))?;
        if !(1..=PAGE_LIMIT).contains(&limit) {
            return Err(Refusal::invalid_params(format!("`limit` is not between 1 and {PAGE_LIMIT}")));
        }
        let readable = call.host.readable(&session_id)?;
        let held = readable.hold();
        let streams = streams::read(held.log())?;
        let after = match &params.from {
            Some(from) => streams.find(&asked, &to_value(from)?)?,
            None => streams.check(&asked).map(|()| 0)?,
        };
        let room = call.host.config.frame_limit / 2;
        let (mut rows, mut bytes, mut last, mut more) = (Vec::new(), 0, Value::Null, false);
        streams::visit(held.log(), &asked, after, |record| {
            let row = envelope(record);
            bytes += row.to_string().len();
            more = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= limit || (bytes > room && !rows.is_empty());
            if !more {
                last = position(record);
                rows.push(row);
            }
            !more
        })?;
        let next = if more { json!({ "after": last, "stream": asked }) } else { Value::Null };
        Ok(Reply::Result(from_value(json!({ "records": rows, "nextCursor": next }))?))
    }
}

impl HostMethod for LogSubscribe {
    fn serve(params: LogSubscribeParams, call: &HostCall<'_>) -> Result<Reply<LogSubscribeResult>, Refusal> {
        let loaded = call.host.loaded(&params.session_id)?;
        let mut core = loaded.core();
        let asked = to_value(&params.stream)?;
        let streams = streams::read(&core.log)?;
        streams.check(&asked)?;
        let tail = streams.tail(&asked);
        let after = params.after.as_ref().map(to_value).transpose()?;
        let from = after.as_ref().map(|after| streams.find(&asked, after)).transpose()?;
        let id = next_id(call);
        let connection = call.caller.connection.clone();
        let mut result = json!({ "subscriptionId": id, "tail": tail });
        connection.respond_to(Self::NAME, call.id, &mut result, &call.caller.handshake);
        let delivered = after.unwrap_or(tail);
        let mut follower = RecordFollower { id, connection, stream: asked.clone(), delivered, hole: false };
        if let Some(from) = from {
            streams::visit(&core.log, &asked, from, |record| {
                follower.tell(record, call.host);
                true
            })?;
        }
        core.followers.follow_records(follower);
        Ok(Reply::Sent)
    }
}

impl HostMethod for LogUnsubscribe {
    fn serve(params: LogUnsubscribeParams, call: &HostCall<'_>) -> Result<Reply<LogUnsubscribeResult>, Refusal> {
        for session in call.host.sessions() {
            session.core().followers.leave_records(params.subscription_id, &call.caller.connection);
        }
        Ok(Reply::Result(LogUnsubscribeResult::new()))
    }
}

/// The next number of a subscription, on whatever connection.
fn next_id(call: &HostCall<'_>) -> i64 {
    let mut shelves = call.host.shelves.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let last = shelves.entry("logSubscriptions").or_insert_with(|| 0.into());
    let id = last.as_i64().unwrap_or(0) + 1;
    *last = id.into();
    id
}

/// The stream of a record, and its place there, for those who read whole logs.
pub fn place(record: &crate::record::Record) -> (Value, Value) {
    (stream(record), position(record))
}
