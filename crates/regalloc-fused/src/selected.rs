//! Instructions as lowering selects them, with their operands.

use kingpost_mach::lower::SelectedInst;
use kingpost_mach::{LowerCtx, MInst, Row};
use kingpost_regalloc::{ClobberId, Constraint, InstFlags, Loc, Operand};
use kingpost_regalloc_common::preference::{Masks, Reg};
use smallvec::SmallVec;

/// Bytes of a general-purpose register. All of them are kept, because lowering may widen a value during the walk.
/// on.
pub(crate) const WORD: u8 = 8;

/// Locations of an instruction's operands.
pub(crate) type Locs = SmallVec<[Loc; 16]>;

/// An instruction with its operands.
pub(crate) struct Selected {
    pub(crate) inst: MInst,
    pub(crate) row: &'static Row,
    pub(crate) flags: InstFlags,
    pub(crate) clobbers: ClobberId,
    pub(crate) operands: SmallVec<[Operand; 16]>,
}

impl Selected {
    /// Copies an instruction and its operands, which are not read-modify-write operands.
    pub(crate) fn new(lower: &LowerCtx<'_>, record: &SelectedInst) -> Selected {
        let SelectedInst { inst, row, flags, clobbers, .. } = *record;
        // Filled in place, because it is large.
        let mut selected = Selected { inst, row, flags, clobbers, operands: SmallVec::new() };
        selected.operands.extend_from_slice(&lower.operands()[range(record)]);
        let operands = &mut selected.operands[..];
        for def in 0..operands.len() {
            let written = operands[def];
            let (Some(k), true) = (written.reused(), written.is_rmw()) else { continue };
            let read = operands[usize::from(k)];
            operands[def] = Operand::new(written.vreg(), written.kind(), written.pos(), written.constraint());
            if read.constraint() == Constraint::MemOk {
                operands[usize::from(k)] = Operand::new(read.vreg(), read.kind(), read.pos(), Constraint::Reg);
            }
        }
        if flags == InstFlags::MOVE && !is_copy(lower, operands) {
            selected.flags = InstFlags::NONE;
        }
        selected
    }
}

/// Returns the range of an instruction's operands.
pub(crate) fn range(record: &SelectedInst) -> std::ops::Range<usize> {
    record.operands.0 as usize..record.operands.1 as usize
}

/// Returns `true` if a move with these operands may be omitted, because its result is not used as a wider value.
pub(crate) fn is_copy(lower: &LowerCtx<'_>, operands: &[Operand]) -> bool {
    let width = |k: usize| lower.code.problem.width(operands[k].vreg());
    width(0) <= width(1)
}

/// Returns the registers as sets.
pub(crate) fn masks(regs: &[Reg]) -> Masks {
    let mut masks = [0; 2];
    for reg in regs.iter().filter(|reg| !reg.is_none()) {
        masks[reg.class()] |= reg.bit();
    }
    masks
}
