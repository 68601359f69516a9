//! Tests of the crate.

mod cases;
mod conformance;
mod phases;
mod wimmer_2010;
