//! Rules that need no states: edits, the saved set, stack maps and label ranges, each by itself.

use crate::error::{CheckError, Entity, Rule};
use crate::report::Report;
use cranelift_entity::EntityRef;
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{
    Allocation, Constraint, EditKind, Inst, InstFlags, Loc, MachineEnv, PReg, PRegSet, Problem, RegClass, Slot,
};

/// The problem, the machine and the answer.
#[derive(Clone, Copy)]
pub(crate) struct CheckInput<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) answer: &'a Allocation,
    pub(crate) allocatable: PRegSet,
}

impl<'a> CheckInput<'a> {
    pub(crate) fn new(problem: &'a Problem, env: &'a MachineEnv, answer: &'a Allocation) -> CheckInput<'a> {
        CheckInput { problem, env, answer, allocatable: env.allocatable() }
    }

    pub(crate) fn is_emergency(&self, slot: Slot) -> bool {
        self.answer.emergency.contains(&Some(slot))
    }

    /// Returns the broken rule unless the slot exists and holds `width` bytes (rules 5 and 6).
    pub(crate) fn slot_rule(&self, slot: Slot, width: u8) -> Option<Rule> {
        let Some(data) = self.answer.slots.get(slot) else { return Some(Rule::SlotExists) };
        let width = u32::from(width);
        (data.size < width || !data.align.is_power_of_two() || data.align < width).then_some(Rule::SlotFits)
    }
}

/// Checks rule 1. Returns `true` if it holds.
pub(crate) fn counts(input: CheckInput, report: &mut Report) -> bool {
    let right = input.answer.locs.len() == input.problem.num_operands();
    if !right {
        report.add(CheckError::new(Rule::Lengths, Entity::Allocation));
    }
    right
}

/// Checks rule 5 of the emergency slots.
pub(crate) fn emergency_slots(input: CheckInput, report: &mut Report) {
    for slot in input.answer.emergency.into_iter().flatten() {
        if slot.index() >= input.answer.slots.len() {
            report.add(CheckError::new(Rule::SlotExists, Entity::Allocation).at(Loc::slot(slot)));
        }
    }
}

/// Checks rules 4 to 6, 13 to 16 and 27 of each edit.
pub(crate) fn edits(input: CheckInput, report: &mut Report) {
    let mut last = None;
    for (n, edit) in input.answer.edits.iter().enumerate() {
        let entity = Entity::Edit(edit.at, n);
        if Some(edit.at) < last || edit.at.index() >= input.problem.num_insts() {
            report.add(CheckError::new(Rule::EditOrder, entity));
        }
        last = Some(edit.at);
        edit_registers(input, edit.kind, entity, report);
        edit_slots(input, edit.kind, entity, report);
        if !has_width(edit.kind) {
            report.add(CheckError::new(Rule::EditWidth, entity));
        }
        if let EditKind::Remat { inst, to } = edit.kind {
            remat(input, inst, to, entity, report);
        }
    }
}

fn edit_registers(input: CheckInput, kind: EditKind, entity: Entity, report: &mut Report) {
    let regs = match kind {
        EditKind::Move { from, to, .. } => [Some(from), Some(to)],
        EditKind::Exchange { a, b, .. } => [Some(a), Some(b)],
        EditKind::Spill { from, .. } => [Some(from), None],
        EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => [Some(to), None],
        EditKind::SlotMove { .. } => [None, None],
    };
    for reg in regs.into_iter().flatten() {
        let scratch = input.env.class(reg.class()).scratch == Some(reg);
        if !scratch && !input.allocatable.contains(reg) {
            report.add(CheckError::new(Rule::Allocatable, entity).at(Loc::reg(reg)));
        }
    }
    if let [Some(a), Some(b)] = regs
        && a.class() != b.class()
    {
        report.add(CheckError::new(Rule::EditRegisters, entity).at(Loc::reg(b)));
    }
    let available = match kind {
        EditKind::Exchange { a, .. } => input.env.class(a.class()).exchange,
        EditKind::SlotMove { .. } => RegClass::ALL.iter().any(|&c| input.env.class(c).slot_move),
        _ => true,
    };
    if !available {
        report.add(CheckError::new(Rule::EditAvailable, entity));
    }
}

/// Returns `true` if rule 27 holds. The content of a slot may be of either class.
fn has_width(kind: EditKind) -> bool {
    match kind {
        EditKind::Move { from: reg, width, .. }
        | EditKind::Exchange { a: reg, width, .. }
        | EditKind::Spill { from: reg, width, .. }
        | EditKind::Fill { to: reg, width, .. } => reg.class().has_width(width),
        EditKind::SlotMove { width, .. } => RegClass::ALL.iter().any(|class| class.has_width(width)),
        EditKind::Remat { .. } => true,
    }
}

fn edit_slots(input: CheckInput, kind: EditKind, entity: Entity, report: &mut Report) {
    let (slots, width) = match kind {
        EditKind::Spill { to, width, .. } => ([Some(to), None], width),
        EditKind::Fill { from, width, .. } => ([Some(from), None], width),
        EditKind::SlotMove { from, to, width } => ([Some(from), Some(to)], width),
        EditKind::Move { .. } | EditKind::Exchange { .. } | EditKind::Remat { .. } => return,
    };
    for slot in slots.into_iter().flatten() {
        if let Some(rule) = input.slot_rule(slot, width) {
            report.add(CheckError::new(rule, entity).at(Loc::slot(slot)));
        }
    }
}

fn remat(input: CheckInput, inst: Inst, to: PReg, entity: Entity, report: &mut Report) {
    let problem = input.problem;
    let allowed = inst.index() < problem.num_insts()
        && problem.flags(inst).has(InstFlags::REMAT)
        && match problem.operands(inst) {
            [def] if def.is_def() && problem.class(def.vreg()) == to.class() => match def.constraint() {
                Constraint::Fixed(reg) => reg == to,
                Constraint::Within(set) => problem.reg_set(set).contains(to),
                Constraint::Reg | Constraint::MemOk | Constraint::Any => true,
                Constraint::Stack | Constraint::Reuse(_) => false,
            },
            _ => false,
        };
    if !allowed {
        report.add(CheckError::new(Rule::RematAllowed, entity).at(Loc::reg(to)));
    }
}

/// Checks rules 18 and 29. Unreachable code counts, because it is emitted and the saved set covers the whole
/// function.
pub(crate) fn callee_saved(input: CheckInput, written: PRegSet, report: &mut Report) {
    for reg in input.answer.saved.difference(input.env.callee_saved()).iter() {
        report.add(CheckError::new(Rule::SavedSet, Entity::Allocation).at(Loc::reg(reg)));
    }
    let missing = input.env.callee_saved().difference(input.answer.saved);
    if missing.is_empty() {
        return;
    }
    // `written` covers all instructions: only if a register is missing, its instruction is searched.
    let all = if written.intersection(missing).is_empty() { 0 } else { input.problem.num_insts() };
    for inst in (0..all).map(Inst::new) {
        let written = if input.answer.is_dropped(inst) { PRegSet::EMPTY } else { written_by(input, inst) };
        for reg in written.intersection(missing).iter() {
            report.add(CheckError::new(Rule::CalleeSaved, Entity::Inst(inst)).at(Loc::reg(reg)));
        }
    }
    for (n, edit) in input.answer.edits.iter().enumerate() {
        let written = match edit.kind {
            EditKind::Move { to, .. } | EditKind::Fill { to, .. } => PRegSet::EMPTY.with(to),
            EditKind::Remat { inst, to } => clobbered(input, inst).with(to),
            EditKind::Exchange { a, b, .. } => PRegSet::EMPTY.with(a).with(b),
            EditKind::Spill { .. } | EditKind::SlotMove { .. } => PRegSet::EMPTY,
        };
        for reg in written.intersection(missing).iter() {
            report.add(CheckError::new(Rule::CalleeSaved, Entity::Edit(edit.at, n)).at(Loc::reg(reg)));
        }
    }
}

fn written_by(input: CheckInput, inst: Inst) -> PRegSet {
    let operands = input.problem.operands(inst).iter().zip(input.answer.operand_locs(input.problem, inst));
    let defs = operands.filter(|(operand, _)| operand.is_def()).filter_map(|(_, loc)| loc.as_reg());
    defs.collect::<PRegSet>().union(clobbered(input, inst))
}

fn clobbered(input: CheckInput, inst: Inst) -> PRegSet {
    match inst.index() < input.problem.num_insts() {
        true => input.problem.clobbers(inst).lost,
        false => PRegSet::EMPTY,
    }
}

/// Checks rules 5, 17, 19 and 20 of each stack map entry.
pub(crate) fn stack_maps(input: CheckInput, report: &mut Report) {
    if input.answer.stack_maps.is_empty() {
        return;
    }
    let written = written_slots(input);
    let mut last = None;
    for (n, &entry) in input.answer.stack_maps.iter().enumerate() {
        let entity = Entity::MapEntry(entry.inst, n);
        let error = |rule| CheckError::new(rule, entity).at(Loc::slot(entry.slot));
        let at_safepoint =
            entry.inst.index() < input.problem.num_insts() && input.problem.flags(entry.inst).has(InstFlags::SAFEPOINT);
        if last >= Some(entry) || !at_safepoint {
            report.add(error(Rule::MapOrder));
        }
        last = Some(entry);
        match written.get(entry.slot.index()) {
            None => report.add(error(Rule::SlotExists)),
            Some(_) if input.is_emergency(entry.slot) => report.add(error(Rule::EmergencyPrivate)),
            Some(false) => report.add(error(Rule::MapNeverWritten)),
            Some(true) => {}
        }
    }
}

fn written_slots(input: CheckInput) -> Vec<bool> {
    let mut written = vec![false; input.answer.slots.len()];
    let defs = input.problem.all_operands().iter().zip(&input.answer.locs).filter(|(operand, _)| operand.is_def());
    let by_defs = defs.filter_map(|(_, loc)| loc.as_slot());
    let by_edits = input.answer.edits.iter().filter_map(|edit| match edit.kind {
        EditKind::Spill { to, .. } | EditKind::SlotMove { to, .. } => Some(to),
        _ => None,
    });
    for slot in by_defs.chain(by_edits) {
        if let Some(written) = written.get_mut(slot.index()) {
            *written = true;
        }
    }
    written
}

/// Checks rules 4, 5, 23 and 28 of label ranges.
pub(crate) fn label_ranges(input: CheckInput, report: &mut Report) {
    let mut last = None;
    for (n, range) in input.answer.labels.iter().enumerate() {
        let entity = Entity::Label(range.from, n);
        let rule = match (range.loc.as_reg(), range.loc.as_slot()) {
            (Some(reg), _) => (!input.allocatable.contains(reg)).then_some(Rule::Allocatable),
            (_, Some(slot)) => (slot.index() >= input.answer.slots.len()).then_some(Rule::SlotExists),
            _ => Some(Rule::HasLocation),
        };
        if let Some(rule) = rule {
            report.add(CheckError::new(rule, entity).at(range.loc));
        }
        if range.from >= range.to || range.to.index() > input.problem.num_insts() {
            report.add(CheckError::new(Rule::LabelRequested, entity));
        }
        if last > Some((range.label, range.from)) {
            report.add(CheckError::new(Rule::LabelOrder, entity));
        }
        last = Some((range.label, range.from));
    }
    overlapping_ranges(input, report);
}

/// Checks the second part of rule 28: at every point a label has at most as many ranges as requests.
fn overlapping_ranges(input: CheckInput, report: &mut Report) {
    if input.answer.labels.len() < 2 {
        return;
    }
    // The beginning and end of each request and range, and the change there of the number of requests minus ranges.
    let mut steps: Vec<(u32, Inst, i32)> = Vec::new();
    for request in &input.problem.labels {
        steps.extend([(request.label, request.from, 1), (request.label, request.to, -1)]);
    }
    for range in &input.answer.labels {
        steps.extend([(range.label, range.from, -1), (range.label, range.to, 1)]);
    }
    sort(&mut steps);
    let mut left = 0;
    for point in steps.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        left += point.iter().map(|step| step.2).sum::<i32>();
        if left < 0 {
            let (label, inst, _) = point[0];
            let covers = |&n: &usize| {
                let range = input.answer.labels[n];
                range.label == label && (range.from..range.to).contains(&inst)
            };
            let last = (0..input.answer.labels.len()).rev().find(covers);
            report.add(CheckError::new(Rule::LabelOrder, Entity::Label(inst, last.unwrap_or(0))));
            return;
        }
    }
}
