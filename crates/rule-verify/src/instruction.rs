//! Meaning of the instructions that do not access memory.

use crate::encoder::Encoder;
use crate::outcome::Outcome;
use crate::precondition::compare;
use crate::wrap::{self, Sign};
use kingpost_rules::{Condition, ConvertOp, Flags, InstOp, Relation};
use kingpost_smt::{Bits, Op, Sort, Term};

impl Encoder<'_> {
    /// Returns the outcome of an instruction of two integers.
    pub(crate) fn binary(&mut self, op: InstOp, flags: Flags, a: Outcome, b: Outcome) -> Outcome {
        let value = self.binary_value(op, a.value, b.value);
        let mut outcome = Outcome::of(self.terms, value, &[a, b]);
        let defined = self.binary_defined(op, a.value, b.value);
        outcome.defined = self.terms.and(outcome.defined, defined);
        for (flag, sign) in [(flags.nsw, Sign::Signed), (flags.nuw, Sign::Unsigned)] {
            if flag {
                let fits = self.flag_holds(op, sign, a.value, b.value);
                outcome.poison_free = self.terms.and(outcome.poison_free, fits);
            }
        }
        if flags.exact {
            let exact = wrap::is_exact(self.terms, op, a.value, b.value, value);
            outcome.poison_free = self.terms.and(outcome.poison_free, exact);
        }
        outcome
    }

    fn flag_holds(&mut self, op: InstOp, sign: Sign, a: Term, b: Term) -> Term {
        let fits = wrap::fits(self.terms, op, sign, a, b);
        if !(self.new_shl_semantics && op == InstOp::Shl && sign == Sign::Signed) {
            return fits;
        }
        let width = self.terms.width(a);
        let (one, last) = (self.terms.number(width, 1), self.terms.number(width, u128::from(width - 1)));
        let (is_one, is_last) = (self.terms.eq(a, one), self.terms.eq(b, last));
        let sign_bit = self.terms.and(is_one, is_last);
        self.terms.or(fits, sign_bit)
    }

    fn binary_value(&mut self, op: InstOp, a: Term, b: Term) -> Term {
        let op = match op {
            InstOp::Sub => return self.terms.sub(a, b),
            InstOp::Add => Op::Add,
            InstOp::Mul => Op::Mul,
            InstOp::Udiv => Op::Udiv,
            InstOp::Sdiv => Op::Sdiv,
            InstOp::Urem => Op::Urem,
            InstOp::Srem => Op::Srem,
            InstOp::Shl => Op::Shl,
            InstOp::Ashr => Op::Ashr,
            InstOp::Lshr => Op::Lshr,
            InstOp::And => Op::BitAnd,
            InstOp::Or => Op::BitOr,
            InstOp::Xor => Op::BitXor,
        };
        self.terms.binary(op, a, b)
    }

    /// Returns a term that is false on immediate undefined behavior: a division by zero, a quotient that does not
    /// fit, or an oversized shift.
    fn binary_defined(&mut self, op: InstOp, a: Term, b: Term) -> Term {
        let width = self.terms.width(a);
        match op {
            InstOp::Udiv | InstOp::Urem => {
                let zero = self.terms.number(width, 0);
                self.terms.ne(b, zero)
            }
            InstOp::Sdiv | InstOp::Srem => {
                let zero = self.terms.number(width, 0);
                let divisor = self.terms.ne(b, zero);
                let least = self.terms.constant(Bits::sign_bit(width));
                let ones = self.terms.constant(Bits::ones(width));
                let (not_least, not_minus_one) = (self.terms.ne(a, least), self.terms.ne(b, ones));
                let fits = self.terms.or(not_least, not_minus_one);
                self.terms.and(divisor, fits)
            }
            InstOp::Shl | InstOp::Ashr | InstOp::Lshr => {
                let limit = self.terms.number(width, u128::from(width));
                self.terms.ult(b, limit)
            }
            _ => self.terms.bool(true),
        }
    }

    /// Returns the outcome of a comparison, as one bit. `register` names an abstract condition without a name.
    pub(crate) fn icmp(&mut self, condition: &Condition, a: Outcome, b: Outcome, register: &str) -> Outcome {
        let holds = match condition {
            Condition::Known(relation) => compare(self.terms, *relation, a.value, b.value),
            Condition::Abstract(name) => {
                let name = name.as_deref().unwrap_or(register);
                self.any_relation(name, a.value, b.value)
            }
        };
        let value = self.bit(holds);
        Outcome::of(self.terms, value, &[a, b])
    }

    /// Returns one of the ten conditions, chosen by four bits. All numbers without a condition of their own choose
    /// the last condition.
    fn any_relation(&mut self, name: &str, a: Term, b: Term) -> Term {
        let choice = self.terms.var(&format!("icmp_{name}"), Sort::Bits(4));
        let (last, rest) = (Relation::Sle, &Relation::ALL[..Relation::ALL.len() - 1]);
        let mut holds = compare(self.terms, last, a, b);
        for (number, &relation) in rest.iter().enumerate().rev() {
            let number = self.terms.number(4, number as u128);
            let chosen = self.terms.eq(choice, number);
            let this = compare(self.terms, relation, a, b);
            holds = self.terms.ite(chosen, this, holds);
        }
        holds
    }

    fn bit(&mut self, condition: Term) -> Term {
        let (one, zero) = (self.terms.number(1, 1), self.terms.number(1, 0));
        self.terms.ite(condition, one, zero)
    }

    /// Returns a term that holds if a one-bit value is set.
    pub(crate) fn is_set(&mut self, bit: Term) -> Term {
        let one = self.terms.number(1, 1);
        self.terms.eq(bit, one)
    }

    /// Returns the outcome of a `select`. Both arms must be defined and free of poison.
    pub(crate) fn select(&mut self, condition: Outcome, a: Outcome, b: Outcome) -> Outcome {
        let set = self.is_set(condition.value);
        let value = self.terms.ite(set, a.value, b.value);
        Outcome::of(self.terms, value, &[condition, a, b])
    }

    /// Returns the outcome of a conversion to `width` bits.
    pub(crate) fn convert(&mut self, op: ConvertOp, from: Outcome, width: u32) -> Outcome {
        let value = if op == ConvertOp::Sext {
            self.terms.sign_extend(from.value, width)
        } else {
            self.resize(from.value, width)
        };
        Outcome { value, ..from }
    }

    /// Returns a value zero-extended or truncated to `width` bits.
    fn resize(&mut self, value: Term, width: u32) -> Term {
        if self.terms.width(value) <= width {
            self.terms.zero_extend(value, width)
        } else {
            self.terms.extract(value, 0, width)
        }
    }
}
