//! Registration of functions in memory with debuggers, by the interface of gdb and lldb for compilers in the process
//! (Debugging with GDB, "JIT Compilation Interface").
//!
//! The process has a list with one object file in memory for each piece of code. When the list changes, an empty
//! function is called, in which the debugger has a breakpoint. The list and the function are weak symbols, so that
//! all compilers of the process share them. The object file has the names of functions and their unwind information.
//!
//! Soundness: the list is changed under a lock. All links lead to entries in the list, and a [`SymbolFile`] owns each
//! entry until it has removed it. Only debuggers, which are other processes, read the contents of an entry. The
//! interface has no lock across compilers. If another compiler of the process registers code for debuggers, the
//! process must not let both do it at the same time.

use crate::symbol_file::{DebugSection, NamedCode, object_files};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Functions that debuggers know. Dropping the value removes them.
#[derive(Debug)]
pub struct SymbolFile {
    _files: Vec<ObjectFile>,
}

/// An object file in the list.
#[derive(Debug)]
struct ObjectFile {
    entry: *mut Entry,
    /// Contents of the file, which the entry points to. Only debuggers read them.
    _contents: Box<[u8]>,
}

// SAFETY: the pointer leads to memory that the value owns, and other threads access it only under the lock.
unsafe impl Send for ObjectFile {}
// SAFETY: `&ObjectFile` gives no access to anything.
unsafe impl Sync for ObjectFile {}

/// An entry of one object file, in the layout of the interface.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    file: *const u8,
    bytes: u64,
}

/// The list, in the layout of the interface.
#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut Entry,
    first: *mut Entry,
}

const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

std::arch::global_asm!(
    ".pushsection .text",
    ".weak __jit_debug_register_code",
    ".type __jit_debug_register_code, %function",
    "__jit_debug_register_code:",
    "ret",
    ".size __jit_debug_register_code, . - __jit_debug_register_code",
    ".popsection",
    ".pushsection .data",
    ".balign 8",
    ".weak __jit_debug_descriptor",
    ".type __jit_debug_descriptor, %object",
    ".size __jit_debug_descriptor, 24",
    "__jit_debug_descriptor:",
    // Version, no action, no relevant entry, an empty list.
    ".long 1, 0",
    ".quad 0, 0",
    ".popsection",
);

unsafe extern "C" {
    safe fn __jit_debug_register_code();
    static mut __jit_debug_descriptor: Descriptor;
}

static LOCK: Mutex<()> = Mutex::new(());

impl SymbolFile {
    /// Registers functions with debuggers. `unwind_info` is their `.eh_frame` section with absolute addresses; it may
    /// be empty.
    pub fn register(functions: &[NamedCode<'_>], unwind_info: &[u8]) -> SymbolFile {
        SymbolFile::with_debug_info(functions, unwind_info, &[])
    }

    /// Registers functions like [`SymbolFile::register`], with debug information.
    pub(crate) fn with_debug_info(
        functions: &[NamedCode<'_>],
        unwind_info: &[u8],
        debug_info: &[DebugSection],
    ) -> SymbolFile {
        let files = object_files(functions, unwind_info, debug_info);
        SymbolFile { _files: files.into_iter().map(ObjectFile::register).collect() }
    }
}

impl ObjectFile {
    fn register(contents: Vec<u8>) -> ObjectFile {
        let contents = contents.into_boxed_slice();
        let (file, bytes) = (contents.as_ptr(), contents.len() as u64);
        let entry = Box::into_raw(Box::new(Entry { next: null_mut(), previous: null_mut(), file, bytes }));
        let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the entry is new, the first one is in the list, and neither changes elsewhere while the lock is held.
        unsafe {
            let first = __jit_debug_descriptor.first;
            (*entry).next = first;
            if !first.is_null() {
                (*first).previous = entry;
            }
            __jit_debug_descriptor.first = entry;
            notify(REGISTER, entry);
        }
        ObjectFile { entry, _contents: contents }
    }
}

impl Drop for ObjectFile {
    fn drop(&mut self) {
        let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `register` made the entry, and the entry and its neighbors are in the list. It is freed once, after
        // debuggers have been notified and no link leads to it.
        unsafe {
            let Entry { next, previous, .. } = *self.entry;
            match previous.is_null() {
                true => __jit_debug_descriptor.first = next,
                false => (*previous).next = next,
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
            notify(UNREGISTER, self.entry);
            __jit_debug_descriptor.relevant = null_mut();
            drop(Box::from_raw(self.entry));
        }
    }
}

/// Stops the process for the debugger, if there is one, so that it reads the list.
///
/// # Safety
/// The caller holds the lock.
unsafe fn notify(action: u32, entry: *mut Entry) {
    // SAFETY: the holder of the lock owns the list.
    unsafe {
        __jit_debug_descriptor.action = action;
        __jit_debug_descriptor.relevant = entry;
    }
    __jit_debug_register_code();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol_file::FAR;

    /// Checks registration of more functions than one file has sections, and of functions at the top of memory.
    #[test]
    fn any_functions_can_be_registered() {
        let far: Vec<NamedCode<'_>> = (0..70_000).map(|n| (n * 2 * FAR, 1, "f")).collect();
        let registered = SymbolFile::register(&far, &[]);
        assert_eq!(registered._files.len(), 2);
        drop(SymbolFile::register(&[(usize::MAX, usize::MAX, "\0"), (0, 0, ""), (1, usize::MAX, "")], &[1, 2, 3]));
        drop(registered);
        drop(SymbolFile::register(&[], &[]));
    }
}
