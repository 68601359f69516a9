//! Tests that end loops after a known number of rounds.
//!
//! ```text
//! block1(v1: i64):                         the counter v1 starts at 0
//!   v2 = iadd_imm v1, 1
//!   v3 = icmp_imm ult v2, 20               the loop ends when v2 is 20
//!   brif v3, block1(v2), block2
//! ```
//!
//! Part of [`crate::strength_reduction`]. The counter starts at a constant and reaches the bound exactly, after less than 2^31
//! steps. Then any other value that grows by a constant, which is not 0, is at its last number in the same round, and in no
//! earlier one, if all of them are less than 2^63 apart.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::types::I64;
use kingpost_ir::{Function, Inst, InstData, Opcode, Value};

use crate::affine::{Affine, WideCounter};
use crate::counters::constant_of;
use crate::purity::constant;

/// A comparison with a constant that ends a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitTest {
    /// The comparison, which one branch uses.
    pub(crate) compares: Inst,
    /// The reduction that it compares, if it does not compare the counter or the sum itself.
    reduces: Option<Inst>,
    /// Whether it compares the sum that the edge back passes.
    pub(crate) is_of_next: bool,
    /// Whether the loop continues if the comparison holds.
    continues: bool,
    /// The last number of the counter, or of the sum.
    pub(crate) last: i64,
    /// Number of steps to it.
    steps: i64,
}

impl ExitTest {
    /// Returns the test that ends the loop of a counter, at the edge back or in the header. Only the comparison may use a
    /// reduction of the counter.
    pub(crate) fn of(func: &Function, analyses: &Analyses, counter: &WideCounter, affine: &Affine) -> Option<ExitTest> {
        let header = analyses.loops.header(counter.of);
        [counter.back.block, header]
            .into_iter()
            .find_map(|block| {
                let branch = func.layout.last_inst(block).filter(|&last| func.dfg.opcode(last) == Opcode::Brif)?;
                let [then_dest, else_dest] = *func.dfg.branch_destinations(branch) else { return None };
                let stays = [then_dest, else_dest].map(|dest| analyses.loops.contains(counter.of, dest.block));
                let compares = func.dfg.defining_inst(func.dfg.inline_arg(branch, 0))?;
                let is_here =
                    func.layout.inst_block(compares) == Some(block) && func.dfg.opcode(compares) == Opcode::Icmp;
                (is_here && stays[0] != stays[1]).then_some(())?;
                ExitTest::compared(func, counter, compares, stays[0])
            })
            .filter(|test| {
                test.reduces.and_then(|inst| func.dfg.first_result(inst)).is_none_or(|value| affine.uses(value) == 1)
            })
    }

    fn compared(func: &Function, counter: &WideCounter, compares: Inst, continues: bool) -> Option<ExitTest> {
        let (cc, [x, y]) = func.dfg.icmp_parts(compares);
        let cc = if continues { cc } else { cc.inverse() };
        let reduces = func.dfg.defining_inst(x).filter(|&inst| func.dfg.opcode(inst) == Opcode::Ireduce);
        let tested = reduces.map_or(x, |inst| func.dfg.inline_arg(inst, 0));
        if tested != counter.param && tested != counter.next {
            return None;
        }
        let width = func.dfg.value_type(x).bits();
        // In this range, signed and unsigned numbers, and narrow and wide ones, are the same.
        let limit = 1i64 << (width - 1).min(31);
        let (start, last) = (constant(func, counter.start)? as i64, constant_of(func, y)? as i64);
        let is_small = (0..limit).contains(&start) && (0..limit).contains(&last) && counter.step > 0;
        let is_less = matches!(cc, IntCC::SignedLessThan | IntCC::UnsignedLessThan | IntCC::NotEqual);
        let is_exact = is_small && is_less && last > start && (last - start) % counter.step == 0;
        let is_of_next = tested == counter.next;
        is_exact.then(|| ExitTest {
            compares,
            reduces,
            is_of_next,
            continues,
            last,
            steps: (last - start) / counter.step,
        })
    }

    /// Returns `true` if a value that grows by `growth` in each round can be tested instead.
    pub(crate) fn can_be_of(&self, growth: Option<i128>) -> bool {
        let is_apart =
            |growth: i128| growth != 0 && growth.unsigned_abs() * u128::from(self.steps.unsigned_abs()) < 1 << 63;
        growth.is_some_and(is_apart)
    }

    /// Replaces the comparison by one of another counter, or of its next number, with its last number.
    pub(crate) fn replace(&self, func: &mut Function, [param, next]: [Value; 2], last: Value) {
        let cc = if self.continues { IntCC::NotEqual } else { IntCC::Equal };
        let tested = if self.is_of_next { next } else { param };
        if let Some(inst) = self.reduces {
            func.layout.remove_inst(inst);
        }
        func.dfg.replace_inst(self.compares, InstData::icmp(I64, cc, [tested, last]));
    }
}
