//! Numbers of registers and flags in a state.

/// Number of the stack pointer among the general registers.
pub const SP: usize = 31;

/// Index of the flag N among the flags: the result is negative.
pub const N: usize = 0;
/// Index of the flag Z: the result is zero.
pub const Z: usize = 1;
/// Index of the flag C: the sum carries, or the difference does not borrow.
pub const C: usize = 2;
/// Index of the flag V: the signed result overflows.
pub const V: usize = 3;
