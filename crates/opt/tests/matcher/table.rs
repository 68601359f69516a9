//! Interpreter of rules: a second implementation of the matcher, which uses only their trees and typings.

use kingpost_ir::types::{I64, I128};
use kingpost_ir::{Format, InstData, MemFlags, Opcode, Type, Value};
use kingpost_opt::known_bits;
use kingpost_opt::rewrite::{Effect, Graph, Rule};
use kingpost_rules::clif::{ClifRule, ClifTyping, Condition, ConditionName, Node, NodeKind, typings};
use kingpost_rules::{BinaryOp, Expr, ExprKind, Function, Precondition, Predicate, Relation, UnaryOp};
use std::collections::HashMap;

pub(crate) struct Table {
    pub(crate) rules: Vec<ClifRule>,
    pub(crate) typings: Vec<Vec<ClifTyping>>,
}

/// Bindings of the names and nodes of a source.
#[derive(Clone, Default)]
struct Bound<'r> {
    values: HashMap<&'r str, Value>,
    constants: HashMap<&'r str, u128>,
    conditions: HashMap<&'r str, Condition>,
    types: Vec<(&'r Node, Type)>,
}

impl Table {
    pub(crate) fn new(rules: Vec<ClifRule>) -> Table {
        let typings = rules.iter().map(|rule| typings(rule).unwrap()).collect();
        Table { rules, typings }
    }

    pub(crate) fn rewrite(&self, g: &mut impl Graph, request: &InstData) -> Option<Value> {
        self.first(
            g,
            |rule| !rule.is_condition && rule.effect().is_none(),
            |rule, g| match_request(rule, g, super::graph::result_type(request), request),
            |g, rule, bound, typing| build(g, &rule.target, bound, typing),
        )
    }

    pub(crate) fn replace_effect(&self, g: &mut impl Graph, request: &InstData) -> Option<Effect> {
        // An instruction without a result has this type in a typing.
        let has_result = !request.opcode().info().results.is_empty();
        let ty = if has_result { super::graph::result_type(request) } else { I64 };
        self.first(
            g,
            |rule| rule.effect().is_some(),
            |rule, g| match_request(rule, g, ty, request),
            |g, rule, bound, typing| build_effect(g, rule, request, bound, typing),
        )
    }

    pub(crate) fn simplify_condition(&self, g: &mut impl Graph, value: Value) -> Option<Value> {
        self.first(
            g,
            |rule| rule.is_condition,
            |rule, g| match_value(rule, g, value),
            |g, rule, bound, typing| build(g, &rule.target, bound, typing),
        )
    }

    fn first<G: Graph, T>(
        &self,
        g: &mut G,
        is_tried: impl Fn(&ClifRule) -> bool,
        matches: impl for<'r> Fn(&'r ClifRule, &G) -> Vec<Bound<'r>>,
        make: impl Fn(&mut G, &ClifRule, &Bound<'_>, &ClifTyping) -> T,
    ) -> Option<T> {
        for (rule, typings) in self.rules.iter().zip(&self.typings).filter(|(rule, _)| is_tried(rule)) {
            for bound in matches(rule, g) {
                let fits = |typing: &&ClifTyping| bound.types.iter().all(|(node, ty)| typing.of(node) == *ty);
                let Some(typing) = typings.iter().filter(fits).max_by_key(|typing| alike(rule, typing)) else {
                    continue;
                };
                let numbers = Numbers { g, bound: &bound, widths: typing.expr_widths() };
                if !numbers.holds(&rule.precondition)
                    || rule.target.offset().is_some_and(|o| numbers.offset(o).is_none())
                {
                    continue;
                }
                let id = Rule::named(&rule.name).expect("a rule of the matcher");
                return g.may_apply(id).then(|| make(g, rule, &bound, typing));
            }
        }
        None
    }
}

fn match_request<'r>(rule: &'r ClifRule, g: &impl Graph, ty: Type, request: &InstData) -> Vec<Bound<'r>> {
    let mut found = Vec::new();
    inst(rule, g, &rule.source, ty, request, &Bound::default(), &mut found);
    found
}

fn match_value<'r>(rule: &'r ClifRule, g: &impl Graph, value: Value) -> Vec<Bound<'r>> {
    let mut found = Vec::new();
    node(rule, g, &rule.source, value, &Bound::default(), &mut found);
    found
}

/// Returns the number of target nodes that have the type of the result. A typing that has more of them is
/// preferred, because the source may leave types open, such as the type of a shift amount.
fn alike(rule: &ClifRule, typing: &ClifTyping) -> usize {
    let ty = typing.of(&rule.source);
    rule.target.post_order().iter().filter(|node| typing.of(node) == ty).count()
}

/// Finds all ways to match a node against a value, in the order in which they are tried.
fn node<'r>(
    rule: &'r ClifRule,
    g: &impl Graph,
    pattern: &'r Node,
    value: Value,
    bound: &Bound<'r>,
    found: &mut Vec<Bound<'r>>,
) {
    let mut with = bound.clone();
    with.values.extend(pattern.name.as_deref().map(|name| (name, value)));
    match &pattern.kind {
        NodeKind::Value(name) => {
            with.types.push((pattern, g.ty(value)));
            if *with.values.entry(name).or_insert(value) == value {
                found.push(with);
            }
        }
        NodeKind::Constant(expr) => {
            with.types.push((pattern, g.ty(value)));
            let Some(bits) = constant(g, value) else { return };
            let fits = match &expr.kind {
                ExprKind::Constant(name) => *with.constants.entry(name).or_insert(bits) == bits,
                ExprKind::Literal(number) => bits == *number as u128 & g.ty(value).lane_mask(),
                _ => false,
            };
            if fits {
                found.push(with);
            }
        }
        NodeKind::Edge(_) | NodeKind::Offset(_) => panic!("{pattern:?} is no operand"),
        NodeKind::Inst { .. } => {
            if let Some(data) = g.definition(value) {
                inst(rule, g, pattern, g.ty(value), &data.clone(), &with, found);
            }
        }
    }
}

fn inst<'r>(
    rule: &'r ClifRule,
    g: &impl Graph,
    pattern: &'r Node,
    ty: Type,
    data: &InstData,
    bound: &Bound<'r>,
    found: &mut Vec<Bound<'r>>,
) {
    let NodeKind::Inst { opcode, condition, operands } = &pattern.kind else { return };
    if *opcode != data.opcode() {
        return;
    }
    let has_constant = operands.iter().any(|operand| matches!(operand.kind, NodeKind::Constant(_)));
    let may_swap = (opcode.is_commutative() || condition.is_some()) && !has_constant;
    for swapped in [false, true] {
        let mut args = data.args().to_vec();
        let mut actual = data.int_cond().map(Condition::Int).or(data.float_cond().map(Condition::Float));
        if swapped {
            args.reverse();
            actual = actual.map(Condition::swap_args);
        }
        let mut with = bound.clone();
        with.types.push((pattern, ty));
        if (swapped && !may_swap) || !is_condition(rule, condition.as_ref(), actual, &mut with) {
            continue;
        }
        let mut ways = vec![with];
        for (operand, arg) in operands.iter().zip(args) {
            let mut next = Vec::new();
            for way in &ways {
                node(rule, g, operand, arg, way, &mut next);
            }
            ways = next;
        }
        ways.retain_mut(|way| fits_effect(g, operands, data, way));
        found.extend(ways);
    }
}

/// Returns `true` if all edges of one name have one destination. Binds the offset of an access.
fn fits_effect<'r>(g: &impl Graph, operands: &'r [Node], data: &InstData, bound: &mut Bound<'r>) -> bool {
    let mut edges: Vec<&str> = Vec::new();
    for operand in operands {
        match &operand.kind {
            NodeKind::Edge(name) if edges.contains(&name.as_str()) => return g.has_one_destination(data),
            NodeKind::Edge(name) => edges.push(name),
            NodeKind::Offset(Expr { kind: ExprKind::Constant(name), .. }) => {
                let mask = u128::MAX >> (128 - g.ty(*data.args().last().unwrap()).bits());
                bound.constants.insert(name, i128::from(data.offset()) as u128 & mask);
            }
            _ => {}
        }
    }
    true
}

fn is_condition<'r>(
    rule: &'r ClifRule,
    written: Option<&'r ConditionName>,
    actual: Option<Condition>,
    bound: &mut Bound<'r>,
) -> bool {
    match (written, actual) {
        (Some(ConditionName::Fixed(condition)), Some(actual)) => *condition == actual,
        (Some(ConditionName::Named { name, inverse, swapped }), Some(actual)) => {
            let actual = if *inverse { actual.inverse() } else { actual };
            let actual = if *swapped { actual.swap_args() } else { actual };
            let choices = rule.conditions().into_iter().find(|(known, _)| known == name).unwrap().1;
            choices.contains(&actual) && *bound.conditions.entry(name).or_insert(actual) == actual
        }
        (written, _) => written.is_none(),
    }
}

/// Returns the constant of a value, or of all its lanes.
fn constant(g: &impl Graph, value: Value) -> Option<u128> {
    let inst = g.definition(value)?;
    let part = |index: usize| g.constant(inst.args()[index]).map(u128::from);
    let ty = g.ty(value);
    match inst.opcode() {
        Opcode::Iconst => inst.iconst_bits().map(u128::from),
        Opcode::Splat if ty.lane_type().is_int() => part(0),
        Opcode::Uextend if ty == I128 => part(0),
        Opcode::Sextend if ty == I128 => Some(sign_extended(part(0)?, g.ty(inst.args()[0]).bits())),
        Opcode::Iconcat if ty == I128 => Some(part(0)? | part(1)? << 64),
        _ => None,
    }
}

fn sign_extended(bits: u128, width: u32) -> u128 {
    ((bits << (128 - width)) as i128 >> (128 - width)) as u128
}

/// Makes a target in the order in which the generated matcher does, so that both number their values alike.
fn build(g: &mut impl Graph, target: &Node, bound: &Bound<'_>, typing: &ClifTyping) -> Value {
    let mut made = HashMap::new();
    for node in target.post_order() {
        let value = build_node(g, node, bound, typing, &made);
        made.insert(node.id, value);
    }
    made[&target.id]
}

fn build_effect(
    g: &mut impl Graph,
    rule: &ClifRule,
    request: &InstData,
    bound: &Bound<'_>,
    typing: &ClifTyping,
) -> Effect {
    let NodeKind::Inst { opcode, operands, .. } = &rule.target.kind else { panic!("{rule:?}") };
    let edges_of = |node: &Node| -> Vec<String> {
        let names = node.operands().iter().filter_map(|operand| match &operand.kind {
            NodeKind::Edge(name) => Some(name.clone()),
            _ => None,
        });
        names.collect()
    };
    let known = edges_of(&rule.source);
    let edges: Vec<usize> =
        edges_of(&rule.target).iter().map(|name| known.iter().position(|other| other == name).unwrap()).collect();
    let mut values = Vec::new();
    for operand in operands.iter().filter(|node| !matches!(node.kind, NodeKind::Edge(_) | NodeKind::Offset(_))) {
        values.push(build(g, operand, bound, typing));
    }
    let offset = match rule.target.offset() {
        Some(expr) => Numbers { g, bound, widths: typing.expr_widths() }.offset(expr).unwrap(),
        None => request.offset(),
    };
    let flags = request.memflags().unwrap_or_default();
    match (opcode.format(), values.as_slice(), edges.as_slice()) {
        (Format::Load, &[p], _) => {
            Effect::Inst(InstData::load(*opcode, typing.control(&rule.target), flags, p, offset))
        }
        (Format::Store, &[x, p], _) => Effect::Inst(InstData::store(*opcode, flags, x, p, offset)),
        (Format::CondTrap, &[x], _) => {
            Effect::Inst(InstData::cond_trap(*opcode, g.ty(x), x, request.trap_code().unwrap()))
        }
        (Format::Trap, ..) => Effect::Inst(InstData::trap(request.trap_code().unwrap())),
        (Format::Brif, &[x], &[then, otherwise]) => Effect::Branch(x, [then, otherwise]),
        (Format::Jump, _, &[edge]) => Effect::Jump(edge),
        (Format::Nullary, ..) => Effect::Nothing,
        _ => panic!("{opcode} with {values:?}"),
    }
}

fn build_node(
    g: &mut impl Graph,
    target: &Node,
    bound: &Bound<'_>,
    typing: &ClifTyping,
    made: &HashMap<u32, Value>,
) -> Value {
    let ty = typing.of(target);
    match &target.kind {
        NodeKind::Value(name) => bound.values[name.as_str()],
        NodeKind::Edge(_) | NodeKind::Offset(_) => panic!("{target:?} is no operand"),
        NodeKind::Constant(expr) => {
            let bits = Numbers { g, bound, widths: typing.expr_widths() }.value(expr);
            if ty == I128 {
                let low = g.iconst(I64, bits as u64);
                if sign_extended(bits & u128::from(u64::MAX), 64) == bits {
                    return g.make(InstData::unary(Opcode::Sextend, ty, low));
                }
                let high = g.iconst(I64, (bits >> 64) as u64);
                return g.make(InstData::binary(Opcode::Iconcat, I64, [low, high]));
            }
            let lane = g.iconst(ty.lane_type(), bits as u64);
            if ty.is_vector() { g.make(InstData::unary(Opcode::Splat, ty, lane)) } else { lane }
        }
        NodeKind::Inst { opcode, condition, operands } => {
            let args: Vec<Value> = operands.iter().map(|operand| made[&operand.id]).collect();
            let control = typing.control(target);
            let data = match (opcode.format(), args.as_slice()) {
                (Format::Unary, &[a]) => InstData::unary(*opcode, control, a),
                (Format::LoadNoOffset, &[a]) => InstData::load_no_offset(*opcode, control, MemFlags::new(), a),
                (Format::Binary, &[a, b]) => InstData::binary(*opcode, control, [a, b]),
                (Format::Ternary, &[a, b, c]) => InstData::ternary(*opcode, control, [a, b, c]),
                (Format::IntCompare | Format::FloatCompare, &[a, b]) => {
                    let condition = condition.as_ref().unwrap().resolve(|name| bound.conditions.get(name).copied());
                    match condition.unwrap() {
                        Condition::Int(condition) => InstData::icmp(control, condition, [a, b]),
                        Condition::Float(condition) => InstData::fcmp(control, condition, [a, b]),
                    }
                }
                _ => panic!("{opcode} with {args:?}"),
            };
            g.make(data)
        }
    }
}

/// Constant expressions, with the widths of a typing.
struct Numbers<'a, G> {
    g: &'a G,
    bound: &'a Bound<'a>,
    widths: Vec<u32>,
}

impl<G: Graph> Numbers<'_, G> {
    fn width(&self, expr: &Expr) -> u32 {
        match &expr.kind {
            ExprKind::Register(name) => self.g.ty(self.bound.values[name.as_str()]).lane_bits(),
            _ => self.widths[expr.id.index()],
        }
    }

    fn register(&self, expr: &Expr) -> Value {
        let ExprKind::Register(name) = &expr.kind else { panic!("{expr}") };
        self.bound.values[name.as_str()]
    }

    fn value(&self, expr: &Expr) -> u128 {
        let width = self.width(expr);
        let shift = |amount: u128| u32::try_from(amount).ok().filter(|amount| *amount < width);
        let bits = match &expr.kind {
            ExprKind::Constant(name) => self.bound.constants[name.as_str()],
            ExprKind::Literal(number) => *number as u128,
            ExprKind::Unary(UnaryOp::Not, a) => !self.value(a),
            ExprKind::Unary(UnaryOp::Neg, a) => self.value(a).wrapping_neg(),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                match op {
                    BinaryOp::Add => a.wrapping_add(b),
                    BinaryOp::Sub => a.wrapping_sub(b),
                    BinaryOp::Mul => a.wrapping_mul(b),
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::Shl => shift(b).map_or(0, |amount| a << amount),
                    BinaryOp::Lshr => shift(b).map_or(0, |amount| a >> amount),
                    other => panic!("{other:?}"),
                }
            }
            ExprKind::Call(Function::ComputeKnownZeroBits, args) => {
                known_bits::zeros(self.g, self.register(&args[0])).unsigned()
            }
            ExprKind::Call(Function::ComputeKnownOneBits, args) => {
                known_bits::ones(self.g, self.register(&args[0])).unsigned()
            }
            ExprKind::Call(Function::Width, args) => self.width(&args[0]).into(),
            ExprKind::Call(Function::Log2, args) => self.value(&args[0]).checked_ilog2().unwrap_or(0).into(),
            ExprKind::Call(Function::Trunc | Function::Zext, args) => self.value(&args[0]),
            ExprKind::Call(Function::Sext, args) => sign_extended(self.value(&args[0]), self.width(&args[0])),
            other => panic!("{other:?}"),
        };
        bits & u128::MAX >> (128 - width)
    }

    /// Returns the offset of an access, if an access can have it.
    fn offset(&self, expr: &Expr) -> Option<i32> {
        i32::try_from(sign_extended(self.value(expr), self.width(expr)) as i128).ok()
    }

    fn holds(&self, condition: &Precondition) -> bool {
        match condition {
            Precondition::True => true,
            Precondition::Not(inner) => !self.holds(inner),
            Precondition::All(parts) => parts.iter().all(|part| self.holds(part)),
            Precondition::Any(parts) => parts.iter().any(|part| self.holds(part)),
            Precondition::Compare(exprs, relations) => exprs.windows(2).zip(relations).all(|(pair, relation)| {
                let [a, b] = [&pair[0], &pair[1]].map(|expr| self.value(expr));
                let signed =
                    [(a, &pair[0]), (b, &pair[1])].map(|(bits, expr)| sign_extended(bits, self.width(expr)) as i128);
                match relation {
                    Relation::Eq => a == b,
                    Relation::Ne => a != b,
                    Relation::Ugt => a > b,
                    Relation::Uge => a >= b,
                    Relation::Ult => a < b,
                    Relation::Ule => a <= b,
                    Relation::Sgt => signed[0] > signed[1],
                    Relation::Sge => signed[0] >= signed[1],
                    Relation::Slt => signed[0] < signed[1],
                    Relation::Sle => signed[0] <= signed[1],
                }
            }),
            // Every value of a test's graph counts as used once.
            Precondition::Predicate(_, Predicate::HasOneUse, _) => true,
            Precondition::Predicate(_, Predicate::IsPowerOf2, args) => self.value(&args[0]).count_ones() == 1,
            Precondition::Predicate(_, other, _) => panic!("{other:?}"),
        }
    }
}
