//! Memory that a process shares with its children.
//!
//! Sound because: a [`SharedMemory`] owns its mapping from `mmap` to `munmap`. Compiled code may write to it at any time, also
//! on behalf of calls that were not given it, so no reference into the mapping exists: its words are copied by atomic
//! operations.

use crate::error::IsolateError;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory that a process shares with its children: a page without access, an accessible part, another page without access.
///
/// The process itself works on a copy of the accessible part: children see what it wrote after [`SharedMemory::publish`],
/// and [`run`](crate::run) does that, and takes back what the children wrote, for the memory that it is given.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    page: usize,
    copy: Vec<u8>,
}

// SAFETY: the mapping belongs to the value alone, and its bytes are reached by atomic operations only.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// Maps at least `len` bytes, all zero.
    ///
    /// # Errors
    /// If the system refuses memory.
    pub fn new(len: usize) -> Result<SharedMemory, IsolateError> {
        let error = || IsolateError::Memory { bytes: len };
        let page = page_size().ok_or(IsolateError::Unsupported)?;
        let len = len.max(1).checked_next_multiple_of(page).ok_or_else(error)?;
        let whole = len.checked_add(2 * page).ok_or_else(error)?;
        let base = map(whole).ok_or_else(error)?;
        let memory = SharedMemory { base, page, copy: vec![0; len] };
        // SAFETY: the range lies within the mapping just made.
        if unsafe { open(memory.start(), len) } { Ok(memory) } else { Err(error()) }
    }

    /// Returns the start of the accessible part.
    pub(crate) fn start(&self) -> *mut u8 {
        // SAFETY: the mapping is two pages longer than the accessible part, so one page in is within it.
        unsafe { self.base.as_ptr().add(self.page) }
    }

    /// Returns the address of the accessible part.
    pub fn address(&self) -> usize {
        self.start().expose_provenance()
    }

    /// Returns the copy of the accessible part.
    pub fn bytes(&self) -> &[u8] {
        &self.copy
    }

    /// Returns the copy of the accessible part, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.copy
    }

    /// Makes children that begin from now on see the copy.
    pub fn publish(&mut self) {
        self.each_word(|word, bytes| word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed));
    }

    /// Copies what children wrote that have ended.
    pub(crate) fn take_back(&mut self) {
        self.each_word(|word, bytes| *bytes = word.load(Ordering::Relaxed).to_ne_bytes());
    }

    /// Passes each word of the accessible part to `f`, with its bytes in the copy.
    fn each_word(&mut self, f: impl Fn(&AtomicU64, &mut [u8; size_of::<u64>()])) {
        let start = self.start().cast::<AtomicU64>();
        for (index, bytes) in self.copy.as_chunks_mut().0.iter_mut().enumerate() {
            // SAFETY: the word is mapped, readable, writable and aligned as long as `self` lives.
            f(unsafe { &*start.add(index) }, bytes);
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`, unmapped once.
        unsafe { unmap(self.base, self.copy.len() + 2 * self.page) };
    }
}

/// Returns the size of a page in bytes; `None` if processes cannot be copied on this system.
fn page_size() -> Option<usize> {
    // SAFETY: `sysconf` has no preconditions.
    #[cfg(unix)]
    return Some(usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096));
    #[cfg(not(unix))]
    None
}

/// Maps memory without access that children share; `None` if the system refuses.
fn map(bytes: usize) -> Option<NonNull<u8>> {
    #[cfg(unix)]
    {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: an anonymous mapping at an address of the system's choice touches no existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
    }
    #[cfg(not(unix))]
    {
        let _ = bytes;
        None
    }
}

/// Makes memory readable and writable. Returns `false` if the system refuses.
///
/// # Safety
/// The memory must be of a mapping that belongs to the caller.
unsafe fn open(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: promised by the caller.
    #[cfg(unix)]
    return unsafe { libc::mprotect(start.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 };
    #[cfg(not(unix))]
    {
        let _ = (start, bytes);
        false
    }
}

/// Ends a mapping.
///
/// # Safety
/// It must be what [`map`] returned, and must not be in use.
unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    // SAFETY: promised by the caller.
    #[cfg(unix)]
    unsafe {
        libc::munmap(base.as_ptr().cast(), bytes);
    }
    #[cfg(not(unix))]
    let _ = (base, bytes);
}
