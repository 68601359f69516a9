//! Tests of the crate.

mod branch_ranges;
mod gnu_as;
mod tiles;
