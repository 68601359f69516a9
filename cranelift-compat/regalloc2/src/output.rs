//! Our allocations as outputs of regalloc2.

use crate::machine::Part;
use crate::refusal::Refusal;
use crate::translate::{NO_TARGET, Site, Translation};
use kingpost_regalloc::cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, EditKind, Inst, LabelUse, Loc, PReg, RegClass, Slot};
use regalloc2::{Function, ProgPoint, SpillSlot};

/// Order of edits at the start of a block: ones before the added branch of its predecessor, ones of the edge, and
/// its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Before,
    OnEdge,
    Within,
}

/// Collects an output from the allocations of each part.
pub(crate) struct Collector<'a, F> {
    func: &'a F,
    output: regalloc2::Output,
    edits: Vec<(ProgPoint, Stage, regalloc2::Edit)>,
}

impl<'a, F: Function> Collector<'a, F> {
    /// Creates an output without edits, in which the operands in registers that are not allocatable and in fixed
    /// stack slots have their locations.
    pub(crate) fn new(func: &'a F, env: &regalloc2::MachineEnv, offsets: Vec<u32>) -> Self {
        let slots = env.fixed_stack_slots.iter().copied().collect();
        let operands = (0..func.num_insts()).flat_map(|inst| func.inst_operands(regalloc2::Inst::new(inst)));
        let alloc = |&operand: &regalloc2::Operand| {
            let fixed = operand.as_fixed_nonallocatable().or_else(|| crate::translate::fixed_slot(operand, slots));
            fixed.map_or_else(regalloc2::Allocation::none, regalloc2::Allocation::reg)
        };
        let allocs = operands.map(alloc).collect();
        let output = regalloc2::Output { allocs, inst_alloc_offsets: offsets, ..Default::default() };
        Collector { func, output, edits: Vec::new() }
    }

    /// Adds an allocation.
    ///
    /// # Errors
    /// If an edit has no place in the function.
    pub(crate) fn add(&mut self, translation: &Translation, allocation: &Allocation) -> Result<(), Refusal> {
        let slots = self.number_slots(translation, allocation);
        let place = |loc, class| slots.place(self.func, translation.part, loc, class);
        let problem = &translation.problem;
        for ((operand, &loc), &target) in problem.all_operands().iter().zip(&allocation.locs).zip(&translation.targets)
        {
            if target != NO_TARGET {
                self.output.allocs[target as usize] = place(loc, problem.class(operand.vreg()));
            }
        }
        let mut edits = allocation.edits.iter().peekable();
        for (i, &site) in translation.sites.iter().enumerate() {
            let inst = Inst::new(i);
            while let Some(edit) = edits.next_if(|edit| edit.at <= inst) {
                let (from, to) = ends(&edit.kind)?;
                let class = [from, to].into_iter().find_map(Loc::as_reg).map(PReg::class);
                let class = class.ok_or(Refusal::Unsupported("a move from slot to slot"))?;
                let moved = regalloc2::Edit::Move { from: place(from, class), to: place(to, class) };
                add_edit(self.func, &mut self.edits, site, moved)?;
            }
            if let Site::ToSlot(_, slot) | Site::FromSlot(_, slot) = site {
                let operand = problem.operand_range(inst).start;
                let reg = place(allocation.locs[operand], problem.class(problem.all_operands()[operand].vreg()));
                let slot = regalloc2::Allocation::reg(slot);
                let (from, to) = if matches!(site, Site::ToSlot(..)) { (reg, slot) } else { (slot, reg) };
                add_edit(self.func, &mut self.edits, site, regalloc2::Edit::Move { from, to })?;
            }
        }
        let class = |label: &LabelUse| (label.label, label.from, problem.class(label.vreg));
        let mut requests: Vec<(u32, Inst, RegClass)> = problem.labels.iter().map(class).collect();
        requests.sort_unstable();
        for range in &allocation.labels {
            let (from, to) = (start(self.func, translation, range.from), end(self.func, translation, range.to));
            let after = requests.partition_point(|&(label, from, _)| (label, from) <= (range.label, range.from));
            // The request that the range answers is the last one that begins before it.
            let requested = requests[..after].last().map(|&(.., class)| class);
            let class = range.loc.as_reg().map(PReg::class).or(requested);
            if let (true, Some(class)) = (from < to, class) {
                self.output.debug_locations.push((range.label, from, to, place(range.loc, class)));
            }
        }
        self.output.num_spillslots = slots.end;
        Ok(())
    }

    /// Returns the output.
    pub(crate) fn finish(mut self) -> regalloc2::Output {
        self.edits.sort_by_key(|&(point, stage, _)| (point, stage));
        self.output.edits = self.edits.into_iter().map(|(point, _, edit)| (point, edit)).collect();
        self.output.debug_locations.sort_by_key(|&(label, from, to, _)| (label, from, to));
        self.output
    }

    /// Numbers the slots of an allocation after all others, each with the size of the largest class in it.
    fn number_slots(&self, translation: &Translation, allocation: &Allocation) -> Slots {
        let mut sizes = vec![1; allocation.slots.len()];
        let mut add = |loc: Loc, class: RegClass| {
            if let Some(slot) = loc.as_slot() {
                let size = self.func.spillslot_size(translation.part.upstream_class(class));
                sizes[slot.index()] = sizes[slot.index()].max(size);
            }
        };
        for (operand, &loc) in translation.problem.all_operands().iter().zip(&allocation.locs) {
            add(loc, translation.problem.class(operand.vreg()));
        }
        for edit in &allocation.edits {
            if let EditKind::Spill { from: reg, to: slot, .. } | EditKind::Fill { from: slot, to: reg, .. } = edit.kind
            {
                add(Loc::slot(slot), reg.class());
            }
        }
        let mut end = self.output.num_spillslots;
        let number = |&size: &usize| {
            let start = end.next_multiple_of(size);
            end = start + size;
            start
        };
        let starts = sizes.iter().map(number).collect();
        Slots { starts, end }
    }
}

/// Numbers of spill slots.
struct Slots {
    /// Per slot of the allocation, its first number.
    starts: Vec<usize>,
    /// One past the last number.
    end: usize,
}

impl Slots {
    fn place<F: Function>(&self, func: &F, part: Part, loc: Loc, class: RegClass) -> regalloc2::Allocation {
        match (loc.as_reg(), loc.as_slot()) {
            (Some(reg), _) => regalloc2::Allocation::reg(part.upstream_reg(reg)),
            (_, Some(slot)) => regalloc2::Allocation::stack(self.number(func, part, slot, class)),
            _ => regalloc2::Allocation::none(),
        }
    }

    fn number<F: Function>(&self, func: &F, part: Part, slot: Slot, class: RegClass) -> SpillSlot {
        let start = self.starts[slot.index()];
        match func.multi_spillslot_named_by_last_slot() {
            true => SpillSlot::new(start + func.spillslot_size(part.upstream_class(class)) - 1),
            false => SpillSlot::new(start),
        }
    }
}

fn ends(kind: &EditKind) -> Result<(Loc, Loc), Refusal> {
    match *kind {
        EditKind::Move { from, to, .. } => Ok((Loc::reg(from), Loc::reg(to))),
        EditKind::Spill { from, to, .. } => Ok((Loc::reg(from), Loc::slot(to))),
        EditKind::Fill { from, to, .. } => Ok((Loc::slot(from), Loc::reg(to))),
        EditKind::Exchange { .. } | EditKind::SlotMove { .. } | EditKind::Remat { .. } => {
            Err(Refusal::Unsupported("an edit that the machine does not have"))
        }
    }
}

/// Adds an edit that runs before the instruction with this origin.
fn add_edit<F: Function>(
    func: &F,
    edits: &mut Vec<(ProgPoint, Stage, regalloc2::Edit)>,
    site: Site,
    edit: regalloc2::Edit,
) -> Result<(), Refusal> {
    let first = |block| ProgPoint::before(func.block_insns(block).first());
    match site {
        Site::Inst(inst) | Site::ToSlot(inst, _) | Site::FromSlot(inst, _) => {
            edits.push((ProgPoint::before(inst), Stage::Within, edit));
        }
        Site::Edge(to) => edits.push((first(to), Stage::OnEdge, edit)),
        Site::End(block) => {
            edits.extend(func.block_succs(block).iter().map(|&succ| (first(succ), Stage::Before, edit.clone())));
        }
        Site::Entry => return Err(Refusal::Unsupported("an edit before the entry block, which is a loop")),
    }
    Ok(())
}

/// Returns the point of the function before an instruction of the problem.
fn start<F: Function>(func: &F, translation: &Translation, inst: Inst) -> ProgPoint {
    match translation.sites[inst.index()] {
        Site::Inst(inst) | Site::ToSlot(inst, _) | Site::FromSlot(inst, _) => ProgPoint::before(inst),
        Site::End(block) => ProgPoint::before(func.block_insns(block).last().next()),
        Site::Edge(block) => ProgPoint::before(func.block_insns(block).first()),
        Site::Entry => ProgPoint::before(func.block_insns(func.entry_block()).first()),
    }
}

/// Returns the point of the function before `to`, where a range ends. The instruction before `to` is in the block of
/// the range.
fn end<F: Function>(func: &F, translation: &Translation, to: Inst) -> ProgPoint {
    match translation.sites[to.index() - 1] {
        Site::Inst(inst) => ProgPoint::before(inst.next()),
        _ => start(func, translation, Inst::new(to.index() - 1)),
    }
}
