//! Conversion of operations on one lane to operations on all lanes. Scalars are vectors of one lane.

use kingpost_ir::Type;
use kingpost_smt::{Term, Terms};

/// Returns the lanes of a value, the lowest first.
pub fn lanes_of(terms: &mut Terms, ty: Type, value: Term) -> Vec<Term> {
    let width = ty.lane_bits();
    (0..ty.lane_count()).map(|lane| terms.extract(value, lane * width, width)).collect()
}

/// Returns the value of these lanes.
pub(crate) fn of_lanes(terms: &mut Terms, lanes: impl IntoIterator<Item = Term>) -> Term {
    lanes.into_iter().reduce(|low, high| terms.concat(high, low)).expect("a value has a lane")
}

/// Returns a value whose lanes are computed from the operands' lanes. All operands have the type `ty`.
pub fn each_lane<const N: usize>(
    terms: &mut Terms,
    ty: Type,
    operands: [Term; N],
    mut lane: impl FnMut(&mut Terms, [Term; N]) -> Term,
) -> Term {
    let operands = operands.map(|operand| lanes_of(terms, ty, operand));
    let count = ty.lane_count() as usize;
    let results: Vec<Term> =
        (0..count).map(|index| lane(terms, std::array::from_fn(|operand| operands[operand][index]))).collect();
    of_lanes(terms, results)
}
