//! Any text as allocation problems and answers: read, or refused with a position.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Err(failure) = kingpost_testgen::text::read_ra(text) {
        panic!("{failure}");
    }
});
