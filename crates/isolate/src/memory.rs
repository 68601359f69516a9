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
        // SAFETY: `sysconf` has no preconditions.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let error = IsolateError::Memory { bytes: len };
        let len = len.max(1).checked_next_multiple_of(page).ok_or(error.clone())?;
        let whole = len.checked_add(2 * page).ok_or(error.clone())?;
        // SAFETY: an anonymous mapping at an address of the system's choice touches no existing memory.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(error);
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(error.clone())?;
        let memory = SharedMemory { base, page, copy: vec![0; len] };
        // SAFETY: the range lies within the mapping just made.
        let done = unsafe { libc::mprotect(memory.start().cast(), len, libc::PROT_READ | libc::PROT_WRITE) };
        if done == 0 { Ok(memory) } else { Err(error) }
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
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.copy.len() + 2 * self.page) };
    }
}
