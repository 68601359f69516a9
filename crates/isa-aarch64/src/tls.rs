//! The address of a thread-local symbol, by system. On Linux by a descriptor (ELF for the Arm 64-bit Architecture, section 5.7.11.6).
//!
//! ```text
//! adrp x0, :tlsdesc:symbol
//! ldr  x1, [x0, :tlsdesc_lo12:symbol]
//! add  x0, x0, :tlsdesc_lo12:symbol
//! blr  x1                                 .tlsdesccall symbol
//! mrs  x1, tpidr_el0
//! add  x0, x0, x1
//! ```
//! The routine of the descriptor returns the distance from the thread pointer in x0 and preserves all registers
//! except x0, x1 and x30. A linker replaces the first four instructions by two moves or a load if the symbol turns
//! out to be in the program or in a library loaded with it.

use crate::asm;
use kingpost_mach::{Args, Buffer, Mem, MemBase, RelocKind, RowId};

/// Emits the sequence `row` for the symbol in the memory operand.
pub fn address(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let Some(Mem { base: MemBase::Symbol(index), .. }) = args.mem else { unreachable!("the row names a symbol") };
    buffer.list(|| asm::text(row, args));
    let relocated = [
        (RelocKind::Aarch64TlsDescAdrPage, 0x9000_0000),
        (RelocKind::Aarch64TlsDescLdLo12, 0xf940_0001),
        (RelocKind::Aarch64TlsDescAddLo12, 0x9100_0000),
        (RelocKind::Aarch64TlsDescCall, 0xd63f_0020),
    ];
    for (kind, word) in relocated {
        buffer.reloc(kind, args.symbols[index as usize].name, 0);
        buffer.put4(word);
    }
    buffer.put4(0xd53b_d041);
    buffer.put4(0x8b01_0000);
}

/// Emits the sequence `row` of Windows: the block of the module in the thread's array of blocks, and the symbol's offset
/// in it (Microsoft, "PE Format", section "The .tls Section"). The immediate is the number of the name of the index.
///
/// ```text
/// adrp x16, _tls_index
/// ldr  w16, [x16, :lo12:_tls_index]
/// ldr  x17, [x18, #88]
/// ldr  x0, [x17, x16, lsl #3]
/// add  x0, x0, :secrel_hi12:symbol
/// add  x0, x0, :secrel_lo12:symbol
/// ```
pub fn address_by_index(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let Some(Mem { base: MemBase::Symbol(index), .. }) = args.mem else { unreachable!("the row names a symbol") };
    buffer.list(|| asm::text(row, args));
    let (symbol, to) = (args.symbols[index as usize].name, u32::from(args.regs[0].enc()));
    buffer.reloc(RelocKind::Aarch64AdrPage, args.imm as u32, 0);
    buffer.put4(0x9000_0010);
    buffer.reloc(RelocKind::Aarch64Ld32Lo12, args.imm as u32, 0);
    buffer.put4(0xb940_0210);
    buffer.put4(0xf940_2e51);
    buffer.put4(0xf870_7a20 | to);
    buffer.reloc(RelocKind::Aarch64SecRelHi12, symbol, 0);
    buffer.put4(0x9140_0000 | to << 5 | to);
    buffer.reloc(RelocKind::Aarch64SecRelLo12, symbol, 0);
    buffer.put4(0x9100_0000 | to << 5 | to);
}

/// Emits the sequence `row` of macOS: a call of the routine in the symbol's descriptor.
///
/// ```text
/// adrp x0, symbol@TLVPPAGE
/// ldr  x0, [x0, symbol@TLVPPAGEOFF]       or add, after linking, if the descriptor is in this image
/// ldr  x16, [x0]
/// blr  x16
/// ```
pub fn address_of_variable(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let Some(Mem { base: MemBase::Symbol(index), .. }) = args.mem else { unreachable!("the row names a symbol") };
    buffer.list(|| asm::text(row, args));
    let symbol = args.symbols[index as usize].name;
    buffer.reloc(RelocKind::Aarch64TlvPage, symbol, 0);
    buffer.put4(0x9000_0000);
    buffer.reloc(RelocKind::Aarch64TlvLo12, symbol, 0);
    buffer.put4(0xf940_0000);
    buffer.put4(0xf940_0010);
    buffer.put4(0xd63f_0200);
}
