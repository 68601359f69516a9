//! Registers for the operands of one instruction: a small matching of needs with registers.
//!
//! An early use needs its register until the instruction writes, a late def from then on, and other operands
//! throughout. A reused use represents the def as well. Two uses of one value share a register if one constraint
//! covers the other. If that leaves too few registers, they also share if their constraints only overlap. Defs of a
//! branch on different edges share a register, too. The needs with the smallest choice come first. A need whose
//! registers are taken moves another need to a different register, if there is one (the augmenting paths of Kuhn,
//! 1955). Operands that may be in memory are there.
//!
//! The other allocators share one matching, in `regalloc-common`. This one is separate on purpose: a second opinion
//! on the instructions that have a solution, and an example that needs only the contract.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{
    AllocError, Block, Constraint, Edge, Inst, InstFlags, MachineEnv, Operand, PReg, PRegSet, Pos, Problem, RegClass,
    VReg,
};
use std::ops::Range;

/// Location of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Assigned {
    Reg(PReg),
    SlotOf(VReg),
}

/// A register that is needed at the early point, the late point or both.
#[derive(Clone, Copy)]
struct Need {
    vreg: VReg,
    class: RegClass,
    allowed: PRegSet,
    early: bool,
    late: bool,
    /// Whether the instruction writes it.
    written: bool,
    reg: Option<PReg>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Need(u32),
    SlotOf(VReg),
    SameAs(u8),
}

/// Largest number of needs: more than all registers at both points can never be satisfied.
const MAX_NEEDS: usize = 2 * PReg::COUNT;

/// The assignment of registers, one instruction at a time.
#[derive(Default)]
pub(crate) struct Assigner {
    needs: Vec<Need>,
    choices: Vec<Choice>,
    /// Per operand, the index of the def that reuses it.
    reused_by: Vec<Option<usize>>,
    order: Vec<u32>,
    /// Per register, the need that has it at the early and at the late point.
    owners: [Owners; 2],
    /// The edge that a def of a branch belongs to.
    edges: SecondaryMap<VReg, PackedOption<Edge>>,
    /// The defs of the current branch that belong to edges, by edge.
    edge_defs: Vec<(Edge, usize)>,
    sharing: Sharing,
}

heap_bytes!(Assigner { needs, choices, reused_by, order, edges, edge_defs } without { owners, sharing });

/// Conditions under which uses of one value share a register.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Sharing {
    /// The choice of one use contains the choice of the other.
    #[default]
    Covered,
    /// Also if the choices overlap: other operands may need the remaining registers.
    Overlapping,
}

struct Owners([Option<u32>; PReg::COUNT]);

impl Default for Owners {
    fn default() -> Owners {
        Owners([None; PReg::COUNT])
    }
}

impl Assigner {
    /// Prepares for the instructions of `problem`.
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.edges.clear();
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                self.edges[vreg] = edge.into();
            }
        }
    }

    /// Chooses the location of every operand of `inst`, for [`Assigner::assigned`].
    pub(crate) fn assign(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: Block,
        inst: Inst,
    ) -> Result<(), AllocError> {
        self.sharing = Sharing::Covered;
        self.assign_sharing(problem, env, block, inst).or_else(|_| {
            self.sharing = Sharing::Overlapping;
            self.assign_sharing(problem, env, block, inst)
        })
    }

    fn assign_sharing(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: Block,
        inst: Inst,
    ) -> Result<(), AllocError> {
        self.start(problem, inst);
        let operands = problem.operands(inst);
        let is_branch = problem.flags(inst).has(InstFlags::BRANCH) && inst == problem.terminator(block);
        for (i, &operand) in operands.iter().enumerate() {
            match self.edges[operand.vreg()].expand().filter(|_| is_branch && operand.is_def()) {
                Some(edge) => self.edge_defs.push((edge, i)),
                None => self.choose(problem, env, inst, i, 0)?,
            }
        }
        self.avoid_fixed_edge_defs(operands);
        let mut result = self.place_all(env, inst, 0..self.needs.len());
        self.edge_defs.sort_unstable();
        let mut rest = 0..self.edge_defs.len();
        while let (Ok(()), Some(&(edge, _))) = (&result, self.edge_defs.get(rest.start)) {
            result = self.assign_edge(problem, env, inst, edge, &mut rest);
        }
        self.owners_leave(0..self.needs.len());
        result
    }

    /// Returns the location of operand `i` of the instruction assigned last.
    pub(crate) fn assigned(&self, i: usize) -> Assigned {
        let mut choice = self.choices[i];
        if let Choice::SameAs(k) = choice {
            choice = self.choices.get(usize::from(k)).copied().unwrap_or(choice);
        }
        match choice {
            Choice::SlotOf(vreg) => Assigned::SlotOf(vreg),
            Choice::Need(n) => Assigned::Reg(self.needs[n as usize].reg.expect("every need was met")),
            Choice::SameAs(k) => panic!("operand {k} is reused and reuses another"),
        }
    }

    fn start(&mut self, problem: &Problem, inst: Inst) {
        let operands = problem.operands(inst);
        self.needs.clear();
        self.edge_defs.clear();
        self.choices.clear();
        self.choices.extend(operands.iter().map(|operand| Choice::SlotOf(operand.vreg())));
        self.reused_by.clear();
        self.reused_by.resize(operands.len(), None);
        for (i, operand) in operands.iter().enumerate() {
            if let Constraint::Reuse(k) = operand.constraint()
                && let Some(reused_by) = self.reused_by.get_mut(usize::from(k))
            {
                *reused_by = Some(i);
            }
        }
    }

    /// Decides between register and slot, and determines the allowed registers. The current needs begin at `first`.
    fn choose(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        i: usize,
        first: usize,
    ) -> Result<(), AllocError> {
        let operands = problem.operands(inst);
        let operand = operands[i];
        let class = problem.class(operand.vreg());
        let reuser = self.reused_by[i].map(|def| operands[def]);
        let allocatable = env.class(class).allocatable();
        let allowed = match (operand.constraint(), reuser) {
            (Constraint::Reuse(k), _) => {
                self.choices[i] = Choice::SameAs(k);
                return Ok(());
            }
            (Constraint::Stack | Constraint::MemOk | Constraint::Any, None) => return Ok(()),
            (Constraint::Stack | Constraint::MemOk | Constraint::Any, Some(def)) if def.is_rmw() => {
                self.choices[i] = Choice::SlotOf(def.vreg());
                return Ok(());
            }
            (Constraint::Fixed(reg), _) => allocatable.intersection(PRegSet::EMPTY.with(reg)),
            (Constraint::Within(set), _) => allocatable.intersection(problem.reg_set(set)),
            (Constraint::Reg | Constraint::Stack | Constraint::MemOk | Constraint::Any, _) => allocatable,
        };
        let early = operand.is_use() || operand.pos() == Pos::Early;
        let late = operand.is_def() || operand.pos() == Pos::Late || reuser.is_some();
        let width = problem.width(operand.vreg()).max(reuser.map_or(0, |def| problem.width(def.vreg())));
        let killed = if late { problem.clobbers(inst).killed(width) } else { PRegSet::EMPTY };
        let written = operand.is_def() || reuser.is_some();
        let allowed = allowed.difference(killed);
        let need = Need { vreg: operand.vreg(), class, allowed, early, late, written, reg: None };
        self.choices[i] = Choice::Need(self.add(need, first));
        match self.needs.len() - first > MAX_NEEDS {
            true => Err(AllocError::TooFewRegisters { inst, class }),
            false if allowed.is_empty() => Err(refusal(inst, operand, class)),
            false => Ok(()),
        }
    }

    /// Adds a need, or merges it with a need of another use of the same value.
    fn add(&mut self, need: Need, first: usize) -> u32 {
        let sharing = self.sharing;
        let shared = self.needs[first..].iter_mut().position(|other| share(other, &need, sharing));
        let index = shared.map_or(self.needs.len(), |i| first + i);
        if index == self.needs.len() {
            self.needs.push(need);
        }
        index as u32
    }

    /// Removes the registers of fixed defs on edges from needs at the late point, unless no register would be left.
    fn avoid_fixed_edge_defs(&mut self, operands: &[Operand]) {
        let fixed: PRegSet = self.edge_defs.iter().filter_map(|&(_, i)| operands[i].fixed_reg()).collect();
        for need in self.needs.iter_mut().filter(|need| need.late) {
            let others = need.allowed.difference(fixed);
            need.allowed = if others.is_empty() { need.allowed } else { others };
        }
    }

    /// Assigns the defs that belong to `edge`, the first ones of `rest`. They do not interfere with other edges'
    /// defs.
    fn assign_edge(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        edge: Edge,
        rest: &mut Range<usize>,
    ) -> Result<(), AllocError> {
        let first = self.needs.len();
        while let Some(&(_, i)) = self.edge_defs.get(rest.start).filter(|def| def.0 == edge) {
            self.choose(problem, env, inst, i, first)?;
            rest.start += 1;
        }
        let group = first..self.needs.len();
        self.place_all(env, inst, group.clone())?;
        self.owners_leave(group);
        Ok(())
    }

    /// Finds a register for each of the needs.
    fn place_all(&mut self, env: &MachineEnv, inst: Inst, group: Range<usize>) -> Result<(), AllocError> {
        let needs = &self.needs;
        self.order.clear();
        self.order.extend(group.clone().map(|n| n as u32));
        self.order.sort_unstable_by_key(|&n| {
            let need = &needs[n as usize];
            (need.allowed.len(), !(need.early && need.late), n)
        });
        for i in 0..self.order.len() {
            let n = self.order[i];
            if !self.place(env, n, group.start, &mut PRegSet::default()) {
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

    /// Finds a register for need `n`, if necessary one that another need from `first` on gives up for a different
    /// one. `tried` has the registers requested so far and bounds the recursion. Returns `true` on success.
    fn place(&mut self, env: &MachineEnv, n: u32, first: usize, tried: &mut PRegSet) -> bool {
        let need = self.needs[n as usize];
        let candidates = || env.class(need.class).order.iter().copied().filter(|&reg| need.allowed.contains(reg));
        if let Some(reg) = candidates().find(|&reg| self.owners_of(&need, reg) == (None, None)) {
            self.take(n, reg);
            return true;
        }
        for reg in candidates() {
            let rival = match self.owners_of(&need, reg) {
                (Some(a), Some(b)) if a != b => continue,
                (Some(rival), _) | (None, Some(rival)) if rival as usize >= first => rival,
                _ => continue,
            };
            if tried.contains(reg) {
                continue;
            }
            tried.insert(reg);
            self.leave(rival);
            self.take(n, reg);
            if self.place(env, rival, first, tried) {
                return true;
            }
            self.leave(n);
            self.take(rival, reg);
        }
        false
    }

    /// Returns the owners of `reg` at the points of `need`.
    fn owners_of(&self, need: &Need, reg: PReg) -> (Option<u32>, Option<u32>) {
        let owner = |point: usize, needed: bool| self.owners[point].0[reg.index()].filter(|_| needed);
        (owner(0, need.early), owner(1, need.late))
    }

    fn take(&mut self, n: u32, reg: PReg) {
        let need = &mut self.needs[n as usize];
        need.reg = Some(reg);
        for (owners, needed) in self.owners.iter_mut().zip([need.early, need.late]) {
            if needed {
                owners.0[reg.index()] = Some(n);
            }
        }
    }

    fn leave(&mut self, n: u32) {
        let Some(reg) = self.needs[n as usize].reg else { return };
        for owners in &mut self.owners {
            if owners.0[reg.index()] == Some(n) {
                owners.0[reg.index()] = None;
            }
        }
    }

    /// Frees the registers of a group for other needs. The choices remain.
    fn owners_leave(&mut self, group: Range<usize>) {
        group.for_each(|n| self.leave(n as u32));
    }
}

/// Merges `new` into `old` if both are uses of one value that may share a register. Returns `true` if they are
/// merged.
fn share(old: &mut Need, new: &Need, sharing: Sharing) -> bool {
    if old.vreg != new.vreg || old.written && new.written {
        return false;
    }
    // An early use shares with a use that needs the register for longer, a late one only if that use is not
    // written.
    let lasts = |long: &Need, short: &Need| !short.written && (!short.late || long.late && !long.written);
    let both = old.allowed.intersection(new.allowed);
    let may_narrow = |choice: PRegSet| match sharing {
        Sharing::Covered => both == choice,
        Sharing::Overlapping => !both.is_empty(),
    };
    if lasts(old, new) && may_narrow(old.allowed) {
        old.allowed = both;
        return true;
    }
    if lasts(new, old) && may_narrow(new.allowed) {
        *old = Need { allowed: both, ..*new };
        return true;
    }
    false
}

fn refusal(inst: Inst, operand: Operand, class: RegClass) -> AllocError {
    match operand.fixed_reg() {
        Some(reg) => AllocError::FixedConflict { inst, reg },
        None => AllocError::TooFewRegisters { inst, class },
    }
}
