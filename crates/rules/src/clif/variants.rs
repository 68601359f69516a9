//! The orders in which a source may occur in a graph. Operands of commutative opcodes are exchanged; operands of
//! comparisons are exchanged together with the condition. Constants are on the right already.

use super::ast::{ClifRule, ConditionName, Node, NodeKind};
use crate::ast::{ExprKind, Precondition};
use std::collections::HashMap;

/// Returns the source of a rule in all orders, the written one first. Orders that match no further graph are left
/// out.
pub(super) fn variants(rule: &ClifRule) -> Vec<Node> {
    let mut found: Vec<Node> = Vec::new();
    for order in orders(&rule.source) {
        let is_known = |known: &Node| {
            rule.precondition == Precondition::True && Renaming { rule, names: HashMap::new() }.maps(known, &order)
        };
        if !found.iter().any(is_known) {
            found.push(order);
        }
    }
    found
}

fn orders(node: &Node) -> Vec<Node> {
    let NodeKind::Inst { opcode, condition, operands } = &node.kind else { return vec![node.clone()] };
    let mut lists = vec![Vec::new()];
    for operand in operands {
        let choices = orders(operand);
        let with_each = |list: &Vec<Node>| {
            choices.iter().map(|choice| [list.as_slice(), std::slice::from_ref(choice)].concat()).collect::<Vec<_>>()
        };
        lists = lists.iter().flat_map(with_each).collect();
    }
    let with = |operands: Vec<Node>, condition: Option<ConditionName>| Node {
        kind: NodeKind::Inst { opcode: *opcode, condition, operands },
        ..node.clone()
    };
    let mut all: Vec<Node> = lists.iter().map(|list| with(list.clone(), condition.clone())).collect();
    let has_constant = operands.iter().any(|operand| matches!(operand.kind, NodeKind::Constant(_)));
    if (opcode.is_commutative() || condition.is_some()) && !has_constant {
        let exchanged = condition.as_ref().map(ConditionName::exchanged);
        let swapped = lists.into_iter().map(|list| with(list.into_iter().rev().collect(), exchanged.clone()));
        all.extend(swapped);
    }
    all
}

impl ConditionName {
    /// Returns the condition that holds with exchanged operands.
    fn exchanged(&self) -> ConditionName {
        match self {
            ConditionName::Fixed(condition) => ConditionName::Fixed(condition.swap_args()),
            ConditionName::Named { name, inverse, swapped } => {
                ConditionName::Named { name: name.clone(), inverse: *inverse, swapped: !swapped }
            }
        }
    }
}

/// Renaming of one source to another. If there is one, the sources match equal graphs.
struct Renaming<'r> {
    rule: &'r ClifRule,
    names: HashMap<&'r str, &'r str>,
}

impl<'r> Renaming<'r> {
    fn maps(mut self, a: &'r Node, b: &'r Node) -> bool {
        self.node(a, b)
    }

    /// Maps name `a` to name `b`. Returns `true` if neither is mapped to or from another name.
    fn names(&mut self, a: &'r str, b: &'r str) -> bool {
        let known = *self.names.entry(a).or_insert(b) == b;
        known && self.names.iter().filter(|(_, other)| **other == b).count() == 1
    }

    fn node(&mut self, a: &'r Node, b: &'r Node) -> bool {
        match (&a.kind, &b.kind) {
            (NodeKind::Value(x), NodeKind::Value(y)) => a.ty == b.ty && self.names(x, y),
            (NodeKind::Constant(x), NodeKind::Constant(y)) => {
                a.ty == b.ty
                    && match (&x.kind, &y.kind) {
                        (ExprKind::Constant(x), ExprKind::Constant(y)) => self.names(x, y),
                        (x, y) => x == y,
                    }
            }
            (
                NodeKind::Inst { opcode, condition, operands },
                NodeKind::Inst { opcode: other, condition: other_condition, operands: others },
            ) => {
                a.ty == b.ty
                    && opcode == other
                    && self.condition(condition.as_ref(), other_condition.as_ref())
                    && operands.iter().zip(others).all(|(x, y)| self.node(x, y))
            }
            _ => false,
        }
    }

    /// Returns `true` if two conditions are equal. Conditions of one name may also differ by an exchange of
    /// operands, if the name may be each exchanged condition, too.
    fn condition(&self, a: Option<&ConditionName>, b: Option<&ConditionName>) -> bool {
        match (a, b) {
            (
                Some(ConditionName::Named { name: a, inverse: a_inverse, swapped: a_swapped }),
                Some(ConditionName::Named { name: b, inverse: b_inverse, swapped: b_swapped }),
            ) => a == b && a_inverse == b_inverse && (a_swapped == b_swapped || self.is_closed(a)),
            (a, b) => a == b,
        }
    }

    fn is_closed(&self, name: &str) -> bool {
        let conditions = self.rule.conditions();
        let choices = conditions.iter().find(|(known, _)| *known == name).map(|(_, choices)| choices);
        choices.is_some_and(|choices| choices.iter().all(|choice| choices.contains(&choice.swap_args())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn orders_that_match_something_else() {
        let count = |text: &str| variants(&parse(text).remove(0).rule.unwrap()).len();
        assert_eq!(count("rule r : iadd(x, 0) => x"), 1);
        assert_eq!(count("rule r : iadd(x, ineg(y)) => isub(x, y)"), 2);
        assert_eq!(count("rule r : band(x, bor(x, y)) => x"), 4);
        assert_eq!(count("rule r : band(uextend(x), uextend(y)) => uextend(band(x, y))"), 1);
        assert_eq!(count("rule r : smin(x, x) => x"), 1);
        assert_eq!(count("rule r : select(icmp slt (x, y), x, y) => smin(x, y)"), 2);
        assert_eq!(count("rule r : band(icmp cc (x, y), 1) => icmp cc (x, y)"), 1);
        assert_eq!(count("rule r : band(icmp cc (x, y), 1) => icmp cc (x, y) at cc = slt | eq"), 2);
    }
}
