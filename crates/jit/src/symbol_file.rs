//! Object files that describe code in memory: ELF files without code, whose sections have the addresses of the code.

use kingpost_mach::SymbolName;

/// A function in memory: address, length in bytes, name.
pub type NamedCode<'a> = (usize, usize, &'a str);

/// A section of debug information: name, and contents with the addresses of the code.
pub(crate) type DebugSection = (&'static str, Vec<u8>);

/// Returns the name of a symbol for debuggers, without the `%` of the text form.
pub(crate) fn symbol_text(name: &SymbolName) -> String {
    name.to_string().trim_start_matches('%').into()
}

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(not(target_arch = "x86_64"))]
const MACHINE: u16 = 183;

/// Names of the sections that every file has; constants give the offset of each.
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
pub(crate) const FAR: usize = 4096;

/// Maximum number of code sections in one object file. Section indices have 16 bits, and the highest 256 are
/// reserved.
const MOST_SECTIONS: usize = 60_000;

/// Returns `true` if two functions belong to one section. The first one has the lower address.
fn is_near(a: &NamedCode<'_>, b: &NamedCode<'_>) -> bool {
    b.0 < a.0.saturating_add(a.1).saturating_add(FAR)
}

/// Returns object files that describe functions. Only many functions far from each other need more than one file. The
/// first file has the debug information.
pub(crate) fn object_files(
    functions: &[NamedCode<'_>],
    unwind_info: &[u8],
    debug_info: &[DebugSection],
) -> Vec<Vec<u8>> {
    let mut functions = functions.to_vec();
    functions.sort_unstable();
    let sections: Vec<&[NamedCode<'_>]> = functions.chunk_by(is_near).collect();
    let mut chunks = sections.chunks(MOST_SECTIONS);
    // Even without functions there is unwind information.
    let first = object_file(chunks.next().unwrap_or_default(), unwind_info, debug_info);
    std::iter::once(first).chain(chunks.map(|sections| object_file(sections, unwind_info, &[]))).collect()
}

/// Returns a relocatable ELF object file without code. Its sections give the addresses of the code in memory. Each
/// element of `code` holds the functions of one section, by ascending address.
fn object_file(code: &[&[NamedCode<'_>]], unwind_info: &[u8], debug_info: &[DebugSection]) -> Vec<u8> {
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
    let mut names = SECTION_NAMES.to_vec();
    for (name, contents) in debug_info {
        let section = Section { name: names.len() as u32, kind: Section::PROGBITS, ..Section::default() };
        names.extend(name.bytes().chain([0]));
        add(contents, section);
    }
    let names = add(&names, Section { name: STRTAB, kind: Section::STRTAB, ..Section::default() });
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
        let contents = object_file(&sections, &[0; 4], &[(".debug_str", vec![7; 3])]);
        let file = ElfFile64::<object::Endianness>::parse(&*contents).unwrap();
        let code = file.sections().filter(|section| section.name() == Ok(".text"));
        let code: Vec<_> = code.map(|section| (section.address(), section.size())).collect();
        assert_eq!(code, [(0x1000, 0x40), (0x7000, 0x20)]);
        assert_eq!(file.section_by_name(".eh_frame").unwrap().data(), Ok(&[0; 4][..]));
        assert_eq!(file.section_by_name(".debug_str").unwrap().data(), Ok(&[7; 3][..]));
        // Offsets of symbols are from the start of their section.
        let symbols = file.symbols().map(|symbol| {
            let section = symbol.section_index().map(|index| index.0);
            (symbol.name().unwrap(), symbol.address(), symbol.size(), section, symbol.is_global())
        });
        let expected =
            [("first", 0, 0x10, Some(1), true), ("second", 0x10, 0x30, Some(1), true), ("far", 0, 0x20, Some(2), true)];
        assert_eq!(symbols.collect::<Vec<_>>(), expected);
    }
}
