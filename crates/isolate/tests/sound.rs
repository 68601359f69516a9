//! Safe code cannot break a rule of Rust by the calls that it has made.
#![cfg(target_os = "linux")]

mod image;

use kingpost_isolate::{Ending, IsolateError, IsolatedCall, SharedMemory, run};

const STORE: &str = "function %f(i64) system_v { block0(v0: i64): v1 = iconst.i8 7 store v1, v0 return }";

#[test]
fn only_functions_of_the_images_are_called() {
    let (image, function) = image::of(STORE);
    let (other, other_function) = image::of(STORE);
    for address in [0, 1, usize::MAX, function + 1, other_function] {
        let call = IsolatedCall { function: address, argument: 0 };
        assert_eq!(run(&[&image], &[call], &mut [], 10), Err(IsolateError::NoFunction { address }));
    }
    drop(other);
}

/// Checks that a borrowed slice does not change although a call writes to the memory.
#[test]
fn borrowed_bytes_do_not_change() {
    let (image, function) = image::of(STORE);
    let mut memory = SharedMemory::new(1).unwrap();
    let call = IsolatedCall { function, argument: memory.address() };
    let seen = memory.bytes();
    assert_eq!((run(&[&image], &[call], &mut [], 10), seen[0]), (Ok(vec![Ending::Returned]), 0));
    run(&[&image], &[call], &mut [&mut memory], 10).unwrap();
    assert_eq!(memory.bytes()[0], 7);
}
