//! A process may be started such that it ignores the ends of its children; then there is no status to wait for.
#![allow(unsafe_code, reason = "how signals are handled is changed")]
#![cfg(target_os = "linux")]

mod image;

use kingpost_isolate::{Ending, IsolatedCall, run};

#[test]
fn calls_end_although_no_status_is_kept() {
    // SAFETY: no handler is installed, and this is the process's only test.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let (image, function) = image::of("function %f(i64) system_v { block0(v0: i64): return }");
    let call = IsolatedCall { function, argument: 0 };
    assert_eq!(run(&[&image], &[call, call], &mut [], 10), Ok(vec![Ending::Returned; 2]));
}
