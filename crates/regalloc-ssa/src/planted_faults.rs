//! Each verifier must detect a fault in the result that it checks.

use crate::allocator::SsaAllocator;
use crate::coalescing::Coalescing;
use crate::spill_input::SpillInput;
use crate::spill_plan::Transfer;
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::{Allocation, Allocator, Diagnostics, Inst, MachineEnv, PReg, Problem, VReg, text};
use kingpost_regalloc_common::order::BlockIndex;

/// `v0` is stored and evicted for the call, and reloaded; `v2` and `v3` are of one class.
const TEXT: &str = "env {
int r0-r2
}
problem %f {
v0, v1, v2, v3: int 8
b0:
def v0
def v1
nop use v1 = r0, clobbers {r0, r1, r2}
def v2
branch -> b1(v2)
b1(v3) freq 8:
use v0
use v3
branch
}
";

struct Solved {
    problem: Problem,
    env: MachineEnv,
    allocator: SsaAllocator,
    answer: Allocation,
}

impl Solved {
    fn new() -> Solved {
        let mut file = text::parse(TEXT).unwrap();
        let (problem, env) = (file.cases.remove(0).problem, file.env.unwrap());
        let (mut allocator, mut answer) = (SsaAllocator::default(), Allocation::default());
        let mut diagnostics = Diagnostics::verified();
        allocator.allocate_with(&problem, &env, &mut answer, &mut diagnostics).unwrap();
        // The reload plan has taken the result of spilling.
        let SsaAllocator { order, live, constraints, classes, spilling, .. } = &mut allocator;
        let (problem_of, env_of, meter) = (&problem, &env, MeterRef::default());
        let input = &SpillInput { problem: problem_of, env: env_of, order, constraints, live, classes, meter };
        spilling.run(input).unwrap();
        Solved { problem, env, allocator, answer }
    }

    fn input(&self) -> SpillInput<'_> {
        let SsaAllocator { order, constraints, live, classes, .. } = &self.allocator;
        let meter = MeterRef::default();
        SpillInput { problem: &self.problem, env: &self.env, order, constraints, live, classes, meter }
    }
}

#[track_caller]
fn check(verified: Result<(), String>, rule: &str) {
    let what = verified.expect_err("the fault is not noticed");
    assert!(what.starts_with(rule), "{what}");
}

fn v(number: u32) -> VReg {
    VReg::from_u32(number)
}

#[test]
fn liveness_without_a_value() {
    let mut solved = Solved::new();
    solved.allocator.live.forget(BlockIndex::new(1), v(0));
    check(solved.allocator.live.verify(&solved.problem, &solved.allocator.order), "rule 1");
}

#[test]
fn classes_of_values_that_meet() {
    let mut solved = Solved::new();
    let mut classes = Coalescing::default();
    std::mem::swap(&mut classes, &mut solved.allocator.classes);
    classes.unite(v(0), v(3));
    check(classes.verify(&solved.problem, &solved.allocator.order, &solved.allocator.live), "rule 1");
}

#[test]
fn pressure_beyond_the_registers() {
    let mut solved = Solved::new();
    solved.allocator.constraints.allocatable = [PReg::int(0)].into_iter().collect();
    check(solved.allocator.spilling.plan.verify(&solved.input()), "rule 1");
}

#[test]
fn a_use_without_its_reload() {
    let mut solved = Solved::new();
    let plan = &mut solved.allocator.spilling.plan;
    plan.transfers.retain(|transfer| transfer.2 != Transfer::Reload);
    plan.entries[1] = Default::default();
    check(solved.allocator.spilling.plan.verify(&solved.input()), "rule 2");
}

#[test]
fn the_eviction_of_a_value_in_memory() {
    let mut solved = Solved::new();
    solved.allocator.spilling.plan.transfers.push((Inst::from_u32(7), v(1), Transfer::Evict));
    check(solved.allocator.spilling.plan.verify(&solved.input()), "rule 3");
}

#[test]
fn another_set_at_the_end_of_a_block() {
    let mut solved = Solved::new();
    solved.allocator.spilling.plan.exits[0] = None;
    check(solved.allocator.spilling.plan.verify(&solved.input()), "rule 4");
}

#[test]
fn a_reload_of_a_value_that_is_not_stored() {
    let mut solved = Solved::new();
    solved.allocator.plan.placements.fill(crate::spill_plan::Placement::AtEvictions);
    solved.allocator.plan.transfers.retain(|transfer| transfer.2 != Transfer::Store);
    check(solved.allocator.plan.verify(&solved.input()), "rule 1");
}

#[test]
fn a_register_of_two_values() {
    let mut solved = Solved::new();
    let assignment = &mut solved.allocator.coloring.assignment;
    let reg = assignment.pool[0].1;
    assignment.pool.iter_mut().for_each(|resident| resident.1 = reg);
    let plan = &solved.allocator.spilling.plan;
    check(solved.allocator.coloring.assignment.verify(&solved.input(), plan, &solved.answer), "rule 1");
}

#[test]
fn a_fixed_operand_elsewhere() {
    let mut solved = Solved::new();
    let call = solved.problem.operand_range(Inst::from_u32(2)).start;
    solved.answer.locs[call] = kingpost_regalloc::Loc::reg(PReg::int(1));
    let plan = &solved.allocator.spilling.plan;
    check(solved.allocator.coloring.assignment.verify(&solved.input(), plan, &solved.answer), "rule 2");
}
