//! Random graphs that contain sources of rules, complete or changed in some parts.

use super::graph::{GraphStep, result_type};
use super::table::Table;
use cranelift_entity::EntityRef;
use kingpost_ir::types::{I64, I128};
use kingpost_ir::{DataFlowGraph, Format, InstData, MemFlags, Opcode, TrapCode, Type, Value};
use kingpost_rules::ExprKind;
use kingpost_rules::clif::{ClifRule, ClifTyping, Condition, ConditionName, Node, NodeKind};
use std::collections::HashMap;

/// A small generator (Marsaglia, Xorshift RNGs, 2003).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Returns a small number, a power of two, a mask, a number near the width, or any number.
    pub(crate) fn constant(&mut self, width: u32) -> i128 {
        let any = (u128::from(self.next()) << 64 | u128::from(self.next())) as i128;
        let bits = i128::from(width);
        match self.below(8) {
            0 | 1 => any.rem_euclid(4),
            2 => any.rem_euclid(bits),
            3 => 1 << any.rem_euclid(bits.min(127)),
            4 => (1 << any.rem_euclid(bits.min(127))) - 1,
            5 => -any.rem_euclid(4),
            6 => [bits, bits - 1, bits - 8, bits - 16, bits - 32, bits / 2][self.below(6)],
            _ => any,
        }
    }
}

struct Builder<'a> {
    random: &'a mut Random,
    rule: &'a ClifRule,
    typing: &'a ClifTyping,
    steps: Vec<GraphStep>,
    types: Vec<Type>,
    values: HashMap<&'a str, Value>,
    constants: HashMap<&'a str, i128>,
    conditions: HashMap<&'a str, Condition>,
}

/// Returns a graph with the source of a rule, in which some parts are changed at random.
pub(crate) fn steps(random: &mut Random, table: &Table, index: usize) -> Vec<GraphStep> {
    let rule = &table.rules[index];
    let typings = &table.typings[index];
    let typing = &typings[random.below(typings.len())];
    let (values, constants, conditions) = Default::default();
    let mut builder =
        Builder { random, rule, typing, steps: Vec::new(), types: Vec::new(), values, constants, conditions };
    // Random constants seldom satisfy a condition that relates them, so half of the graphs relate them on purpose.
    if builder.random.one_in(2) {
        let width = i128::from(typing.of(&rule.source).lane_bits());
        let first = builder.random.constant(width as u32);
        let part = [1, 8, 16, 32][builder.random.below(4)];
        for (name, value) in [("C1", first), ("C2", width - first), ("K", width - part)] {
            builder.constants.insert(name, value);
        }
    }
    if rule.is_condition {
        let value = builder.node(&rule.source);
        builder.steps.push(GraphStep::Condition(value));
        return builder.steps;
    }
    if let Some(opcode) = rule.effect() {
        let (inst, has_one_destination) = builder.effect(opcode);
        builder.steps.push(GraphStep::Effect(inst, has_one_destination));
    } else if let Some(inst) = builder.inst(&rule.source) {
        builder.steps.push(GraphStep::Make(inst));
    }
    builder.steps
}

impl<'a> Builder<'a> {
    fn push(&mut self, step: GraphStep, ty: Type) -> Value {
        self.steps.push(step);
        self.types.push(ty);
        Value::new(self.types.len() - 1)
    }

    /// Returns the value of an instruction, adding the instruction if it is new. Equal instructions are one value,
    /// as in the graph.
    fn keep(&mut self, inst: InstData) -> Value {
        let mut values = 0;
        for step in &self.steps {
            match step {
                GraphStep::Keep(known) if *known == inst => return Value::new(values),
                GraphStep::Param(_) | GraphStep::Keep(_) => values += 1,
                GraphStep::Make(_) | GraphStep::Condition(_) | GraphStep::Effect(..) => {}
            }
        }
        self.push(GraphStep::Keep(inst), result_type(&inst))
    }

    fn constant(&mut self, ty: Type, bits: i128) -> Value {
        if ty == I128 {
            let low = self.keep(InstData::iconst(I64, bits as i64));
            if i128::from(bits as i64) == bits {
                return self.keep(InstData::unary(Opcode::Sextend, ty, low));
            }
            let high = self.keep(InstData::iconst(I64, (bits >> 64) as i64));
            return self.keep(InstData::binary(Opcode::Iconcat, I64, [low, high]));
        }
        let lane = self.keep(InstData::iconst(ty.lane_type(), bits as i64));
        if ty.is_vector() { self.keep(InstData::unary(Opcode::Splat, ty, lane)) } else { lane }
    }

    fn node(&mut self, node: &'a Node) -> Value {
        let ty = self.typing.of(node);
        let known: Vec<usize> = (0..self.types.len()).filter(|&index| self.types[index] == ty).collect();
        if !known.is_empty() && self.random.one_in(12) {
            return Value::new(known[self.random.below(known.len())]);
        }
        match &node.kind {
            NodeKind::Value(name) => {
                if let Some(&value) = self.values.get(name.as_str()) {
                    return value;
                }
                let value = match self.random.below(6) {
                    0 if ty.lane_type().is_int() => {
                        let bits = self.random.constant(ty.lane_bits());
                        self.constant(ty, bits)
                    }
                    // A value with some known bits.
                    1 if ty.is_int() && self.random.one_in(2) => {
                        let bits = self.random.constant(ty.bits());
                        let (mask, any) = (self.constant(ty, bits), self.push(GraphStep::Param(ty), ty));
                        let opcode = [Opcode::Band, Opcode::Band, Opcode::Bor][self.random.below(3)];
                        self.keep(InstData::binary(opcode, ty, [any, mask]))
                    }
                    1 if !known.is_empty() => Value::new(known[self.random.below(known.len())]),
                    _ => self.push(GraphStep::Param(ty), ty),
                };
                self.values.insert(name, value);
                value
            }
            NodeKind::Constant(expr) => {
                let any = self.random.constant(ty.lane_bits());
                let bits = match &expr.kind {
                    ExprKind::Constant(name) => *self.constants.entry(name).or_insert(any),
                    ExprKind::Literal(number) if !self.random.one_in(8) => *number,
                    _ => any,
                };
                self.constant(ty, bits)
            }
            NodeKind::Edge(_) | NodeKind::Offset(_) => panic!("{node:?} is no operand"),
            NodeKind::Inst { .. } => match self.inst(node) {
                Some(inst) => self.keep(inst),
                None => self.push(GraphStep::Param(ty), ty),
            },
        }
    }

    fn inst(&mut self, node: &'a Node) -> Option<InstData> {
        let NodeKind::Inst { opcode, condition, operands } = &node.kind else { return None };
        let mut args: Vec<Value> = operands.iter().map(|operand| self.node(operand)).collect();
        let control = self.typing.control(node);
        let has_constant = operands.iter().any(|operand| matches!(operand.kind, NodeKind::Constant(_)));
        let mut cond = self.condition(*opcode, condition.as_ref());
        if (opcode.is_commutative() || condition.is_some()) && !has_constant && self.random.one_in(2) {
            args.reverse();
            cond = cond.map(Condition::swap_args);
        }
        Some(match (opcode.format(), args.as_slice()) {
            (Format::Unary, &[a]) => InstData::unary(*opcode, control, a),
            (Format::LoadNoOffset, &[a]) => InstData::load_no_offset(*opcode, control, MemFlags::new(), a),
            (Format::Binary, &[a, b]) => InstData::binary(*opcode, control, [a, b]),
            (Format::Ternary, &[a, b, c]) => InstData::ternary(*opcode, control, [a, b, c]),
            (Format::IntCompare | Format::FloatCompare, &[a, b]) => match cond? {
                Condition::Int(condition) => InstData::icmp(control, condition, [a, b]),
                Condition::Float(condition) => InstData::fcmp(control, condition, [a, b]),
            },
            _ => return None,
        })
    }

    /// Returns the root of the source, executed for its effect, and whether its edges lead to one destination.
    fn effect(&mut self, opcode: Opcode) -> (InstData, bool) {
        let rule = self.rule;
        let is_value = |node: &&Node| !matches!(node.kind, NodeKind::Edge(_) | NodeKind::Offset(_));
        let args: Vec<Value> =
            rule.source.operands().iter().filter(is_value).map(|operand| self.node(operand)).collect();
        let offset = match self.random.below(4) {
            0 => 0,
            1 => self.random.next() as i32,
            2 => i32::MAX - self.random.below(8) as i32,
            _ => self.random.below(64) as i32,
        };
        let (flags, control) = (MemFlags::new(), self.typing.control(&rule.source));
        let inst = match (opcode.format(), args.as_slice()) {
            (Format::Load, &[p]) => InstData::load(opcode, control, flags, p, offset),
            (Format::Store, &[x, p]) => InstData::store(opcode, flags, x, p, offset),
            (Format::CondTrap, &[x]) => {
                InstData::cond_trap(opcode, self.types[x.index()], x, TrapCode::HEAP_OUT_OF_BOUNDS)
            }
            (Format::Brif, &[x]) => {
                let mut dfg = DataFlowGraph::default();
                let dest = dfg.make_block();
                let dest = dfg.block_call(dest, &[]);
                dfg.brif_data(x, dest, dest)
            }
            _ => panic!("{opcode} with {args:?}"),
        };
        (inst, self.random.one_in(2))
    }

    fn condition(&mut self, opcode: Opcode, written: Option<&'a ConditionName>) -> Option<Condition> {
        let all = Condition::all_of(opcode);
        let any = *all.get(self.random.below(all.len()))?;
        Some(match written {
            Some(ConditionName::Fixed(condition)) if !self.random.one_in(8) => *condition,
            Some(ConditionName::Named { name, .. }) => {
                let conditions = self.rule.conditions();
                let choices = conditions.iter().find(|(known, _)| known == name).map(|(_, choices)| choices);
                let choice = choices.map_or(any, |choices| choices[self.random.below(choices.len())]);
                *self.conditions.entry(name).or_insert(choice)
            }
            _ => any,
        })
    }
}
