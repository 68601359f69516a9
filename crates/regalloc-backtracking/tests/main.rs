//! Tests of the crate.

mod budget;
mod conformance;
mod joins;
mod phases;
mod regions;
mod seeds;
