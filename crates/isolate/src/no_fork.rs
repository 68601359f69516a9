//! Calls on systems that cannot copy a process: all are refused.

use crate::call::{Ending, IsolatedCall};
use crate::error::IsolateError;

/// Makes no call.
///
/// # Safety
/// None is needed here.
pub(crate) unsafe fn call_in_children(_calls: &[IsolatedCall], _seconds: u32) -> Result<Vec<Ending>, IsolateError> {
    Err(IsolateError::Unsupported)
}
