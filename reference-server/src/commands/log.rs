//! The raw log: `log/*` (experimental). Everything is real: the records of `session.jsonl`, and its lines.
//!
//! Nothing is ever pruned, so −32061 has no cause here. A page has at most [`PAGE_LIMIT`] records; no source states a bound.

mod physical;
mod streams;

use std::sync::Arc;

use msp_types::Call as _;
use msp_types::msp::methods::{
    LogPage, LogPhysicalFiles, LogPhysicalSubscribe, LogPhysicalUnsubscribe, LogStreams, LogSubscribe, LogUnsubscribe,
};
use msp_types::msp::{
    LogPageParams, LogPageResult, LogStreamsParams, LogStreamsResult, LogSubscribeParams, LogSubscribeResult,
    LogUnsubscribeParams, LogUnsubscribeResult,
};
use serde_json::{Value, json};

use self::streams::Anchor;
pub use self::streams::{Streams, read as read_streams};
use super::{HostCall, HostMethod, Method, Reply, from_value, method, to_value};
use crate::connection::Caller;
use crate::log::{Line, Log};
use crate::record::Record;
use crate::refusal::Refusal;
use crate::session::Loaded;
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
        let log = readable.hold().log().snapshot();
        let read = async move { from_value(json!({ "streams": streams::read(&log).await?.rows() })) };
        Ok(Reply::Later(Box::pin(read)))
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
        let from = params.from.as_ref().map(to_value).transpose()?;
        let readable = call.host.readable(&session_id)?;
        let held = readable.hold();
        streams::check(held.state(), &asked)?;
        let log = held.log().snapshot();
        let limit = usize::try_from(limit).unwrap_or(1);
        Ok(Reply::Later(Box::pin(page(log, asked, from, limit, call.host.config.frame_limit / 2))))
    }
}

/// Records of a stream behind a position, as many as are asked for, or as fit so many bytes.
async fn page(
    log: Log,
    asked: Value,
    from: Option<Value>,
    limit: usize,
    room: usize,
) -> Result<LogPageResult, Refusal> {
    let mut anchor = from.map(|from| Anchor::new(asked.clone(), from));
    let (mut rows, mut bytes, mut last, mut more) = (Vec::new(), 0, Value::Null, false);
    let mut begun = anchor.is_none();
    streams::scan(&log, |record| {
        if !begun {
            begun = anchor.as_mut().is_none_or(|anchor| anchor.look(record));
            return true;
        }
        if stream(record) != asked {
            return true;
        }
        let row = envelope(record);
        bytes += row.to_string().len();
        more = rows.len() >= limit || (bytes > room && !rows.is_empty());
        if !more {
            last = position(record);
            rows.push(row);
        }
        !more
    })
    .await?;
    if let Some(anchor) = anchor {
        anchor.found()?;
    }
    let next = if more { json!({ "after": last, "stream": asked }) } else { Value::Null };
    from_value(json!({ "records": rows, "nextCursor": next }))
}

impl HostMethod for LogSubscribe {
    fn serve(params: LogSubscribeParams, call: &HostCall<'_>) -> Result<Reply<LogSubscribeResult>, Refusal> {
        let loaded = call.host.loaded(&params.session_id)?;
        let stream = to_value(&params.stream)?;
        let after = params.after.as_ref().map(to_value).transpose()?;
        streams::check(&loaded.core().state, &stream)?;
        let (caller, request, id) = (call.caller.clone(), call.id.clone(), next_id(call));
        tokio::spawn(async move {
            let asked = Subscription { id, stream, after };
            if let Err(refusal) = subscribe(&loaded, asked, &caller, &request).await {
                caller.connection.respond(&request, Err(refusal.to_error()));
            }
        });
        Ok(Reply::Sent)
    }
}

/// What `log/subscribe` asks for.
struct Subscription {
    id: i64,
    stream: Value,
    after: Option<Value>,
}

/// Finds the place, answers, and goes on from there: a replay comes as fast as it is read.
async fn subscribe(loaded: &Loaded, asked: Subscription, caller: &Caller, request: &Value) -> Result<(), Refusal> {
    let Subscription { id, stream: wanted, after } = asked;
    let mut anchor = after.clone().map(|after| Anchor::new(wanted.clone(), after));
    let mut tail = Value::Null;
    let mut look = |record: &Record| {
        if let Some(anchor) = &mut anchor {
            anchor.look(record);
        }
        if stream(record) == wanted {
            tail = position(record);
        }
        true
    };
    let log = loaded.core().log.snapshot();
    streams::scan(&log, &mut look).await?;
    let mut core = loaded.core();
    if core.has_ended() {
        return Err(Refusal::session_not_loaded(&loaded.id));
    }
    // What was appended meanwhile.
    let rest =
        core.log.scan(log.length(), |line| if let Line::Record(record, _) = line { look(&record) } else { true });
    rest.map_err(|error| Refusal::internal(format!("the log could not be read: {error}")))?;
    let behind = anchor.map(Anchor::found).transpose()?;
    let mut result = json!({ "subscriptionId": id, "tail": tail });
    caller.connection.respond_to(LogSubscribe::NAME, request, &mut result, &caller.handshake);
    let delivered = after.unwrap_or(tail);
    core.follow_records(RecordFollower::new(id, Arc::clone(&caller.connection), wanted, delivered, behind));
    Ok(())
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
