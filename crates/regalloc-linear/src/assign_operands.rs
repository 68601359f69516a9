//! Registers for the operands of one instruction, under all constraints at once.
//!
//! ```text
//! v0 in cx, v1 in r1, both live after:   s = shl v0, v1 = cx; def s reuse 0
//!     move r2 <- cx                      a copy of v0 for the tied pair
//!     exchange cx, r1                    v1 where the instruction needs it, v0 to another register
//! ```
//!
//! Operands are assigned in an order in which earlier ones rarely block later ones: fixed operands, uses already in
//! place, tied pairs, other uses, early defs, late defs. Values in conflicting registers are then evicted
//! (`evict.rs`). If an operand finds no register this way, all operands are matched with registers.
//!
//! Operands that may be in memory (`any`, and `mem` uses) come last and take the location of their value.

use crate::linear_scan::Scan;
use crate::operand_assignment::{BOTH, EARLY, LATE, UNTIED};
use kingpost_regalloc::{AllocError, Constraint, Edge, Event, Inst, InstFlags, Operand, OperandClass, Pos, Step, VReg};
use kingpost_regalloc_common::matching::{Matching, Request};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::Reg;
use smallvec::SmallVec;

pub(crate) use crate::operand_assignment::OperandAssignment;

/// Error: no register is left for an operand.
pub(crate) struct OutOfRegisters;

impl Scan<'_, '_> {
    pub(crate) fn instruction(&mut self, step: Step, position: Position) -> Result<(), AllocError> {
        let operands = &self.problem.all_operands()[step.operands.clone()];
        let is_served = step.operand_class != OperandClass::Constrained
            && (operands.is_empty() || self.fast_path(step.inst, position, step.operands, operands));
        if is_served { Ok(()) } else { self.general_path(step.inst, position, operands) }
    }

    /// Assigns the operands of any instruction.
    #[inline(never)]
    fn general_path(&mut self, inst: Inst, position: Position, operands: &[Operand]) -> Result<(), AllocError> {
        self.begin_assignment(inst, position, operands);
        self.choose_registers(inst, operands)?;
        self.evict_conflicts(operands);
        self.record_copies(inst);
        self.record_uses(inst, operands);
        self.end_uses(operands);
        self.record_defs(inst, operands);
        Ok(())
    }

    /// Assigns operands one after the other. If that fails, tries a matching; if that fails too, a matching in
    /// which all operands that may be in memory are there.
    fn choose_registers(&mut self, inst: Inst, operands: &[Operand]) -> Result<(), AllocError> {
        let are_fixed = self.claim_fixed(inst, operands)? == operands.len();
        if are_fixed || self.choose_greedily(operands).is_ok() {
            return Ok(());
        }
        self.s.assignment.forget_choices(operands.len());
        if self.choose_exactly(inst, operands).is_ok() {
            return Ok(());
        }
        self.s.assignment.forget_choices(operands.len());
        self.s.assignment.prefers_memory = true;
        self.choose_exactly(inst, operands)
    }

    fn begin_assignment(&mut self, inst: Inst, position: Position, operands: &[Operand]) {
        let kills = *self.registers.clobbered(self.problem.clobber_id(inst));
        let safepoint = self.problem.flags(inst).has(InstFlags::SAFEPOINT);
        self.s.assignment.begin(position, operands.len(), kills, safepoint);
        for (k, operand) in operands.iter().enumerate() {
            match operand.constraint() {
                Constraint::Reuse(source) if usize::from(source) < operands.len() => {
                    self.s.assignment.tied[usize::from(source)] = k as u32;
                }
                _ => {}
            }
        }
    }

    /// Finds the registers whose values are read early and then dead.
    fn find_dying(&mut self, operands: &[Operand]) {
        let late = ProgPoint::late(self.s.assignment.position);
        for operand in operands.iter().filter(|operand| operand.is_use()) {
            let current = self.values.current_reg(operand.vreg());
            if !current.is_none() && !self.values.is_live(operand.vreg(), late) {
                self.s.assignment.dying[current.class()] |= current.bit();
            }
        }
    }

    /// Returns the points at which an operand keeps its register.
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

    /// Returns the registers in which a value of the operand's width does not survive the instruction.
    pub(crate) fn killed(&self, vreg: VReg) -> u64 {
        let value = &self.values[vreg];
        self.s.assignment.kills.of(value.class(), value.width())
    }

    /// Returns `true` if the operand may be in memory. If its value would have to be stored for this, it may only
    /// be there as a last resort.
    pub(crate) fn may_be_in_memory(&self, operands: &[Operand], k: usize) -> bool {
        let (operand, tied) = (operands[k], self.s.assignment.tied[k]);
        let last_resort = self.s.assignment.prefers_memory;
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

    /// Returns `true` if both values are results of one terminator on different edges.
    fn are_exclusive(&self, a: VReg, b: VReg) -> bool {
        self.values.is_edge_def(a) && self.values.is_edge_def(b) && self.values.def(a) != self.values.def(b)
    }

    /// Returns the register of a result on another edge, if no register is free.
    fn exclusive_register(&mut self, operands: &[Operand], k: usize) -> Option<Reg> {
        let operand = operands[k];
        let (vreg, points) = (operand.vreg(), self.points(operand));
        if !self.values.is_edge_def(vreg) || points != LATE || self.may_be_in_memory(operands, k) {
            return None;
        }
        if self.pick_free(operand, vreg, points, Reg::NONE).is_some() {
            return None;
        }
        let is_shared = |reg: Reg| {
            let mut others = operands.iter().zip(&self.s.assignment.regs).filter(|&(_, &other)| other == reg);
            others.all(|(other, _)| other.is_def() && self.are_exclusive(other.vreg(), vreg))
        };
        let chosen = self.s.assignment.regs.iter().copied();
        chosen.filter(|reg| !reg.is_none() && self.fits(operand, *reg, LATE)).find(|&reg| is_shared(reg))
    }

    /// Assigns fixed operands their registers and returns the number of these operands.
    ///
    /// # Errors
    /// If two values need one register at one point.
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
            self.s.assignment.regs[k] = reg;
            let def = self.s.assignment.tied[k];
            if def != UNTIED {
                self.claim_fixed_at(reg, operands[def as usize].vreg(), LATE, inst)?;
                self.s.assignment.regs[def as usize] = reg;
            }
        }
        Ok(fixed)
    }

    fn claim_fixed_at(&mut self, reg: Reg, vreg: VReg, points: u8, inst: Inst) -> Result<(), AllocError> {
        let fits = self.s.assignment.can_claim(reg, vreg, points)
            || (points == LATE && self.s.assignment.owner(reg, 1).is_some_and(|owner| self.are_exclusive(owner, vreg)));
        if !fits {
            return Err(AllocError::FixedConflict { inst, reg: self.registers.preg(reg) });
        }
        self.s.assignment.claim(reg, vreg, points);
        Ok(())
    }

    /// Finds registers for all operands that need one, by matching. The values in them can be evicted.
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
            if self.may_be_in_memory(operands, k) || matches!(operand.constraint(), Constraint::Reuse(_)) {
                continue;
            }
            let tied = self.s.assignment.tied[k];
            let def = if tied == UNTIED { None } else { Some(operands[tied as usize]) };
            let mut request = Request::new(self.problem, allocatable, inst, operand, def)?;
            request.edge = self.edge_of(def.unwrap_or(operand));
            requests.push((k, matching.add(inst, request)?));
        }
        let solved = matching.solve(self.env, inst, |request: &Request, reg| {
            i32::from(self.values.current_reg(request.vreg) != self.registers.reg(reg))
        });
        self.out.stats.steps += std::mem::take(&mut matching.steps);
        solved?;
        for (k, request) in requests {
            let Some(reg) = matching.reg(request).map(|preg| self.registers.reg(preg)) else { continue };
            let tied = self.s.assignment.tied[k];
            if tied == UNTIED {
                self.s.assignment.claim(reg, operands[k].vreg(), self.points(operands[k]));
            } else {
                self.s.assignment.claim(reg, operands[k].vreg(), EARLY);
                self.s.assignment.claim(reg, operands[tied as usize].vreg(), LATE);
                self.s.assignment.regs[tied as usize] = reg;
            }
            self.s.assignment.regs[k] = reg;
            self.note_loaded(operands[k], reg);
        }
        Ok(())
    }

    /// Returns the edge on which a result of a terminator exists.
    fn edge_of(&self, operand: Operand) -> Option<Edge> {
        if operand.is_use() || !self.values.is_edge_def(operand.vreg()) {
            return None;
        }
        // No other edge leads to the block at whose head the result begins.
        let target = self.order.block_at(self.values.def(operand.vreg()).position()).block;
        self.problem.preds(target).first().copied()
    }

    fn note_loaded(&mut self, operand: Operand, reg: Reg) {
        let vreg = operand.vreg();
        let late = ProgPoint::late(self.s.assignment.position);
        if operand.is_use() && self.values.current_reg(vreg) != reg && self.values.is_live(vreg, late) {
            self.s.assignment.loaded[reg.class()] |= reg.bit();
        }
    }

    fn choose_greedily(&mut self, operands: &[Operand]) -> Result<(), OutOfRegisters> {
        self.find_dying(operands);
        self.keep_in_place(operands);
        for (k, &operand) in operands.iter().enumerate() {
            let def = self.s.assignment.tied[k];
            if operand.is_use()
                && def != UNTIED
                && self.s.assignment.regs[k].is_none()
                && !self.may_be_in_memory(operands, k)
            {
                self.choose_pair(operands, k, def as usize)?;
            }
        }
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_use() && self.s.assignment.regs[k].is_none() && !self.may_be_in_memory(operands, k) {
                self.choose_use(operand, k)?;
            }
        }
        for points in [BOTH, LATE] {
            for (k, &operand) in operands.iter().enumerate() {
                if operand.is_def() && self.s.assignment.regs[k].is_none() && self.points(operand) == points {
                    self.choose_def(operands, k)?;
                }
            }
        }
        Ok(())
    }

    /// Assigns uses whose value is in a register that their constraint allows to that register.
    fn keep_in_place(&mut self, operands: &[Operand]) {
        for (k, &operand) in operands.iter().enumerate() {
            let vreg = operand.vreg();
            if operand.is_def() || self.s.assignment.tied[k] != UNTIED || !self.s.assignment.regs[k].is_none() {
                continue;
            }
            if self.may_be_in_memory(operands, k) {
                continue;
            }
            let current = self.values.current_reg(vreg);
            let points = self.points(operand);
            if !current.is_none()
                && self.fits(operand, current, points)
                && self.s.assignment.can_claim(current, vreg, points)
            {
                self.s.assignment.claim(current, vreg, points);
                self.s.assignment.regs[k] = current;
            }
        }
    }

    /// Returns `true` if the operand's constraint allows the register, and the register survives the operand's
    /// points.
    fn fits(&self, operand: Operand, reg: Reg, points: u8) -> bool {
        let class = self.class_of(operand);
        let killed = if points & LATE != 0 { self.killed(operand.vreg()) } else { 0 };
        reg.class() == class && self.registers.allowed(operand, class) & !killed & reg.bit() != 0
    }

    /// Assigns a use and the def tied to it: the value's own register if the value dies here, otherwise a copy's
    /// register.
    fn choose_pair(&mut self, operands: &[Operand], k: usize, def: usize) -> Result<(), OutOfRegisters> {
        let (source, result) = (operands[k], operands[def].vreg());
        let vreg = source.vreg();
        let current = self.values.current_reg(vreg);
        let late = ProgPoint::late(self.s.assignment.position);
        let in_place = !current.is_none()
            && self.fits(source, current, BOTH)
            && self.s.assignment.can_claim(current, vreg, EARLY)
            && self.s.assignment.can_claim(current, result, LATE)
            && !self.values.is_live(vreg, late);
        let reg = match in_place {
            true => current,
            false => self.pick(source, result, BOTH, Reg::NONE)?,
        };
        self.s.assignment.claim(reg, vreg, EARLY);
        self.s.assignment.claim(reg, result, LATE);
        self.s.assignment.regs[k] = reg;
        self.s.assignment.regs[def] = reg;
        Ok(())
    }

    fn choose_use(&mut self, operand: Operand, k: usize) -> Result<(), OutOfRegisters> {
        let vreg = operand.vreg();
        let points = self.points(operand);
        let class = self.class_of(operand);
        let allowed = self.registers.allowed(operand, class);
        let reg = match self.s.assignment.holding(vreg, class, allowed, points) {
            Some(reg) => reg,
            None => {
                let is_live_after = self.values.is_live(vreg, ProgPoint::late(self.s.assignment.position));
                let lasting = if is_live_after { self.pick_free(operand, vreg, BOTH, Reg::NONE) } else { None };
                let reg = match lasting {
                    Some(reg) => reg,
                    None => self.pick(operand, vreg, points, Reg::NONE)?,
                };
                if is_live_after && self.killed(vreg) & reg.bit() == 0 {
                    self.s.assignment.loaded[class] |= reg.bit();
                }
                reg
            }
        };
        self.s.assignment.claim(reg, vreg, points);
        self.s.assignment.regs[k] = reg;
        Ok(())
    }

    fn choose_def(&mut self, operands: &[Operand], k: usize) -> Result<(), OutOfRegisters> {
        let operand = operands[k];
        let points = self.points(operand);
        let is_pair = matches!(operand.constraint(), Constraint::Reuse(_));
        if operand.constraint() == Constraint::Stack || is_pair {
            return Ok(());
        }
        // Prefer the source's register, so that the move is elided.
        let prefer = match operands.len() {
            2 => self.s.assignment.regs[1 - k],
            _ => Reg::NONE,
        };
        if operand.constraint() == Constraint::Reg
            && let Some(reg) = self.parameter_register(operand.vreg(), self.s.assignment.position)
            && self.available(operand, operand.vreg(), points) & reg.bit() != 0
        {
            self.s.assignment.claim(reg, operand.vreg(), points);
            self.s.assignment.regs[k] = reg;
            return Ok(());
        }
        if let Some(reg) = self.exclusive_register(operands, k) {
            self.s.assignment.claim(reg, operand.vreg(), points);
            self.s.assignment.regs[k] = reg;
            return Ok(());
        }
        // A rematerializable value evicts no other value.
        let is_remat = self.values.is_remat(operand.vreg());
        let reg = match is_remat || self.may_be_in_memory(operands, k) {
            true => match self.pick_free(operand, operand.vreg(), points, prefer) {
                Some(reg) => reg,
                None => return Ok(()),
            },
            false => self.pick(operand, operand.vreg(), points, prefer)?,
        };
        let fresh = self.fresh(reg.class());
        if is_remat && fresh & reg.bit() != 0 {
            return Ok(());
        }
        self.s.assignment.claim(reg, operand.vreg(), points);
        self.s.assignment.regs[k] = reg;
        Ok(())
    }

    /// Returns the registers that the operand may have at `points`, including occupied ones.
    fn available(&self, operand: Operand, vreg: VReg, points: u8) -> u64 {
        let class = self.class_of(operand);
        let assignment = &self.s.assignment;
        let mut mask = self.registers.allowed(operand, class);
        if points & EARLY != 0 {
            mask &= !assignment.taken[0][class];
        }
        if points & LATE != 0 {
            mask &= !assignment.taken[1][class] & !self.killed(operand.vreg()) & !self.killed(vreg);
        }
        mask
    }

    /// Returns a register for the operand that is free at `points`, picked for `vreg`.
    fn pick_free(&mut self, operand: Operand, vreg: VReg, points: u8, prefer: Reg) -> Option<Reg> {
        let class = self.class_of(operand);
        let assignment = &self.s.assignment;
        let mut occupied = assignment.loaded[class] | self.scan.occupancy.held[class];
        if points == LATE {
            occupied &= !assignment.dying[class];
        }
        let free = self.available(operand, vreg, points) & !occupied;
        let from = if vreg == operand.vreg() && points & EARLY != 0 { EARLY } else { LATE };
        let point =
            if from == EARLY { ProgPoint::early(assignment.position) } else { ProgPoint::late(assignment.position) };
        (free != 0).then(|| self.pick_register(vreg, free, point, prefer))
    }

    /// Returns a free register, or the register whose value has the farthest next use.
    fn pick(&mut self, operand: Operand, vreg: VReg, points: u8, prefer: Reg) -> Result<Reg, OutOfRegisters> {
        if let Some(reg) = self.pick_free(operand, vreg, points, prefer) {
            return Ok(reg);
        }
        let class = self.class_of(operand);
        let available = self.available(operand, vreg, points);
        let occupied = available & self.scan.occupancy.held[class];
        let point = ProgPoint::before(self.s.assignment.position);
        self.out.stats.steps += u64::from(occupied.count_ones());
        if let Some((reg, _)) = self.farthest_next_use(class, occupied, point) {
            self.out.stats.evictions += 1;
            let (victim, at) = (self.scan.occupancy.vreg_in(reg), self.inst_at(point));
            self.diagnostics.event(Event::Evict { vreg: victim, winner: vreg, at });
            return Ok(reg);
        }
        match available {
            0 => Err(OutOfRegisters),
            _ => Ok(Reg::new(class, available.trailing_zeros())),
        }
    }
}
