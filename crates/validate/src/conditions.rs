//! Conditions that hold on a path, and what terms decide under them.

use kingpost_smt::{Bits, Node, Op, Substitution, Term, Terms, Value};

/// Number of times that numbers are put into conditions.
const MAX_ROUNDS: usize = 4;

/// Conditions that hold on a path. Each is a boolean term.
#[derive(Clone, Default, Debug)]
pub(crate) struct Conditions {
    pub(crate) known: Vec<Term>,
    /// Pairs of terms that were proved equal where the conditions hold.
    equal: Vec<(Term, Term)>,
}

impl Conditions {
    /// Adds a condition, split into its conjuncts.
    pub(crate) fn add(&mut self, terms: &Terms, condition: Term) {
        let mut work = vec![condition];
        while let Some(term) = work.pop() {
            match terms.node(term) {
                Node::Binary(Op::And, a, b) => work.extend([b, a]),
                _ if !self.known.contains(&term) => self.known.push(term),
                _ => {}
            }
        }
    }

    /// Adds an equality that was proved under the conditions.
    pub(crate) fn add_equality(&mut self, a: Term, b: Term) {
        if a != b {
            self.equal.push((a.max(b), a.min(b)));
        }
    }

    /// Returns `true` if terms show that a condition contradicts the conditions.
    pub(crate) fn exclude(&self, terms: &mut Terms, condition: Term) -> bool {
        let mut facts = Conditions { known: self.known.clone(), equal: Vec::new() };
        facts.add(terms, condition);
        facts.contradict(terms)
    }

    /// Returns the value of a boolean term, if terms decide it.
    pub(crate) fn decide(&self, terms: &mut Terms, term: Term) -> Option<bool> {
        self.decide_within(terms, term, 16)
    }

    fn decide_within(&self, terms: &mut Terms, term: Term, depth: u32) -> Option<bool> {
        if let Some(Value::Bool(value)) = terms.value(term) {
            return Some(value);
        }
        if self.known.contains(&term) {
            return Some(true);
        }
        let not = terms.not(term);
        if self.known.contains(&not) {
            return Some(false);
        }
        if depth == 0 {
            return None;
        }
        match terms.node(term) {
            Node::Unary(Op::Not, inner) => self.decide_within(terms, inner, depth - 1).map(|value| !value),
            Node::Binary(Op::And, a, b) => {
                match (self.decide_within(terms, a, depth - 1), self.decide_within(terms, b, depth - 1)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            }
            Node::Binary(Op::Or, a, b) => {
                match (self.decide_within(terms, a, depth - 1), self.decide_within(terms, b, depth - 1)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                }
            }
            Node::Binary(Op::Ult | Op::Slt | Op::Eq, ..) => self.decide_by_ranges(terms, term),
            _ => None,
        }
    }

    /// Returns `true` if terms show that the conditions contradict one another: numbers that some determine are put into
    /// the others.
    fn contradict(mut self, terms: &mut Terms) -> bool {
        for _ in 0..MAX_ROUNDS {
            let is_false = |terms: &Terms, fact| terms.value(fact) == Some(Value::Bool(false));
            if self.known.iter().any(|&fact| is_false(terms, fact)) {
                return true;
            }
            for number in 0..self.known.len() {
                let fact = self.known.swap_remove(number);
                let refuted = self.decide(terms, fact) == Some(false);
                self.known.push(fact);
                let last = self.known.len() - 1;
                self.known.swap(number, last);
                if refuted {
                    return true;
                }
            }
            let next = self.reduced(terms);
            if next.known == self.known {
                return false;
            }
            self = next;
        }
        false
    }

    /// Returns the conditions, each with the parts replaced that the others determine. Together, they hold for the same
    /// models: a condition determines itself and the term that it compares with a constant, so two that contain what the
    /// other determines compare the same term, and become false if their constants differ.
    pub(crate) fn reduced(&self, terms: &mut Terms) -> Conditions {
        let mut pairs: Vec<(usize, Term, Term)> = Vec::new();
        for (number, &fact) in self.known.iter().enumerate() {
            let (inner, holds) = match terms.node(fact) {
                Node::Unary(Op::Not, inner) => (inner, false),
                _ => (fact, true),
            };
            if terms.value(inner).is_none() {
                pairs.push((number, inner, terms.bool(holds)));
            }
            pairs.extend(determined(terms, fact).map(|(part, value)| (number, part, value)));
        }
        let mut reduced = Conditions::default();
        for (number, &fact) in self.known.iter().enumerate() {
            let is_part = |&&(other, part, _): &&(usize, Term, Term)| other != number && terms.may_contain(fact, part);
            let pairs: Vec<(Term, Term)> =
                pairs.iter().filter(is_part).map(|&(_, part, value)| (part, value)).collect();
            let fact = if pairs.is_empty() { fact } else { Substitution::new(pairs).apply(terms, fact) };
            reduced.add(terms, fact);
        }
        reduced
    }

    /// Decides a comparison with a constant by the known comparisons of the same term with constants.
    fn decide_by_ranges(&self, terms: &mut Terms, term: Term) -> Option<bool> {
        let (subject, constant) = compared(terms, term)?;
        let (low, high) = self.range(terms, subject)?;
        let constant = constant.unsigned();
        match terms.node(term) {
            Node::Binary(Op::Eq, ..) => (constant < low || constant > high)
                .then_some(false)
                .or((low == high && low == constant).then_some(true)),
            Node::Binary(Op::Ult, a, _) if a == subject => {
                if high < constant {
                    Some(true)
                } else {
                    (low >= constant).then_some(false)
                }
            }
            Node::Binary(Op::Ult, ..) => {
                if low > constant {
                    Some(true)
                } else {
                    (high <= constant).then_some(false)
                }
            }
            _ => None,
        }
    }

    /// Returns the least and the greatest unsigned number that a term may be. The least one is the greater one if
    /// conditions contradict one another.
    fn range(&self, terms: &mut Terms, subject: Term) -> Option<(u128, u128)> {
        let ones = Bits::ones(terms.bits_width(subject)?).unsigned();
        let (mut low, mut high) = (0, ones);
        let mut others = Vec::new();
        for &condition in &self.known {
            let (inner, holds) = match terms.node(condition) {
                Node::Unary(Op::Not, inner) => (inner, false),
                _ => (condition, true),
            };
            let Some((same, constant)) = compared(terms, inner) else { continue };
            if matches!(terms.node(inner), Node::Binary(Op::Eq, ..)) {
                // Normal forms move parts and the constant of a sum to the other side of an equality.
                if let Some(constant) = moved(terms, same, constant, subject) {
                    let constant = constant.unsigned();
                    match holds {
                        true => (low, high) = (low.max(constant), high.min(constant)),
                        false => others.push(constant),
                    }
                }
                continue;
            }
            if same != subject {
                continue;
            }
            let constant = constant.unsigned();
            match (terms.node(inner), holds) {
                (Node::Binary(Op::Ult, a, _), true) if a == same => high = high.min(constant.saturating_sub(1)),
                (Node::Binary(Op::Ult, a, _), false) if a == same => low = low.max(constant),
                (Node::Binary(Op::Ult, ..), true) => low = low.max(constant.saturating_add(1)),
                (Node::Binary(Op::Ult, ..), false) => high = high.min(constant),
                _ => {}
            }
        }
        // From both ends: each number at an end that the term is not makes the range smaller.
        others.sort_unstable();
        others.iter().for_each(|&other| low = low.saturating_add(u128::from(other == low)));
        others.iter().rev().for_each(|&other| high = if other == high { high.saturating_sub(1) } else { high });
        Some((low, high))
    }
}

/// Returns the number that `subject` is if `term` is `constant` and the two differ by a constant, or their sum is one.
fn moved(terms: &mut Terms, term: Term, constant: Bits, subject: Term) -> Option<Bits> {
    if term == subject {
        return Some(constant);
    }
    if terms.sort(term) != terms.sort(subject) {
        return None;
    }
    let number = |number: u128| Some(Bits::new(constant.width(), number));
    let difference = terms.sub(subject, term);
    if let Some(difference) = terms.bits(difference) {
        return number(constant.unsigned().wrapping_add(difference.unsigned()));
    }
    let sum = terms.add(subject, term);
    terms.bits(sum).and_then(|sum| number(sum.unsigned().wrapping_sub(constant.unsigned())))
}

/// Returns the term that a fact makes equal to a constant, and the constant.
fn determined(terms: &Terms, fact: Term) -> Option<(Term, Term)> {
    let Node::Binary(Op::Eq, a, b) = terms.node(fact) else { return None };
    match (terms.value(a), terms.value(b)) {
        (None, Some(_)) => Some((a, b)),
        (Some(_), None) => Some((b, a)),
        _ => None,
    }
}

/// Returns the operand that is no constant, and the constant. An equality of two terms compares their difference with zero.
fn compared(terms: &mut Terms, comparison: Term) -> Option<(Term, Bits)> {
    let Node::Binary(op @ (Op::Eq | Op::Ult), a, b) = terms.node(comparison) else { return None };
    match (terms.bits(a), terms.bits(b)) {
        (None, Some(constant)) => Some((a, constant)),
        (Some(constant), None) => Some((b, constant)),
        (None, None) if op == Op::Eq => {
            let width = terms.bits_width(a)?;
            Some((terms.sub(a, b), Bits::new(width, 0)))
        }
        _ => None,
    }
}

/// Returns the substitution that replaces the terms that conditions make equal to numbers, if there are any.
pub(crate) fn numbers(terms: &Terms, under: &Conditions) -> Option<Substitution> {
    let pairs: Vec<(Term, Term)> = under.known.iter().filter_map(|&fact| determined(terms, fact)).collect();
    (!pairs.is_empty()).then(|| Substitution::new(pairs))
}

/// Returns the substitution that replaces the parts of terms that the conditions determine.
pub(crate) fn simplifier(terms: &mut Terms, under: &Conditions) -> Substitution {
    let mut pairs = under.equal.clone();
    for &condition in &under.known {
        let (inner, holds) = match terms.node(condition) {
            Node::Unary(Op::Not, inner) => (inner, false),
            _ => (condition, true),
        };
        if terms.value(inner).is_some() {
            continue;
        }
        let value = terms.bool(holds);
        pairs.push((inner, value));
        if holds {
            pairs.extend(determined(terms, inner));
        }
    }
    Substitution::new(pairs)
}

/// Returns a term with the parts replaced that the conditions determine.
pub(crate) fn simplified(terms: &mut Terms, under: &Conditions, term: Term) -> Term {
    simplifier(terms, under).apply(terms, term)
}
