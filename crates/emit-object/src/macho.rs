//! Mach-O, for macOS.
//!
//! Functions are placed in `__TEXT,__text`, data objects in `__TEXT,__const`, `__DATA,__data` or `__DATA,__bss`,
//! read-only ones with pointers in `__DATA,__const`, and literals in sections whose equal entries linkers merge. Every
//! symbol begins a part of its section that a linker may remove (`.subsections_via_symbols`), so relocations refer to
//! symbols and not to sections. A thread-local symbol is a descriptor in `__DATA,__thread_vars`, which refers to the initial
//! value in `__DATA,__thread_data` or `__DATA,__thread_bss`. The layout is in Apple's `mach-o/reloc.h`, `x86_64/reloc.h` and `arm64/reloc.h`.

use crate::error::ObjectError;
use crate::format::{Field, Format, Limits, Shape, Table, with_bytes};
use kingpost_mach::{DataObject, Placement, RelocKind};
use object::write::{MachOBuildVersion, Object, StandardSection};
use object::{Architecture, BinaryFormat, RelocationFlags, SectionFlags, SectionKind, macho};
use target_lexicon::Triple;

/// The format Mach-O, 64 bits.
pub(crate) struct MachO;

/// Largest length of the name of a section or segment in bytes.
const MAX_NAME: usize = 16;
/// Version of macOS, 11.0, from which on programs run.
const LEAST_VERSION: u32 = 11 << 16;

impl Format for MachO {
    fn binary_format(&self) -> BinaryFormat {
        BinaryFormat::MachO
    }

    fn relocation(&self, kind: RelocKind, architecture: Architecture) -> Option<RelocationFlags> {
        let x86 = architecture == Architecture::X86_64;
        Some(match kind {
            RelocKind::Abs8 => unsigned(architecture, 3),
            RelocKind::X86PcRel4 if x86 => relative(macho::X86_64_RELOC_SIGNED),
            RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 if x86 => relative(macho::X86_64_RELOC_BRANCH),
            RelocKind::X86GotPcRel4 if x86 => relative(macho::X86_64_RELOC_GOT),
            RelocKind::X86Tlv if x86 => relative(macho::X86_64_RELOC_TLV),
            RelocKind::Aarch64TlvPage if !x86 => relative(macho::ARM64_RELOC_TLVP_LOAD_PAGE21),
            RelocKind::Aarch64TlvLo12 if !x86 => absolute(macho::ARM64_RELOC_TLVP_LOAD_PAGEOFF12, 2),
            RelocKind::Aarch64Call if !x86 => relative(macho::ARM64_RELOC_BRANCH26),
            RelocKind::Aarch64AdrPage if !x86 => relative(macho::ARM64_RELOC_PAGE21),
            RelocKind::Aarch64AddLo12
            | RelocKind::Aarch64Ld32Lo12
            | RelocKind::Aarch64Ld64Lo12
            | RelocKind::Aarch64Ld128Lo12
                if !x86 =>
            {
                absolute(macho::ARM64_RELOC_PAGEOFF12, 2)
            }
            RelocKind::Aarch64AdrGotPage if !x86 => relative(macho::ARM64_RELOC_GOT_LOAD_PAGE21),
            RelocKind::Aarch64LdGotLo12 if !x86 => absolute(macho::ARM64_RELOC_GOT_LOAD_PAGEOFF12, 2),
            _ => return None,
        })
    }

    fn field(&self, field: Field, architecture: Architecture) -> Option<RelocationFlags> {
        match field {
            Field::Absolute8 => Some(unsigned(architecture, 3)),
            // The writer adds the other half of the difference.
            Field::Relative4 => Some(unsigned(architecture, 2)),
            Field::Pointer4 if architecture == Architecture::X86_64 => Some(relative(macho::X86_64_RELOC_GOT)),
            Field::Pointer4 => Some(relative(macho::ARM64_RELOC_POINTER_TO_GOT)),
            Field::Absolute4 | Field::Image4 => None,
        }
    }

    fn table(&self, table: Table) -> Shape {
        let text = |name: &str, flags| shape("__TEXT", name, SectionKind::ReadOnlyData, flags);
        match table {
            Table::EhFrame => text(
                "__eh_frame",
                macho::S_COALESCED
                    | macho::S_ATTR_LIVE_SUPPORT
                    | macho::S_ATTR_NO_TOC
                    | macho::S_ATTR_STRIP_STATIC_SYMS,
            ),
            Table::CompactUnwind => shape("__LD", "__compact_unwind", SectionKind::Other, macho::S_ATTR_DEBUG),
            Table::Handlers => text("__gcc_except_tab", 0),
            Table::Functions(name) => text(table_name(name), macho::S_ATTR_NO_DEAD_STRIP),
            Table::Debug(id) => {
                let mut name = id.name().replacen('.', "__", 1);
                name.truncate(MAX_NAME);
                shape("__DWARF", &name, SectionKind::Debug, macho::S_ATTR_DEBUG)
            }
            Table::Literals(4) => text("__literal4", macho::S_4BYTE_LITERALS),
            Table::Literals(8) => text("__literal8", macho::S_8BYTE_LITERALS),
            Table::Literals(_) => text("__literal16", macho::S_16BYTE_LITERALS),
        }
    }

    fn function_section(&self, _: &str) -> Shape {
        let flags = macho::S_ATTR_PURE_INSTRUCTIONS | macho::S_ATTR_SOME_INSTRUCTIONS;
        shape("__TEXT", "__text", SectionKind::Text, flags)
    }

    fn usual_section(&self, object: &DataObject) -> StandardSection {
        if object.tls {
            let zeros = object.bytes.is_empty() && object.pointers.is_empty();
            return if zeros { StandardSection::UninitializedTls } else { StandardSection::Tls };
        }
        match (object.writable, object.pointers.is_empty(), object.bytes.is_empty()) {
            (true, true, true) => StandardSection::UninitializedData,
            (true, ..) => StandardSection::Data,
            (false, true, _) => StandardSection::ReadOnlyData,
            (false, false, _) => StandardSection::ReadOnlyDataWithRel,
        }
    }

    fn placed_section(
        &self,
        placement: &Placement,
        usual: StandardSection,
        triple: &Triple,
    ) -> Result<Shape, ObjectError> {
        let usual = with_bytes(usual);
        let is_variable = usual == StandardSection::Tls;
        if let Some(section) = placement.section.as_deref().filter(|_| is_variable) {
            // The runtime finds initial values by the kind of their section, which has one name.
            let what = format!("the section `{section}` for this kind of data");
            return Err(ObjectError::Unsupported { what, target: triple.to_string() });
        }
        let (segment, name) = match placement.section.as_deref() {
            Some(name) => name.split_once(',').unwrap_or(("__DATA", name)),
            None if usual == StandardSection::ReadOnlyData => ("__TEXT", "__const"),
            None if usual == StandardSection::ReadOnlyDataWithRel => ("__DATA", "__const"),
            None if is_variable => ("__DATA", "__thread_data"),
            None => ("__DATA", "__data"),
        };
        if segment.is_empty() || segment.len() > MAX_NAME || name.is_empty() || name.len() > MAX_NAME {
            let what = format!("the section name `{segment},{name}` (each part has 1 to {MAX_NAME} bytes)");
            return Err(ObjectError::Unsupported { what, target: triple.to_string() });
        }
        let kind = match name {
            _ if is_variable => macho::S_THREAD_LOCAL_REGULAR,
            "__mod_init_func" => macho::S_MOD_INIT_FUNC_POINTERS,
            "__mod_term_func" => macho::S_MOD_TERM_FUNC_POINTERS,
            _ => macho::S_REGULAR,
        };
        let keep = if placement.used { macho::S_ATTR_NO_DEAD_STRIP } else { 0 };
        Ok(shape(segment, name, usual.kind(), kind | keep))
    }

    fn limits(&self) -> Limits {
        // The number of a section is a byte, and offsets are fields of 32 bits.
        Limits { sections: 255, bytes: i32::MAX as u64, align: 1 << 15 }
    }
}

/// Returns the section of a table by function, whose name in ELF and COFF is longer.
fn table_name(name: &str) -> &'static str {
    match name {
        "kingpost_traps" => "__kp_traps",
        "kingpost_handlers" => "__kp_handlers",
        "kingpost_stack_maps" => "__kp_stack_maps",
        "kingpost_debug_tags" => "__kp_debug_tags",
        "kingpost_patchable_calls" => "__kp_patchable",
        "kingpost_stack_slots" => "__kp_stack_slots",
        _ => unreachable!("there is no table `{name}`"),
    }
}

/// Sets the flag and the version that each object has.
pub(crate) fn begin(object: &mut Object<'_>) {
    object.set_subsections_via_symbols();
    let mut version = MachOBuildVersion::default();
    version.platform = macho::PLATFORM_MACOS;
    version.minos = LEAST_VERSION;
    object.set_macho_build_version(version);
}

fn shape(segment: &str, name: &str, kind: SectionKind, flags: u32) -> Shape {
    Shape { segment: segment.into(), name: name.into(), kind, flags: SectionFlags::MachO { flags } }
}

fn unsigned(architecture: Architecture, length: u8) -> RelocationFlags {
    let x86 = architecture == Architecture::X86_64;
    absolute(if x86 { macho::X86_64_RELOC_UNSIGNED } else { macho::ARM64_RELOC_UNSIGNED }, length)
}

/// Returns a relocation of `2^length` bytes.
fn absolute(r_type: u8, r_length: u8) -> RelocationFlags {
    RelocationFlags::MachO { r_type, r_pcrel: false, r_length }
}

/// Returns a relocation of 4 bytes relative to the instruction.
fn relative(r_type: u8) -> RelocationFlags {
    RelocationFlags::MachO { r_type, r_pcrel: true, r_length: 2 }
}
