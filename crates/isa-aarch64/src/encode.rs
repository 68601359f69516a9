//! Words of one instruction, from its row's encoding, its registers, memory operand and immediate.
//!
//! Takes neither code nor allocation problem, so any emitter can use it. A memory operand that the instruction cannot
//! encode is computed into x16 first, see `address.rs`.

use crate::address;
use crate::asm;
use crate::encoding::MemField;
use crate::immediates::{extension, paired, scaled, unscaled};
use crate::plain::{at_rn, put, put_plain, symbol, word};
use crate::regs::{X16, base_register};
use crate::rows::ENCODINGS;
use kingpost_mach::{Args, Buffer, IndexExtend, Mem, MemBase, Regs, RelocKind, RowId};
use kingpost_regalloc::PReg;

/// Appends the instruction `row` with `args`.
pub fn encode(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let encoding = &ENCODINGS[usize::from(row.0)];
    let word = word(encoding, Regs::of(args.regs), args.imm);
    let direct = match (encoding.is_single(), encoding.mem, &args.mem) {
        (true, MemField::None, _) => Some(word),
        (true, MemField::Single, Some(mem)) => single_word(word, encoding.bytes, mem),
        (true, MemField::Pair, Some(mem)) => pair_word(word, encoding.bytes / 2, mem),
        _ => None,
    };
    let Some(direct) = direct else { return general(row, word, args, buffer) };
    buffer.list(|| asm::text(row, args));
    put(direct, args.trap, buffer);
}

/// Appends an instruction that needs further instructions or a relocation. `word` has its registers and immediate.
#[inline(never)]
fn general(row: RowId, word: u32, args: &Args<'_>, buffer: &mut Buffer) {
    let encoding = &ENCODINGS[usize::from(row.0)];
    match (encoding.mem, args.mem) {
        (MemField::None, _) => put_plain(row, word, args, buffer),
        (MemField::Single, Some(mem)) => single(row, word, encoding.bytes, mem, args, buffer),
        (MemField::Pair, Some(mem)) => pair(row, word, mem, args, buffer),
        (MemField::Base, Some(mem)) => {
            let base = address::base(mem, args, buffer);
            access(row, word, base, 0, args, buffer);
        }
        (MemField::Literal, _) => literal(row, word, encoding.bytes, args, buffer),
        (MemField::Address, Some(mem)) => address::compute(args.regs[0], mem, args, buffer),
        _ => unreachable!("the row has a memory operand"),
    }
}

/// Appends a word that accesses the memory `disp` bytes from `base`.
fn access(row: RowId, word: u32, base: PReg, disp: i64, args: &Args<'_>, buffer: &mut Buffer) {
    let mem = Some(Mem::base(MemBase::Reg(base), disp));
    buffer.list(|| asm::text(row, &Args { mem, ..*args }));
    put(word | at_rn(base), args.trap, buffer);
}

/// Emits a load of a literal, after the page of its address in x16. Objects and images align literals to their size.
fn literal(row: RowId, word: u32, bytes: u8, args: &Args<'_>, buffer: &mut Buffer) {
    let name = symbol(args).name;
    buffer.list(|| format!("adrp x16, symbol{name}"));
    address::page(X16, name, 0, buffer);
    buffer.list(|| asm::text(row, args));
    let kind = match bytes {
        4 => RelocKind::Aarch64Ld32Lo12,
        8 => RelocKind::Aarch64Ld64Lo12,
        _ => RelocKind::Aarch64Ld128Lo12,
    };
    buffer.reloc(kind, name, 0);
    buffer.put4(word | at_rn(X16));
}

/// Form of a scaled offset (Arm ARM, C4.1, "Loads and Stores").
const SCALED: u32 = 1 << 24;

/// Returns a load or store of `bytes` bytes, or `None` if it cannot encode the address. `word` is its form with a
/// scaled offset.
pub(crate) fn single_word(word: u32, bytes: u8, mem: &Mem) -> Option<u32> {
    let base = base_register(mem.base)?;
    match mem.index {
        None => at_base(word, bytes, base, mem.disp),
        Some(index) if mem.disp == 0 => at_index(word, bytes, base, index),
        Some(_) => None,
    }
}

/// Returns a load or store of `bytes` bytes at a base and an offset.
pub(crate) fn at_base(word: u32, bytes: u8, base: PReg, disp: i64) -> Option<u32> {
    let word = word | at_rn(base);
    scaled(disp, bytes)
        .map(|field| word | field << 10)
        .or_else(|| unscaled(disp).map(|field| word & !SCALED | field << 12))
}

/// Returns a load or store of `bytes` bytes at a base and an index, with its shift and extension.
pub(crate) fn at_index(word: u32, bytes: u8, base: PReg, (index, shift, extend): Index) -> Option<u32> {
    const REGISTER: u32 = 1 << 21 | 2 << 10;
    if shift != 0 && 1 << shift != bytes {
        return None;
    }
    let scale = u32::from(shift != 0) << 12;
    let option = (extension(extend) as u32) << 13;
    Some(word & !SCALED | at_rn(base) | REGISTER | u32::from(index.enc()) << 16 | option | scale)
}

/// Index of a [`Mem`].
type Index = (PReg, u8, IndexExtend);

/// Emits a load or store of one register. Addresses that it cannot encode are computed first.
fn single(row: RowId, word: u32, bytes: u8, mem: Mem, args: &Args<'_>, buffer: &mut Buffer) {
    let mem = address::within_reach(mem, bytes, args, buffer);
    buffer.list(|| asm::text(row, &Args { mem: Some(mem), ..*args }));
    let word = single_word(word, bytes, &mem).expect("the place was brought within reach");
    put(word, args.trap, buffer);
}

/// Returns a load or store of two registers of `bytes` bytes each, or `None` if it cannot encode the address.
fn pair_word(word: u32, bytes: u8, mem: &Mem) -> Option<u32> {
    if mem.index.is_some() {
        return None;
    }
    let base = base_register(mem.base)?;
    Some(word | paired(mem.disp, bytes)? << 15 | at_rn(base))
}

/// Emits a load or store of two registers, after computing its address into x16.
fn pair(row: RowId, word: u32, mem: Mem, args: &Args<'_>, buffer: &mut Buffer) {
    address::compute(X16, mem, args, buffer);
    access(row, word, X16, 0, args, buffer);
}
