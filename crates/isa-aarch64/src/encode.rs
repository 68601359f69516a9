//! Words of one instruction, from its row's encoding, its registers, memory operand and immediate.
//!
//! Takes neither code nor allocation problem, so any emitter can use it. A memory operand that the instruction cannot
//! encode is computed into x16 first, see `address.rs`.

use crate::address;
use crate::asm;
use crate::encoding::{Encoding, ImmField, MemField, Special};
use crate::immediates::{Step, constant, paired, scaled, unscaled};
use crate::regs::X16;
use crate::rows::{self, ENCODINGS};
use kingpost_ir::TrapCode;
use kingpost_mach::{Args, Buffer, IndexExtend, Mem, MemBase, Regs, RelocKind, RowId, SymbolRef};
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
        (MemField::None, _) => plain(row, encoding, word, args, buffer),
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

/// Returns the symbol that the row names.
fn symbol(args: &Args<'_>) -> SymbolRef {
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

fn at_rn(reg: PReg) -> u32 {
    u32::from(reg.enc()) << 5
}

/// Appends a word that accesses the memory `disp` bytes from `base`.
fn access(row: RowId, word: u32, base: PReg, disp: i64, args: &Args<'_>, buffer: &mut Buffer) {
    let mem = Some(Mem::base(MemBase::Reg(base), disp));
    buffer.list(|| asm::text(row, &Args { mem, ..*args }));
    put(word | at_rn(base), args.trap, buffer);
}

/// Appends a word that may trap.
#[inline]
pub(crate) fn put(word: u32, trap: Option<TrapCode>, buffer: &mut Buffer) {
    if let Some(code) = trap {
        buffer.trap(code);
    }
    buffer.put4(word);
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

/// Emits an instruction without memory operand.
fn plain(row: RowId, encoding: &Encoding, word: u32, args: &Args<'_>, buffer: &mut Buffer) {
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
            Step::Zero(field) => (zero, field),
            Step::Ones(field) => (ones, field),
            Step::Keep(field) => (keep, field),
            Step::Pattern(field) => (pattern, field),
        };
        encode(row, &Args::imm(&[to], i64::from(field)), buffer);
    }
}

/// Form of a scaled offset (Arm ARM, C4.1, "Loads and Stores").
const SCALED: u32 = 1 << 24;

/// Returns a load or store of `bytes` bytes, or `None` if it cannot encode the address. `word` is its form with a
/// scaled offset.
pub(crate) fn single_word(word: u32, bytes: u8, mem: &Mem) -> Option<u32> {
    let base = address::register(mem.base)?;
    match mem.index {
        None => at_base(word, bytes, base, mem.disp),
        Some(index) if mem.disp == 0 => at_index(word, bytes, base, index),
        Some(_) => None,
    }
}

/// Returns a load or store of `bytes` bytes at a base and an offset.
#[inline]
pub(crate) fn at_base(word: u32, bytes: u8, base: PReg, disp: i64) -> Option<u32> {
    let word = word | at_rn(base);
    scaled(disp, bytes)
        .map(|field| word | field << 10)
        .or_else(|| unscaled(disp).map(|field| word & !SCALED | field << 12))
}

/// Returns a load or store of `bytes` bytes at a base and an index, with its shift and extension.
#[inline]
pub(crate) fn at_index(word: u32, bytes: u8, base: PReg, (index, shift, extend): Index) -> Option<u32> {
    const REGISTER: u32 = 1 << 21 | 2 << 10;
    if shift != 0 && 1 << shift != bytes {
        return None;
    }
    let scale = u32::from(shift != 0) << 12;
    let option = (address::extension(extend) as u32) << 13;
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
    let base = address::register(mem.base)?;
    Some(word | paired(mem.disp, bytes)? << 15 | at_rn(base))
}

/// Emits a load or store of two registers, after computing its address into x16.
fn pair(row: RowId, word: u32, mem: Mem, args: &Args<'_>, buffer: &mut Buffer) {
    address::compute(X16, mem, args, buffer);
    access(row, word, X16, 0, args, buffer);
}
