//! Tests that generated problems keep the rules, and cover all kinds.

use kingpost_regalloc::{Block, Constraint, Inst, InstFlags, Problem, RegClass};
use kingpost_regalloc_spill_all::SpillAll;
use kingpost_testgen::draft::Draft;
use kingpost_testgen::fuzz::{allocator_on, fault_on};
use kingpost_testgen::problem::{Shape, generate, generate_shape};
use kingpost_testgen::rng::Rng;
use kingpost_testgen::shrink::shrink;
use std::collections::{BTreeMap, BTreeSet};

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

/// Adds the properties of an instruction to `seen`, in words.
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

/// Returns the numbers of loop headers and of irreducible back edges, found by a depth-first walk: an edge to a
/// block on the current path closes a loop.
fn loops(problem: &Problem) -> (usize, usize) {
    let (mut heads, mut irreducible) = (BTreeSet::new(), 0);
    let mut seen = BTreeSet::from([problem.entry()]);
    let mut path = vec![(problem.entry(), 0)];
    while let Some((block, next)) = path.last_mut() {
        let Some(&edge) = problem.succs(*block).get(*next) else {
            path.pop();
            continue;
        };
        *next += 1;
        let to = problem.edge(edge).to;
        if path.iter().any(|&(block, _)| block == to) {
            heads.insert(to);
            // A path to the end of the loop that avoids its head.
            let latch = problem.edge(edge).from;
            irreducible += usize::from(reaches(problem, latch, to));
        } else if seen.insert(to) {
            path.push((to, 0));
        }
    }
    (heads.len(), irreducible)
}

fn reaches(problem: &Problem, goal: Block, without: Block) -> bool {
    let mut seen = BTreeSet::from([without]);
    let mut stack = vec![problem.entry()];
    while let Some(block) = stack.pop() {
        if seen.insert(block) {
            stack.extend(problem.succs(block).iter().map(|&edge| problem.edge(edge).to));
        }
    }
    goal != without && seen.contains(&goal)
}

/// Returns the branches with one successor that are no bare jumps, and whose edge block leads to a join.
fn branches_before_joins(problem: &Problem) -> impl Iterator<Item = Inst> {
    let next = |block| match *problem.succs(block) {
        [edge] => Some(problem.edge(edge).to),
        _ => None,
    };
    let joins = move |block| next(block).and_then(next).is_some_and(|join| problem.preds(join).len() > 1);
    let branches = problem.blocks().filter(move |&block| joins(block)).map(|block| problem.terminator(block));
    branches.filter(|&branch| !problem.is_bare(branch))
}

#[test]
fn every_kind_of_flow_machine_and_pressure_appears() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..1000 {
        let (problem, env) = generate(seed);
        let mut note = |what: String| *seen.entry(what).or_default() += 1;
        let (loops, irreducible) = loops(&problem);
        [(loops > 0, "loop"), (loops > 2, "loops"), (irreducible > 0, "irreducible")]
            .into_iter()
            .filter(|kind| kind.0)
            .for_each(|kind| note(kind.1.into()));
        for class in RegClass::ALL {
            note(format!("{class} registers {}", env.class(class).order.len()));
            let most = env.class(class).order.len();
            let live = problem.vregs.values().filter(|data| data.class == class).count();
            [
                (env.class(class).scratch.is_some(), "scratch"),
                (env.class(class).exchange, "exchange"),
                (env.class(class).slot_move, "slot move"),
                (!env.class(class).callee_saved.is_empty(), "callee-saved"),
                (live > 4 * most, "pressure"),
            ]
            .into_iter()
            .filter(|kind| kind.0)
            .for_each(|kind| note(format!("{class} {}", kind.1)));
        }
        let results = |block| problem.succs(block).iter().filter(|&&e| !problem.edge_defs(e).is_empty()).count();
        let of_blocks = problem.blocks().map(|block| (problem.succs(block).len(), results(block)));
        let (ways, ends) = of_blocks.fold((0, 0), |(a, b), (c, d)| (a.max(c), b.max(d)));
        [
            (ways > 2, "switch"),
            (ends > 1, "results on several edges"),
            (problem.order.windows(2).any(|two| two[0] > two[1]), "shuffled"),
            (problem.vregs.values().any(|data| data.is_ref), "references"),
            (branches_before_joins(&problem).next().is_some(), "branch before a join"),
            (
                branches_before_joins(&problem).any(|inst| problem.flags(inst).has(InstFlags::SAFEPOINT)),
                "safepoint before a join",
            ),
        ]
        .into_iter()
        .filter(|kind| kind.0)
        .for_each(|kind| note(kind.1.into()));
    }
    let mut wanted: Vec<String> = [
        "loop",
        "loops",
        "irreducible",
        "switch",
        "results on several edges",
        "shuffled",
        "references",
        "branch before a join",
        "safepoint before a join",
    ]
    .map(String::from)
    .to_vec();
    for class in RegClass::ALL {
        wanted.extend((1..=16).map(|n| format!("{class} registers {n}")));
        let kinds = ["scratch", "exchange", "slot move", "callee-saved", "pressure"];
        wanted.extend(kinds.map(|kind| format!("{class} {kind}")));
    }
    for kind in wanted {
        let count = seen.get(&kind).copied().unwrap_or(0);
        assert!(count >= 10, "{kind}: {count} of 1000; all: {seen:?}");
    }
}

#[test]
fn bytes_decide_about_problems() {
    let text = |bytes: &[u8]| {
        let mut rng = Rng::from_bytes(bytes);
        let shape = Shape::random(&mut rng);
        generate_shape(&mut rng, shape, "bytes").0.to_string()
    };
    let bytes: Vec<u8> = (0..400).map(|i| (i * 37 % 251) as u8).collect();
    assert_eq!(text(&bytes), text(&bytes));
    let changes = |at: usize| {
        let mut other = bytes.clone();
        other[at] ^= 65;
        text(&bytes) != text(&other)
    };
    let deciding = (0..200).filter(|&at| changes(at)).count();
    assert!(deciding > 100, "only {deciding} of 200");
    for seed in 0..200 {
        let bytes: Vec<u8> = (0..seed).map(|i| (seed * 31 + i * i * 7) as u8).collect();
        for outcome in [allocator_on(&mut SpillAll::default(), &bytes), fault_on(&mut SpillAll::default(), &bytes)] {
            outcome.unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
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
