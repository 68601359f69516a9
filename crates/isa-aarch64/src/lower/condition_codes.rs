//! Condition codes of comparisons.

use crate::regs::{CC_EQ, CC_GE, CC_GT, CC_HI, CC_HS, CC_LE, CC_LO, CC_LS, CC_LT, CC_MI, CC_NE, CC_PL, CC_VC, CC_VS};
use kingpost_ir::Value;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_mach::lower::Cond;

/// A comparison with its operands as it is emitted: a constant second.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    pub(super) cond: IntCC,
    pub(super) x: Value,
    pub(super) y: Value,
}

/// Returns the condition code for an integer comparison.
pub(super) fn int_code(cond: IntCC) -> i32 {
    match cond {
        IntCC::Equal => CC_EQ,
        IntCC::NotEqual => CC_NE,
        IntCC::SignedLessThan => CC_LT,
        IntCC::SignedGreaterThanOrEqual => CC_GE,
        IntCC::SignedGreaterThan => CC_GT,
        IntCC::SignedLessThanOrEqual => CC_LE,
        IntCC::UnsignedLessThan => CC_LO,
        IntCC::UnsignedGreaterThanOrEqual => CC_HS,
        IntCC::UnsignedGreaterThan => CC_HI,
        IntCC::UnsignedLessThanOrEqual => CC_LS,
    }
}

/// Returns the condition for a float comparison: `fcmp` of unordered operands sets carry and overflow.
pub(super) fn float_code(cond: FloatCC) -> Cond {
    match cond {
        FloatCC::Ordered => Cond::One(CC_VC),
        FloatCC::Unordered => Cond::One(CC_VS),
        FloatCC::Equal => Cond::One(CC_EQ),
        FloatCC::NotEqual => Cond::One(CC_NE),
        FloatCC::OrderedNotEqual => Cond::Or(CC_MI, CC_GT),
        FloatCC::UnorderedOrEqual => Cond::Or(CC_EQ, CC_VS),
        FloatCC::LessThan => Cond::One(CC_MI),
        FloatCC::LessThanOrEqual => Cond::One(CC_LS),
        FloatCC::GreaterThan => Cond::One(CC_GT),
        FloatCC::GreaterThanOrEqual => Cond::One(CC_GE),
        FloatCC::UnorderedOrLessThan => Cond::One(CC_LT),
        FloatCC::UnorderedOrLessThanOrEqual => Cond::One(CC_LE),
        FloatCC::UnorderedOrGreaterThan => Cond::One(CC_HI),
        FloatCC::UnorderedOrGreaterThanOrEqual => Cond::One(CC_PL),
    }
}

/// Returns `true` if the comparison is of signed integers.
pub(super) fn is_signed(cond: IntCC) -> bool {
    matches!(
        cond,
        IntCC::SignedLessThan
            | IntCC::SignedGreaterThanOrEqual
            | IntCC::SignedGreaterThan
            | IntCC::SignedLessThanOrEqual
    )
}
