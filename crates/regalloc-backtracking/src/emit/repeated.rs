//! Drops edits that bring a value where it still is.
//!
//! ```text
//! before i1: move r0 -> r1      v0 is kept in r1 over i2, which overwrites r0
//! before i2: move r1 -> r0      not needed: the input of i2 is still in r0
//! ```
//!
//! The fragments of a value say where it is, not where else it was just before. After an edit two locations hold the
//! same; until one of them is written in the same block, an edit between them, either way, changes nothing.
//!
//! Cost: a few comparisons per edit, and a look at the instructions between two that match.

use kingpost_regalloc::{Allocation, Edit, EditKind, Inst, InstFlags, Loc, MachineEnv, Problem};
use std::ops::Range;

/// Edits that are looked back at.
const MOST: usize = 4;

/// Instructions that may stand between two edits.
const REACH: u32 = 32;

/// Drops edits of an answer whose locations are known.
pub(super) fn drop_repeated(problem: &Problem, env: &MachineEnv, out: &mut Allocation) {
    let mut edits = std::mem::take(&mut out.edits);
    let mut kept = 0;
    for i in 0..edits.len() {
        let edit = edits[i];
        if !is_repeated(problem, env, out, &edits[kept.max(MOST) - MOST..kept], edit) {
            edits[kept] = edit;
            kept += 1;
        }
    }
    edits.truncate(kept);
    out.edits = edits;
}

/// Returns the places between which a value is copied.
fn places(kind: EditKind) -> Option<(Loc, Loc, u8)> {
    match kind {
        EditKind::Move { from, to, width } => Some((Loc::reg(from), Loc::reg(to), width)),
        EditKind::Spill { from, to, width } => Some((Loc::reg(from), Loc::slot(to), width)),
        EditKind::Fill { from, to, width } => Some((Loc::slot(from), Loc::reg(to), width)),
        EditKind::SlotMove { .. } | EditKind::Remat { .. } | EditKind::Exchange { .. } => None,
    }
}

/// Returns `true` if the value is there since one of the edits before.
fn is_repeated(problem: &Problem, env: &MachineEnv, out: &Allocation, before: &[Edit], edit: Edit) -> bool {
    let Some((from, to, width)) = places(edit.kind) else { return false };
    for earlier in before.iter().rev() {
        if edit.at.as_u32() - earlier.at.as_u32() > REACH {
            return false;
        }
        let Some((a, b, known)) = places(earlier.kind) else { return false };
        if (a, b) == (from, to) || (b, a) == (from, to) {
            let insts = earlier.at.as_u32()..edit.at.as_u32();
            let lasts = |place: Loc| insts.is_empty() || !is_passing(env, out, place);
            return known >= width && lasts(from) && lasts(to) && are_kept(problem, out, insts, [from, to]);
        }
        if b == from || b == to {
            return false;
        }
    }
    false
}

/// Returns `true` if it is a place that holds nothing over an instruction.
fn is_passing(env: &MachineEnv, out: &Allocation, place: Loc) -> bool {
    let is_scratch = place.as_reg().is_some_and(|reg| env.class(reg.class()).scratch == Some(reg));
    is_scratch || place.as_slot().is_some_and(|slot| out.emergency.contains(&Some(slot)))
}

/// Returns `true` if no instruction has written one of the places, moved what references refer to, or ended the block.
fn are_kept(problem: &Problem, out: &Allocation, insts: Range<u32>, places: [Loc; 2]) -> bool {
    insts.map(Inst::from_u32).filter(|&inst| !out.is_dropped(inst)).all(|inst| {
        let flags = problem.flags(inst);
        let clobbers = problem.clobbers(inst);
        let lost = clobbers.lost.union(clobbers.partial);
        let is_lost = |place: &Loc| place.as_reg().is_some_and(|reg| lost.contains(reg));
        let mut written = problem.operands(inst).iter().zip(out.operand_locs(problem, inst));
        !flags.has(InstFlags::BRANCH)
            && !flags.has(InstFlags::SAFEPOINT)
            && !places.iter().any(is_lost)
            && !written.any(|(operand, loc)| operand.is_def() && places.contains(loc))
    })
}
