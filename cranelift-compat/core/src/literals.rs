//! Constants after the code that loads them, where Cranelift places them.
//!
//! Our objects and images have constants in separate read-only memory. Compiled code in Cranelift's form has them at
//! its end, and loads them by their distance, without relocations: on AArch64, `adr` replaces `adrp`, and the offset
//! of the load stays zero. There, the address of a far symbol is also stored among the code, because Cranelift has no
//! relocations of moves.

use cranelift_codegen::{CodegenError, CodegenResult};
use kingpost_mach::{FunctionView, Literal, Reloc, RelocKind, SymbolName};

/// Sets `code` to the function's code and the constants it refers to. Returns the alignment that they need.
///
/// # Errors
/// If a constant is too far away.
pub(crate) fn append(view: &FunctionView<'_>, code: &mut Vec<u8>) -> CodegenResult<u32> {
    code.clear();
    code.extend_from_slice(view.code);
    for reloc in view.relocs.iter().filter(|reloc| reloc.kind == RelocKind::Aarch64MovwG0) {
        load_word(&mut code[reloc.offset as usize..]);
    }
    let mut places: Vec<Option<usize>> = vec![None; view.symbols.len()];
    let mut align = 1;
    for (reloc, literal) in literal_relocs(view) {
        let bytes = literal.bytes();
        let place = *places[reloc.symbol as usize].get_or_insert_with(|| {
            let place = code.len().next_multiple_of(bytes.len());
            code.resize(place, 0);
            code.extend_from_slice(bytes);
            align = align.max(bytes.len() as u32);
            place
        });
        let distance = place as i64 + reloc.addend - i64::from(reloc.offset);
        insert(reloc, distance, code).ok_or(CodegenError::CodeTooLarge)?;
    }
    Ok(align)
}

/// Offset in bytes of the word that the code of [`load_word`] loads.
pub(crate) const WORD: u32 = 8;

/// Replaces the four moves at the start of `code` by `ldr xd, 1f; b 2f; 1: .xword 0; 2:`.
fn load_word(code: &mut [u8]) {
    let Some(moves) = code.first_chunk_mut::<16>() else { return };
    let register = u32::from(moves[0] & 31);
    let words = [0x5800_0040 | register, 0x1400_0003, 0, 0];
    for (place, word) in moves.chunks_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Returns the relocations that refer to constants.
fn literal_relocs<'a>(view: &FunctionView<'a>) -> impl Iterator<Item = (&'a Reloc, &'a Literal)> {
    let symbols = view.symbols;
    view.relocs.iter().filter_map(move |reloc| match &symbols[reloc.symbol as usize] {
        SymbolName::Literal(literal) => Some((reloc, literal)),
        _ => None,
    })
}

/// Inserts the distance from the relocation's place to its target into an instruction, in bytes.
fn insert(reloc: &Reloc, distance: i64, code: &mut [u8]) -> Option<()> {
    let field: &mut [u8; 4] = code[reloc.offset as usize..].first_chunk_mut()?;
    match reloc.kind {
        RelocKind::X86PcRel4 => *field = i32::try_from(distance).ok()?.to_le_bytes(),
        RelocKind::Aarch64AdrPage => {
            let bits = u32::try_from(distance).ok().filter(|&bits| bits < 1 << 20)?;
            let adr = u32::from_le_bytes(*field) & !(1 << 31);
            *field = (adr | (bits & 3) << 29 | (bits >> 2) << 5).to_le_bytes();
        }
        RelocKind::Aarch64Ld32Lo12 | RelocKind::Aarch64Ld64Lo12 | RelocKind::Aarch64Ld128Lo12 => {}
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_loaded_over_themselves() {
        // movz x3, #0; movk x3, #0, lsl #16; …
        let mut code = [0xd280_0003_u32, 0xf2a0_0003, 0xf2c0_0003, 0xf2e0_0003].map(u32::to_le_bytes).concat();
        load_word(&mut code);
        // ldr x3, .+8; b .+12
        assert_eq!(code, [0x43, 0, 0, 0x58, 3, 0, 0, 0x14, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn pages_become_distances() {
        let reloc = Reloc { offset: 4, kind: RelocKind::Aarch64AdrPage, symbol: 0, addend: 0 };
        let mut code = [0u32.to_le_bytes(), 0x9000_0001_u32.to_le_bytes()].concat();
        // adr x1, .+22
        assert_eq!(insert(&reloc, 22, &mut code), Some(()));
        assert_eq!(code[4..], 0x5000_00a1_u32.to_le_bytes());
        assert_eq!(insert(&reloc, 1 << 20, &mut code), None);
    }
}
