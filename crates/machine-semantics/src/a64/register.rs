//! Data processing with registers (C4.1, "Data Processing -- Register").

use super::address::Extend;
use super::bits::{extended, is_zero};
use super::condition::Condition;
use super::counts;
use super::flags::{self, Integers, Source};
use super::machine::{Machine, width};
use super::operation::{BitOperation, bit_operation, sum};
use super::word::{Reg, Word};
use crate::World;
use kingpost_smt::{Term, Terms};

/// A shift or rotation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    /// To the left.
    Lsl,
    /// To the right, filled with zeros.
    Lsr,
    /// To the right, filled with the sign.
    Asr,
    /// Rotation to the right.
    Ror,
}

/// A count or an order of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
    /// `rbit`.
    ReverseBits,
    /// `rev16`, `rev32`, `rev`: the bytes of each group of this many bytes.
    ReverseBytes(u8),
    /// `clz`.
    LeadingZeros,
    /// `cls`.
    LeadingSigns,
}

/// The last operand of a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    /// A register shifted by a number.
    Shifted(Reg, Shift, u8),
    /// A part of a register, extended and then shifted to the left.
    Extended(Reg, Extend, u8),
}

/// The last operand of a conditional comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparand {
    /// A register.
    Register(Reg),
    /// A number.
    Number(u8),
}

/// A data-processing instruction with registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Register {
    /// `and`, `bic`, `orr`, `orn`, `eor`, `eon`, `ands`, `bics`.
    Logical {
        wide: bool,
        operation: BitOperation,
        invert: bool,
        flags: bool,
        d: Reg,
        n: Reg,
        m: Reg,
        shift: Shift,
        amount: u8,
    },
    /// `add`, `adds`, `sub`, `subs`.
    Sum { wide: bool, subtract: bool, flags: bool, d: Reg, n: Reg, operand: Operand },
    /// `adc`, `adcs`, `sbc`, `sbcs`.
    SumWithCarry { wide: bool, subtract: bool, flags: bool, d: Reg, n: Reg, m: Reg },
    /// `ccmn`, `ccmp`: a comparison if the condition holds, else the four flags, N first.
    CompareIf { wide: bool, subtract: bool, n: Reg, with: Comparand, condition: Condition, otherwise: u8 },
    /// `csel`, `csinc`, `csinv`, `csneg`: `n` if the condition holds, else `m`, inverted, incremented or both.
    Select { wide: bool, invert: bool, increment: bool, d: Reg, n: Reg, m: Reg, condition: Condition },
    /// `madd`, `msub`: `a` plus or minus a product.
    MultiplyAdd { wide: bool, subtract: bool, d: Reg, n: Reg, m: Reg, a: Reg },
    /// `smaddl`, `smsubl`, `umaddl`, `umsubl`: the product of two 32-bit operands.
    MultiplyLong { signed: bool, subtract: bool, d: Reg, n: Reg, m: Reg, a: Reg },
    /// `smulh`, `umulh`.
    MultiplyHigh { signed: bool, d: Reg, n: Reg, m: Reg },
    /// `sdiv`, `udiv`.
    Divide { wide: bool, signed: bool, d: Reg, n: Reg, m: Reg },
    /// `lslv`, `lsrv`, `asrv`, `rorv`: by a register, modulo the width.
    ShiftBy { wide: bool, shift: Shift, d: Reg, n: Reg, m: Reg },
    /// `rbit`, `rev16`, `rev32`, `rev`, `clz`, `cls`.
    Count { wide: bool, count: Count, d: Reg, n: Reg },
}

pub(super) fn decode(word: Word) -> Option<Register> {
    match (word.bit(28), word.bits(24, 21)) {
        (false, 0b0000..=0b0111) => decode_logical(word),
        (false, operation) if operation & 1 == 0 => decode_shifted(word),
        (false, _) => decode_extended(word),
        (true, 0b0000) => decode_carry(word),
        (true, 0b0010) => decode_compare(word),
        (true, 0b0100) => decode_select(word),
        (true, 0b0110) if word.bit(30) => decode_one(word),
        (true, 0b0110) => decode_two(word),
        (true, 0b1000..=0b1111) => decode_multiply(word),
        _ => None,
    }
}

fn decode_shift(word: Word) -> Shift {
    [Shift::Lsl, Shift::Lsr, Shift::Asr, Shift::Ror][word.bits(23, 22) as usize]
}

/// Returns the amount of a shifted register. In 32 bits, only amounts below 32 exist.
fn decode_amount(word: Word) -> Option<u8> {
    (word.bit(31) || !word.bit(15)).then_some(word.bits(15, 10) as u8)
}

/// Decodes "Logical (shifted register)".
fn decode_logical(word: Word) -> Option<Register> {
    let (operation, flags) = match word.bits(30, 29) {
        0b00 => (BitOperation::And, false),
        0b01 => (BitOperation::Or, false),
        0b10 => (BitOperation::Xor, false),
        _ => (BitOperation::And, true),
    };
    let (d, n, m) = (word.reg(0), word.reg(5), word.reg(16));
    let (invert, shift, amount) = (word.bit(21), decode_shift(word), decode_amount(word)?);
    Some(Register::Logical { wide: word.bit(31), operation, invert, flags, d, n, m, shift, amount })
}

/// Decodes "Add/subtract (shifted register)".
fn decode_shifted(word: Word) -> Option<Register> {
    let shift = decode_shift(word);
    if shift == Shift::Ror {
        return None;
    }
    let operand = Operand::Shifted(word.reg(16), shift, decode_amount(word)?);
    let (subtract, flags) = (word.bit(30), word.bit(29));
    Some(Register::Sum { wide: word.bit(31), subtract, flags, d: word.reg(0), n: word.reg(5), operand })
}

/// Decodes "Add/subtract (extended register)".
fn decode_extended(word: Word) -> Option<Register> {
    let amount = word.bits(12, 10) as u8;
    if word.bits(23, 22) != 0 || amount > 4 {
        return None;
    }
    let operand = Operand::Extended(word.reg(16), Extend::decode(word.bits(15, 13)), amount);
    let (subtract, flags) = (word.bit(30), word.bit(29));
    let d = if flags { word.reg(0) } else { word.reg_or_sp(0) };
    Some(Register::Sum { wide: word.bit(31), subtract, flags, d, n: word.reg_or_sp(5), operand })
}

/// Decodes "Add/subtract (with carry)".
fn decode_carry(word: Word) -> Option<Register> {
    if word.bits(15, 10) != 0 {
        return None;
    }
    let (d, n, m) = (word.reg(0), word.reg(5), word.reg(16));
    Some(Register::SumWithCarry { wide: word.bit(31), subtract: word.bit(30), flags: word.bit(29), d, n, m })
}

/// Decodes "Conditional compare (register)" and "(immediate)".
fn decode_compare(word: Word) -> Option<Register> {
    if !word.bit(29) || word.bit(10) || word.bit(4) {
        return None;
    }
    let with = if word.bit(11) { Comparand::Number(word.number(16)) } else { Comparand::Register(word.reg(16)) };
    let (condition, otherwise) = (Condition(word.bits(15, 12) as u8), word.bits(3, 0) as u8);
    Some(Register::CompareIf { wide: word.bit(31), subtract: word.bit(30), n: word.reg(5), with, condition, otherwise })
}

/// Decodes "Conditional select".
fn decode_select(word: Word) -> Option<Register> {
    if word.bit(29) || word.bit(11) {
        return None;
    }
    let (d, n, m, condition) = (word.reg(0), word.reg(5), word.reg(16), Condition(word.bits(15, 12) as u8));
    Some(Register::Select { wide: word.bit(31), invert: word.bit(30), increment: word.bit(10), d, n, m, condition })
}

/// Decodes "Data-processing (1 source)".
fn decode_one(word: Word) -> Option<Register> {
    let wide = word.bit(31);
    if word.bit(29) || word.bits(20, 16) != 0 {
        return None;
    }
    let count = match word.bits(15, 10) {
        0b000000 => Count::ReverseBits,
        0b000001 => Count::ReverseBytes(2),
        0b000010 => Count::ReverseBytes(4),
        0b000011 if wide => Count::ReverseBytes(8),
        0b000100 => Count::LeadingZeros,
        0b000101 => Count::LeadingSigns,
        _ => return None,
    };
    Some(Register::Count { wide, count, d: word.reg(0), n: word.reg(5) })
}

/// Decodes "Data-processing (2 source)".
fn decode_two(word: Word) -> Option<Register> {
    if word.bit(29) {
        return None;
    }
    let (wide, d, n, m) = (word.bit(31), word.reg(0), word.reg(5), word.reg(16));
    let shift = match word.bits(15, 10) {
        0b000010 => return Some(Register::Divide { wide, signed: false, d, n, m }),
        0b000011 => return Some(Register::Divide { wide, signed: true, d, n, m }),
        0b001000 => Shift::Lsl,
        0b001001 => Shift::Lsr,
        0b001010 => Shift::Asr,
        0b001011 => Shift::Ror,
        _ => return None,
    };
    Some(Register::ShiftBy { wide, shift, d, n, m })
}

/// Decodes "Data-processing (3 source)".
fn decode_multiply(word: Word) -> Option<Register> {
    let (wide, subtract) = (word.bit(31), word.bit(15));
    let (d, n, m, a) = (word.reg(0), word.reg(5), word.reg(16), word.reg(10));
    match (word.bits(30, 29), word.bits(23, 21)) {
        (0, 0b000) => Some(Register::MultiplyAdd { wide, subtract, d, n, m, a }),
        (0, 0b001 | 0b101) if wide => Some(Register::MultiplyLong { signed: !word.bit(23), subtract, d, n, m, a }),
        (0, 0b010 | 0b110) if wide && !subtract && a == Reg::ZERO => {
            Some(Register::MultiplyHigh { signed: !word.bit(23), d, n, m })
        }
        _ => None,
    }
}

impl Register {
    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) {
        match self {
            Register::Logical { wide, operation, invert, flags, d, n, m, shift, amount } => {
                let (x, y) = (machine.read(n, width(wide)), machine.read(m, width(wide)));
                let y = shifted(machine.terms(), y, shift, amount);
                let y = if invert { machine.terms().bit_not(y) } else { y };
                bit_operation(machine, operation, flags, d, [x, y]);
            }
            Register::Sum { wide, subtract, flags, d, n, operand } => {
                let x = machine.read(n, width(wide));
                let y = match operand {
                    Operand::Shifted(m, shift, amount) => {
                        let m = machine.read(m, width(wide));
                        shifted(machine.terms(), m, shift, amount)
                    }
                    Operand::Extended(m, extend, amount) => {
                        let m = machine.read(m, 64);
                        let y = extend.apply(machine.terms(), m, amount);
                        machine.terms().extract(y, 0, width(wide))
                    }
                };
                sum(machine, subtract, flags, d, [x, y]);
            }
            Register::SumWithCarry { wide, subtract, flags: set_flags, d, n, m } => {
                let (x, y) = (machine.read(n, width(wide)), machine.read(m, width(wide)));
                let carry = machine.state.flag(machine.world, super::numbers::C);
                let terms = machine.terms();
                let ([_, result], source) = match subtract {
                    true => {
                        (flags::difference_with_carry(terms, x, y, carry), Integers::DifferenceWithCarry(x, y, carry))
                    }
                    false => (flags::sum_with_carry(terms, x, y, carry), Integers::SumWithCarry(x, y, carry)),
                };
                if set_flags {
                    machine.set_flags(Source::Integers(source));
                }
                machine.write(d, result);
            }
            Register::CompareIf { wide, subtract, n, with, condition, otherwise } => {
                let x = machine.read(n, width(wide));
                let y = match with {
                    Comparand::Register(m) => machine.read(m, width(wide)),
                    Comparand::Number(number) => machine.number(width(wide), number.into()),
                };
                let source = if subtract { Integers::Difference(x, y) } else { Integers::Sum(x, y) };
                machine.set_flags_if(condition, Source::Integers(source), otherwise);
            }
            Register::Select { wide, invert, increment, d, n, m, condition } => {
                let holds = machine.holds(condition);
                let (x, y) = (machine.read(n, width(wide)), machine.read(m, width(wide)));
                let one = machine.number(width(wide), 1);
                let terms = machine.terms();
                let y = match (invert, increment) {
                    (false, false) => y,
                    (false, true) => terms.add(y, one),
                    (true, false) => terms.bit_not(y),
                    (true, true) => terms.neg(y),
                };
                let result = terms.ite(holds, x, y);
                machine.write(d, result);
            }
            Register::MultiplyAdd { wide, subtract, d, n, m, a } => {
                let [x, y, a] = [n, m, a].map(|reg| machine.read(reg, width(wide)));
                add_product(machine, subtract, d, [x, y, a]);
            }
            Register::MultiplyLong { signed, subtract, d, n, m, a } => {
                let [x, y] = [n, m].map(|reg| {
                    let low = machine.read(reg, 32);
                    extended(machine.terms(), low, signed, 64)
                });
                let a = machine.read(a, 64);
                add_product(machine, subtract, d, [x, y, a]);
            }
            Register::MultiplyHigh { signed, d, n, m } => {
                let [x, y] = [n, m].map(|reg| {
                    let whole = machine.read(reg, 64);
                    extended(machine.terms(), whole, signed, 128)
                });
                let product = machine.terms().mul(x, y);
                let high = machine.terms().extract(product, 64, 64);
                machine.write(d, high);
            }
            Register::Divide { wide, signed, d, n, m } => {
                let (x, y) = (machine.read(n, width(wide)), machine.read(m, width(wide)));
                let zero = machine.number(width(wide), 0);
                let terms = machine.terms();
                let quotient = if signed { terms.sdiv(x, y) } else { terms.udiv(x, y) };
                let by_zero = is_zero(terms, y);
                let result = terms.ite(by_zero, zero, quotient);
                machine.write(d, result);
            }
            Register::ShiftBy { wide, shift, d, n, m } => {
                let (x, by) = (machine.read(n, width(wide)), machine.read(m, width(wide)));
                let result = shifted_by(machine.terms(), x, shift, by);
                machine.write(d, result);
            }
            Register::Count { wide, count, d, n } => {
                let x = machine.read(n, width(wide));
                let terms = machine.terms();
                let result = match count {
                    Count::ReverseBits => terms.reverse_groups(x, 1),
                    Count::ReverseBytes(group) => counts::reversed_bytes(terms, x, 8 * u32::from(group)),
                    Count::LeadingZeros => terms.leading_zeros(x),
                    Count::LeadingSigns => counts::leading_signs(terms, x),
                };
                machine.write(d, result);
            }
        }
    }
}

fn add_product<W: World>(machine: &mut Machine<'_, W>, subtract: bool, d: Reg, [x, y, a]: [Term; 3]) {
    let terms = machine.terms();
    let product = terms.mul(x, y);
    let result = if subtract { terms.sub(a, product) } else { terms.add(a, product) };
    machine.write(d, result);
}

/// Shifts by a number below the width.
fn shifted(terms: &mut Terms, x: Term, shift: Shift, amount: u8) -> Term {
    if amount == 0 {
        return x;
    }
    let by = terms.number(terms.width(x), amount.into());
    shifted_by(terms, x, shift, by)
}

/// Shifts by a number modulo the width.
fn shifted_by(terms: &mut Terms, x: Term, shift: Shift, by: Term) -> Term {
    let width = terms.width(x);
    let mask = terms.number(width, (width - 1).into());
    let amount = terms.bit_and(by, mask);
    match shift {
        Shift::Lsl => terms.shl(x, amount),
        Shift::Lsr => terms.lshr(x, amount),
        Shift::Asr => terms.ashr(x, amount),
        Shift::Ror => {
            let back = terms.neg(amount);
            terms.rotate_left(x, back)
        }
    }
}
