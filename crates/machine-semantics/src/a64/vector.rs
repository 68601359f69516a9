//! Vector instructions that combine lanes of equal number, and those that change the width of lanes.

use super::bits::extended;
use super::lanes::{Lanes, Narrow, Three, Two, count, narrowed};
use super::machine::Machine;
use crate::World;
use kingpost_smt::{FloatOp, Term, Terms};

/// A shift of lanes by a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LaneShift {
    /// `shl`.
    Left,
    /// `sshr`, `ushr`, and with a sum `ssra`, `usra`.
    Right { signed: bool, accumulate: bool },
    /// `sli`: the low bits of the old lane remain.
    LeftInsert,
    /// `sri`: the high bits of the old lane remain.
    RightInsert,
}

/// An operation on extended lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Long {
    Add,
    Subtract,
    Multiply,
    MultiplyAdd { subtract: bool },
}

/// A vector instruction. Widths of lanes are in bits; `full` vectors have 128 bits, others 64. Instructions with a half
/// of a register use its upper half if `upper`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vector {
    Three {
        full: bool,
        width: u8,
        operation: Three,
        d: u8,
        n: u8,
        m: u8,
    },
    /// `addp`, `umaxp` and so on: of neighbors in both operands.
    Pairwise {
        full: bool,
        width: u8,
        operation: Three,
        d: u8,
        n: u8,
        m: u8,
    },
    Two {
        full: bool,
        width: u8,
        operation: Two,
        d: u8,
        n: u8,
    },
    /// `saddlp`, `uaddlp`, `sadalp`, `uadalp`: sums of neighbors in lanes of twice the width.
    PairLong {
        full: bool,
        width: u8,
        signed: bool,
        accumulate: bool,
        d: u8,
        n: u8,
    },
    /// `addv`, `smaxv` and so on: of all lanes.
    Across {
        full: bool,
        width: u8,
        operation: Three,
        d: u8,
        n: u8,
    },
    /// `saddl`, `umull` and so on: of a half of each operand, to lanes of twice the width.
    Long {
        upper: bool,
        width: u8,
        signed: bool,
        operation: Long,
        d: u8,
        n: u8,
        m: u8,
    },
    /// `saddw`, `usubw` and so on: of a vector and the extended half of another one.
    Wide {
        upper: bool,
        width: u8,
        signed: bool,
        subtract: bool,
        d: u8,
        n: u8,
        m: u8,
    },
    /// `xtn`, `sqxtn`, `shrn`, `rshrn` and so on: to lanes of this width, after a shift to the right.
    Narrow {
        upper: bool,
        width: u8,
        narrow: Narrow,
        amount: u8,
        round: bool,
        d: u8,
        n: u8,
    },
    /// `sshll`, `ushll`: from lanes of this width.
    ShiftLong {
        upper: bool,
        width: u8,
        signed: bool,
        amount: u8,
        d: u8,
        n: u8,
    },
    Shift {
        full: bool,
        width: u8,
        shift: LaneShift,
        amount: u8,
        d: u8,
        n: u8,
    },
    /// `fcvtl`: from lanes of this width.
    FloatLong {
        upper: bool,
        width: u8,
        d: u8,
        n: u8,
    },
    /// `fcvtn`: to lanes of this width.
    FloatNarrow {
        upper: bool,
        width: u8,
        d: u8,
        n: u8,
    },
    /// `sdot`, `udot`, `usdot`: adds products of four bytes to each lane. Whether each operand is signed.
    Dot {
        full: bool,
        signed: [bool; 2],
        d: u8,
        n: u8,
        m: u8,
    },
}

impl Vector {
    /// Returns the feature of dot products, and of operations on halves except conversions of their width.
    pub(super) fn feature(self) -> Option<&'static str> {
        let is_float = match self {
            Vector::Dot { signed: [false, true], .. } => return Some("i8mm"),
            Vector::Dot { .. } => return Some("dotprod"),
            Vector::Three { width: 16, operation, .. } => {
                matches!(operation, Three::Float(_) | Three::FloatCompare(_) | Three::FloatMultiplyAdd { .. })
            }
            Vector::Two { width: 16, operation, .. } => matches!(
                operation,
                Two::Float(_) | Two::FloatCompareWithZero(_) | Two::ToInteger { .. } | Two::FromInteger { .. }
            ),
            _ => false,
        };
        is_float.then_some("fp16")
    }

    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) {
        match self {
            Vector::Three { full, width, operation, d, n, m } => {
                let [x, y, old] = [n, m, d].map(|number| machine.lanes(number, full, width.into()));
                let lane = |lane: usize| operation.apply(machine.terms(), [x[lane], y[lane], old[lane]]);
                let result = Lanes::new(x.len(), lane);
                machine.write_lanes(d, &result);
            }
            Vector::Pairwise { full, width, operation, d, n, m } => {
                let [x, y] = [n, m].map(|number| machine.lanes(number, full, width.into()));
                let pair = |lane: usize| {
                    let from = if lane < x.len() / 2 { &x[2 * lane..] } else { &y[2 * lane - x.len()..] };
                    operation.apply(machine.terms(), [from[0], from[1], from[0]])
                };
                let result = Lanes::new(x.len(), pair);
                machine.write_lanes(d, &result);
            }
            Vector::Two { full, width, operation, d, n } => {
                let x = machine.lanes(n, full, width.into());
                let result = Lanes::new(x.len(), |lane| operation.apply(machine.terms(), x[lane]));
                machine.write_lanes(d, &result);
            }
            Vector::PairLong { full, width, signed, accumulate, d, n } => {
                let wide = 2 * u32::from(width);
                let (x, old) = (machine.lanes(n, full, width.into()), machine.lanes(d, full, wide));
                let result = Lanes::new(old.len(), |lane| {
                    let terms = machine.terms();
                    let pair = [x[2 * lane], x[2 * lane + 1]].map(|part| extended(terms, part, signed, wide));
                    let sum = terms.add(pair[0], pair[1]);
                    if accumulate { terms.add(sum, old[lane]) } else { sum }
                });
                machine.write_lanes(d, &result);
            }
            Vector::Across { full, width, operation, d, n } => {
                let x = machine.lanes(n, full, width.into());
                let terms = machine.terms();
                let result = x.iter().copied().reduce(|all, lane| operation.apply(terms, [all, lane, lane]));
                machine.write_vector(d, result.expect("a vector has a lane"));
            }
            Vector::Long { upper, width, signed, operation, d, n, m } => {
                let [x, y] = [n, m].map(|number| machine.half_lanes(number, upper, width.into()));
                let wide = 2 * u32::from(width);
                let old = machine.lanes(d, true, wide);
                let result = Lanes::new(old.len(), |lane| {
                    let terms = machine.terms();
                    let pair = [x[lane], y[lane]].map(|part| extended(terms, part, signed, wide));
                    operation.apply(terms, pair, old[lane])
                });
                machine.write_lanes(d, &result);
            }
            Vector::Wide { upper, width, signed, subtract, d, n, m } => {
                let wide = 2 * u32::from(width);
                let (x, y) = (machine.lanes(n, true, wide), machine.half_lanes(m, upper, width.into()));
                let result = Lanes::new(x.len(), |lane| {
                    let terms = machine.terms();
                    let y = extended(terms, y[lane], signed, wide);
                    if subtract { terms.sub(x[lane], y) } else { terms.add(x[lane], y) }
                });
                machine.write_lanes(d, &result);
            }
            Vector::Narrow { upper, width, narrow, amount, round, d, n } => {
                let x = machine.lanes(n, true, 2 * u32::from(width));
                let result = Lanes::new(x.len(), |lane| {
                    let terms = machine.terms();
                    let shifted = shifted_right(terms, x[lane], amount, round);
                    narrowed(terms, narrow, shifted, width.into())
                });
                machine.write_half(d, upper, &result);
            }
            Vector::ShiftLong { upper, width, signed, amount, d, n } => {
                let x = machine.half_lanes(n, upper, width.into());
                let wide = 2 * u32::from(width);
                let result = Lanes::new(x.len(), |lane| {
                    let terms = machine.terms();
                    let (x, by) = (extended(terms, x[lane], signed, wide), terms.number(wide, amount.into()));
                    terms.shl(x, by)
                });
                machine.write_lanes(d, &result);
            }
            Vector::Shift { full, width, shift, amount, d, n } => {
                let [x, old] = [n, d].map(|number| machine.lanes(number, full, width.into()));
                let result =
                    Lanes::new(x.len(), |lane| shift.apply(machine.terms(), x[lane], old[lane], amount.into()));
                machine.write_lanes(d, &result);
            }
            Vector::FloatLong { upper, width, d, n } => {
                let x = machine.half_lanes(n, upper, width.into());
                let convert = |lane: usize| machine.terms().float(FloatOp::Convert, &[x[lane]], 2 * u32::from(width));
                let result = Lanes::new(x.len(), convert);
                machine.write_lanes(d, &result);
            }
            Vector::FloatNarrow { upper, width, d, n } => {
                let x = machine.lanes(n, true, 2 * u32::from(width));
                let convert = |lane: usize| machine.terms().float(FloatOp::Convert, &[x[lane]], width.into());
                let result = Lanes::new(x.len(), convert);
                machine.write_half(d, upper, &result);
            }
            Vector::Dot { full, signed, d, n, m } => dot(machine, full, signed, [d, n, m]),
        }
    }
}

/// Adds the products of the four bytes in each lane.
fn dot<W: World>(machine: &mut Machine<'_, W>, full: bool, signed: [bool; 2], [d, n, m]: [u8; 3]) {
    let [x, y] = [n, m].map(|number| machine.lanes(number, full, 8));
    let old = machine.lanes(d, full, 32);
    let result = Lanes::new(count(full, 32), |lane| {
        let terms = machine.terms();
        (4 * lane..4 * lane + 4).fold(old[lane], |sum, byte| {
            let (x, y) = (extended(terms, x[byte], signed[0], 32), extended(terms, y[byte], signed[1], 32));
            let product = terms.mul(x, y);
            terms.add(sum, product)
        })
    });
    machine.write_lanes(d, &result);
}

impl Long {
    fn apply(self, terms: &mut Terms, [x, y]: [Term; 2], old: Term) -> Term {
        match self {
            Long::Add => terms.add(x, y),
            Long::Subtract => terms.sub(x, y),
            Long::Multiply => terms.mul(x, y),
            Long::MultiplyAdd { subtract } => {
                let product = terms.mul(x, y);
                if subtract { terms.sub(old, product) } else { terms.add(old, product) }
            }
        }
    }
}

/// Returns a lane shifted to the right, after a half of the last remaining bit is added. No bit of the narrow result
/// depends on a carry out of the lane or on the sign.
fn shifted_right(terms: &mut Terms, x: Term, amount: u8, round: bool) -> Term {
    let width = terms.width(x);
    if amount == 0 {
        return x;
    }
    let (by, half) = (terms.number(width, amount.into()), terms.number(width, 1 << (amount - 1)));
    let x = if round { terms.add(x, half) } else { x };
    terms.lshr(x, by)
}

impl LaneShift {
    fn apply(self, terms: &mut Terms, x: Term, old: Term, amount: u32) -> Term {
        let width = terms.width(x);
        let by = terms.number(width, amount.into());
        match self {
            LaneShift::Left => terms.shl(x, by),
            LaneShift::Right { signed, accumulate } => {
                let shifted = if signed { terms.ashr(x, by) } else { terms.lshr(x, by) };
                if accumulate { terms.add(old, shifted) } else { shifted }
            }
            LaneShift::LeftInsert => {
                let kept = terms.number(width, (1 << amount) - 1);
                let (low, shifted) = (terms.bit_and(old, kept), terms.shl(x, by));
                terms.bit_or(shifted, low)
            }
            LaneShift::RightInsert => {
                let replaced = terms.number(width, (1 << (width - amount)) - 1);
                let kept = terms.bit_not(replaced);
                let (high, shifted) = (terms.bit_and(old, kept), terms.lshr(x, by));
                terms.bit_or(high, shifted)
            }
        }
    }
}
