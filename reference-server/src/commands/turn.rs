//! Turns: start, steer, interrupt, cancel, unqueue (TURN).

mod input;
mod start;
mod stop;

use msp_types::msp::methods::{TurnCancel, TurnInterrupt, TurnStart, TurnSteer, TurnUnqueue};

use super::{Method, command};

pub(crate) use self::input::is_base64;
pub use self::input::read_input;

/// What this family has.
pub const METHODS: &[Method] = &[
    command::<TurnStart>(),
    command::<TurnSteer>(),
    command::<TurnInterrupt>(),
    command::<TurnCancel>(),
    command::<TurnUnqueue>(),
];
