//! Tests of AArch64.

mod emulated;
mod forms;
mod states;
mod words;
