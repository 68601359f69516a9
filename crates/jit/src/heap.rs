//! A heap whose end is the end of the process, for command line tools.
//!
//! If the system refuses a request for memory, Rust's runtime aborts: the program dies of a signal, perhaps with a backtrace.
//! A tool has nothing to save, and ends with a line of text instead.
//!
//! Sound because: every request is passed to the system's heap unchanged; if that refuses one, the process ends.

use crate::system::{Host, System as _};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The heap of the system, which never refuses: if there is no more memory, the process ends with a message on standard error.
///
/// ```
/// #[global_allocator]
/// static HEAP: kingpost_jit::ToolHeap = kingpost_jit::ToolHeap::new("tool", 3);
///
/// assert_eq!(vec![1; 1000].len(), 1000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ToolHeap {
    program: &'static str,
    status: u8,
}

impl ToolHeap {
    /// Returns the heap of a program, which ends with this exit status if there is no more memory.
    pub const fn new(program: &'static str, status: u8) -> ToolHeap {
        ToolHeap { program, status }
    }

    /// Returns the address of the granted memory. Ends the process if the request was refused, without a need for memory.
    #[inline]
    fn granted(&self, address: *mut u8, bytes: usize) -> *mut u8 {
        if address.is_null() {
            self.end(bytes);
        }
        address
    }

    /// Writes the message and ends the process.
    #[cold]
    fn end(&self, bytes: usize) -> ! {
        let mut text = [0_u8; 120];
        let mut left = &mut text[..];
        // A longer text is cut off.
        _ = writeln!(left, "{}: out of memory: the system refuses {bytes} bytes", self.program);
        let length = 120 - left.len();
        Host::end(&text[..length], self.status)
    }
}

// SAFETY: the system's heap does what the trait asks for, and null is never returned.
unsafe impl GlobalAlloc for ToolHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        self.granted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        self.granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller; the system's heap made what this one did.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: promised by the caller; the system's heap made what this one did.
        self.granted(unsafe { System.realloc(address, layout, bytes) }, bytes)
    }
}
