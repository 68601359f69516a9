//! Tests of the crate.

mod a64;
mod independence;
#[cfg(target_arch = "x86_64")]
mod x64;
