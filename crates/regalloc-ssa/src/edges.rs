//! The ends of blocks: what a block finds in registers, and the moves on edges that bring it there.

use crate::coalescing::Coalescing;
use crate::coloring::{Coloring, Input, Resident, Span};
use crate::liveness::{AWAY, DEAD};
use crate::reload::Reloads;
use kingpost_regalloc::{AllocError, Allocation, Block, Edge, Edit, Loc, NoRegister, PReg, PRegSet, Problem, VReg};

/// Of how many predecessors it is asked whether they have a value in a register.
const MAX_ASKED: usize = 8;

/// Does the edge carry moves? Where there is only one way in, and nothing is passed, the block takes over what is.
fn is_joined(problem: &Problem, block: Block) -> bool {
    problem.preds(block).len() != 1 || !problem.params(block).is_empty()
}

/// Does a branch with operands or clobbers lead to a join? No move can stand between it and the block, so that
/// what it leaves must do.
fn has_busy_pred(problem: &Problem, block: Block) -> bool {
    problem.preds(block).iter().any(|&edge| {
        let inst = problem.terminator(problem.edge(edge).from);
        let clobbers = problem.clobbers(inst);
        !problem.operands(inst).is_empty() || !clobbers.lost.union(clobbers.partial).is_empty()
    })
}

impl Coloring {
    /// Fills the register map for the head of a block.
    pub(crate) fn choose_entry(
        &mut self,
        input: Input,
        block: Block,
        classes: &mut Coalescing,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) {
        let problem = input.problem;
        let preds = problem.preds(block);
        let visited = preds.iter().copied().filter(|&edge| self.visited[problem.edge(edge).from]);
        // The first of the most frequent ones.
        let from = visited.rev().max_by_key(|&edge| problem.edge(edge).freq);
        let Some(from) = from else { return };
        match is_joined(problem, block) {
            false => self.inherit(problem, from),
            true if has_busy_pred(problem, block) => {}
            true => {
                self.take_over(input, block, from);
                self.place_params(input, block, from, classes, reloads, out);
                self.load_early(input, block, classes);
            }
        }
        let is_loop = input.plan.room(block).is_some();
        let start = self.residents.len() as u32;
        for &(vreg, distance) in input.live.entry(block) {
            match self.at[vreg] {
                _ if distance == DEAD => {}
                Some(reg) => {
                    self.residents.push((vreg, reg));
                    if is_loop {
                        self.former[vreg] = Some(reg);
                    }
                }
                None => reloads.leave(problem, input.live, vreg, out),
            }
        }
        self.entries[block] = Span { start, end: self.residents.len() as u32 };
    }

    /// The only way in: all that lives on is where it was.
    fn inherit(&mut self, problem: &Problem, from: Edge) {
        let data = problem.edge(from);
        for i in self.ends[data.from].range() {
            let (vreg, reg) = self.residents[i];
            if self.is_entering(vreg) {
                self.put(vreg, reg);
            }
        }
        for &vreg in problem.edge_defs(from) {
            let reg = self.branch_defs[vreg].and_then(Loc::as_reg);
            if let Some(reg) = reg.filter(|_| self.is_entering(vreg)) {
                self.put(vreg, reg);
            }
        }
    }

    /// Is the value among those that the head of the block at hand just set the next use of?
    fn is_entering(&self, vreg: VReg) -> bool {
        self.entering[vreg]
    }

    /// What the predecessor has in registers, but for values that only live through a loop without room for them, and
    /// for those that are used far away and not in registers everywhere.
    fn take_over(&mut self, input: Input, block: Block, from: Edge) {
        let problem = input.problem;
        self.through.clear();
        for i in self.ends[problem.edge(from).from].range() {
            let (vreg, reg) = self.residents[i];
            if !self.is_entering(vreg) {
                continue;
            }
            match (self.next[vreg].0 >= AWAY, input.plan.room(block)) {
                (true, Some(_)) => self.through.push((vreg, reg)),
                (true, None) if !self.is_everywhere(problem, block, vreg) => {}
                _ => self.put(vreg, reg),
            }
        }
        let Some(mut room) = input.plan.room(block) else { return };
        let mut through = std::mem::take(&mut self.through);
        through.sort_unstable_by_key(|&(vreg, _)| (self.next[vreg].0, vreg));
        for &(vreg, reg) in &through {
            let room = &mut room[problem.class(vreg).index()];
            if *room > 0 {
                *room -= 1;
                self.put(vreg, reg);
            }
        }
        self.through = through;
    }

    /// Is the value in a register at the end of each predecessor visited so far?
    fn is_everywhere(&self, problem: &Problem, block: Block, vreg: VReg) -> bool {
        problem.preds(block).iter().take(MAX_ASKED).all(|&edge| {
            let from = problem.edge(edge).from;
            !self.visited[from] || self.residents[self.ends[from].range()].iter().any(|r| r.0 == vreg)
        })
    }

    /// Before a loop that has registers left, values used in it are brought into free ones, the nearest first.
    fn load_early(&mut self, input: Input, block: Block, classes: &Coalescing) {
        let Some(room) = input.plan.room(block) else { return };
        let first = input.problem.first_inst(block);
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        let entering = input.live.entry(block).iter().filter(|entry| entry.1 < AWAY && self.at[entry.0].is_none());
        near.extend(entering.map(|&(vreg, distance)| (distance, vreg)));
        near.retain(|&(_, vreg)| !input.live.is_defined_at_head(vreg, block));
        near.sort_unstable();
        for &(_, vreg) in &near {
            let class = input.env.class(input.problem.class(vreg));
            let saved = class.callee_saved.difference(self.used);
            let free =
                input.allocatable.of_class(input.problem.class(vreg)).difference(self.occupied).difference(saved);
            let rate = |reg: PReg| self.suits(input, classes, vreg, reg, first);
            let best = class.order.iter().copied().filter(|&reg| free.contains(reg)).min_by_key(|&reg| rate(reg));
            let fits = room[input.problem.class(vreg).index()] > 0 && free.len() > 1;
            if let Some(reg) = best.filter(|_| fits) {
                self.put(vreg, reg);
            }
        }
        self.near = near;
    }

    /// Registers for parameters: those of their arguments, free ones, or those of values used later.
    fn place_params(
        &mut self,
        input: Input,
        block: Block,
        from: Edge,
        classes: &mut Coalescing,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) {
        let problem = input.problem;
        let source = self.ends[problem.edge(from).from];
        let first = problem.first_inst(block);
        for (i, &param) in problem.params(block).iter().enumerate() {
            if self.next[param].0 == DEAD {
                continue;
            }
            let arg = problem.edge_args(from)[i];
            let there = self.residents[source.range()].iter().find(|r| r.0 == arg).map(|r| r.1);
            let class = input.env.class(problem.class(param));
            let free = input.allocatable.of_class(problem.class(param)).difference(self.occupied);
            let rate = |reg: PReg| {
                let here = if there == Some(reg) { 4 } else { 0 };
                self.suits(input, classes, param, reg, first) - here
            };
            let best = class.order.iter().copied().filter(|&reg| free.contains(reg)).min_by_key(|&reg| rate(reg));
            let reg = match best {
                Some(reg) => Some(reg),
                None => self.make_room(input, param, reloads, out),
            };
            if let Some(reg) = reg {
                self.put(param, reg);
                classes.settle(param, reg);
            }
        }
    }

    /// Takes the register of the value that is used last, if that is after `param`.
    fn make_room(&mut self, input: Input, param: VReg, reloads: &mut Reloads, out: &mut Allocation) -> Option<PReg> {
        let all = input.allocatable.of_class(input.problem.class(param));
        let residents = self.occupied.intersection(all).iter().filter_map(|reg| Some((self.resident(reg)?, reg)));
        let (rival, reg): Resident = residents.max_by_key(|r| (self.next[r.0].0, r.0))?;
        if self.next[rival].0 <= self.next[param].0 {
            return None;
        }
        reloads.leave(input.problem, input.live, rival, out);
        self.take_out(reg);
        Some(reg)
    }

    /// Adds to `edits` the moves of the one edge out of a block, before its branch.
    pub(crate) fn resolve_edge(
        &mut self,
        input: Input,
        edge: Edge,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let problem = input.problem;
        let data = problem.edge(edge);
        if problem.succs(data.from).len() != 1 || !is_joined(problem, data.to) {
            return Ok(());
        }
        for i in self.ends[data.from].range() {
            let (vreg, reg) = self.residents[i];
            self.at[vreg] = Some(reg);
        }
        let mut kept = PRegSet::EMPTY;
        for i in self.entries[data.to].range() {
            let (vreg, reg) = self.residents[i];
            kept.insert(reg);
            if !input.live.is_defined_at_head(vreg, data.to) {
                self.bring_to(input, vreg, Loc::reg(reg), reloads, out);
            }
        }
        for (&param, &arg) in problem.params(data.to).iter().zip(problem.edge_args(edge)) {
            let entries = &self.residents[self.entries[data.to].range()];
            if let Some(&(_, reg)) = entries.iter().find(|r| r.0 == param) {
                self.bring_to(input, arg, Loc::reg(reg), reloads, out);
            }
            if let Some(slot) = reloads.slot(param) {
                self.bring_to(input, arg, Loc::slot(slot), reloads, out);
            }
        }
        for i in self.ends[data.from].range() {
            self.at[self.residents[i].0] = None;
        }
        let at = problem.terminator(data.from);
        let free = input.allocatable.difference(kept);
        let done = self.moves.resolve(free, input.env, out, &mut self.sequence);
        out.edits.extend(self.sequence.drain(..).map(|kind| Edit { at, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })
    }

    fn bring_to(&mut self, input: Input, vreg: VReg, to: Loc, reloads: &mut Reloads, out: &mut Allocation) {
        let problem = input.problem;
        match self.at[vreg] {
            Some(from) => self.moves.add(Loc::reg(from), to, problem.class(vreg), problem.width(vreg)),
            None => reloads.bring(problem, input.live, vreg, to, &mut self.moves, out),
        }
    }
}
