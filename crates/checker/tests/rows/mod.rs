//! Each error that the checker must detect, as a hand-written bad allocation and a good counterpart.

mod case;
mod claims;
mod edits;
mod operands;
mod values;

use case::*;
use kingpost_checker::{Checker, Rule};

#[test]
fn a_message_names_place_value_location_contents_and_their_origin() {
    let case = two(r(0), r(1)).edit(2, mov(R1, R0));
    let errors = Checker::new().check(&case.problem, &case.env, &case.answer).expect_err("overwritten");
    assert_eq!(
        errors[0].to_string(),
        "inst2 operand 0: rule 21: the location of a use holds the value on every path; expected v0 in r0, which holds \
         {v1} (8 bytes), since edit 0"
            .replace("inst2", &i(2).to_string())
    );
}

#[test]
fn one_checker_serves_one_question_after_another() {
    let mut checker = Checker::new();
    let (good, bad) = (spilled(), two(r(0), r(1)).edit(2, mov(R1, R0)));
    for _ in 0..3 {
        assert!(checker.check(&good.problem, &good.env, &good.answer).is_ok());
        assert!(checker.check(&bad.problem, &bad.env, &bad.answer).is_err());
    }
}

#[test]
fn every_rule_has_its_own_number() {
    for (n, rule) in Rule::ALL.iter().enumerate() {
        assert_eq!(rule.number() as usize, n + 1);
    }
}
