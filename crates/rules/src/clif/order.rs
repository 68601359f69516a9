//! The order that every rule descends, so that rewriting ends.
//!
//! An application turns one request, an opcode with finished operands, into those of the right side. What falls is the pair
//! of the root's stratum and the request's weight:
//!
//! - *ordinary rules*: no name stands more often on the right; the weight falls, or stays while the precedence of the root
//!   falls; no opcode on the right has a higher stratum than the root.
//! - *rules that expand* (a division by a constant becomes products): every opcode on the right has a lower stratum than
//!   the root; names may repeat.
//!
//! Weights sum over a tree, as in Knuth and Bendix's order (Simple Word Problems in Universal Algebras, 1970). It proves that
//! rewriting ends, not that it ends soon: graphs share what trees repeat.

use super::ast::{ClifRule, Node, NodeKind};
use crate::ast::ExprKind;
use crate::error::{ErrorKind, RuleError};
use kingpost_ir::Opcode;
use std::collections::HashMap;

/// More instructions than this are not made by one application.
const MAX_MADE: usize = 4;
/// The same for rules that expand.
const MAX_EXPANDED: usize = 8;
/// Sources are no deeper than this.
const MAX_DEPTH: usize = 4;

/// What an opcode adds to the weight of a tree, besides its operands; a value or constant weighs 1.
fn weight(opcode: Opcode) -> u32 {
    match opcode {
        Opcode::Uextend | Opcode::Sextend | Opcode::Ireduce | Opcode::Splat => 2,
        Opcode::Select | Opcode::SelectSpectreGuard | Opcode::Bitselect => 5,
        Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => 5,
        Opcode::Imul => 20,
        Opcode::Umulhi | Opcode::Smulhi => 24,
        Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem => 120,
        _ => 4,
    }
}

/// Divisions stand above high products, these above products, these above the rest.
fn stratum(opcode: Opcode) -> u32 {
    match opcode {
        Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem => 3,
        Opcode::Umulhi | Opcode::Smulhi => 2,
        Opcode::Imul => 1,
        _ => 0,
    }
}

/// Roots of the same weight: the canonical form comes lower.
fn precedence(opcode: Opcode) -> u32 {
    match opcode {
        Opcode::Sextend => 3,
        Opcode::Isub | Opcode::Rotr => 2,
        Opcode::Iadd => 1,
        _ => 0,
    }
}

/// Complains of a rule that does not descend.
///
/// # Errors
/// Says what rises.
pub(super) fn check(rule: &ClifRule) -> Result<(), RuleError> {
    let error = |message: String| Err(RuleError::new(ErrorKind::Order, rule.at, message));
    let (source, target) = (Measure::of(&rule.source), Measure::of(&rule.target));
    if source.depth > MAX_DEPTH {
        return error(format!("the source is {} deep, {MAX_DEPTH} is the most", source.depth));
    }
    let root = |node: &Node| if let NodeKind::Inst { opcode, .. } = node.kind { Some(opcode) } else { None };
    let (from, to) = (root(&rule.source), root(&rule.target));
    let expands = target.made > 0 && from.is_some_and(|from| target.highest < stratum(from));
    let limit = if expands { MAX_EXPANDED } else { MAX_MADE };
    if target.made > limit {
        return error(format!("the target makes {} instructions, {limit} is the most", target.made));
    }
    if expands {
        return Ok(());
    }
    if let Some(name) =
        target.names.keys().find(|name| target.names[*name] > source.names.get(*name).copied().unwrap_or(0))
    {
        return error(format!("{name} stands more often in the target"));
    }
    if target.made > 0 && from.is_some_and(|from| target.highest > stratum(from)) {
        return error("the target has an opcode of a higher stratum than the root".to_string());
    }
    let rank = |opcode: Option<Opcode>| opcode.map_or(0, precedence);
    let falls = target.weight < source.weight || target.weight == source.weight && rank(to) < rank(from);
    if falls { Ok(()) } else { error(format!("the weight does not fall: {} and {}", source.weight, target.weight)) }
}

#[derive(Default)]
struct Measure<'n> {
    weight: u32,
    depth: usize,
    /// How many instructions there are.
    made: usize,
    highest: u32,
    /// How often each name of a value stands there.
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
            NodeKind::Value(name) => {
                self.weight += 1;
                *self.names.entry(name).or_default() += 1;
            }
            NodeKind::Constant(expr) => {
                self.weight += 1;
                debug_assert!(!matches!(expr.kind, ExprKind::Register(_)));
            }
            NodeKind::Inst { opcode, operands, .. } => {
                self.weight += weight(*opcode);
                self.made += 1;
                self.highest = self.highest.max(stratum(*opcode));
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
        assert_eq!(complaint("rule r : imul(x, 2) => iadd(x, x)"), "");
        assert_eq!(complaint("rule r : ishl(x, 1) => iadd(x, x)"), "x stands more often in the target");
        assert_eq!(complaint("rule r : urem(x, C) => isub(x, imul(umulhi(x, C), C))"), "");
        let higher = "the target has an opcode of a higher stratum than the root";
        let deep = "the source is 6 deep, 4 is the most";
        assert_eq!(complaint("rule r : ineg(ineg(ineg(ineg(ineg(x))))) => ineg(x)"), deep);
        assert_eq!(complaint("rule r : iadd(iadd(x, y), iadd(z, w)) => imul(x, y)"), higher);
    }
}
