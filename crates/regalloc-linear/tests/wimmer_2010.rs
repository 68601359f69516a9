//! The example of Wimmer and Franz (2010) against the linear scan of Poletto and Sarkar (1999), which keeps each
//! value in one place for its whole life: this crate must not cost more with 4, 3, 2 or 1 registers.

use kingpost_checker::Checker;
use kingpost_regalloc::text::parse;
use kingpost_regalloc::{
    Allocation, Allocator, Cost, Edit, Inst, Loc, MachineEnv, Operand, PReg, PRegSet, ParallelMoves, Problem, RegClass,
};
use kingpost_regalloc_linear::LinearScan;

/// The loop in block-argument form. The article's operands may name the stack freely; `v1` is its constant 1.
const PROBLEM: &str = "problem %wimmer {
  v1, v10, v11, v12, v13, v14, v15, v16: int 8
  b1:
    i0: def v10 any, def v11 any
    i1: remat def v1
    i2: branch -> b2(v1, v11)
  b2(v12, v13) freq 10:
    i3: use v13 any
    i4: branch -> b4, b3 freq 9
  b3 freq 9:
    i5: use v12 any, use v13 any, def v14 any
    i6: use v13 any, def v15 any
    i7: branch -> b2(v14, v15) freq 9
  b4:
    i8: use v10 any, use v12 any, def v16 any
    i9: use v16 any
    i10: branch
}
";

/// Live intervals of R10 to R16 without holes, in the article's numbers, ends exclusive.
const INTERVALS: [(u32, u32); 7] = [(16, 36), (16, 20), (20, 36), (20, 30), (28, 34), (30, 34), (36, 38)];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Assigned {
    P(u8),
    S(u8),
}

/// Computes Poletto and Sarkar's assignment.
fn linear_scan_1999(registers: u8) -> Vec<Assigned> {
    let mut assigned = vec![Assigned::S(0); INTERVALS.len()];
    let mut free: Vec<u8> = (0..registers).collect();
    let mut active: Vec<usize> = Vec::new();
    let mut slots = 0;
    for (i, &(start, end)) in INTERVALS.iter().enumerate() {
        active.retain(|&a| {
            let expired = INTERVALS[a].1 <= start;
            if let (true, Assigned::P(reg)) = (expired, assigned[a]) {
                free.push(reg);
            }
            !expired
        });
        free.sort_unstable();
        if !free.is_empty() {
            assigned[i] = Assigned::P(free.remove(0));
            active.push(i);
            active.sort_by_key(|&a| (INTERVALS[a].1, std::cmp::Reverse(a)));
            continue;
        }
        let spilled = *active.last().expect("registers are taken");
        if INTERVALS[spilled].1 > end {
            assigned[i] = std::mem::replace(&mut assigned[spilled], Assigned::S(slots));
            active.pop();
            active.push(i);
            active.sort_by_key(|&a| (INTERVALS[a].1, std::cmp::Reverse(a)));
        } else {
            assigned[i] = Assigned::S(slots);
        }
        slots += 1;
    }
    assigned
}

/// Returns the old algorithm's answer to the problem as an [`Allocation`].
fn answer_1999(problem: &Problem, env: &MachineEnv, assigned: &[Assigned]) -> Allocation {
    let mut out = Allocation::default();
    out.reset(problem);
    let slots: Vec<_> = (0..3).map(|_| out.add_slot(8)).collect();
    let loc = |vreg: u32| match assigned[vreg as usize - 1] {
        Assigned::P(reg) => Loc::reg(PReg::int(reg)),
        Assigned::S(slot) => Loc::slot(slots[usize::from(slot)]),
    };
    let operands: Vec<Operand> = problem.all_operands().to_vec();
    for (k, operand) in operands.iter().enumerate() {
        // The constant has number 0 and no location: it is computed where it is needed.
        if operand.vreg().as_u32() > 0 {
            out.locs[k] = loc(operand.vreg().as_u32());
        }
    }
    out.drop_inst(Inst::from_u32(1));
    let mut moves = ParallelMoves::new();
    let mut kinds = Vec::new();
    for edge in problem.edges() {
        let data = problem.edge(edge);
        for (&arg, &param) in problem.edge_args(edge).iter().zip(problem.params(data.to)) {
            let to = loc(param.as_u32());
            match arg.as_u32() {
                0 => moves.add_remat(Inst::from_u32(1), to, RegClass::Int, 8),
                arg => moves.add(loc(arg), to, RegClass::Int, 8),
            }
        }
        moves.resolve(PRegSet::EMPTY, (problem, env), &mut out, &mut kinds).expect("there are registers");
        let at = problem.terminator(data.from);
        out.edits.extend(kinds.drain(..).map(|kind| Edit { at, kind }));
    }
    out
}

#[test]
fn the_old_algorithm_gives_the_documented_table() {
    use Assigned::{P, S};
    assert_eq!(linear_scan_1999(4), [P(0), P(1), P(1), P(2), P(3), P(2), P(0)]);
    assert_eq!(linear_scan_1999(3), [S(0), P(1), P(1), P(2), P(0), P(2), P(0)]);
    assert_eq!(linear_scan_1999(2), [S(0), P(1), S(1), P(0), P(1), P(0), P(0)]);
    assert_eq!(linear_scan_1999(1), [S(0), P(0), S(1), P(0), S(2), P(0), P(0)]);
}

#[test]
fn splitting_costs_no_more() {
    let problem = &parse(PROBLEM).expect("the problem is well-formed").cases[0].problem;
    for registers in 1..=4 {
        let env = MachineEnv::simple(registers, 1);
        let mut ours = Allocation::default();
        LinearScan::new().allocate(problem, &env, &mut ours).expect("a solution");
        let old = answer_1999(problem, &env, &linear_scan_1999(registers));
        for answer in [&old, &ours] {
            Checker::new().check(problem, &env, answer).unwrap_or_else(|errors| panic!("{}", errors[0]));
        }
        let (old, ours) = (Cost::of(problem, &env, &old), Cost::of(problem, &env, &ours));
        assert!(ours.weighted <= old.weighted, "{registers} registers: {ours:?} against {old:?}");
    }
}
