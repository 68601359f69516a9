//! Sections other than code: bytes, with symbols and addresses between them.

use super::text::Text;
use super::words::{self, File, malformed};
use crate::error::ObjectError;
use object::read::elf::{ElfSection64, SectionHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, Relocation, RelocationFlags, RelocationTarget, SymbolKind, elf,
};

/// Writes every section that belongs to the program, except for the code.
pub(super) fn write(file: &File<'_>, text: &mut Text) -> Result<(), ObjectError> {
    for section in file.sections() {
        let kind = match section.elf_section_header().sh_type(LittleEndian) {
            elf::SHT_PROGBITS => "progbits",
            elf::SHT_NOBITS => "nobits",
            elf::SHT_NOTE => "note",
            elf::SHT_INIT_ARRAY => "init_array",
            elf::SHT_FINI_ARRAY => "fini_array",
            elf::SHT_PREINIT_ARRAY => "preinit_array",
            // Assemblers create symbol tables and relocations themselves.
            _ => continue,
        };
        let name = section.name().map_err(malformed)?;
        // An empty section matters only if its name has a meaning.
        if name != ".text" && (section.size() > 0 || name.starts_with(".note")) {
            head(&section, name, kind, text);
            contents(file, &section, text)?;
        }
    }
    Ok(())
}

/// Writes the directive that starts a section, with its flags, kind, size of entries and alignment.
fn head(section: &ElfSection64<'_, '_, LittleEndian>, name: &str, kind: &str, text: &mut Text) {
    const LETTERS: [(u32, char); 6] = [
        (elf::SHF_ALLOC, 'a'),
        (elf::SHF_WRITE, 'w'),
        (elf::SHF_TLS, 'T'),
        (elf::SHF_MERGE, 'M'),
        (elf::SHF_STRINGS, 'S'),
        (elf::SHF_GNU_RETAIN, 'R'),
    ];
    let header = section.elf_section_header();
    let flags = header.sh_flags(LittleEndian) as u32;
    let letters: String = LETTERS.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, letter)| letter).collect();
    let entries = match flags & elf::SHF_MERGE {
        0 => String::new(),
        _ => format!(", {}", header.sh_entsize(LittleEndian)),
    };
    text.line(format_args!(".section {}, \"{letters}\", %{kind}{entries}", quoted(name)));
    if section.align() > 1 {
        text.line(format_args!(".balign {}", section.align()));
    }
}

/// Returns the name of a section, in quotes if assemblers need them.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.chars().all(is_plain) { name.into() } else { words::quoted(name) }
}

/// Writes the contents of a section, in the order of its bytes.
fn contents(file: &File<'_>, section: &ElfSection64<'_, '_, LittleEndian>, text: &mut Text) -> Result<(), ObjectError> {
    let index = Some(section.index());
    let mut symbols: Vec<_> = file.symbols().filter(|symbol| symbol.section_index() == index).collect();
    symbols.retain(|symbol| symbol.kind() != SymbolKind::Section);
    symbols.sort_by_key(|symbol| symbol.address());
    let mut symbols = symbols.into_iter().peekable();
    let mut relocations: Vec<_> = section.relocations().collect();
    relocations.sort_by_key(|&(offset, _)| offset);
    let mut relocations = relocations.into_iter().peekable();
    let (data, size) = (section.data().map_err(malformed)?, section.size());
    let mut at = 0;
    loop {
        while let Some(symbol) = symbols.next_if(|symbol| symbol.address() == at) {
            let name = words::declare(&symbol, text)?;
            text.label(name);
        }
        if let Some((_, relocation)) = relocations.next_if(|&(offset, _)| offset == at) {
            at += address(file, &relocation, text)?;
            continue;
        }
        if at == size {
            return Ok(());
        }
        let stops = [symbols.peek().map(|symbol| symbol.address()), relocations.peek().map(|&(offset, _)| offset)];
        let next = stops.into_iter().flatten().fold(size, u64::min);
        match data.get(at as usize..next as usize) {
            _ if next < at => return Err(ObjectError::Format("an address overlaps with what follows it".into())),
            Some(bytes) => text.bytes(bytes),
            // The remainder consists of zeros that have no bytes in the object.
            None => text.zeros(next - at),
        }
        at = next;
    }
}

/// Writes a relocated field, and returns its size in bytes.
fn address(file: &File<'_>, relocation: &Relocation, text: &mut Text) -> Result<u64, ObjectError> {
    let RelocationFlags::Elf { r_type } = relocation.flags() else { unreachable!("the file is ELF") };
    let (bytes, origin) = match (file.architecture(), r_type) {
        (object::Architecture::X86_64, elf::R_X86_64_64) => (8, ""),
        (object::Architecture::X86_64, elf::R_X86_64_32) => (4, ""),
        (object::Architecture::X86_64, elf::R_X86_64_PC32) => (4, "-."),
        (object::Architecture::Aarch64, elf::R_AARCH64_ABS64) => (8, ""),
        (object::Architecture::Aarch64, elf::R_AARCH64_ABS32) => (4, ""),
        (object::Architecture::Aarch64, elf::R_AARCH64_PREL32) => (4, "-."),
        _ => return Err(ObjectError::Format(format!("relocation {r_type} has no form in text"))),
    };
    let RelocationTarget::Symbol(index) = relocation.target() else {
        return Err(ObjectError::Format("a relocation names no symbol".into()));
    };
    let symbol = file.symbol_by_index(index).map_err(malformed)?;
    let target = match (symbol.kind(), symbol.section_index()) {
        (SymbolKind::Section, Some(section)) => {
            let section = file.section_by_index(section).map_err(malformed)?;
            section.name().map_err(malformed)?.to_string()
        }
        _ => words::quoted(symbol.name().map_err(malformed)?),
    };
    let addend = relocation.addend();
    text.line(format_args!(".{bytes}byte {target}{addend:+}{origin}"));
    Ok(bytes)
}
