//! Sums and differences of `i128` by halves, as machines compute them.
//!
//! ```text
//! low  = x.low + y.low
//! high = x.high + y.high + (low < x.low)
//! ```

use kingpost_ir::Opcode;
use kingpost_smt::{Term, Terms};

/// Width of a half, in bits.
const HALF: u32 = 64;

/// Returns the result of `iadd` or `isub` on two values of 128 bits, computed by halves; `None` for other opcodes and
/// widths. It is equal to the result of [`crate::outcome`].
pub fn by_halves(terms: &mut Terms, opcode: Opcode, [x, y]: [Term; 2]) -> Option<Term> {
    let op = match opcode {
        Opcode::Iadd => Terms::add,
        Opcode::Isub => Terms::sub,
        _ => return None,
    };
    if terms.width(x) != 2 * HALF {
        return None;
    }
    let [x_low, y_low] = [x, y].map(|term| terms.extract(term, 0, HALF));
    let [x_high, y_high] = [x, y].map(|term| terms.extract(term, HALF, HALF));
    let (low, high) = (op(terms, x_low, y_low), op(terms, x_high, y_high));
    // A sum that wraps is less than each operand.
    let carries = match opcode {
        Opcode::Iadd => terms.ult(low, x_low.min(y_low)),
        _ => terms.ult(x_low, y_low),
    };
    let (one, zero) = (terms.number(HALF, 1), terms.number(HALF, 0));
    let carry = terms.ite(carries, one, zero);
    let high = op(terms, high, carry);
    Some(terms.concat(high, low))
}
