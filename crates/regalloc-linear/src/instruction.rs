//! One instruction: registers for its operands, all constraints at once.
//!
//! ```text
//! v0 in cx, v1 in r1, both live on:   s = shl v0, v1 = cx; def s reuse 0
//!     move r2 <- cx                   a copy of v0 for the tied pair
//!     exchange cx, r1                 v1 where the instruction wants it, v0 out of the way
//! ```
//!
//! Operands are served in an order in which earlier ones leave little room for mistakes: fixed ones, those that are
//! already in place, tied pairs, other uses, early defs, late defs. Values that are in the way then move aside
//! (`displace.rs`). Should an operand find no register this way, all assignments are searched.
//!
//! Operands that may be in memory (`any`, and `mem` uses) come last and take what there is (`place.rs`).

pub(crate) use crate::plan::Plan;
use crate::plan::{BOTH, EARLY, LATE, UNTIED};
use crate::walk::Scan;
use kingpost_regalloc::{AllocError, ClobberId, Constraint, Edge, Event, Inst, InstFlags, Operand, Pos, VReg};
use kingpost_regalloc_common::matching::{Matching, Request};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::Reg;
use smallvec::SmallVec;

/// No register is left for an operand.
pub(crate) struct NoneLeft;

impl Scan<'_, '_> {
    pub(crate) fn instruction(&mut self, inst: Inst, slot: Position) -> Result<(), AllocError> {
        let problem = self.problem;
        let range = problem.operand_range(inst);
        let operands = &problem.all_operands()[range.clone()];
        let is_plain = problem.clobber_id(inst) == ClobberId::NONE && !problem.flags(inst).has(InstFlags::SAFEPOINT);
        if is_plain && (operands.is_empty() || self.serve_simply(inst, slot, range, operands)) {
            return Ok(());
        }
        self.serve_fully(inst, slot, operands)
    }

    /// Serves any instruction.
    #[inline(never)]
    fn serve_fully(&mut self, inst: Inst, slot: Position, operands: &[Operand]) -> Result<(), AllocError> {
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
        let are_fixed = self.claim_fixed(inst, operands)? == operands.len();
        if are_fixed || self.choose_greedily(operands).is_ok() {
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

    fn begin_plan(&mut self, inst: Inst, slot: Position, operands: &[Operand]) {
        let kills = *self.registers.clobbered(self.problem.clobber_id(inst));
        let safepoint = self.problem.flags(inst).has(InstFlags::SAFEPOINT);
        self.s.plan.begin(slot, operands.len(), kills, safepoint);
        for (k, operand) in operands.iter().enumerate() {
            match operand.constraint() {
                Constraint::Reuse(source) if usize::from(source) < operands.len() => {
                    self.s.plan.tied[usize::from(source)] = k as u32;
                }
                _ => {}
            }
        }
    }

    /// The registers whose values are read early and then dead.
    fn find_dying(&mut self, operands: &[Operand]) {
        let late = ProgPoint::late(self.s.plan.slot);
        for operand in operands.iter().filter(|operand| operand.is_use()) {
            let home = self.values.home(operand.vreg());
            if !home.is_none() && !self.values.is_live(operand.vreg(), late) {
                self.s.plan.dying[home.class()] |= home.bit();
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
        self.values[operand.vreg()].class()
    }

    /// Registers in which a value of the operand's width does not survive the instruction.
    pub(crate) fn killed(&self, vreg: VReg) -> u64 {
        let value = &self.values[vreg];
        self.s.plan.kills.of(value.class(), value.width())
    }

    /// May the operand be in memory? A value that would have to be put there first is only as a last resort.
    pub(crate) fn is_soft(&self, operands: &[Operand], k: usize) -> bool {
        let (operand, tied) = (operands[k], self.s.plan.tied[k]);
        let last_resort = self.s.plan.prefers_memory;
        match operand.constraint() {
            Constraint::Any | Constraint::Stack => tied == UNTIED,
            Constraint::MemOk if tied == UNTIED => {
                operand.is_def() || last_resort || !self.values.is_remat(operand.vreg())
            }
            Constraint::MemOk => last_resort && operands[tied as usize].is_rmw(),
            Constraint::Reuse(_) => last_resort && operand.is_rmw(),
            _ => false,
        }
    }

    /// Two results of one terminator that never exist together.
    fn are_exclusive(&self, a: VReg, b: VReg) -> bool {
        self.values.is_edge_def(a) && self.values.is_edge_def(b) && self.values.def(a) != self.values.def(b)
    }

    /// A register of results that never exist together with this one, if no other is free.
    fn exclusive_register(&mut self, operands: &[Operand], k: usize) -> Option<Reg> {
        let operand = operands[k];
        let (vreg, points) = (operand.vreg(), self.points(operand));
        if !self.values.is_edge_def(vreg) || points != LATE || self.is_soft(operands, k) {
            return None;
        }
        if self.pick_free(operand, vreg, points, Reg::NONE).is_some() {
            return None;
        }
        let is_shared = |reg: Reg| {
            let mut others = operands.iter().zip(&self.s.plan.regs).filter(|&(_, &other)| other == reg);
            others.all(|(other, _)| other.is_def() && self.are_exclusive(other.vreg(), vreg))
        };
        let chosen = self.s.plan.regs.iter().copied();
        chosen.filter(|reg| !reg.is_none() && self.fits(operand, *reg, LATE)).find(|&reg| is_shared(reg))
    }

    /// Fixed operands have no choice. Gives their number.
    ///
    /// # Errors
    /// If two values need one register at once.
    pub(crate) fn claim_fixed(&mut self, inst: Inst, operands: &[Operand]) -> Result<usize, AllocError> {
        let mut fixed = 0;
        for (k, &operand) in operands.iter().enumerate() {
            let Constraint::Fixed(preg) = operand.constraint() else { continue };
            fixed += 1;
            let reg = self.registers.reg(preg);
            if reg.is_none() || reg.class() != self.class_of(operand) {
                return Err(AllocError::TooFewRegisters { inst, class: self.problem.class(operand.vreg()) });
            }
            self.claim_fixed_at(reg, operand.vreg(), self.points(operand), inst)?;
            self.s.plan.regs[k] = reg;
            let def = self.s.plan.tied[k];
            if def != UNTIED {
                self.claim_fixed_at(reg, operands[def as usize].vreg(), LATE, inst)?;
                self.s.plan.regs[def as usize] = reg;
            }
        }
        Ok(fixed)
    }

    fn claim_fixed_at(&mut self, reg: Reg, vreg: VReg, points: u8, inst: Inst) -> Result<(), AllocError> {
        let fits = self.s.plan.can_claim(reg, vreg, points)
            || (points == LATE && self.s.plan.owner(reg, 1).is_some_and(|owner| self.are_exclusive(owner, vreg)));
        if !fits {
            return Err(AllocError::FixedConflict { inst, reg: self.registers.preg(reg) });
        }
        self.s.plan.claim(reg, vreg, points);
        Ok(())
    }

    /// Registers for all operands that need one, whatever values are in them: those can go to memory.
    ///
    /// # Errors
    /// If there is no assignment, or none was found within the bounds.
    fn choose_exactly(&mut self, inst: Inst, operands: &[Operand]) -> Result<(), AllocError> {
        let mut matching = std::mem::take(&mut self.s.matching);
        let result = self.match_operands(inst, operands, &mut matching);
        self.s.matching = matching;
        result
    }

    fn match_operands(&mut self, inst: Inst, operands: &[Operand], matching: &mut Matching) -> Result<(), AllocError> {
        matching.clear();
        let allocatable = self.env.allocatable();
        let mut requests: SmallVec<[(usize, u32); 8]> = SmallVec::new();
        for (k, &operand) in operands.iter().enumerate() {
            if self.is_soft(operands, k) || matches!(operand.constraint(), Constraint::Reuse(_)) {
                continue;
            }
            let tied = self.s.plan.tied[k];
            let def = if tied == UNTIED { None } else { Some(operands[tied as usize]) };
            let mut request = Request::new(self.problem, allocatable, inst, operand, def)?;
            request.edge = self.edge_of(def.unwrap_or(operand));
            requests.push((k, matching.add(inst, request)?));
        }
        let solved = matching.solve(self.env, inst, |request: &Request, reg| {
            i32::from(self.values.home(request.vreg) != self.registers.reg(reg))
        });
        self.out.stats.steps += std::mem::take(&mut matching.steps);
        solved?;
        for (k, request) in requests {
            let Some(reg) = matching.reg(request).map(|preg| self.registers.reg(preg)) else { continue };
            let tied = self.s.plan.tied[k];
            if tied == UNTIED {
                self.s.plan.claim(reg, operands[k].vreg(), self.points(operands[k]));
            } else {
                self.s.plan.claim(reg, operands[k].vreg(), EARLY);
                self.s.plan.claim(reg, operands[tied as usize].vreg(), LATE);
                self.s.plan.regs[tied as usize] = reg;
            }
            self.s.plan.regs[k] = reg;
            self.note_loaded(operands[k], reg);
        }
        Ok(())
    }

    /// The edge on which a result of a terminator exists.
    fn edge_of(&self, operand: Operand) -> Option<Edge> {
        if operand.is_use() || !self.values.is_edge_def(operand.vreg()) {
            return None;
        }
        let block = self.order.block_at(self.s.plan.slot).block;
        let mut edges = self.problem.succs(block).iter();
        edges.find(|&&edge| self.problem.edge_defs(edge).contains(&operand.vreg())).copied()
    }

    fn note_loaded(&mut self, operand: Operand, reg: Reg) {
        let vreg = operand.vreg();
        let late = ProgPoint::late(self.s.plan.slot);
        if operand.is_use() && self.values.home(vreg) != reg && self.values.is_live(vreg, late) {
            self.s.plan.loaded[reg.class()] |= reg.bit();
        }
    }

    fn choose_greedily(&mut self, operands: &[Operand]) -> Result<(), NoneLeft> {
        self.find_dying(operands);
        self.keep_in_place(operands);
        for (k, &operand) in operands.iter().enumerate() {
            let def = self.s.plan.tied[k];
            if operand.is_use() && def != UNTIED && self.s.plan.regs[k].is_none() && !self.is_soft(operands, k) {
                self.choose_pair(operands, k, def as usize)?;
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
            let home = self.values.home(vreg);
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
        reg.class() == class && self.registers.allowed(operand, class) & !killed & reg.bit() != 0
    }

    /// A use and the def that takes its place: the value's own register if the value dies here, else a copy's.
    fn choose_pair(&mut self, operands: &[Operand], k: usize, def: usize) -> Result<(), NoneLeft> {
        let (source, result) = (operands[k], operands[def].vreg());
        let vreg = source.vreg();
        let home = self.values.home(vreg);
        let late = ProgPoint::late(self.s.plan.slot);
        let in_place = !home.is_none()
            && self.fits(source, home, BOTH)
            && self.s.plan.can_claim(home, vreg, EARLY)
            && self.s.plan.can_claim(home, result, LATE)
            && !self.values.is_live(vreg, late);
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
        let allowed = self.registers.allowed(operand, class);
        let reg = match self.s.plan.holding(vreg, class, allowed, points) {
            Some(reg) => reg,
            None => {
                let lives_on = self.values.is_live(vreg, ProgPoint::late(self.s.plan.slot));
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
        if let Some(reg) = self.exclusive_register(operands, k) {
            self.s.plan.claim(reg, operand.vreg(), points);
            self.s.plan.regs[k] = reg;
            return Ok(());
        }
        // What can be computed anywhere takes no register from others.
        let is_remat = self.values.is_remat(operand.vreg());
        let reg = match is_remat || self.is_soft(operands, k) {
            true => match self.pick_free(operand, operand.vreg(), points, prefer) {
                Some(reg) => reg,
                None => return Ok(()),
            },
            false => self.pick(operand, operand.vreg(), points, prefer)?,
        };
        let fresh = self.registers.callee_saved[reg.class()] & !self.found.residence.used[reg.class()];
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
        let mut mask = self.registers.allowed(operand, class);
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
        let point = if from == EARLY { ProgPoint::early(plan.slot) } else { ProgPoint::late(plan.slot) };
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
        let point = ProgPoint::before(self.s.plan.slot);
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
}
