//! Gates, each once, and their clauses (Tseitin, On the complexity of derivation in propositional calculus, 1968).

use super::clauses::{Clauses, Lit};
use crate::hash::BuildTermHasher;
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Gate {
    And(Lit, Lit),
    Xor(Lit, Lit),
    Choice(Lit, Lit, Lit),
}

/// A circuit.
#[derive(Debug)]
pub(super) struct Circuit {
    pub(super) clauses: Clauses,
    gates: HashMap<Gate, Lit, BuildTermHasher>,
}

/// The literal that is true.
pub(super) const TRUE: Lit = Lit(0);
/// The literal that is false.
pub(super) const FALSE: Lit = Lit(1);

impl Default for Circuit {
    fn default() -> Circuit {
        let mut clauses = Clauses::default();
        let constant = clauses.variable();
        debug_assert_eq!(constant, TRUE);
        clauses.add(&[constant]);
        Circuit { clauses, gates: HashMap::default() }
    }
}

/// Returns the literal of a constant.
pub(super) fn constant(value: bool) -> Lit {
    FALSE.negated_if(value)
}

impl Circuit {
    /// Returns a new input.
    pub(super) fn input(&mut self) -> Lit {
        self.clauses.variable()
    }

    /// Returns the number of gates.
    pub(super) fn len(&self) -> usize {
        self.gates.len()
    }

    fn gate(&mut self, gate: Gate, clauses: impl Fn(Lit) -> Vec<Vec<Lit>>) -> Lit {
        if let Some(&lit) = self.gates.get(&gate) {
            return lit;
        }
        let lit = self.clauses.variable();
        for clause in clauses(lit) {
            self.clauses.add(&clause);
        }
        self.gates.insert(gate, lit);
        lit
    }

    pub(super) fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let (a, b) = (a.min(b), a.max(b));
        if a == FALSE || a == !b {
            return FALSE;
        }
        if a == TRUE || a == b {
            return b;
        }
        self.gate(Gate::And(a, b), |gate| vec![vec![!gate, a], vec![!gate, b], vec![gate, !a, !b]])
    }

    pub(super) fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    pub(super) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let is_negated = a.is_negated() != b.is_negated();
        let (a, b) = (a.negated_if(a.is_negated()), b.negated_if(b.is_negated()));
        let (a, b) = (a.min(b), a.max(b));
        if a == b {
            return constant(is_negated);
        }
        if a == TRUE {
            return (!b).negated_if(is_negated);
        }
        let gate = self.gate(Gate::Xor(a, b), |gate| {
            vec![vec![!gate, a, b], vec![!gate, !a, !b], vec![gate, !a, b], vec![gate, a, !b]]
        });
        gate.negated_if(is_negated)
    }

    /// Returns `if condition then a else b`.
    pub(super) fn choice(&mut self, condition: Lit, a: Lit, b: Lit) -> Lit {
        if condition.is_negated() {
            return self.choice(!condition, b, a);
        }
        if condition == TRUE || a == b {
            return a;
        }
        if a == !b {
            return self.xor(condition, b);
        }
        if a == TRUE || a == condition {
            return self.or(condition, b);
        }
        if a == FALSE || a == !condition {
            return self.and(!condition, b);
        }
        if b == TRUE || b == !condition {
            return self.or(!condition, a);
        }
        if b == FALSE || b == condition {
            return self.and(condition, a);
        }
        let is_negated = a.is_negated();
        let (a, b) = (a.negated_if(is_negated), b.negated_if(is_negated));
        let gate = self.gate(Gate::Choice(condition, a, b), |gate| {
            vec![
                vec![!condition, !a, gate],
                vec![!condition, a, !gate],
                vec![condition, !b, gate],
                vec![condition, b, !gate],
                vec![!a, !b, gate],
                vec![a, b, !gate],
            ]
        });
        gate.negated_if(is_negated)
    }

    /// Returns `true` if all literals are equal in pairs.
    pub(super) fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        a.iter().zip(b).fold(TRUE, |all, (&a, &b)| {
            let differ = self.xor(a, b);
            self.and(all, !differ)
        })
    }

    /// Returns `a < b` of unsigned numbers, lowest bit first.
    pub(super) fn less(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        a.iter().zip(b).fold(FALSE, |below, (&a, &b)| {
            let differ = self.xor(a, b);
            self.choice(differ, b, below)
        })
    }

    /// Returns `a + b + carry`.
    pub(super) fn sum(&mut self, a: &[Lit], b: &[Lit], mut carry: Lit) -> Vec<Lit> {
        let mut sum = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            sum.push(self.xor(differ, carry));
            carry = self.choice(differ, carry, a);
        }
        sum
    }

    /// Returns a choice between numbers.
    pub(super) fn choices(&mut self, condition: Lit, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        a.iter().zip(b).map(|(&a, &b)| self.choice(condition, a, b)).collect()
    }
}
