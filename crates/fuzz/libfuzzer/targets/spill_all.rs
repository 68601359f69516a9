//! The allocator `spill_all` on problems that the input decides about, judged by checker and simulator.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let make = kingpost_codegen::allocator("spill_all").expect("an allocator has this name");
    if let Err(failure) = kingpost_testgen::fuzz::allocator_on(&mut *make(), bytes) {
        panic!("{failure}");
    }
});
