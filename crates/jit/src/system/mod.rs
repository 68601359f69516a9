//! The operating system: pages, symbols, and the end of the process.
//!
//! [`System`] is all that the rest of the crate knows about the system. Each system has one file.

#[cfg(all(target_os = "macos", target_arch = "aarch64"))]
mod apple_silicon;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::Unix as Host;
#[cfg(windows)]
pub(crate) use windows::Windows as Host;

use std::ffi::CStr;
use std::ptr::with_exposed_provenance_mut;

/// Permitted access to pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Read,
    ReadWrite,
    /// Read and execute.
    Execute,
    /// Read and execute. Processors that support it check that indirect branches go to landing pads.
    ExecuteLandingPads,
}

/// An operating system. Sizes are in bytes, and ranges of pages are whole pages.
pub(crate) trait System {
    /// Whether code has reservations of its own, whose pages are neither opened nor protected.
    const HAS_CODE_MEMORY: bool = false;

    /// Returns the size of a page.
    fn page_size() -> usize;

    /// Reserves addresses, which are not accessible. Returns the first one; `None` if the system refuses.
    fn reserve(bytes: usize) -> Option<usize>;

    /// Ends a reservation.
    ///
    /// # Safety
    /// The range must be what [`System::reserve`] returned, and must not be in use.
    unsafe fn release(start: usize, bytes: usize);

    /// Makes pages of a reservation readable and writable. They are zero if they were never used or were discarded.
    /// Returns `false` if the system refuses.
    ///
    /// # Safety
    /// The pages must belong to the caller, who must not hold a slice of them.
    unsafe fn open(start: usize, bytes: usize) -> bool;

    /// Sets the access to opened pages. Returns `false` if the system refuses.
    ///
    /// # Safety
    /// The pages must belong to the caller, who must not hold a slice of them.
    unsafe fn protect(start: usize, bytes: usize, access: Access) -> bool;

    /// Frees the memory of opened pages, whose addresses stay reserved. Where that saves mappings, the pages have `access`
    /// afterwards, and `is_protected` says that they have it already. Returns `false` if the system refuses.
    ///
    /// # Safety
    /// The pages must belong to the caller, who must not hold a slice of them.
    unsafe fn discard(start: usize, bytes: usize, access: Access, is_protected: bool) -> bool;

    /// Reserves addresses for code, as near to an address as possible, for systems that have memory of its own for code.
    fn reserve_code(bytes: usize, near: usize) -> Option<usize> {
        let _ = near;
        Self::reserve(bytes)
    }

    /// Copies code to pages of a reservation of [`System::reserve_code`], whose code all threads can execute afterwards.
    ///
    /// # Safety
    /// The pages must belong to the caller, who must not hold a slice of them, and no thread may execute them.
    unsafe fn write_code(start: usize, code: &[u8]) {
        // SAFETY: the caller promises it, and the pages are writable while the bytes are copied.
        unsafe {
            if Self::open(start, code.len()) {
                std::ptr::copy_nonoverlapping(code.as_ptr(), with_exposed_provenance_mut(start), code.len());
                Self::protect(start, code.len(), Access::Execute);
            }
        }
    }

    /// Frees the memory of pages of a reservation of [`System::reserve_code`]. Returns `false` if the system refuses.
    ///
    /// # Safety
    /// The pages must belong to the caller, who must not hold a slice of them, and no thread may execute them.
    unsafe fn discard_code(start: usize, bytes: usize) -> bool {
        // SAFETY: the caller promises it.
        unsafe { Self::discard(start, bytes, Access::Execute, true) }
    }

    /// Returns the address of a symbol that this process or one of its shared libraries exports.
    fn symbol(name: &CStr) -> Option<usize>;

    /// Returns the address of a routine of the compiler's library or the mathematics library. The process need not be
    /// linked with them. They stay loaded.
    fn routine(name: &CStr) -> Option<usize>;

    /// Writes a text to standard error and ends the process, without a need for memory.
    fn end(text: &[u8], status: u8) -> !;
}
