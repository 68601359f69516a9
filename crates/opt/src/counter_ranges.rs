//! Ranges of counters: what tests in a loop show of a parameter to which each round adds a constant.
//!
//! ```text
//! block1(v1: i32):                         the counter v1 starts at 0
//!   v2 = icmp slt v1, v0
//!   brif v2, block2, block3                in block2 it is at most one below the largest number
//! block2:                                  so that this sum does not exceed the type
//!   v3 = iadd_imm v1, 1
//!   jump block1(v3)
//! ```
//!
//! Part of [`crate::induction`]. Tests of the counter or of the sum count, in any block that every round passes, or on the
//! edge back ([`crate::ranges`]):
//!
//! - If a test bounds the counter, the sum of the bound and the step must be in the type.
//! - If a test bounds the sum, the counter is always the start or such a sum, so that the next sum must be in the type for
//!   both.
//! - A test for inequality bounds a counter that starts at a constant and reaches the other one exactly.
//!
//! Cost: linear. Each counter looks at up to [`MAX_TESTS`] blocks.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{Block, Function, Opcode, Value};

use crate::counters::{Counter, constant_of, extended};
use crate::ranges::{Range, Sign, satisfying, satisfying_extended};

/// Maximum number of blocks whose tests are looked at for one counter, from the edge back upward.
const MAX_TESTS: usize = 8;

/// Range of a counter that never exceeds its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    pub(crate) sign: Sign,
    pub(crate) range: Range,
    /// A block below a test, and the range that the test leaves there.
    inner: Option<(Block, Range)>,
}

impl Proof {
    /// Returns the range of the counter in a block.
    pub(crate) fn range_in(&self, analyses: &Analyses, block: Block) -> Range {
        let inner = self.inner.filter(|&(below, _)| analyses.dominators.dominates(below, block));
        inner.map_or(self.range, |(_, range)| range)
    }
}

/// Returns the range of a counter, read by `sign`, if no sum exceeds the type.
pub(crate) fn prove(func: &Function, analyses: &Analyses, counter: &Counter, sign: Sign) -> Option<Proof> {
    let header = analyses.loops.header(counter.of);
    let width = func.dfg.value_type(counter.param).bits();
    let all = Range::all(sign, width);
    let start = counter.start.map_or(all, |bits| Range::point(sign.read(bits, width)));
    // Ranges of the counter in a round that goes back, and of the sum on the edge back.
    let (mut of_param, mut of_next, mut inner) = (all, all, None);
    if let Some(test) = Test::of(func, counter.back, counter, sign) {
        let range = if test.is_of_next { &mut of_next } else { &mut of_param };
        *range = range.meet(test.range);
    }
    let mut block = counter.back.block;
    for _ in 0..MAX_TESTS {
        if block == header {
            break;
        }
        if let Some(pred) = only_edge_from_above(analyses, block)
            && let Some(test) = Test::of(func, pred, counter, sign)
        {
            let range = if test.is_of_next { &mut of_next } else { &mut of_param };
            *range = range.meet(test.range);
            if !test.is_of_next {
                inner = Some((block, test.range));
            }
        }
        block = analyses.dominators.idom(block)?;
    }
    let back = if all.contains(of_param.plus(counter.step)) {
        of_param.plus(counter.step).meet(of_next)
    } else if all.contains(start.hull(of_next).plus(counter.step)) {
        of_next
    } else {
        return None;
    };
    let mut range = start.hull(back);
    // It only grows, or only falls.
    match counter.step > 0 {
        true => range.low = start.low,
        false => range.high = start.high,
    }
    Some(Proof { sign, range, inner: inner.map(|(below, tested)| (below, range.meet(tested))) })
}

/// Range that an edge shows of a counter.
struct Test {
    /// Whether it is about the sum.
    is_of_next: bool,
    range: Range,
}

impl Test {
    fn of(func: &Function, edge: Predecessor, counter: &Counter, sign: Sign) -> Option<Test> {
        if func.dfg.opcode(edge.inst) != Opcode::Brif {
            return None;
        }
        let [then_dest, else_dest] = *func.dfg.branch_destinations(edge.inst) else { return None };
        if then_dest.block == else_dest.block {
            return None;
        }
        let mut condition = func.dfg.resolve_aliases(func.dfg.inline_arg(edge.inst, 0));
        if let Some((operand, _)) = extended(func, condition) {
            condition = operand;
        }
        let is_taken = edge.edge == 0;
        let negated = |cc: IntCC| if is_taken { cc } else { cc.inverse() };
        let compares = func.dfg.first_result_of(condition).filter(|&inst| func.dfg.opcode(inst) == Opcode::Icmp);
        let Some(inst) = compares else {
            return Test::compared(func, negated(IntCC::NotEqual), condition, Some(0), counter, sign);
        };
        let (cc, [x, y]) = func.dfg.icmp_parts(inst);
        let [x, y] = [x, y].map(|value| func.dfg.resolve_aliases(value));
        Test::compared(func, negated(cc), x, constant_of(func, y), counter, sign)
            .or_else(|| Test::compared(func, negated(cc).swap_args(), y, constant_of(func, x), counter, sign))
    }

    /// Returns what the truth of a comparison of `x` shows, where `y` are the bits of the other operand if it is a
    /// constant.
    fn compared(func: &Function, cc: IntCC, x: Value, y: Option<u64>, counter: &Counter, sign: Sign) -> Option<Test> {
        let width = func.dfg.value_type(counter.param).bits();
        let is_of_next = |x| match x {
            _ if x == counter.param => Some(false),
            _ if x == counter.next => Some(true),
            _ => None,
        };
        if let Some(is_of_next) = is_of_next(x) {
            let range = reached_exactly(cc, y, width, counter, sign, is_of_next)
                .unwrap_or_else(|| satisfying(cc, y, width, sign));
            return Some(Test { is_of_next, range });
        }
        let (operand, by) = extended(func, x)?;
        let (is_of_next, wide) = (is_of_next(operand)?, func.dfg.value_type(x).bits());
        if by != sign || wide > 64 {
            return None;
        }
        Some(Test { is_of_next, range: satisfying_extended(cc, y?, wide, width, sign) })
    }
}

/// Returns the range that a test for inequality shows if the counter, or the sum, starts at a constant and would be
/// `y` after a number of steps. `None` if the rule does not apply.
fn reached_exactly(
    cc: IntCC,
    y: Option<u64>,
    width: u32,
    counter: &Counter,
    sign: Sign,
    is_of_next: bool,
) -> Option<Range> {
    let (start, y) = (sign.read(counter.start?, width), sign.read(y?, width));
    let first = if is_of_next { start + counter.step } else { start };
    let last = y - counter.step;
    let is_reached = cc == IntCC::NotEqual && (y - first) % counter.step == 0 && (y - first) / counter.step > 0;
    is_reached.then(|| Range { low: first.min(last), high: first.max(last) })
}

/// Returns the only edge to a block that is no edge back: an execution that reaches the block has passed it.
fn only_edge_from_above(analyses: &Analyses, block: Block) -> Option<Predecessor> {
    let is_from_above = |pred: &&Predecessor| !analyses.dominators.dominates(block, pred.block);
    let mut preds = analyses.cfg.preds(block).iter().filter(is_from_above);
    let only = *preds.next()?;
    preds.next().is_none().then_some(only)
}
