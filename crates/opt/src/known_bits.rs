//! Known bits: the bits of an integer that are zero, or one, for all operands.
//!
//! ```text
//! v1 = uextend.i32 v0          zeros(v1) = 0xffff_ff00
//! v2 = ishl_imm v1, 4          zeros(v2) = 0xffff_f00f
//! v3 = band_imm v2, 0x0ff0     = v2: what the mask clears is zero
//! ```
//!
//! Known bits are computed when a rule requires them, `DEPTH` instructions deep. They are not kept, because few
//! rules require them. The result is an underapproximation: a bit that always holds may be reported as unknown. The
//! largest possible value is the complement of the zeros.
//!
//! Each transfer function is written over [`Word`], so that `tests/known_bits.rs` can prove it on terms. The
//! functions are from the literature (Warren, Hacker's Delight, 2nd edition, section 4-3; Vishwanathan and others,
//! Sound, Precise, and Fast Abstract Interpretation with Tristate Numbers, 2022).

use crate::rewrite::{Bits, Graph};
use kingpost_ir::{InstData, Opcode, Type, Value};
use std::ops::{Add, BitAnd, BitOr, BitXor, Not};

/// Maximum depth of the operand tree that is inspected, in instructions.
const DEPTH: u32 = 4;

/// Domain of known bits: integers of a width, or terms of them. Both operands of an operator have one width.
pub trait Word:
    Clone + Add<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// Returns a value whose bits are all ones.
    fn ones(&self) -> Self;
    /// Returns the value shifted left by less than the width.
    fn shift_left(self, by: Self) -> Self;
    /// Returns the value shifted right with zeros, by less than the width.
    fn shift_right(self, by: Self) -> Self;
    /// Returns the value shifted right with copies of the sign, by less than the width.
    fn shift_right_signed(self, by: Self) -> Self;
    /// Returns the value zero-extended or truncated to `width` bits.
    fn resize(self, width: u32) -> Self;
    /// Returns the value sign-extended to `width` bits.
    fn sign_extend(self, width: u32) -> Self;
}

impl Word for Bits {
    fn ones(&self) -> Bits {
        Bits::new(self.width(), -1)
    }

    fn shift_left(self, by: Bits) -> Bits {
        Bits::shift_left(self, by)
    }

    fn shift_right(self, by: Bits) -> Bits {
        Bits::shift_right(self, by)
    }

    fn shift_right_signed(self, by: Bits) -> Bits {
        Bits::shift_right_signed(self, by)
    }

    fn resize(self, width: u32) -> Bits {
        Bits::resize(self, width)
    }

    fn sign_extend(self, width: u32) -> Bits {
        Bits::sign_extend(self, width)
    }
}

/// Known bits of an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known<W> {
    /// Bits that are zero.
    pub zeros: W,
    /// Bits that are one.
    pub ones: W,
}

impl<W: Word> Known<W> {
    /// Returns all bits of one number as known.
    pub fn constant(bits: W) -> Known<W> {
        Known { zeros: !bits.clone(), ones: bits }
    }

    /// Returns the known bits of a bitwise conjunction.
    #[must_use]
    pub fn and(self, other: Known<W>) -> Known<W> {
        Known { zeros: self.zeros | other.zeros, ones: self.ones & other.ones }
    }

    /// Returns the known bits of a bitwise disjunction.
    #[must_use]
    pub fn or(self, other: Known<W>) -> Known<W> {
        Known { zeros: self.zeros & other.zeros, ones: self.ones | other.ones }
    }

    /// Returns the known bits of a bitwise exclusive or.
    #[must_use]
    pub fn xor(self, other: Known<W>) -> Known<W> {
        let (x, y) = (self, other);
        let equal = x.zeros.clone() & y.zeros.clone() | x.ones.clone() & y.ones.clone();
        Known { zeros: equal, ones: x.zeros & y.ones | x.ones & y.zeros }
    }

    /// Returns the known bits of a bitwise complement.
    #[must_use]
    pub fn complement(self) -> Known<W> {
        Known { zeros: self.ones, ones: self.zeros }
    }

    /// Returns the known bits of a sum: a bit is known if both bits and the carry into them are.
    #[must_use]
    pub fn sum(self, other: Known<W>) -> Known<W> {
        let (x, y) = (self, other);
        let most = !x.zeros.clone() + !y.zeros.clone();
        let least = x.ones.clone() + y.ones.clone();
        let no_carry = !(most.clone() ^ x.zeros.clone() ^ y.zeros.clone());
        let carry = least.clone() ^ x.ones.clone() ^ y.ones.clone();
        let known = (x.zeros | x.ones) & (y.zeros | y.ones) & (no_carry | carry);
        Known { zeros: !most & known.clone(), ones: least & known }
    }

    /// Returns the known bits of a value that is one of the two.
    #[must_use]
    pub fn either(self, other: Known<W>) -> Known<W> {
        Known { zeros: self.zeros & other.zeros, ones: self.ones & other.ones }
    }

    /// Returns the known bits of a shift left by less than the width.
    #[must_use]
    pub fn shift_left(self, by: W) -> Known<W> {
        let vacated = !self.zeros.ones().shift_left(by.clone());
        Known { zeros: self.zeros.shift_left(by.clone()) | vacated, ones: self.ones.shift_left(by) }
    }

    /// Returns the known bits of a shift right with zeros, by less than the width.
    #[must_use]
    pub fn shift_right(self, by: W) -> Known<W> {
        let vacated = !self.zeros.ones().shift_right(by.clone());
        Known { zeros: self.zeros.shift_right(by.clone()) | vacated, ones: self.ones.shift_right(by) }
    }

    /// Returns the known bits of a shift right with copies of the sign, by less than the width.
    #[must_use]
    pub fn shift_right_signed(self, by: W) -> Known<W> {
        Known { zeros: self.zeros.shift_right_signed(by.clone()), ones: self.ones.shift_right_signed(by) }
    }

    /// Returns the known bits of a zero extension to `width` bits.
    #[must_use]
    pub fn zero_extend(self, width: u32) -> Known<W> {
        Known { zeros: !(!self.zeros).resize(width), ones: self.ones.resize(width) }
    }

    /// Returns the known bits of a sign extension to `width` bits.
    #[must_use]
    pub fn sign_extend(self, width: u32) -> Known<W> {
        Known { zeros: self.zeros.sign_extend(width), ones: self.ones.sign_extend(width) }
    }

    /// Returns the known bits of the low `width` bits.
    #[must_use]
    pub fn reduce(self, width: u32) -> Known<W> {
        Known { zeros: self.zeros.resize(width), ones: self.ones.resize(width) }
    }
}

/// Returns the bits of a scalar integer that are known to be zero.
pub fn zeros(g: &impl Graph, value: Value) -> Bits {
    known(g, value, DEPTH).zeros
}

/// Returns the bits of a scalar integer that are known to be one.
pub fn ones(g: &impl Graph, value: Value) -> Bits {
    known(g, value, DEPTH).ones
}

fn known(g: &impl Graph, value: Value, depth: u32) -> Known<Bits> {
    let ty = g.ty(value);
    let width = ty.bits();
    if let Some(bits) = g.constant(value) {
        return Known::constant(Bits::new(width, bits.into()));
    }
    let nothing = Known { zeros: Bits::new(width, 0), ones: Bits::new(width, 0) };
    match g.definition(value) {
        Some(inst) if depth > 0 && ty.is_int() => of_inst(g, &inst.clone(), ty, depth - 1).unwrap_or(nothing),
        _ => nothing,
    }
}

/// Returns the known bits of the result of an instruction. `None` if no transfer function applies.
fn of_inst(g: &impl Graph, inst: &InstData, ty: Type, depth: u32) -> Option<Known<Bits>> {
    let width = ty.bits();
    let args = inst.args();
    let arg = |index: usize| known(g, args[index], depth);
    let at_most = |most: u64| Known { zeros: !Bits::new(width, most.into()), ones: Bits::new(width, 0) };
    // Amounts are taken modulo the width.
    let amount = || Some(Bits::new(width, (g.constant(args[1])? % u64::from(width)).into()));
    Some(match inst.opcode() {
        Opcode::Band => arg(0).and(arg(1)),
        Opcode::Bor => arg(0).or(arg(1)),
        Opcode::Bxor => arg(0).xor(arg(1)),
        Opcode::Bnot => arg(0).complement(),
        Opcode::Iadd => arg(0).sum(arg(1)),
        Opcode::Smin | Opcode::Smax | Opcode::Umin | Opcode::Umax => arg(0).either(arg(1)),
        Opcode::Select => arg(1).either(arg(2)),
        Opcode::Ishl => arg(0).shift_left(amount()?),
        Opcode::Ushr => arg(0).shift_right(amount()?),
        Opcode::Sshr => arg(0).shift_right_signed(amount()?),
        Opcode::Uextend => arg(0).zero_extend(width),
        Opcode::Sextend => arg(0).sign_extend(width),
        Opcode::Ireduce => arg(0).reduce(width),
        Opcode::Icmp | Opcode::Fcmp => at_most(1),
        // The count is at most the width, which is a power of two.
        Opcode::Clz | Opcode::Ctz | Opcode::Popcnt => at_most(u64::from(2 * width - 1)),
        Opcode::Uload8 => at_most(u8::MAX.into()),
        Opcode::Uload16 => at_most(u16::MAX.into()),
        Opcode::Uload32 => at_most(u32::MAX.into()),
        _ => return None,
    })
}
