//! Operations that move lanes or combine several lanes.

use crate::int;
use crate::lanes::{lanes_of, of_lanes};
use kingpost_ir::Type;
use kingpost_ir::types::I8X16;
use kingpost_smt::{Term, Terms};

pub(crate) fn splat(terms: &mut Terms, ty: Type, x: Term) -> Term {
    of_lanes(terms, (0..ty.lane_count()).map(|_| x))
}

pub(crate) fn scalar_to_vector(terms: &mut Terms, ty: Type, x: Term) -> Term {
    terms.zero_extend(x, ty.bits())
}

pub(crate) fn insertlane(terms: &mut Terms, ty: Type, x: Term, y: Term, lane: u8) -> Option<Term> {
    let mut lanes = lanes_of(terms, ty, x);
    *lanes.get_mut(usize::from(lane))? = y;
    Some(of_lanes(terms, lanes))
}

pub(crate) fn extractlane(terms: &mut Terms, ty: Type, x: Term, lane: u8) -> Option<Term> {
    lanes_of(terms, ty, x).get(usize::from(lane)).copied()
}

/// Returns a term that holds if any bit of the value is set.
pub(crate) fn any_true(terms: &mut Terms, x: Term) -> Term {
    let none = int::is_zero(terms, x);
    terms.not(none)
}

/// Returns a term that holds if no lane is zero.
pub(crate) fn all_true(terms: &mut Terms, ty: Type, x: Term) -> Term {
    let lanes = lanes_of(terms, ty, x);
    let zeros: Vec<Term> = lanes.into_iter().map(|lane| int::is_zero(terms, lane)).collect();
    let any_zero = terms.any(zeros);
    terms.not(any_zero)
}

/// Returns the top bits of the lanes, as a value of `width` bits.
pub(crate) fn high_bits(terms: &mut Terms, ty: Type, x: Term, width: u32) -> Term {
    let top = ty.lane_bits() - 1;
    let tops: Vec<Term> = lanes_of(terms, ty, x).into_iter().map(|lane| terms.extract(lane, top, 1)).collect();
    let bits = of_lanes(terms, tops);
    int::resize(terms, bits, width)
}

/// Returns a vector whose byte `i` is the byte of `x` at the index that `pick` computes from byte `i` of `y`, or
/// zero if there is no such byte.
pub(crate) fn permuted(terms: &mut Terms, x: Term, y: Term, pick: fn(&mut Terms, Term) -> Term) -> Term {
    let (bytes, indices) = (lanes_of(terms, I8X16, x), lanes_of(terms, I8X16, y));
    let picked: Vec<Term> = indices
        .into_iter()
        .map(|index| {
            let index = pick(terms, index);
            let none = terms.number(8, 0);
            bytes.iter().enumerate().fold(none, |result, (number, &byte)| {
                let number = terms.number(8, number as u128);
                let this = terms.eq(index, number);
                terms.ite(this, byte, result)
            })
        })
        .collect();
    of_lanes(terms, picked)
}

/// Returns the index for `x86_pshufb`: the low four bits, or an index without a byte if the top bit is set.
pub(crate) fn pshufb_index(terms: &mut Terms, index: Term) -> Term {
    let mask = terms.number(8, 0x8f);
    terms.bit_and(index, mask)
}

/// Returns the lanes of two operands, each narrowed to half its width.
pub(crate) fn narrowed(
    terms: &mut Terms,
    ty: Type,
    [x, y]: [Term; 2],
    narrow: fn(&mut Terms, Term, u32) -> Term,
) -> Term {
    let mut lanes = lanes_of(terms, ty, x);
    lanes.extend(lanes_of(terms, ty, y));
    let half = ty.lane_bits() / 2;
    let narrow: Vec<Term> = lanes.into_iter().map(|lane| narrow(terms, lane, half)).collect();
    of_lanes(terms, narrow)
}

/// Returns the number in the unsigned range of `width` bits that is nearest to an unsigned number, in `width` bits.
pub(crate) fn narrow_unsigned(terms: &mut Terms, x: Term, width: u32) -> Term {
    let most = terms.number(terms.width(x), (1 << width) - 1);
    let within = int::umin(terms, x, most);
    terms.extract(within, 0, width)
}

/// Returns the low or high half of the lanes, each extended to twice its width.
pub(crate) fn widened(
    terms: &mut Terms,
    ty: Type,
    x: Term,
    high: bool,
    extend: fn(&mut Terms, Term, u32) -> Term,
) -> Term {
    let half = ty.lane_count() as usize / 2;
    let lanes = lanes_of(terms, ty, x);
    let kept = if high { &lanes[half..] } else { &lanes[..half] };
    let wide: Vec<Term> = kept.iter().map(|&lane| extend(terms, lane, 2 * ty.lane_bits())).collect();
    of_lanes(terms, wide)
}

/// Adds neighboring lanes: first the lanes of `x`, then the lanes of `y`.
pub(crate) fn pairwise(terms: &mut Terms, ty: Type, [x, y]: [Term; 2]) -> Term {
    let mut lanes = lanes_of(terms, ty, x);
    lanes.extend(lanes_of(terms, ty, y));
    let sums: Vec<Term> = lanes.chunks_exact(2).map(|pair| terms.add(pair[0], pair[1])).collect();
    of_lanes(terms, sums)
}
