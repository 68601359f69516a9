//! A fault planted in an answer: the checker must see what the simulator sees.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for &(_, make) in kingpost_codegen::ALLOCATORS {
        if let Err(failure) = kingpost_testgen::fuzz::fault_on(&mut *make(), bytes) {
            panic!("{failure}");
        }
    }
});
