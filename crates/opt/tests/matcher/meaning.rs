//! Checks that replacements by rules have the value of the replaced instruction, by the meanings of opcodes.

use super::graph::{Application, GraphStep, TestGraph};
use super::random::Random;
use cranelift_entity::EntityRef;
use kingpost_ir::{InstData, Opcode, Type, Value as IrValue};
use kingpost_opt::rewrite::{Effect, Graph};
use kingpost_semantics::{Immediate, Operand, Operation, outcome, stored};
use kingpost_smt::{Bits, Evaluator, Model, Sort, Term, Terms, Value};

/// Number of operands that are tried for each application.
const TRIES: usize = 6;

/// Checks the applications of the last step.
pub(crate) fn check(random: &mut Random, graph: &TestGraph, step: &GraphStep) {
    if let (GraphStep::Effect(before, has_one_destination), Some(effect)) = (step, graph.effect) {
        check_effect(random, graph, before, *has_one_destination, effect);
    }
    // The application that made an effect has no value.
    let made = graph.applied[graph.unchecked..].iter().filter(|application| application.made.is_some());
    for application in made {
        check_one(random, graph, application);
    }
}

/// Checks that a value equals the value of a request, unless the request traps.
pub(crate) fn check_request(random: &mut Random, graph: &TestGraph, request: &InstData, made: IrValue) {
    let mut terms = Terms::raw();
    let mut meanings = Meanings::new(graph, &mut terms);
    let (Some((before, trap)), Some(made)) = (meanings.inst(request), meanings.value(made)) else { return };
    let params = meanings.params();
    compare(random, &terms, &params, [before, made, trap], |before, made| {
        assert!(before == made, "{request:?}: {before:?} became {made:?}\n{graph:?}");
    });
}

/// Checks that an effect equals the effect of the instruction: an equal trap, an equal edge, or equal bits at an
/// equal address.
fn check_effect(random: &mut Random, graph: &TestGraph, before: &InstData, has_one_destination: bool, effect: Effect) {
    let mut terms = Terms::raw();
    let mut meanings = Meanings::new(graph, &mut terms);
    let zero = meanings.terms.number(8, 0);
    let edges = [0, u128::from(!has_one_destination)];
    let sides = match effect {
        Effect::Branch(value, order) => {
            meanings.edge(before.args()[0], edges).zip(meanings.edge(value, order.map(|edge| edges[edge])))
        }
        Effect::Jump(edge) => {
            let taken = meanings.terms.number(8, edges[edge]);
            meanings.edge(before.args()[0], edges).map(|before| (before, taken))
        }
        Effect::Nothing => meanings.trap(before).map(|before| (before, zero)),
        Effect::Inst(after) if before.trap_code().is_some() => meanings.trap(before).zip(meanings.trap(&after)),
        Effect::Inst(after) => meanings.access(before).zip(meanings.access(&after)),
    };
    let Some((before_term, after_term)) = sides else { return };
    let params = meanings.params();
    compare(random, &terms, &params, [before_term, after_term, zero], |a, b| {
        assert!(a == b, "{before:?} became {effect:?}\n{graph:?}");
    });
}

fn check_one(random: &mut Random, graph: &TestGraph, application: &Application) {
    let made = application.made.expect("the application made something");
    if let Some(request) = application.request {
        return check_request(random, graph, &request, made);
    }
    let mut terms = Terms::raw();
    let mut meanings = Meanings::new(graph, &mut terms);
    let before = meanings.value(application.condition.expect("a value"));
    let (Some(before), Some(made)) = (before, meanings.value(made)) else { return };
    let zero = meanings.terms.number(8, 0);
    let params = meanings.params();
    compare(random, &terms, &params, [before, made, zero], |before, made| {
        assert!(before.is_zero() == made.is_zero(), "{application:?}: {before:?} became {made:?}\n{graph:?}");
    });
}

/// Evaluates two terms on random operands, and judges the results unless there is a trap.
fn compare(
    random: &mut Random,
    terms: &Terms,
    params: &[(Term, Type)],
    [before, made, trap]: [Term; 3],
    judge: impl Fn(Bits, Bits),
) {
    let (mut evaluator, mut model) = (Evaluator::prepare(terms, &[before, made, trap]), Model::default());
    for _ in 0..TRIES {
        for &(param, ty) in params {
            let any = u128::from(random.next()) << 64 | u128::from(random.next());
            let bits = match random.next() % 4 {
                0 => any % 3,
                1 => !(any % 3),
                2 => 1 << (any % u128::from(ty.bits())),
                _ => any,
            };
            model.set(terms.name(param).unwrap_or_default(), Value::Bits(Bits::new(ty.bits(), bits)));
        }
        evaluator.evaluate(&model);
        let bits = |term: Term| evaluator.value(term).bits().expect("bits");
        if bits(trap).is_zero() {
            judge(bits(before), bits(made));
        }
    }
}

struct Meanings<'a> {
    graph: &'a TestGraph,
    terms: &'a mut Terms,
    values: Vec<Option<Term>>,
}

impl<'a> Meanings<'a> {
    fn new(graph: &'a TestGraph, terms: &'a mut Terms) -> Meanings<'a> {
        Meanings { graph, terms, values: vec![None; graph.values.len()] }
    }

    /// Returns the term of a value. `None` if a part of it has no meaning: floats of 128 bits or in lanes.
    fn value(&mut self, value: IrValue) -> Option<Term> {
        if let Some(term) = self.values[value.index()] {
            return Some(term);
        }
        let ty = self.graph.ty(value);
        let term = match self.graph.values[value.index()].0 {
            Some(inst) => self.inst(&inst)?.0,
            None => self.terms.var(&format!("v{}", value.index()), Sort::Bits(ty.bits())),
        };
        self.values[value.index()] = Some(term);
        Some(term)
    }

    /// Returns the value of an instruction, and its trap.
    fn inst(&mut self, inst: &InstData) -> Option<(Term, Term)> {
        if inst.opcode() == Opcode::Iconst {
            let bits = inst.iconst_bits().unwrap_or(0);
            let zero = self.terms.number(8, 0);
            return Some((self.terms.number(inst.controlling_type().bits(), bits.into()), zero));
        }
        let operands: Option<Vec<Operand>> =
            inst.args().iter().map(|&arg| Some(Operand { ty: self.graph.ty(arg), bits: self.value(arg)? })).collect();
        let immediate = match (inst.int_cond(), inst.float_cond()) {
            (Some(condition), _) => Immediate::Condition(condition),
            (_, Some(condition)) => Immediate::FloatCondition(condition),
            _ => Immediate::None,
        };
        let operation = Operation { opcode: inst.opcode(), ty: inst.controlling_type(), immediate };
        let outcome = outcome(self.terms, &operation, &operands?)?;
        Some((outcome.results[0], outcome.trap))
    }

    /// Returns the edge that a branch on a value takes: the first if the value is not zero.
    fn edge(&mut self, condition: IrValue, [then, otherwise]: [u128; 2]) -> Option<Term> {
        let condition = self.value(condition)?;
        let zero = self.terms.number(self.terms.width(condition), 0);
        let is_zero = self.terms.eq(condition, zero);
        let (then, otherwise) = (self.terms.number(8, then), self.terms.number(8, otherwise));
        Some(self.terms.ite(is_zero, otherwise, then))
    }

    /// Returns a term that is one if the trap occurs, and zero otherwise.
    fn trap(&mut self, inst: &InstData) -> Option<Term> {
        match (inst.opcode(), inst.args()) {
            (Opcode::Trapz, &[x]) => self.edge(x, [0, 1]),
            (Opcode::Trapnz, &[x]) => self.edge(x, [1, 0]),
            _ => Some(self.terms.number(8, 1)),
        }
    }

    /// Returns the address of an access, combined with the bytes that a store leaves there, or with how a load
    /// extends them.
    fn access(&mut self, inst: &InstData) -> Option<Term> {
        let &address = inst.args().last()?;
        let base = self.value(address)?;
        let offset = Bits::new(self.terms.width(base), i128::from(inst.offset()) as u128);
        let offset = self.terms.constant(offset);
        let place = self.terms.add(base, offset);
        let moved = match *inst.args() {
            [x, _] => {
                let (ty, bits) = (self.graph.ty(x), self.value(x)?);
                let low = stored(self.terms, inst.opcode(), Operand { ty, bits })?;
                if self.terms.width(low) > 64 {
                    return Some(place);
                }
                self.terms.zero_extend(low, 64)
            }
            _ => self.terms.number(64, inst.opcode() as u128),
        };
        let place = self.terms.zero_extend(place, 64);
        Some(self.terms.concat(place, moved))
    }

    fn params(&self) -> Vec<(Term, Type)> {
        let is_param = |index: &usize| self.graph.values[*index].0.is_none();
        let params = (0..self.values.len()).filter(is_param);
        params.filter_map(|index| Some((self.values[index]?, self.graph.values[index].1))).collect()
    }
}
