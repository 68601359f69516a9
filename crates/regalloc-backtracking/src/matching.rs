//! Registers for the operands of one instruction, taken by itself: a matching of needs with registers.
//!
//! It is asked when minimal live ranges around an instruction get in each other's way. Its answer makes the operands
//! fixed, so that only copies are left to do. If it finds none, no allocator can (augmenting paths, Kuhn 1955).

use crate::order::NONE;
use kingpost_regalloc::{
    AllocError, Constraint, Inst, InstFlags, MachineEnv, Operand, PReg, PRegSet, Pos, Problem, RegClass, VReg,
};

/// A register that is needed at the early point, the late point or both.
#[derive(Clone, Copy)]
struct Need {
    vreg: VReg,
    class: RegClass,
    allowed: PRegSet,
    at: [bool; 2],
    written: bool,
    /// Which edge the def belongs to, or [`NONE`].
    edge: u32,
    reg: Option<PReg>,
}

/// Finds registers, one instruction after another.
#[derive(Default)]
pub(crate) struct Matching {
    needs: Vec<Need>,
    /// By operand: its need, or [`NONE`] for memory.
    chosen: Vec<u32>,
    tied: Vec<u32>,
    order: Vec<u32>,
}

impl Matching {
    /// The register of operand `k` of the instruction solved last; none if it is in memory.
    pub(crate) fn reg(&self, k: usize) -> Option<PReg> {
        self.needs.get(self.chosen[k] as usize).and_then(|need| need.reg)
    }

    /// Finds registers for all operands of `inst`. `edge_of` tells on which edge a def of a branch exists.
    ///
    /// # Errors
    /// If there is no solution.
    pub(crate) fn solve(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        edge_of: impl Fn(VReg) -> u32,
    ) -> Result<(), AllocError> {
        let operands = problem.operands(inst);
        self.needs.clear();
        self.chosen.clear();
        self.chosen.resize(operands.len(), NONE);
        self.tied.clear();
        self.tied.resize(operands.len(), NONE);
        for (d, operand) in operands.iter().enumerate() {
            if let Constraint::Reuse(k) = operand.constraint() {
                self.tied[usize::from(k)] = d as u32;
            }
        }
        let is_branch = problem.flags(inst).has(InstFlags::BRANCH);
        for (k, &operand) in operands.iter().enumerate() {
            let edge = if is_branch && operand.is_def() { edge_of(operand.vreg()) } else { NONE };
            self.add_need(problem, env, inst, k, edge)?;
        }
        for (k, operand) in operands.iter().enumerate() {
            if let Constraint::Reuse(use_index) = operand.constraint() {
                self.chosen[k] = self.chosen[usize::from(use_index)];
            }
        }
        self.avoid_edge_registers();
        self.place_all(env, inst)
    }

    fn add_need(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        k: usize,
        edge: u32,
    ) -> Result<(), AllocError> {
        let operands = problem.operands(inst);
        let operand = operands[k];
        let tied = operands.get(self.tied[k] as usize).copied();
        let class = problem.class(operand.vreg());
        let all = env.class(class).allocatable();
        let allowed = match operand.constraint() {
            Constraint::Reuse(_) => return Ok(()),
            Constraint::Stack | Constraint::MemOk | Constraint::Any if tied.is_none_or(Operand::is_rmw) => {
                return Ok(());
            }
            Constraint::Fixed(reg) => all.intersection(PRegSet::EMPTY.with(reg)),
            Constraint::Within(set) => all.intersection(problem.reg_set(set)),
            _ => all,
        };
        let late = operand.is_def() || operand.pos() == Pos::Late || tied.is_some();
        let width = problem.width(operand.vreg()).max(tied.map_or(0, |def| problem.width(def.vreg())));
        let killed = if late { problem.clobbers(inst).killed(width) } else { PRegSet::EMPTY };
        let allowed = allowed.difference(killed);
        if allowed.is_empty() || self.needs.len() > 4 * PReg::COUNT && edge == NONE {
            return Err(AllocError::TooFewRegisters { inst, class });
        }
        let at = [operand.is_use() || operand.pos() == Pos::Early, late];
        let written = operand.is_def() || tied.is_some();
        let need = Need { vreg: operand.vreg(), class, allowed, at, written, edge, reg: None };
        let shared = if edge == NONE { self.needs.iter_mut().position(|old| share(old, &need)) } else { None };
        self.chosen[k] = shared.unwrap_or(self.needs.len()) as u32;
        if shared.is_none() {
            self.needs.push(need);
        }
        Ok(())
    }

    /// What a def on an edge is fixed to is no place for what lasts until then, unless there is no other.
    fn avoid_edge_registers(&mut self) {
        let on_edges = self.needs.iter().filter(|need| need.edge != NONE && need.allowed.len() == 1);
        let fixed = on_edges.fold(PRegSet::EMPTY, |set, need| set.union(need.allowed));
        for need in self.needs.iter_mut().filter(|need| need.edge == NONE && need.at[1]) {
            let others = need.allowed.difference(fixed);
            if !others.is_empty() {
                need.allowed = others;
            }
        }
    }

    fn place_all(&mut self, env: &MachineEnv, inst: Inst) -> Result<(), AllocError> {
        let needs = &self.needs;
        self.order.clear();
        self.order.extend(0..needs.len() as u32);
        self.order.sort_unstable_by_key(|&n| {
            let need = &needs[n as usize];
            (need.edge.wrapping_add(1), need.allowed.len(), !(need.at[0] && need.at[1]), n)
        });
        for i in 0..self.order.len() {
            let n = self.order[i];
            if !self.place(env, n, &mut PRegSet::default()) {
                let Need { class, allowed, .. } = self.needs[n as usize];
                let only = allowed.iter().next().filter(|_| allowed.len() == 1);
                return Err(match only {
                    Some(reg) => AllocError::FixedConflict { inst, reg },
                    None => AllocError::TooFewRegisters { inst, class },
                });
            }
        }
        Ok(())
    }

    /// Gives need `n` a register, if necessary one whose holder can move. Registers in `tried` bound the recursion.
    fn place(&mut self, env: &MachineEnv, n: u32, tried: &mut PRegSet) -> bool {
        let need = self.needs[n as usize];
        let candidates = || env.class(need.class).order.iter().copied().filter(|&reg| need.allowed.contains(reg));
        if let Some(reg) = candidates().find(|&reg| self.rivals(&need, reg).next().is_none()) {
            self.needs[n as usize].reg = Some(reg);
            return true;
        }
        for reg in candidates() {
            let mut rivals = self.rivals(&need, reg);
            let (first, second) = (rivals.next(), rivals.next());
            drop(rivals);
            let Some(rival) = first.filter(|_| second.is_none() && !tried.contains(reg)) else { continue };
            if self.needs[rival as usize].edge != need.edge {
                continue;
            }
            tried.insert(reg);
            self.needs[rival as usize].reg = None;
            self.needs[n as usize].reg = Some(reg);
            if self.place(env, rival, tried) {
                return true;
            }
            self.needs[n as usize].reg = None;
            self.needs[rival as usize].reg = Some(reg);
        }
        false
    }

    fn rivals<'a>(&'a self, need: &'a Need, reg: PReg) -> impl Iterator<Item = u32> + 'a {
        (0..self.needs.len() as u32).filter(move |&other| {
            let other = &self.needs[other as usize];
            let meet = (0..2).any(|point| other.at[point] && need.at[point]);
            other.reg == Some(reg) && meet && (other.edge == need.edge || other.edge == NONE || need.edge == NONE)
        })
    }
}

/// Lets `new` share the register of `old` if both are uses of one value and no constraint becomes harder to meet.
fn share(old: &mut Need, new: &Need) -> bool {
    if old.vreg != new.vreg || old.written && new.written {
        return false;
    }
    let both = old.allowed.intersection(new.allowed);
    if old.at == new.at && !old.written && !new.written && !both.is_empty() {
        old.allowed = both;
        return true;
    }
    let covers = |long: &Need, short: &Need| short.at == [true, false] && both == long.allowed && long.at[0];
    if covers(old, new) {
        return true;
    }
    if covers(new, old) {
        *old = *new;
        return true;
    }
    false
}
