//! Tests of the crate.

mod bugs;
mod clif;
mod division;
mod implied;
mod induction;
mod mutants;
mod theorem;
mod verdicts;
