//! Fields of an instruction word.

/// A general register as an operand: `x0` to `x30`, [`Reg::SP`], or [`Reg::ZERO`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reg(pub(super) u8);

impl Reg {
    /// The stack pointer.
    pub(super) const SP: Reg = Reg(31);
    /// The zero register: reads as zero, and ignores writes.
    pub(super) const ZERO: Reg = Reg(32);
}

/// An instruction word.
#[derive(Clone, Copy)]
pub(super) struct Word(pub(super) u32);

impl Word {
    /// Returns bits `high` to `low`, both inclusive, as a number.
    pub(super) fn bits(self, high: u32, low: u32) -> u32 {
        self.0 << (31 - high) >> (31 - high + low)
    }

    /// Returns bits `high` to `low`, both inclusive, as a signed number.
    pub(super) fn signed(self, high: u32, low: u32) -> i64 {
        i64::from((self.0 << (31 - high)) as i32 >> (31 - high + low))
    }

    /// Returns `true` if a bit is set.
    pub(super) fn bit(self, bit: u32) -> bool {
        self.bits(bit, bit) == 1
    }

    /// Returns the register number at bit `low`.
    pub(super) fn number(self, low: u32) -> u8 {
        self.bits(low + 4, low) as u8
    }

    /// Returns the register at bit `low`, where number 31 is the zero register.
    pub(super) fn reg(self, low: u32) -> Reg {
        if self.number(low) == 31 { Reg::ZERO } else { Reg(self.number(low)) }
    }

    /// Returns the register at bit `low`, where number 31 is the stack pointer.
    pub(super) fn reg_or_sp(self, low: u32) -> Reg {
        Reg(self.number(low))
    }

    /// Returns `true` if all bits of `mask` are as in `value`.
    pub(super) fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }
}
