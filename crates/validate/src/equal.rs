//! Equality and implication of terms under conditions: normal forms first, then models, then a search bit by bit, then a
//! solver.

use crate::conditions::{Conditions, simplified};
use kingpost_smt::{
    Answer, Bits, Evaluator, FloatOp, Model, Node, Op, Query, Search, Solver, Sort, Substitution, Term, Terms, Value,
};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Decision on an obligation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Decision {
    /// It holds for every model of the conditions.
    Holds,
    /// It does not hold for this one.
    Fails(Box<Model>),
    /// Neither is known.
    Unknown,
}

/// Number of decisions, by their way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Decisions {
    /// Obligations that normal forms decided.
    pub by_terms: u64,
    /// Obligations that a search bit by bit decided.
    pub by_search: u64,
    /// Obligations that a solver decided.
    pub by_solver: u64,
    /// Obligations that nothing decided.
    pub open: u64,
}

/// Judge of obligations.
pub(crate) struct Judge<'a> {
    /// The solver for obligations that terms do not decide, and its limit of processor time for one.
    pub(crate) solver: Option<(&'a mut Solver, Duration)>,
    pub(crate) decisions: Decisions,
    /// The searches bit by bit.
    search: Search,
    /// Number of searches bit by bit, which cost far more than terms and models.
    pub(crate) searches: u64,
    /// Decisions of searches and the solver that were no model, by their queries and limits: a place holds what another one does, and
    /// a path is followed again.
    decided: HashMap<(Term, u32), Decision>,
    /// Conjunctions of conditions, and whether they contradict one another: a path is followed again where a relation lost
    /// a fact.
    contradictions: HashMap<Term, bool>,
    /// Conditions with a negated goal, and whether parts of the goal showed that it holds.
    pub(crate) by_parts: HashMap<Term, bool>,
    /// The last models of conditions that searches found. A model of a path is often a model of its next branch, too.
    models: VecDeque<Model>,
}

/// Maximum number of conflicts of a search bit by bit for an obligation.
pub(crate) const MAX_CONFLICTS: u32 = 6000;
/// Maximum number of conflicts of a search about a value in a place, which may be in another one, and of a search for a
/// model.
pub(crate) const FEW_CONFLICTS: u32 = 2000;
/// Number of random models under which terms are compared before a solver is asked.
const MODELS: u64 = 24;
/// Number of models of conditions that are kept.
const KEPT_MODELS: usize = 8;
/// Number of models under which places are compared with values.
const SAMPLES: usize = 6;

impl<'a> Judge<'a> {
    /// Returns a judge that has decided nothing.
    pub(crate) fn new(solver: Option<(&'a mut Solver, Duration)>) -> Judge<'a> {
        Judge {
            solver,
            decisions: Decisions::default(),
            search: Search::default(),
            searches: 0,
            decided: HashMap::new(),
            contradictions: HashMap::new(),
            by_parts: HashMap::new(),
            models: VecDeque::new(),
        }
    }

    /// Returns `true` if normal forms make two terms equal, where the conditions of a [`simplifier`] hold.
    ///
    /// [`simplifier`]: crate::conditions::simplifier
    pub(crate) fn is_same_under(&mut self, terms: &mut Terms, under: &mut Substitution, a: Term, b: Term) -> bool {
        let is_same = a == b || under.apply(terms, a) == under.apply(terms, b);
        self.decisions.by_terms += u64::from(is_same);
        is_same
    }

    /// Decides whether two terms are equal wherever the conditions hold.
    pub(crate) fn equal(&mut self, terms: &mut Terms, under: &Conditions, a: Term, b: Term) -> Decision {
        match self.equal_within(terms, under, [a, b], MAX_CONFLICTS) {
            Decision::Unknown if terms.sort(a) == terms.sort(b) => {
                let equal = terms.eq(a, b);
                self.or_by_parts(terms, under, equal)
            }
            decision => decision,
        }
    }

    /// Decides whether two terms are equal wherever the conditions hold. A search ends after a number of conflicts.
    pub(crate) fn equal_within(
        &mut self,
        terms: &mut Terms,
        under: &Conditions,
        [a, b]: [Term; 2],
        conflicts: u32,
    ) -> Decision {
        if a == b {
            self.decisions.by_terms += 1;
            return Decision::Holds;
        }
        if terms.sort(a) != terms.sort(b) {
            return Decision::Unknown;
        }
        let equal = terms.eq(a, b);
        self.holds_within(terms, under, equal, conflicts)
    }

    /// Decides whether a condition holds wherever the others do.
    pub(crate) fn holds(&mut self, terms: &mut Terms, under: &Conditions, goal: Term) -> Decision {
        match self.holds_within(terms, under, goal, MAX_CONFLICTS) {
            Decision::Unknown => self.or_by_parts(terms, under, goal),
            decision => decision,
        }
    }

    /// Decides a condition by its parts, which neither a search nor the solver decided.
    fn or_by_parts(&mut self, terms: &mut Terms, under: &Conditions, goal: Term) -> Decision {
        if !self.holds_by_parts(terms, under, goal) {
            return Decision::Unknown;
        }
        self.decisions.open = self.decisions.open.saturating_sub(1);
        self.decisions.by_search += 1;
        Decision::Holds
    }

    /// Decides whether a condition holds wherever the others do. A search ends after a number of conflicts.
    pub(crate) fn holds_within(
        &mut self,
        terms: &mut Terms,
        under: &Conditions,
        goal: Term,
        conflicts: u32,
    ) -> Decision {
        let Some((query, not)) = self.open_query(terms, under, goal) else {
            self.decisions.by_terms += 1;
            return Decision::Holds;
        };
        if let Some(model) = random_model(terms, query) {
            return Decision::Fails(Box::new(model));
        }
        self.search(terms, under, not, conflicts)
    }

    /// Returns the conditions with the negated goal, and the negated goal, unless terms show that it holds.
    fn open_query(&self, terms: &mut Terms, under: &Conditions, goal: Term) -> Option<(Term, Term)> {
        if under.decide(terms, goal) == Some(true) {
            return None;
        }
        let goal = simplified(terms, under, goal);
        if under.decide(terms, goal) == Some(true) {
            return None;
        }
        let not = terms.not(goal);
        if under.exclude(terms, not) {
            return None;
        }
        let assumptions = terms.all(under.known.iter().copied());
        let query = terms.and(assumptions, not);
        if terms.value(query) == Some(Value::Bool(false)) {
            return None;
        }
        Some((query, not))
    }

    /// Searches for a model of conditions and a negated goal bit by bit, then with the solver.
    fn search(&mut self, terms: &mut Terms, under: &Conditions, not: Term, conflicts: u32) -> Decision {
        let reduced = under.reduced(terms);
        let assumptions = terms.all(reduced.known.iter().copied());
        let query = terms.and(assumptions, not);
        if let Some(decision) = self.decided.get(&(query, conflicts)) {
            return decision.clone();
        }
        let decision = self.search_anew(terms, query, conflicts);
        if !matches!(decision, Decision::Fails(_)) {
            self.decided.insert((query, conflicts), decision.clone());
        }
        decision
    }

    fn search_anew(&mut self, terms: &mut Terms, query: Term, conflicts: u32) -> Decision {
        self.searches += 1;
        match self.search.run(terms, query, conflicts) {
            Answer::Unsat => {
                self.decisions.by_search += 1;
                Decision::Holds
            }
            Answer::Sat(model) if is_model(terms, query, &model) => Decision::Fails(Box::new(model)),
            _ => self.ask(terms, query),
        }
    }

    /// Returns `true` if conditions are known to contradict one another.
    pub(crate) fn is_contradiction(&mut self, terms: &mut Terms, conditions: &Conditions) -> bool {
        let all = terms.all(conditions.known.iter().copied());
        if let Some(&answer) = self.contradictions.get(&all) {
            return answer;
        }
        let answer = self.find_contradiction(terms, conditions);
        self.contradictions.insert(all, answer);
        answer
    }

    fn find_contradiction(&mut self, terms: &mut Terms, conditions: &Conditions) -> bool {
        let no = terms.bool(false);
        let Some((query, not)) = self.open_query(terms, conditions, no) else {
            self.decisions.by_terms += 1;
            return true;
        };
        if self.models.iter().any(|model| is_model(terms, query, model)) || random_model(terms, query).is_some() {
            return false;
        }
        let decision = self.search(terms, conditions, not, MAX_CONFLICTS);
        if let Decision::Fails(model) = decision {
            self.models.truncate(KEPT_MODELS - 1);
            self.models.push_front(*model);
            return false;
        }
        decision == Decision::Holds
    }

    /// Returns the values of terms under a few random models of conditions. If none of a few is one of the conditions, a model
    /// of them is searched for, and the other variables are random. Without one, the models are any.
    pub(crate) fn samples(&mut self, terms: &mut Terms, roots: &[Term], conditions: &[Term]) -> Samples {
        let assumptions = terms.all(conditions.iter().copied());
        let all = [roots, &[assumptions]].concat();
        let mut random = Random::of(terms, &all);
        let mut evaluator = Evaluator::prepare(terms, &all);
        let places: Vec<usize> = roots.iter().map(|&root| evaluator.place(root)).collect();
        let (mut inside, mut others) = (Vec::new(), Vec::new());
        for round in 0..MODELS {
            evaluator.evaluate_by(|_, sort| random.value(sort, round));
            let models = if evaluator.value(assumptions).is_true() { &mut inside } else { &mut others };
            models.push(values(&evaluator, &places));
            if inside.len() == SAMPLES {
                break;
            }
        }
        if inside.is_empty()
            && let Answer::Sat(model) = self.search.run(terms, assumptions, FEW_CONFLICTS)
        {
            for round in 0..SAMPLES as u64 {
                evaluator.evaluate_by(|name, sort| model.get(name).unwrap_or_else(|| random.value(sort, round)));
                if evaluator.value(assumptions).is_true() {
                    inside.push(values(&evaluator, &places));
                }
            }
        }
        let are_inside = !inside.is_empty();
        let models = if are_inside { inside } else { others };
        Samples { evaluator, places, models, are_inside }
    }

    /// Finds a model of a query with the solver.
    fn ask(&mut self, terms: &mut Terms, query: Term) -> Decision {
        let Some((solver, limit)) = &mut self.solver else {
            self.decisions.open += 1;
            return Decision::Unknown;
        };
        match solver.check(terms, &Query::new(query), *limit) {
            Ok(Answer::Unsat) => {
                self.decisions.by_solver += 1;
                Decision::Holds
            }
            Ok(Answer::Sat(model)) => match is_model(terms, query, &model) {
                true => Decision::Fails(Box::new(model)),
                false => Decision::Unknown,
            },
            Ok(Answer::Unknown) | Err(_) => {
                self.decisions.open += 1;
                Decision::Unknown
            }
        }
    }
}

/// Returns `true` if a query holds under a model that was found elsewhere.
fn is_model(terms: &Terms, query: Term, model: &Model) -> bool {
    let evaluator = Evaluator::new(terms, &[query], model);
    evaluator.value(query).is_true() && !has_nan(&evaluator, &float_operations(terms, query))
}

/// Returns the operations on floats below a term.
fn float_operations(terms: &Terms, root: Term) -> Vec<(FloatOp, Term)> {
    let operation = |term| match terms.node(term) {
        Node::Unary(Op::Float(op), _) | Node::Binary(Op::Float(op), ..) | Node::Ternary(Op::Float(op), ..) => {
            Some((op, term))
        }
        _ => None,
    };
    terms.cone(&[root]).into_iter().filter_map(operation).collect()
}

/// Returns `true` if an operation returns a NaN. Evaluation chooses one, and the processor may choose another, so that
/// the model shows nothing about it.
fn has_nan(evaluator: &Evaluator, operations: &[(FloatOp, Term)]) -> bool {
    operations.iter().any(|&(op, term)| evaluator.value(term).bits().is_some_and(|bits| op.is_nan(bits)))
}

/// Random models of terms: random numbers in most rounds, and small or extreme ones in some.
struct Random {
    variables: Vec<Term>,
    state: u64,
}

impl Random {
    fn of(terms: &Terms, roots: &[Term]) -> Random {
        Random { variables: terms.variables_of(roots), state: 0x9e37_79b9_7f4a_7c15 }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// Returns the value of the next variable.
    fn value(&mut self, sort: Sort, round: u64) -> Value {
        let bits = self.next();
        match sort {
            Sort::Bool => Value::Bool(bits & 1 == 1),
            Sort::Bits(width) => Value::Bits(corner(width, round, bits, self.next())),
        }
    }

    /// Returns the model of a round, which begins in a state.
    fn model(&self, terms: &Terms, state: u64, round: u64) -> Model {
        let (mut model, mut random) = (Model::default(), Random { variables: Vec::new(), state });
        for &variable in &self.variables {
            let value = random.value(terms.sort(variable), round);
            model.set(terms.name(variable).unwrap_or_default(), value);
        }
        model
    }
}

/// Returns a random model of a boolean term, if one of a few is one.
fn random_model(terms: &Terms, query: Term) -> Option<Model> {
    let mut random = Random::of(terms, &[query]);
    let mut evaluator = Evaluator::prepare(terms, &[query]);
    let operations = float_operations(terms, query);
    (0..MODELS).find_map(|round| {
        let state = random.state;
        evaluator.evaluate_by(|_, sort| random.value(sort, round));
        let is_model = evaluator.value(query).is_true() && !has_nan(&evaluator, &operations);
        is_model.then(|| random.model(terms, state, round))
    })
}

/// Values of terms under a few models.
pub(crate) struct Samples {
    evaluator: Evaluator,
    /// Places of the terms in the evaluator.
    places: Vec<usize>,
    /// The values of each model, in the order of the terms.
    pub(crate) models: Vec<Vec<Value>>,
    /// Whether the conditions hold for all models.
    pub(crate) are_inside: bool,
}

impl Samples {
    /// Adds the values under another model of the conditions. It tells terms apart that all models before made equal.
    pub(crate) fn add(&mut self, model: &Model) {
        self.evaluator.evaluate(model);
        self.models.push(values(&self.evaluator, &self.places));
    }
}

/// Returns the values of the terms in these places under the last model.
fn values(evaluator: &Evaluator, places: &[usize]) -> Vec<Value> {
    places.iter().map(|&place| evaluator.at(place)).collect()
}

/// Returns a number that is random in most rounds, and small or extreme in some.
fn corner(width: u32, round: u64, choice: u64, bits: u64) -> Bits {
    let all = Bits::new(width, u128::from(bits) << 64 | u128::from(bits.rotate_left(17)));
    match (round % 4, choice >> 60) {
        (0, _) => Bits::new(width, u128::from(bits >> 61)),
        (1, 0..=3) => Bits::new(width, 0),
        (1, 4..=7) => Bits::ones(width),
        (1, 8..=11) => Bits::sign_bit(width),
        (2, _) => Bits::new(width, u128::from(bits >> 48)),
        _ => all,
    }
}
