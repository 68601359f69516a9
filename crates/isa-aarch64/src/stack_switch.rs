//! The switch to another stack.
//!
//! ```text
//! ldr x3, [x2]          the other stack's pointer
//! mov x4, sp
//! str x4, [x1]
//! mov sp, x3
//! ldr x3, [x2, #8]      its frame pointer
//! str x29, [x1, #8]
//! mov x29, x3
//! ldr x16, [x2, #16]    where it goes on: by x16 a jump may go to a function's beginning, too
//! adr x4, 1f
//! str x4, [x1, #16]
//! br  x16
//! 1: bti j
//! ```
//! Each word is loaded before it is stored, so that both contexts may be at one address.

use crate::asm;
use kingpost_mach::{Args, Buffer, RowId};

const WORDS: [u32; 12] = [
    0xf940_0043,
    0x9100_03e4,
    0xf900_0024,
    0x9100_007f,
    0xf940_0443,
    0xf900_043d,
    0xaa03_03fd,
    0xf940_0850,
    0x1000_0064,
    0xf900_0824,
    0xd61f_0200,
    0xd503_249f,
];

/// Emits the sequence `row`.
pub fn emit(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    buffer.list(|| asm::text(row, args));
    WORDS.into_iter().for_each(|word| buffer.put4(word));
}
