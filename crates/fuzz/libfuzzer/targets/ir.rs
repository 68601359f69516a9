//! Compiled code against the interpreter. The input is only a seed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|seed: u64| {
    if let Err(failure) = kingpost_difftest::ir::run(seed..seed.saturating_add(1)) {
        panic!("{failure}");
    }
});
