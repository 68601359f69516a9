//! Absence of overflow: the conditions of `nsw`, `nuw`, `exact` and the `WillNotOverflow` predicates.

use kingpost_rules::InstOp;
use kingpost_smt::{Term, Terms};

/// Interpretation of the operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    Signed,
    Unsigned,
}

/// Returns a term that holds if the result of `op` equals the unbounded result.
pub(crate) fn fits(terms: &mut Terms, op: InstOp, sign: Sign, a: Term, b: Term) -> Term {
    match op {
        InstOp::Add | InstOp::Sub | InstOp::Mul => {
            let width = terms.width(a);
            // A sum needs one more bit, a product twice as many.
            let wide = if op == InstOp::Mul { 2 * width } else { width + 1 };
            let narrow = arithmetic(terms, op, a, b);
            let [a, b, narrow] = [a, b, narrow].map(|term| extend(terms, sign, term, wide));
            let exact = arithmetic(terms, op, a, b);
            terms.eq(exact, narrow)
        }
        InstOp::Shl => {
            let shifted = terms.shl(a, b);
            let back = if sign == Sign::Signed { terms.ashr(shifted, b) } else { terms.lshr(shifted, b) };
            terms.eq(back, a)
        }
        _ => terms.bool(true),
    }
}

fn arithmetic(terms: &mut Terms, op: InstOp, a: Term, b: Term) -> Term {
    match op {
        InstOp::Add => terms.add(a, b),
        InstOp::Sub => terms.sub(a, b),
        _ => terms.mul(a, b),
    }
}

fn extend(terms: &mut Terms, sign: Sign, a: Term, width: u32) -> Term {
    match sign {
        Sign::Signed => terms.sign_extend(a, width),
        Sign::Unsigned => terms.zero_extend(a, width),
    }
}

/// Returns a term that holds if a quotient leaves no remainder, or a shift right loses no bit.
pub(crate) fn is_exact(terms: &mut Terms, op: InstOp, a: Term, b: Term, result: Term) -> Term {
    let rest = match op {
        InstOp::Udiv => terms.urem(a, b),
        InstOp::Sdiv => terms.srem(a, b),
        _ => {
            let back = terms.shl(result, b);
            return terms.eq(back, a);
        }
    };
    let zero = terms.number(terms.width(a), 0);
    terms.eq(rest, zero)
}
