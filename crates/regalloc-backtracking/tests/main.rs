//! Tests of the crate.

mod budget;
mod conformance;
mod joins;
mod long_blocks;
mod phases;
mod regions;
mod seeds;
