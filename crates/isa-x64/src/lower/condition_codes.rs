//! Condition codes of comparisons.

use crate::regs::{CC_A, CC_AE, CC_B, CC_BE, CC_E, CC_G, CC_GE, CC_L, CC_LE, CC_NE};
use kingpost_ir::condcodes::IntCC;

/// Returns the condition code for an integer comparison.
pub(super) fn int_code(cond: IntCC) -> i32 {
    match cond {
        IntCC::Equal => CC_E,
        IntCC::NotEqual => CC_NE,
        IntCC::SignedLessThan => CC_L,
        IntCC::SignedGreaterThanOrEqual => CC_GE,
        IntCC::SignedGreaterThan => CC_G,
        IntCC::SignedLessThanOrEqual => CC_LE,
        IntCC::UnsignedLessThan => CC_B,
        IntCC::UnsignedGreaterThanOrEqual => CC_AE,
        IntCC::UnsignedGreaterThan => CC_A,
        IntCC::UnsignedLessThanOrEqual => CC_BE,
    }
}
