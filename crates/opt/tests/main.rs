//! Tests of the crate.

mod applications;
mod growth;
mod implied;
mod induction;
mod inline;
mod known_bits;
mod large_loops;
mod loop_memory;
mod matcher;
mod range_tests;
mod store_to_load_forwarding;
mod strength_reduction;
mod sums;
mod unroll;
