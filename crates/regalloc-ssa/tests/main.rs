//! Tests of the crate.

mod classes;
mod conformance;
mod phases;
