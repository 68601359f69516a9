//! Any text as CLIF: read, or refused with a position, the same in every way to read it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Err(failure) = kingpost_reader::read_in_every_way(text) {
        panic!("{failure}");
    }
});
