//! Jumps, branches, traps.

use super::Lowered;
use super::machine::Machine;
use crate::emit::NO_BLOCK;
use kingpost_ir::{Inst, InstView};
use kingpost_regalloc::Block;

/// Appends a jump.
pub(super) fn jump<'f, M: Machine<'f>>(cx: &mut M, target: Block) {
    let jump = cx.emit(M::ROWS.jump, &[]);
    jump.aux = target.as_u32();
    jump.extra = NO_BLOCK;
}

/// `brif`.
pub(super) fn brif<'f>(cx: &mut impl Machine<'f>, inst: Inst, targets: &[Block]) -> Lowered {
    let [c] = cx.args(inst);
    let (then, other) = (targets[0], targets[1]);
    if then == other {
        jump(cx, then);
        return Ok(());
    }
    cx.branch_if(c, then, other, inst)
}

/// `br_table`: of one entry by a comparison, of two or three by several, of more by a table.
pub(super) fn br_table<'f, M: Machine<'f>>(cx: &mut M, inst: Inst, targets: &[Block]) -> Lowered {
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
        let index = cx.use_reg(index);
        cx.branch_if_below(index, len, *entry, default);
        return Ok(());
    }
    let all = entries.iter().chain([&default]).map(|block| block.as_u32());
    let chain = match len {
        2 => M::ROWS.chain2,
        3 => M::ROWS.chain3,
        _ => {
            let table = cx.code.pool.table(all);
            let index = cx.use_reg(index);
            cx.jump_by_table(index, table, len);
            return Ok(());
        }
    };
    let start = cx.code.pool.targets(all);
    let index = cx.use_reg(index);
    let jump = cx.emit_imm(chain, &[index], start as i32);
    jump.aux = NO_BLOCK;
    jump.extra = NO_BLOCK;
    Ok(())
}

/// `trap`.
pub(super) fn trap<'f, M: Machine<'f>>(cx: &mut M, inst: Inst) -> Lowered {
    let InstView::Trap { code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    cx.emit(M::ROWS.trap, &[]).set_trap(Some(code));
    Ok(())
}

/// `debugtrap`.
pub(super) fn debugtrap<'f, M: Machine<'f>>(cx: &mut M) -> Lowered {
    cx.emit(M::ROWS.breakpoint, &[]);
    Ok(())
}
