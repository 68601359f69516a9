//! Hash-consed graph of pure instructions, simplified by rules only.

use super::table::Table;
use cranelift_entity::EntityRef;
use kingpost_ir::type_class::Allowed;
use kingpost_ir::{InstData, Opcode, Type, Value};
use kingpost_opt::rewrite::{self, Effect, Graph, Rule};
use std::collections::HashMap;
use std::sync::Arc;

/// Implementation that applies the rules.
#[derive(Clone)]
pub(crate) enum Matcher {
    Generated,
    Table(Arc<Table>),
}

/// Step that extends or simplifies a graph.
#[derive(Clone, Debug)]
pub(crate) enum GraphStep {
    /// An operand of a type.
    Param(Type),
    /// An instruction that is kept unchanged.
    Keep(InstData),
    /// An instruction that rules may simplify.
    Make(InstData),
    /// A value that matters only as zero or nonzero.
    Condition(Value),
    /// An instruction that is executed for its effect, and whether its edges lead to one destination.
    Effect(InstData, bool),
}

/// Applied rule, the request or condition that it was applied to, and the value that it made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Application {
    pub(crate) rule: Rule,
    pub(crate) request: Option<InstData>,
    pub(crate) condition: Option<Value>,
    pub(crate) made: Option<Value>,
}

#[derive(Clone)]
pub(crate) struct TestGraph {
    matcher: Matcher,
    pub(crate) values: Vec<(Option<InstData>, Type)>,
    numbers: HashMap<InstData, Value>,
    pub(crate) applied: Vec<Application>,
    subjects: Vec<(Option<InstData>, Option<Value>)>,
    has_one_destination: bool,
    /// The effect that rules made of the last such instruction.
    pub(crate) effect: Option<Effect>,
    /// Index of the first application that is not checked yet.
    pub(crate) unchecked: usize,
}

impl std::fmt::Debug for TestGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (inst, ty)) in self.values.iter().enumerate() {
            match inst {
                Some(inst) => writeln!(
                    f,
                    "v{index}: {ty} = {}.{} {:?} {} {:?}",
                    inst.opcode(),
                    inst.controlling_type(),
                    inst.args(),
                    inst.small(),
                    inst.iconst_bits()
                )?,
                None => writeln!(f, "v{index}: {ty}")?,
            }
        }
        writeln!(f, "{:?}", self.applied)
    }
}

impl TestGraph {
    pub(crate) fn new(matcher: Matcher) -> TestGraph {
        let (values, numbers, applied, subjects) = Default::default();
        TestGraph {
            matcher,
            values,
            numbers,
            applied,
            subjects,
            has_one_destination: false,
            effect: None,
            unchecked: 0,
        }
    }

    /// Returns `true` if the optimizer tries the rules on a request.
    fn may_match(&self, request: &InstData) -> bool {
        rewrite::may_match(request, |value| self.definition(value), |value| self.ty(value))
    }

    pub(crate) fn run(&mut self, step: &GraphStep) -> Value {
        self.unchecked = self.applied.len();
        match *step {
            GraphStep::Param(ty) => self.push(None, ty),
            GraphStep::Keep(inst) => self.number(inst),
            GraphStep::Make(inst) => self.make(inst),
            GraphStep::Effect(inst, has_one_destination) => {
                self.has_one_destination = has_one_destination;
                self.effect = match self.matcher.clone() {
                    Matcher::Generated => rewrite::replace_effect(self, &inst),
                    Matcher::Table(table) => table.replace_effect(self, &inst),
                };
                assert!(
                    self.effect.is_none() || self.may_match(&inst),
                    "the optimiser would not try the rules on {inst:?}"
                );
                Value::new(0)
            }
            GraphStep::Condition(value) => {
                self.subjects.push((None, Some(value)));
                let made = match self.matcher.clone() {
                    Matcher::Generated => rewrite::simplify_condition(self, value),
                    Matcher::Table(table) => table.simplify_condition(self, value),
                };
                self.finish(made);
                made.unwrap_or(value)
            }
        }
    }

    fn push(&mut self, inst: Option<InstData>, ty: Type) -> Value {
        self.values.push((inst, ty));
        Value::new(self.values.len() - 1)
    }

    fn number(&mut self, inst: InstData) -> Value {
        if let Some(&value) = self.numbers.get(&inst) {
            return value;
        }
        let value = self.push(Some(inst), result_type(&inst));
        self.numbers.insert(inst, value);
        value
    }

    /// Records the value that the last tried rule has made.
    fn finish(&mut self, made: Option<Value>) {
        let subject = self.subjects.pop();
        let open = self.applied.iter_mut().rev().find(|application| application.made.is_none());
        if let (Some(made), Some(application), Some((request, condition))) = (made, open, subject) {
            (application.made, application.request, application.condition) = (Some(made), request, condition);
        }
    }
}

/// Returns the type of the only result.
pub(crate) fn result_type(inst: &InstData) -> Type {
    match inst.opcode().info().results[0].resolve(inst.controlling_type()) {
        Allowed::Exactly(ty) => ty,
        other => panic!("{inst:?}: {other:?}"),
    }
}

impl Graph for TestGraph {
    fn definition(&self, value: Value) -> Option<&InstData> {
        self.values[value.index()].0.as_ref()
    }

    fn ty(&self, value: Value) -> Type {
        self.values[value.index()].1
    }

    fn constant(&self, value: Value) -> Option<u64> {
        self.definition(value)?.iconst_bits()
    }

    fn make(&mut self, mut request: InstData) -> Value {
        let is_constant = |value: &Value| self.definition(*value).is_some_and(|inst| inst.opcode() == Opcode::Iconst);
        if request.opcode().is_commutative() && is_constant(&request.args()[0]) {
            request.args_mut().swap(0, 1);
        }
        self.subjects.push((Some(request), None));
        let made = match self.matcher.clone() {
            Matcher::Generated => rewrite::rewrite(self, &request),
            Matcher::Table(table) => table.rewrite(self, &request).or_else(|| rewrite::expand_division(self, &request)),
        };
        assert!(made.is_none() || self.may_match(&request), "the optimiser would not try the rules on {request:?}");
        self.finish(made);
        made.unwrap_or_else(|| self.number(request))
    }

    fn iconst(&mut self, ty: Type, bits: u64) -> Value {
        self.number(InstData::iconst(ty, bits as i64))
    }

    fn has_one_destination(&self, _: &InstData) -> bool {
        self.has_one_destination
    }

    fn may_apply(&mut self, rule: Rule) -> bool {
        self.applied.push(Application { rule, request: None, condition: None, made: None });
        true
    }
}
