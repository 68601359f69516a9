//! Rules 15 to 22 and 31: the operands of one instruction.

use super::rule::{Entity, Errors, Rule};
use crate::entities::{Edge, Inst, VReg};
use crate::operand::{Constraint, Operand, Pos};
use crate::problem::{Clobbers, InstFlags, Problem};
use crate::reg::PReg;
use crate::sort::sort;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

pub(super) fn check(problem: &Problem, errors: &mut Errors) {
    let mut points = Points { owners: [[None; PReg::COUNT]; 2], named: Vec::new() };
    let mut edge_defs = EdgeDefs::new(problem);
    let mut reused = Vec::new();
    for inst in problem.blocks().flat_map(|block| problem.insts(block)) {
        for (i, &operand) in problem.operands(inst).iter().enumerate() {
            check_class(problem, operand, Entity::Operand(inst, i), errors);
            let is_early_ref = operand.is_def() && operand.pos() == Pos::Early && problem.vregs[operand.vreg()].is_ref;
            let collected = is_early_ref && problem.flags(inst).has(InstFlags::SAFEPOINT);
            errors.check(!collected, Rule::SafepointDefs, Entity::Operand(inst, i));
        }
        check_reuse(problem, inst, &mut reused, errors);
        let memory = problem.operands(inst).iter().filter(|operand| operand.constraint() == Constraint::MemOk);
        errors.check(memory.count() <= 1, Rule::OneMemory, Entity::Inst(inst));
        check_fixed(problem, inst, &mut points, &mut edge_defs, errors);
        check_move(problem, inst, errors);
        check_remat(problem, inst, errors);
    }
}

fn check_class(problem: &Problem, operand: Operand, at: Entity, errors: &mut Errors) {
    let class = problem.class(operand.vreg());
    let fits = match operand.constraint() {
        Constraint::Fixed(reg) => reg.class() == class,
        Constraint::Within(set) => {
            let set = problem.reg_set(set);
            !set.is_empty() && set.of_class(class) == set
        }
        _ => true,
    };
    errors.check(fits, Rule::Class, at);
}

/// Returns the use whose location a reuse def takes.
fn reused_use(operands: &[Operand], def: Operand) -> Option<Operand> {
    match def.constraint() {
        Constraint::Reuse(k) => operands.get(usize::from(k)).copied(),
        _ => None,
    }
}

/// Checks rules 16 and 17. `reused` is scratch: the indices reused so far.
fn check_reuse(problem: &Problem, inst: Inst, reused: &mut Vec<u8>, errors: &mut Errors) {
    reused.clear();
    let operands = problem.operands(inst);
    for (i, &def) in operands.iter().enumerate() {
        let source = reused_use(operands, def);
        if let Constraint::Reuse(k) = def.constraint() {
            let valid = source.is_some_and(|source| may_reuse(problem, def, source)) && !reused.contains(&k);
            errors.check(valid, Rule::Reuse, Entity::Operand(inst, i));
            reused.push(k);
        }
        if def.is_rmw() {
            let width = problem.width(def.vreg());
            let valid = source.is_some_and(|source| {
                source.constraint() == Constraint::MemOk && problem.width(source.vreg()) == width
            });
            errors.check(valid, Rule::ReadModifyWrite, Entity::Operand(inst, i));
        }
    }
}

fn may_reuse(problem: &Problem, def: Operand, source: Operand) -> bool {
    let in_register = !matches!(source.constraint(), Constraint::Stack | Constraint::Any | Constraint::Reuse(_));
    let late = def.is_def() && def.pos() == Pos::Late;
    let early = source.is_use() && source.pos() == Pos::Early;
    late && early && in_register && problem.class(def.vreg()) == problem.class(source.vreg())
}

/// Value that is fixed to each register, at the early and the late point of one instruction.
struct Points {
    owners: [[Option<VReg>; PReg::COUNT]; 2],
    /// Registers whose entries must be cleared.
    named: Vec<PReg>,
}

impl Points {
    /// Marks `reg` as taken by `vreg` at a point. Returns `true` if no other value has taken it.
    fn claim(&mut self, point: usize, reg: PReg, vreg: VReg) -> bool {
        let owner = self.owners[point][reg.index()].get_or_insert(vreg);
        self.named.push(reg);
        *owner == vreg
    }

    fn clear(&mut self) {
        for reg in self.named.drain(..) {
            self.owners[0][reg.index()] = None;
            self.owners[1][reg.index()] = None;
        }
    }
}

/// The edges of the defs of branches. Two defs on different edges never exist at once.
struct EdgeDefs {
    edges: SecondaryMap<VReg, PackedOption<Edge>>,
    /// Fixed late defs of the current branch, by edge and register, with the operand's index.
    fixed: Vec<(Edge, PReg, usize)>,
}

impl EdgeDefs {
    fn new(problem: &Problem) -> EdgeDefs {
        let mut edges = SecondaryMap::new();
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                edges[vreg] = edge.into();
            }
        }
        EdgeDefs { edges, fixed: Vec::new() }
    }
}

/// Checks rules 19 and 20. A reuse def is fixed where its use is.
fn check_fixed(problem: &Problem, inst: Inst, points: &mut Points, edge_defs: &mut EdgeDefs, errors: &mut Errors) {
    let operands = problem.operands(inst);
    let clobbers = problem.clobbers(inst);
    let clobbered = clobbers.lost.union(clobbers.partial);
    edge_defs.fixed.clear();
    for (i, &operand) in operands.iter().enumerate() {
        let fixed = operand.fixed_reg().or_else(|| reused_use(operands, operand)?.fixed_reg());
        let Some(reg) = fixed else { continue };
        let at = Entity::Operand(inst, i);
        let reaches_late = operand.is_def() || operand.pos() == Pos::Late;
        let reaches_early = operand.is_use() || operand.pos() == Pos::Early;
        errors.check(!(reaches_late && clobbered.contains(reg)), Rule::ClobbersAreNotDefs, at);
        if let (true, Some(edge)) = (operand.is_def() && !reaches_early, edge_defs.edges[operand.vreg()].expand()) {
            edge_defs.fixed.push((edge, reg, i));
            continue;
        }
        let early = !reaches_early || points.claim(0, reg, operand.vreg());
        let late = !reaches_late || points.claim(1, reg, operand.vreg());
        errors.check(early && late, Rule::FixedConflict, at);
    }
    sort(&mut edge_defs.fixed);
    let mut previous = None;
    for &(edge, reg, i) in &edge_defs.fixed {
        let taken = previous.replace((edge, reg)) == Some((edge, reg)) || points.owners[1][reg.index()].is_some();
        errors.check(!taken, Rule::FixedConflict, Entity::Operand(inst, i));
    }
    points.clear();
}

fn check_move(problem: &Problem, inst: Inst, errors: &mut Errors) {
    if !problem.flags(inst).has(InstFlags::MOVE) {
        return;
    }
    let operands = problem.operands(inst);
    let one = |def: bool, pos: Pos| {
        let mut found = operands.iter().filter(|operand| operand.is_def() == def && operand.pos() == pos);
        found.next().filter(|_| operands.len() == 2)
    };
    let valid = match (one(false, Pos::Early), one(true, Pos::Late)) {
        (Some(from), Some(to)) => {
            let (from, to) = (problem.vregs[from.vreg()], problem.vregs[to.vreg()]);
            from.class == to.class && to.width <= from.width
        }
        _ => false,
    };
    let bare = problem.flags(inst) == InstFlags::MOVE && *problem.clobbers(inst) == Clobbers::default();
    errors.check(valid && bare, Rule::Move, Entity::Inst(inst));
}

fn check_remat(problem: &Problem, inst: Inst, errors: &mut Errors) {
    if !problem.flags(inst).has(InstFlags::REMAT) {
        return;
    }
    let valid = match problem.operands(inst) {
        [def] => def.is_def() && def.pos() == Pos::Late && def.constraint() == Constraint::Reg,
        _ => false,
    };
    let bare = problem.flags(inst) == InstFlags::REMAT && *problem.clobbers(inst) == Clobbers::default();
    errors.check(valid && bare, Rule::Remat, Entity::Inst(inst));
}
