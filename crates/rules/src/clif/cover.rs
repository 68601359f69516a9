//! Detection of rules that are never applied because of other rules.

use super::Condition;
use super::ast::{ClifRule, ConditionName, Node, NodeKind};
use super::types::ClifTyping;
use super::variants::variants;
use crate::ast::{ExprKind, Precondition};
use crate::error::{ErrorKind, RuleError};
use std::collections::HashMap;

/// A rule with its typings.
pub(super) struct Typed<'r> {
    pub(super) rule: &'r ClifRule,
    pub(super) typings: Vec<ClifTyping>,
    pub(super) variants: Vec<Node>,
}

impl<'r> Typed<'r> {
    pub(super) fn new(rule: &'r ClifRule) -> Result<Typed<'r>, RuleError> {
        Ok(Typed { rule, typings: super::typings(rule)?, variants: variants(rule) })
    }
}

/// Rejects a rule that cannot be applied: an earlier rule matches all that it matches, or some rule rewrites a part
/// of its source before the whole source exists.
///
/// # Errors
/// The name of the first such rule, and the reason.
pub(super) fn check(rules: &[Typed<'_>]) -> Result<(), (String, RuleError)> {
    let error = |rule: &ClifRule, message| Err((rule.name.clone(), RuleError::new(ErrorKind::Order, rule.at, message)));
    for (index, specific) in rules.iter().enumerate() {
        let rule = specific.rule;
        let same_root = |general: &&Typed<'_>| general.rule.is_condition == rule.is_condition;
        if let Some(general) =
            rules[..index].iter().filter(same_root).find(|general| covers(general, specific, &rule.source))
        {
            return error(rule, format!("{} is never applied: {} covers it", rule.name, general.rule.name));
        }
        let is_part = |node: &&Node| rule.is_condition || node.id != rule.source.id;
        for part in rule.source.post_order().into_iter().filter(is_part) {
            let values = rules.iter().filter(|general| !general.rule.is_condition);
            if let Some(general) = values.into_iter().find(|general| covers(general, specific, part)) {
                return error(
                    rule,
                    format!("{} is never applied: {} rewrites a part of its source", rule.name, general.rule.name),
                );
            }
        }
    }
    Ok(())
}

/// Returns `true` if one rule matches at a node of another rule's source, for all values of its names.
fn covers(general: &Typed<'_>, specific: &Typed<'_>, node: &Node) -> bool {
    if general.rule.precondition != Precondition::True || !matches!(node.kind, NodeKind::Inst { .. }) {
        return false;
    }
    general.variants.iter().any(|variant| {
        let mut cover = Cover { rules: [general.rule, specific.rule], names: HashMap::new(), nodes: Vec::new() };
        cover.node(variant, node)
            && specific.typings.iter().all(|typing| {
                let same = |known: &ClifTyping| {
                    let mut pairs = cover.nodes.iter();
                    pairs.all(|(a, b)| known.of(a) == typing.of(b) && known.control(a) == typing.control(b))
                };
                general.typings.iter().any(same)
            })
    })
}

/// Assignment of the names of a general source in a specific one.
struct Cover<'n> {
    rules: [&'n ClifRule; 2],
    names: HashMap<&'n str, &'n Node>,
    nodes: Vec<(&'n Node, &'n Node)>,
}

impl<'n> Cover<'n> {
    fn node(&mut self, a: &'n Node, b: &'n Node) -> bool {
        self.nodes.push((a, b));
        match (&a.kind, &b.kind) {
            (NodeKind::Value(name) | NodeKind::Edge(name), _) => self.same(name, b),
            (NodeKind::Offset(_), NodeKind::Offset(_)) => true,
            (NodeKind::Constant(x), NodeKind::Constant(y)) => match &x.kind {
                ExprKind::Constant(name) => self.same(name, b),
                kind => *kind == y.kind,
            },
            (
                NodeKind::Inst { opcode, condition, operands },
                NodeKind::Inst { opcode: other, condition: other_condition, operands: others },
            ) => {
                opcode == other
                    && self.condition(condition.as_ref(), other_condition.as_ref())
                    && operands.iter().zip(others).all(|(x, y)| self.node(x, y))
            }
            _ => false,
        }
    }

    fn same(&mut self, name: &'n str, b: &'n Node) -> bool {
        same_shape(self.names.entry(name).or_insert(b), b)
    }

    fn condition(&self, a: Option<&ConditionName>, b: Option<&ConditionName>) -> bool {
        let [general, specific] = self.rules;
        match (a, b) {
            (Some(a), Some(b)) => {
                let (a, b) = (choices(general, a), choices(specific, b));
                b.iter().all(|choice| a.contains(choice))
            }
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

/// Returns the conditions that a written condition may be.
fn choices(rule: &ClifRule, condition: &ConditionName) -> Vec<Condition> {
    match condition {
        ConditionName::Fixed(condition) => vec![*condition],
        ConditionName::Named { name, .. } => {
            let conditions = rule.conditions();
            let choices = conditions.iter().find(|(known, _)| known == name).map(|(_, choices)| choices.clone());
            choices.unwrap_or_default().iter().filter_map(|&choice| condition.resolve(|_| Some(choice))).collect()
        }
    }
}

/// Returns `true` if two nodes of one rule are always equal values.
fn same_shape(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (NodeKind::Value(a), NodeKind::Value(b)) | (NodeKind::Edge(a), NodeKind::Edge(b)) => a == b,
        (NodeKind::Constant(x), NodeKind::Constant(y)) => x.kind == y.kind && a.ty == b.ty,
        (
            NodeKind::Inst { opcode, condition, operands },
            NodeKind::Inst { opcode: other, condition: other_condition, operands: others },
        ) => {
            a.ty == b.ty
                && opcode == other
                && condition == other_condition
                && operands.iter().zip(others).all(|(x, y)| same_shape(x, y))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn complaint(text: &str) -> String {
        let rules: Vec<ClifRule> = parse(text).into_iter().map(|parsed| parsed.rule.unwrap()).collect();
        let typed: Vec<Typed<'_>> = rules.iter().map(|rule| Typed::new(rule).unwrap()).collect();
        check(&typed).err().map_or(String::new(), |(_, error)| error.message)
    }

    #[test]
    fn rules_that_are_never_applied() {
        let covered = "b is never applied: a covers it";
        assert_eq!(complaint("rule a : iadd(x, C) => x\nrule b : iadd(x, 0) => x"), covered);
        assert_eq!(complaint("rule a : iadd(x, 0) => x\nrule b : iadd(x, C) => x"), "");
        assert_eq!(complaint("rule a : iadd(x, ineg(y)) => x\nrule b : iadd(ineg(y), 0) => y"), covered);
        assert_eq!(complaint("rule a : iadd(x, ineg(y)) => x\nrule b : iadd(ineg(y), z) => y"), covered);
        assert_eq!(complaint("rule a : band(x, x) => x\nrule b : band(x, y) => y"), "");
        assert_eq!(complaint("rule a : iadd(x, C) => x where C == 1\nrule b : iadd(x, 0) => x"), "");
        assert_eq!(complaint("rule a : iadd(x, 0) => x\nrule b : iadd(x, 0) => x at lanes"), "");
        let part = "b is never applied: a rewrites a part of its source";
        assert_eq!(complaint("rule a : bxor(x, -1) => bnot(x)\nrule b : iadd(y, bxor(x, -1)) => y"), part);
        assert_eq!(complaint("rule a : icmp ne (x, 0) => x\nrule b : cond(icmp ne (x: i8, 0)) => cond(x)"), part);
    }
}
