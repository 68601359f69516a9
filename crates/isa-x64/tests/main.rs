//! Tests of the crate.

mod gnu_as;
mod proofs;
mod tiles;
mod verify;
