//! Errors in meanings. Each is one operation of a form's terms in the place of another: an error that the author of the
//! meaning could have made. The comparison with the processor or the emulator must find it.

use crate::a64::is_missing;
use crate::cases::is_deep;
use kingpost_smt::{Answer, Backend, FloatOp, Model, Node, Op, Query, Solver, Substitution, Term, Terms, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The meaning of a form, with states before it and after it.
pub(crate) trait Judged {
    fn text(&self) -> &str;

    fn terms(&mut self) -> &mut Terms;

    /// Returns the terms of all results: registers, flags, addresses, stored values, conditions and targets.
    fn results(&mut self) -> Vec<Term>;

    /// Replaces the terms of all results.
    fn set_results(&mut self, results: &[Term]);

    /// Returns `true` if the meaning agrees with all states.
    fn agrees(&mut self) -> bool;

    /// Returns terms that must keep their values in a state: addresses and targets, with these values.
    fn fixed(&mut self, state: usize) -> Vec<(Term, u64)>;

    /// Adds a state, with the content that a model gives to variables, and the state after it.
    fn add_state(&mut self, state: usize, model: &Model);
}

/// Returns one form of some, or all in the deep tier.
pub(crate) fn sample<T>(forms: Vec<T>) -> Vec<T> {
    let step = if is_deep() { 1 } else { 17 };
    forms.into_iter().step_by(step).collect()
}

/// Judgment of a change.
enum Verdict {
    /// A state shows it.
    Found,
    /// It changes no result: a solver proves it.
    Harmless,
    /// Neither.
    Missed,
}

/// States that a solver changes until one shows an error.
const TRIALS: usize = 4;

/// Numbers of planted errors.
pub(crate) struct Planting {
    solver: Solver,
    /// By kind.
    found: BTreeMap<&'static str, usize>,
    harmless: usize,
    missed: Vec<String>,
}

impl Planting {
    /// Begins. Returns `None` if there is no solver, which tells errors from changes without effect.
    pub(crate) fn new(test: &str) -> Option<Planting> {
        if is_missing(test, &[Backend::Z3.program()]) {
            return None;
        }
        Some(Planting { solver: Solver::new(Backend::Z3), found: BTreeMap::new(), harmless: 0, missed: Vec::new() })
    }

    /// Plants each error in a form.
    pub(crate) fn plant(&mut self, form: &mut impl Judged) {
        let results = form.results();
        for term in form.terms().cone(&results) {
            for (kind, wrong) in errors(form.terms(), term) {
                let mut error = Substitution::new([(term, wrong)]);
                let changed: Vec<Term> = results.iter().map(|&old| error.apply(form.terms(), old)).collect();
                if changed == results {
                    continue;
                }
                match self.judge(form, &results, &changed) {
                    Verdict::Found => *self.found.entry(kind).or_default() += 1,
                    Verdict::Harmless => self.harmless += 1,
                    Verdict::Missed => self.missed.push(format!("{kind}: {}", form.text())),
                }
            }
        }
        form.set_results(&results);
    }

    /// Judges an error that gives results other terms. A solver looks for a state that shows it, if no state does.
    fn judge(&mut self, form: &mut impl Judged, old: &[Term], new: &[Term]) -> Verdict {
        form.set_results(new);
        if !form.agrees() {
            return Verdict::Found;
        }
        form.set_results(old);
        let terms = form.terms();
        let pairs = old.iter().zip(new).filter(|(old, new)| old != new);
        let differences: Vec<Term> = pairs.map(|(&old, &new)| differ(terms, old, new)).collect();
        let differs = terms.any(differences);
        if let Some(Answer::Unsat) = self.ask(terms, differs) {
            return Verdict::Harmless;
        }
        for state in 0..TRIALS {
            let fixed = form.fixed(state);
            let terms = form.terms();
            let query = fixed.into_iter().fold(differs, |query, (term, value)| {
                let value = terms.number(64, value.into());
                let equal = terms.eq(term, value);
                terms.and(query, equal)
            });
            if let Some(Answer::Sat(model)) = self.ask(terms, query) {
                form.add_state(state, &model);
                form.set_results(new);
                if !form.agrees() {
                    return Verdict::Found;
                }
                form.set_results(old);
            }
        }
        Verdict::Missed
    }

    fn ask(&mut self, terms: &Terms, query: Term) -> Option<Answer> {
        self.solver.check(terms, &Query::new(query), Duration::from_secs(5)).ok()
    }

    /// Checks that all errors were found, and prints their numbers.
    pub(crate) fn end(self) {
        let found: usize = self.found.values().sum();
        println!("{found} errors found, {} changes without effect: {:#?}", self.harmless, self.found);
        assert!(found >= 50, "{found} errors were planted");
        assert!(self.missed.is_empty(), "{} errors are missed:\n{}", self.missed.len(), self.missed.join("\n"));
    }
}

/// Returns a term that holds if two results differ, and neither depends on what the manual leaves open: a comparison with
/// a processor does not judge it.
fn differ(terms: &mut Terms, old: Term, new: Term) -> Term {
    let variables = terms.variables_of(&[old, new]);
    let open: Vec<Term> =
        variables.into_iter().filter(|&term| terms.name(term).is_some_and(|name| name.starts_with("open"))).collect();
    let [clear, set] = [0, u128::MAX].map(|bits| {
        let pairs: Vec<(Term, Term)> = open.iter().map(|&term| (term, filled(terms, term, bits))).collect();
        let mut choice = Substitution::new(pairs);
        [choice.apply(terms, old), choice.apply(terms, new)]
    });
    let (old, new, differ) = (terms.eq(clear[0], set[0]), terms.eq(clear[1], set[1]), terms.ne(clear[0], clear[1]));
    let is_defined = terms.and(old, new);
    terms.and(is_defined, differ)
}

/// Returns a constant of the sort of a term, from bits.
fn filled(terms: &mut Terms, term: Term, bits: u128) -> Term {
    match terms.bits_width(term) {
        Some(width) => terms.number(width, bits),
        None => terms.bool(bits & 1 == 1),
    }
}

/// Returns wrong terms for a term, with the kinds of the errors.
fn errors(terms: &mut Terms, term: Term) -> Vec<(&'static str, Term)> {
    match terms.node(term) {
        Node::Const(value) => vec![("another number", neighbor(terms, value))],
        Node::Var(_) if terms.name(term).is_some_and(|name| name.starts_with('f')) => {
            vec![("a flag that is not read", terms.bool(false))]
        }
        Node::Var(_) => Vec::new(),
        Node::Unary(op, a) => unary(terms, term, op, a),
        Node::Binary(op, a, b) => binary(terms, op, a, b),
        Node::Ternary(Op::Ite, condition, a, b) => {
            vec![("the other case", terms.ite(condition, b, a)), ("a case left out", b)]
        }
        Node::Ternary(..) => Vec::new(),
    }
}

/// Returns the number after `value`, or the other boolean.
fn neighbor(terms: &mut Terms, value: Value) -> Term {
    match value {
        Value::Bool(value) => terms.bool(!value),
        Value::Bits(bits) => terms.number(bits.width(), bits.unsigned().wrapping_add(1)),
    }
}

fn unary(terms: &mut Terms, term: Term, op: Op, a: Term) -> Vec<(&'static str, Term)> {
    match op {
        Op::Not => vec![("a condition that is not negated", a)],
        Op::Neg | Op::BitNot => vec![("a number that is not negated", a)],
        Op::ZeroExtend => vec![("a sign extension", terms.sign_extend(a, terms.width(term)))],
        Op::SignExtend => vec![("an extension by zeros", terms.zero_extend(a, terms.width(term)))],
        Op::Extract { low } => {
            let width = terms.width(term);
            let low = if low + width < terms.width(a) { low + 1 } else { low - 1 };
            vec![("bits beside the right ones", terms.extract(a, low, width))]
        }
        _ => Vec::new(),
    }
}

fn binary(terms: &mut Terms, op: Op, a: Term, b: Term) -> Vec<(&'static str, Term)> {
    match op {
        Op::And => vec![("a disjunction", terms.or(a, b)), ("a condition left out", a)],
        Op::Or => vec![("a conjunction", terms.and(a, b)), ("a condition left out", a)],
        Op::Eq => vec![("the contrary", terms.ne(a, b))],
        Op::Ult => vec![("a signed comparison", terms.slt(a, b)), ("less or equal", terms.ule(a, b))],
        Op::Slt => vec![("an unsigned comparison", terms.ult(a, b)), ("less or equal", terms.sle(a, b))],
        Op::Add => vec![("a difference", terms.sub(a, b)), ("a summand left out", a)],
        Op::Mul => vec![("a sum for a product", terms.add(a, b))],
        Op::Udiv => vec![("a signed quotient", terms.sdiv(a, b))],
        Op::Sdiv => vec![("an unsigned quotient", terms.udiv(a, b))],
        Op::Urem => vec![("a signed remainder", terms.srem(a, b))],
        Op::Srem => vec![("an unsigned remainder", terms.urem(a, b))],
        Op::Shl => vec![("a shift to the right", terms.lshr(a, b)), ("no shift", a)],
        Op::Lshr => vec![("a shift of the sign", terms.ashr(a, b)), ("a shift to the left", terms.shl(a, b))],
        Op::Ashr => vec![("a shift of zeros", terms.lshr(a, b)), ("no shift", a)],
        Op::BitAnd => vec![("or for and", terms.bit_or(a, b)), ("a mask left out", a)],
        Op::BitOr => vec![("exclusive or", terms.bit_xor(a, b)), ("and for or", terms.bit_and(a, b))],
        Op::BitXor => vec![("or for exclusive or", terms.bit_or(a, b))],
        Op::Concat if terms.width(a) == terms.width(b) => vec![("halves exchanged", terms.concat(b, a))],
        Op::Float(FloatOp::Sub | FloatOp::Div) => vec![("operands exchanged", terms.binary(op, b, a))],
        Op::Float(FloatOp::Add) => vec![("a difference of floats", terms.binary(Op::Float(FloatOp::Sub), a, b))],
        _ => Vec::new(),
    }
}
