//! The meaning of edits, instructions and edges on the abstract state, and the checks made there.
//!
//! Order within an instruction: early uses are checked; early defs; clobbers; late uses are checked; the collector runs
//! if this is a safepoint; late defs. A terminator's defs appear on their edges, before the edge's arguments are named.

use crate::error::{CheckError, Found, Origin, Place, Rule};
use crate::labels::Labels;
use crate::report::Report;
use crate::shape::Input;
use crate::state::{Class, Content, State, UNKNOWN};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use kingpost_regalloc::{Block, Edge, EditKind, Inst, InstFlags, Loc, Operand, Pos, RegClass, VReg, VRegData};

/// Walks blocks forwards, changing `state`. Errors are reported if there is a report.
pub(crate) struct Walk<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) state: &'a mut State,
    pub(crate) terminator_defs: &'a SecondaryMap<VReg, Option<Loc>>,
    pub(crate) params: &'a mut Vec<(VReg, Class)>,
    pub(crate) report: Option<(&'a mut Report, &'a mut Labels)>,
}

impl Walk<'_> {
    /// The edits and instructions of a block.
    pub(crate) fn block(&mut self, block: Block) {
        let Input { problem, answer, .. } = self.input;
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
                labels.before(self.input, inst, self.state, report);
            }
            match answer.is_dropped(inst) {
                true => self.dropped(inst),
                false => self.inst(inst, inst == problem.terminator(block)),
            }
            self.end_of_place(inst);
        }
    }

    /// What happens on an edge, after the predecessor's end and before the successor's head.
    pub(crate) fn edge(&mut self, edge: Edge) {
        let problem = self.input.problem;
        let data = problem.edge(edge);
        for &vreg in problem.edge_defs(edge) {
            if let Some(loc) = self.terminator_defs[vreg] {
                self.define(vreg, loc, problem.terminator(data.from));
            }
        }
        self.params.clear();
        for (&param, &arg) in problem.params(data.to).iter().zip(problem.edge_args(edge)) {
            let class = self.copied(arg, param).unwrap_or(Class::NONE);
            self.params.push((param, class));
        }
        for i in 0..self.params.len() {
            let (param, class) = self.params[i];
            self.state.set_name(param, class);
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
                self.state.set(a, low_bytes(in_b, width), Origin::Edit(n as u32));
                self.state.set(b, low_bytes(in_a, width), Origin::Edit(n as u32));
            }
            EditKind::Remat { inst, to } => self.remat(n, inst, Loc::reg(to)),
        }
    }

    fn copy(&mut self, n: usize, from: Loc, to: Loc, width: u8) {
        let content = low_bytes(self.state.content(from), width);
        self.state.set(to, content, Origin::Edit(n as u32));
    }

    fn remat(&mut self, n: usize, inst: Inst, to: Loc) {
        self.clobbers(inst);
        for operand in self.input.problem.operands(inst) {
            let content = self.constant(operand.vreg());
            self.state.set(to, content, Origin::Edit(n as u32));
        }
    }

    /// Rule 15 where the class of a slot's contents decides.
    fn slot_move_available(&mut self, n: usize, from: Loc) {
        let class = self.state.content(from).class;
        if class != Class::NONE && !self.input.env.class(class.reg_class()).slot_move {
            let at = self.input.answer.edits[n].at;
            self.error(CheckError::new(Rule::EditAvailable, Place::Edit(at, n)).at(from));
        }
    }

    fn dropped(&mut self, inst: Inst) {
        if self.input.problem.flags(inst).has(InstFlags::MOVE) {
            self.uses(inst, Pos::Early);
            self.uses(inst, Pos::Late);
            let (from, to) = self.move_operands(inst);
            match self.copied(from, to) {
                Some(class) => self.state.set_name(to, class),
                // An integer made of a reference, or the reverse: from here on they are two contents.
                None => self.define(to, self.input.answer.operand_locs(self.input.problem, inst)[0], inst),
            }
        }
    }

    fn inst(&mut self, inst: Inst, is_terminator: bool) {
        self.uses(inst, Pos::Early);
        let is_safepoint = self.input.problem.flags(inst).has(InstFlags::SAFEPOINT);
        if is_safepoint {
            self.check_stack_map(inst);
        }
        self.defs(inst, Pos::Early, is_terminator);
        self.clobbers(inst);
        self.uses(inst, Pos::Late);
        if is_safepoint {
            self.collect(inst);
        }
        self.defs(inst, Pos::Late, is_terminator);
    }

    fn uses(&mut self, inst: Inst, pos: Pos) {
        if self.report.is_none() {
            return;
        }
        let Input { problem, answer, .. } = self.input;
        let operands = problem.operands(inst).iter().zip(answer.operand_locs(problem, inst)).enumerate();
        for (k, (operand, &loc)) in operands.filter(|(_, (o, _))| o.is_use() && o.pos() == pos) {
            if !self.state.holds(&problem.vregs, operand.vreg(), loc) {
                let error = CheckError::new(Rule::UseHoldsValue, Place::Operand(inst, k)).wants(operand.vreg());
                self.content_error(error, loc);
            }
        }
    }

    fn defs(&mut self, inst: Inst, pos: Pos, is_terminator: bool) {
        let Input { problem, answer, .. } = self.input;
        let is_move = problem.flags(inst).has(InstFlags::MOVE) && problem.operands(inst).len() == 2;
        let operands = problem.operands(inst).iter().zip(answer.operand_locs(problem, inst));
        for (operand, &loc) in operands.filter(|(o, _)| o.is_def() && o.pos() == pos) {
            let vreg = operand.vreg();
            if is_terminator {
                self.state.kill(loc, Origin::Def(inst));
            } else if problem.flags(inst).has(InstFlags::REMAT) {
                let content = self.constant(vreg);
                self.state.set(loc, content, Origin::Def(inst));
            } else if is_move {
                let (from, to) = self.move_operands(inst);
                let class = self.copied(from, to).unwrap_or(self.state.class_of_def(&problem.vregs, to));
                self.state.set_name(to, class);
                self.state.set(loc, Content { class, bytes: problem.width(to) }, Origin::Def(inst));
            } else {
                self.define(vreg, loc, inst);
            }
        }
    }

    /// Gives `vreg` a new value, which is in `loc` and nowhere else.
    fn define(&mut self, vreg: VReg, loc: Loc, inst: Inst) {
        let class = self.state.class_of_def(&self.input.problem.vregs, vreg);
        self.state.set_name(vreg, class);
        let bytes = self.input.problem.width(vreg);
        self.state.set(loc, Content { class, bytes }, Origin::Def(inst));
    }

    /// The contents of a location that gets a rematerialisable value. Its copies elsewhere never grow stale.
    fn constant(&self, vreg: VReg) -> Content {
        let vregs = &self.input.problem.vregs;
        Content { class: self.state.class_of_def(vregs, vreg), bytes: vregs[vreg].width }
    }

    /// The class of `to` after it became a copy of `from`: wherever one is, the other is too. `None` if `from` says
    /// nothing about `to`.
    fn copied(&self, from: VReg, to: VReg) -> Option<Class> {
        let vregs = &self.input.problem.vregs;
        let (a, b) = (vregs[from], vregs[to]);
        let class = self.state.name(vregs, from);
        let fits = if a.is_ref { b.width == a.width } else { b.width <= a.width };
        let same = a.class == b.class && a.is_ref == b.is_ref && fits;
        (same && class != Class::NONE).then_some(class)
    }

    /// Source and destination of a move.
    fn move_operands(&self, inst: Inst) -> (VReg, VReg) {
        let find = |def| move |o: &&Operand| o.is_def() == def;
        let operands = self.input.problem.operands(inst);
        let vreg = |o: Option<&Operand>| o.map_or(VReg::from_u32(0), |o| o.vreg());
        (vreg(operands.iter().find(find(false))), vreg(operands.iter().find(find(true))))
    }

    fn clobbers(&mut self, inst: Inst) {
        let clobbers = self.input.problem.clobbers(inst);
        for reg in clobbers.lost.iter() {
            self.state.kill(Loc::reg(reg), Origin::Clobber(inst));
        }
        for reg in clobbers.partial.difference(clobbers.lost).iter() {
            let loc = Loc::reg(reg);
            let content = self.state.content(loc);
            if content.bytes > clobbers.kept_bytes {
                self.state.set(loc, low_bytes(content, clobbers.kept_bytes), Origin::Clobber(inst));
            }
        }
    }

    /// Rule 22.
    fn check_stack_map(&mut self, inst: Inst) {
        if self.report.is_none() {
            return;
        }
        let answer = self.input.answer;
        let first = answer.stack_maps.partition_point(|entry| entry.inst < inst);
        for (n, entry) in answer.stack_maps.iter().enumerate().skip(first).take_while(|(_, e)| e.inst == inst) {
            let loc = Loc::slot(entry.slot);
            let content = self.state.content(loc);
            if content.class == Class::NONE || !content.class.is_ref() {
                self.content_error(CheckError::new(Rule::MapHoldsReference, Place::MapEntry(inst, n)), loc);
            }
        }
    }

    /// The collector moves every object: references survive in mapped slots, where it finds and updates them.
    fn collect(&mut self, inst: Inst) {
        let answer = self.input.answer;
        let first = answer.stack_maps.partition_point(|entry| entry.inst < inst);
        let entries = || answer.stack_maps[first..].iter().take_while(|entry| entry.inst == inst);
        for entry in entries() {
            let loc = Loc::slot(entry.slot);
            if !self.state.content(loc).class.is_ref() {
                self.state.kill(loc, Origin::Safepoint(inst));
            }
        }
        let last = self.state.now.epoch;
        self.state.begin_epoch(inst);
        for entry in entries() {
            self.state.keep_reference(Loc::slot(entry.slot), last);
        }
    }

    /// Scratch registers and emergency slots carry nothing over an instruction.
    fn end_of_place(&mut self, inst: Inst) {
        for class in RegClass::ALL {
            if let Some(reg) = self.input.env.class(class).scratch {
                self.state.kill(Loc::reg(reg), Origin::Scratch(inst));
            }
            if let Some(slot) = self.input.answer.emergency[class.index()] {
                self.state.kill(Loc::slot(slot), Origin::Scratch(inst));
            }
        }
    }

    fn error(&mut self, error: CheckError) {
        if let Some((report, _)) = &mut self.report {
            report.add(error);
        }
    }

    fn content_error(&mut self, error: CheckError, loc: Loc) {
        if let Some((report, _)) = &mut self.report
            && !report.is_full()
        {
            report.add(with_content(error, &self.input.problem.vregs, self.state, loc));
        }
    }
}

/// Adds to an error what is in `loc`.
pub(crate) fn with_content(
    error: CheckError,
    vregs: &PrimaryMap<VReg, VRegData>,
    state: &State,
    loc: Loc,
) -> CheckError {
    let content = state.content(loc);
    let found = Found { values: state.values(vregs, content.class), bytes: content.bytes, origin: state.origin(loc) };
    CheckError { found: Some(found), ..error.at(loc) }
}

/// What is left of a content of which only the low `width` bytes are. Part of a reference is nothing: the collector
/// would not know it.
fn low_bytes(content: Content, width: u8) -> Content {
    let bytes = content.bytes.min(width);
    let cut = content.class.is_ref() && bytes < content.bytes;
    if bytes == 0 || cut { UNKNOWN } else { Content { class: content.class, bytes } }
}
