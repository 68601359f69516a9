//! Relocations in memory.

use cranelift_codegen::binemit::Reloc;
use cranelift_module::{ModuleError, ModuleReloc, ModuleResult};
use kingpost_jit::relocate::{self, STUB_LEN, Target};
use kingpost_mach::{RelocKind, SymbolName};

/// Size in bytes of a detour after the code, for a call that does not reach: a jump, and the address that it loads.
const DETOUR_BYTES: usize = STUB_LEN + 8;

/// Returns the number of bytes that detours for `relocs` may need after the code.
pub(crate) fn detours(relocs: &[ModuleReloc]) -> usize {
    let calls = relocs.iter().filter(|reloc| is_call(reloc.kind)).count();
    if calls == 0 { 0 } else { calls * DETOUR_BYTES + 16 }
}

fn is_call(kind: Reloc) -> bool {
    matches!(kind, Reloc::X86CallPCRel4 | Reloc::Arm64Call)
}

/// Applies `relocs` to the definition at `address`. Their targets are at `symbols`. The first `len` bytes of
/// `contents` are code or data, and the other bytes are for detours.
///
/// # Errors
/// If a relocation is of another machine or does not reach.
pub(crate) fn apply(
    relocs: &[ModuleReloc],
    symbols: &[usize],
    contents: &mut [u8],
    len: usize,
    address: usize,
) -> ModuleResult<()> {
    let mut detour = (address + len).next_multiple_of(16) - address;
    for (reloc, &symbol) in relocs.iter().zip(symbols) {
        let kind = reloc_kind(reloc.kind)?;
        let mut target = Target { symbol, stub: symbol, got: symbol };
        if is_call(reloc.kind) {
            let (stub, word) = (detour, detour + STUB_LEN);
            detour += DETOUR_BYTES;
            contents[word..word + 8].copy_from_slice(&(symbol as u64).to_le_bytes());
            relocate::stub(address + stub, address + word, &mut contents[stub..word]);
            target.stub = address + stub;
        }
        let at = reloc.offset as usize;
        let name = SymbolName::named(&reloc.name.to_string());
        let field = &mut contents[at..at + kind.field_bytes()];
        relocate::apply(kind, target, reloc.addend, address + at, field, &name)
            .map_err(|error| ModuleError::Backend(anyhow::Error::new(error)))?;
    }
    Ok(())
}

/// Returns the kind of a relocation of code that is not position-independent.
fn reloc_kind(kind: Reloc) -> ModuleResult<RelocKind> {
    Ok(match kind {
        Reloc::Abs8 => RelocKind::Abs8,
        Reloc::Abs4 => RelocKind::Abs4,
        Reloc::X86PCRel4 => RelocKind::X86PcRel4,
        Reloc::X86CallPCRel4 => RelocKind::X86CallPcRel4,
        Reloc::Arm64Call => RelocKind::Aarch64Call,
        Reloc::Aarch64AdrPrelPgHi21 => RelocKind::Aarch64AdrPage,
        Reloc::Aarch64AddAbsLo12Nc => RelocKind::Aarch64AddLo12,
        _ => return Err(ModuleError::Backend(anyhow::anyhow!("no relocation {kind} in memory"))),
    })
}
