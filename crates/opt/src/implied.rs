//! Implied conditions: comparisons that always have one result, because of a branch or trap before them.
//!
//! ```text
//! v2 = icmp ult v0, v1                     v2 = icmp ult v0, v1
//! brif v2, block1, block2                  brif v2, block1, block2
//! block1: v3 = icmp uge v0, v1             block1: v4 = load.i64 v5
//!         trapnz v3, heap_oob
//!         v4 = load.i64 v5
//! ```
//!
//! Part of the walk of [`crate::gvn`]. An edge of a `brif` that is the only one to a block, and a `trapz` or `trapnz`
//! before an instruction, are *facts* of the operands of their comparison:
//!
//! - Two values compare in one of five ways: equal, or less or greater with a sign, and less or greater without. A
//!   comparison is true in some of these ([`crate::facts`]); facts of the same two values leave few of them.
//! - A value that was compared with constants has a range ([`crate::ranges`]). If its sum with a constant wraps for none of
//!   these numbers, or for all of them, the sum has a range, too.
//!
//! Values are in SSA form, so a fact holds in all blocks that its block dominates. The list of facts is a stack along the
//! walk, which is in preorder of the dominator tree. Offsets of two sums of one value, extensions and known bits are not
//! regarded, because they decided hardly any comparison of real modules.
//!
//! Cost: linear. A comparison looks at up to [`crate::facts::MAX_FACTS`] facts of a value, and of the operand if that is a sum.

use kingpost_ir::condcodes::IntCC;
use kingpost_ir::types::I8;
use kingpost_ir::{Block, Inst, Opcode, Value};

use crate::facts::{Operand, outcomes};
use crate::gvn::Walk;
use crate::purity::constant;
use crate::ranges::{Range, Sign};
use crate::rewrite::Graph;

impl Walk<'_> {
    /// Removes the facts of blocks that do not dominate the current block, and records the edge to it.
    pub(crate) fn enter_facts(&mut self) {
        let (block, dominators) = (self.block, &self.analyses.dominators);
        self.facts.forget(|of| !dominators.dominates(of, block));
        if let [edge] = *self.analyses.cfg.preds(block)
            && self.func.dfg.opcode(edge.inst) == Opcode::Brif
        {
            self.facts.pending.push((block, edge.inst));
        }
    }

    /// Adds the facts of recorded edges.
    fn learn_from_edges(&mut self) {
        for number in 0..self.facts.pending.len() {
            let (block, branch) = self.facts.pending[number];
            // The walk may have exchanged the destinations, or replaced the branch. Only one edge of it led to the block.
            if self.func.dfg.opcode(branch) == Opcode::Brif {
                let is_then = self.func.dfg.branch_destinations(branch)[0].block == block;
                self.learn(self.func.dfg.inline_arg(branch, 0), is_then, block);
            }
        }
        self.facts.pending.clear();
    }

    /// Adds the fact of a conditional trap, which stays.
    pub(crate) fn learn_from_trap(&mut self, inst: Inst) {
        self.learn_from_edges();
        let holds = self.func.dfg.opcode(inst) == Opcode::Trapz;
        self.learn(self.func.dfg.inline_arg(inst, 0), holds, self.block);
    }

    /// Adds the fact that a condition is true, or false, in the blocks that a block dominates.
    fn learn(&mut self, condition: Value, holds: bool, block: Block) {
        let Some((cc, x, other)) = self.comparison(condition) else { return };
        let cc = if holds { cc } else { cc.inverse() };
        self.facts.learn(x, cc, other, block);
    }

    /// Returns the comparison that a condition is: of integers of at most 64 bits, with a constant on the right if there
    /// is one, or else the later value. A condition is compared with zero if it is no comparison itself.
    fn comparison(&self, condition: Value) -> Option<(IntCC, Value, Operand)> {
        let inst = self.func.dfg.first_result_of(condition);
        let inst = inst.filter(|&inst| self.func.dfg.opcode(inst) == Opcode::Icmp);
        let Some(inst) = inst else { return self.compared(IntCC::NotEqual, condition, Operand::Constant(0)) };
        let (cc, [x, y]) = self.func.dfg.icmp_parts(inst);
        if let Some(bits) = constant(self.func, y) {
            return self.compared(cc, x, Operand::Constant(bits));
        }
        match constant(self.func, x) {
            Some(bits) => self.compared(cc.swap_args(), y, Operand::Constant(bits)),
            None if y < x => self.compared(cc.swap_args(), y, Operand::Value(x)),
            None => self.compared(cc, x, Operand::Value(y)),
        }
    }

    fn compared(&self, cc: IntCC, x: Value, other: Operand) -> Option<(IntCC, Value, Operand)> {
        let ty = self.func.dfg.value_type(x);
        (ty.is_int() && ty.bits() <= 64 && constant(self.func, x).is_none()).then_some((cc, x, other))
    }

    /// Replaces an `icmp` or a `select` by the value that facts show it to be. Returns `false` if they do not.
    #[inline(never)]
    pub(crate) fn replace_implied(&mut self, inst: Inst) -> bool {
        self.resolve_operands(inst);
        let Some(result) = self.func.dfg.first_result(inst) else { return false };
        let value = match *self.func.dfg.inst_args(inst) {
            [condition, x, y] => self.implied_elsewhere(condition).map(|is_true| if is_true { x } else { y }),
            _ => self.implied(result).map(|is_true| self.iconst(I8, is_true.into())),
        };
        value.inspect(|&value| self.replace(inst, result, value)).is_some()
    }

    /// Returns the condition of a branch or trap, or a constant if facts decide it.
    pub(crate) fn implied_condition(&mut self, condition: Value) -> Value {
        match self.implied_elsewhere(condition) {
            Some(is_true) => self.iconst(self.func.dfg.value_type(condition), is_true.into()),
            None => condition,
        }
    }

    /// Returns whether a condition is true, if facts decide it. A comparison of this block was looked at when it was visited.
    fn implied_elsewhere(&mut self, condition: Value) -> Option<bool> {
        let inst = self.func.dfg.first_result_of(condition);
        let is_here = |&inst: &Inst| self.func.layout.inst_block(inst) == Some(self.block);
        match inst.filter(is_here) {
            Some(inst) if self.func.dfg.opcode(inst) == Opcode::Icmp => None,
            _ => self.implied(condition),
        }
    }

    /// Returns whether a condition is true, if facts decide it.
    fn implied(&mut self, condition: Value) -> Option<bool> {
        self.learn_from_edges();
        if self.facts.is_empty() {
            return None;
        }
        let (cc, x, other) = self.comparison(condition)?;
        match other {
            Operand::Value(y) => decided(self.facts.outcomes(x, y), outcomes(cc)),
            Operand::Constant(bits) => {
                let sign = if cc.is_signed() { Sign::Signed } else { Sign::Unsigned };
                let number = sign.read(bits, self.func.dfg.value_type(x).bits());
                compare(cc, self.range(x, sign), number)
            }
        }
    }

    /// Returns the numbers that a value may be, which may be the sum of another value and a constant.
    fn range(&self, value: Value, sign: Sign) -> Range {
        let width = self.func.dfg.value_type(value).bits();
        let range = self.facts.range(value, width, sign);
        let sum = self.func.dfg.first_result_of(value).filter(|&inst| self.func.dfg.opcode(inst) == Opcode::Iadd);
        let Some(&[x, y]) = sum.map(|inst| self.func.dfg.inst_args(inst)) else { return range };
        let Some(bits) = constant(self.func, y) else { return range };
        let all = Range::all(sign, width);
        let of_x = self.facts.range(x, width, sign);
        let number = Sign::Unsigned.read(bits, width);
        // Constants are equal modulo the number of numbers. At most one of the two is in the type.
        let sums = [number, number - (1 << width)].map(|number| of_x.plus(number));
        sums.into_iter().filter(|&sum| all.contains(sum)).fold(range, Range::meet)
    }
}

/// Returns whether a comparison that is true in the ways `wanted` is true in all ways `left`, or false in all of them.
fn decided(left: u8, wanted: u8) -> Option<bool> {
    match (left & wanted, left & !wanted) {
        (0, _) => Some(false),
        (_, 0) => Some(true),
        _ => None,
    }
}

/// Returns the result of a comparison of any number of `x` with `y`, if it is the same for all.
fn compare(cc: IntCC, x: Range, y: i128) -> Option<bool> {
    let (is_less, is_greater) = (x.high < y, x.low > y);
    let (is_at_most, is_at_least) = (x.high <= y, x.low >= y);
    let either = |is_true, is_false| (is_true || is_false).then_some(is_true);
    match cc {
        IntCC::Equal => either(is_at_most && is_at_least, is_less || is_greater),
        IntCC::NotEqual => either(is_less || is_greater, is_at_most && is_at_least),
        IntCC::SignedLessThan | IntCC::UnsignedLessThan => either(is_less, is_at_least),
        IntCC::SignedLessThanOrEqual | IntCC::UnsignedLessThanOrEqual => either(is_at_most, is_greater),
        IntCC::SignedGreaterThan | IntCC::UnsignedGreaterThan => either(is_greater, is_at_most),
        IntCC::SignedGreaterThanOrEqual | IntCC::UnsignedGreaterThanOrEqual => either(is_at_least, is_less),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `true` if two numbers of eight bits compare so.
    fn holds(cc: IntCC, x: u8, y: u8) -> bool {
        let read = |bits: u8| if cc.is_signed() { Sign::Signed } else { Sign::Unsigned }.read(bits.into(), 8);
        compare(cc, Range::point(read(x)), read(y)).expect("points are always decided")
    }

    fn pairs() -> impl Iterator<Item = (u8, u8)> {
        (0..=255).flat_map(|x| (0..=255).map(move |y| (x, y)))
    }

    #[test]
    fn comparisons_of_numbers_are_right() {
        for (x, y) in pairs() {
            let (signed_x, signed_y) = (x as i8, y as i8);
            let expected = [
                x == y,
                x != y,
                signed_x < signed_y,
                signed_x >= signed_y,
                signed_x > signed_y,
                signed_x <= signed_y,
                x < y,
                x >= y,
                x > y,
                x <= y,
            ];
            assert_eq!(IntCC::ALL.map(|cc| holds(cc, x, y)), expected, "{x} {y}");
        }
    }

    #[test]
    fn facts_decide_exactly_the_comparisons_that_follow() {
        for first in IntCC::ALL {
            for second in IntCC::ALL {
                let results = pairs().filter(|&(x, y)| holds(first, x, y)).map(|(x, y)| holds(second, x, y));
                let (mut is_true, mut is_false) = (true, true);
                for result in results {
                    is_true &= result;
                    is_false &= !result;
                }
                let expected = (is_true || is_false).then_some(is_true);
                assert_eq!(decided(outcomes(first), outcomes(second)), expected, "{first} {second}");
            }
        }
    }

    #[test]
    fn ranges_decide_exactly_the_comparisons_that_follow() {
        for cc in IntCC::ALL {
            for (low, high) in (-3..4).flat_map(|low| (low..4).map(move |high| (low, high))) {
                for y in -4..5 {
                    let results = (low..=high).map(|x| compare(cc, Range::point(x), y) == Some(true));
                    let (all, any) = (results.clone().all(|result| result), results.into_iter().any(|result| result));
                    let expected = (all || !any).then_some(all);
                    assert_eq!(compare(cc, Range { low, high }, y), expected, "{low} to {high} {cc} {y}");
                }
            }
        }
    }
}
