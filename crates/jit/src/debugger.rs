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

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// A function in memory: address, length in bytes, name.
pub type NamedCode<'a> = (usize, usize, &'a str);

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
        let mut functions = functions.to_vec();
        functions.sort_unstable();
        let sections: Vec<&[NamedCode<'_>]> = functions.chunk_by(is_near).collect();
        let mut files = sections.chunks(MOST_SECTIONS).map(|sections| object_file(sections, unwind_info));
        // Even without functions there is unwind information.
        let first = files.next().unwrap_or_else(|| object_file(&[], unwind_info));
        SymbolFile { _files: std::iter::once(first).chain(files).map(ObjectFile::register).collect() }
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

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(not(target_arch = "x86_64"))]
const MACHINE: u16 = 183;

/// Names of sections; constants give the offset of each.
const SECTION_NAMES: &[u8] = b"\0.text\0.eh_frame\0.symtab\0.strtab\0";
const TEXT: u32 = 1;
const EH_FRAME: u32 = 7;
const SYMTAB: u32 = 17;
const STRTAB: u32 = 25;

/// A section, in the form of its header (System V ABI, chapter 4, "Sections").
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

/// Distance in bytes between two functions from which on they are in different sections. Code of other modules may be
/// in such a gap.
const FAR: usize = 4096;

/// Maximum number of code sections in one object file. Section indices have 16 bits, and the highest 256 are
/// reserved.
const MOST_SECTIONS: usize = 60_000;

/// Returns `true` if two functions belong to one section. The first one has the lower address.
fn is_near(a: &NamedCode<'_>, b: &NamedCode<'_>) -> bool {
    b.0 < a.0.saturating_add(a.1).saturating_add(FAR)
}

/// Returns a relocatable ELF object file without code. Its sections give the addresses of the code in memory. Each
/// element of `code` holds the functions of one section, by ascending address.
fn object_file(code: &[&[NamedCode<'_>]], unwind_info: &[u8]) -> Vec<u8> {
    let mut sections = vec![Section::default()];
    let (mut symbols, mut strings) = (vec![0; 24], vec![0]);
    let mut file = vec![0; 64];
    for near in code {
        let (start, end) = (near[0].0, near[near.len() - 1].0.saturating_add(near[near.len() - 1].1));
        for &(address, bytes, name) in *near {
            // The string table cannot refer to names beyond 4 GiB.
            symbols.extend(u32::try_from(strings.len()).unwrap_or(0).to_le_bytes());
            // A global function with default visibility, in the next section.
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

/// Returns the header of an object file whose section headers are at offset `headers`.
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
    use object::read::elf::ElfFile64;
    use object::{Object, ObjectSection, ObjectSymbol};

    /// Checks that a reader of ELF files finds the sections of code and the symbols of a file.
    #[test]
    fn functions_are_where_they_are() {
        let functions = [(0x1000, 0x10, "first"), (0x1010, 0x30, "second"), (0x7000, 0x20, "far")];
        let sections: Vec<&[NamedCode<'_>]> = functions.chunk_by(is_near).collect();
        let contents = object_file(&sections, &[0; 4]);
        let file = ElfFile64::<object::Endianness>::parse(&*contents).unwrap();
        let code = file.sections().filter(|section| section.name() == Ok(".text"));
        let code: Vec<_> = code.map(|section| (section.address(), section.size())).collect();
        assert_eq!(code, [(0x1000, 0x40), (0x7000, 0x20)]);
        assert_eq!(file.section_by_name(".eh_frame").unwrap().data(), Ok(&[0; 4][..]));
        // Offsets of symbols are from the start of their section.
        let symbols = file.symbols().map(|symbol| {
            let section = symbol.section_index().map(|index| index.0);
            (symbol.name().unwrap(), symbol.address(), symbol.size(), section, symbol.is_global())
        });
        let expected =
            [("first", 0, 0x10, Some(1), true), ("second", 0x10, 0x30, Some(1), true), ("far", 0, 0x20, Some(2), true)];
        assert_eq!(symbols.collect::<Vec<_>>(), expected);
    }

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
