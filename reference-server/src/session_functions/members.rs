//! Optional members between their wire form and `Option`: absent and `null` mean the same in requests (SF-WIRE-2), and what has no
//! value is left out of answers (SF-WIRE-4).

use msp_types::Presence;

/// A member that is left out when it has no value.
pub(crate) fn given<T>(value: Option<T>) -> Presence<T> {
    value.map_or(Presence::Absent, Presence::Value)
}

/// A member that is always there, as `null` when it has no value.
pub(crate) fn always<T>(value: Option<T>) -> Presence<T> {
    value.map_or(Presence::Null, Presence::Value)
}

/// The value of a member, taken out of it.
pub(crate) fn taken<T>(member: Presence<T>) -> Option<T> {
    match member {
        Presence::Value(value) => Some(value),
        Presence::Absent | Presence::Null => None,
    }
}
