//! A search for models bit by bit, in this process.
//!
//! ```text
//! x < y & y < x      each bit of x and y is a boolean, each comparison a circuit of them
//!                    the circuits are clauses; no assignment satisfies all: there is no model
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `circuit.rs` | gates, each once, and their clauses |
//! | `blast.rs` | terms as circuits |
//! | `floats.rs` | facts about operations on floats |
//! | `clauses.rs` | assignments of clauses, and learning from conflicts |
//! | `order.rs` | the variables by their part in conflicts |
//!
//! Quotients, wide products and operations on floats are free: any bits may be their results. So an answer "no model" is
//! always right, and a model has to be evaluated. The effort is limited by a number of conflicts, and so does not depend
//! on the machine.

mod blast;
mod circuit;
mod clauses;
mod floats;
mod order;

use crate::evaluate::Model;
use crate::solver::Answer;
use crate::term::{Term, Terms};
use blast::Blaster;

/// Maximum number of terms of a formula.
const MAX_TERMS: usize = 4000;

/// Searches for models of terms of one arena. The circuits of terms remain from one search to the next.
#[derive(Default, Debug)]
pub struct Search {
    blaster: Blaster,
}

impl Search {
    /// Searches for a model of a boolean term, up to a number of conflicts. A model may be wrong for terms that are free. All
    /// calls are about terms of one arena.
    pub fn run(&mut self, terms: &Terms, formula: Term, conflicts: u32) -> Answer {
        let cone = terms.cone(&[formula]);
        if cone.len() > MAX_TERMS {
            return Answer::Unknown;
        }
        if self.blaster.is_large() {
            self.blaster = Blaster::default();
        }
        let blaster = &mut self.blaster;
        if !blaster.define(terms, &cone) {
            return Answer::Unknown;
        }
        match blaster.solve(formula, conflicts) {
            Some(false) => Answer::Unsat,
            Some(true) => {
                let mut model = Model::default();
                for term in cone {
                    if let Some(name) = terms.name(term) {
                        model.set(name, blaster.value(terms, term));
                    }
                }
                Answer::Sat(model)
            }
            None => Answer::Unknown,
        }
    }
}

/// Searches for a model of a boolean term like [`Search::run`].
pub fn search(terms: &Terms, formula: Term, conflicts: u32) -> Answer {
    Search::default().run(terms, formula, conflicts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Sort;
    use crate::evaluate::Evaluator;
    use crate::term::Op;

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) % limit
        }
    }

    const OPS: [Op; 12] = [
        Op::Add,
        Op::Mul,
        Op::Shl,
        Op::Lshr,
        Op::Ashr,
        Op::BitAnd,
        Op::BitOr,
        Op::BitXor,
        Op::Neg,
        Op::BitNot,
        Op::Ite,
        Op::Concat,
    ];

    /// Returns a random term of `width` bits over `x` and `y`.
    fn random_term(random: &mut Random, terms: &mut Terms, width: u32, depth: u32) -> Term {
        if depth == 0 {
            return match random.below(3) {
                0 => terms.number(width, random.below(1 << width).into()),
                1 => terms.var("x", Sort::Bits(width)),
                _ => terms.var("y", Sort::Bits(width)),
            };
        }
        let mut part = |terms: &mut Terms| random_term(random, terms, width, depth - 1);
        let (a, b, c) = (part(terms), part(terms), part(terms));
        match OPS[random.below(OPS.len() as u64) as usize] {
            op @ (Op::Neg | Op::BitNot) => terms.unary(op, a, Sort::Bits(width)),
            Op::Ite => {
                let condition = if random.below(2) == 0 { terms.ult(a, b) } else { terms.slt(a, b) };
                terms.ite(condition, b, c)
            }
            Op::Concat => {
                let low = random.below(width.into()) as u32;
                let both = terms.concat(a, b);
                let part = terms.extract(both, low, 3);
                if random.below(2) == 0 { terms.zero_extend(part, width) } else { terms.sign_extend(part, width) }
            }
            op => terms.binary(op, a, b),
        }
    }

    /// Compares answers with all models of two variables of five bits: of a formula, its negation, and the formula again,
    /// with the circuits of both.
    #[test]
    fn answers_are_those_of_all_models() {
        let (width, mut counts) = (5, [0; 2]);
        for case in 0..400_u64 {
            let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ case << 20 | 1);
            let mut terms = Terms::raw();
            let [a, b, c] = [0; 3].map(|_| random_term(&mut random, &mut terms, width, 3));
            let (equal, less) = (terms.eq(a, b), terms.ule(b, c));
            let not = terms.not(less);
            let formula = terms.and(equal, not);
            let negated = terms.not(formula);
            let mut search = Search::default();
            for formula in [formula, negated, formula] {
                let mut evaluator = Evaluator::prepare(&terms, &[formula]);
                let mut has_model = false;
                for (x, y) in (0..1 << width).flat_map(|x| (0..1 << width).map(move |y| (x, y))) {
                    let mut model = Model::default();
                    for (name, value) in [("x", x), ("y", y)] {
                        let value = terms.number(width, value);
                        model.set(name, terms.value(value).unwrap());
                    }
                    evaluator.evaluate(&model);
                    has_model |= evaluator.value(formula).is_true();
                }
                match search.run(&terms, formula, 10_000) {
                    Answer::Unsat => assert!(!has_model, "case {case}"),
                    Answer::Sat(model) => {
                        evaluator.evaluate(&model);
                        assert!(evaluator.value(formula).is_true(), "case {case}: {model:?}");
                    }
                    Answer::Unknown => panic!("case {case}: no answer"),
                }
                counts[usize::from(has_model)] += 1;
            }
        }
        assert!(counts.iter().all(|&count| count > 80), "{counts:?}");
    }

    /// Checks that the low bits of a product of 128 bits are the product of 64 bits, for the same factors only.
    #[test]
    fn wide_products_of_two_widths_share_their_low_bits() {
        let mut terms = Terms::raw();
        let [x, y, z] = ["x", "y", "z"].map(|name| terms.var(name, Sort::Bits(64)));
        let mut differs = |[a, b]: [Term; 2], [c, d]: [Term; 2]| {
            let [a, b] = [a, b].map(|factor| terms.sign_extend(factor, 128));
            let (wide, narrow) = (terms.mul(a, b), terms.mul(c, d));
            let low = terms.extract(wide, 0, 64);
            let equal = terms.eq(low, narrow);
            let not = terms.not(equal);
            search(&terms, not, 1000)
        };
        assert!(matches!(differs([x, y], [x, y]), Answer::Unsat));
        assert!(matches!(differs([x, y], [y, x]), Answer::Unsat));
        assert!(matches!(differs([x, y], [x, z]), Answer::Sat(_)));
        assert!(matches!(differs([x, x], [x, y]), Answer::Sat(_)));
    }

    /// Puts six pigeons into five holes, which fails only after many conflicts.
    #[test]
    fn conflicts_are_learned_from() {
        let mut terms = Terms::raw();
        let mut formula = terms.bool(true);
        let place = |terms: &mut Terms, pigeon: u32, hole: u32| terms.var(&format!("{pigeon}.{hole}"), Sort::Bool);
        for pigeon in 0..6 {
            let holes: Vec<Term> = (0..5).map(|hole| place(&mut terms, pigeon, hole)).collect();
            let any = terms.any(holes);
            formula = terms.and(formula, any);
            for (other, hole) in (0..pigeon).flat_map(|other| (0..5).map(move |hole| (other, hole))) {
                let (a, b) = (place(&mut terms, pigeon, hole), place(&mut terms, other, hole));
                let both = terms.and(a, b);
                let not = terms.not(both);
                formula = terms.and(formula, not);
            }
        }
        assert!(matches!(search(&terms, formula, 10_000), Answer::Unsat));
        assert!(matches!(search(&terms, formula, 3), Answer::Unknown));
    }
}
