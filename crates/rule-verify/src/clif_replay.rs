//! Execution of counterexamples of rules on CLIF: each side becomes a function of the rule's values. A branch
//! returns the number of the edge that it takes. An access to memory accesses a stack slot, and returns its address
//! and the bits that it moved.

use crate::sides::{Conditions, EDGE, Sides, TRAP_CODE};
use kingpost_interpreter::{DataValue, Environment, Interpreter};
use kingpost_ir::opcodes::Suffix;
use kingpost_ir::types::{I8, I64};
use kingpost_ir::{Format, Opcode, Type};
use kingpost_rules::clif::{ClifRule, ClifTyping, Node, NodeKind, is_effect};
use kingpost_smt::{Bits, Evaluator, Model, Term, Terms};
use std::collections::HashMap;
use std::fmt::Write;

/// Results of running both sides.
pub(crate) struct Replayed {
    /// Name, type and value of values and constants.
    pub(crate) inputs: Vec<(String, String, Bits)>,
    /// Result of each side, or the way in which it stops.
    pub(crate) replies: [String; 2],
    /// Whether the sides differ, as the model predicts.
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
    /// Runs a side and describes its outcome.
    fn run(&mut self, root: &Node, is_condition: bool) -> String {
        self.next = self.values.len();
        let returned = match root.kind {
            NodeKind::Inst { opcode, .. } if is_effect(opcode) => self.effect(root, opcode),
            _ => {
                let (mut ty, mut result) = (self.typing.of(root), self.node(root));
                if is_condition {
                    let zero = self.constant(ty, 0);
                    (ty, result) = (I8, self.define(&format!("icmp ne {result}, {zero}")));
                }
                let _ = writeln!(self.lines, "    return {result}");
                vec![ty]
            }
        };
        let returned: Vec<String> = returned.iter().map(Type::to_string).collect();
        let slot = if self.lines.contains("ss0") { "    ss0 = explicit_slot 16\n" } else { "" };
        let params: Vec<String> =
            (0..).zip(self.values).map(|(i, (_, value))| format!("v{i}: {}", value.ty())).collect();
        let types: Vec<String> = self.values.iter().map(|(_, value)| value.ty().to_string()).collect();
        let text = format!(
            "function %f({}){}{} {{\n{slot}block0({}):\n{}}}\n",
            types.join(", "),
            if returned.is_empty() { "" } else { " -> " },
            returned.join(", "),
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
            Ok(results) => results.iter().map(DataValue::to_string).collect::<Vec<_>>().join(", "),
            Err(stop) => stop.to_string(),
        }
    }

    /// Adds a root that is executed for its effect. Returns the types of the returned values.
    fn effect(&mut self, root: &Node, opcode: Opcode) -> Vec<Type> {
        let names: Vec<String> = root.operands().iter().map(|operand| self.node(operand)).collect();
        let name = Opcode::name(opcode);
        let (text, types) = match (opcode.format(), names.as_slice()) {
            (Format::CondTrap, [value]) => (format!("{name} {value}, {TRAP_CODE}\n    return"), Vec::new()),
            (Format::Trap, _) => (format!("trap {TRAP_CODE}"), Vec::new()),
            (Format::Jump, [edge]) => (format!("return {edge}"), vec![EDGE]),
            (Format::Brif, [value, then, otherwise]) => {
                let text = format!(
                    "brif {value}, block1, block2\nblock1:\n    return {then}\nblock2:\n    return {otherwise}"
                );
                (text, vec![EDGE])
            }
            (Format::Store, [value, base, offset @ ..]) => {
                let slot = self.slot(0);
                let _ = writeln!(self.lines, "    {name} {value}, {slot}");
                let [low, high] = [0, 8].map(|offset| self.define(&format!("load.i64 {slot}+{offset}")));
                let address = self.address(base, offset);
                (format!("return {address}, {low}, {high}"), vec![self.address_type(root), I64, I64])
            }
            (Format::Load, [base, offset @ ..]) => {
                // Different bytes, each with its sign bit set.
                let slot = self.slot(0x8f9e_adbc_cbda_e9f8);
                let suffix = match opcode.info().suffix {
                    Suffix::Required => format!(".{}", self.typing.control(root)),
                    _ => String::new(),
                };
                let result = self.define(&format!("{name}{suffix} {slot}"));
                let address = self.address(base, offset);
                (format!("return {address}, {result}"), vec![self.address_type(root), self.typing.of(root)])
            }
            _ => ("return".to_string(), Vec::new()),
        };
        let _ = writeln!(self.lines, "    {text}");
        types
    }

    /// Returns the address of a stack slot of sixteen bytes whose halves both hold `bits`.
    fn slot(&mut self, bits: u64) -> String {
        let slot = self.define("stack_addr.i64 ss0");
        let bits = self.constant(I64, bits.into());
        for offset in [0, 8] {
            let _ = writeln!(self.lines, "    store {bits}, {slot}+{offset}");
        }
        slot
    }

    /// Returns the address of an access.
    fn address(&mut self, base: &str, offset: &[String]) -> String {
        match offset {
            [offset] => self.define(&format!("iadd {base}, {offset}")),
            _ => base.to_string(),
        }
    }

    fn address_type(&self, root: &Node) -> Type {
        let last = root.operands().iter().rfind(|operand| !matches!(operand.kind, NodeKind::Offset(_)));
        last.map_or(I64, |address| self.typing.of(address))
    }

    fn define(&mut self, inst: &str) -> String {
        let name = format!("v{}", self.next);
        self.next += 1;
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "    {name} = {inst}");
        name
    }

    /// Returns the name of a node's value.
    fn node(&mut self, node: &Node) -> String {
        match &node.kind {
            NodeKind::Value(name) | NodeKind::Edge(name) => {
                let index = self.values.iter().position(|(known, _)| known == name);
                format!("v{}", index.unwrap_or(0))
            }
            NodeKind::Constant(_) | NodeKind::Offset(_) => {
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
