//! Kinds of operations of one family.

/// Operations of the first 64 opcodes, by the number in their encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alu {
    /// `add`.
    Add,
    /// `or`.
    Or,
    /// `adc`.
    Adc,
    /// `sbb`.
    Sbb,
    /// `and`.
    And,
    /// `sub`.
    Sub,
    /// `xor`.
    Xor,
    /// `cmp`.
    Cmp,
}

/// Shifts and rotations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shift {
    /// `rol`.
    Rol,
    /// `ror`.
    Ror,
    /// `shl`.
    Shl,
    /// `shr`.
    Shr,
    /// `sar`.
    Sar,
}

/// Operations on one bit. Each copies the bit into the carry flag first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BitTest {
    /// `bt`.
    Test,
    /// `bts`.
    Set,
    /// `btr`.
    Reset,
    /// `btc`.
    Complement,
}

/// Conditions of flags, by the number in their encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// Overflow.
    O,
    /// No overflow.
    No,
    /// Below: carry.
    B,
    /// Above or equal: no carry.
    Ae,
    /// Equal: zero.
    E,
    /// Not equal: not zero.
    Ne,
    /// Below or equal: carry or zero.
    Be,
    /// Above: neither carry nor zero.
    A,
    /// Sign.
    S,
    /// No sign.
    Ns,
    /// Parity even.
    P,
    /// Parity odd.
    Np,
    /// Less: sign differs from overflow.
    L,
    /// Greater or equal: sign equals overflow.
    Ge,
    /// Less or equal: zero, or sign differs from overflow.
    Le,
    /// Greater: not zero, and sign equals overflow.
    G,
}
