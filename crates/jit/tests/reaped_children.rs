//! A process may be started such that it ignores the ends of its children; then there is no status to wait for.
#![allow(unsafe_code, reason = "how signals are handled is changed")]
#![cfg(target_os = "linux")]

use kingpost_jit::isolate::{Ending, IsolatedCall, run};

extern "C" fn nothing(_: usize) {}

#[test]
fn calls_end_although_no_status_is_kept() {
    // SAFETY: no handler is installed, and this is the process's only test.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let call = IsolatedCall { function: nothing as *const () as usize, argument: 0 };
    assert_eq!(run(&[], &[call, call], &mut [], 10), Ok(vec![Ending::Returned; 2]));
}
