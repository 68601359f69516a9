//! Locations of labeled values, read from an allocation: for allocators that do not record them while they work.
//!
//! ```text
//! i1: def v1                        v1 in r0
//!     spill s0 <- r0                and in s0
//! i2: call clobbers {r0}            label 7 = v1 over i2..i5:  label 7: r0 over i2..i3
//! i3: use v1 in s0                                             label 7: s0 over i3..i5
//! ```
//! This is a forward dataflow analysis: at the start of a block a value is in each location that holds it at the
//! ends of all predecessors. A backward analysis finds the values that matter there: those that a later label names, and
//! the arguments that such a block parameter receives. Registers are preferred to slots, and low numbers to high ones. Registers that are not
//! allocatable and emergency slots are ignored.
//!
//! Cost: operands, edits and values that matter at the heads of blocks, times the logarithm of the values live at one
//! point, times the depth of loops.

use crate::answer::{push_label, sort_labels};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::{Exceeded, MeterRef};
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{
    Allocation, Block, ClobberId, Edge, EditKind, Inst, InstFlags, LabelUse, Loc, MachineEnv, PReg, PRegSet, Pos,
    Problem, StackMapEntry, VReg,
};
use std::collections::{BTreeMap, BTreeSet};

/// Computes the label ranges of `out` from its locations and edits.
///
/// # Errors
/// If the meter refuses.
pub fn place_labels(
    problem: &Problem,
    env: &MachineEnv,
    out: &mut Allocation,
    meter: MeterRef<'_>,
) -> Result<(), Exceeded> {
    out.labels.clear();
    if problem.labels.is_empty() {
        return Ok(());
    }
    meter.reserve(2 * problem.size() + 4 * problem.labels.len() as u64)?;
    let requests = Requests::new(problem);
    let mut walk = Walk {
        problem,
        answer: out,
        allocatable: env.allocatable(),
        places: Places::default(),
        changed: BTreeSet::new(),
        ranges: None,
    };
    let entries = walk.solve(&needs(problem, &requests, meter)?, meter)?;
    let mut ranges = Vec::new();
    for (block, entry) in problem.blocks().zip(&entries) {
        if let (Some(entry), false) = (entry, requests.of(block).is_empty()) {
            let found = walk.ranges(block, entry);
            ranges.extend(requests.of(block).iter().map(|request| (*request, found.get(&request.vreg).cloned())));
        }
    }
    for (request, found) in ranges {
        for (loc, from, to) in found.into_iter().flatten() {
            push_label(out, request.label, loc, from.max(request.from), to.min(request.to));
        }
    }
    sort_labels(out);
    Ok(())
}

/// The requests, block by block.
struct Requests {
    sorted: Vec<LabelUse>,
    /// By block, the end of its requests.
    ends: Vec<usize>,
}

impl Requests {
    fn new(problem: &Problem) -> Requests {
        let mut keys: Vec<_> =
            problem.labels.iter().map(|label| (label.from, label.label, label.vreg, label.to)).collect();
        sort(&mut keys);
        let request = |&(from, label, vreg, to): &(Inst, u32, VReg, Inst)| LabelUse { label, vreg, from, to };
        let sorted: Vec<LabelUse> = keys.iter().map(request).collect();
        let end = |block| sorted.partition_point(|request| request.from <= problem.terminator(block));
        let ends = problem.blocks().map(end).collect();
        Requests { sorted, ends }
    }

    fn of(&self, block: Block) -> &[LabelUse] {
        let start = block.index().checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.sorted[start..self.ends[block.index()]]
    }
}

/// Returns, by block, the values whose locations at its head decide the locations of a label in it or after it.
fn needs(problem: &Problem, requests: &Requests, meter: MeterRef<'_>) -> Result<Vec<BTreeSet<VReg>>, Exceeded> {
    let mut needs: Vec<BTreeSet<VReg>> = vec![BTreeSet::new(); problem.num_blocks()];
    let mut waiting: BTreeSet<Block> = problem.blocks().collect();
    while let Some(block) = waiting.pop_last() {
        let mut need: BTreeSet<VReg> = requests.of(block).iter().map(|request| request.vreg).collect();
        for &edge in problem.succs(block) {
            let to = problem.edge(edge).to;
            need.extend(sources(problem, edge, &needs[to.index()]).map(|(_, source)| source));
        }
        // An element of an ordered set costs more than an instruction.
        meter.spend((problem.insts(block).len() + 4 * need.len()) as u64)?;
        for operand in problem.insts(block).flat_map(|inst| problem.operands(inst)).filter(|operand| operand.is_def()) {
            need.remove(&operand.vreg());
        }
        if need != needs[block.index()] {
            needs[block.index()] = need;
            waiting.extend(problem.preds(block).iter().map(|&edge| problem.edge(edge).from));
        }
    }
    Ok(needs)
}

/// Returns the values at the head of an edge's target, each with the value that it is at the end of the source.
fn sources<'a>(
    problem: &'a Problem,
    edge: Edge,
    values: &'a BTreeSet<VReg>,
) -> impl Iterator<Item = (VReg, VReg)> + use<'a> {
    let params = problem.params(problem.edge(edge).to);
    let passed: BTreeMap<VReg, VReg> =
        params.iter().zip(problem.edge_args(edge)).map(|(&param, &arg)| (param, arg)).collect();
    values.iter().map(move |&value| (value, passed.get(&value).copied().unwrap_or(value)))
}

/// The values in locations at one point, in both orders.
#[derive(Clone, Default, PartialEq, Eq)]
struct Places {
    by_loc: BTreeSet<(Loc, VReg)>,
    by_value: BTreeSet<(VReg, Loc)>,
}

impl Places {
    /// Returns the values in a location.
    fn at(&self, loc: Loc) -> Vec<VReg> {
        let all = (loc, VReg::from_u32(0))..=(loc, VReg::from_u32(u32::MAX - 1));
        self.by_loc.range(all).map(|&(_, vreg)| vreg).collect()
    }

    /// Returns the locations of a value, registers first.
    fn of(&self, vreg: VReg) -> impl Iterator<Item = Loc> {
        let first = (vreg, Loc::reg(PReg::int(0)));
        self.by_value.range(first..=(vreg, Loc::NONE)).map(|&(_, loc)| loc)
    }
}

struct Walk<'a> {
    problem: &'a Problem,
    answer: &'a Allocation,
    allocatable: PRegSet,
    places: Places,
    /// Values whose places changed since the last instruction.
    changed: BTreeSet<VReg>,
    /// The ranges of each value, and the place of each value since an instruction; set while ranges are collected.
    ranges: Option<Ranges>,
}

/// Ranges of instructions before which a value is in a location, by value.
type RangesOf = BTreeMap<VReg, Vec<(Loc, Inst, Inst)>>;

#[derive(Default)]
struct Ranges {
    done: RangesOf,
    open: BTreeMap<VReg, (Loc, Inst)>,
}

impl Walk<'_> {
    /// Returns the places of needed values at the heads of blocks; `None` for unreachable blocks.
    fn solve(&mut self, needs: &[BTreeSet<VReg>], meter: MeterRef<'_>) -> Result<Vec<Option<Places>>, Exceeded> {
        let problem = self.problem;
        let mut entries: Vec<Option<Places>> = vec![None; problem.num_blocks()];
        entries[problem.entry().index()] = Some(Places::default());
        let mut waiting = BTreeSet::from([problem.entry()]);
        while let Some(block) = waiting.pop_first() {
            let Some(entry) = &entries[block.index()] else { continue };
            meter.spend((4 * problem.insts(block).len() + 8 * entry.by_loc.len()) as u64)?;
            self.places = entry.clone();
            self.block(block);
            for &edge in problem.succs(block) {
                let to = problem.edge(edge).to;
                let arriving = self.over_edge(edge, &needs[to.index()]);
                let entry = &mut entries[to.index()];
                let merged = match &*entry {
                    None => arriving,
                    Some(known) => Places {
                        by_loc: known.by_loc.intersection(&arriving.by_loc).copied().collect(),
                        by_value: known.by_value.intersection(&arriving.by_value).copied().collect(),
                    },
                };
                if entry.as_ref() != Some(&merged) {
                    *entry = Some(merged);
                    waiting.insert(to);
                }
            }
        }
        Ok(entries)
    }

    /// Returns the places after an edge of the values that are needed at its target.
    fn over_edge(&self, edge: Edge, needed: &BTreeSet<VReg>) -> Places {
        let mut places = Places::default();
        for (vreg, source) in sources(self.problem, edge, needed) {
            for loc in self.places.of(source) {
                places.by_loc.insert((loc, vreg));
                places.by_value.insert((vreg, loc));
            }
        }
        places
    }

    /// Returns the ranges of all values in a block.
    fn ranges(&mut self, block: Block, entry: &Places) -> RangesOf {
        self.places = entry.clone();
        self.changed = entry.by_value.iter().map(|&(vreg, _)| vreg).collect();
        self.ranges = Some(Ranges::default());
        self.block(block);
        let mut ranges = self.ranges.take().unwrap_or_default();
        let end = Inst::new(self.problem.terminator(block).index() + 1);
        for (vreg, (loc, from)) in ranges.open {
            ranges.done.entry(vreg).or_default().push((loc, from, end));
        }
        ranges.done
    }

    fn block(&mut self, block: Block) {
        let (problem, answer) = (self.problem, self.answer);
        let first = answer.edits.partition_point(|edit| edit.at < problem.first_inst(block));
        let mut edits = answer.edits[first..].iter().peekable();
        for inst in problem.insts(block) {
            while let Some(edit) = edits.next_if(|edit| edit.at == inst) {
                self.edit(edit.kind);
            }
            self.note(inst);
            self.inst(inst);
        }
    }

    /// Records the places of changed values before an instruction.
    fn note(&mut self, inst: Inst) {
        let Some(ranges) = &mut self.ranges else { return };
        while let Some(vreg) = self.changed.pop_first() {
            let place = self.places.of(vreg).next();
            let open = ranges.open.get(&vreg).copied();
            if open.map(|open| open.0) == place {
                continue;
            }
            if let Some((loc, from)) = open {
                ranges.done.entry(vreg).or_default().push((loc, from, inst));
            }
            match place {
                Some(loc) => ranges.open.insert(vreg, (loc, inst)),
                None => ranges.open.remove(&vreg),
            };
        }
    }

    fn edit(&mut self, kind: EditKind) {
        match kind {
            EditKind::Move { from, to, width } => self.copy(Loc::reg(from), Loc::reg(to), width),
            EditKind::Spill { from, to, width } => self.copy(Loc::reg(from), Loc::slot(to), width),
            EditKind::Fill { from, to, width } => self.copy(Loc::slot(from), Loc::reg(to), width),
            EditKind::SlotMove { from, to, width } => self.copy(Loc::slot(from), Loc::slot(to), width),
            EditKind::Exchange { a, b, width } => {
                let (in_a, in_b) = (self.carried(Loc::reg(a), width), self.carried(Loc::reg(b), width));
                self.set(Loc::reg(a), &in_b);
                self.set(Loc::reg(b), &in_a);
            }
            EditKind::Remat { inst, to } => {
                let defs = self.problem.operands(inst).iter().filter(|operand| operand.is_def());
                let vregs: Vec<VReg> = defs.map(|operand| operand.vreg()).collect();
                self.set(Loc::reg(to), &vregs);
            }
        }
    }

    fn copy(&mut self, from: Loc, to: Loc, width: u8) {
        let carried = self.carried(from, width);
        self.set(to, &carried);
    }

    /// Returns the values in a location that a copy of `width` bytes preserves.
    fn carried(&self, loc: Loc, width: u8) -> Vec<VReg> {
        self.places.at(loc).into_iter().filter(|&vreg| self.problem.width(vreg) <= width).collect()
    }

    fn inst(&mut self, inst: Inst) {
        let (problem, answer) = (self.problem, self.answer);
        let (operands, locs) = (problem.operands(inst), answer.operand_locs(problem, inst));
        if let ([a, b], true) = (operands, problem.flags(inst).has(InstFlags::MOVE)) {
            let (def, loc, from) = if a.is_def() { (a, locs[0], locs[1]) } else { (b, locs[1], locs[0]) };
            let mut values = self.carried(from, problem.width(def.vreg()));
            values.push(def.vreg());
            return self.set(loc, &values);
        }
        if answer.is_dropped(inst) {
            return;
        }
        let defs = || operands.iter().zip(locs).filter(|(operand, _)| operand.is_def());
        defs().filter(|(operand, _)| operand.pos() == Pos::Early).for_each(|(_, &loc)| self.set(loc, &[]));
        if problem.clobber_id(inst) != ClobberId::NONE {
            self.clobber(inst);
        }
        if problem.flags(inst).has(InstFlags::SAFEPOINT) {
            self.collect(inst);
        }
        defs().for_each(|(_, &loc)| self.set(loc, &[]));
        // A call with handlers defines several values in one register, each on another edge.
        defs().for_each(|(operand, &loc)| self.add(loc, operand.vreg()));
    }

    fn clobber(&mut self, inst: Inst) {
        let clobbers = *self.problem.clobbers(inst);
        for reg in clobbers.lost.iter() {
            self.set(Loc::reg(reg), &[]);
        }
        for reg in clobbers.partial.difference(clobbers.lost).iter() {
            let kept = self.carried(Loc::reg(reg), clobbers.kept_bytes);
            self.set(Loc::reg(reg), &kept);
        }
    }

    /// Removes the places that a collector invalidates: references survive only in slots of the stack map, and
    /// other values do not survive there.
    fn collect(&mut self, inst: Inst) {
        let is_ref = |vreg: VReg| self.problem.vregs[vreg].is_ref;
        let is_mapped = |loc: Loc| {
            let entry = loc.as_slot().map(|slot| StackMapEntry { inst, slot });
            entry.is_some_and(|entry| self.answer.stack_maps.binary_search(&entry).is_ok())
        };
        let lost: Vec<(Loc, VReg)> =
            self.places.by_loc.iter().copied().filter(|&(loc, vreg)| is_ref(vreg) != is_mapped(loc)).collect();
        for (loc, vreg) in lost {
            self.places.by_loc.remove(&(loc, vreg));
            self.places.by_value.remove(&(vreg, loc));
            self.changed.insert(vreg);
        }
    }

    /// Records that a location holds exactly these values.
    fn set(&mut self, loc: Loc, values: &[VReg]) {
        for vreg in self.places.at(loc) {
            self.places.by_loc.remove(&(loc, vreg));
            self.places.by_value.remove(&(vreg, loc));
            self.changed.insert(vreg);
        }
        values.iter().for_each(|&vreg| self.add(loc, vreg));
    }

    fn add(&mut self, loc: Loc, vreg: VReg) {
        let is_claimed = match (loc.as_reg(), loc.as_slot()) {
            (Some(reg), _) => self.allocatable.contains(reg),
            (_, slot) => slot.is_some() && !self.answer.emergency.contains(&slot),
        };
        if is_claimed {
            self.places.by_loc.insert((loc, vreg));
            self.places.by_value.insert((vreg, loc));
            self.changed.insert(vreg);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::text::parse;

    const ENV: &str = "env {
        int r0-r3 saved {r3}
        }
        ";

    fn check(text: &str, expected: &[&str]) {
        let mut file = parse(&format!("{ENV}{text}")).unwrap_or_else(|error| panic!("{error}"));
        let case = file.cases.remove(0);
        let mut answer = case.allocation.expect("an allocation");
        place_labels(&case.problem, &file.env.expect("a machine"), &mut answer, MeterRef::default()).expect("no limit");
        let text = answer.labels.iter().map(|l| format!("{} {} {}..{}", l.label, l.loc, l.from, l.to));
        assert_eq!(text.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_value_is_in_its_slot_once_its_register_is_lost() {
        let text = "problem %f {
            v0, v1: int 8
            b0:
            i0: def v0
            i1: nop
            i2: clobbers {r0}
            i3: nop
            i4: move use v0, def v1
            i5: branch use v0, use v1
            label 7 = v0 over i1..i6
            label 8 = v0 over i2..i4
            label 9 = v1 over i5..i6
            }
            allocation {
            slots s0: 8
            i0: r0
            before i1: spill r0 -> s0 8
            before i4: fill s0 -> r1 8
            i4 dropped: r1, r1
            i5: r1, r1
            }";
        check(text, &["7 r0 i1..i3", "7 s0 i3..i4", "7 r1 i4..i6", "8 r0 i2..i3", "8 s0 i3..i4", "9 r1 i5..i6"]);
    }

    /// Checks that values and arguments are followed through blocks that do not label them.
    #[test]
    fn blocks_without_labels_pass_places_on() {
        let text = "problem %f {
            v0, v1, v2: int 8
            b0:
            i0: def v0, def v1
            i1: branch use v0 -> b1, b2
            b1:
            i2: branch -> b3(v0)
            b2:
            i3: branch -> b3(v1)
            b3(v2):
            i4: nop
            i5: branch use v2, use v1
            label 7 = v2 over i4..i6
            label 8 = v1 over i4..i6
            }
            allocation {
            i0: r0, r1
            i1: r0
            before i2: move r0 -> r2 8
            before i3: move r1 -> r2 8
            i5: r2, r1
            }";
        check(text, &["7 r2 i4..i6", "8 r1 i4..i6"]);
    }

    #[test]
    fn at_a_join_only_the_place_on_all_edges_counts() {
        let text = "problem %f {
            v0, v1, v2: int 8
            b0:
            i0: def v0, def v1
            i1: branch use v0 -> b1, b2
            b1:
            i2: branch -> b3(v0)
            b2:
            i3: branch -> b3(v1)
            b3(v2):
            i4: nop
            i5: branch use v2, use v1
            label 5 = v0 over i2..i3
            label 6 = v1 over i2..i3
            label 6 = v1 over i3..i4
            label 7 = v2 over i4..i6
            label 8 = v1 over i4..i6
            }
            allocation {
            i0: r0, r1
            i1: r0
            before i2: move r0 -> r2 8
            before i3: move r1 -> r2 8
            before i3: move r1 -> r3 8
            i5: r2, r1
            }";
        check(text, &["5 r0 i2..i3", "6 r1 i2..i4", "7 r2 i4..i6", "8 r1 i4..i6"]);
    }

    #[test]
    fn a_loop_that_overwrites_a_place_leaves_none() {
        let text = "problem %f {
            v0, v1, v2: int 8
            b0:
            i0: def v0
            i1: branch -> b1
            b1:
            i2: nop
            i3: def v1
            i4: branch use v1 -> b2, b3
            b2:
            i5: branch -> b1
            b3:
            i6: branch
            label 7 = v0 over i2..i5
            label 8 = v1 over i4..i5
            }
            allocation {
            i0: r0
            i3: r0
            i4: r0
            }";
        check(text, &["8 r0 i4..i5"]);
    }
}
