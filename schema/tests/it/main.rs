//! `data`: what the committed files must hold, derived again from themselves. `reading`: what the library makes of
//! files, good and bad. `instances`: values made from definitions. Comparison with the sources of the data is in `tests/peers`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests stop at the first surprise, as tests do")]

mod data;
#[cfg(feature = "instances")]
mod instances;
mod reading;
