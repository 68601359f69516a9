//! Tests of the crate.

mod assembly;
mod book;
mod cache;
mod check;
mod debugger;
mod defaults;
mod interface;
mod limits;
mod options;
mod paths;
mod proofs;
