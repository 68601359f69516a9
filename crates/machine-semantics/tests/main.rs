//! Tests of the crate.

mod a64;
mod independence;
