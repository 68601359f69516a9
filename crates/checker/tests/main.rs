//! Tests of the crate.

mod rows;
mod size;
