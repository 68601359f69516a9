//! Tests of the crate.

mod gnu_as;
mod tiles;
mod verify;
