//! One instruction: registers for its operands, all constraints at once.
//!
//! ```text
//! v0 in cx, v1 in r1, both live on:   s = shl v0, v1 = cx; def s reuse 0
//!     move r2 <- cx                   a copy of v0 for the tied pair
//!     exchange cx, r1                 v1 where the instruction wants it, v0 out of the way
//! ```
//!
//! Operands are served in an order in which earlier ones leave little room for mistakes: fixed ones, those that are
//! already in place, tied pairs, other uses, early defs, late defs. Values that are in the way then move aside if
//! a register is left, else to memory. Should an operand find no register this way, `exact.rs` looks at all assignments.
//!
//! Operands that may be in memory (`any`, and `mem` uses) come last and take what there is.

use crate::machine::{Reg, regs};
use crate::order::NONE;
pub(crate) use crate::plan::Plan;
use crate::plan::{BOTH, Copy, EARLY, LATE, UNTIED};
use crate::point::Point;
use crate::walk::{Gap, GapMove, Scan};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, ClobberId, Constraint, Event, Inst, InstFlags, Operand, Pos, VReg};

/// No register is left for an operand.
pub(crate) struct NoneLeft;

impl Scan<'_, '_> {
    pub(crate) fn instruction(&mut self, inst: Inst, slot: u32) -> Result<(), AllocError> {
        let problem = self.problem;
        let operands = problem.operands(inst);
        let flags = problem.flags(inst);
        if operands.is_empty() && problem.clobber_id(inst) == ClobberId::NONE && !flags.has(InstFlags::SAFEPOINT) {
            return Ok(());
        }
        self.out.stats.steps += operands.len() as u64 + 1;
        if self.serve_simply(inst, slot, operands) {
            return Ok(());
        }
        self.begin_plan(inst, slot, operands);
        self.choose_registers(inst, operands)?;
        self.clear_the_way(operands);
        self.settle_copies(inst);
        self.place_uses(inst, operands);
        self.end_uses(operands);
        self.place_defs(inst, operands);
        Ok(())
    }

    /// First one operand after the other; then all ways; then all ways with everything in memory that may be there.
    fn choose_registers(&mut self, inst: Inst, operands: &[Operand]) -> Result<(), AllocError> {
        self.claim_fixed(inst, operands)?;
        if self.choose_greedily(operands).is_ok() {
            return Ok(());
        }
        self.s.plan.forget_choices(operands.len());
        if self.choose_exactly(inst, operands).is_ok() {
            return Ok(());
        }
        self.s.plan.forget_choices(operands.len());
        self.s.plan.prefers_memory = true;
        self.choose_exactly(inst, operands)
    }

    fn begin_plan(&mut self, inst: Inst, slot: u32, operands: &[Operand]) {
        let kills = *self.machine.kills(self.problem.clobber_id(inst));
        let safepoint = self.problem.flags(inst).has(InstFlags::SAFEPOINT);
        self.s.plan.begin(slot, operands.len(), kills, safepoint);
        for (k, operand) in operands.iter().enumerate() {
            match operand.constraint() {
                Constraint::Reuse(source) if usize::from(source) < operands.len() => {
                    self.s.plan.tied[usize::from(source)] = k as u16;
                }
                _ => {}
            }
            if operand.is_use() {
                let home = self.found.residence.home(operand.vreg());
                if !home.is_none() && !self.is_live(operand.vreg(), Point::late(slot)) {
                    self.s.plan.dying[home.class()] |= home.bit();
                }
            }
        }
    }

    /// Points at which an operand keeps its register.
    pub(crate) fn points(&self, operand: Operand) -> u8 {
        match (operand.is_def(), operand.pos()) {
            (false, Pos::Early) => EARLY,
            (true, Pos::Late) => LATE,
            _ => BOTH,
        }
    }

    pub(crate) fn class_of(&self, operand: Operand) -> usize {
        self.problem.class(operand.vreg()).index()
    }

    /// Registers in which a value of the operand's width does not survive the instruction.
    pub(crate) fn killed(&self, vreg: VReg) -> u64 {
        let data = self.problem.vregs[vreg];
        self.s.plan.kills.of(data.class.index(), data.width)
    }

    /// May the operand be in memory? A value that would have to be put there first is only as a last resort.
    pub(crate) fn is_soft(&self, operands: &[Operand], k: usize) -> bool {
        let (operand, tied) = (operands[k], self.s.plan.tied[k]);
        let last_resort = self.s.plan.prefers_memory;
        match operand.constraint() {
            Constraint::Any | Constraint::Stack => tied == UNTIED,
            Constraint::MemOk if tied == UNTIED => {
                operand.is_def() || last_resort || !self.hints.is_remat(operand.vreg())
            }
            Constraint::MemOk => last_resort && operands[usize::from(tied)].is_rmw(),
            Constraint::Reuse(_) => last_resort && operand.is_rmw(),
            _ => false,
        }
    }

    /// Two results of one terminator that never exist together.
    fn are_exclusive(&self, a: VReg, b: VReg) -> bool {
        self.live.is_edge_def(a) && self.live.is_edge_def(b) && self.live.def(a) != self.live.def(b)
    }

    /// Fixed operands have no choice.
    ///
    /// # Errors
    /// If two values need one register at once.
    pub(crate) fn claim_fixed(&mut self, inst: Inst, operands: &[Operand]) -> Result<(), AllocError> {
        for (k, &operand) in operands.iter().enumerate() {
            let Constraint::Fixed(preg) = operand.constraint() else { continue };
            let reg = self.machine.reg(preg);
            if reg.is_none() || reg.class() != self.class_of(operand) {
                return Err(AllocError::TooFewRegisters { inst, class: self.problem.class(operand.vreg()) });
            }
            self.claim_fixed_at(reg, operand.vreg(), self.points(operand), inst)?;
            self.s.plan.regs[k] = reg;
            let def = self.s.plan.tied[k];
            if def != UNTIED {
                self.claim_fixed_at(reg, operands[usize::from(def)].vreg(), LATE, inst)?;
                self.s.plan.regs[usize::from(def)] = reg;
            }
        }
        Ok(())
    }

    fn claim_fixed_at(&mut self, reg: Reg, vreg: VReg, points: u8, inst: Inst) -> Result<(), AllocError> {
        let fits = self.s.plan.can_claim(reg, vreg, points)
            || (points == LATE && self.s.plan.owner(reg, 1).is_some_and(|owner| self.are_exclusive(owner, vreg)));
        if !fits {
            return Err(AllocError::FixedConflict { inst, reg: self.machine.preg(reg) });
        }
        self.s.plan.claim(reg, vreg, points);
        Ok(())
    }

    fn choose_greedily(&mut self, operands: &[Operand]) -> Result<(), NoneLeft> {
        self.keep_in_place(operands);
        for (k, &operand) in operands.iter().enumerate() {
            let def = self.s.plan.tied[k];
            if operand.is_use() && def != UNTIED && self.s.plan.regs[k].is_none() && !self.is_soft(operands, k) {
                self.choose_pair(operands, k, usize::from(def))?;
            }
        }
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_use() && self.s.plan.regs[k].is_none() && !self.is_soft(operands, k) {
                self.choose_use(operand, k)?;
            }
        }
        for points in [BOTH, LATE] {
            for (k, &operand) in operands.iter().enumerate() {
                if operand.is_def() && self.s.plan.regs[k].is_none() && self.points(operand) == points {
                    self.choose_def(operands, k)?;
                }
            }
        }
        Ok(())
    }

    /// Uses whose value is in a register that will do stay there.
    fn keep_in_place(&mut self, operands: &[Operand]) {
        for (k, &operand) in operands.iter().enumerate() {
            let vreg = operand.vreg();
            if operand.is_def() || self.s.plan.tied[k] != UNTIED || !self.s.plan.regs[k].is_none() {
                continue;
            }
            if self.is_soft(operands, k) {
                continue;
            }
            let home = self.found.residence.home(vreg);
            let points = self.points(operand);
            if !home.is_none() && self.fits(operand, home, points) && self.s.plan.can_claim(home, vreg, points) {
                self.s.plan.claim(home, vreg, points);
                self.s.plan.regs[k] = home;
            }
        }
    }

    /// Does the operand's constraint admit the register, and does the register survive the operand's points?
    fn fits(&self, operand: Operand, reg: Reg, points: u8) -> bool {
        let class = self.class_of(operand);
        let killed = if points & LATE != 0 { self.killed(operand.vreg()) } else { 0 };
        reg.class() == class && self.machine.allowed(operand, class) & !killed & reg.bit() != 0
    }

    /// A use and the def that takes its place: the value's own register if the value dies here, else a copy's.
    fn choose_pair(&mut self, operands: &[Operand], k: usize, def: usize) -> Result<(), NoneLeft> {
        let (source, result) = (operands[k], operands[def].vreg());
        let vreg = source.vreg();
        let home = self.found.residence.home(vreg);
        let late = Point::late(self.s.plan.slot);
        let in_place = !home.is_none()
            && self.fits(source, home, BOTH)
            && self.s.plan.can_claim(home, vreg, EARLY)
            && self.s.plan.can_claim(home, result, LATE)
            && !self.is_live(vreg, late);
        let reg = match in_place {
            true => home,
            false => self.pick(source, result, BOTH, Reg::NONE)?,
        };
        self.s.plan.claim(reg, vreg, EARLY);
        self.s.plan.claim(reg, result, LATE);
        self.s.plan.regs[k] = reg;
        self.s.plan.regs[def] = reg;
        Ok(())
    }

    fn choose_use(&mut self, operand: Operand, k: usize) -> Result<(), NoneLeft> {
        let vreg = operand.vreg();
        let points = self.points(operand);
        let class = self.class_of(operand);
        let allowed = self.machine.allowed(operand, class);
        let reg = match self.s.plan.holding(vreg, class, allowed, points) {
            Some(reg) => reg,
            None => {
                let lives_on = self.is_live(vreg, Point::late(self.s.plan.slot));
                let lasting = if lives_on { self.pick_free(operand, vreg, BOTH, Reg::NONE) } else { None };
                let reg = match lasting {
                    Some(reg) => reg,
                    None => self.pick(operand, vreg, points, Reg::NONE)?,
                };
                if lives_on && self.killed(vreg) & reg.bit() == 0 {
                    self.s.plan.loaded[class] |= reg.bit();
                }
                reg
            }
        };
        self.s.plan.claim(reg, vreg, points);
        self.s.plan.regs[k] = reg;
        Ok(())
    }

    fn choose_def(&mut self, operands: &[Operand], k: usize) -> Result<(), NoneLeft> {
        let operand = operands[k];
        let points = self.points(operand);
        let is_pair = matches!(operand.constraint(), Constraint::Reuse(_));
        if operand.constraint() == Constraint::Stack || is_pair {
            return Ok(());
        }
        // A copy had best stay where its source is.
        let prefer = match operands.len() {
            2 => self.s.plan.regs[1 - k],
            _ => Reg::NONE,
        };
        if operand.constraint() == Constraint::Reg
            && let Some(reg) = self.parameters_register(operand.vreg(), self.s.plan.slot)
            && self.available(operand, operand.vreg(), points) & reg.bit() != 0
        {
            self.s.plan.claim(reg, operand.vreg(), points);
            self.s.plan.regs[k] = reg;
            return Ok(());
        }
        // What can be computed anywhere takes no register from others.
        let is_remat = self.hints.is_remat(operand.vreg());
        let reg = match is_remat || self.is_soft(operands, k) {
            true => match self.pick_free(operand, operand.vreg(), points, prefer) {
                Some(reg) => reg,
                None => return Ok(()),
            },
            false => self.pick(operand, operand.vreg(), points, prefer)?,
        };
        let fresh = self.machine.callee_saved[reg.class()] & !self.found.residence.used[reg.class()];
        if is_remat && fresh & reg.bit() != 0 {
            return Ok(());
        }
        self.s.plan.claim(reg, operand.vreg(), points);
        self.s.plan.regs[k] = reg;
        Ok(())
    }

    /// Registers that the operand may have at `points`, apart from who lives in them.
    fn available(&self, operand: Operand, vreg: VReg, points: u8) -> u64 {
        let class = self.class_of(operand);
        let plan = &self.s.plan;
        let mut mask = self.machine.allowed(operand, class);
        if points & EARLY != 0 {
            mask &= !plan.taken[0][class];
        }
        if points & LATE != 0 {
            mask &= !plan.taken[1][class] & !self.killed(operand.vreg()) & !self.killed(vreg);
        }
        mask
    }

    /// A register that nobody lives in at `points`, for the operand; it is to suit `vreg`.
    fn pick_free(&mut self, operand: Operand, vreg: VReg, points: u8, prefer: Reg) -> Option<Reg> {
        let class = self.class_of(operand);
        let plan = &self.s.plan;
        let mut lived_in = plan.loaded[class] | self.found.residence.held[class];
        if points == LATE {
            lived_in &= !plan.dying[class];
        }
        let free = self.available(operand, vreg, points) & !lived_in;
        let from = if vreg == operand.vreg() && points & EARLY != 0 { EARLY } else { LATE };
        let point = if from == EARLY { Point::early(plan.slot) } else { Point::late(plan.slot) };
        (free != 0).then(|| self.choose(vreg, free, point, prefer))
    }

    /// A free register, or the one whose value can best do without.
    fn pick(&mut self, operand: Operand, vreg: VReg, points: u8, prefer: Reg) -> Result<Reg, NoneLeft> {
        if let Some(reg) = self.pick_free(operand, vreg, points, prefer) {
            return Ok(reg);
        }
        let class = self.class_of(operand);
        let available = self.available(operand, vreg, points);
        let lived_in = available & self.found.residence.held[class];
        let point = Point::early(self.s.plan.slot);
        self.out.stats.steps += u64::from(lived_in.count_ones());
        if let Some((reg, _)) = self.farthest(class, lived_in, point) {
            self.out.stats.evictions += 1;
            let (loser, at) = (self.found.residence.holder_vreg(reg), self.inst_at(point));
            self.event(Event::Evict { vreg: loser, winner: vreg, at });
            return Ok(reg);
        }
        match available {
            0 => Err(NoneLeft),
            _ => Ok(Reg::new(class, available.trailing_zeros())),
        }
    }

    /// Does `vreg`, in `reg` before the instruction, still have it afterwards?
    fn survives(&self, vreg: VReg, reg: Reg) -> bool {
        let data = self.problem.vregs[vreg];
        self.s.plan.owner(reg, 1).is_none_or(|owner| owner == vreg)
            && self.killed(vreg) & reg.bit() == 0
            && !(self.s.plan.safepoint && data.is_ref)
    }

    /// Moves or spills the values in registers that operands or clobbers take, and lists the copies operands need.
    fn clear_the_way(&mut self, operands: &[Operand]) {
        let slot = self.s.plan.slot;
        let mut moved = [0; 2];
        for (k, operand) in operands.iter().enumerate() {
            let (reg, vreg) = (self.s.plan.regs[k], operand.vreg());
            if reg.is_none() && self.s.plan.tied[k] != UNTIED {
                self.copy_into_memory(vreg, operands[usize::from(self.s.plan.tied[k])].vreg());
            } else if reg.is_none() && self.is_constant_in_memory(*operand) {
                self.copy_into_memory(vreg, vreg);
            }
            if operand.is_def() || reg.is_none() || reg.is_in(&moved) {
                continue;
            }
            if self.found.residence.home(vreg) != reg {
                moved[reg.class()] |= reg.bit();
                let from = self.found.residence.open_stay(vreg).unwrap_or(NONE);
                self.s.plan.copies.push(Copy { vreg, from, to: reg, into: vreg, moves_home: false });
            }
        }
        let held = self.found.residence.held;
        for (class, held) in held.into_iter().enumerate() {
            let plan = &self.s.plan;
            let mut in_the_way = plan.taken[0][class] | plan.taken[1][class] | plan.kills.any(class);
            if plan.safepoint {
                in_the_way = u64::MAX;
            }
            for reg in regs(class, held & in_the_way) {
                self.clear(reg, slot);
            }
        }
        self.settle_loaded(operands);
    }

    /// A tied pair in memory is in the slot of its def, a constant in one of its own, just for this instruction.
    fn copy_into_memory(&mut self, vreg: VReg, into: VReg) {
        let from = self.found.residence.open_stay(vreg).unwrap_or(NONE);
        self.found.residence.facts(into).pair_in_mem |= vreg != into;
        self.s.plan.copies.push(Copy { vreg, from, to: Reg::NONE, into, moves_home: false });
    }

    fn is_constant_in_memory(&self, operand: Operand) -> bool {
        operand.is_use() && operand.constraint() == Constraint::MemOk && self.hints.is_remat(operand.vreg())
    }

    /// The value that lives in `reg` leaves it if it must.
    fn clear(&mut self, reg: Reg, slot: u32) {
        let stay = self.found.residence.holder(reg);
        let vreg = self.found.residence.stay(stay).vreg;
        let gone_early = self.s.plan.owner(reg, 0).is_some_and(|owner| owner != vreg);
        let lives_on = self.is_live(vreg, Point::late(slot));
        if !gone_early && (!lives_on || self.survives(vreg, reg)) {
            return;
        }
        let is_used = self.next_use(vreg, Point::early(slot)).slot() == slot;
        if !lives_on {
            let is_copied = self.s.plan.copies.iter().any(|copy| copy.vreg == vreg && !copy.to.is_none());
            if is_copied || self.copy_aside(vreg, stay, EARLY) {
                self.found.residence.close(reg, Point::early(slot));
            } else {
                self.evict(reg, Point::early(slot));
            }
            return;
        }
        let lasting = |s: &Self, copy: &Copy| copy.vreg == vreg && !copy.to.is_none() && s.survives(vreg, copy.to);
        if let Some(k) = self.s.plan.copies.iter().position(|copy| lasting(self, copy)) {
            self.s.plan.copies[k].moves_home = true;
            self.found.residence.close(reg, Point::early(slot));
        } else if self.copy_aside(vreg, stay, BOTH) {
            self.found.residence.close(reg, Point::early(slot));
        } else if is_used && !gone_early {
            self.s.plan.claim(reg, vreg, EARLY);
            self.evict(reg, Point::late(slot));
        } else {
            self.evict(reg, Point::early(slot));
        }
    }

    /// Plans a copy of a value that is in the way into a register that nobody needs, if there is one that it can keep
    /// until it is used again.
    fn copy_aside(&mut self, vreg: VReg, stay: u32, points: u8) -> bool {
        let data = self.problem.vregs[vreg];
        let class = data.class.index();
        let plan = &self.s.plan;
        if points == BOTH && plan.safepoint && data.is_ref {
            return false;
        }
        let mut free = self.machine.allocatable[class]
            & !self.found.residence.held[class]
            & !plan.taken[0][class]
            & !plan.loaded[class];
        for copy in &plan.copies {
            free &= if copy.to.class() == class { !copy.to.bit() } else { u64::MAX };
        }
        if points == BOTH {
            free &= !plan.taken[1][class] & !self.killed(vreg);
        }
        let point = Point::early(plan.slot);
        if points == BOTH {
            let after = Point::early(plan.slot + 1);
            let next = self.s_next_use_after(vreg, after);
            let fresh = self.machine.callee_saved[class] & !self.found.residence.used[class];
            free &= !self.blocked(vreg, next) & !fresh;
        }
        if free == 0 {
            return false;
        }
        let to = self.choose(vreg, free, point, Reg::NONE);
        self.s.plan.copies.push(Copy { vreg, from: stay, to, into: vreg, moves_home: points == BOTH });
        true
    }

    /// The first use at or after `point`, found without moving the cursor past uses of this instruction.
    fn s_next_use_after(&self, vreg: VReg, point: Point) -> Point {
        let cursor = self.s.next_use[vreg.index()] as usize - self.live.use_range(vreg).start;
        let uses = &self.live.uses(vreg)[cursor..];
        uses.iter().copied().find(|&u| u >= point).unwrap_or(self.live.end(vreg))
    }

    /// Values that were in memory and live on keep the register they were loaded into.
    fn settle_loaded(&mut self, operands: &[Operand]) {
        let late = Point::late(self.s.plan.slot);
        for i in 0..self.s.plan.copies.len() {
            let Copy { vreg, from, to, .. } = self.s.plan.copies[i];
            let has_home = self.s.plan.copies[..i].iter().any(|copy| copy.vreg == vreg && copy.moves_home);
            if from == NONE && !to.is_none() && !has_home && self.survives(vreg, to) && self.is_live(vreg, late) {
                self.s.plan.copies[i].moves_home = true;
            }
        }
        debug_assert!(self.s.plan.copies.len() <= operands.len() + 128);
    }

    /// Records the copies of the gap and lets homes move.
    fn settle_copies(&mut self, inst: Inst) {
        if self.s.plan.copies.is_empty() {
            return;
        }
        let point = Point::early(self.s.plan.slot);
        let first = self.found.gap_moves.len() as u32;
        let mut free = self.machine.allocatable;
        for (class, free) in free.iter_mut().enumerate() {
            *free &= !self.found.residence.held[class] & !self.s.plan.taken[0][class];
        }
        for i in 0..self.s.plan.copies.len() {
            let Copy { vreg, from, to, into, moves_home } = self.s.plan.copies[i];
            let source = self.found.residence.stays.get(from as usize).copied();
            let since_def = source.is_some_and(|stay| stay.since_def);
            if let Some(stay) = source {
                free[stay.reg.class()] &= !stay.reg.bit();
            }
            if !to.is_none() {
                free[to.class()] &= !to.bit();
                self.found.residence.used[to.class()] |= to.bit();
            }
            let stay = match moves_home {
                true => self.found.residence.open(vreg, to, point, since_def),
                false => NONE,
            };
            if !moves_home && since_def {
                self.found.residence.facts(vreg).keep_def = true;
            }
            self.found.gap_moves.push(GapMove { vreg, from, to, into, stay });
        }
        let moves = first..self.found.gap_moves.len() as u32;
        self.found.gaps.push(Gap { inst, point, moves, free });
    }

    /// Writes down where the uses are read.
    fn place_uses(&mut self, inst: Inst, operands: &[Operand]) {
        let base = self.problem.operand_range(inst).start;
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_def() {
                continue;
            }
            let vreg = operand.vreg();
            let mut reg = self.s.plan.regs[k];
            if reg.is_none() && self.s.plan.tied[k] != UNTIED {
                continue;
            }
            if reg.is_none() && operand.constraint() != Constraint::Stack && !self.is_constant_in_memory(operand) {
                reg = self.soft_use(operand);
            }
            let is_loaded = self.s.plan.copies.iter().any(|copy| copy.to == reg && copy.from == NONE);
            let since_def = !is_loaded && self.found.residence.last_stay(vreg).is_some_and(|stay| stay.since_def);
            let facts = self.found.residence.facts(vreg);
            if reg.is_none() {
                facts.mem_read = true;
                facts.in_operand = true;
                facts.force_store |= operand.constraint() == Constraint::Stack;
            } else {
                facts.keep_def |= since_def;
                self.out.locs[base + k] = self.loc(reg);
            }
        }
    }

    /// The register in which a use that may be in memory finds its value.
    fn soft_use(&self, operand: Operand) -> Reg {
        let vreg = operand.vreg();
        let slot = self.s.plan.slot;
        let home = self.found.residence.home(vreg);
        if !home.is_none() {
            return home;
        }
        if operand.pos() == Pos::Late {
            return Reg::NONE;
        }
        match self.found.residence.last_stay(vreg) {
            Some(stay) if stay.to == Point::late(slot) && !stay.is_void() => stay.reg,
            _ => {
                self.s.plan.copies.iter().find(|c| c.vreg == vreg && !c.to.is_none()).map_or(Reg::NONE, |copy| copy.to)
            }
        }
    }

    /// Values read for the last time leave their registers.
    fn end_uses(&mut self, operands: &[Operand]) {
        let after = Point::early(self.s.plan.slot + 1);
        let late = Point::late(self.s.plan.slot);
        // What lives to the end of a block may go on in another one.
        let ends_block = self.order.place_at(self.s.plan.slot).stop() == after;
        for operand in operands.iter().filter(|operand| operand.is_use()) {
            let home = self.found.residence.home(operand.vreg());
            if home.is_none() {
                continue;
            }
            match self.live_until(operand.vreg(), late) {
                until if until == late => self.found.residence.close(home, late),
                until if until == after && !ends_block => self.found.residence.close(home, after),
                _ => continue,
            };
        }
    }

    /// Results begin to live where the instruction writes them.
    fn place_defs(&mut self, inst: Inst, operands: &[Operand]) {
        let base = self.problem.operand_range(inst).start;
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_use() {
                continue;
            }
            let (vreg, reg) = (operand.vreg(), self.s.plan.regs[k]);
            let is_dead = self.live.use_range(vreg).is_empty();
            if is_dead && self.hints.is_remat(vreg) {
                continue;
            }
            if reg.is_none() && self.hints.is_remat(vreg) {
                self.plan_reload(vreg, Point::late(self.s.plan.slot));
                continue;
            }
            if reg.is_none() {
                self.found.residence.facts(vreg).def_in_mem = true;
                self.found.residence.facts(vreg).mem_read = true;
                if !is_dead && !self.live.is_edge_def(vreg) {
                    self.plan_reload(vreg, Point::late(self.s.plan.slot));
                }
                continue;
            }
            self.out.locs[base + k] = self.loc(reg);
            self.found.residence.used[reg.class()] |= reg.bit();
            if !is_dead && !self.live.is_edge_def(vreg) {
                self.found.residence.open(vreg, reg, self.live.def(vreg), true);
                self.tell_assignment(vreg, reg, inst);
            }
        }
    }
}
