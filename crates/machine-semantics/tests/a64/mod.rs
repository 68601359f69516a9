//! Tests of AArch64.

mod emulated;
mod forms;
mod open;
mod scalars;
mod states;
mod vectors;
mod words;
