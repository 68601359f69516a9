//! The switch to another stack.
//!
//! ```text
//! mov rdx, [rcx]        the other stack's pointer
//! mov [rax], rsp
//! mov rsp, rdx
//! mov rdx, [rcx + 8]    its frame pointer
//! mov [rax + 8], rbp
//! mov rbp, rdx
//! mov rdx, [rcx + 16]   where it goes on
//! lea r8, [rip + 6]
//! mov [rax + 16], r8
//! jmp rdx
//! ```
//! After the jump back, execution continues at the end of the sequence. Each word is loaded before it is stored, so
//! that both contexts may be at one address.

use crate::asm;
use kingpost_mach::{Args, Buffer, RowId};

/// Emits the sequence `row`.
pub fn emit(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    buffer.list(|| asm::text(row, args));
    buffer.put(&[0x48, 0x8b, 0x11, 0x48, 0x89, 0x20, 0x48, 0x89, 0xd4]);
    buffer.put(&[0x48, 0x8b, 0x51, 0x08, 0x48, 0x89, 0x68, 0x08, 0x48, 0x89, 0xd5]);
    buffer.put(&[0x48, 0x8b, 0x51, 0x10, 0x4c, 0x8d, 0x05, 0x06, 0x00, 0x00, 0x00]);
    buffer.put(&[0x4c, 0x89, 0x40, 0x10, 0xff, 0xe2]);
}
