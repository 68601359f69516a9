//! Calls of the functions of images.

use crate::call::{Ending, IsolatedCall};
use crate::error::IsolateError;
use crate::memory::SharedMemory;
use crate::process::call_in_children;
use kingpost_jit::Image;

/// Runs `calls` in order in child processes, all of them together for at most about `seconds` of CPU time. The functions are in `images`;
/// `memory` is what the calls share with this process.
///
/// # Errors
/// If a call is of no function in `images`, or the system refuses memory or a process. On systems that cannot copy a process, which are those other than Unix,
/// [`IsolateError::Unsupported`].
pub fn run(
    images: &[&Image],
    calls: &[IsolatedCall],
    memory: &mut [&mut SharedMemory],
    seconds: u32,
) -> Result<Vec<Ending>, IsolateError> {
    let begins = |address| images.iter().any(|image| image.function_at(address).is_some_and(|(_, offset)| offset == 0));
    if let Some(call) = calls.iter().find(|call| !begins(call.function)) {
        return Err(IsolateError::NoFunction { address: call.function });
    }
    memory.iter_mut().for_each(|memory| memory.publish());
    // SAFETY: the functions are in the images, which are borrowed until the last child has ended.
    let endings = unsafe { call_in_children(calls, seconds) };
    memory.iter_mut().for_each(|memory| memory.take_back());
    endings
}
