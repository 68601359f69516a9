//! Functions in memory made known to debuggers, by the interface that gdb and lldb have for compilers in the process
//! (Debugging with GDB, "JIT Compilation Interface").
//!
//! A list in the process has an object file in memory for each piece of code, and a function without contents, in which the
//! debugger has a breakpoint, is called when the list changes. List and function are weak symbols, so that all compilers of
//! the process have one of them together. The object file has the names of functions and their unwind information.
//!
//! Sound because: the list is changed under a lock, by links to entries that are in it and that a [`SymbolFile`] owns until it
//! has taken them out. Other compilers of the process must not change it at the same time, as the interface has no lock.

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// A function in memory: its address, its length in bytes, its name.
pub type NamedCode<'a> = (usize, usize, &'a str);

/// Functions that debuggers know until this is dropped.
#[derive(Debug)]
pub struct SymbolFile {
    entry: *mut Entry,
    /// What the entry points to. Debuggers read it, and nothing else does.
    _contents: Box<[u8]>,
}

// SAFETY: what the pointer leads to belongs to the value, and is reached by other threads under the lock only.
unsafe impl Send for SymbolFile {}
// SAFETY: nothing is reached through `&SymbolFile`.
unsafe impl Sync for SymbolFile {}

/// One object file, as the interface lays it out.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    file: *const u8,
    bytes: u64,
}

/// The list, as the interface lays it out.
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
    // The version, no action, nothing relevant, an empty list.
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
    /// Makes debuggers know functions, of which `unwind_info` is the `.eh_frame` section with absolute addresses; it may be empty.
    pub fn register(functions: &[NamedCode<'_>], unwind_info: &[u8]) -> SymbolFile {
        let contents = object_file(functions, unwind_info).into_boxed_slice();
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
        SymbolFile { entry, _contents: contents }
    }
}

impl Drop for SymbolFile {
    fn drop(&mut self) {
        let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the entry was made by `register`, is in the list, and so are its neighbours; it is freed once, when debuggers
        // have been notified and nothing leads to it any more.
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

/// Stops the debugger's process, if there is one, so that it looks at the list.
///
/// # Safety
/// The lock is held.
unsafe fn notify(action: u32, entry: *mut Entry) {
    // SAFETY: the list belongs to the holder of the lock.
    unsafe {
        __jit_debug_descriptor.action = action;
        __jit_debug_descriptor.relevant = entry;
    }
    __jit_debug_register_code();
}

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(not(target_arch = "x86_64"))]
const MACHINE: u16 = 183;

/// Names of sections, and where each of them begins.
const SECTION_NAMES: &[u8] = b"\0.text\0.eh_frame\0.symtab\0.strtab\0";
const TEXT: u32 = 1;
const EH_FRAME: u32 = 7;
const SYMTAB: u32 = 17;
const STRTAB: u32 = 25;

/// A section, as its header has it (System V ABI, chapter 4, "Sections").
#[derive(Default)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    address: usize,
    offset: usize,
    bytes: usize,
    link: u32,
    info: u32,
    align: u64,
    entry_bytes: u64,
}

impl Section {
    const PROGBITS: u32 = 1;
    const SYMTAB: u32 = 2;
    const STRTAB: u32 = 3;
    const NOBITS: u32 = 8;
    const ALLOC: u64 = 2;
    const EXECUTABLE: u64 = 4;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend([self.name, self.kind].map(u32::to_le_bytes).as_flattened());
        let places = [self.flags, self.address as u64, self.offset as u64, self.bytes as u64];
        out.extend(places.map(u64::to_le_bytes).as_flattened());
        out.extend([self.link, self.info].map(u32::to_le_bytes).as_flattened());
        out.extend([self.align, self.entry_bytes].map(u64::to_le_bytes).as_flattened());
    }
}

/// Bytes between two functions from which on they are in different sections: what lies between may be the code of others.
const FAR: usize = 4096;

/// A relocatable object file in ELF whose code is elsewhere in memory, where its sections say.
fn object_file(functions: &[NamedCode<'_>], unwind_info: &[u8]) -> Vec<u8> {
    let mut functions = functions.to_vec();
    functions.sort_unstable();
    let mut sections = vec![Section::default()];
    let (mut symbols, mut strings) = (vec![0; 24], vec![0]);
    let mut file = vec![0; 64];
    for near in functions.chunk_by(|a, b| b.0 < a.0 + a.1 + FAR) {
        let (start, end) = (near[0].0, near[near.len() - 1].0 + near[near.len() - 1].1);
        for &(address, bytes, name) in near {
            symbols.extend((strings.len() as u32).to_le_bytes());
            // A global function with default visibility, in the section to come.
            symbols.extend([0x12, 0]);
            symbols.extend((sections.len() as u16).to_le_bytes());
            symbols.extend([address - start, bytes].map(usize::to_le_bytes).as_flattened());
            strings.extend(name.bytes().chain([0]));
        }
        let flags = Section::ALLOC | Section::EXECUTABLE;
        let code = Section {
            name: TEXT,
            kind: Section::NOBITS,
            flags,
            address: start,
            bytes: end - start,
            ..Section::default()
        };
        sections.push(Section { align: 16, ..code });
    }
    let mut add = |contents: &[u8], section: Section| {
        file.resize(file.len().next_multiple_of(8), 0);
        sections.push(Section { offset: file.len(), bytes: contents.len(), align: 8, ..section });
        file.extend(contents);
        sections.len() as u32 - 1
    };
    let flags = Section::ALLOC;
    add(unwind_info, Section { name: EH_FRAME, kind: Section::PROGBITS, flags, ..Section::default() });
    let strtab = Section { name: STRTAB, kind: Section::STRTAB, ..Section::default() };
    let link = add(&strings, strtab);
    let symtab = Section { name: SYMTAB, kind: Section::SYMTAB, link, info: 1, entry_bytes: 24, ..Section::default() };
    add(&symbols, symtab);
    let names = add(SECTION_NAMES, Section { name: STRTAB, kind: Section::STRTAB, ..Section::default() });
    file.resize(file.len().next_multiple_of(8), 0);
    let headers = file.len() as u64;
    sections.iter().for_each(|section| section.write(&mut file));
    file[..64].copy_from_slice(&header(headers, sections.len() as u16, names as u16));
    file
}

/// The header of an object file with its section headers at an offset.
fn header(headers: u64, sections: u16, names: u16) -> [u8; 64] {
    let mut header = [0; 64];
    // The magic number, 64 bits, little-endian, version 1.
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16..20].copy_from_slice([1, MACHINE].map(u16::to_le_bytes).as_flattened());
    header[20] = 1;
    header[40..48].copy_from_slice(&headers.to_le_bytes());
    header[52..54].copy_from_slice(&64u16.to_le_bytes());
    header[58..64].copy_from_slice([64, sections, names].map(u16::to_le_bytes).as_flattened());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What the system's tool prints of the object file.
    fn printed(functions: &[NamedCode<'_>], option: &str) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), object_file(functions, &[0; 4])).unwrap();
        let output = Command::new("readelf").args(["-W", option]).arg(file.path()).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn functions_are_where_they_are() {
        let functions = [(0x7000, 0x20, "far"), (0x1000, 0x10, "first"), (0x1010, 0x30, "second")];
        let sections = printed(&functions, "-S");
        let code: Vec<&str> = sections.lines().filter(|line| line.contains(".text")).collect();
        assert!(code[0].contains("0000000000001000 000000 000040"), "{sections}");
        assert!(code[1].contains("0000000000007000 000000 000020"), "{sections}");
        let symbols = printed(&functions, "-s");
        for line in ["0000000000000010    48 FUNC    GLOBAL DEFAULT    1 second", "GLOBAL DEFAULT    2 far"] {
            assert!(symbols.contains(line), "{symbols}");
        }
    }
}
