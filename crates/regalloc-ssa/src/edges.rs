//! The ends of blocks: what a block finds in registers, and the moves on edges that bring it there.

use crate::coloring::{Coloring, Input, Output, Resident};
use crate::spilling::{NONE, is_joined};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Edge, Edit, EditKind, Inst, Loc, NoRegister, PRegSet, VReg};
use std::ops::Range;

impl Coloring {
    /// Starts the block at a place: fills the register map and the next uses at its head.
    #[inline(never)]
    pub(crate) fn enter(&mut self, input: &Input, place: u32, output: &mut Output) {
        let problem = input.problem;
        let block = input.order.blocks[place as usize];
        self.place = place;
        self.bounds = (problem.first_inst(block).as_u32(), problem.terminator(block).as_u32());
        self.live_refs.clear();
        let entries = input.live.entries(place);
        let values = &mut self.values[..];
        for entry in entries {
            let value = &mut values[entry.vreg.index()];
            value.next = entry.next;
            value.live_at = if entry.next.is_dead() { NONE } else { place };
        }
        if self.has_refs {
            let live = entries.iter().filter(|entry| !entry.next.is_dead()).map(|entry| entry.vreg);
            self.live_refs.extend(live.filter(|&vreg| problem.vregs[vreg].is_ref));
        }
        self.steps += entries.len() as u64;
        self.reserve(input, place);
        while input.facts.obstacles.get(self.obstacle).is_some_and(|obstacle| obstacle.place < place) {
            self.obstacle += 1;
        }
        self.find_obstacle(input);
        match problem.preds(block) {
            preds if place > 0 && is_joined(problem, block) => {
                self.empty();
                self.join(input, place);
                if let &[edge] = preds {
                    self.take_branch_defs(input, place, edge, output);
                }
            }
            &[edge] => self.inherit(input, place, edge, output),
            _ => self.empty(),
        }
        let first = problem.first_inst(block);
        for &param in problem.params(block) {
            if let Some(reg) = self.values[param.index()].at {
                self.store_def(input, param, reg, first, output);
            }
        }
        if !problem.labels.is_empty() {
            for entry in input.live.entries(place) {
                if !entry.next.is_dead() && input.facts.labelled[entry.vreg.index()] {
                    self.labels.note(entry.vreg, self.values[entry.vreg.index()].at, first);
                }
            }
        }
    }

    /// Homes of what will be in registers at the end are better left to it.
    fn reserve(&mut self, input: &Input, place: u32) {
        self.reserved = PRegSet::EMPTY;
        if self.bounds.0 == self.bounds.1 {
            return;
        }
        let exit = input.plan.exit(place).iter();
        let homes = exit.filter_map(|&vreg| input.homes.home(vreg));
        self.reserved = homes.collect();
    }

    /// The only way in: all that lives on is where it was.
    fn inherit(&mut self, input: &Input, place: u32, edge: Edge, output: &mut Output) {
        let problem = input.problem;
        let from = input.order.place(problem.edge(edge).from);
        if from + 1 == place {
            let (mut gone, values) = (PRegSet::EMPTY, &self.values[..]);
            for &Resident { vreg, reg, .. } in &self.residents[self.ends[from as usize].range()] {
                if values[vreg.index()].live_at != place {
                    gone.insert(reg);
                }
            }
            self.take_out_all(gone);
            return self.take_branch_defs(input, place, edge, output);
        }
        self.empty();
        for i in self.ends[from as usize].range() {
            let Resident { vreg, reg, clean, .. } = self.residents[i];
            if self.values[vreg.index()].live_at == place {
                self.put(vreg, reg);
                self.values[vreg.index()].clean = clean;
            }
        }
        self.take_branch_defs(input, place, edge, output);
    }

    /// Results of the branch before. Where the plan has them in memory they are stored at once.
    fn take_branch_defs(&mut self, input: &Input, place: u32, edge: Edge, output: &mut Output) {
        if input.problem.edge_defs(edge).is_empty() {
            return;
        }
        let first = Inst::from_u32(self.bounds.0);
        let joined = is_joined(input.problem, input.order.blocks[place as usize]);
        for &vreg in input.problem.edge_defs(edge) {
            if self.values[vreg.index()].live_at != place {
                continue;
            }
            let loc = self.branch_defs[vreg.index()];
            self.values[vreg.index()].clean = loc.as_slot().is_some();
            let Some(reg) = loc.as_reg() else { continue };
            if !joined && !self.occupied.contains(reg) {
                self.put(vreg, reg);
                self.store_def(input, vreg, reg, first, output);
            } else if let Some(to) = self.slot_to_write(input, vreg, output) {
                let kind = EditKind::Spill { from: reg, to, width: input.problem.width(vreg) };
                self.edits.push(Edit { at: first, kind });
            }
        }
    }

    /// Adds to the edits the moves of the one edge out of a block, before its branch.
    #[inline(never)]
    pub(crate) fn resolve_edge(&mut self, input: &Input, edge: Edge, output: &mut Output) -> Result<(), AllocError> {
        let problem = input.problem;
        let data = problem.edge(edge);
        let (from, to) = (input.order.place(data.from), input.order.place(data.to));
        let ends = self.ends[from as usize].range();
        if problem.edge_args(edge).is_empty() && self.is_still(input, ends.clone(), self.entries[to as usize].range()) {
            return Ok(());
        }
        for &Resident { vreg, reg, clean, .. } in &self.residents[ends.clone()] {
            let value = &mut self.values[vreg.index()];
            (value.at, value.clean) = (Some(reg), clean);
        }
        let (mut kept, mut passed) = (PRegSet::EMPTY, PRegSet::EMPTY);
        for i in self.entries[to as usize].range() {
            let Resident { vreg, reg, .. } = self.residents[i];
            kept.insert(reg);
            match self.values[vreg.index()].at {
                Some(at) if at == reg => passed.insert(reg),
                _ if input.live.is_defined_at_head(vreg, to) => {}
                at => {
                    passed = at.map_or(passed, |at| passed.with(at));
                    self.bring(input, vreg, Loc::reg(reg), output);
                }
            }
        }
        self.store_leaving(input, ends.clone(), passed, to, output);
        self.pass_args(input, edge, to, output);
        for resident in &self.residents[ends] {
            self.values[resident.vreg.index()].at = None;
        }
        if self.moves.is_empty() {
            return Ok(());
        }
        let at = problem.terminator(data.from);
        let read: PRegSet = output.out.operand_locs(problem, at).iter().filter_map(|loc| loc.as_reg()).collect();
        let free = input.facts.allocatable.difference(kept).difference(read);
        let done = self.moves.resolve(free, (problem, input.env), output.out, &mut self.sequence);
        output.out.edits.extend(self.sequence.drain(..).map(|kind| Edit { at, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })
    }

    /// Is everybody where the next block finds them, and nobody else left who is not in memory? Both lists are sorted by
    /// register.
    fn is_still(&self, input: &Input, ends: Range<usize>, entries: Range<usize>) -> bool {
        let mut wanted = self.residents[entries].iter().peekable();
        let is_still = self.residents[ends].iter().all(|here| {
            let stays = wanted.next_if(|there| there.reg == here.reg && there.vreg == here.vreg).is_some();
            stays || here.clean || input.facts.remat(here.vreg).is_some()
        });
        is_still && wanted.next().is_none()
    }

    /// Values that the block before has in registers and this one in memory. `passed` is where those are that this one
    /// has in registers, too.
    fn store_leaving(&mut self, input: &Input, ends: Range<usize>, passed: PRegSet, to: u32, output: &mut Output) {
        let problem = input.problem;
        for i in ends {
            let Resident { vreg, reg, clean, .. } = self.residents[i];
            if clean || passed.contains(reg) || input.facts.remat(vreg).is_some() {
                continue;
            }
            let lives = input.live.entry(to, vreg).is_some_and(|entry| !entry.next.is_dead());
            if lives && !input.live.is_defined_at_head(vreg, to) {
                let slot = output.reloads.place(problem, input.classes, vreg, output.out);
                self.moves.add(Loc::reg(reg), slot, problem.class(vreg), problem.width(vreg));
            }
        }
    }

    fn pass_args(&mut self, input: &Input, edge: Edge, to: u32, output: &mut Output) {
        let problem = input.problem;
        let mut hint = 0;
        let start = self.param_starts[to as usize] as usize;
        let pairs = problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge));
        for (i, (&param, &arg)) in pairs.enumerate() {
            if let Some(reg) = self.param_regs[start + i] {
                self.bring(input, arg, Loc::reg(reg), output);
            } else if input.live.entry_after(to, param, &mut hint).is_some_and(|entry| !entry.next.is_dead()) {
                self.pass_in_memory(input, param, arg, output);
            }
        }
    }

    /// The slot of a parameter gets the argument, unless it is there: members of one class share one.
    fn pass_in_memory(&mut self, input: &Input, param: VReg, arg: VReg, output: &mut Output) {
        let problem = input.problem;
        let to = output.reloads.place(problem, input.classes, param, output.out);
        let shared = input.classes.class(param) == input.classes.class(arg);
        let is_there = self.values[arg.index()].at.is_none() || self.values[arg.index()].clean;
        if !(shared && is_there && input.facts.remat(arg).is_none()) {
            self.bring(input, arg, to, output);
        }
    }

    /// Adds the move of a value to a place.
    fn bring(&mut self, input: &Input, vreg: VReg, to: Loc, output: &mut Output) {
        let problem = input.problem;
        let (class, width) = (problem.class(vreg), problem.width(vreg));
        match (self.values[vreg.index()].at, input.facts.remat(vreg)) {
            (Some(from), _) => self.moves.add(Loc::reg(from), to, class, width),
            (None, Some(inst)) => self.moves.add_remat(inst, to, class, width),
            (None, None) => {
                let slot = output.reloads.place(problem, input.classes, vreg, output.out);
                self.moves.add(slot, to, class, width);
            }
        }
    }
}
