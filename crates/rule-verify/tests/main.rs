//! Tests of the crate.

mod bugs;
mod clif;
mod division;
mod mutants;
mod verdicts;
