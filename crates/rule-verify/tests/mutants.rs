//! Checks that rules with one change are rejected with a counterexample that runs, unless they are proved as well.
//!
//! `KINGPOST_MUTANTS` is the number of mutants that are judged; 0 means all.

use kingpost_ir::Opcode;
use kingpost_rule_verify::{Backend, Options, Prover, SolverChoice, Verdict, check_clif};
use kingpost_rules::clif::{Bound, ClifRule, Condition, ConditionName, Node, NodeKind, parse};
use kingpost_rules::{BinaryOp, Expr, ExprKind, Precondition, Relation};
use std::path::Path;
use std::time::Duration;

const MUTANTS: usize = 40;

fn rules() -> Vec<ClifRule> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let texts = ["integers.rules", "floats.rules", "effects.rules"];
    let texts = texts.map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    texts.iter().flat_map(|text| parse(text)).map(|parsed| parsed.rule.unwrap()).collect()
}

/// Returns an opcode for which `opcode` is easily mistaken: another extension, sign, direction or operation.
fn mistaken(opcode: Opcode) -> Option<Opcode> {
    Some(match opcode {
        Opcode::Iadd => Opcode::Isub,
        Opcode::Isub => Opcode::Iadd,
        Opcode::Band => Opcode::Bor,
        Opcode::Bor => Opcode::Bxor,
        Opcode::Bxor => Opcode::Band,
        Opcode::Ishl => Opcode::Ushr,
        Opcode::Ushr => Opcode::Sshr,
        Opcode::Sshr => Opcode::Ushr,
        Opcode::Rotl => Opcode::Rotr,
        Opcode::Rotr => Opcode::Rotl,
        Opcode::Uextend => Opcode::Sextend,
        Opcode::Sextend => Opcode::Uextend,
        Opcode::Smin => Opcode::Umin,
        Opcode::Umin => Opcode::Umax,
        Opcode::Smax => Opcode::Smin,
        Opcode::Umax => Opcode::Smax,
        Opcode::Umulhi => Opcode::Smulhi,
        Opcode::Smulhi => Opcode::Umulhi,
        Opcode::Udiv => Opcode::Sdiv,
        Opcode::Sdiv => Opcode::Udiv,
        Opcode::Urem => Opcode::Srem,
        Opcode::Ineg => Opcode::Bnot,
        Opcode::Bnot => Opcode::Ineg,
        Opcode::Fneg => Opcode::Fabs,
        Opcode::Fabs => Opcode::Fneg,
        Opcode::Trapz => Opcode::Trapnz,
        Opcode::Trapnz => Opcode::Trapz,
        Opcode::Istore8 => Opcode::Istore16,
        Opcode::Istore16 => Opcode::Istore32,
        Opcode::Istore32 => Opcode::Store,
        Opcode::Uload8 => Opcode::Sload8,
        Opcode::Uload16 => Opcode::Sload16,
        Opcode::Uload32 => Opcode::Sload32,
        _ => return None,
    })
}

/// Returns all trees with one node changed.
fn changed(node: &Node, change: &dyn Fn(&Node) -> Vec<Node>) -> Vec<Node> {
    let mut all = change(node);
    if let NodeKind::Inst { opcode, condition, operands } = &node.kind {
        for (index, operand) in operands.iter().enumerate() {
            for other in changed(operand, change) {
                let mut operands = operands.clone();
                operands[index] = other;
                let kind = NodeKind::Inst { opcode: *opcode, condition: condition.clone(), operands };
                all.push(Node { kind, ..node.clone() });
            }
        }
    }
    all
}

fn mutants_of_node(node: &Node, values: &[String]) -> Vec<Node> {
    let with = |kind: NodeKind| Node { kind, ..node.clone() };
    match &node.kind {
        NodeKind::Value(name) => {
            let other = values.iter().find(|other| *other != name);
            other.map(|other| with(NodeKind::Value(other.clone()))).into_iter().collect()
        }
        NodeKind::Constant(expr) => {
            mutants_of_expr(expr).into_iter().map(|expr| with(NodeKind::Constant(expr))).collect()
        }
        NodeKind::Edge(_) => Vec::new(),
        NodeKind::Offset(expr) => mutants_of_expr(expr).into_iter().map(|expr| with(NodeKind::Offset(expr))).collect(),
        NodeKind::Inst { opcode, condition, operands } => {
            let mut all = Vec::new();
            let inst = |opcode, condition: &Option<ConditionName>, operands: &[Node]| {
                with(NodeKind::Inst { opcode, condition: condition.clone(), operands: operands.to_vec() })
            };
            all.extend(mistaken(*opcode).map(|other| inst(other, condition, operands)));
            if let [value, then, otherwise] = operands.as_slice()
                && opcode.is_branch()
            {
                all.push(inst(*opcode, condition, &[value.clone(), otherwise.clone(), then.clone()]));
            } else if operands.len() > 1 && operands.iter().all(|node| !matches!(node.kind, NodeKind::Offset(_))) {
                let mut exchanged = operands.clone();
                exchanged.reverse();
                all.push(inst(*opcode, condition, &exchanged));
            }
            if let Some(condition) = condition {
                let others: Vec<ConditionName> = match condition {
                    ConditionName::Fixed(cc) => {
                        let all = Condition::all_of(*opcode);
                        let index = all.iter().position(|other| other == cc).unwrap();
                        [cc.inverse(), all[(index + 2) % all.len()], all[(index + 5) % all.len()]]
                            .map(ConditionName::Fixed)
                            .to_vec()
                    }
                    ConditionName::Named { name, inverse, swapped } => [(!inverse, *swapped), (*inverse, !swapped)]
                        .map(|(inverse, swapped)| ConditionName::Named { name: name.clone(), inverse, swapped })
                        .to_vec(),
                };
                all.extend(others.into_iter().map(|other| inst(*opcode, &Some(other), operands)));
            }
            all
        }
    }
}

fn mutants_of_expr(expr: &Expr) -> Vec<Expr> {
    let with = |kind: ExprKind| Expr { kind, ..expr.clone() };
    match &expr.kind {
        ExprKind::Literal(value) => vec![with(ExprKind::Literal(value + 1)), with(ExprKind::Literal(value - 1))],
        ExprKind::Binary(op, a, b) => {
            let other = match op {
                BinaryOp::Add => BinaryOp::Sub,
                BinaryOp::Sub => BinaryOp::Add,
                BinaryOp::And => BinaryOp::Or,
                BinaryOp::Or => BinaryOp::Xor,
                BinaryOp::Xor => BinaryOp::And,
                BinaryOp::Shl => BinaryOp::Lshr,
                BinaryOp::Lshr => BinaryOp::Ashr,
                _ => BinaryOp::Add,
            };
            let mut all = vec![
                with(ExprKind::Binary(other, a.clone(), b.clone())),
                with(ExprKind::Binary(*op, b.clone(), a.clone())),
            ];
            all.extend(mutants_of_expr(b).into_iter().map(|b| with(ExprKind::Binary(*op, a.clone(), Box::new(b)))));
            all
        }
        ExprKind::Unary(_, a) => vec![(**a).clone()],
        _ => Vec::new(),
    }
}

/// Returns weaker conditions: no condition, one part left out, or comparisons less strict.
fn weaker(condition: &Precondition) -> Vec<Precondition> {
    match condition {
        Precondition::True => Vec::new(),
        Precondition::All(parts) => {
            let without = |index: usize| {
                let mut parts = parts.clone();
                parts.remove(index);
                Precondition::All(parts)
            };
            (0..parts.len()).map(without).collect()
        }
        Precondition::Compare(exprs, relations) => {
            let less_strict = relations.iter().map(|relation| match relation {
                Relation::Ult => Relation::Ule,
                Relation::Ugt | Relation::Ne => Relation::Uge,
                Relation::Eq => Relation::Ule,
                Relation::Slt => Relation::Sle,
                Relation::Sgt => Relation::Sge,
                other => *other,
            });
            vec![Precondition::True, Precondition::Compare(exprs.clone(), less_strict.collect())]
        }
        _ => vec![Precondition::True],
    }
}

fn mutants(rule: &ClifRule) -> Vec<ClifRule> {
    let mut values: Vec<String> = Vec::new();
    for node in rule.source.post_order() {
        if let NodeKind::Value(name) = &node.kind
            && !values.contains(name)
        {
            values.push(name.clone());
        }
    }
    let change = |node: &Node| mutants_of_node(node, &values);
    let targets = changed(&rule.target, &change).into_iter().map(|target| ClifRule { target, ..rule.clone() });
    let is_sound = |source: &Node| values.iter().all(|name| names(source, name));
    let sources = changed(&rule.source, &change).into_iter().filter(is_sound);
    let sources = sources.map(|source| ClifRule { source, ..rule.clone() });
    let conditions =
        weaker(&rule.precondition).into_iter().map(|precondition| ClifRule { precondition, ..rule.clone() });
    let any_condition = rule.bounds.iter().any(|bound| matches!(bound, Bound::Conditions(..))).then(|| {
        let bounds = rule.bounds.iter().filter(|bound| !matches!(bound, Bound::Conditions(..))).cloned().collect();
        ClifRule { bounds, ..rule.clone() }
    });
    targets.chain(sources).chain(conditions).chain(any_condition).filter(|mutant| mutant != rule).collect()
}

fn names(node: &Node, name: &str) -> bool {
    node.post_order().iter().any(|node| matches!(&node.kind, NodeKind::Value(known) if known == name))
}

#[test]
fn mutants_are_refused() {
    if [Backend::Z3, Backend::Cvc5].iter().any(|backend| !backend.is_installed()) {
        assert!(std::env::var_os("CI").is_none(), "a solver is missing");
        return eprintln!("SKIPPED: a solver is not installed");
    }
    let limit = std::env::var("KINGPOST_MUTANTS").map_or(MUTANTS, |count| count.parse().expect("a number"));
    let all: Vec<ClifRule> = rules().iter().flat_map(mutants).collect();
    assert!(all.len() >= 500, "{} mutants", all.len());
    let step = if limit == 0 { 1 } else { all.len().div_ceil(limit) };
    let options = Options::default().with(|options| options.timeout = Duration::from_secs(10));
    let mut prover = Prover::new(SolverChoice::Z3);
    let (mut wrong, mut errors, mut right, mut open) = (0, 0, 0, Vec::new());
    for mutant in all.iter().step_by(step) {
        match check_clif(mutant, &options, &mut prover) {
            Verdict::Wrong(_) => wrong += 1,
            Verdict::Error(_) => errors += 1,
            Verdict::Correct => right += 1,
            Verdict::Unknown(reason) => open.push(format!("{}: {reason}", mutant.name)),
        }
    }
    println!(
        "of {} mutants {wrong} wrong, {errors} errors, {right} proved, {} unknown: {open:?}",
        all.len(),
        open.len()
    );
    assert!(open.len() * 100 <= wrong + errors + open.len(), "{open:?}");
}
