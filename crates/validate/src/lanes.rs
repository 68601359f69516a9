//! Moves of lanes, and loads that widen them.

use crate::input::{Code, Machine};
use kingpost_ir::types::{I8X8, I8X16, I16X4, I32X2};
use kingpost_ir::{Opcode, Type};
use kingpost_semantics::lanes_of;
use kingpost_smt::{Term, Terms};

/// Returns `true` if code for an opcode selects bytes by addresses in memory, which the validator does not follow.
pub(crate) fn selects_in_memory(code: &Code<'_>, opcode: Opcode) -> bool {
    let is_selection = matches!(opcode, Opcode::Swizzle | Opcode::X86Pshufb);
    is_selection && code.machine == Machine::X64 && !code.features.contains(&"ssse3")
}

/// Returns the value of these lanes, the lowest first.
pub(crate) fn joined(terms: &mut Terms, lanes: impl IntoIterator<Item = Term>) -> Term {
    lanes.into_iter().reduce(|low, high| terms.concat(high, low)).expect("a vector has lanes")
}

/// Returns the bytes of two vectors that a mask selects.
pub(crate) fn shuffled(terms: &mut Terms, [x, y]: [Term; 2], mask: &[u8; 16]) -> Term {
    let mut bytes = lanes_of(terms, I8X16, x);
    bytes.extend(lanes_of(terms, I8X16, y));
    let zero = terms.number(8, 0);
    let selected: Vec<Term> =
        mask.iter().map(|&index| bytes.get(usize::from(index)).copied().unwrap_or(zero)).collect();
    joined(terms, selected)
}

/// Returns the type of the lanes that a load widens, and whether it extends their signs.
pub(crate) fn widening_load(opcode: Opcode) -> Option<(Type, bool)> {
    Some(match opcode {
        Opcode::Uload8x8 => (I8X8, false),
        Opcode::Sload8x8 => (I8X8, true),
        Opcode::Uload16x4 => (I16X4, false),
        Opcode::Sload16x4 => (I16X4, true),
        Opcode::Uload32x2 => (I32X2, false),
        Opcode::Sload32x2 => (I32X2, true),
        _ => return None,
    })
}

/// Returns loaded lanes, each extended to twice its width.
pub(crate) fn widened(terms: &mut Terms, ty: Type, is_signed: bool, bits: Term) -> Term {
    let width = 2 * ty.lane_bits();
    let extend = if is_signed { Terms::sign_extend } else { Terms::zero_extend };
    let lanes: Vec<Term> = lanes_of(terms, ty, bits).into_iter().map(|lane| extend(terms, lane, width)).collect();
    joined(terms, lanes)
}
