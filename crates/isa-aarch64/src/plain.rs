//! Words of instructions without memory operand, from the row's encoding, registers and immediate.

use crate::asm;
use crate::encoding::{Encoding, ImmField, Special};
use crate::immediates::{ConstantInst, constant};
use crate::rows::{self, ENCODINGS};
use kingpost_ir::TrapCode;
use kingpost_mach::{Args, Buffer, Mem, MemBase, Regs, RelocKind, RowId, SymbolRef};
use kingpost_regalloc::PReg;

/// Appends the instruction `row`, which has no memory operand.
pub(crate) fn plain(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let word = word(&ENCODINGS[usize::from(row.0)], Regs::of(args.regs), args.imm);
    put_plain(row, word, args, buffer);
}

/// Emits an instruction without memory operand. `word` has its registers and immediate.
pub(crate) fn put_plain(row: RowId, word: u32, args: &Args<'_>, buffer: &mut Buffer) {
    let encoding = &ENCODINGS[usize::from(row.0)];
    if let Special::Constant(bits) = encoding.special {
        make_constant(bits, args, buffer);
        return;
    }
    buffer.list(|| asm::text(row, args));
    match encoding.special {
        Special::Got => {
            let symbol = symbol(args);
            buffer.reloc(RelocKind::Aarch64AdrGotPage, symbol.name, symbol.offset);
            buffer.put4(0x9000_0000 | word);
            buffer.reloc(RelocKind::Aarch64LdGotLo12, symbol.name, symbol.offset);
            buffer.put4(0xf940_0000 | word | at_rn(args.regs[0]));
        }
        Special::Absolute => {
            let symbol = symbol(args);
            let [movz, movk] = [0xd280_0000, 0xf280_0000];
            for (kind, form) in [
                (RelocKind::Aarch64MovwG0, movz),
                (RelocKind::Aarch64MovwG1, movk | 1 << 21),
                (RelocKind::Aarch64MovwG2, movk | 2 << 21),
                (RelocKind::Aarch64MovwG3, movk | 3 << 21),
            ] {
                buffer.reloc(kind, symbol.name, symbol.offset);
                buffer.put4(form | word);
            }
        }
        _ => {
            if let Some(kind) = encoding.reloc {
                let symbol = symbol(args);
                buffer.reloc(kind, symbol.name, symbol.offset);
            }
            put(word, args.trap, buffer);
        }
    }
}

/// Emits the moves that make a constant.
fn make_constant(bits: u8, args: &Args<'_>, buffer: &mut Buffer) {
    let to = args.regs[0];
    let [zero, ones, keep, pattern] = if bits == 32 {
        [rows::MOVZ_RI.of(32), rows::MOVN_RI.of(32), rows::MOVK_RI.of(32), rows::ORR_ZI.of(32)]
    } else {
        [rows::MOVZ_RI.of(64), rows::MOVN_RI.of(64), rows::MOVK_RI.of(64), rows::ORR_ZI.of(64)]
    };
    for step in constant(args.imm as u64, u32::from(bits)) {
        let (row, field) = match step {
            ConstantInst::Zero(field) => (zero, field),
            ConstantInst::Ones(field) => (ones, field),
            ConstantInst::Keep(field) => (keep, field),
            ConstantInst::Pattern(field) => (pattern, field),
        };
        plain(row, &Args::imm(&[to], i64::from(field)), buffer);
    }
}

/// Returns the symbol that the row names.
pub(crate) fn symbol(args: &Args<'_>) -> SymbolRef {
    match args.mem {
        Some(Mem { base: MemBase::Symbol(index), .. }) => args.symbols[index as usize],
        _ => unreachable!("the row names a symbol"),
    }
}

/// Returns the word with registers and immediate filled in. Only the memory operand is missing.
#[inline(always)]
pub(crate) fn word(encoding: &Encoding, regs: Regs, imm: i64) -> u32 {
    let mut word = encoding.word | place(encoding.imm, imm);
    let mut rest = regs.word();
    for field in encoding.fields {
        word |= (rest as u32 & 63) * field;
        rest >>= 8;
    }
    word
}

/// Returns the immediate in its field of the word.
#[inline(always)]
fn place(field: ImmField, imm: i64) -> u32 {
    // Most rows have `None` or `At`. Both take one path, because a branch between them is hard to predict.
    let (kept, at) = match field {
        ImmField::None => (0, 0),
        ImmField::At(at) => (u32::MAX, at),
        _ => return place_changed(field, imm),
    };
    (imm as u32 & kept) << at
}

/// Returns the immediate in a field that holds it in another form.
#[inline(never)]
fn place_changed(field: ImmField, imm: i64) -> u32 {
    let value = imm as u32;
    match field {
        ImmField::None | ImmField::At(_) => unreachable!("the field has the immediate as it is"),
        ImmField::Signed { at, bits, scale } => ((imm >> scale) as u32 & ((1 << bits) - 1)) << at,
        ImmField::AddSub if value > 0xfff => 1 << 22 | (value >> 12) << 10,
        ImmField::AddSub => value << 10,
        ImmField::LeftShift(bits) => {
            let bits = u32::from(bits);
            (bits.wrapping_sub(value) & (bits - 1)) << 16 | (bits - 1 - value) << 10
        }
        ImmField::Inverted => (value ^ 1) << 12,
        ImmField::TestBit => (value & 31) << 19 | (value >> 5) << 31,
        ImmField::VectorRight(bits) => (2 * u32::from(bits) - value) << 16,
        ImmField::VectorLeft(bits) => (u32::from(bits) + value) << 16,
        ImmField::Lanes(log) => (value & 0xff) << (17 + log) | (value >> 8) << (11 + log),
        ImmField::Modified(at) => (value & 0x1f) << 5 | (value >> 5 & 7) << 16 | (value >> 8) << at,
    }
}

pub(crate) fn at_rn(reg: PReg) -> u32 {
    u32::from(reg.enc()) << 5
}

/// Appends a word that may trap.
#[inline]
pub(crate) fn put(word: u32, trap: Option<TrapCode>, buffer: &mut Buffer) {
    if let Some(code) = trap {
        buffer.trap(code);
    }
    buffer.put4(word);
}
