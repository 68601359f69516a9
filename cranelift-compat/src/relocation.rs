//! Relocations in ELF (System V ABI supplements for AMD64, table 4.9, and for AArch64, section 5.7), COFF (Microsoft, "PE
//! Format") and Mach-O (Apple, `x86_64/reloc.h` and `arm64/reloc.h`).

use cranelift_codegen::binemit::Reloc;
use cranelift_module::{ModuleError, ModuleResult};
use object::{Architecture, BinaryFormat, RelocationFlags, elf, macho, pe};

/// Returns the relocation in objects of a format for an architecture.
///
/// # Errors
/// If the relocation belongs to another architecture or object format.
pub(crate) fn relocation(
    kind: Reloc,
    architecture: Architecture,
    format: BinaryFormat,
) -> ModuleResult<RelocationFlags> {
    let is_x86 = architecture == Architecture::X86_64;
    let found = match (format, is_x86) {
        (BinaryFormat::Elf, true) => elf_x64(kind).map(|r_type| RelocationFlags::Elf { r_type }),
        (BinaryFormat::Elf, false) => elf_aarch64(kind).map(|r_type| RelocationFlags::Elf { r_type }),
        (BinaryFormat::Coff, true) => coff_x64(kind).map(|typ| RelocationFlags::Coff { typ }),
        (BinaryFormat::Coff, false) => coff_aarch64(kind).map(|typ| RelocationFlags::Coff { typ }),
        (_, true) => macho_x64(kind),
        (_, false) => macho_aarch64(kind),
    };
    found.ok_or_else(|| {
        ModuleError::Backend(anyhow::anyhow!("no relocation {kind} in {format:?} files for {architecture:?}"))
    })
}

fn elf_x64(kind: Reloc) -> Option<u32> {
    Some(match kind {
        Reloc::Abs8 => elf::R_X86_64_64,
        Reloc::Abs4 => elf::R_X86_64_32,
        Reloc::X86PCRel4 => elf::R_X86_64_PC32,
        Reloc::X86CallPCRel4 | Reloc::X86CallPLTRel4 => elf::R_X86_64_PLT32,
        Reloc::X86GOTPCRel4 => elf::R_X86_64_GOTPCREL,
        Reloc::ElfX86_64TlsGd => elf::R_X86_64_TLSGD,
        _ => return None,
    })
}

fn elf_aarch64(kind: Reloc) -> Option<u32> {
    Some(match kind {
        Reloc::Abs8 => elf::R_AARCH64_ABS64,
        Reloc::Abs4 => elf::R_AARCH64_ABS32,
        Reloc::Arm64Call => elf::R_AARCH64_CALL26,
        Reloc::Aarch64AdrPrelPgHi21 => elf::R_AARCH64_ADR_PREL_PG_HI21,
        Reloc::Aarch64AddAbsLo12Nc => elf::R_AARCH64_ADD_ABS_LO12_NC,
        Reloc::Aarch64AdrGotPage21 => elf::R_AARCH64_ADR_GOT_PAGE,
        Reloc::Aarch64Ld64GotLo12Nc => elf::R_AARCH64_LD64_GOT_LO12_NC,
        Reloc::Aarch64TlsDescAdrPage21 => elf::R_AARCH64_TLSDESC_ADR_PAGE21,
        Reloc::Aarch64TlsDescLd64Lo12 => elf::R_AARCH64_TLSDESC_LD64_LO12,
        Reloc::Aarch64TlsDescAddLo12 => elf::R_AARCH64_TLSDESC_ADD_LO12,
        Reloc::Aarch64TlsDescCall => elf::R_AARCH64_TLSDESC_CALL,
        _ => return None,
    })
}

/// Returns the type of a relocation. Entries of a global offset table are pointers of the object.
fn coff_x64(kind: Reloc) -> Option<u16> {
    Some(match kind {
        Reloc::Abs8 => pe::IMAGE_REL_AMD64_ADDR64,
        Reloc::X86PCRel4 | Reloc::X86CallPCRel4 | Reloc::X86CallPLTRel4 | Reloc::X86GOTPCRel4 => {
            pe::IMAGE_REL_AMD64_REL32
        }
        Reloc::X86SecRel => pe::IMAGE_REL_AMD64_SECREL,
        _ => return None,
    })
}

/// Returns the type of a relocation, as [`coff_x64`] does.
fn coff_aarch64(kind: Reloc) -> Option<u16> {
    Some(match kind {
        Reloc::Abs8 => pe::IMAGE_REL_ARM64_ADDR64,
        Reloc::Arm64Call => pe::IMAGE_REL_ARM64_BRANCH26,
        Reloc::Aarch64AdrPrelPgHi21 | Reloc::Aarch64AdrGotPage21 => pe::IMAGE_REL_ARM64_PAGEBASE_REL21,
        Reloc::Aarch64AddAbsLo12Nc => pe::IMAGE_REL_ARM64_PAGEOFFSET_12A,
        Reloc::Aarch64Ld64GotLo12Nc => pe::IMAGE_REL_ARM64_PAGEOFFSET_12L,
        _ => return None,
    })
}

fn macho_x64(kind: Reloc) -> Option<RelocationFlags> {
    Some(match kind {
        Reloc::Abs8 => absolute(macho::X86_64_RELOC_UNSIGNED, 3),
        Reloc::X86PCRel4 => relative(macho::X86_64_RELOC_SIGNED),
        Reloc::X86CallPCRel4 | Reloc::X86CallPLTRel4 => relative(macho::X86_64_RELOC_BRANCH),
        Reloc::X86GOTPCRel4 => relative(macho::X86_64_RELOC_GOT),
        Reloc::MachOX86_64Tlv => relative(macho::X86_64_RELOC_TLV),
        _ => return None,
    })
}

fn macho_aarch64(kind: Reloc) -> Option<RelocationFlags> {
    Some(match kind {
        Reloc::Abs8 => absolute(macho::ARM64_RELOC_UNSIGNED, 3),
        Reloc::Arm64Call => relative(macho::ARM64_RELOC_BRANCH26),
        Reloc::Aarch64AdrPrelPgHi21 => relative(macho::ARM64_RELOC_PAGE21),
        Reloc::Aarch64AddAbsLo12Nc => absolute(macho::ARM64_RELOC_PAGEOFF12, 2),
        Reloc::Aarch64AdrGotPage21 => relative(macho::ARM64_RELOC_GOT_LOAD_PAGE21),
        Reloc::Aarch64Ld64GotLo12Nc => absolute(macho::ARM64_RELOC_GOT_LOAD_PAGEOFF12, 2),
        Reloc::MachOAarch64TlsAdrPage21 => relative(macho::ARM64_RELOC_TLVP_LOAD_PAGE21),
        Reloc::MachOAarch64TlsAdrPageOff12 => absolute(macho::ARM64_RELOC_TLVP_LOAD_PAGEOFF12, 2),
        _ => return None,
    })
}

/// Returns a relocation of `2^length` bytes.
fn absolute(r_type: u8, r_length: u8) -> RelocationFlags {
    RelocationFlags::MachO { r_type, r_pcrel: false, r_length }
}

/// Returns a relocation of 4 bytes relative to the instruction.
fn relative(r_type: u8) -> RelocationFlags {
    RelocationFlags::MachO { r_type, r_pcrel: true, r_length: 2 }
}
