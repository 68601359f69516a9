//! Theorem by which divisions by constants become multiplications, over all integers. It does not depend on a
//! width.

use crate::theorem;

/// `x = q*d + r` with `0 <= x <= limit`, and `m*d = p + e` with `0 <= e` and `e * (limit + 1) <= p`.
const ASSUMED: &str = "
(set-logic QF_NIA)
(declare-const x Int) (declare-const q Int) (declare-const r Int) (declare-const d Int)
(declare-const m Int) (declare-const e Int) (declare-const p Int) (declare-const limit Int)
(assert (and (<= 0 x) (<= x limit) (<= 1 d) (<= 0 q) (<= 0 r) (< r d) (= x (+ (* q d) r))))
(assert (and (< 0 p) (= (* m d) (+ p e)) (<= 0 e) (<= (* e (+ limit 1)) p)))
";

#[test]
fn products_are_quotients() {
    let Some(has_model) = theorem::over(ASSUMED) else { return };
    // Rounded down, x*m / p is q.
    assert_eq!(has_model("(not (and (<= (* q p) (* x m)) (< (* x m) (* (+ q 1) p))))"), "unsat");
    // Rounded up, it is q + 1 if the dividend and the excess are not zero. So -x*m / p rounded down is -q - 1.
    assert_eq!(has_model("(and (< 0 x) (< 0 e) (not (< (* q p) (* x m))))"), "unsat");
    // The assumptions contradict neither themselves nor a wrong claim.
    assert_eq!(has_model("(and (= x 20) (= d 10) (= m 13))"), "sat");
}
