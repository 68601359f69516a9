//! Counterexamples of rules on CLIF, run: each side becomes a function of the rule's values.

use crate::clif::{Conditions, Sides};
use kingpost_interpreter::{DataValue, Environment, Interpreter};
use kingpost_ir::opcodes::Suffix;
use kingpost_ir::{Opcode, Type};
use kingpost_rules::clif::{ClifRule, ClifTyping, Node, NodeKind};
use kingpost_smt::{Bits, Evaluator, Model, Term, Terms};
use std::collections::HashMap;
use std::fmt::Write;

/// What running both sides comes to.
pub(crate) struct Replayed {
    /// Name, type and value of values and constants.
    pub(crate) inputs: Vec<(String, String, Bits)>,
    /// What each side returns, or how it stops.
    pub(crate) replies: [String; 2],
    /// The sides differ, as the model says.
    pub(crate) agrees: bool,
}

/// Evaluates a model and runs both sides on its values.
pub(crate) fn replay(
    terms: &Terms,
    rule: &ClifRule,
    typing: &ClifTyping,
    conditions: &Conditions<'_>,
    sides: &Sides,
    model: &Model,
) -> Replayed {
    let Sides { assumed, inputs, constants, .. } = sides;
    let roots: Vec<Term> =
        [*assumed].into_iter().chain(inputs.iter().map(|input| input.2)).chain(constants.values().copied()).collect();
    let evaluator = Evaluator::new(terms, &roots, model);
    let bits = |term: Term| evaluator.value(term).bits().unwrap_or(Bits::new(1, 0));
    let constants: HashMap<u32, u128> = constants.iter().map(|(&node, &term)| (node, bits(term).unsigned())).collect();
    let shown: Vec<(String, String, Bits)> =
        inputs.iter().map(|(name, ty, term)| (name.clone(), ty.to_string(), bits(*term))).collect();
    let is_value = |name: &str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let values: Vec<(&str, DataValue)> = inputs
        .iter()
        .filter(|(name, ..)| is_value(name))
        .map(|(name, ty, term)| (name.as_str(), DataValue::new(*ty, bits(*term).unsigned())))
        .collect();
    let side = |root: &Node| {
        let mut text =
            Text { typing, conditions, constants: &constants, values: &values, lines: String::new(), next: 0 };
        text.run(root, rule.is_condition)
    };
    let replies = [side(&rule.source), side(&rule.target)];
    let agrees = evaluator.value(*assumed).is_true() && replies[0] != replies[1];
    Replayed { inputs: shown, replies, agrees }
}

/// The text of a function under construction.
struct Text<'a> {
    typing: &'a ClifTyping,
    conditions: &'a Conditions<'a>,
    constants: &'a HashMap<u32, u128>,
    values: &'a [(&'a str, DataValue)],
    lines: String,
    next: usize,
}

impl Text<'_> {
    /// Runs a side and describes what it comes to.
    fn run(&mut self, root: &Node, is_condition: bool) -> String {
        self.next = self.values.len();
        let mut ty = self.typing.of(root);
        let mut result = self.node(root);
        if is_condition {
            let zero = self.constant(ty, 0);
            result = self.define(&format!("icmp ne {result}, {zero}"));
            ty = kingpost_ir::types::I8;
        }
        let params: Vec<String> =
            (0..).zip(self.values).map(|(i, (_, value))| format!("v{i}: {}", value.ty())).collect();
        let types: Vec<String> = self.values.iter().map(|(_, value)| value.ty().to_string()).collect();
        let text = format!(
            "function %f({}) -> {ty} {{\nblock0({}):\n{}    return {result}\n}}\n",
            types.join(", "),
            params.join(", "),
            self.lines
        );
        let functions = match kingpost_reader::parse_functions(text.as_bytes()) {
            Ok(functions) => functions,
            Err(error) => return format!("{error} in\n{text}"),
        };
        let environment = Environment::new(&functions);
        let arguments: Vec<DataValue> = self.values.iter().map(|(_, value)| *value).collect();
        match Interpreter::new(&environment).call("f", &arguments) {
            Ok(results) => results.first().map(DataValue::to_string).unwrap_or_default(),
            Err(stop) => stop.to_string(),
        }
    }

    fn define(&mut self, inst: &str) -> String {
        let name = format!("v{}", self.next);
        self.next += 1;
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "    {name} = {inst}");
        name
    }

    /// The name of a node's value.
    fn node(&mut self, node: &Node) -> String {
        match &node.kind {
            NodeKind::Value(name) => {
                let index = self.values.iter().position(|(known, _)| known == name);
                format!("v{}", index.unwrap_or(0))
            }
            NodeKind::Constant(_) => {
                self.constant(self.typing.of(node), self.constants.get(&node.id).copied().unwrap_or(0))
            }
            NodeKind::Inst { opcode, condition, operands } => {
                let names: Vec<String> = operands.iter().map(|operand| self.node(operand)).collect();
                let chosen =
                    condition.as_ref().and_then(|name| name.resolve(|name| self.conditions.get(name).copied()));
                let condition = chosen.map_or(String::new(), |condition| format!("{condition} "));
                let suffix = match opcode.info().suffix {
                    Suffix::Required => format!(".{}", self.typing.control(node)),
                    _ => String::new(),
                };
                self.define(&format!("{}{suffix} {condition}{}", Opcode::name(*opcode), names.join(", ")))
            }
        }
    }

    fn constant(&mut self, ty: Type, bits: u128) -> String {
        if ty.is_vector() {
            let lane = self.constant(ty.lane_type(), bits & ty.lane_mask());
            return self.define(&format!("splat.{ty} {lane}"));
        }
        if ty.bits() == 128 {
            let low = self.define(&format!("iconst.i64 {}", bits as i64));
            let high = self.define(&format!("iconst.i64 {}", (bits >> 64) as i64));
            return self.define(&format!("iconcat {low}, {high}"));
        }
        self.define(&format!("iconst.{ty} {bits:#x}"))
    }
}
