//! Tests of the crate.

mod errors;
mod mutations;
mod round_trip;
