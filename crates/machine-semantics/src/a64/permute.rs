//! Vector instructions that move lanes, and constants (C4.1, "Data Processing -- Scalar Floating-Point and Advanced
//! SIMD", and "Advanced SIMD load/store single structure" of "Loads and Stores").

use super::bits::extended;
use super::float::expanded;
use super::lanes::{Lanes, count};
use super::machine::{Machine, width as general_width};
use super::word::{Reg, Word};
use crate::{Access, Order, World};
use kingpost_smt::Term;

/// The order in which lanes of two operands are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Interleave {
    /// `uzp1`, `uzp2`: the lanes with even numbers, or with odd ones, of both operands.
    Unzip,
    /// `trn1`, `trn2`: the lanes with even numbers, or with odd ones, in pairs.
    Transpose,
    /// `zip1`, `zip2`: the lower halves, or the upper halves, in pairs.
    Zip,
}

/// An instruction that moves lanes. Widths of lanes are in bits; `full` vectors have 128 bits, others 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Permute {
    /// `dup v, v[i]`.
    Duplicate {
        full: bool,
        width: u8,
        d: u8,
        n: u8,
        lane: u8,
    },
    /// `dup v, x`.
    DuplicateGeneral {
        full: bool,
        width: u8,
        d: u8,
        n: Reg,
    },
    /// `mov b, v[i]` and so on, with zeros above.
    Scalar {
        width: u8,
        d: u8,
        n: u8,
        lane: u8,
    },
    /// `mov v[i], v[j]`.
    Insert {
        width: u8,
        d: u8,
        lane: u8,
        n: u8,
        from: u8,
    },
    /// `mov v[i], x`.
    InsertGeneral {
        width: u8,
        d: u8,
        lane: u8,
        n: Reg,
    },
    /// `smov`, `umov`.
    ToGeneral {
        wide: bool,
        signed: bool,
        width: u8,
        d: Reg,
        n: u8,
        lane: u8,
    },
    Interleave {
        full: bool,
        width: u8,
        order: Interleave,
        second: bool,
        d: u8,
        n: u8,
        m: u8,
    },
    /// `ext`: bytes of `m` above `n`, from byte `low` on.
    Extract {
        full: bool,
        d: u8,
        n: u8,
        m: u8,
        low: u8,
    },
    /// `tbl`, and `tbx` if it keeps: bytes of a table of registers, by number.
    Table {
        full: bool,
        registers: u8,
        keep: bool,
        d: u8,
        n: u8,
        m: u8,
    },
    /// `movi`, `mvni`, `fmov`: 64 bits in each half. Whether they are four floats of 16 bits.
    Constant {
        full: bool,
        d: u8,
        bits: u64,
        halves: bool,
    },
    /// `orr`, and `bic` if it clears, with a constant: 64 bits in each half.
    Change {
        full: bool,
        clear: bool,
        d: u8,
        bits: u64,
    },
    /// `ld1r`.
    LoadAll {
        full: bool,
        width: u8,
        t: u8,
        n: Reg,
    },
}

pub(super) fn decode(word: Word) -> Option<Permute> {
    if word.is(0x9fe0_8400, 0x0e00_0400) {
        return decode_copy(word);
    }
    if word.is(0xffe0_fc00, 0x5e00_0400) {
        let (width, lane) = decode_lane(word)?;
        return Some(Permute::Scalar { width, d: word.number(0), n: word.number(5), lane });
    }
    if word.is(0xbf20_8c00, 0x0e00_0800) {
        return decode_interleave(word);
    }
    if word.is(0xbfe0_8400, 0x2e00_0000) {
        return decode_extract(word);
    }
    if word.is(0xbfe0_8c00, 0x0e00_0000) {
        return Some(decode_table(word));
    }
    if word.is(0x9ff8_0400, 0x0f00_0400) {
        return decode_constant(word);
    }
    None
}

/// Decodes `ld1r` of "Advanced SIMD load/store single structure".
pub(super) fn decode_load(word: Word) -> Option<Permute> {
    let load =
        Permute::LoadAll { full: word.bit(30), width: 8 << word.bits(11, 10), t: word.number(0), n: word.reg_or_sp(5) };
    word.is(0xbfff_f000, 0x0d40_c000).then_some(load)
}

/// Returns the width and the number of the lane in the field `imm5`.
fn decode_lane(word: Word) -> Option<(u8, u8)> {
    let log = word.number(16).trailing_zeros();
    (log < 4).then(|| (8 << log, word.number(16) >> (log + 1)))
}

/// Decodes "Advanced SIMD copy".
fn decode_copy(word: Word) -> Option<Permute> {
    let (full, (width, lane)) = (word.bit(30), decode_lane(word)?);
    let (d, n) = (word.number(0), word.number(5));
    if word.bit(29) {
        // The bits below the number of the source lane are ignored.
        let from = (word.bits(14, 11) >> (width / 8).ilog2()) as u8;
        return full.then_some(Permute::Insert { width, d, lane, n, from });
    }
    match word.bits(14, 11) {
        0b0000 if full || width < 64 => Some(Permute::Duplicate { full, width, d, n, lane }),
        0b0001 if full || width < 64 => Some(Permute::DuplicateGeneral { full, width, d, n: word.reg(5) }),
        0b0011 if full => Some(Permute::InsertGeneral { width, d, lane, n: word.reg(5) }),
        0b0101 if width < if full { 64 } else { 32 } => {
            Some(Permute::ToGeneral { wide: full, signed: true, width, d: word.reg(0), n, lane })
        }
        0b0111 if full == (width == 64) => {
            Some(Permute::ToGeneral { wide: full, signed: false, width, d: word.reg(0), n, lane })
        }
        _ => None,
    }
}

/// Decodes "Advanced SIMD permute".
fn decode_interleave(word: Word) -> Option<Permute> {
    let (full, width, second) = (word.bit(30), 8 << word.bits(23, 22), word.bit(14));
    let order = match word.bits(13, 12) {
        0b01 => Interleave::Unzip,
        0b10 => Interleave::Transpose,
        0b11 => Interleave::Zip,
        _ => return None,
    };
    let (d, n, m) = (word.number(0), word.number(5), word.number(16));
    (full || width < 64).then_some(Permute::Interleave { full, width, order, second, d, n, m })
}

/// Decodes "Advanced SIMD extract".
fn decode_extract(word: Word) -> Option<Permute> {
    let (full, low) = (word.bit(30), word.bits(14, 11) as u8);
    let (d, n, m) = (word.number(0), word.number(5), word.number(16));
    (full || low < 8).then_some(Permute::Extract { full, d, n, m, low })
}

/// Decodes "Advanced SIMD table lookup".
fn decode_table(word: Word) -> Permute {
    let (full, keep, registers) = (word.bit(30), word.bit(12), word.bits(14, 13) as u8 + 1);
    Permute::Table { full, registers, keep, d: word.number(0), n: word.number(5), m: word.number(16) }
}

/// Decodes "Advanced SIMD modified immediate" (J1.1.3, `AdvSIMDExpandImm`).
fn decode_constant(word: Word) -> Option<Permute> {
    let (full, op, mode) = (word.bit(30), word.bit(29), word.bits(15, 12));
    let (eight, d) = (word.bits(18, 16) << 5 | word.bits(9, 5), word.number(0));
    let number = u64::from(eight);
    if word.bit(11) {
        let bits = repeated(expanded(eight, 16), 16);
        return (mode == 0b1111 && !op).then_some(Permute::Constant { full, d, bits, halves: true });
    }
    let bits = match mode {
        0b0000..=0b0111 => repeated(number << (8 * (mode >> 1)), 32),
        0b1000..=0b1011 => repeated(number << (8 * (mode >> 1 & 1)), 16),
        0b1100 => repeated(number << 8 | 0xff, 32),
        0b1101 => repeated(number << 16 | 0xffff, 32),
        0b1110 if !op => repeated(number, 8),
        0b1110 => (0..8).filter(|bit| eight >> bit & 1 == 1).fold(0, |bits, byte| bits | 0xff << (8 * byte)),
        _ if !op => repeated(expanded(eight, 32), 32),
        _ if full => expanded(eight, 64),
        _ => return None,
    };
    // Odd modes below 12 change the register.
    if mode < 12 && mode & 1 == 1 {
        return Some(Permute::Change { full, clear: op, d, bits });
    }
    let bits = if op && mode < 14 { !bits } else { bits };
    Some(Permute::Constant { full, d, bits, halves: false })
}

/// Returns 64 bits of copies of the low `width` bits.
fn repeated(bits: u64, width: u32) -> u64 {
    (0..64 / width).fold(0, |all, copy| all | bits << (copy * width))
}

impl Permute {
    /// Returns the feature of constants of halves.
    pub(super) fn feature(self) -> Option<&'static str> {
        matches!(self, Permute::Constant { halves: true, .. }).then_some("fp16")
    }

    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) {
        match self {
            Permute::Duplicate { full, width, d, n, lane } => {
                let x = machine.lane(n, width, lane);
                machine.write_lanes(d, &Lanes::new(count(full, width.into()), |_| x));
            }
            Permute::DuplicateGeneral { full, width, d, n } => {
                let x = machine.read(n, width.into());
                machine.write_lanes(d, &Lanes::new(count(full, width.into()), |_| x));
            }
            Permute::Scalar { width, d, n, lane } => {
                let x = machine.lane(n, width, lane);
                machine.write_vector(d, x);
            }
            Permute::Insert { width, d, lane, n, from } => {
                let x = machine.lane(n, width, from);
                machine.insert(d, lane, x);
            }
            Permute::InsertGeneral { width, d, lane, n } => {
                let x = machine.read(n, width.into());
                machine.insert(d, lane, x);
            }
            Permute::ToGeneral { wide, signed, width, d, n, lane } => {
                let x = machine.lane(n, width, lane);
                let x = extended(machine.terms(), x, signed, general_width(wide));
                machine.write(d, x);
            }
            Permute::Interleave { full, width, order, second, d, n, m } => {
                let [x, y] = [n, m].map(|number| machine.lanes(number, full, width.into()));
                let result = Lanes::new(x.len(), |lane| order.pick(&x, &y, usize::from(second), lane));
                machine.write_lanes(d, &result);
            }
            Permute::Extract { full, d, n, m, low } => {
                let [x, y] = [n, m].map(|number| machine.lanes(number, full, 8));
                let result = Lanes::new(x.len(), |lane| {
                    let from = lane + usize::from(low);
                    if from < x.len() { x[from] } else { y[from - x.len()] }
                });
                machine.write_lanes(d, &result);
            }
            Permute::Table { full, registers, keep, d, n, m } => table(machine, full, registers, keep, [d, n, m]),
            Permute::Constant { full, d, bits, .. } => {
                let bits = machine.number(64, bits);
                machine.write_lanes(d, &Lanes::new(count(full, 64), |_| bits));
            }
            Permute::Change { full, clear, d, bits } => {
                let old = machine.lanes(d, full, 64);
                let bits = machine.number(64, if clear { !bits } else { bits });
                let terms = machine.terms();
                let result = Lanes::new(old.len(), |lane| {
                    if clear { terms.bit_and(old[lane], bits) } else { terms.bit_or(old[lane], bits) }
                });
                machine.write_lanes(d, &result);
            }
            Permute::LoadAll { full, width, t, n } => {
                let address = machine.read(n, 64);
                let access = Access { address, bytes: width / 8, order: Order::Plain, aligned: false };
                let x = machine.world.load(access);
                machine.write_lanes(t, &Lanes::new(count(full, width.into()), |_| x));
            }
        }
    }
}

impl Interleave {
    fn pick(self, x: &[Term], y: &[Term], second: usize, lane: usize) -> Term {
        let (half, of_pair) = (x.len() / 2, [x, y][lane % 2]);
        match self {
            Interleave::Unzip if lane < half => x[2 * lane + second],
            Interleave::Unzip => y[2 * (lane - half) + second],
            Interleave::Transpose => of_pair[lane / 2 * 2 + second],
            Interleave::Zip => of_pair[lane / 2 + second * half],
        }
    }
}

impl<W: World> Machine<'_, W> {
    /// Returns a lane of a register.
    fn lane(&mut self, number: u8, width: u8, lane: u8) -> Term {
        self.lanes(number, true, width.into())[usize::from(lane)]
    }

    /// Replaces a lane of a register.
    fn insert(&mut self, number: u8, lane: u8, value: Term) {
        let width = self.terms().width(value);
        let old = self.lanes(number, true, width);
        let result = Lanes::new(old.len(), |other| if other == usize::from(lane) { value } else { old[other] });
        self.write_lanes(number, &result);
    }
}

/// Writes bytes of up to four registers from `n` on, by the numbers in `m`. A number without a byte leaves zero, or the
/// old byte.
fn table<W: World>(machine: &mut Machine<'_, W>, full: bool, registers: u8, keep: bool, [d, n, m]: [u8; 3]) {
    let (indexes, old) = (machine.lanes(m, full, 8), machine.lanes(d, full, 8));
    let zero = machine.number(8, 0);
    let mut result = Lanes::new(indexes.len(), |lane| if keep { old[lane] } else { zero });
    for register in 0..registers {
        let bytes = machine.lanes((n + register) % 32, true, 8);
        let terms = machine.terms();
        result = Lanes::new(indexes.len(), |lane| {
            bytes.iter().enumerate().fold(result[lane], |result, (byte, &value)| {
                let number = terms.number(8, 16 * u128::from(register) + byte as u128);
                let is_this = terms.eq(indexes[lane], number);
                terms.ite(is_this, value, result)
            })
        });
    }
    machine.write_lanes(d, &result);
}
