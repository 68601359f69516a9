//! The tree of a rule on CLIF.

use super::condition::Condition;
use crate::ast::{Expr, Position, Precondition};
use kingpost_ir::{Format, Opcode, Type};

/// A rewrite of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct ClifRule {
    /// Its name.
    pub name: String,
    /// Position of its start.
    pub at: Position,
    /// Whether both sides matter only as zero or nonzero: `cond(x) => cond(y)`.
    pub is_condition: bool,
    /// Pattern that is matched; its root is an instruction, except under `cond`.
    pub source: Node,
    /// Replacement.
    pub target: Node,
    /// Further condition on constants and values.
    pub precondition: Precondition,
    /// Further conditions on types.
    pub bounds: Vec<Bound>,
    /// Number of nodes of both sides.
    pub nodes: u32,
    /// Number of expressions of the rule.
    pub exprs: u32,
}

/// An item after `at`.
#[derive(Clone, PartialEq, Debug)]
pub enum Bound {
    /// `lanes`: also vectors.
    Lanes,
    /// `any`: all types of values.
    Any,
    /// `N < W`: the first type is narrower.
    Narrower(TypeName, TypeName),
    /// `T = i32 | i64`: one of these types.
    OneOf(String, Vec<Type>),
    /// `cc = eq | ne`: one of these conditions.
    Conditions(String, Vec<Condition>),
}

/// A type as written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeName {
    /// `i32`.
    Fixed(Type),
    /// `T`: one type wherever the name occurs.
    Named(String),
}

/// A value, a constant or an instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Its number, dense from 0 in a rule.
    pub id: u32,
    /// Position of its start.
    pub at: Position,
    /// Name of an instruction, to which conditions refer: `d = iadd(x, y)`.
    pub name: Option<String>,
    /// Its type if written after a colon; for an instruction, the controlling type written after a point.
    pub ty: Option<TypeName>,
    /// Kind.
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeKind {
    /// `x`: any value; one value wherever the name occurs.
    Value(String),
    /// `C`, `8`, and in the target `C1 + C2`: an integer constant; for a vector, the constant of every lane.
    Constant(Expr),
    /// `iadd(x, y)`, `icmp cc (x, y)`, `fcmp cc (x, y)`.
    Inst {
        /// The opcode.
        opcode: Opcode,
        /// The condition of a comparison.
        condition: Option<ConditionName>,
        /// The operands. The operands of a branch include its destinations. The operands of an access to memory
        /// include the offset, if it is written.
        operands: Vec<Node>,
    },
    /// A destination of a branch with its arguments; one destination wherever the name occurs.
    Edge(String),
    /// The offset of an access to memory: a constant as wide as the address that fits 32 bits as a signed number.
    Offset(Expr),
}

/// Returns `true` if instructions of an opcode are executed for their effect, so that rules have them as roots only.
pub fn is_effect(opcode: Opcode) -> bool {
    matches!(
        opcode.format(),
        Format::Load | Format::Store | Format::CondTrap | Format::Trap | Format::Brif | Format::Jump
    ) || opcode == Opcode::Nop
}

/// The condition of a comparison as written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConditionName {
    /// `eq`.
    Fixed(Condition),
    /// `cc`, `!cc`, `swap(cc)`.
    Named {
        /// Name of any condition; one condition wherever the name occurs.
        name: String,
        /// Whether `!` is written: the condition that holds exactly if the named one does not.
        inverse: bool,
        /// Whether `swap` is written: the condition that holds with exchanged operands.
        swapped: bool,
    },
}

impl Node {
    /// Returns the operands of an instruction.
    pub fn operands(&self) -> &[Node] {
        match &self.kind {
            NodeKind::Inst { operands, .. } => operands,
            _ => &[],
        }
    }

    /// Returns the offset of an access to memory, if one is written.
    pub fn offset(&self) -> Option<&Expr> {
        self.operands().iter().find_map(|operand| match &operand.kind {
            NodeKind::Offset(expr) => Some(expr),
            _ => None,
        })
    }

    /// Returns the name of a value.
    pub(super) fn value(&self) -> Option<&String> {
        match &self.kind {
            NodeKind::Value(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the node and all nodes below it, operands first.
    pub fn post_order(&self) -> Vec<&Node> {
        let mut order = vec![self];
        let mut next = 0;
        while let Some(node) = order.get(next) {
            if let NodeKind::Inst { operands, .. } = &node.kind {
                order.extend(operands.iter());
            }
            next += 1;
        }
        order.reverse();
        order
    }
}

impl ClifRule {
    /// Returns all nodes, first the nodes of the source.
    pub fn all_nodes(&self) -> impl Iterator<Item = &Node> {
        self.source.post_order().into_iter().chain(self.target.post_order())
    }

    /// Returns the opcode at the root of the source if it is executed for its effect: a load, a store, a trap, or a
    /// branch.
    pub fn effect(&self) -> Option<Opcode> {
        match self.source.kind {
            NodeKind::Inst { opcode, .. } if is_effect(opcode) => Some(opcode),
            _ => None,
        }
    }

    /// Returns the names of conditions, in order of their first use, with the conditions that each may be.
    pub fn conditions(&self) -> Vec<(&str, Vec<Condition>)> {
        let mut found: Vec<(&str, Vec<Condition>)> = Vec::new();
        for node in self.source.post_order() {
            if let NodeKind::Inst { opcode, condition: Some(ConditionName::Named { name, .. }), .. } = &node.kind
                && !found.iter().any(|(other, _)| other == name)
            {
                let stated = self.bounds.iter().find_map(|bound| match bound {
                    Bound::Conditions(of, conditions) if of == name => Some(conditions.clone()),
                    _ => None,
                });
                found.push((name, stated.unwrap_or(Condition::all_of(*opcode))));
            }
        }
        found
    }
}

impl ConditionName {
    /// Returns the condition, given the conditions of the names.
    pub fn resolve(&self, named: impl Fn(&str) -> Option<Condition>) -> Option<Condition> {
        match self {
            ConditionName::Fixed(condition) => Some(*condition),
            ConditionName::Named { name, inverse, swapped } => {
                let condition = named(name)?;
                let condition = if *inverse { condition.inverse() } else { condition };
                Some(if *swapped { condition.swap_args() } else { condition })
            }
        }
    }
}
