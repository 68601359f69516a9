//! What a rule made has the value of what it was applied to, by the meanings of opcodes.

use crate::graph::{Application, TestGraph};
use crate::random::Random;
use cranelift_entity::EntityRef;
use kingpost_ir::{InstData, Opcode, Type, Value as IrValue};
use kingpost_opt::rewrite::Graph;
use kingpost_semantics::{Immediate, Operand, Operation, outcome};
use kingpost_smt::{Bits, Evaluator, Model, Sort, Term, Terms, Value};

/// Operands that are tried for each application.
const TRIES: usize = 6;

/// Checks the applications of the last step.
pub(crate) fn check(random: &mut Random, graph: &TestGraph) {
    for application in &graph.applied[graph.unchecked..] {
        check_one(random, graph, application);
    }
}

fn check_one(random: &mut Random, graph: &TestGraph, application: &Application) {
    let mut terms = Terms::raw();
    let mut meanings = Meanings { graph, terms: &mut terms, values: vec![None; graph.values.len()] };
    let made = application.made.expect("the application made something");
    let made = meanings.value(made);
    let (before, trap) = match (application.request, application.condition) {
        (Some(request), _) => meanings.inst(&request),
        (_, Some(value)) => {
            let before = meanings.value(value);
            let zero = meanings.terms.number(8, 0);
            (before, zero)
        }
        _ => panic!("{application:?}"),
    };
    let params: Vec<(Term, Type)> = meanings.params();
    for _ in 0..TRIES {
        let mut model = Model::default();
        for &(param, ty) in &params {
            let any = u128::from(random.next()) << 64 | u128::from(random.next());
            let bits = match random.next() % 4 {
                0 => any % 3,
                1 => !(any % 3),
                2 => 1 << (any % u128::from(ty.bits())),
                _ => any,
            };
            model.set(terms.name(param).unwrap_or_default(), Value::Bits(Bits::new(ty.bits(), bits)));
        }
        let evaluator = Evaluator::new(&terms, &[before, made, trap], &model);
        let bits = |term: Term| evaluator.value(term).bits().expect("bits");
        if !bits(trap).is_zero() {
            continue;
        }
        let (before, made) = (bits(before), bits(made));
        let same = match application.condition {
            Some(_) => before.is_zero() == made.is_zero(),
            None => before == made,
        };
        assert!(same, "{}: {before:?} became {made:?}\n{graph:?}", application.rule.name());
    }
}

struct Meanings<'a> {
    graph: &'a TestGraph,
    terms: &'a mut Terms,
    values: Vec<Option<Term>>,
}

impl Meanings<'_> {
    fn value(&mut self, value: IrValue) -> Term {
        if let Some(term) = self.values[value.index()] {
            return term;
        }
        let ty = self.graph.ty(value);
        let term = match self.graph.values[value.index()].0 {
            Some(inst) => self.inst(&inst).0,
            None => self.terms.var(&format!("v{}", value.index()), Sort::Bits(ty.bits())),
        };
        self.values[value.index()] = Some(term);
        term
    }

    /// The value of an instruction, and its trap.
    fn inst(&mut self, inst: &InstData) -> (Term, Term) {
        if inst.opcode() == Opcode::Iconst {
            let bits = inst.iconst_bits().unwrap_or(0);
            let zero = self.terms.number(8, 0);
            return (self.terms.number(inst.controlling_type().bits(), bits.into()), zero);
        }
        let operands: Vec<Operand> =
            inst.args().iter().map(|&arg| Operand { ty: self.graph.ty(arg), bits: self.value(arg) }).collect();
        let immediate = inst.int_cond().map_or(Immediate::None, Immediate::Condition);
        let operation = Operation { opcode: inst.opcode(), ty: inst.controlling_type(), immediate };
        let outcome = outcome(self.terms, &operation, &operands).expect("a meaning");
        (outcome.results[0], outcome.trap)
    }

    fn params(&self) -> Vec<(Term, Type)> {
        let is_param = |index: &usize| self.graph.values[*index].0.is_none();
        let params = (0..self.values.len()).filter(is_param);
        params.filter_map(|index| Some((self.values[index]?, self.graph.values[index].1))).collect()
    }
}
