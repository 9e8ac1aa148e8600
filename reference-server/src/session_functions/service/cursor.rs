//! Cursors: opaque to callers; standard base64 of a small JSON object.

use data_encoding::BASE64;
use msp_types::session::ListOrder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Answer;
use crate::session_functions::failure::Failure;
use crate::session_functions::store::Position;

/// A place in a listing, tied to its order (SF-LIST-7).
#[derive(Deserialize, Serialize)]
struct OfList {
    o: ListOrder,
    k: i64,
    id: String,
}

/// A place on a path: the last entry of the page before.
#[derive(Deserialize, Serialize)]
struct OfPath {
    id: String,
}

pub(super) fn of_list(order: &ListOrder, position: Position) -> String {
    write(&OfList { o: order.clone(), k: position.key, id: position.id })
}

pub(super) fn of_path(entry_id: &str) -> String {
    write(&OfPath { id: entry_id.to_owned() })
}

/// # Errors
/// `session/invalid_cursor`: malformed, or of another order.
pub(super) fn in_list(cursor: &str, order: &ListOrder) -> Answer<Position> {
    let place: OfList = read(cursor)?;
    if place.o != *order {
        return Err(Failure::cursor(format!("the cursor is of the order `{}`, not of `{order}`", place.o)));
    }
    Ok(Position { key: place.k, id: place.id })
}

/// # Errors
/// `session/invalid_cursor`: malformed.
pub(super) fn in_path(cursor: &str) -> Answer<String> {
    Ok(read::<OfPath>(cursor)?.id)
}

fn write(place: &impl Serialize) -> String {
    BASE64.encode(&serde_json::to_vec(place).unwrap_or_default())
}

fn read<T: DeserializeOwned>(cursor: &str) -> Answer<T> {
    let malformed = || Failure::cursor("the cursor is malformed");
    let bytes = BASE64.decode(cursor.as_bytes()).map_err(|_| malformed())?;
    serde_json::from_slice(&bytes).map_err(|_| malformed())
}
