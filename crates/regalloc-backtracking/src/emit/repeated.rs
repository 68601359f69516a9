//! Drops edits that move a value to a location in which it already is.
//!
//! ```text
//! before i1: move r0 -> r1      v0 is kept in r1 over i2, which overwrites r0
//! before i2: move r1 -> r0      not needed: the input of i2 is still in r0
//! ```
//!
//! The fragments of a value record its location, not its earlier locations. After an edit two locations hold one
//! value. Until one of them is written in the same block, a further edit between them, in either direction, has no
//! effect.
//!
//! Cost: a few comparisons per edit, and a scan of the instructions between two edits that match.

use kingpost_regalloc::{Allocation, Edit, EditKind, Inst, InstFlags, Loc, MachineEnv, Problem};
use std::ops::Range;

/// Number of preceding edits that are compared.
const MOST: usize = 4;

/// Largest distance between two edits, in instructions.
const REACH: u32 = 32;

/// Drops repeated edits of an answer whose locations are known.
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

/// Returns the two locations and the width of an edit that copies a value.
fn places(kind: EditKind) -> Option<(Loc, Loc, u8)> {
    match kind {
        EditKind::Move { from, to, width } => Some((Loc::reg(from), Loc::reg(to), width)),
        EditKind::Spill { from, to, width } => Some((Loc::reg(from), Loc::slot(to), width)),
        EditKind::Fill { from, to, width } => Some((Loc::slot(from), Loc::reg(to), width)),
        EditKind::SlotMove { .. } | EditKind::Remat { .. } | EditKind::Exchange { .. } => None,
    }
}

/// Returns `true` if an earlier edit has put the value into its destination.
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

/// Returns `true` for a scratch register or emergency slot, which holds no value over an instruction.
fn is_passing(env: &MachineEnv, out: &Allocation, place: Loc) -> bool {
    let is_scratch = place.as_reg().is_some_and(|reg| env.class(reg.class()).scratch == Some(reg));
    is_scratch || place.as_slot().is_some_and(|slot| out.emergency.contains(&Some(slot)))
}

/// Returns `true` if no instruction has overwritten one of the places, moved an object that references refer to, or
/// ended the block.
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
