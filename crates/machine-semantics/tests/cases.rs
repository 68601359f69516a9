//! Numbers of states, and the values of variables in a state.

use kingpost_smt::{Bits, Evaluator, Sort, Term, Terms, Value};

/// States for each form in the deep tier.
const MANY: usize = 100_000;

/// Returns the number of states for each form: `few`, unless `KINGPOST_CASES` has another, or `KINGPOST_EVERY` is set.
pub(crate) fn cases(few: usize) -> usize {
    match std::env::var("KINGPOST_CASES") {
        Ok(text) => text.parse().expect("KINGPOST_CASES is a number"),
        Err(_) if is_deep() => MANY,
        Err(_) => few,
    }
}

/// Returns `true` if tests take all cases instead of a sample.
pub(crate) fn is_deep() -> bool {
    std::env::var_os("KINGPOST_EVERY").is_some_and(|value| value != "0")
}

/// Terms under one state after the other. Names of variables are read once.
pub(crate) struct Values {
    evaluator: Evaluator,
    /// Kind, number and sort of each variable: `r7` has the kind `r` and the number 7.
    variables: Vec<(String, usize, Sort)>,
    values: Vec<Value>,
}

impl Values {
    /// Prepares the evaluation of `roots`.
    pub(crate) fn new(terms: &Terms, roots: &[Term]) -> Values {
        let variable = |term: Term| {
            let name = terms.name(term).unwrap();
            let (kind, number) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap());
            (kind.to_string(), number.parse().unwrap(), terms.sort(term))
        };
        let variables: Vec<_> = terms.variables_of(roots).into_iter().map(variable).collect();
        let values = variables.iter().map(|(_, _, sort)| Value::zero(*sort)).collect();
        Values { evaluator: Evaluator::prepare(terms, roots), variables, values }
    }

    /// Sets the variables for which `content` has a value, by their kind and number, and evaluates all terms.
    pub(crate) fn set(&mut self, content: impl Fn(&str, usize) -> Option<u128>) {
        for ((kind, number, sort), value) in self.variables.iter().zip(&mut self.values) {
            match (content(kind, *number), sort) {
                (None, _) => {}
                (Some(bits), Sort::Bool) => *value = Value::Bool(bits & 1 == 1),
                (Some(bits), Sort::Bits(width)) => *value = Value::Bits(Bits::new(*width, bits)),
            }
        }
        let mut values = self.values.iter();
        self.evaluator.evaluate_by(|_, _| *values.next().expect("a value for each variable"));
    }

    /// Returns the bits of a term.
    pub(crate) fn bits(&self, term: Term) -> u128 {
        self.evaluator.value(term).bits().unwrap().unsigned()
    }

    /// Returns the value of a term of 64 bits.
    pub(crate) fn word(&self, term: Term) -> u64 {
        self.bits(term) as u64
    }

    /// Returns `true` if a boolean term is true.
    pub(crate) fn holds(&self, term: Term) -> bool {
        self.evaluator.value(term).is_true()
    }
}
