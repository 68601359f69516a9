//! Jumps, branches, traps.

use super::Done;
use super::condition::{Cond, Test};
use super::cx::{Cx, pick};
use crate::immediates;
use crate::regs::{CC_EQ, CC_LO, CC_NE};
use crate::rows;
use kingpost_ir::{Inst, InstView, TrapCode};
use kingpost_mach::{Address, IndexExtend, NO_BLOCK};
use kingpost_regalloc::Block;

/// Appends a jump.
pub(super) fn jump(cx: &mut Cx<'_, '_>, target: Block) {
    let jump = cx.emit(rows::B, &[]);
    jump.aux = target.as_u32();
    jump.extra = NO_BLOCK;
}

/// `brif`.
pub(super) fn brif(cx: &mut Cx<'_, '_>, inst: Inst, targets: &[Block]) -> Done {
    let [c] = cx.args(inst);
    let (then, other) = (targets[0], targets[1]);
    if then == other {
        jump(cx, then);
        return Ok(());
    }
    let test = cx.test(c);
    branch_to(cx, test, then, other);
    Ok(())
}

/// Goes to `then` if the test says so, else to `other`.
fn branch_to(cx: &mut Cx<'_, '_>, test: Test, then: Block, other: Block) {
    let branch = match test {
        Test::Flags(Cond::One(cc)) => cx.emit_imm(rows::B_IF, &[], cc),
        Test::Flags(Cond::Or(a, b)) => cx.emit_imm(rows::B_IF_OR, &[], a | b << 16),
        Test::Flags(Cond::And(a, b)) => cx.emit_imm(rows::B_IF_AND, &[], a | b << 16),
        Test::Zero { reg, bits, zero: true } => cx.emit(pick(bits, rows::CBZ32_R, rows::CBZ64_R), &[reg]),
        Test::Zero { reg, bits, zero: false } => cx.emit(pick(bits, rows::CBNZ32_R, rows::CBNZ64_R), &[reg]),
        Test::Bit { reg, bit, set } => {
            let row = if set { rows::TBNZ_RI } else { rows::TBZ_RI };
            cx.emit_imm(row, &[reg], bit as i32)
        }
    };
    branch.aux = then.as_u32();
    branch.extra = other.as_u32();
}

/// `br_table`: two or three entries are told apart by comparisons. Of more, the index is limited to one past the table's
/// end, where the default stands. Without a branch, the CPU cannot speculate past the table either.
pub(super) fn br_table(cx: &mut Cx<'_, '_>, inst: Inst, targets: &[Block]) -> Done {
    let [index] = cx.args(inst);
    let (&default, entries) = targets.split_first().ok_or_else(|| cx.unsupported(inst))?;
    if entries.iter().all(|&entry| entry == default) {
        jump(cx, default);
        return Ok(());
    }
    let len = entries.len() as u32;
    if let [entry, others @ ..] = entries
        && others.iter().all(|other| other == entry)
    {
        let index = cx.put(index);
        compare_length(cx, index, len);
        branch_to(cx, Test::Flags(Cond::One(CC_LO)), *entry, default);
        return Ok(());
    }
    if let 2 | 3 = entries.len() {
        let start = cx.code.pool.targets(entries.iter().chain([&default]).map(|block| block.as_u32()));
        let index = cx.put(index);
        let row = if entries.len() == 2 { rows::B_CHAIN2_R } else { rows::B_CHAIN3_R };
        let jump = cx.emit_imm(row, &[index], start as i32);
        jump.aux = NO_BLOCK;
        jump.extra = NO_BLOCK;
        return Ok(());
    }
    let table = cx.code.pool.table(entries.iter().chain([&default]).map(|block| block.as_u32()));
    let index = cx.put(index);
    let end = cx.constant_temp(u64::from(len), 32);
    let limited = cx.int_temp(32);
    let [start, distance, target] = std::array::from_fn(|_| cx.int_temp(64));
    compare_length(cx, index, len);
    cx.emit_imm(rows::CSEL32_RRR, &[limited, index, end], CC_LO);
    cx.emit_lea(start, Address::Pool(table));
    let entry = Address::Index { base: start, index: limited, shift: 2, extend: IndexExtend::Zero32, disp: 0 };
    cx.emit_mem(rows::LDRSW64_RM, &[distance], entry);
    cx.emit(rows::ADD64_RRR, &[target, start, distance]);
    let jump = cx.emit(rows::BR_R, &[target]);
    jump.aux = NO_BLOCK;
    jump.extra = NO_BLOCK;
    Ok(())
}

fn compare_length(cx: &mut Cx<'_, '_>, index: kingpost_regalloc::VReg, len: u32) {
    if immediates::add_sub(u64::from(len)).is_some() {
        cx.compare_constant(index, i64::from(len), 32);
    } else {
        let end = cx.constant_temp(u64::from(len), 32);
        cx.emit(rows::CMP32_RR, &[index, end]);
    }
}

/// `trap`.
pub(super) fn trap(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::Trap { code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    cx.emit(rows::UDF, &[]).set_trap(Some(code));
    Ok(())
}

/// `trapz`, `trapnz`.
pub(super) fn trap_if(cx: &mut Cx<'_, '_>, inst: Inst, zero: bool) -> Done {
    let InstView::CondTrap { arg, code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    match cx.test(arg) {
        Test::Flags(cond) => emit_trap_if(cx, cond.inverse_if(zero), code),
        Test::Zero { reg, bits, zero: asked } => {
            let rows = if asked != zero {
                (rows::TRAP_CBZ32_R, rows::TRAP_CBZ64_R)
            } else {
                (rows::TRAP_CBNZ32_R, rows::TRAP_CBNZ64_R)
            };
            cx.emit(pick(bits, rows.0, rows.1), &[reg]).set_trap(Some(code));
        }
        Test::Bit { reg, bit, set } => {
            let bits = if bit < 32 { 32 } else { 64 };
            let mask = immediates::logical(1 << bit, bits).expect("one bit is a pattern");
            cx.emit_imm(pick(bits, rows::TST32_RI, rows::TST64_RI), &[reg], mask);
            let cond = Cond::One(if set { CC_NE } else { CC_EQ });
            emit_trap_if(cx, cond.inverse_if(zero), code);
        }
    }
    Ok(())
}

/// Traps if the flags say so.
pub(super) fn emit_trap_if(cx: &mut Cx<'_, '_>, cond: Cond, code: TrapCode) {
    let (row, imm) = match cond {
        Cond::One(cc) => (rows::TRAP_IF, cc),
        Cond::Or(a, b) => (rows::TRAP_IF_OR, a | b << 16),
        Cond::And(a, b) => (rows::TRAP_IF_AND, a | b << 16),
    };
    cx.emit_imm(row, &[], imm).set_trap(Some(code));
}

/// `debugtrap`.
pub(super) fn debugtrap(cx: &mut Cx<'_, '_>) -> Done {
    cx.emit_imm(rows::BRK, &[], 0);
    Ok(())
}
