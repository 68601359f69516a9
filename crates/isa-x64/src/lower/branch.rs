//! Jumps, branches, traps.

use super::Done;
use super::condition::Cond;
use super::cx::Cx;
use crate::regs::CC_B;
use crate::rows;
use kingpost_ir::{Inst, InstView, TrapCode};
use kingpost_mach::{Address, IndexExtend, NO_BLOCK};
use kingpost_regalloc::{Block, ClobberId};

/// Appends a jump.
pub(super) fn jump(cx: &mut Cx<'_, '_>, target: Block) {
    let jump = cx.emit(rows::JMP, &[]);
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
    let cond = cx.condition(c, inst)?;
    branch_to(cx, cond, then, other);
    Ok(())
}

/// Goes to `then` if the flags say so, else to `other`.
fn branch_to(cx: &mut Cx<'_, '_>, cond: Cond, then: Block, other: Block) {
    let (row, imm) = match cond {
        Cond::One(cc) => (rows::JCC, cc),
        Cond::Or(a, b) => (rows::JCC_OR, a | b << 16),
        Cond::And(a, b) => (rows::JCC_AND, a | b << 16),
    };
    let branch = cx.emit_imm(row, &[], imm);
    branch.aux = then.as_u32();
    branch.extra = other.as_u32();
}

/// `br_table`: two or three entries are told apart by comparisons. Of more, the index is limited to one past the table's end, where the default stands. Without a branch, the CPU
/// cannot speculate past the table either.
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
        cx.emit_imm(rows::CMP32_RI, &[index], len as i32);
        branch_to(cx, Cond::One(CC_B), *entry, default);
        return Ok(());
    }
    if let 2 | 3 = entries.len() {
        let start = cx.code.pool.targets(entries.iter().chain([&default]).map(|block| block.as_u32()));
        let index = cx.put(index);
        let row = if entries.len() == 2 { rows::JCHAIN2_R } else { rows::JCHAIN3_R };
        let jump = cx.emit_imm(row, &[index], start as i32);
        jump.aux = NO_BLOCK;
        jump.extra = NO_BLOCK;
        return Ok(());
    }
    let table = cx.code.pool.table(entries.iter().chain([&default]).map(|block| block.as_u32()));
    let index = cx.put(index);
    let end = cx.constant_temp(u64::from(len), 32);
    let [limited, start, distance, target] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(rows::CMP32_RI, &[index], len as i32);
    cx.emit_imm(rows::CMOV32_RR, &[limited, end, index], CC_B);
    cx.emit_lea(start, Address::Pool(table));
    let entry = Address::Index { base: start, index: limited, shift: 2, extend: IndexExtend::None, disp: 0 };
    cx.emit_mem(rows::MOVSX64_32_RM, &[distance], entry);
    cx.emit(rows::ADD64_RR, &[target, distance, start]);
    let jump = cx.emit_with(rows::JMP_R, &[target], None, &[], ClobberId::NONE);
    jump.aux = NO_BLOCK;
    jump.extra = NO_BLOCK;
    Ok(())
}

/// `trap`.
pub(super) fn trap(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::Trap { code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    cx.emit(rows::UD2, &[]).set_trap(Some(code));
    Ok(())
}

/// `trapz`, `trapnz`.
pub(super) fn trap_if(cx: &mut Cx<'_, '_>, inst: Inst, zero: bool) -> Done {
    let InstView::CondTrap { arg, code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let cond = cx.condition(arg, inst)?;
    emit_trap_if(cx, if zero { cond.inverse() } else { cond }, code);
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
    cx.emit(rows::INT3, &[]);
    Ok(())
}
