//! Switches of stacks.
//!
//! Before: `v3 = stack_switch v0, v1, v2`. After: `stack_switch v3, v0, v1, v2`, one row that preserves no register:
//! values that are live across it are in the frame, which stays in place while code runs on the other stack.
//!
//! A context consists of three words: stack pointer, frame pointer, and the address where execution continues. The
//! payload is in the register of the first argument of a function, so that a function may receive it on a new stack.

use super::LowerResult;
use super::machine::LowerBackend;
use crate::error::LowerError;
use crate::settings::StackSwitchModel;
use kingpost_ir::types::I64;
use kingpost_ir::{Inst, InstView, Opcode};

/// Lowers `stack_switch`.
///
/// # Errors
/// If the settings have no model of stack switching, or the type of the payload is not `i64`.
pub fn stack_switch<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    if cx.settings.stack_switch_model == StackSwitchModel::None {
        return Err(LowerError::Setting { opcode: Opcode::StackSwitch, key: "stack_switch_model" });
    }
    let InstView::Ternary { args } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    if cx.result_ty(inst) != I64 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let [store, load, payload] = args.map(|arg| cx.use_reg(arg));
    let lost = cx.isa.registers().difference(M::SWITCH_RESULT);
    let clobbers = cx.clobbers(lost, Default::default(), 0);
    cx.code.has_calls = true;
    cx.emit_with(M::ROWS.stack_switch, &[def, store, load, payload], None, &[], clobbers);
    Ok(())
}
