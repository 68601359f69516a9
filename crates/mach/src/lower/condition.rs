//! Conditions over the flags, and the booleans that represent them.

use super::LowerCtx;
use super::machine::LowerBackend;
use super::rows::CondRows;
use crate::inst::MInst;
use crate::row::RowId;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{Opcode, TrapCode, Value};
use kingpost_regalloc::{Block, VReg};

/// Largest number of definitions that a condition looks through.
const MAX_STEPS: usize = 16;

/// Condition over the flags: one condition code, or the disjunction or conjunction of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cond {
    /// The condition holds.
    One(i32),
    /// At least one of two conditions holds.
    Or(i32, i32),
    /// Both conditions hold.
    And(i32, i32),
}

/// Returns the inverse condition code: on every machine inverse codes differ in the lowest bit.
pub const fn invert(condition: i32) -> i32 {
    condition ^ 1
}

impl Cond {
    /// Returns the inverse of the condition.
    #[must_use]
    pub fn inverse(self) -> Cond {
        match self {
            Cond::One(a) => Cond::One(invert(a)),
            Cond::Or(a, b) => Cond::And(invert(a), invert(b)),
            Cond::And(a, b) => Cond::Or(invert(a), invert(b)),
        }
    }

    /// Returns the inverse of the condition if `negated`, else the condition.
    #[must_use]
    pub fn inverse_if(self, negated: bool) -> Cond {
        if negated { self.inverse() } else { self }
    }
}

fn emit_on<'a>(cx: &'a mut LowerCtx<'_>, rows: CondRows, cond: Cond) -> &'a mut MInst {
    let (row, imm) = match cond {
        Cond::One(cc) => (rows[0], cc),
        Cond::Or(a, b) => (rows[1], a | b << 16),
        Cond::And(a, b) => (rows[2], a | b << 16),
    };
    cx.emit_imm(row, &[], imm)
}

/// Branches to `then` if the condition holds, else to `other`.
pub fn branch_on<'f, M: LowerBackend<'f>>(cx: &mut M, cond: Cond, then: Block, other: Block) {
    let branch = emit_on(cx, M::ROWS.branch_if, cond);
    branch.aux = then.as_u32();
    branch.extra = other.as_u32();
}

/// Traps if the condition holds.
pub fn trap_on<'f, M: LowerBackend<'f>>(cx: &mut M, cond: Cond, code: TrapCode) {
    emit_on(cx, M::ROWS.trap_if, cond).set_trap(Some(code));
}

/// Sets `def` to `x` if the condition holds, else `y`, by conditional moves of one register.
pub fn select_on<'f, M: LowerBackend<'f>>(cx: &mut M, row: RowId, cond: Cond, def: VReg, [x, y]: [VReg; 2]) {
    let emit = |cx: &mut M, def, yes, no, cc| {
        let [first, second] = if M::SELECTS_FIRST { [yes, no] } else { [no, yes] };
        cx.emit_imm(row, &[def, first, second], cc);
    };
    let (a, b, yes, no) = match cond {
        Cond::One(cc) => return emit(cx, def, x, y, cc),
        Cond::Or(a, b) => (a, b, x, y),
        Cond::And(a, b) => (invert(a), invert(b), y, x),
    };
    let data = cx.code.problem.vregs[def];
    let either = cx.temp(data.class, data.width);
    emit(cx, either, yes, no, a);
    emit(cx, def, yes, either, b);
}

/// Test of a value against zero that is equivalent to a condition, after looking through extensions and comparisons
/// with zero.
#[derive(Clone, Copy, Debug)]
pub struct TruthTest {
    /// Value that is tested.
    pub value: Value,
    /// Whether the condition holds for zero only; otherwise it holds for all other values.
    pub negated: bool,
    /// Whether the values that were looked through have no other use, so that a load may move to the reader.
    pub sole: bool,
}

/// Tests of booleans.
impl LowerCtx<'_> {
    /// Returns the test whether `value` is not zero. Looks through a comparison with zero if it is of a boolean
    /// according to `is_boolean`.
    pub fn truth_test(&self, value: Value, is_boolean: impl Fn(Value) -> bool) -> TruthTest {
        let mut test = TruthTest { value, negated: false, sole: self.uses(value) <= 1 };
        for _ in 0..MAX_STEPS {
            if let Some(extension) = self.def_as(test.value, Opcode::Uextend) {
                [test.value] = self.args(extension);
            } else if let Some(comparison) = self.def_as(test.value, Opcode::Icmp)
                && let (cond @ (IntCC::Equal | IntCC::NotEqual), [x, y]) = self.func.dfg.icmp_parts(comparison)
                && self.constant(y) == Some(0)
                && is_boolean(x)
            {
                test.value = x;
                test.negated ^= cond == IntCC::Equal;
            } else {
                break;
            }
            test.sole &= self.uses(test.value) <= 1;
        }
        test
    }

    /// Returns `true` if the value is a comparison, perhaps extended.
    pub fn is_comparison(&self, value: Value) -> bool {
        matches!(self.opcode_of(self.strip_zero_extensions(value)), Some(Opcode::Icmp | Opcode::Fcmp))
    }

    /// Returns the value that `value` is zero-extended from.
    pub fn strip_zero_extensions(&self, mut value: Value) -> Value {
        for _ in 0..MAX_STEPS {
            let Some(extension) = self.def_as(value, Opcode::Uextend) else { break };
            [value] = self.args(extension);
        }
        value
    }
}

/// Returns `true` for `>` and `<=`, which a 128-bit `sub`/`sbb` comparison computes with swapped operands.
pub fn is_greater(cond: IntCC) -> bool {
    matches!(
        cond,
        IntCC::SignedGreaterThan
            | IntCC::SignedLessThanOrEqual
            | IntCC::UnsignedGreaterThan
            | IntCC::UnsignedLessThanOrEqual
    )
}
