//! The function of one rule. It is called after the opcodes of the source have matched, runs the remaining tests,
//! and makes the target.

use super::super::Condition;
use super::super::ast::{ClifRule, ConditionName, Node, NodeKind, is_effect};
use super::names::{camel_case, condition_code, opcode_name, type_name};
use super::types::{Known, Test, Types};
use crate::ast::{Expr, ExprKind};
use crate::error::{ErrorKind, RuleError};
use kingpost_ir::{Format, Opcode};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Argument of a leaf, in the order of its parameters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Param {
    /// The instruction that is executed for its effect.
    Request,
    /// The controlling type of the request.
    Control,
    /// The value of this name.
    Value(String),
    /// The value at a node without a name.
    Node(u32),
    /// The constant of this name.
    Constant(String),
    /// The condition of this name.
    Condition(String),
}

/// A leaf under construction.
pub(super) struct Leaf<'r> {
    rule: &'r ClifRule,
    types: Types,
    used: BTreeSet<Param>,
    lines: String,
    /// Names of the instructions, constants and destinations of the target.
    made: HashMap<u32, String>,
    /// Offsets of the target, which must fit an instruction.
    offsets: Vec<String>,
}

/// A leaf as Rust source.
pub(super) struct LeafText {
    pub(super) params: Vec<Param>,
    pub(super) text: String,
}

impl<'r> Leaf<'r> {
    /// Builds the function of a rule; `doc` is the rule's text.
    ///
    /// # Errors
    /// If the rule requires something that the matcher cannot do.
    pub(super) fn build(rule: &'r ClifRule, types: Types, doc: &str) -> Result<LeafText, RuleError> {
        let mut leaf = Leaf {
            rule,
            types,
            used: BTreeSet::new(),
            lines: String::new(),
            made: HashMap::new(),
            offsets: Vec::new(),
        };
        let result = leaf.target()?;
        let tests: Vec<Test> = leaf.types.tests.clone();
        let mut tests: Vec<String> = tests.iter().map(|test| leaf.test(test)).collect();
        tests.extend(leaf.conditions(&rule.precondition)?);
        tests.extend(leaf.offsets.iter().map(|offset| format!("is_offset({offset})")));
        tests.push(format!("g.may_apply(Rule::{})", camel_case(&rule.name)));
        let params: Vec<Param> = leaf.used.iter().cloned().collect();
        let declared: Vec<String> = params.iter().map(|param| leaf.declaration(param)).collect();
        let mut text = format!("/// Applies `{doc}`.\n");
        let made = if rule.effect().is_some() { "Effect" } else { "Value" };
        let head = format!("fn {}(g: &mut impl Graph, {}) -> Option<{made}> {{\n", rule.name, declared.join(", "));
        text.push_str(&head.replace(", )", ")"));
        let tests = tests.join(" && ");
        let _ = writeln!(
            text,
            "    if {tests} {{\n{}        Some({result})\n    }} else {{\n        None\n    }}\n}}",
            leaf.lines
        );
        Ok(LeafText { params, text })
    }

    fn declaration(&self, param: &Param) -> String {
        match param {
            Param::Request => "request: &InstData".to_string(),
            Param::Control => "ty: Type".to_string(),
            Param::Value(name) => format!("{name}: Value"),
            Param::Node(id) => format!("n{id}: Value"),
            Param::Constant(name) => format!("{}: Bits", self.spelled(name)),
            Param::Condition(name) => {
                let conditions = self.rule.conditions();
                let first = conditions.iter().find(|(known, _)| known == name).and_then(|(_, all)| all.first());
                let code = if let Some(Condition::Float(_)) = first { "FloatCC" } else { "IntCC" };
                format!("{name}: {code}")
            }
        }
    }

    /// Returns the parameter name of a constant: its name in small letters, distinct from the names of values.
    fn spelled(&self, name: &str) -> String {
        let small = name.to_lowercase();
        let is_value = |node: &Node| matches!(&node.kind, NodeKind::Value(name) if *name == small) || small == "g";
        if self.rule.source.post_order().into_iter().any(is_value) { format!("{small}_bits") } else { small }
    }

    pub(super) fn constant_name(&mut self, name: &str) -> String {
        self.used.insert(Param::Constant(name.to_string()));
        self.spelled(name)
    }

    /// Returns the variable of a value or of a named instruction.
    pub(super) fn value_name(&mut self, name: &str) -> String {
        let order = self.rule.source.post_order();
        let inst = order.into_iter().find(|node| node.name.as_deref() == Some(name));
        let (param, text) = match inst {
            Some(node) => (Param::Node(node.id), format!("n{}", node.id)),
            None => (Param::Value(name.to_string()), name.to_string()),
        };
        self.used.insert(param);
        text
    }

    /// Returns the width of a lane of an expression's type, in bits.
    pub(super) fn width(&mut self, expr: &Expr) -> Result<String, RuleError> {
        let known = self.types.width(expr.id);
        let known =
            known.ok_or_else(|| RuleError::new(ErrorKind::Type, expr.at, "a width that the source leaves open"))?;
        Ok(match known {
            Known::Fixed(ty) => ty.lane_bits().to_string(),
            other => format!("{}.lane_bits()", self.known(other)),
        })
    }

    fn known(&mut self, known: Known) -> String {
        match known {
            Known::Control => {
                self.used.insert(Param::Control);
                "ty".to_string()
            }
            Known::Node(id) => {
                let name = self.rule.source.post_order().into_iter().find_map(|node| match &node.kind {
                    NodeKind::Value(name) if node.id == id => Some(name.clone()),
                    _ => None,
                });
                let text = name.clone().unwrap_or_else(|| format!("n{id}"));
                self.used.insert(name.map_or(Param::Node(id), Param::Value));
                format!("g.ty({text})")
            }
            Known::Lane(id) => format!("{}.lane_type()", self.known(Known::Node(id))),
            Known::Fixed(ty) => type_name(ty),
        }
    }

    fn test(&mut self, test: &Test) -> String {
        match test {
            Test::Int(a) => format!("{}.is_int()", self.known(*a)),
            Test::IntOrLanes(a) => format!("is_int_or_lanes({})", self.known(*a)),
            Test::Float(a) => format!("{}.is_float()", self.known(*a)),
            Test::OneOf(a, types) => {
                let types: Vec<String> = types.iter().map(|&ty| type_name(ty)).collect();
                match types.as_slice() {
                    [one] => format!("{} == {one}", self.known(*a)),
                    many => format!("matches!({}, {})", self.known(*a), many.join(" | ")),
                }
            }
            Test::Equal(a, b) => format!("{} == {}", self.known(*a), self.known(*b)),
            Test::SameLanes(a, b) => format!("{}.lane_count() == {}.lane_count()", self.known(*a), self.known(*b)),
            Test::Narrower(a, b) => format!("{}.lane_bits() < {}.lane_bits()", self.known(*a), self.known(*b)),
        }
    }

    /// Generates the code that makes the target, and returns the expression for its value.
    fn target(&mut self) -> Result<String, RuleError> {
        for node in self.rule.target.post_order() {
            let text = match &node.kind {
                NodeKind::Value(name) => {
                    self.used.insert(Param::Value(name.clone()));
                    self.made.insert(node.id, name.clone());
                    continue;
                }
                NodeKind::Edge(name) => {
                    let edge = self.edge(name).to_string();
                    self.made.insert(node.id, edge);
                    continue;
                }
                NodeKind::Offset(expr) => {
                    let offset = self.expression(expr)?;
                    self.offsets.push(offset.clone());
                    self.made.insert(node.id, format!("({offset}).signed() as i32"));
                    continue;
                }
                NodeKind::Inst { opcode, operands, .. } if is_effect(*opcode) => {
                    return self.effect(node, *opcode, operands);
                }
                NodeKind::Constant(expr) => {
                    let known = self.types.node(node)?;
                    let ty = self.known(known);
                    let bits = match &expr.kind {
                        ExprKind::Literal(value) => format!("Bits::new({ty}.lane_bits(), {value})"),
                        _ => self.expression(expr)?,
                    };
                    format!("make_constant(g, {ty}, {bits})")
                }
                NodeKind::Inst { opcode, condition, operands } => {
                    let known = self.types.control(node)?;
                    let ty = self.known(known);
                    let operands: Vec<&str> = operands.iter().map(|operand| self.made[&operand.id].as_str()).collect();
                    let request = request(node, *opcode, &ty, condition.as_ref(), &operands.join(", "))?;
                    if let Some(ConditionName::Named { name, .. }) = condition {
                        self.used.insert(Param::Condition(name.clone()));
                    }
                    format!("g.make({request})")
                }
            };
            if node.id == self.rule.target.id {
                return Ok(text);
            }
            let name = format!("v{}", self.made.len());
            let _ = writeln!(self.lines, "        let {name} = {text};");
            self.made.insert(node.id, name);
        }
        Ok(self.made[&self.rule.target.id].clone())
    }

    /// Returns the index of a destination among the destinations of the source.
    fn edge(&self, name: &str) -> usize {
        let order = self.rule.source.operands().iter().filter_map(|operand| match &operand.kind {
            NodeKind::Edge(name) => Some(name),
            _ => None,
        });
        order.into_iter().position(|known| known == name).unwrap_or(0)
    }

    /// Returns the expression for a root that is executed for its effect.
    fn effect(&mut self, node: &Node, opcode: Opcode, operands: &[Node]) -> Result<String, RuleError> {
        let name = opcode_name(opcode);
        let mut made: Vec<String> = operands.iter().map(|operand| self.made[&operand.id].clone()).collect();
        if matches!(opcode.format(), Format::Load | Format::Store) && node.offset().is_none() {
            made.push("request.offset()".to_string());
        }
        if matches!(opcode.format(), Format::Load | Format::Store | Format::CondTrap | Format::Trap) {
            self.used.insert(Param::Request);
        }
        Ok(match (opcode.format(), made.as_slice()) {
            (Format::Load, [address, offset]) => {
                let known = self.types.control(node)?;
                let ty = self.known(known);
                format!("Effect::Inst(load(request, {name}, {ty}, {address}, {offset}))")
            }
            (Format::Store, [value, address, offset]) => {
                format!("Effect::Inst(store(request, {name}, {value}, {address}, {offset}))")
            }
            (Format::CondTrap, [value]) => format!("Effect::Inst(cond_trap(g, request, {name}, {value}))"),
            (Format::Trap, []) => "Effect::Inst(trap(request))".to_string(),
            (Format::Brif, [value, then, otherwise]) => format!("Effect::Branch({value}, [{then}, {otherwise}])"),
            (Format::Jump, [edge]) => format!("Effect::Jump({edge})"),
            (Format::Nullary, []) => "Effect::Nothing".to_string(),
            _ => return Err(RuleError::new(ErrorKind::Unsupported, node.at, format!("{opcode} in a target"))),
        })
    }
}

/// Returns the expression for a requested instruction.
fn request(
    node: &Node,
    opcode: Opcode,
    ty: &str,
    condition: Option<&ConditionName>,
    operands: &str,
) -> Result<String, RuleError> {
    let name = opcode_name(opcode);
    Ok(match opcode.format() {
        Format::Unary => format!("InstData::unary({name}, {ty}, {operands})"),
        Format::Binary => format!("InstData::binary({name}, {ty}, [{operands}])"),
        Format::Ternary => format!("InstData::ternary({name}, {ty}, [{operands}])"),
        Format::LoadNoOffset => format!("InstData::load_no_offset({name}, {ty}, MemFlags::new(), {operands})"),
        Format::IntCompare | Format::FloatCompare => {
            let condition = condition.map_or_else(String::new, condition_text);
            format!("InstData::{}({ty}, {condition}, [{operands}])", opcode.name())
        }
        _ => return Err(RuleError::new(ErrorKind::Unsupported, node.at, format!("{opcode} in a target"))),
    })
}

fn condition_text(condition: &ConditionName) -> String {
    match condition {
        ConditionName::Fixed(condition) => condition_code(*condition),
        ConditionName::Named { name, inverse, swapped } => {
            let inverse = if *inverse { ".inverse()" } else { "" };
            let swapped = if *swapped { ".swap_args()" } else { "" };
            format!("{name}{inverse}{swapped}")
        }
    }
}
