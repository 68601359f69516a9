//! The meaning of edits, instructions and edges on the abstract state, and the checks made there.
//!
//! Order within an instruction: early uses are checked; early defs; clobbers; late uses are checked; the collector
//! runs if this is a safepoint; late defs. A terminator's defs appear on their edges, which lead to blocks without
//! other incoming edges.

use crate::class::Class;
use crate::error::{CheckError, Entity, Origin, Rule};
use crate::labels::Labels;
use crate::report::Report;
use crate::state::{Content, State, UNKNOWN, with_content};
use crate::structural_rules::CheckInput;
use crate::value_numbering::ValueNumbering;
use cranelift_entity::SecondaryMap;
use kingpost_regalloc::{Block, ClobberId, Edge, EditKind, Inst, InstFlags, Loc, Pos, RegClass, VReg};

/// Walks blocks forwards, changing `state`. Errors are recorded, and reported if there is a report.
pub(crate) struct Walk<'a, 'r> {
    pub(crate) input: CheckInput<'a>,
    pub(crate) names: &'a mut ValueNumbering,
    pub(crate) state: &'a mut State,
    pub(crate) terminator_defs: &'a SecondaryMap<VReg, Option<Loc>>,
    /// Whether there are scratch registers or emergency slots.
    pub(crate) has_private: bool,
    /// Whether an error was found.
    pub(crate) failed: &'a mut bool,
    pub(crate) report: Option<(&'a mut Report, &'r mut Labels)>,
}

impl Walk<'_, '_> {
    /// Walks the edits and instructions of a block.
    pub(crate) fn block(&mut self, block: Block) {
        let CheckInput { problem, answer, .. } = self.input;
        let first = problem.first_inst(block);
        let mut next = answer.edits.partition_point(|edit| edit.at < first);
        if let Some((_, labels)) = &mut self.report {
            labels.enter(self.input, block, self.state);
        }
        for inst in problem.insts(block) {
            while answer.edits.get(next).is_some_and(|edit| edit.at == inst) {
                self.edit(next);
                next += 1;
            }
            if let Some((report, labels)) = &mut self.report {
                labels.before(self.input, self.names, inst, self.state, report);
            }
            match answer.is_dropped(inst) {
                true => self.dropped(inst),
                false => self.inst(inst, inst == problem.terminator(block)),
            }
            if self.has_private {
                self.end_of_edits(inst);
            }
        }
    }

    /// Checks an edge into a block without other predecessors. The block's parameters are further names of the
    /// arguments.
    pub(crate) fn edge(&mut self, edge: Edge) {
        let problem = self.input.problem;
        for &vreg in problem.edge_defs(edge) {
            if let Some(loc) = self.terminator_defs[vreg] {
                self.define(vreg, loc, problem.terminator(problem.edge(edge).from));
            }
        }
    }

    fn edit(&mut self, n: usize) {
        let edit = self.input.answer.edits[n];
        match edit.kind {
            EditKind::Move { from, to, width } => self.copy(n, Loc::reg(from), Loc::reg(to), width),
            EditKind::Spill { from, to, width } => self.copy(n, Loc::reg(from), Loc::slot(to), width),
            EditKind::Fill { from, to, width } => self.copy(n, Loc::slot(from), Loc::reg(to), width),
            EditKind::SlotMove { from, to, width } => {
                self.slot_move_available(n, Loc::slot(from));
                self.copy(n, Loc::slot(from), Loc::slot(to), width);
            }
            EditKind::Exchange { a, b, width } => {
                let (a, b) = (Loc::reg(a), Loc::reg(b));
                let (in_a, in_b) = (self.state.content(a), self.state.content(b));
                self.state.set(self.names, a, low_bytes(in_b, width), Origin::Edit(n as u32));
                self.state.set(self.names, b, low_bytes(in_a, width), Origin::Edit(n as u32));
            }
            EditKind::Remat { inst, to } => self.remat(n, inst, Loc::reg(to)),
        }
    }

    fn copy(&mut self, n: usize, from: Loc, to: Loc, width: u8) {
        let content = low_bytes(self.state.content(from), width);
        self.state.set(self.names, to, content, Origin::Edit(n as u32));
    }

    fn remat(&mut self, n: usize, inst: Inst, to: Loc) {
        self.clobbers(inst);
        for operand in self.input.problem.operands(inst) {
            let content = self.value(operand.vreg());
            self.state.set(self.names, to, content, Origin::Edit(n as u32));
        }
    }

    /// Checks rule 15 for a slot move whose availability depends on the class of the slot's content.
    fn slot_move_available(&mut self, n: usize, from: Loc) {
        let class = self.state.content(from).class;
        if class != Class::NONE && !self.input.env.class(class.reg_class()).slot_move {
            let at = self.input.answer.edits[n].at;
            self.error(CheckError::new(Rule::EditAvailable, Entity::Edit(at, n)).at(from));
        }
    }

    fn dropped(&mut self, inst: Inst) {
        let CheckInput { problem, answer, .. } = self.input;
        if !problem.flags(inst).has(InstFlags::MOVE) {
            return;
        }
        self.uses(inst, Pos::Early);
        self.uses(inst, Pos::Late);
        let ([a, b], &[loc, _]) = (problem.operands(inst), answer.operand_locs(problem, inst)) else { return };
        let content = self.state.content(loc);
        let def = if a.is_def() { a } else { b };
        self.define_copy(def.vreg(), loc, inst, content);
    }

    /// Defines `vreg` in `loc`, with all names of the copy's source.
    fn define_copy(&mut self, vreg: VReg, loc: Loc, inst: Inst, content: Content) {
        let own = self.value(vreg);
        let class = match content.class {
            Class::NONE => own.class,
            class if self.names.contains(class, own.class) => class,
            // An integer made of a reference, or the reverse: the collector changes only one of them.
            class => self.names.with(class, std::iter::once(own.class)),
        };
        self.state.set(self.names, loc, Content { class, bytes: own.bytes.max(content.bytes) }, Origin::Def(inst));
    }

    fn inst(&mut self, inst: Inst, is_terminator: bool) {
        let problem = self.input.problem;
        let is_safepoint = problem.flags(inst).has(InstFlags::SAFEPOINT);
        let rare = self.uses(inst, Pos::Early);
        if is_safepoint {
            self.check_stack_map(inst);
        }
        if rare {
            self.defs(inst, Pos::Early, is_terminator);
        }
        if problem.clobber_id(inst) != ClobberId::NONE {
            self.clobbers(inst);
        }
        if rare {
            self.uses(inst, Pos::Late);
        }
        if is_safepoint {
            self.collect(inst);
        }
        match problem.flags(inst).has(InstFlags::MOVE) {
            true => self.copy_operand(inst),
            false => self.defs(inst, Pos::Late, is_terminator),
        }
    }

    /// Checks a copy of the problem that is not dropped.
    fn copy_operand(&mut self, inst: Inst) {
        let CheckInput { problem, answer, .. } = self.input;
        let ([a, b], &[in_a, in_b]) = (problem.operands(inst), answer.operand_locs(problem, inst)) else { return };
        let (from, def, to) = if a.is_def() { (in_b, a, in_a) } else { (in_a, b, in_b) };
        let content = low_bytes(self.state.content(from), problem.width(def.vreg()));
        self.define_copy(def.vreg(), to, inst, content);
    }

    /// Checks the uses at `pos`. Returns `true` if there are late uses or early defs.
    #[inline]
    fn uses(&mut self, inst: Inst, pos: Pos) -> bool {
        let CheckInput { problem, answer, .. } = self.input;
        let mut rare = false;
        let operands = problem.operands(inst).iter().zip(answer.operand_locs(problem, inst)).enumerate();
        for (k, (operand, &loc)) in operands {
            rare |= operand.is_def() == (operand.pos() == Pos::Early);
            if operand.is_def() || operand.pos() != pos {
                continue;
            }
            if !self.state.holds(self.names, problem, operand.vreg(), loc) {
                let error = CheckError::new(Rule::UseHoldsValue, Entity::Operand(inst, k)).expects(operand.vreg());
                self.content_error(error, loc);
            }
        }
        rare
    }

    #[inline]
    fn defs(&mut self, inst: Inst, pos: Pos, is_terminator: bool) {
        let CheckInput { problem, answer, .. } = self.input;
        let operands = problem.operands(inst).iter().zip(answer.operand_locs(problem, inst));
        for (operand, &loc) in operands.filter(|(o, _)| o.is_def() && o.pos() == pos) {
            match is_terminator {
                true => self.state.kill(self.names, loc, Origin::Def(inst)),
                false => self.define(operand.vreg(), loc, inst),
            }
        }
    }

    /// Defines `vreg` in `loc`.
    #[inline]
    fn define(&mut self, vreg: VReg, loc: Loc, inst: Inst) {
        let content = self.value(vreg);
        self.state.set(self.names, loc, content, Origin::Def(inst));
    }

    /// Returns the content of a location after the value is written to it.
    #[inline]
    fn value(&self, vreg: VReg) -> Content {
        Content { class: self.names.class(vreg), bytes: self.input.problem.width(vreg) }
    }

    fn clobbers(&mut self, inst: Inst) {
        let clobbers = self.input.problem.clobbers(inst);
        for reg in clobbers.lost.iter() {
            self.state.kill_reg(reg, Origin::Clobber(inst));
        }
        for reg in clobbers.partial.difference(clobbers.lost).iter() {
            let loc = Loc::reg(reg);
            let content = self.state.content(loc);
            if content.bytes > clobbers.kept_bytes {
                self.state.set(self.names, loc, low_bytes(content, clobbers.kept_bytes), Origin::Clobber(inst));
            }
        }
    }

    /// Checks rule 22.
    fn check_stack_map(&mut self, inst: Inst) {
        let answer = self.input.answer;
        let first = answer.stack_maps.partition_point(|entry| entry.inst < inst);
        for (n, entry) in answer.stack_maps.iter().enumerate().skip(first).take_while(|(_, e)| e.inst == inst) {
            let loc = Loc::slot(entry.slot);
            let content = self.state.content(loc);
            if content.class == Class::NONE || !content.class.is_ref() {
                self.content_error(CheckError::new(Rule::MapHoldsReference, Entity::MapEntry(inst, n)), loc);
            }
        }
    }

    /// Applies a moving collector: references survive in mapped slots, which it finds and updates.
    fn collect(&mut self, inst: Inst) {
        let answer = self.input.answer;
        let first = answer.stack_maps.partition_point(|entry| entry.inst < inst);
        let entries = || answer.stack_maps[first..].iter().take_while(|entry| entry.inst == inst);
        for entry in entries() {
            let loc = Loc::slot(entry.slot);
            if !self.state.content(loc).class.is_ref() {
                self.state.kill(self.names, loc, Origin::Safepoint(inst));
            }
        }
        let last = self.state.now.epoch;
        self.state.begin_epoch(self.names, inst, |loc| entries().any(|entry| Loc::slot(entry.slot) == loc));
        for entry in entries() {
            self.state.keep_reference(self.names, Loc::slot(entry.slot), last);
        }
    }

    /// Clears scratch registers and emergency slots, which hold no content over an instruction.
    fn end_of_edits(&mut self, inst: Inst) {
        for class in RegClass::ALL {
            if let Some(reg) = self.input.env.class(class).scratch {
                self.state.kill_reg(reg, Origin::Scratch(inst));
            }
            if let Some(slot) = self.input.answer.emergency[class.index()] {
                self.state.kill(self.names, Loc::slot(slot), Origin::Scratch(inst));
            }
        }
    }

    fn error(&mut self, error: CheckError) {
        *self.failed = true;
        if let Some((report, _)) = &mut self.report {
            report.add(error);
        }
    }

    fn content_error(&mut self, error: CheckError, loc: Loc) {
        *self.failed = true;
        if let Some((report, _)) = &mut self.report
            && !report.is_full()
        {
            report.add(with_content(error, self.input.problem, self.names, self.state, loc));
        }
    }
}

/// Returns the content after all but the low `width` bytes are lost. A part of a reference is unknown, because the
/// collector would not recognize it.
fn low_bytes(content: Content, width: u8) -> Content {
    let bytes = content.bytes.min(width);
    let cut = content.class.is_ref() && bytes < content.bytes;
    if bytes == 0 || cut { UNKNOWN } else { Content { class: content.class, bytes } }
}
