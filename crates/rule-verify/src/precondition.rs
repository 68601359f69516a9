//! Preconditions. An analysis may deny a property that holds, but never assert a property that does not hold: its
//! answer is a free bit that implies the property. For constants alone an analysis is exact.

use crate::constant::Registers;
use crate::encoder::Encoder;
use crate::wrap::{self, Sign};
use kingpost_rules::{Expr, InstOp, Precondition, Predicate, Relation, RuleError};
use kingpost_smt::{Sort, Term, Terms};

/// Returns the variable that counts the uses of a register in the whole program.
pub(crate) fn uses(terms: &mut Terms, register: &str) -> Term {
    terms.var(&format!("uses.%{register}"), Sort::Bits(8))
}

/// Returns a comparison of two terms.
pub(crate) fn compare(terms: &mut Terms, relation: Relation, a: Term, b: Term) -> Term {
    match relation {
        Relation::Eq => terms.eq(a, b),
        Relation::Ne => terms.ne(a, b),
        Relation::Ugt => terms.ult(b, a),
        Relation::Uge => terms.ule(b, a),
        Relation::Ult => terms.ult(a, b),
        Relation::Ule => terms.ule(a, b),
        Relation::Sgt => terms.slt(b, a),
        Relation::Sge => terms.sle(b, a),
        Relation::Slt => terms.slt(a, b),
        Relation::Sle => terms.sle(a, b),
    }
}

impl Encoder<'_> {
    /// Returns a precondition as a term. The parser limits its nesting.
    pub(crate) fn precondition(&mut self, root: &Precondition, registers: &Registers<'_>) -> Result<Term, RuleError> {
        Ok(match root {
            Precondition::True => self.terms.bool(true),
            Precondition::Not(inner) => {
                let inner = self.precondition(inner, registers)?;
                self.terms.not(inner)
            }
            Precondition::All(parts) => {
                let mut all = self.terms.bool(true);
                for part in parts {
                    let part = self.precondition(part, registers)?;
                    all = self.terms.and(all, part);
                }
                all
            }
            Precondition::Any(parts) => {
                let mut any = self.terms.bool(false);
                for part in parts {
                    let part = self.precondition(part, registers)?;
                    any = self.terms.or(any, part);
                }
                any
            }
            Precondition::Compare(exprs, relations) => {
                let values = exprs
                    .iter()
                    .map(|expr| self.constant(expr, registers))
                    .collect::<Result<Vec<Term>, RuleError>>()?;
                let mut all = self.terms.bool(true);
                for (pair, relation) in values.windows(2).zip(relations) {
                    let holds = compare(self.terms, *relation, pair[0], pair[1]);
                    all = self.terms.and(all, holds);
                }
                all
            }
            Precondition::Predicate(_, predicate, args) => self.predicate(*predicate, args, registers)?,
        })
    }

    fn predicate(&mut self, predicate: Predicate, args: &[Expr], registers: &Registers<'_>) -> Result<Term, RuleError> {
        let printed: Vec<String> = args.iter().map(Expr::to_string).collect();
        if predicate == Predicate::HasOneUse {
            let uses = uses(self.terms, printed[0].trim_start_matches('%'));
            let one = self.terms.number(8, 1);
            return Ok(self.terms.eq(uses, one));
        }
        let values = args.iter().map(|arg| self.constant(arg, registers)).collect::<Result<Vec<Term>, RuleError>>()?;
        let property = property(self.terms, predicate, &values);
        let looked_at = if predicate == Predicate::MaskedValueIsZero { &printed[..1] } else { &printed[..] };
        if is_precise(predicate) || looked_at.iter().all(|text| text.starts_with('C')) {
            return Ok(property);
        }
        let name = format!("ana_{}({})", predicate.name(), printed.join(", "));
        let answer = self.terms.var(&name, Sort::Bool);
        let sound = self.terms.implies(answer, property);
        self.facts.push(sound);
        Ok(answer)
    }
}

/// Returns `true` if the predicate is about constants only, so that it is exact.
fn is_precise(predicate: Predicate) -> bool {
    matches!(predicate, Predicate::IsSignBit | Predicate::IsShiftedMask | Predicate::WillNotOverflowUnsignedShl)
}

/// Returns the property that a predicate promises.
fn property(terms: &mut Terms, predicate: Predicate, args: &[Term]) -> Term {
    let (a, b) = (args[0], args[args.len() - 1]);
    let width = terms.width(a);
    let zero = terms.number(width, 0);
    match predicate {
        Predicate::IsPowerOf2 => {
            let some = terms.ne(a, zero);
            let at_most_one = at_most_one_bit(terms, a);
            terms.and(some, at_most_one)
        }
        Predicate::IsPowerOf2OrZero => at_most_one_bit(terms, a),
        Predicate::IsSignBit => {
            let sign = terms.number(width, 1 << (width - 1));
            terms.eq(a, sign)
        }
        Predicate::IsShiftedMask => {
            let one = terms.number(width, 1);
            let less = terms.sub(a, one);
            let filled = terms.bit_or(less, a);
            let some = terms.ne(filled, zero);
            let next = terms.add(filled, one);
            let common = terms.bit_and(next, filled);
            let run = terms.eq(common, zero);
            terms.and(some, run)
        }
        Predicate::MaskedValueIsZero => {
            let masked = terms.bit_and(a, b);
            terms.eq(masked, zero)
        }
        Predicate::WillNotOverflowSignedAdd => wrap::fits(terms, InstOp::Add, Sign::Signed, a, b),
        Predicate::WillNotOverflowUnsignedAdd => wrap::fits(terms, InstOp::Add, Sign::Unsigned, a, b),
        Predicate::WillNotOverflowSignedSub => wrap::fits(terms, InstOp::Sub, Sign::Signed, a, b),
        Predicate::WillNotOverflowUnsignedSub => wrap::fits(terms, InstOp::Sub, Sign::Unsigned, a, b),
        Predicate::WillNotOverflowSignedMul => wrap::fits(terms, InstOp::Mul, Sign::Signed, a, b),
        Predicate::WillNotOverflowUnsignedMul => wrap::fits(terms, InstOp::Mul, Sign::Unsigned, a, b),
        Predicate::WillNotOverflowUnsignedShl => wrap::fits(terms, InstOp::Shl, Sign::Unsigned, a, b),
        Predicate::EquivalentAddressValues => terms.eq(a, b),
        Predicate::HasOneUse => unreachable!("uses are counted by a variable of their own"),
    }
}

fn at_most_one_bit(terms: &mut Terms, a: Term) -> Term {
    let width = terms.width(a);
    let (zero, one) = (terms.number(width, 0), terms.number(width, 1));
    let less = terms.sub(a, one);
    let common = terms.bit_and(a, less);
    terms.eq(common, zero)
}
