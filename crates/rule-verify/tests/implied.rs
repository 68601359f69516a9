//! Laws by which comparisons decide later ones (`crates/opt/src/implied.rs`), over all integers and so at all widths. The law of
//! sums is proved in `induction.rs`: a bounded counter and its step are such a sum, and a constant less the number of numbers is
//! the same constant.

use crate::theorem;

/// Two numbers `x` and `y` of a type with `2 * half` numbers, without a sign; `sx` and `sy` are the same with a sign. Another
/// number `a` is in a range.
const ASSUMED: &str = "
(set-logic QF_LIA)
(declare-const half Int) (declare-const x Int) (declare-const y Int) (declare-const sx Int) (declare-const sy Int)
(declare-const a Int) (declare-const low Int) (declare-const high Int)
(assert (and (< 0 half) (<= 0 x) (< x (* 2 half)) (<= 0 y) (< y (* 2 half))))
(assert (= sx (ite (< x half) x (- x (* 2 half)))))
(assert (= sy (ite (< y half) y (- y (* 2 half)))))
(assert (and (<= low a) (<= a high)))
";

/// The five ways in which two numbers compare, in the order of the bits of `outcomes`.
const OUTCOMES: [&str; 5] = [
    "(= x y)",
    "(and (< sx sy) (< x y))",
    "(and (< sx sy) (> x y))",
    "(and (> sx sy) (< x y))",
    "(and (> sx sy) (> x y))",
];

/// Each comparison, and the ways in which it is true.
const COMPARISONS: [(&str, &[usize]); 10] = [
    ("(= x y)", &[0]),
    ("(not (= x y))", &[1, 2, 3, 4]),
    ("(< sx sy)", &[1, 2]),
    ("(<= sx sy)", &[0, 1, 2]),
    ("(> sx sy)", &[3, 4]),
    ("(>= sx sy)", &[0, 3, 4]),
    ("(< x y)", &[1, 3]),
    ("(<= x y)", &[0, 1, 3]),
    ("(> x y)", &[2, 4]),
    ("(>= x y)", &[0, 2, 4]),
];

#[test]
fn two_numbers_compare_in_one_of_five_ways() {
    let Some(has_model) = theorem::over(ASSUMED) else { return };
    for (comparison, ways) in COMPARISONS {
        let ways: Vec<&str> = ways.iter().map(|&way| OUTCOMES[way]).collect();
        let is_wrong = format!("(not (= {comparison} (or {} false)))", ways.join(" "));
        assert_eq!(has_model(&is_wrong), "unsat", "{comparison}");
    }
    // Each way occurs, and no two at once.
    for (number, way) in OUTCOMES.iter().enumerate() {
        assert_eq!(has_model(way), "sat", "{way}");
        for other in &OUTCOMES[..number] {
            assert_eq!(has_model(&format!("(and {way} {other})")), "unsat", "{way} {other}");
        }
    }
}

#[test]
fn ranges_decide_comparisons_with_a_number() {
    let Some(has_model) = theorem::over(ASSUMED) else { return };
    let laws = [
        ("(< high y)", "(and (< a y) (<= a y) (not (= a y)))"),
        ("(<= high y)", "(<= a y)"),
        ("(> low y)", "(and (> a y) (>= a y) (not (= a y)))"),
        ("(>= low y)", "(>= a y)"),
        ("(and (<= high y) (>= low y))", "(= a y)"),
    ];
    for (range, result) in laws {
        assert_eq!(has_model(&format!("(and {range} (not {result}))")), "unsat", "{range}");
        assert_eq!(has_model(range), "sat", "{range}");
    }
    // An end that is one off decides nothing.
    assert_eq!(has_model("(and (<= high y) (not (< a y)))"), "sat");
}
