//! Rules of one instruction's operands that need no states: locations, constraints, and shared locations.

use crate::error::{CheckError, Entity, Rule};
use crate::report::Report;
use crate::state::loc_index;
use crate::structural_rules::CheckInput;
use crate::value_numbering::ValueNumbering;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, ClobberId, Constraint, Inst, InstFlags, Loc, Operand, PReg, PRegSet, Pos, VReg};

/// A def that occupies a location within the instruction or edge with the stamp.
#[derive(Clone, Copy, Default)]
struct Occupant {
    stamp: u32,
    operand: u32,
    early: bool,
}

/// Checks one instruction at a time.
#[derive(Default)]
pub(crate) struct OperandRules {
    occupants: Vec<Occupant>,
    stamp: u32,
    /// Locations of the defs of terminators, by value.
    pub(crate) terminator_defs: SecondaryMap<VReg, Option<Loc>>,
    /// Defs of terminators that an edge lists; the other ones are temporaries.
    on_edges: EntitySet<VReg>,
    /// Registers that defs write and that instructions clobber.
    pub(crate) written: PRegSet,
}

heap_bytes!(OperandRules { occupants, terminator_defs, on_edges } without { stamp, written });

impl OperandRules {
    pub(crate) fn check(&mut self, input: CheckInput, names: &mut ValueNumbering, report: &mut Report) {
        self.occupants.clear();
        self.occupants.resize(PReg::COUNT + input.answer.slots.len(), Occupant::default());
        self.stamp = 0;
        self.terminator_defs.clear();
        self.on_edges.clear();
        self.written = PRegSet::EMPTY;
        for block in input.problem.blocks() {
            for inst in input.problem.insts(block) {
                self.inst(input, block, inst, report);
                if let (true, [a, b]) = (input.problem.flags(inst).has(InstFlags::MOVE), input.problem.operands(inst)) {
                    let (from, to) = if a.is_def() { (b, a) } else { (a, b) };
                    names.copy(input.problem, from.vreg(), to.vreg());
                }
            }
        }
    }

    fn inst(&mut self, input: CheckInput, block: Block, inst: Inst, report: &mut Report) {
        let operands = input.problem.operands(inst);
        let locs = input.answer.operand_locs(input.problem, inst);
        let dropped = input.answer.is_dropped(inst);
        if dropped && !may_drop(input, inst) {
            report.add(CheckError::new(Rule::DropAllowed, Entity::Inst(inst)));
        }
        let mut placed = true;
        let (mut in_memory, mut defs, mut meets) = (0, 0, inst == input.problem.terminator(block));
        for (k, (&operand, &loc)) in operands.iter().zip(locs).enumerate() {
            if let Some(rule) = location_rule(input, inst, operand, loc) {
                placed &= !matches!(rule, Rule::HasLocation | Rule::SlotExists);
                report.add(CheckError::new(rule, Entity::Operand(inst, k)).at(loc).expects(operand.vreg()));
                continue;
            }
            if let Some(rule) = constraint_rule(input, operand, loc, locs) {
                report.add(CheckError::new(rule, Entity::Operand(inst, k)).at(loc).expects(operand.vreg()));
            }
            in_memory += usize::from(operand.constraint() == Constraint::MemOk && loc.as_slot().is_some());
            defs += usize::from(operand.is_def());
            meets |= operand.is_def() == (operand.pos() == Pos::Early);
            if let (true, false, Some(reg)) = (operand.is_def(), dropped, loc.as_reg()) {
                self.written.insert(reg);
            }
        }
        if in_memory > 1 {
            report.add(CheckError::new(Rule::OneMemory, Entity::Inst(inst)));
        }
        if !placed || dropped {
            return;
        }
        if input.problem.clobber_id(inst) != ClobberId::NONE {
            self.clobbered(input, inst, report);
        }
        // One late def may share a location with any early uses.
        if meets || defs > 1 {
            self.sharing(input, block, inst, report);
        }
    }

    /// Checks rule 11.
    fn clobbered(&mut self, input: CheckInput, inst: Inst, report: &mut Report) {
        let operands = input.problem.operands(inst).iter().zip(input.answer.operand_locs(input.problem, inst));
        let clobbers = input.problem.clobbers(inst);
        self.written = self.written.union(clobbers.lost);
        for (k, (operand, &loc)) in operands.enumerate() {
            let occupies_late = operand.is_def() || operand.pos() == Pos::Late;
            let killed = loc.as_reg().is_some_and(|reg| clobbers.kills(reg, input.problem.width(operand.vreg())));
            if occupies_late && killed {
                let error = CheckError::new(Rule::ClobberedOperand, Entity::Operand(inst, k));
                report.add(error.at(loc).expects(operand.vreg()));
            }
        }
    }

    /// Checks rule 10.
    fn sharing(&mut self, input: CheckInput, block: Block, inst: Inst, report: &mut Report) {
        let operands = input.problem.operands(inst);
        let locs = input.answer.operand_locs(input.problem, inst);
        self.stamp += 1;
        let is_terminator = inst == input.problem.terminator(block);
        if is_terminator {
            self.terminator_defs(input, block, inst, report);
        }
        for (k, (&operand, &loc)) in operands.iter().zip(locs).enumerate().filter(|(_, (o, _))| o.is_def()) {
            let clash = self.occupy(operand, k, loc);
            if clash && !is_terminator {
                let error = CheckError::new(Rule::Overlap, Entity::Operand(inst, k));
                report.add(error.at(loc).expects(operand.vreg()));
            }
        }
        for (k, (&operand, &loc)) in operands.iter().zip(locs).enumerate().filter(|(_, (o, _))| o.is_use()) {
            let occupant = self.occupants[loc_index(loc)];
            if occupant.stamp != self.stamp || !(occupant.early || operand.pos() == Pos::Late) {
                continue;
            }
            let reused = operands[occupant.operand as usize].constraint() == Constraint::Reuse(k as u8);
            if !(reused && k <= usize::from(u8::MAX)) {
                let error = CheckError::new(Rule::Overlap, Entity::Operand(inst, k));
                report.add(error.at(loc).expects(operand.vreg()));
            }
        }
    }

    /// Checks that defs of a terminator share a location only if each is on a different edge. Temporaries are on
    /// all edges.
    fn terminator_defs(&mut self, input: CheckInput, block: Block, inst: Inst, report: &mut Report) {
        let operands = input.problem.operands(inst);
        let locs = input.answer.operand_locs(input.problem, inst);
        let defs = || operands.iter().zip(locs).enumerate().filter(|(_, (operand, _))| operand.is_def());
        for (_, (operand, &loc)) in defs() {
            self.terminator_defs[operand.vreg()] = Some(loc);
        }
        let first = self.stamp;
        for &edge in input.problem.succs(block) {
            for &vreg in input.problem.edge_defs(edge) {
                self.on_edges.insert(vreg);
                let Some(loc) = self.terminator_defs[vreg] else { continue };
                if self.occupy(Operand::reg_def(vreg), 0, loc) {
                    let error = CheckError::new(Rule::Overlap, Entity::Inst(inst));
                    report.add(error.at(loc).expects(vreg));
                }
            }
            self.stamp += 1;
        }
        for (k, (&operand, &loc)) in defs() {
            if self.on_edges.contains(operand.vreg()) {
                continue;
            }
            let shares = self.occupants[loc_index(loc)].stamp >= first;
            self.occupy(operand, k, loc);
            if shares {
                let error = CheckError::new(Rule::Overlap, Entity::Operand(inst, k));
                report.add(error.at(loc).expects(operand.vreg()));
            }
        }
        self.stamp += 1;
    }

    /// Records a def. Returns `true` if its location is already occupied.
    fn occupy(&mut self, operand: Operand, k: usize, loc: Loc) -> bool {
        let occupant = &mut self.occupants[loc_index(loc)];
        let clash = occupant.stamp == self.stamp;
        let early = operand.pos() == Pos::Early;
        if !clash {
            *occupant = Occupant { stamp: self.stamp, operand: k as u32, early };
        }
        occupant.early |= early;
        clash
    }
}

/// Returns `true` if the instruction may be dropped by rule 12.
fn may_drop(input: CheckInput, inst: Inst) -> bool {
    let flags = input.problem.flags(inst);
    let locs = input.answer.operand_locs(input.problem, inst);
    match input.problem.operands(inst) {
        [a, b] if flags.has(InstFlags::MOVE) && a.is_def() != b.is_def() => locs[0] == locs[1],
        [def] if flags.has(InstFlags::REMAT) => def.is_def(),
        _ => false,
    }
}

/// Returns the rule among 2 to 6 and 17 that a location breaks.
fn location_rule(input: CheckInput, inst: Inst, operand: Operand, loc: Loc) -> Option<Rule> {
    if let Some(reg) = loc.as_reg() {
        return match () {
            () if reg.class() != input.problem.class(operand.vreg()) => Some(Rule::RegisterClass),
            () if !input.allocatable.contains(reg) => Some(Rule::Allocatable),
            () => None,
        };
    }
    match loc.as_slot() {
        Some(slot) if slot.index() >= input.answer.slots.len() => Some(Rule::SlotExists),
        Some(slot) if input.is_emergency(slot) => Some(Rule::EmergencyPrivate),
        Some(slot) => input.slot_rule(slot, input.problem.width(operand.vreg())),
        None => {
            let gone = input.answer.is_dropped(inst) && input.problem.flags(inst).has(InstFlags::REMAT);
            (!gone).then_some(Rule::HasLocation)
        }
    }
}

/// Returns the rule of 7 and 9 that a location breaks.
fn constraint_rule(input: CheckInput, operand: Operand, loc: Loc, locs: &[Loc]) -> Option<Rule> {
    if loc.is_none() {
        return None;
    }
    let kept = match operand.constraint() {
        Constraint::Reg => loc.as_reg().is_some(),
        Constraint::Fixed(reg) => loc.as_reg() == Some(reg),
        Constraint::Within(set) => loc.as_reg().is_some_and(|reg| input.problem.reg_set(set).contains(reg)),
        Constraint::Stack => loc.as_slot().is_some(),
        Constraint::MemOk | Constraint::Any => true,
        Constraint::Reuse(k) => {
            let same = locs.get(usize::from(k)) == Some(&loc);
            return (!same || (loc.as_slot().is_some() && !operand.is_rmw())).then_some(Rule::ReuseSame);
        }
    };
    (!kept).then_some(Rule::Constraint)
}
