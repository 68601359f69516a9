//! Branches and conditional traps.
//!
//! Before: `v2 = icmp eq v0, v1 (0); brif v2, block1, block2`. After: `cbz w0, block1`.

use super::LowerResult;
use super::condition::Test;
use super::cx::Cx;
use crate::immediates;
use crate::regs::{CC_EQ, CC_LO, CC_NE};
use crate::rows;
use kingpost_ir::{Inst, InstView, TrapCode};
use kingpost_mach::lower::{self as shared, Cond, branch_on, trap_on};
use kingpost_mach::{Address, IndexExtend, LowerBackend, NO_BLOCK};
use kingpost_regalloc::{Block, VReg};

/// Lowers `brif`.
pub(super) fn brif(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c] = cx.args(inst);
    let Some([then, other]) = shared::branch::two_targets(cx) else { return Ok(()) };
    let test = cx.test(c);
    branch_to(cx, test, then, other);
    Ok(())
}

/// Branches to `then` if the test holds, else to `other`.
fn branch_to(cx: &mut Cx<'_, '_>, test: Test, then: Block, other: Block) {
    let branch = match test {
        Test::Flags(cond) => return branch_on(cx, cond, then, other),
        Test::Zero { reg, bits, zero: true } => cx.emit(rows::CBZ_R.of(bits), &[reg]),
        Test::Zero { reg, bits, zero: false } => cx.emit(rows::CBNZ_R.of(bits), &[reg]),
        Test::Bit { reg, bit, set } => {
            let row = if set { rows::TBNZ_RI } else { rows::TBZ_RI };
            cx.emit_imm(row, &[reg], bit as i32)
        }
    };
    branch.aux = then.as_u32();
    branch.extra = other.as_u32();
}

/// Branches to `then` if `index` is below `limit`, else to `other`.
pub(super) fn branch_if_below(cx: &mut Cx<'_, '_>, index: VReg, limit: u32, then: Block, other: Block) {
    compare_length(cx, index, limit);
    branch_on(cx, Cond::One(CC_LO), then, other);
}

/// Jumps by a table. The index is limited to the entry after the last one, which is the default.
pub(super) fn jump_by_table(cx: &mut Cx<'_, '_>, index: VReg, table: u32, len: u32) {
    let end = cx.constant_temp(u64::from(len), 32);
    let limited = cx.int_temp(32);
    let [start, distance, target] = std::array::from_fn(|_| cx.int_temp(64));
    compare_length(cx, index, len);
    cx.emit_imm(rows::CSEL_RRR.of(32), &[limited, index, end], CC_LO);
    cx.emit_lea(start, Address::Table(table));
    let entry = Address::Index { base: start, index: limited, shift: 2, extend: IndexExtend::Zero32, disp: 0 };
    cx.emit_mem(rows::LDRSW64_RM, &[distance], entry);
    cx.emit(rows::ADD_RRR.of(64), &[target, start, distance]);
    let jump = cx.emit(rows::BR_R, &[target]);
    jump.aux = NO_BLOCK;
    jump.extra = NO_BLOCK;
}

fn compare_length(cx: &mut Cx<'_, '_>, index: VReg, len: u32) {
    if immediates::add_sub(u64::from(len)).is_some() {
        cx.compare_constant(index, i64::from(len), 32);
    } else {
        let end = cx.constant_temp(u64::from(len), 32);
        cx.emit(rows::CMP_RR.of(32), &[index, end]);
    }
}

/// Lowers `trapz`, `trapnz`.
pub(super) fn trap_if(cx: &mut Cx<'_, '_>, inst: Inst, zero: bool) -> LowerResult {
    let InstView::CondTrap { arg, code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    match cx.test(arg) {
        Test::Flags(cond) => trap_on(cx, cond.inverse_if(zero), code),
        Test::Zero { reg, bits, zero: asked } => {
            let family = if asked != zero { rows::TRAP_CBZ_R } else { rows::TRAP_CBNZ_R };
            cx.emit(family.of(bits), &[reg]).set_trap(Some(code));
        }
        Test::Bit { reg, bit, set } => {
            let bits = if bit < 32 { 32 } else { 64 };
            let mask = immediates::logical(1 << bit, bits).expect("one bit is a pattern");
            cx.emit_imm(rows::TST_RI.of(bits), &[reg], mask);
            let cond = Cond::One(if set { CC_NE } else { CC_EQ });
            trap_on(cx, cond.inverse_if(zero), code);
        }
    }
    Ok(())
}

/// Traps if the stack pointer is below `limit`.
pub(super) fn check_stack(cx: &mut Cx<'_, '_>, limit: VReg) {
    cx.emit(rows::CMPSP_R, &[limit]);
    trap_on(cx, Cond::One(CC_LO), TrapCode::STACK_OVERFLOW);
}
