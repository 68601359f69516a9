//! Gates, each once, and their clauses (Tseitin, On the complexity of derivation in propositional calculus, 1968).
//!
//! Gates remain from one search to the next. A search has the clauses of the gates that define its literals, and numbers
//! their variables in the order of the circuit.

use super::clauses::{Clauses, Lit};
use crate::hash::BuildTermHasher;
use std::collections::HashMap;

/// Definition of a variable. Operands are variables before it, and no constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Gate {
    Input,
    And(Lit, Lit),
    Xor(Lit, Lit),
    Choice(Lit, Lit, Lit),
}

/// A circuit.
#[derive(Debug)]
pub(super) struct Circuit {
    /// Definitions of the variables. The first one is the constant.
    gates: Vec<Gate>,
    numbers: HashMap<Gate, Lit, BuildTermHasher>,
    clauses: Clauses,
    /// Variables of the last search, in ascending order.
    searched: Vec<u32>,
    /// Place of each variable among them, or [`ABSENT`].
    places: Vec<u32>,
}

/// The literal that is true.
pub(super) const TRUE: Lit = Lit(0);
/// The literal that is false.
pub(super) const FALSE: Lit = Lit(1);

/// Place of variables that were not part of the last search.
const ABSENT: u32 = u32::MAX;

impl Default for Circuit {
    fn default() -> Circuit {
        Circuit {
            gates: vec![Gate::Input],
            numbers: HashMap::default(),
            clauses: Clauses::default(),
            searched: Vec::new(),
            places: Vec::new(),
        }
    }
}

/// Returns the literal of a constant.
pub(super) fn constant(value: bool) -> Lit {
    FALSE.negated_if(value)
}

impl Circuit {
    /// Returns a new input.
    pub(super) fn input(&mut self) -> Lit {
        let lit = Lit(2 * self.gates.len() as u32);
        self.gates.push(Gate::Input);
        lit
    }

    /// Returns the number of variables.
    pub(super) fn len(&self) -> usize {
        self.gates.len()
    }

    fn gate(&mut self, gate: Gate) -> Lit {
        let next = Lit(2 * self.gates.len() as u32);
        let lit = *self.numbers.entry(gate).or_insert(next);
        if lit == next {
            self.gates.push(gate);
        }
        lit
    }

    /// Decides whether inputs exist for which literals are true, within a number of conflicts, unless more than `most`
    /// variables define them.
    pub(super) fn solve(&mut self, required: &[Lit], most: usize, conflicts: u32) -> Option<bool> {
        self.collect(required);
        if self.searched.len() > most {
            return None;
        }
        self.clauses.reset(self.searched.len());
        for &lit in required {
            match lit {
                TRUE => {}
                FALSE => return Some(false),
                _ => self.clauses.add(&[place(&self.places, lit)]),
            }
        }
        // Literals that are known to be true decide clauses of their operands, so gates come before these.
        for at in (0..self.searched.len()).rev() {
            self.define(at);
        }
        self.clauses.solve(conflicts)
    }

    /// Returns `true` if a literal is true under the assignment that the last search found. Variables that it had no need
    /// for are false.
    pub(super) fn is_true(&self, lit: Lit) -> bool {
        match self.places.get(lit.variable()) {
            _ if lit.variable() == TRUE.variable() => lit == TRUE,
            None | Some(&ABSENT) => lit.is_negated(),
            Some(_) => self.clauses.is_true(place(&self.places, lit)),
        }
    }

    /// Finds the variables that define literals.
    fn collect(&mut self, required: &[Lit]) {
        for &variable in &self.searched {
            self.places[variable as usize] = ABSENT;
        }
        self.searched.clear();
        self.places.resize(self.gates.len(), ABSENT);
        required.iter().for_each(|&lit| reach(&mut self.places, &mut self.searched, lit));
        let mut at = 0;
        while let Some(&variable) = self.searched.get(at) {
            at += 1;
            let mut operand = |lit| reach(&mut self.places, &mut self.searched, lit);
            match self.gates[variable as usize] {
                Gate::Input => {}
                Gate::And(a, b) | Gate::Xor(a, b) => [a, b].into_iter().for_each(&mut operand),
                Gate::Choice(a, b, c) => [a, b, c].into_iter().for_each(&mut operand),
            }
        }
        self.searched.sort_unstable();
        for (number, &variable) in self.searched.iter().enumerate() {
            self.places[variable as usize] = number as u32;
        }
    }

    /// Adds the clauses of a variable of the search.
    fn define(&mut self, at: usize) {
        let Circuit { gates, clauses, places, .. } = self;
        let new = |lit| place(places, lit);
        let gate = Lit(2 * at as u32);
        let mut add = |clause: &[Lit]| clauses.add(clause);
        match gates[self.searched[at] as usize] {
            Gate::Input => {}
            Gate::And(a, b) => {
                let (a, b) = (new(a), new(b));
                add(&[!gate, a]);
                add(&[!gate, b]);
                add(&[gate, !a, !b]);
            }
            Gate::Xor(a, b) => {
                let (a, b) = (new(a), new(b));
                add(&[!gate, a, b]);
                add(&[!gate, !a, !b]);
                add(&[gate, !a, b]);
                add(&[gate, a, !b]);
            }
            Gate::Choice(condition, a, b) => {
                let (condition, a, b) = (new(condition), new(a), new(b));
                add(&[!condition, !a, gate]);
                add(&[!condition, a, !gate]);
                add(&[condition, !b, gate]);
                add(&[condition, b, !gate]);
                add(&[!a, !b, gate]);
                add(&[a, b, !gate]);
            }
        }
    }

    pub(super) fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let (a, b) = (a.min(b), a.max(b));
        if a == FALSE || a == !b {
            return FALSE;
        }
        if a == TRUE || a == b {
            return b;
        }
        self.gate(Gate::And(a, b))
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
        self.gate(Gate::Xor(a, b)).negated_if(is_negated)
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
        self.gate(Gate::Choice(condition, a, b)).negated_if(is_negated)
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

/// Returns a literal by the number that its variable has in the last search.
fn place(places: &[u32], lit: Lit) -> Lit {
    Lit(2 * places[lit.variable()]).negated_if(lit.is_negated())
}

/// Adds the variable of a literal to the variables of a search, unless it is there or the constant.
fn reach(places: &mut [u32], searched: &mut Vec<u32>, lit: Lit) {
    let variable = lit.variable();
    if variable != TRUE.variable() && places[variable] == ABSENT {
        places[variable] = 0;
        searched.push(variable as u32);
    }
}
