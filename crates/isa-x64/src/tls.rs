//! The address of a thread-local symbol in the general dynamic model (ELF Handling For Thread-Local Storage, section
//! 4.4.6).
//!
//! ```text
//! data16                  lea  rdi, [rip + symbol@tlsgd]
//! data16 data16 rex.w     call __tls_get_addr@PLT
//! ```
//! The prefixes have no effect. They make room for the sequence by which a linker replaces all 16 bytes if the symbol
//! turns out to be in the program (`mov rax, fs:0; lea rax, [rax + symbol@tpoff]`) or in a library loaded with it.

use crate::asm;
use kingpost_mach::{Args, Buffer, Mem, MemBase, RelocKind, RowId};

/// Emits the sequence `row` for the symbol in the memory operand. The immediate is the number of the routine's name.
pub fn address(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let Some(Mem { base: MemBase::Symbol(index), .. }) = args.mem else { unreachable!("the row names a symbol") };
    buffer.list(|| asm::text(row, args));
    buffer.put(&[0x66, 0x48, 0x8d, 0x3d]);
    buffer.reloc(RelocKind::X86TlsGd, args.symbols[index as usize].name, -4);
    buffer.put4(0);
    buffer.put(&[0x66, 0x66, 0x48, 0xe8]);
    buffer.reloc(RelocKind::X86CallPltRel4, args.imm as u32, -4);
    buffer.put4(0);
}

/// Emits the sequence `row` of Windows: the block of the module in the thread's array of blocks, and the symbol's offset
/// in it (Microsoft, "PE Format", section "The .tls Section").
///
/// ```text
/// mov eax, [rip + _tls_index]
/// mov rcx, gs:[0x58]
/// mov rax, [rcx + rax*8]
/// lea rax, [rax + symbol@secrel32]
/// ```
/// The immediate is the number of the name of the index.
pub fn address_by_index(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let Some(Mem { base: MemBase::Symbol(index), .. }) = args.mem else { unreachable!("the row names a symbol") };
    buffer.list(|| asm::text(row, args));
    buffer.put(&[0x8b, 0x05]);
    buffer.reloc(RelocKind::X86PcRel4, args.imm as u32, -4);
    buffer.put4(0);
    buffer.put(&[0x65, 0x48, 0x8b, 0x0c, 0x25, 0x58, 0, 0, 0]);
    buffer.put(&[0x48, 0x8b, 0x04, 0xc1]);
    buffer.put(&[0x48, 0x8d, 0x80]);
    buffer.reloc(RelocKind::X86SecRel, args.symbols[index as usize].name, 0);
    buffer.put4(0);
}

/// Emits the sequence `row` of macOS: a call of the routine in the symbol's descriptor, which returns the address in rax
/// and preserves the integer registers except rdi.
///
/// ```text
/// mov  rdi, [rip + symbol@tlvp]       or lea, after linking, if the descriptor is in this image
/// call [rdi]
/// ```
pub fn address_of_variable(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let Some(Mem { base: MemBase::Symbol(index), .. }) = args.mem else { unreachable!("the row names a symbol") };
    buffer.list(|| asm::text(row, args));
    buffer.put(&[0x48, 0x8b, 0x3d]);
    buffer.reloc(RelocKind::X86Tlv, args.symbols[index as usize].name, -4);
    buffer.put4(0);
    buffer.put(&[0xff, 0x17]);
}
