//! The order in which every rule decreases, so that rewriting terminates.
//!
//! An application turns one request, an opcode with finished operands, into the requests of the right side.
//!
//! - *Ordinary rules*: the weight of the request decreases, or stays equal while the precedence of the root
//!   decreases. No name occurs more often on the right. Only a division becomes a division.
//! - *Rules that expand* a division: the right side contains no division; names may repeat. So there are at most as
//!   many expansions as divisions.
//!
//! The weight of a tree is a sum over its nodes, as in Knuth and Bendix's order (Simple Word Problems in Universal
//! Algebras, 1970). The order proves that rewriting ends, but not that it ends soon: graphs share nodes that trees
//! repeat.

use super::Condition;
use super::ast::{ClifRule, ConditionName, Node, NodeKind};
use crate::ast::ExprKind;
use crate::error::{ErrorKind, RuleError};
use kingpost_ir::Opcode;
use kingpost_ir::condcodes::IntCC;
use std::collections::HashMap;

/// Maximum number of instructions that one application makes.
const MAX_MADE: usize = 4;
/// Maximum number of instructions that a rule that expands a division makes.
const MAX_EXPANDED: usize = 8;
/// Maximum depth of a source.
const MAX_DEPTH: usize = 5;

/// Returns the weight of an opcode in a tree, without its operands. A value or constant has weight 1.
fn weight(opcode: Opcode) -> u32 {
    match opcode {
        Opcode::Uextend | Opcode::Sextend | Opcode::Ireduce | Opcode::Splat => 2,
        Opcode::Select | Opcode::SelectSpectreGuard | Opcode::Bitselect => 5,
        Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => 5,
        Opcode::Imul => 20,
        Opcode::Umulhi | Opcode::Smulhi => 24,
        _ if is_division(opcode) => 120,
        _ => 4,
    }
}

/// Returns `true` if rules may expand the opcode.
fn is_division(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem)
}

/// Returns the precedence of a node. Of nodes of one weight, the canonical node has the lowest precedence.
fn precedence(node: &Node) -> u32 {
    let NodeKind::Inst { opcode, condition, .. } = &node.kind else { return 0 };
    match (opcode, condition) {
        (Opcode::Ireduce, _) => 6,
        (Opcode::Imul, _) => 5,
        (Opcode::Bnot | Opcode::Ineg, _) => 4,
        (Opcode::Sextend, _) => 3,
        (Opcode::Isub | Opcode::Bxor | Opcode::Rotr | Opcode::Sshr, _) => 2,
        (Opcode::Iadd, _) => 1,
        (Opcode::Icmp, Some(ConditionName::Fixed(Condition::Int(IntCC::Equal | IntCC::NotEqual)))) => 0,
        (Opcode::Icmp, _) => 1,
        _ => 0,
    }
}

/// Rejects a rule whose target is not less than its source in the order.
///
/// # Errors
/// The measure that does not decrease.
pub(super) fn check(rule: &ClifRule) -> Result<(), RuleError> {
    let error = |message: String| Err(RuleError::new(ErrorKind::Order, rule.at, message));
    let (source, target) = (Measure::of(&rule.source), Measure::of(&rule.target));
    if source.depth > MAX_DEPTH {
        return error(format!("the source is {} deep, {MAX_DEPTH} is the most", source.depth));
    }
    let is_root_division = matches!(rule.source.kind, NodeKind::Inst { opcode, .. } if is_division(opcode));
    let expands = is_root_division && target.made > 0 && !target.has_division;
    let limit = if expands { MAX_EXPANDED } else { MAX_MADE };
    if target.made > limit {
        return error(format!("the target makes {} instructions, {limit} is the most", target.made));
    }
    if expands {
        return Ok(());
    }
    let count = |name: &str| source.names.get(name).copied().unwrap_or(0);
    if let Some((name, _)) = target.names.iter().find(|(name, often)| **often > count(name)) {
        return error(format!("{name} stands more often in the target"));
    }
    if target.has_division && !is_root_division {
        return error("only a division becomes a division".to_string());
    }
    let precedes = precedence(&rule.target) < precedence(&rule.source);
    let falls = target.weight < source.weight || target.weight == source.weight && precedes;
    if falls { Ok(()) } else { error(format!("the weight does not fall: {} and {}", source.weight, target.weight)) }
}

#[derive(Default)]
struct Measure<'n> {
    weight: u32,
    depth: usize,
    /// Number of instructions.
    made: usize,
    has_division: bool,
    /// Number of occurrences of each name of a value.
    names: HashMap<&'n str, u32>,
}

impl<'n> Measure<'n> {
    fn of(root: &'n Node) -> Measure<'n> {
        let mut measure = Measure::default();
        measure.add(root, 1);
        measure
    }

    fn add(&mut self, node: &'n Node, depth: usize) {
        self.depth = self.depth.max(depth);
        match &node.kind {
            NodeKind::Value(name) | NodeKind::Edge(name) => {
                self.weight += 1;
                *self.names.entry(name).or_default() += 1;
            }
            NodeKind::Constant(expr) | NodeKind::Offset(expr) => {
                self.weight += 1;
                debug_assert!(!matches!(expr.kind, ExprKind::Register(_)));
            }
            NodeKind::Inst { opcode, operands, .. } => {
                self.weight += weight(*opcode);
                self.made += 1;
                self.has_division |= is_division(*opcode);
                for operand in operands {
                    self.add(operand, depth + 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn complaint(text: &str) -> String {
        check(&parse(text).remove(0).rule.unwrap()).err().map_or(String::new(), |error| error.message)
    }

    #[test]
    fn rules_descend() {
        assert_eq!(complaint("rule r : iadd(x, 0) => x"), "");
        assert_eq!(complaint("rule r : isub(x, C) => iadd(x, -C)"), "");
        assert_eq!(complaint("rule r : iadd(x, C) => isub(x, -C)"), "the weight does not fall: 6 and 6");
        assert_eq!(complaint("rule r : iadd(x, y) => iadd(y, x)"), "the weight does not fall: 6 and 6");
        assert_eq!(complaint("rule r : ishl(x, 1) => iadd(x, x)"), "x stands more often in the target");
        assert_eq!(complaint("rule r : urem(x, C) => isub(x, imul(umulhi(x, C), C))"), "");
        assert_eq!(
            complaint("rule r : bor(imul(x, y), udiv(x, y)) => udiv(x, y)"),
            "only a division becomes a division"
        );
        let deep = "the source is 6 deep, 5 is the most";
        assert_eq!(complaint("rule r : ineg(ineg(ineg(ineg(ineg(x))))) => ineg(x)"), deep);
    }
}
