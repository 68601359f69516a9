//! Data processing with an immediate (C4.1, "Data Processing -- Immediate").

use super::machine::{Machine, width};
use super::operation::{BitOperation, bit_operation, sum};
use super::word::{Reg, Word};
use crate::World;
use kingpost_smt::Term;

/// The change that `movz`, `movn` and `movk` make to a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    /// The shifted immediate, inverted.
    Inverted,
    /// The shifted immediate.
    Whole,
    /// The immediate in its place, and all other bits as before.
    Insert,
}

/// A data-processing instruction with an immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Immediate {
    /// `adr`: the address of the instruction plus an offset. `adrp`: the page of the instruction plus an offset.
    Address { d: Reg, page: bool, offset: i64 },
    /// `add`, `adds`, `sub`, `subs`.
    Sum { wide: bool, subtract: bool, flags: bool, d: Reg, n: Reg, value: u32 },
    /// `and`, `orr`, `eor`, `ands`.
    Logical { wide: bool, operation: BitOperation, flags: bool, d: Reg, n: Reg, mask: u64 },
    /// `movn`, `movz`, `movk`: 16 bits at bit `low`.
    Move { wide: bool, kind: Move, d: Reg, value: u16, low: u8 },
    /// `sbfm`, `ubfm`: a field of `n` at bit `from`, extended and placed at bit `to` of `d`.
    Field { wide: bool, signed: bool, d: Reg, n: Reg, from: u8, to: u8, bits: u8 },
    /// `bfm`: a field of `n` at bit `from`, inserted at bit `to` of `d`.
    Insert { wide: bool, d: Reg, n: Reg, from: u8, to: u8, bits: u8 },
    /// `extr`: bits of `n` above `m`, from bit `low` on.
    Extract { wide: bool, d: Reg, n: Reg, m: Reg, low: u8 },
}

pub(super) fn decode(word: Word) -> Option<Immediate> {
    match word.bits(25, 23) {
        0b000 | 0b001 => Some(decode_address(word)),
        0b010 => Some(decode_sum(word)),
        0b100 => decode_logical(word),
        0b101 => decode_move(word),
        0b110 => decode_field(word),
        0b111 => decode_extract(word),
        // "Add/subtract (immediate, with tags)", and "Min/max (immediate)" of later versions.
        _ => None,
    }
}

/// Decodes "PC-rel. addressing".
fn decode_address(word: Word) -> Immediate {
    let page = word.bit(31);
    let offset = word.signed(23, 5) << 2 | i64::from(word.bits(30, 29));
    Immediate::Address { d: word.reg(0), page, offset: if page { offset << 12 } else { offset } }
}

/// Decodes "Add/subtract (immediate)".
fn decode_sum(word: Word) -> Immediate {
    let flags = word.bit(29);
    let d = if flags { word.reg(0) } else { word.reg_or_sp(0) };
    let value = word.bits(21, 10) << if word.bit(22) { 12 } else { 0 };
    Immediate::Sum { wide: word.bit(31), subtract: word.bit(30), flags, d, n: word.reg_or_sp(5), value }
}

/// Decodes "Logical (immediate)".
fn decode_logical(word: Word) -> Option<Immediate> {
    let wide = word.bit(31);
    if !wide && word.bit(22) {
        return None;
    }
    let mask = repeated_ones(word.bit(22), word.bits(21, 16), word.bits(15, 10))? & ones(width(wide));
    let (operation, flags) = match word.bits(30, 29) {
        0b00 => (BitOperation::And, false),
        0b01 => (BitOperation::Or, false),
        0b10 => (BitOperation::Xor, false),
        _ => (BitOperation::And, true),
    };
    let d = if flags { word.reg(0) } else { word.reg_or_sp(0) };
    Some(Immediate::Logical { wide, operation, flags, d, n: word.reg(5), mask })
}

/// Returns the number whose low `count` bits are set, for 1 to 64 bits.
fn ones(count: u32) -> u64 {
    u64::MAX >> (64 - count)
}

/// Returns the repeated, rotated run of ones that three fields denote (J1.1.3, `DecodeBitMasks`).
fn repeated_ones(n: bool, immr: u32, imms: u32) -> Option<u64> {
    // The highest set bit of N and the inverted `imms` is the logarithm of the size of an element.
    let log = (u32::from(n) << 6 | (!imms & 0x3f)).checked_ilog2()?;
    if log == 0 {
        return None;
    }
    let size = 1 << log;
    let (run, rotation) = (imms & (size - 1), immr & (size - 1));
    if run == size - 1 {
        return None;
    }
    let element = ones(run + 1);
    let rotated =
        if rotation == 0 { element } else { (element >> rotation | element << (size - rotation)) & ones(size) };
    Some((0..64 / size).fold(0, |mask, copy| mask | rotated << (copy * size)))
}

/// Decodes "Move wide (immediate)".
fn decode_move(word: Word) -> Option<Immediate> {
    let wide = word.bit(31);
    let kind = match word.bits(30, 29) {
        0b00 => Move::Inverted,
        0b10 => Move::Whole,
        0b11 => Move::Insert,
        _ => return None,
    };
    if !wide && word.bit(22) {
        return None;
    }
    Some(Immediate::Move {
        wide,
        kind,
        d: word.reg(0),
        value: word.bits(20, 5) as u16,
        low: 16 * word.bits(22, 21) as u8,
    })
}

/// Decodes "Bitfield".
fn decode_field(word: Word) -> Option<Immediate> {
    let wide = word.bit(31);
    let (width, r, s) = (width(wide) as u8, word.bits(21, 16) as u8, word.bits(15, 10) as u8);
    if word.bit(22) != wide || r >= width || s >= width {
        return None;
    }
    let (d, n) = (word.reg(0), word.reg(5));
    // Bits `r` to `s` move to bit 0; or the low `s + 1` bits move to bit `width - r`.
    let (from, to, bits) = if s >= r { (r, 0, s - r + 1) } else { (0, width - r, s + 1) };
    match word.bits(30, 29) {
        0b00 => Some(Immediate::Field { wide, signed: true, d, n, from, to, bits }),
        0b01 => Some(Immediate::Insert { wide, d, n, from, to, bits }),
        0b10 => Some(Immediate::Field { wide, signed: false, d, n, from, to, bits }),
        _ => None,
    }
}

/// Decodes "Extract".
fn decode_extract(word: Word) -> Option<Immediate> {
    let (wide, low) = (word.bit(31), word.bits(15, 10) as u8);
    if word.bits(30, 29) != 0 || word.bit(21) || word.bit(22) != wide || u32::from(low) >= width(wide) {
        return None;
    }
    Some(Immediate::Extract { wide, d: word.reg(0), n: word.reg(5), m: word.reg(16), low })
}

impl Immediate {
    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) {
        match self {
            Immediate::Address { d, page, offset } => {
                let address = address(machine, page, offset);
                machine.write(d, address);
            }
            Immediate::Sum { wide, subtract, flags, d, n, value } => {
                let x = machine.read(n, width(wide));
                let y = addend(machine, width(wide), value);
                sum(machine, subtract, flags, d, [x, y]);
            }
            Immediate::Logical { wide, operation, flags, d, n, mask } => {
                let (x, y) = (machine.read(n, width(wide)), machine.number(width(wide), mask));
                bit_operation(machine, operation, flags, d, [x, y]);
            }
            Immediate::Move { wide, kind, d, value, low } => {
                let result = moved(machine, width(wide), kind, d, value, low.into());
                machine.write(d, result);
            }
            Immediate::Field { wide, signed, d, n, from, to, bits } => {
                let x = machine.read(n, width(wide));
                let result = field(machine, x, signed, [from, to, bits].map(u32::from));
                machine.write(d, result);
            }
            Immediate::Insert { wide, d, n, from, to, bits } => {
                let (x, old) = (machine.read(n, width(wide)), machine.read(d, width(wide)));
                let part = machine.terms().extract(x, from.into(), bits.into());
                let result = inserted(machine, old, part, to.into());
                machine.write(d, result);
            }
            Immediate::Extract { wide, d, n, m, low } => {
                let (x, y) = (machine.read(n, width(wide)), machine.read(m, width(wide)));
                let result = extracted(machine, x, y, low.into());
                machine.write(d, result);
            }
        }
    }
}

/// Returns the address of `adr` or `adrp`. The low 12 bits are subtracted rather than masked, so that a sum with them
/// cancels.
fn address<W: World>(machine: &mut Machine<'_, W>, page: bool, offset: i64) -> Term {
    let (address, rest) = match machine.at.symbol {
        Some(symbol) => (symbol, 0),
        None if page => (machine.relative(machine.offset(0)), offset),
        None => return machine.relative(machine.offset(offset)),
    };
    if !page {
        return address;
    }
    let (low, rest) = (machine.page_offset(address), machine.number(64, rest as u64));
    let page = machine.terms().sub(address, low);
    machine.terms().add(page, rest)
}

/// Returns the immediate of a sum: the low 12 bits of the symbol, if the field is relocated.
fn addend<W: World>(machine: &mut Machine<'_, W>, width: u32, value: u32) -> Term {
    match machine.at.symbol {
        Some(symbol) => {
            let low = machine.page_offset(symbol);
            machine.terms().extract(low, 0, width)
        }
        None => machine.number(width, value.into()),
    }
}

fn moved<W: World>(machine: &mut Machine<'_, W>, width: u32, kind: Move, d: Reg, value: u16, low: u32) -> Term {
    let part = match machine.at.symbol {
        Some(symbol) => machine.terms().extract(symbol, low, 16),
        None => machine.number(16, value.into()),
    };
    let zero = machine.number(width, 0);
    match kind {
        Move::Whole => inserted(machine, zero, part, low),
        Move::Inverted => {
            let whole = inserted(machine, zero, part, low);
            machine.terms().bit_not(whole)
        }
        Move::Insert => {
            let old = machine.read(d, width);
            inserted(machine, old, part, low)
        }
    }
}

/// Returns `old` with its bits from bit `low` on replaced by `part`.
pub(super) fn inserted<W: World>(machine: &mut Machine<'_, W>, old: Term, part: Term, low: u32) -> Term {
    let terms = machine.terms();
    let (all, end) = (terms.width(old), low + terms.width(part));
    let mut result = part;
    if low > 0 {
        let below = terms.extract(old, 0, low);
        result = terms.concat(result, below);
    }
    if end < all {
        let above = terms.extract(old, end, all - end);
        // Zeros above are an extension.
        result = match terms.bits(above) {
            Some(bits) if bits.is_zero() => terms.zero_extend(result, all),
            _ => terms.concat(above, result),
        };
    }
    result
}

/// Returns an extended field. Shifts by a number and plain extensions are the terms that they have everywhere.
fn field<W: World>(machine: &mut Machine<'_, W>, x: Term, signed: bool, [from, to, bits]: [u32; 3]) -> Term {
    let terms = machine.terms();
    let width = terms.width(x);
    let by = terms.number(width, (from + to).into());
    if from + bits == width {
        return if signed { terms.ashr(x, by) } else { terms.lshr(x, by) };
    }
    if to + bits == width {
        return terms.shl(x, by);
    }
    let part = terms.extract(x, from, bits);
    let extended = if signed { terms.sign_extend(part, width) } else { terms.zero_extend(part, width) };
    if to == 0 {
        return extended;
    }
    terms.shl(extended, by)
}

fn extracted<W: World>(machine: &mut Machine<'_, W>, high: Term, low: Term, at: u32) -> Term {
    let terms = machine.terms();
    let width = terms.width(high);
    if at == 0 {
        return low;
    }
    let (up, down) = (terms.number(width, (width - at).into()), terms.number(width, at.into()));
    let (high, low) = (terms.shl(high, up), terms.lshr(low, down));
    terms.bit_or(high, low)
}
