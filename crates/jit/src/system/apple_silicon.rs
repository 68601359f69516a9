//! Memory for code on Apple silicon (Apple, "Porting just-in-time compilers to Apple silicon").
//!
//! A mapping with `MAP_JIT` is readable, writable and executable. Each thread may either write to all such mappings or
//! execute them, which it chooses by `pthread_jit_write_protect_np`. A program with the hardened runtime needs the
//! entitlement `com.apple.security.cs.allow-jit` for such mappings.

use std::ptr::{copy_nonoverlapping, with_exposed_provenance_mut};

/// Reserves addresses for code, as near to an address as the system chooses. It cannot replace another mapping.
pub(super) fn reserve(bytes: usize, near: usize) -> Option<usize> {
    let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_JIT;
    // SAFETY: an anonymous private mapping at an address of the system's choice does not change existing memory.
    let start = unsafe { libc::mmap(with_exposed_provenance_mut(near), bytes, access, flags, -1, 0) };
    (start != libc::MAP_FAILED).then(|| start.expose_provenance())
}

/// Copies code to its place. This thread executes no code in such mappings meanwhile, and may do so afterwards.
///
/// # Safety
/// The caller must own the bytes, and no thread may execute them.
pub(super) unsafe fn write(start: usize, code: &[u8]) {
    // SAFETY: the caller promises it, and the bytes are writable for this thread while they are copied.
    unsafe {
        libc::pthread_jit_write_protect_np(0);
        copy_nonoverlapping(code.as_ptr(), with_exposed_provenance_mut(start), code.len());
        libc::pthread_jit_write_protect_np(1);
    }
}

/// Returns memory to the system when it needs it. The addresses stay reserved.
///
/// # Safety
/// The caller must own the bytes, and no thread may execute them.
pub(super) unsafe fn discard(start: usize, bytes: usize) {
    // If the system refuses, the memory is in use until it is written again.
    // SAFETY: the caller promises it.
    unsafe { libc::madvise(with_exposed_provenance_mut(start), bytes, libc::MADV_FREE) };
}
