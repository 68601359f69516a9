//! Branches and conditional traps.
//!
//! Before: `trapz v0, user1`. After: `test v0, v0; je trap`.

use super::LowerResult;
use super::cx::Cx;
use crate::regs::CC_B;
use crate::rows;
use kingpost_ir::{Inst, InstView};
use kingpost_mach::lower::{self as shared, Cond, branch_on, trap_on};
use kingpost_mach::{Address, IndexExtend, LowerBackend, NO_BLOCK};
use kingpost_regalloc::{Block, VReg};

/// Lowers `brif`.
pub(super) fn brif(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c] = cx.args(inst);
    let Some([then, other]) = shared::branch::two_targets(cx) else { return Ok(()) };
    let cond = cx.condition(c, inst)?;
    branch_on(cx, cond, then, other);
    Ok(())
}

/// Branches to `then` if `index` is below `limit`, else to `other`.
pub(super) fn branch_if_below(cx: &mut Cx<'_, '_>, index: VReg, limit: u32, then: Block, other: Block) {
    cx.emit_imm(rows::CMP_RI.of(32), &[index], limit as i32);
    branch_on(cx, Cond::One(CC_B), then, other);
}

/// Jumps by a table. The index is limited to the entry after the last one, which is the default.
pub(super) fn jump_by_table(cx: &mut Cx<'_, '_>, index: VReg, table: u32, len: u32) {
    let end = cx.constant_temp(u64::from(len), 32);
    let [limited, start, distance, target] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(rows::CMP_RI.of(32), &[index], len as i32);
    cx.emit_imm(rows::CMOV_RR.of(32), &[limited, end, index], CC_B);
    cx.emit_lea(start, Address::Table(table));
    let entry = Address::Index { base: start, index: limited, shift: 2, extend: IndexExtend::None, disp: 0 };
    cx.emit_mem(rows::MOVSX64_32_RM, &[distance], entry);
    cx.emit(rows::ADD_RR.of(64), &[target, distance, start]);
    let jump = cx.emit(rows::JMP_R, &[target]);
    jump.aux = NO_BLOCK;
    jump.extra = NO_BLOCK;
}

/// Lowers `trapz`, `trapnz`.
pub(super) fn trap_if(cx: &mut Cx<'_, '_>, inst: Inst, zero: bool) -> LowerResult {
    let InstView::CondTrap { arg, code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let cond = cx.condition(arg, inst)?;
    trap_on(cx, cond.inverse_if(zero), code);
    Ok(())
}
