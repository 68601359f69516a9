//! Tests of AArch64.

mod emulated;
mod forms;
mod scalars;
mod states;
mod vectors;
mod words;
