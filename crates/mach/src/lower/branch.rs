//! Jumps, branches, traps.
//!
//! Before: `br_table v0, block9, [block1, block2]`. After: `jchain2_r v0, block1, block2, block9`.

use super::LowerResult;
use super::machine::LowerBackend;
use crate::inst::NO_BLOCK;
use kingpost_ir::{Inst, InstView};
use kingpost_regalloc::Block;
use smallvec::SmallVec;

/// Lowers `jump`.
pub fn jump<'f>(cx: &mut impl LowerBackend<'f>, _inst: Inst) -> LowerResult {
    let target = cx.targets()[0];
    jump_to(cx, target);
    Ok(())
}

/// Emits a jump.
pub fn jump_to<'f, M: LowerBackend<'f>>(cx: &mut M, target: Block) {
    let jump = cx.emit(M::ROWS.jump, &[]);
    jump.aux = target.as_u32();
    jump.extra = NO_BLOCK;
}

/// Returns the two targets of `brif`. If they are equal, emits a jump instead and returns `None`.
pub fn two_targets<'f>(cx: &mut impl LowerBackend<'f>) -> Option<[Block; 2]> {
    let &[then, other] = cx.targets() else { unreachable!("a conditional branch has two destinations") };
    if then == other {
        jump_to(cx, then);
        return None;
    }
    Some([then, other])
}

/// Lowers `br_table`: one entry by a comparison, two or three by several comparisons, more by a table.
pub fn br_table<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let [index] = cx.args(inst);
    let targets: SmallVec<[Block; 8]> = cx.targets().into();
    let (&default, entries) = targets.split_first().ok_or_else(|| cx.unsupported(inst))?;
    if entries.iter().all(|&entry| entry == default) {
        jump_to(cx, default);
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
            let table = cx.code.tables.table(all);
            let index = cx.use_reg(index);
            cx.jump_by_table(index, table, len);
            return Ok(());
        }
    };
    let start = cx.code.tables.targets(all);
    let index = cx.use_reg(index);
    let jump = cx.emit_imm(chain, &[index], start as i32);
    jump.aux = NO_BLOCK;
    jump.extra = NO_BLOCK;
    Ok(())
}

/// Lowers `trap`.
pub fn trap<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let InstView::Trap { code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    cx.emit(M::ROWS.trap, &[]).set_trap(Some(code));
    Ok(())
}

/// Lowers `debugtrap`.
pub fn debugtrap<'f, M: LowerBackend<'f>>(cx: &mut M, _inst: Inst) -> LowerResult {
    cx.emit(M::ROWS.breakpoint, &[]);
    Ok(())
}

/// Lowers `sequence_point`: no code, and a location for debug information if it has tags.
///
/// # Errors
/// If a tag refers to a stack slot whose offset is not known at compile time.
pub fn sequence_point<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let annotation = cx.annotate(inst, false)?;
    if annotation.is_some() {
        cx.emit(M::ROWS.sequence_point, &[]).set_annotation(annotation);
    }
    Ok(())
}

/// Lowers `nop`: no code.
pub fn nop<'f>(_cx: &mut impl LowerBackend<'f>, _inst: Inst) -> LowerResult {
    Ok(())
}
