//! Addresses of the process: its symbols, symbols of system libraries, and a routine of this crate.

use crate::system::{Host, System};
use std::ffi::CString;

/// Returns the address of a symbol that this process or one of its shared libraries exports.
pub fn process_symbol(name: &str) -> Option<usize> {
    Host::symbol(&CString::new(name).ok()?)
}

/// Returns the address of a routine of the compiler's library or the mathematics library. The process need not be
/// linked with them. They stay loaded.
pub(crate) fn system_routine(name: &str) -> Option<usize> {
    Host::routine(&CString::new(name).ok()?)
}

/// Returns the address of a routine that touches each page of the `eax` bytes below the caller's stack pointer. It
/// changes only `rax` and `r11`, as the calling convention `probestack` requires.
#[cfg(target_arch = "x86_64")]
pub(crate) fn probestack() -> Option<usize> {
    // SAFETY: the body is complete. It reads only memory where the caller is about to have its frame, and returns.
    #[unsafe(naked)]
    extern "C" fn routine() {
        core::arch::naked_asm!(
            "lea r11, [rsp + 8]",
            "2: sub r11, 4096",
            "sub rax, 4096",
            "jb 3f",
            "test byte ptr [r11], 0",
            "jmp 2b",
            // Less than a page is left: `rax` is the number of bytes minus a page.
            "3: sub r11, rax",
            "test byte ptr [r11], 0",
            "ret",
        )
    }
    Some(routine as *const () as usize)
}

/// Returns `None`, because code for other targets does not call the routine.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn probestack() -> Option<usize> {
    None
}
