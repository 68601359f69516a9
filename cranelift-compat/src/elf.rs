//! Relocations in ELF files (System V ABI supplements for AMD64, table 4.9, and for AArch64, section 5.7).

use cranelift_codegen::binemit::Reloc;
use cranelift_module::{ModuleError, ModuleResult};
use object::{Architecture, elf};

/// Returns the type of a relocation in objects for an architecture.
///
/// # Errors
/// If the relocation belongs to another architecture or object format.
pub(crate) fn relocation_type(kind: Reloc, architecture: Architecture) -> ModuleResult<u32> {
    let of_x86 = || {
        Some(match kind {
            Reloc::Abs8 => elf::R_X86_64_64,
            Reloc::Abs4 => elf::R_X86_64_32,
            Reloc::X86PCRel4 => elf::R_X86_64_PC32,
            Reloc::X86CallPCRel4 | Reloc::X86CallPLTRel4 => elf::R_X86_64_PLT32,
            Reloc::X86GOTPCRel4 => elf::R_X86_64_GOTPCREL,
            Reloc::ElfX86_64TlsGd => elf::R_X86_64_TLSGD,
            _ => return None,
        })
    };
    let of_aarch64 = || {
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
    };
    let found = if architecture == Architecture::X86_64 { of_x86() } else { of_aarch64() };
    found.ok_or_else(|| ModuleError::Backend(anyhow::anyhow!("no relocation {kind} in ELF files for {architecture:?}")))
}
