//! Laws by which counters of loops are widened (`crates/opt/src/induction.rs`), over all integers and so at all widths.

use crate::theorem;

/// A type with `2 * half` numbers from `least` to `most`, with or without a sign; a counter `x`, its step `c`, and the sum
/// `n`, which is `x + c` or differs from it by a multiple of the number of numbers.
const ASSUMED: &str = "
(set-logic QF_NIA)
(declare-const half Int) (declare-const least Int) (declare-const most Int)
(declare-const x Int) (declare-const c Int) (declare-const n Int) (declare-const k Int)
(declare-const low Int) (declare-const high Int) (declare-const start Int)
(declare-const i Int) (declare-const m Int) (declare-const y Int)
(assert (< 0 half))
(assert (or (and (= least (- half)) (= most (- half 1))) (and (= least 0) (= most (- (* 2 half) 1)))))
(assert (and (<= least x) (<= x most) (<= least n) (<= n most)))
(assert (= n (+ x c (* 2 half k))))
";

/// The counter is from `low` to `high`, and the sums of both with the step are in the type.
const BOUNDED: &str = "(<= low x) (<= x high) (<= least (+ low c)) (<= (+ high c) most)";

#[test]
fn bounded_counters_do_not_wrap() {
    let Some(has_model) = theorem::over(ASSUMED) else { return };
    // A bounded counter: the sum does not wrap.
    assert_eq!(has_model(&format!("(and {BOUNDED} (not (= n (+ x c))))")), "unsat");
    // A bounded sum, with bounds that also hold for the start: the sum does not wrap, and the bounds hold in the next round.
    let test = "(<= low n) (<= n high) (<= low start) (<= start high)";
    assert_eq!(has_model(&format!("(and {BOUNDED} {test} (not (and (= n (+ x c)) (<= low n) (<= n high))))")), "unsat");
    // A counter that would be `y` after `m` steps, and is not `y` in round `i`, has at least one step to go. So it is
    // between the start and the number before `y`.
    let steps = "(= x (+ start (* i c))) (= y (+ start (* m c))) (<= 0 i) (<= i m) (not (= x y)) (not (= c 0))";
    assert_eq!(has_model(&format!("(and {steps} (not (< i m)))")), "unsat");
    let between = "(and (<= start x) (<= x (- y c))) (and (>= start x) (>= x (- y c)))";
    assert_eq!(has_model(&format!("(and {steps} (< i m) (not (or {between})))")), "unsat");
    // A number that both readings of the bits have in common is one number.
    assert_eq!(has_model("(and (<= 0 x) (< x half) (<= 0 n) (< n half) (= c 0) (not (= x n)))"), "unsat");
    // A sum, difference, product or shift whose exact result `x` is in the type: the number `n` that its bits are, which
    // differs from it by a multiple of the number of numbers, is the same.
    assert_eq!(has_model("(and (= c 0) (not (= n x)))"), "unsat");
    // The extension to a type with `m` times as many numbers: bits `y` of the wide result that differ from the exact one by a
    // multiple of these are that number, too, which is also the extension of the bits `n`.
    let is_wide = "(<= 1 m) (<= (* m least) y) (<= y (+ (* m most) m (- 1))) (= y (+ x (* 2 half m i)))";
    assert_eq!(has_model(&format!("(and (= c 0) {is_wide} (not (= y n)))")), "unsat");
    // The assumptions contradict neither themselves nor wrong claims.
    assert_eq!(has_model("(and (= half 128) (= least 0) (= x 255) (= c 1) (= n 0))"), "sat");
    assert_eq!(has_model("(and (<= low x) (<= x high) (<= high most) (= c 1) (not (= n (+ x c))))"), "sat");
    assert_eq!(
        has_model("(and (= half 128) (= least 0) (= start 1) (= c 2) (= y 10) (= x (+ start (* i c))) (= x 11))"),
        "sat"
    );
}
