//! Tests of the crate.

mod conformance;
mod small;
