//! Constrained instructions: registers for their operands, with as few moves as possible.
//!
//! Operands that need registers are matched with registers first. Then values that live through stay where they are
//! if possible, or move to a free register (`live_through.rs`). If that reaches a dead end, registers for all are
//! found at once; spilling guarantees that there are enough. All moves and reloads together are one parallel move
//! before the instruction.

use crate::color_input::ColorInput;
use crate::coloring::Coloring;
use crate::demands::{Around, Demands, Request, Site, carries};
use crate::fast_path::drop_void_move;
use crate::instruction_scratch::Scratch;
use cranelift_entity::EntityRef;
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{AllocError, Allocation, Constraint, Inst, InstFlags, Loc, PReg, PRegSet, Step, VReg};

/// The current instruction.
#[derive(Clone, Copy)]
pub(crate) struct ColorSite<'a> {
    pub(crate) input: &'a ColorInput<'a>,
    pub(crate) inst: Inst,
    pub(crate) demands: Demands<'a>,
    /// Index of its first operand.
    pub(crate) base: usize,
    is_branch: bool,
}

impl Coloring {
    /// Assigns locations to the operands of a constrained instruction.
    #[inline(never)]
    pub(crate) fn constrained(
        &mut self,
        input: &ColorInput,
        step: &Step,
        scratch: &mut Scratch,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let &Step { inst, flags, operands: ref range, .. } = step;
        let demands = Demands::new(input.problem, (input.order, input.live), input.constraints, inst);
        let at = ColorSite { input, inst, demands, base: range.start, is_branch: flags.has(InstFlags::BRANCH) };
        self.assignment.used = self.assignment.used.union(demands.clobbers.lost);
        if at.is_branch {
            self.note_branch_defs(&at, scratch);
        }
        scratch.ending = self.ending(&at);
        self.find_sites(&at, scratch);
        if self.match_operands(&at, scratch).is_err() || !self.keep_live_through(&at, scratch) {
            self.solve(&at, scratch)?;
        }
        scratch.freed = self.freed(scratch.ending, &scratch.moved);
        self.move_values(&at, scratch, out)?;
        self.write_locs(&at, scratch, out);
        self.finish(&at, scratch, out);
        scratch.reloads.clear();
        scratch.copied.clear();
        scratch.begins.clear();
        Ok(())
    }

    /// Prepares the results of a branch: their next uses are those at the head of the target of their edge.
    fn note_branch_defs(&mut self, at: &ColorSite, scratch: &mut Scratch) {
        let problem = at.input.problem;
        let mut defs = at.demands.operands.iter().filter(|operand| operand.is_def()).peekable();
        if defs.peek().is_none() {
            return;
        }
        if self.branch_defs.len() < self.map.values.len() {
            self.branch_defs.resize(self.map.values.len(), Loc::NONE);
        }
        for def in defs.filter(|def| def.constraint() != Constraint::Stack && !def.is_reg()) {
            scratch.begins.push(def.vreg());
        }
        for &edge in problem.succs(at.input.order.block(self.index).block) {
            let to = at.input.order.index(problem.edge(edge).to);
            for &vreg in problem.edge_defs(edge) {
                if let Some(entry) = at.input.live.entry(to, vreg) {
                    self.map.values[vreg.index()].distance = entry.next.distance;
                }
            }
        }
    }

    /// Calls `f` with the predicates on the values around the instruction.
    fn with_around<T>(
        &self,
        at: &ColorSite,
        [reloads, copied, begins]: [&[VReg]; 3],
        f: impl FnOnce(&Around) -> T,
    ) -> T {
        let is_read = |vreg: VReg| self.map.at(vreg).is_some() || reloads.contains(&vreg);
        f(&Around {
            is_read_in_register: &is_read,
            is_read_in_memory: &|vreg| copied.contains(&vreg),
            lives_on: &|vreg| is_read(vreg) && self.map.lives_on(vreg, at.inst),
            begins_in_memory: &|vreg| begins.contains(&vreg),
        })
    }

    fn find_sites(&self, at: &ColorSite, scratch: &mut Scratch) {
        let Scratch { sites, reloads, copied, begins, .. } = scratch;
        sites.clear();
        self.with_around(at, [reloads, copied, begins], |around| {
            sites.extend((0..at.demands.operands.len()).map(|i| (at.demands.site(i, around), 0)));
        });
    }

    /// Finds the best registers for the operands.
    fn match_operands(&self, at: &ColorSite, scratch: &mut Scratch) -> Result<(), AllocError> {
        let Scratch { matching, sites, reloads, .. } = scratch;
        matching.clear();
        for (i, site) in sites.iter_mut().enumerate().filter(|(_, site)| site.0 == Site::Register) {
            let operand = at.demands.operands[i];
            let vreg = operand.vreg();
            let is_read = self.map.at(vreg).is_some() || reloads.contains(&vreg);
            let lives_on = operand.is_use() && is_read && self.map.lives_on(vreg, at.inst);
            let mut request = at.demands.request(i, lives_on)?;
            if operand.fixed_reg().is_none() {
                // A register that is overwritten holds the result from here on.
                let overwriter = at.demands.reuser(i).map(|def| def.vreg());
                let end = match overwriter {
                    None if operand.is_use() => self.known_end(vreg),
                    def => at.input.live.defs[def.unwrap_or(vreg).index()].end,
                };
                request.hint = self.hints(at.input, overwriter.unwrap_or(vreg), end);
            }
            site.1 = matching.add(at.inst, request)?;
        }
        matching.augment(at.input.env, at.inst, |request, reg| self.score(at, request, reg))?;
        scratch.note_requests();
        Ok(())
    }

    /// Returns the penalty of a register for a request.
    fn score(&self, at: &ColorSite, request: &Request, reg: PReg) -> i32 {
        let mut score = self.penalty(at.input, &request.hint, reg);
        let vreg = request.vreg;
        if request.is_use && self.map.at(vreg) == Some(reg) {
            // A copy is overwritten instead of the value itself, because later instructions may expect the value in
            // its register.
            score += if request.is_written && self.map.lives_on(vreg, at.inst) { 5 } else { -20 };
        }
        if self.map.occupied.contains(reg) {
            let other = self.map.resident(reg);
            score += match (self.map.lives_on(other, at.inst), request.points.early()) {
                _ if other == vreg => 0,
                (false, true) => 6,
                (false, false) => -2,
                (true, _) => 12,
            };
        }
        score
    }

    /// Finds registers for all operands and all values that live through, with the method of spilling. The current
    /// registers of the values are preferred.
    #[cold]
    fn solve(&self, at: &ColorSite, scratch: &mut Scratch) -> Result<(), AllocError> {
        let Scratch { matching, sites, moved, through, reloads, copied, begins, .. } = scratch;
        let values = self.map.residents().map(|(vreg, _)| vreg).chain(reloads.iter().copied());
        through.clear();
        through.extend(values.filter(|&vreg| self.map.lives_on(vreg, at.inst)));
        sort(through);
        self.with_around(at, [reloads, copied, begins], |around| {
            at.demands.request_all(matching, around, sites, through)?;
            let env = at.input.env;
            matching.augment(env, at.inst, |request, reg| self.disturbance(at, request.vreg, reg)).or_else(|_| {
                at.demands.request_all(matching, around, sites, through)?;
                at.demands.solve(matching, env)
            })
        })?;
        let carrier = |vreg: VReg| matching.requests().iter().find(|request| carries(request, vreg))?.reg;
        moved.clear();
        moved.extend(through.iter().filter_map(|&vreg| Some((vreg, carrier(vreg)?))));
        scratch.note_requests();
        Ok(())
    }

    /// Returns the move cost of assigning a register: lowest for the value's current register, highest if it holds a
    /// live-through value.
    fn disturbance(&self, at: &ColorSite, vreg: VReg, reg: PReg) -> i32 {
        let is_occupied = || self.map.occupied.contains(reg) && self.map.lives_on(self.map.resident(reg), at.inst);
        match self.map.at(vreg) {
            Some(own) if own == reg => -1,
            _ => i32::from(is_occupied()),
        }
    }

    /// Collects the parallel move before the instruction.
    fn move_values(&mut self, at: &ColorSite, scratch: &Scratch, out: &mut Allocation) -> Result<(), AllocError> {
        let mut brought = PRegSet::EMPTY;
        let reads = scratch.reads.iter().map(|read| (read.vreg, read.reg));
        for (vreg, reg) in reads.chain(scratch.moved.iter().copied()) {
            if !brought.contains(reg) {
                self.move_into(at, vreg, Loc::reg(reg), out);
            }
            brought.insert(reg);
        }
        let occupied = self.map.occupied.difference(scratch.freed);
        let taken = occupied.union(brought).union(scratch.taken.early);
        for (i, _) in scratch.sites.iter().enumerate().filter(|(_, site)| site.0 == Site::Memory) {
            // The memory twin modifies the slot of the result.
            if let Some(def) = at.demands.reuser(i).filter(|_| at.demands.operands[i].is_use()) {
                let slot = self.slot(at.input, def.vreg(), out);
                self.move_into(at, at.demands.operands[i].vreg(), Loc::slot(slot), out);
            }
        }
        self.resolve_moves(at.input, at.inst, taken, out)
    }

    /// Returns the registers of values with their last use in the instruction.
    fn ending(&self, at: &ColorSite) -> PRegSet {
        let uses = at.demands.operands.iter().filter(|operand| operand.is_use()).map(|operand| operand.vreg());
        uses.filter(|&vreg| !self.map.lives_on(vreg, at.inst)).filter_map(|vreg| self.map.at(vreg)).collect()
    }

    /// Returns the registers in `ending`, and the registers that `moved` values leave.
    pub(crate) fn freed(&self, ending: PRegSet, moved: &[(VReg, PReg)]) -> PRegSet {
        moved.iter().fold(ending, |freed, &(vreg, to)| match self.map.at(vreg) {
            Some(from) if from != to => freed.with(from),
            _ => freed,
        })
    }

    /// Adds the move of a value from its current register or from memory.
    fn move_into(&mut self, at: &ColorSite, vreg: VReg, to: Loc, out: &mut Allocation) {
        let from = self.map.at(vreg);
        self.add_move(at.input, vreg, from, to, out);
    }

    /// Adds the move of a value from its register `from`, or from memory if that is `None`.
    #[inline]
    pub(crate) fn add_move(
        &mut self,
        input: &ColorInput,
        vreg: VReg,
        from: Option<PReg>,
        to: Loc,
        out: &mut Allocation,
    ) {
        match from.map(Loc::reg) {
            Some(from) if from == to => {}
            Some(from) => self.moves.add(from, to, input.problem.class(vreg), input.problem.width(vreg)),
            None => self.add_load(input, vreg, to, out),
        }
    }

    fn add_load(&mut self, input: &ColorInput, vreg: VReg, to: Loc, out: &mut Allocation) {
        let (class, width) = (input.problem.class(vreg), input.problem.width(vreg));
        match input.constraints.remat(vreg) {
            Some(inst) => self.moves.add_remat(inst, to, class, width),
            None => {
                let slot = self.slot(input, vreg, out);
                self.moves.add(Loc::slot(slot), to, class, width);
            }
        }
    }

    /// Writes the locations of all operands.
    fn write_locs(&mut self, at: &ColorSite, scratch: &Scratch, out: &mut Allocation) {
        for i in 0..at.demands.operands.len() {
            let loc = self.loc_of(at, scratch, i, out);
            out.locs[at.base + i] = loc;
            if loc.as_slot().is_some() {
                self.assignment.in_memory.push((at.base + i) as u32);
            }
        }
    }

    /// Updates the map to the state after the instruction.
    fn finish(&mut self, at: &ColorSite, scratch: &Scratch, out: &mut Allocation) {
        drop_void_move(at.input.problem, at.inst, out);
        self.map.remove(scratch.freed);
        for &(vreg, to) in &scratch.moved {
            if self.map.at(vreg).is_none() {
                self.put(vreg, to);
            }
        }
        self.assignment.used = self.assignment.used.union(scratch.taken.early).union(scratch.taken.late);
        for (i, operand) in at.demands.operands.iter().enumerate().filter(|(_, operand)| operand.is_def()) {
            let (vreg, loc) = (operand.vreg(), out.locs[at.base + i]);
            if at.is_branch {
                self.branch_defs[vreg.index()] = loc;
            } else {
                self.finish_def(at.input, at.inst, vreg, loc, out);
            }
        }
    }

    fn loc_of(&mut self, at: &ColorSite, scratch: &Scratch, i: usize, out: &mut Allocation) -> Loc {
        let i = at.demands.operands[i].reused().map_or(i, usize::from);
        match scratch.sites[i] {
            (Site::Register, request) => scratch.matching.reg(request).map_or(Loc::NONE, Loc::reg),
            _ => {
                let operand = at.demands.operands[i];
                let owner = at.demands.reuser(i).filter(|_| operand.is_use()).unwrap_or(operand);
                Loc::slot(self.slot(at.input, owner.vreg(), out))
            }
        }
    }
}
