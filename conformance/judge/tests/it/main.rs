//! Tests of the judge as a library.

mod format;
mod frames;
mod mutate;
mod reference;
mod soundness;
