//! The address of a thread-local symbol by a descriptor (ELF for the Arm 64-bit Architecture, section 5.7.11.6).
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
