//! Tests of AArch64.

mod emulated;
mod errors;
mod forms;
mod meaning;
mod open;
mod scalars;
mod states;
mod vectors;
mod words;

pub(crate) use emulated::{all_forms, is_missing};
