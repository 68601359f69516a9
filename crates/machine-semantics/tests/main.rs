//! Tests of the crate.

mod a64;
mod cases;
mod independence;
mod meanings;
mod plants;
#[cfg(target_arch = "x86_64")]
mod x64;
