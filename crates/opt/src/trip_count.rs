//! Numbers of rounds of loops: the header's parameters are followed round by round, from their first values.
//!
//! ```text
//! jump block1(v0)       ; v0 = 0           the header runs four times: v1 is 0, 1, 2, 3
//! block1(v1: i32):
//!   v2 = iadd_imm v1, 1
//!   v3 = icmp_imm ult v2, 4
//!   brif v3, block1(v2), block2
//! ```
//!
//! Part of [`crate::unroll`]. The parameter may change in any way that [`crate::fold`] computes: by sums, products, shifts, in
//! numbers that wrap around. Nothing is derived, so there is no condition on the ends of types. Cost: for each loop that starts at
//! a constant, [`MAX_ROUNDS`] rounds of up to [`MAX_NODES`] values, for up to [`MAX_BLOCKS`] branches and [`MAX_PARAMS`] parameters.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::loops::Loop;
use kingpost_ir::{Block, Function, Inst, Opcode, Type, Value};

use crate::fold::{self, Constant};
use crate::induction::start_of;
use crate::purity::constant;

/// Maximum number of rounds.
pub(crate) const MAX_ROUNDS: usize = 16;
/// Maximum number of blocks whose branches are looked at, from the edge back upward.
const MAX_BLOCKS: usize = 8;
/// Maximum number of parameters of a header that are followed.
const MAX_PARAMS: usize = 8;
/// Maximum number of values that are computed for a condition or for the next value of a parameter.
const MAX_NODES: u32 = 8;

/// Number of rounds of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TripCount {
    /// The branch that ends the loop. Each round passes it.
    pub(crate) exit: Inst,
    /// Number of the edge of that branch which stays in the loop.
    pub(crate) stay: usize,
    /// Number of times that the header runs, unless another branch ends the loop earlier. At least 1.
    pub(crate) rounds: usize,
    /// The parameter that decides it, and the bits of its first value.
    first: (Value, u64),
}

impl TripCount {
    /// Returns the number of rounds of a loop with one edge back, if a constant decides it and it is at most
    /// [`MAX_ROUNDS`].
    pub(crate) fn of(func: &Function, analyses: &Analyses, of: Loop, back: Predecessor) -> Option<TripCount> {
        let header = analyses.loops.header(of);
        let mut block = back.block;
        for _ in 0..MAX_BLOCKS {
            if let Some((exit, stay)) = exit_of(func, analyses, of, block)
                && let Some((rounds, first)) = rounds(func, analyses, header, back, (exit, stay))
            {
                return Some(TripCount { exit, stay, rounds, first });
            }
            if block == header {
                return None;
            }
            block = analyses.dominators.idom(block)?;
        }
        None
    }

    /// Returns `true` if the result of an instruction is a constant in each round.
    pub(crate) fn is_known(&self, func: &Function, inst: Inst) -> bool {
        let (param, bits) = self.first;
        let mut round = Round { func, param, bits, left: 0 };
        func.dfg.first_result(inst).is_some_and(|result| round.value_of(result).is_some())
    }
}

/// Returns the branch at the end of a block, and the number of its edge that stays in the loop, if the other edge leaves it.
fn exit_of(func: &Function, analyses: &Analyses, of: Loop, block: Block) -> Option<(Inst, usize)> {
    let last = func.layout.last_inst(block).filter(|&last| func.dfg.opcode(last) == Opcode::Brif)?;
    let [then_dest, else_dest] = *func.dfg.branch_destinations(last) else { return None };
    match [then_dest, else_dest].map(|dest| analyses.loops.contains(of, dest.block)) {
        [true, false] => Some((last, 0)),
        [false, true] => Some((last, 1)),
        _ => None,
    }
}

/// Returns the number of rounds after which a branch leaves the loop, if one parameter of the header decides it, and that
/// parameter with its first value.
fn rounds(
    func: &Function,
    analyses: &Analyses,
    header: Block,
    back: Predecessor,
    (exit, stay): (Inst, usize),
) -> Option<(usize, (Value, u64))> {
    let condition = func.dfg.inline_arg(exit, 0);
    let passed = func.dfg.block_args(func.dfg.branch_destinations(back.inst)[back.edge as usize]);
    let params = func.dfg.block_params(header).iter().zip(passed).enumerate().take(MAX_PARAMS);
    params.into_iter().find_map(|(number, (&param, next))| {
        let start = scalar(func.dfg.value_type(param)).and_then(|_| start_of(func, analyses, header, number))?;
        let (mut round, next) = (Round { func, param, bits: start, left: 0 }, next.value()?);
        for number in 1..=MAX_ROUNDS {
            let is_taken = round.value_of(condition)? != 0;
            if is_taken != (stay == 0) {
                return Some((number, (param, start)));
            }
            round.bits = round.value_of(next)?;
        }
        None
    })
}

/// Returns the width of an integer of at most 64 bits.
fn scalar(ty: Type) -> Option<u32> {
    (ty.is_int() && ty.bits() <= 64).then(|| ty.bits())
}

/// One round of a loop, in which a parameter is a constant.
struct Round<'a> {
    func: &'a Function,
    param: Value,
    bits: u64,
    /// Number of values that may still be computed.
    left: u32,
}

impl Round<'_> {
    /// Returns the bits of a value in this round.
    fn value_of(&mut self, value: Value) -> Option<u64> {
        self.left = MAX_NODES;
        self.compute(value)
    }

    fn compute(&mut self, value: Value) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let func = self.func;
        let value = func.dfg.resolve_aliases(value);
        if value == self.param {
            return Some(self.bits);
        }
        let ty = func.dfg.value_type(value);
        let width = scalar(ty)?;
        if let Some(bits) = constant(func, value) {
            return Some(bits);
        }
        let inst = func.dfg.first_result_of(value)?;
        let mut operand = |value: Value| {
            let width = scalar(func.dfg.value_type(value))?;
            Some(Constant { bits: self.compute(value)?, width })
        };
        let bits = match *func.dfg.inst_args(inst) {
            [x] => fold::unary(func.dfg.opcode(inst), ty, operand(x)?)?,
            [x, y] => fold::binary(func.dfg.inst(inst), operand(x)?, operand(y)?)?,
            _ => return None,
        };
        Some(bits & (u64::MAX >> (64 - width)))
    }
}
