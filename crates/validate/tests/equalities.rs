//! The equalities that normal forms decide in proofs of a sample: z3 and cvc5 each prove them again, from terms that nothing
//! simplifies.
//!
//! A normal form is the result of an operation on operands that have normal forms already. So each equality is of one
//! operation and its result. Terms deep below both become variables, as long as the equality holds for all their values: then
//! it is one with the equalities of other places, and is proved once.

use crate::compiled::{TARGETS, compiler};
use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_smt::{Answer, Backend, Node, Op, Query, Solver, Sort, Term, Terms};
use kingpost_validate::{Verdict, prove_with_terms};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

const SAMPLES: [&str; 3] = [include_str!("functions.clif"), include_str!("floats.clif"), include_str!("vectors.clif")];

/// Limit of a solver's processor time for one equality.
const LIMIT: Duration = Duration::from_secs(2);
/// Numbers of operations from the top below which terms become variables, one after the other.
const DEPTHS: [u32; 4] = [2, 4, 8, u32::MAX];
/// One of how many functions is taken, unless all are.
const EVERY: usize = 30;

/// Copy of terms to an arena that does not simplify.
struct Copier<'a> {
    from: &'a Terms,
    to: Terms,
    variables: HashMap<Term, Term>,
    copies: HashMap<(Term, u32), Term>,
}

impl Copier<'_> {
    fn term(&mut self, term: Term, depth: u32) -> Term {
        if let Some(&copy) = self.copies.get(&(term, depth)) {
            return copy;
        }
        let node = self.from.node(term);
        let copy = match node {
            Node::Const(value) => self.to.constant_of(value),
            _ if depth == 0 || matches!(node, Node::Var(_)) => self.variable(term),
            _ => self.operation(node, self.from.sort(term), depth),
        };
        self.copies.insert((term, depth), copy);
        copy
    }

    fn variable(&mut self, term: Term) -> Term {
        let (name, sort) = (format!("x{}", self.variables.len()), self.from.sort(term));
        let to = &mut self.to;
        *self.variables.entry(term).or_insert_with(|| to.var(&name, sort))
    }

    fn operation(&mut self, node: Node, sort: Sort, depth: u32) -> Term {
        let below = depth - 1;
        match node {
            Node::Const(_) | Node::Var(_) => unreachable!("operations have operands"),
            Node::Unary(op, a) => {
                let a = self.term(a, below);
                self.to.unary(op, a, sort)
            }
            Node::Binary(op, a, b) => {
                let [a, b] = [a, b].map(|operand| self.term(operand, below));
                self.to.binary(op, a, b)
            }
            Node::Ternary(op, a, b, c) => {
                let [a, b, c] = [a, b, c].map(|operand| self.term(operand, below));
                self.to.ternary(op, a, b, c)
            }
        }
    }
}

/// Returns an arena and the query for a model in which an operation differs from its result.
fn query(from: &Terms, (node, sort, result): (Node, Sort, Term), depth: u32) -> (Terms, Query) {
    let mut copier = Copier { from, to: Terms::raw(), variables: HashMap::new(), copies: HashMap::new() };
    let operation = copier.operation(node, sort, depth);
    let result = copier.term(result, depth);
    let mut to = copier.to;
    let equal = to.eq(operation, result);
    let differ = to.not(equal);
    (to, Query::new(differ))
}

fn has_float(terms: &Terms, (node, _, result): (Node, Sort, Term)) -> bool {
    let is_float = |node| {
        matches!(node, Node::Unary(Op::Float(_), _) | Node::Binary(Op::Float(_), ..) | Node::Ternary(Op::Float(_), ..))
    };
    let mut roots: Vec<Term> = node.operands().collect();
    roots.push(result);
    is_float(node) || terms.cone(&roots).into_iter().any(|term| is_float(terms.node(term)))
}

/// The solvers, and their answers by the text of the queries.
struct Judge {
    solvers: [Solver; 2],
    /// Whether both proved the equality.
    known: HashMap<String, bool>,
    counts: BTreeMap<&'static str, u32>,
}

impl Judge {
    /// Requires both solvers to prove an equality, unless one does not answer within the limit.
    fn judge(&mut self, terms: &Terms, equality: (Node, Sort, Term)) {
        for depth in DEPTHS {
            let (arena, query) = query(terms, equality, depth);
            let text = query.script(&arena);
            let is_proved = match self.known.get(&text) {
                Some(&is_proved) => is_proved,
                None => {
                    let answers = self.solvers.each_mut().map(|solver| solver.check(&arena, &query, LIMIT).unwrap());
                    let is_proved = answers.iter().all(|answer| *answer == Answer::Unsat);
                    let is_refuted = answers.iter().any(|answer| matches!(answer, Answer::Sat(_)));
                    assert!(depth != u32::MAX || !is_refuted, "a normal form has another value: {answers:?}\n{text}");
                    if is_proved {
                        *self.counts.entry("proved").or_default() += 1;
                    } else if depth == u32::MAX {
                        println!("undecided: {answers:?}\n{text}");
                        *self.counts.entry("undecided").or_default() += 1;
                    }
                    self.known.insert(text, is_proved);
                    is_proved
                }
            };
            if is_proved {
                return;
            }
        }
    }
}

#[test]
fn solvers_prove_the_normal_forms_of_a_sample() {
    let backends = [Backend::Z3, Backend::Cvc5];
    if !backends.into_iter().all(Backend::is_installed) {
        return eprintln!("SKIPPED: solvers_prove_the_normal_forms_of_a_sample: z3 and cvc5 are not installed");
    }
    let every = if std::env::var_os("KINGPOST_EVERY").is_some() { 1 } else { EVERY };
    let mut judge = Judge { solvers: backends.map(Solver::new), known: HashMap::new(), counts: BTreeMap::new() };
    let mut used = 0;
    for (target, first) in TARGETS.into_iter().zip(0..) {
        let compiler = compiler(target, "ssa");
        let mut cx = compiler.context();
        let functions = SAMPLES.iter().flat_map(|text| kingpost_reader::parse_functions(text).unwrap());
        for mut func in functions.skip(first).step_by(every) {
            let mut module = ModuleBuffer::default();
            if compiler.compile(&mut cx, &mut func, &mut module).is_err() {
                continue;
            }
            let view = module.function(0);
            let (report, terms) = prove_with_terms(&func, &compiler.code_to_prove(&cx, &func, &view));
            if report.verdict != Verdict::Proved {
                continue;
            }
            // In the order of their numbers: hashes order the results otherwise.
            let mut equalities: Vec<(Node, Sort, Term)> = terms.kept_results().collect();
            equalities.retain(|&equality| !has_float(&terms, equality));
            equalities.sort_by_key(|&(node, _, result)| (result, format!("{node:?}")));
            used += equalities.len();
            equalities.into_iter().for_each(|equality| judge.judge(&terms, equality));
        }
    }
    println!("{used} equalities, distinct: {:?}", judge.counts);
    let count = |name| judge.counts.get(name).copied().unwrap_or(0);
    assert!(count("proved") > 100 && 100 * count("undecided") <= count("proved"), "{:?}", judge.counts);
}
