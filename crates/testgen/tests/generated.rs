//! What is generated keeps the rules of problems, and comes in all kinds.

use kingpost_regalloc::{Constraint, Inst, InstFlags, Problem};
use kingpost_testgen::draft::Draft;
use kingpost_testgen::problem::generate;
use kingpost_testgen::shrink::shrink;
use std::collections::BTreeSet;

fn insts(problem: &Problem) -> impl Iterator<Item = Inst> {
    (0..problem.num_insts() as u32).map(Inst::from_u32)
}

#[test]
fn problems_are_right_by_construction() {
    for seed in 0..2000 {
        let (problem, env) = generate(seed);
        if let Err(errors) = problem.verify_with(&env) {
            panic!("seed {seed}: {}\n{env}\n{problem}", errors[0]);
        }
    }
}

/// What an instruction has, in words.
fn kinds(problem: &Problem, inst: Inst, seen: &mut BTreeSet<String>) {
    for (flag, name) in [(InstFlags::MOVE, "move"), (InstFlags::SAFEPOINT, "safepoint"), (InstFlags::REMAT, "remat")] {
        seen.extend(problem.flags(inst).has(flag).then(|| name.to_string()));
    }
    let clobbers = problem.clobbers(inst);
    seen.extend((!clobbers.lost.is_empty()).then(|| "clobber".to_string()));
    seen.extend((!clobbers.partial.is_empty()).then(|| "partial".to_string()));
    for operand in problem.operands(inst) {
        let constraint = match operand.constraint() {
            Constraint::Reg => "reg",
            Constraint::Fixed(_) => "fixed",
            Constraint::Reuse(_) if operand.is_rmw() => "rmw",
            Constraint::Reuse(_) => "reuse",
            Constraint::Stack => "stack",
            Constraint::MemOk => "mem",
            Constraint::Any => "any",
            Constraint::Within(_) => "in",
        };
        seen.insert(format!("{:?} {:?} {constraint}", operand.kind(), operand.pos()).to_lowercase());
    }
}

#[test]
fn every_kind_of_operand_and_flag_appears() {
    let mut seen = BTreeSet::new();
    let mut largest = 0;
    for seed in 0..500 {
        let (problem, _) = generate(seed);
        largest = largest.max(problem.num_insts());
        insts(&problem).for_each(|inst| kinds(&problem, inst, &mut seen));
        seen.extend((!problem.labels.is_empty()).then(|| "label".to_string()));
        for edge in problem.edges() {
            seen.extend((!problem.edge_args(edge).is_empty()).then(|| "argument".to_string()));
            seen.extend((!problem.edge_defs(edge).is_empty()).then(|| "edge def".to_string()));
        }
    }
    let all = "argument, clobber, def early any, def early fixed, def early in, def early mem, def early reg, \
               def early stack, def late any, def late fixed, def late in, def late mem, def late reg, def late reuse, \
               def late rmw, def late stack, edge def, label, move, partial, remat, safepoint, use early any, \
               use early fixed, use early in, use early mem, use early reg, use early stack, use late any, \
               use late fixed, use late in, use late reg, use late stack";
    assert_eq!(seen.into_iter().collect::<Vec<_>>().join(", "), all);
    assert!(largest > 300, "now and then one is long: {largest}");
}

#[test]
fn taking_a_problem_apart_loses_nothing() {
    for seed in 0..300 {
        let (problem, _) = generate(seed);
        let again = Draft::of(&problem).build(&problem.name);
        assert_eq!(problem.to_string(), again.to_string());
    }
}

#[test]
fn shrinking_keeps_the_rules_and_the_failure() {
    // "Fails" if there is a clobber and a safepoint somewhere.
    let fails = |problem: &Problem| {
        let clobbers = insts(problem).any(|inst| !problem.clobbers(inst).lost.is_empty());
        clobbers && insts(problem).any(|inst| problem.flags(inst).has(InstFlags::SAFEPOINT))
    };
    let mut shrunken = 0;
    for seed in 0..60 {
        let (problem, env) = generate(seed);
        if !fails(&problem) {
            continue;
        }
        let small = shrink(&problem, |candidate| {
            assert_eq!(candidate.verify_with(&env), Ok(()), "{problem}\n{candidate}");
            fails(candidate)
        });
        assert!(fails(&small) && small.num_insts() <= 3, "{small}");
        shrunken += 1;
    }
    assert!(shrunken > 5, "{shrunken}");
}
