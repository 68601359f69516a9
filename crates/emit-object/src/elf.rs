//! ELF.
//!
//! Functions are placed in `.text`. Data objects are placed in `.rodata`, `.data` or `.bss`, thread-local ones in
//! `.tdata` or `.tbss`, and read-only ones with pointers in `.data.rel.ro`. Literals are placed in `.rodata.cst4`,
//! `.rodata.cst8` and `.rodata.cst16`, where linkers merge equal ones.

use crate::error::ObjectError;
use crate::format::{Field, Format, Limits, Shape, Table, with_bytes};
use kingpost_mach::{DataObject, Placement, RelocKind};
use object::elf::{FileHeader64, SHF_MERGE, SectionHeader64};
use object::read::elf::{ElfFile64, ElfSection64};
use object::write::{Object, SectionId, StandardSection};
use object::{
    Architecture, BinaryFormat, FileFlags, LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _,
    RelocationFlags, RelocationTarget, SectionFlags, SectionKind, elf,
};
use target_lexicon::Triple;

/// The format ELF, 64 bits, little-endian.
pub(crate) struct Elf;

/// Flags of a read-only section of the program.
const READ_ONLY: SectionFlags = SectionFlags::Elf { sh_flags: elf::SHF_ALLOC as u64 };

/// Flags of a section whose entries linkers may merge.
const MERGEABLE: SectionFlags = SectionFlags::Elf { sh_flags: (elf::SHF_ALLOC | elf::SHF_MERGE) as u64 };

impl Format for Elf {
    fn binary_format(&self) -> BinaryFormat {
        BinaryFormat::Elf
    }

    fn relocation(&self, kind: RelocKind, architecture: Architecture) -> Option<RelocationFlags> {
        relocation_type(kind, architecture).map(|r_type| RelocationFlags::Elf { r_type })
    }

    fn field(&self, field: Field, architecture: Architecture) -> Option<RelocationFlags> {
        let r_type = match (architecture, field) {
            (Architecture::X86_64, Field::Absolute8) => elf::R_X86_64_64,
            (Architecture::X86_64, Field::Absolute4) => elf::R_X86_64_32,
            (Architecture::X86_64, Field::Relative4) => elf::R_X86_64_PC32,
            (_, Field::Absolute8) => elf::R_AARCH64_ABS64,
            (_, Field::Absolute4) => elf::R_AARCH64_ABS32,
            (_, Field::Relative4) => elf::R_AARCH64_PREL32,
            (_, Field::Image4 | Field::Pointer4) => return None,
        };
        Some(RelocationFlags::Elf { r_type })
    }

    fn table(&self, table: Table) -> Shape {
        let read_only = |name| Shape::new(name, SectionKind::ReadOnlyData, READ_ONLY);
        match table {
            Table::EhFrame | Table::CompactUnwind => read_only(".eh_frame"),
            Table::Handlers => read_only(".gcc_except_table"),
            Table::Functions(name) => read_only(name),
            Table::Debug(id) => {
                let kind = if id == gimli::SectionId::DebugStr { SectionKind::DebugString } else { SectionKind::Debug };
                Shape::new(id.name(), kind, SectionFlags::None)
            }
            Table::Literals(bytes) => Shape::new(format!(".rodata.cst{bytes}"), SectionKind::ReadOnlyData, MERGEABLE),
        }
    }

    fn function_section(&self, name: &str) -> Shape {
        Shape::new(format!(".text.{name}"), SectionKind::Text, SectionFlags::None)
    }

    fn usual_section(&self, object: &DataObject) -> StandardSection {
        if object.tls {
            let zeros = object.bytes.is_empty();
            return if zeros { StandardSection::UninitializedTls } else { StandardSection::Tls };
        }
        match (object.writable, object.pointers.is_empty(), object.bytes.is_empty()) {
            (true, true, true) => StandardSection::UninitializedData,
            (true, ..) => StandardSection::Data,
            (false, true, _) => StandardSection::ReadOnlyData,
            (false, false, _) => StandardSection::ReadOnlyDataWithRel,
        }
    }

    fn placed_section(&self, placement: &Placement, usual: StandardSection, _: &Triple) -> Result<Shape, ObjectError> {
        let usual = if placement.section.is_some() { with_bytes(usual) } else { usual };
        let name = placement.section.clone().unwrap_or_else(|| usual_name(usual).into());
        let kind = special_kind(&name).unwrap_or(usual.kind());
        let retain = if placement.used { elf::SHF_GNU_RETAIN } else { 0 };
        Ok(Shape::new(name, kind, SectionFlags::Elf { sh_flags: (flags(usual) | retain).into() }))
    }

    fn limits(&self) -> Limits {
        Limits { sections: usize::MAX, bytes: u64::MAX, align: u64::MAX }
    }
}

fn usual_name(section: StandardSection) -> &'static str {
    match section {
        StandardSection::UninitializedTls => ".tbss",
        StandardSection::Tls => ".tdata",
        StandardSection::UninitializedData => ".bss",
        StandardSection::ReadOnlyData => ".rodata",
        StandardSection::ReadOnlyDataWithRel => ".data.rel.ro",
        _ => ".data",
    }
}

fn flags(section: StandardSection) -> u32 {
    match section {
        StandardSection::UninitializedTls | StandardSection::Tls => elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_TLS,
        StandardSection::ReadOnlyData => elf::SHF_ALLOC,
        _ => elf::SHF_ALLOC | elf::SHF_WRITE,
    }
}

/// Returns the kind of a section whose name has a meaning (System V ABI, chapter 4, "Special Sections").
fn special_kind(name: &str) -> Option<SectionKind> {
    let is = |special: &str| name.strip_prefix(special).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let types = [
        (".init_array", elf::SHT_INIT_ARRAY),
        (".fini_array", elf::SHT_FINI_ARRAY),
        (".preinit_array", elf::SHT_PREINIT_ARRAY),
        (".note", elf::SHT_NOTE),
    ];
    types.into_iter().find(|&(special, _)| is(special)).map(|(_, sh_type)| SectionKind::Elf(sh_type))
}

/// Sets what the `object` crate cannot set in the headers of sections: the size of the entries of mergeable sections, which
/// is their alignment, and the code that a table follows, which is the section of its first address.
///
/// # Errors
/// If the bytes are no ELF file.
pub(crate) fn finish(bytes: &mut [u8]) -> Result<(), ObjectError> {
    let malformed = |()| ObjectError::Format("section headers are not where they should be".into());
    let followed = followed_code(bytes).ok_or(()).map_err(malformed)?;
    let (header, _) = object::pod::from_bytes::<FileHeader64<LittleEndian>>(bytes).map_err(malformed)?;
    let (at, count) = (header.e_shoff.get(LittleEndian) as usize, header.e_shnum.get(LittleEndian));
    let headers = bytes.get_mut(at..).unwrap_or_default();
    // The size of the first section is the number of sections where the field is too small for it.
    let (first, _) = object::pod::from_bytes::<SectionHeader64<LittleEndian>>(headers).map_err(malformed)?;
    let count = if count == 0 { first.sh_size.get(LittleEndian) as usize } else { count.into() };
    let (headers, _) = object::pod::slice_from_bytes_mut(headers, count).map_err(malformed)?;
    for section in headers.iter_mut() {
        let section: &mut SectionHeader64<LittleEndian> = section;
        let flags = section.sh_flags.get(LittleEndian) as u32;
        if flags & SHF_MERGE != 0 {
            section.sh_entsize = section.sh_addralign;
        }
    }
    for (table, code) in followed {
        headers[table].sh_link.set(LittleEndian, code as u32);
    }
    Ok(())
}

/// Returns the numbers of the sections that follow code, with the number of the code's section.
fn followed_code(bytes: &[u8]) -> Option<Vec<(usize, usize)>> {
    let file = ElfFile64::<LittleEndian>::parse(bytes).ok()?;
    let follows = |section: &ElfSection64<'_, '_, LittleEndian>| {
        section.elf_section_header().sh_flags.get(LittleEndian) as u32 & elf::SHF_LINK_ORDER != 0
    };
    let code = |section: ElfSection64<'_, '_, LittleEndian>| {
        let RelocationTarget::Symbol(symbol) = section.relocations().next()?.1.target() else { return None };
        Some((section.index().0, file.symbol_by_index(symbol).ok()?.section_index()?.0))
    };
    file.sections().filter(follows).map(code).collect()
}

/// Makes linkers discard a table with its code: marks it, and [`finish`] refers it to the code.
pub(crate) fn discard_with_code(object: &mut Object<'_>, table: SectionId) {
    if let SectionFlags::Elf { sh_flags } = object.section_flags_mut(table) {
        *sh_flags |= u64::from(elf::SHF_LINK_ORDER);
    }
}

/// Adds a line to the section `.comment`, whose strings linkers merge, unless it is empty.
pub(crate) fn comment(object: &mut Object<'_>, line: &str) {
    if !line.is_empty() {
        let section = object.add_section(Vec::new(), b".comment".to_vec(), SectionKind::OtherString);
        object.append_section_data(section, &[line.as_bytes(), b"\0"].concat(), 1);
    }
}

/// Adds the note that the object needs no executable stack. Without it, linkers assume that it does, and warn.
pub(crate) fn stack_note(object: &mut Object<'_>) {
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
}

/// Marks the file as one whose sections linkers keep. Linkers ignore `SHF_GNU_RETAIN` in files of other systems.
pub(crate) fn mark_retained(object: &mut Object<'_>) {
    object.flags = FileFlags::Elf { os_abi: elf::ELFOSABI_GNU, abi_version: 0, e_flags: 0 };
}

/// Returns the ELF relocation type (System V ABI supplements for AMD64, table 4.9, and for AArch64, section 5.7).
fn relocation_type(kind: RelocKind, architecture: Architecture) -> Option<u32> {
    let x86 = architecture == Architecture::X86_64;
    Some(match kind {
        RelocKind::Abs8 if x86 => elf::R_X86_64_64,
        RelocKind::Abs8 => elf::R_AARCH64_ABS64,
        RelocKind::Abs4 if x86 => elf::R_X86_64_32,
        RelocKind::Abs4 => elf::R_AARCH64_ABS32,
        RelocKind::X86PcRel4 if x86 => elf::R_X86_64_PC32,
        RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 if x86 => elf::R_X86_64_PLT32,
        RelocKind::X86GotPcRel4 if x86 => elf::R_X86_64_GOTPCREL,
        RelocKind::Aarch64Call if !x86 => elf::R_AARCH64_CALL26,
        RelocKind::Aarch64AdrPage if !x86 => elf::R_AARCH64_ADR_PREL_PG_HI21,
        RelocKind::Aarch64AddLo12 if !x86 => elf::R_AARCH64_ADD_ABS_LO12_NC,
        RelocKind::Aarch64Ld32Lo12 if !x86 => elf::R_AARCH64_LDST32_ABS_LO12_NC,
        RelocKind::Aarch64Ld64Lo12 if !x86 => elf::R_AARCH64_LDST64_ABS_LO12_NC,
        RelocKind::Aarch64Ld128Lo12 if !x86 => elf::R_AARCH64_LDST128_ABS_LO12_NC,
        RelocKind::Aarch64MovwG0 if !x86 => elf::R_AARCH64_MOVW_UABS_G0_NC,
        RelocKind::Aarch64MovwG1 if !x86 => elf::R_AARCH64_MOVW_UABS_G1_NC,
        RelocKind::Aarch64MovwG2 if !x86 => elf::R_AARCH64_MOVW_UABS_G2_NC,
        RelocKind::Aarch64MovwG3 if !x86 => elf::R_AARCH64_MOVW_UABS_G3,
        RelocKind::Aarch64AdrGotPage if !x86 => elf::R_AARCH64_ADR_GOT_PAGE,
        RelocKind::Aarch64LdGotLo12 if !x86 => elf::R_AARCH64_LD64_GOT_LO12_NC,
        RelocKind::X86TlsGd if x86 => elf::R_X86_64_TLSGD,
        RelocKind::Aarch64TlsDescAdrPage if !x86 => elf::R_AARCH64_TLSDESC_ADR_PAGE21,
        RelocKind::Aarch64TlsDescLdLo12 if !x86 => elf::R_AARCH64_TLSDESC_LD64_LO12,
        RelocKind::Aarch64TlsDescAddLo12 if !x86 => elf::R_AARCH64_TLSDESC_ADD_LO12,
        RelocKind::Aarch64TlsDescCall if !x86 => elf::R_AARCH64_TLSDESC_CALL,
        _ => return None,
    })
}
