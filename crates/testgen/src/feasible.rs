//! Test whether the operands of one instruction can be placed: a search over all assignments, because generated
//! instructions are small.

use crate::draft::DraftInst;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{Constraint, MachineEnv, Operand, PRegSet, Pos, RegClass, VReg, VRegData};

/// Budget of the search; exceeding it counts as infeasible.
const STEPS: usize = 20_000;

struct Node {
    operand: Operand,
    choices: Vec<u8>,
    class: RegClass,
    /// The def that reuses this use's register.
    reused_by: Option<usize>,
}

/// Returns `true` if there is a register for every operand of `inst` that needs one. `apart` returns `true` for two
/// defs of a terminator that never exist together.
pub(crate) fn feasible(
    env: &MachineEnv,
    vregs: &PrimaryMap<VReg, VRegData>,
    reg_sets: &[PRegSet],
    inst: &DraftInst,
    apart: impl Fn(VReg, VReg) -> bool,
) -> bool {
    let nodes: Vec<Node> = nodes(env, vregs, reg_sets, inst);
    let conflicts: Vec<Vec<bool>> = nodes
        .iter()
        .map(|a| nodes.iter().map(|b| conflict(a, b) && !apart(a.operand.vreg(), b.operand.vreg())).collect())
        .collect();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&n| nodes[n].choices.len());
    let mut chosen = vec![None; nodes.len()];
    place(&nodes, &conflicts, &order, &mut chosen, &mut 0)
}

fn nodes(env: &MachineEnv, vregs: &PrimaryMap<VReg, VRegData>, reg_sets: &[PRegSet], inst: &DraftInst) -> Vec<Node> {
    let operands = &inst.operands;
    let reuser = |k: usize| operands.iter().position(|o| o.constraint() == Constraint::Reuse(k as u8));
    let mut nodes = Vec::new();
    for (k, &operand) in operands.iter().enumerate() {
        let data = vregs[operand.vreg()];
        let all = env.class(data.class).allocatable();
        let reused_by = reuser(k);
        let in_memory = matches!(operand.constraint(), Constraint::MemOk | Constraint::Any)
            && reused_by.is_none_or(|def| operands[def].is_rmw());
        let allowed = match operand.constraint() {
            _ if in_memory => continue,
            Constraint::Stack | Constraint::Reuse(_) => continue,
            Constraint::Fixed(reg) => all.intersection(PRegSet::EMPTY.with(reg)),
            Constraint::Within(set) => all.intersection(reg_sets[set.index()]),
            Constraint::Reg | Constraint::MemOk | Constraint::Any => all,
        };
        let stays = operand.is_def() || operand.pos() == Pos::Late || reused_by.is_some();
        let width = reused_by.map_or(data.width, |def| vregs[operands[def].vreg()].width.max(data.width));
        let allowed = if stays { allowed.difference(inst.clobbers.killed(width)) } else { allowed };
        let choices = allowed.iter().map(|reg| reg.enc()).collect();
        nodes.push(Node { operand, choices, class: data.class, reused_by });
    }
    nodes
}

fn conflict(a: &Node, b: &Node) -> bool {
    let late = |n: &Node| n.operand.is_def() || n.operand.pos() == Pos::Late || n.reused_by.is_some();
    let early = |n: &Node| n.operand.is_use() || n.operand.pos() == Pos::Early;
    let writes = |n: &Node| n.operand.is_def() || n.reused_by.is_some();
    // Two uses of one value may share a register. Allocators detect this only for equal constraints, and no more is
    // required.
    let one_value = a.operand == b.operand;
    let meet_early = early(a) && early(b) && !one_value;
    let meet_late = late(a) && late(b) && (!one_value || writes(a) || writes(b));
    a.class == b.class && (meet_early || meet_late)
}

fn place(
    nodes: &[Node],
    conflicts: &[Vec<bool>],
    order: &[usize],
    chosen: &mut Vec<Option<u8>>,
    steps: &mut usize,
) -> bool {
    let Some((&n, rest)) = order.split_first() else { return true };
    for &reg in &nodes[n].choices {
        *steps += 1;
        if *steps > STEPS {
            return false;
        }
        let free = (0..nodes.len()).all(|m| m == n || chosen[m] != Some(reg) || !conflicts[n][m]);
        if free {
            chosen[n] = Some(reg);
            if place(nodes, conflicts, rest, chosen, steps) {
                return true;
            }
            chosen[n] = None;
        }
    }
    false
}
