//! Descriptions of frames for the unwinder of Windows.

use crate::windows_frame::WindowsUnwinding;
use crate::{windows_aarch64, windows_x64};
use kingpost_mach::FunctionView;
use target_lexicon::Architecture;

/// Returns the description of a function for a machine; `None` if the function has no frame. With handlers, it is a
/// record that says that the address of a routine for exceptions follows, and what the routine reads.
///
/// # Errors
/// If the format does not describe a construct of the function, which the error names.
pub fn windows_unwinding(
    architecture: Architecture,
    function: &FunctionView<'_>,
    has_handlers: bool,
) -> Result<Option<WindowsUnwinding>, &'static str> {
    match architecture {
        Architecture::X86_64 => Ok(windows_x64::unwind_info(function, has_handlers)?.map(WindowsUnwinding::Record)),
        _ => windows_aarch64::unwinding(function, has_handlers),
    }
}
