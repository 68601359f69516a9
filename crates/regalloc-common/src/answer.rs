//! The last steps on an [`Allocation`], shared by all allocators: moves from a location to itself are dropped,
//! label ranges joined and sorted, stack maps sorted, saved registers collected.
//!
//! ```text
//! v1 = move v0, both in r1                            dropped
//! label 3: r1 before i4..i6, r1 before i6..i9         label 3: r1 before i4..i9
//! ```
//!
//! Cost: linear in edits, moves and definitions, n log n in label ranges and stack map entries.

use crate::edge_sites::is_at_head;
use kingpost_regalloc::{Allocation, Edge, EditKind, Inst, LabelRange, LabelUse, Loc, MachineEnv, PRegSet, Problem};

/// Drops each of the given move instructions whose two operands share a location.
pub fn drop_void_moves(problem: &Problem, moves: impl IntoIterator<Item = Inst>, out: &mut Allocation) {
    for inst in moves {
        if matches!(out.operand_locs(problem, inst), [a, b] if a == b) {
            out.drop_inst(inst);
        }
    }
}

/// Returns the first instruction of a label's range and the end up to which a location may be recorded: at most the
/// end of the block. The terminator is excluded if the moves of an edge precede it, as `has_moves` reports.
pub fn label_insts(problem: &Problem, label: &LabelUse, has_moves: impl Fn(Edge) -> bool) -> (Inst, Inst) {
    let block = problem.block_of(label.from);
    let terminator = problem.terminator(block);
    let end = match *problem.succs(block) {
        [edge] if !is_at_head(problem, edge) && has_moves(edge) => terminator,
        _ => Inst::from_u32(terminator.as_u32() + 1),
    };
    (label.from, label.to.min(end))
}

/// Records that the labeled value is in `loc` before the instructions from `from` up to `to`. Ranges of one label
/// are recorded in ascending order.
pub fn push_label(out: &mut Allocation, label: u32, loc: Loc, from: Inst, to: Inst) {
    if from >= to || loc.is_none() {
        return;
    }
    match out.labels.last_mut() {
        Some(last) if last.label == label && last.loc == loc && last.to == from => last.to = to,
        _ => out.labels.push(LabelRange { label, loc, from, to }),
    }
}

/// Sorts labels and stack maps.
pub fn sort_tables(out: &mut Allocation) {
    sort_stack_maps(out);
    sort_labels(out);
}

/// Sorts stack maps and removes duplicate entries.
pub fn sort_stack_maps(out: &mut Allocation) {
    out.stack_maps.sort_unstable();
    out.stack_maps.dedup();
}

/// Sorts the ranges of labels.
pub fn sort_labels(out: &mut Allocation) {
    out.labels.sort_by_key(|range| (range.label, range.from));
}

/// Sets the callee-saved registers that are written by edits, or by definitions and clobbers, which `written`
/// holds.
pub fn collect_saved(env: &MachineEnv, written: PRegSet, out: &mut Allocation) {
    let mut written = written;
    for edit in &out.edits {
        match edit.kind {
            EditKind::Move { to, .. } | EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => written.insert(to),
            EditKind::Exchange { a, b, .. } => written = written.with(a).with(b),
            EditKind::Spill { .. } | EditKind::SlotMove { .. } => {}
        }
    }
    out.saved = written.intersection(env.callee_saved());
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::text::parse;
    use kingpost_regalloc::{Edit, PReg, Slot, StackMapEntry};

    const TEXT: &str = "env {
        int r0, r1, r2, r3 saved {r2, r3}
        }
        problem %f {
        v0, v1, v2: int 8
        b0:
        i0: def v0
        i1: move use v0, def v1
        i2: branch -> b1(v1)
        b1(v2):
        i3: branch use v2
        label 7 = v0 over i1..i3
        }";

    fn answer() -> (MachineEnv, Problem, Allocation) {
        let mut file = parse(TEXT).unwrap_or_else(|error| panic!("{error}"));
        let (problem, mut out) = (file.cases.remove(0).problem, Allocation::default());
        out.reset(&problem);
        (file.env.expect("a machine"), problem, out)
    }

    #[test]
    fn only_moves_within_one_location_are_void() {
        let (_, problem, mut out) = answer();
        let (inst, r0) = (Inst::from_u32(1), Loc::reg(PReg::int(0)));
        out.locs[1] = r0;
        drop_void_moves(&problem, [inst], &mut out);
        assert!(!out.is_dropped(inst));
        out.locs[2] = r0;
        drop_void_moves(&problem, [inst], &mut out);
        assert!(out.is_dropped(inst));
    }

    #[test]
    fn labels_end_where_the_moves_of_an_edge_begin() {
        let (_, problem, _) = answer();
        let label = problem.labels[0];
        let insts = |has_moves| label_insts(&problem, &label, |_| has_moves);
        assert_eq!(insts(false), (Inst::from_u32(1), Inst::from_u32(3)));
        assert_eq!(insts(true), (Inst::from_u32(1), Inst::from_u32(2)));
    }

    #[test]
    fn claims_that_touch_are_one() {
        let mut out = Allocation::default();
        let [r0, r1] = [0, 1].map(|enc| Loc::reg(PReg::int(enc)));
        let claims = [(7, r0, 1, 2), (7, r0, 2, 4), (7, r1, 4, 5), (7, Loc::NONE, 5, 6), (7, r1, 6, 6), (3, r1, 5, 6)];
        for (label, loc, from, to) in claims {
            push_label(&mut out, label, loc, Inst::from_u32(from), Inst::from_u32(to));
        }
        sort_tables(&mut out);
        let text: Vec<_> = out.labels.iter().map(|l| format!("{} {} {}..{}", l.label, l.loc, l.from, l.to)).collect();
        assert_eq!(text, ["3 r1 i5..i6", "7 r0 i1..i4", "7 r1 i4..i5"]);
    }

    #[test]
    fn saved_registers_are_those_that_anything_writes() {
        let (env, _, mut out) = answer();
        let (slot, at) = (Slot::from_u32(0), Inst::from_u32(2));
        let mut edit = |kind| out.edits.push(Edit { at, kind });
        edit(EditKind::Spill { from: PReg::int(3), to: slot, width: 8 });
        edit(EditKind::Fill { from: slot, to: PReg::int(1), width: 8 });
        collect_saved(&env, PRegSet::EMPTY, &mut out);
        assert!(out.saved.is_empty());
        out.edits.push(Edit { at, kind: EditKind::Exchange { a: PReg::int(2), b: PReg::int(0), width: 8 } });
        collect_saved(&env, PRegSet::EMPTY.with(PReg::int(3)), &mut out);
        assert_eq!(out.saved.to_string(), "{r2, r3}");
    }

    #[test]
    fn stack_maps_name_each_slot_once() {
        let mut out = Allocation::default();
        let entry = |inst, slot| StackMapEntry { inst: Inst::from_u32(inst), slot: Slot::from_u32(slot) };
        out.stack_maps.extend([entry(2, 1), entry(1, 0), entry(2, 1)]);
        sort_tables(&mut out);
        assert_eq!(out.stack_maps, [entry(1, 0), entry(2, 1)]);
    }
}
