//! Where a function meets its caller: parameters, results, and the registers of the frame.

use super::Done;
use super::branch::emit_trap_if;
use super::condition::Cond;
use super::convert::extend_for_abi;
use super::cx::Cx;
use super::memory::{load_row, store_row};
use super::symbol::global_base;
use crate::regs::CC_LO;
use crate::rows;
use kingpost_ir::types::I64;
use kingpost_ir::{GlobalValue, Inst, TrapCode};
use kingpost_mach::abi::{AbiArg, AbiPlace};
use kingpost_mach::{Address, LowerError, RowId};
use kingpost_regalloc::{ClobberId, Operand, VReg};
use smallvec::SmallVec;
use std::sync::Arc;

/// Defines the parameters that somebody wants: those in registers by one instruction without bytes, the others by loads.
pub(super) fn entry(cx: &mut Cx<'_, '_>) -> Done {
    let abi = Arc::clone(&cx.abi);
    cx.code.incoming_bytes = u64::from(abi.arg_bytes);
    cx.code.popped_bytes = if abi.callee_pops { u64::from(abi.arg_bytes) } else { 0 };
    cx.code.stack_limit = cx.func.stack_limit.and_then(|limit| cx.limit_from_context(limit));
    let checked = if cx.code.stack_limit.is_some() { None } else { cx.func.stack_limit };
    if let Some(context) = checked.and_then(|limit| cx.context_of(limit)) {
        cx.put(context);
    }
    let mut incoming = Incoming::default();
    incoming.collect(cx)?;
    if !incoming.operands.is_empty() {
        cx.emit_with(rows::ENTRY, &[], None, &incoming.operands, ClobberId::NONE);
    }
    for (def, row, offset) in incoming.loads {
        cx.emit_mem(row, &[def], Address::Incoming(offset));
    }
    match checked {
        Some(limit) => check_stack(cx, limit),
        None => Ok(()),
    }
}

/// Parameters to be defined.
#[derive(Default)]
struct Incoming {
    operands: SmallVec<[Operand; 16]>,
    /// Destination, row, offset among the stack arguments.
    loads: SmallVec<[(VReg, RowId, u32); 8]>,
}

impl Incoming {
    fn collect(&mut self, cx: &mut Cx<'_, '_>) -> Done {
        let abi = Arc::clone(&cx.abi);
        if let (Some(part), Some(def)) = (&abi.return_area, cx.used_return_area())
            && let AbiPlace::Reg(reg) = part.place
        {
            self.operands.push(Operand::fixed_def(def, reg));
        }
        let func = cx.func;
        let params = func.layout.entry_block().map_or(&[][..], |entry| func.dfg.block_params(entry));
        for (&param, from) in params.iter().zip(&abi.args) {
            if cx.is_put(param) {
                let defs = cx.result_parts(param);
                self.param(cx, &defs, from)?;
            }
        }
        Ok(())
    }

    fn param(&mut self, cx: &Cx<'_, '_>, defs: &[VReg], from: &AbiArg) -> Result<(), LowerError> {
        let parts = match from {
            AbiArg::Struct { offset, .. } => {
                self.loads.push((defs[0], rows::ADDR64_CONST, *offset));
                return Ok(());
            }
            AbiArg::Value(parts) => parts,
        };
        for (&def, part) in defs.iter().zip(parts) {
            match part.place {
                AbiPlace::Reg(reg) => self.operands.push(Operand::fixed_def(def, reg)),
                AbiPlace::Stack(offset) => {
                    let row =
                        load_row(part.ty).ok_or_else(|| cx.unsupported_feature("a stack argument of this type"))?;
                    self.loads.push((def, row, offset));
                }
            }
        }
        Ok(())
    }
}

/// Traps if the stack pointer, the frame already made, is below the limit.
fn check_stack(cx: &mut Cx<'_, '_>, limit: GlobalValue) -> Done {
    let value =
        global_base(cx, limit).map_err(|error| error.unwrap_or_else(|| cx.unsupported_feature("this stack limit")))?;
    cx.emit(rows::CMPSP_R, &[value]);
    emit_trap_if(cx, Cond::One(CC_LO), TrapCode::STACK_OVERFLOW);
    Ok(())
}

/// `return`.
pub(super) fn ret(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let abi = Arc::clone(&cx.abi);
    let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
    for (&value, to) in cx.func.dfg.inst_args(inst).iter().zip(&abi.results) {
        let AbiArg::Value(parts) = to else { continue };
        let vregs = cx.put_parts(value);
        for (&vreg, part) in vregs.iter().zip(parts) {
            let extended = extend_for_abi(cx, vreg, part.ty, part.extension);
            match part.place {
                AbiPlace::Reg(reg) => operands.push(Operand::fixed_use(extended, reg)),
                AbiPlace::Stack(offset) => {
                    let row = match extended == vreg {
                        true => store_row(part.ty).ok_or_else(|| cx.unsupported(inst))?,
                        false => rows::STR64_MR,
                    };
                    let base = cx.return_area();
                    cx.emit_mem(row, &[extended], Address::Base { base, disp: offset as i32 });
                }
            }
        }
    }
    if let Some((index, reg)) = abi.sret {
        let func = cx.func;
        let params = func.layout.entry_block().map_or(&[][..], |entry| func.dfg.block_params(entry));
        if let Some(&param) = params.get(index) {
            let pointer = cx.put(param);
            operands.push(Operand::fixed_use(pointer, reg));
        }
    }
    cx.emit_with(rows::RET, &[], None, &operands, ClobberId::NONE);
    Ok(())
}

/// The result's register, for opcodes whose result is an address.
fn address_result(cx: &mut Cx<'_, '_>, inst: Inst) -> Result<VReg, LowerError> {
    let value = cx.first(inst);
    if cx.ty(value) != I64 {
        return Err(cx.unsupported(inst));
    }
    Ok(cx.result(value))
}

fn needs(cx: &Cx<'_, '_>, inst: Inst, key: &'static str, set: bool) -> Done {
    let opcode = cx.func.dfg.opcode(inst);
    if set { Ok(()) } else { Err(LowerError::Setting { opcode, key }) }
}

/// `get_frame_pointer`.
pub(super) fn get_frame_pointer(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    needs(cx, inst, "preserve_frame_pointers", cx.settings.preserve_frame_pointers)?;
    let def = address_result(cx, inst)?;
    cx.emit(rows::MOV64_FROM_FP, &[def]);
    Ok(())
}

/// `get_stack_pointer`.
pub(super) fn get_stack_pointer(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let def = address_result(cx, inst)?;
    cx.emit(rows::MOV64_FROM_SP, &[def]);
    Ok(())
}

/// `get_return_address`: it lies above the caller's frame pointer.
pub(super) fn get_return_address(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    needs(cx, inst, "preserve_frame_pointers", cx.settings.preserve_frame_pointers)?;
    let def = address_result(cx, inst)?;
    let base = cx.int_temp(64);
    cx.emit(rows::MOV64_FROM_FP, &[base]);
    cx.emit_mem(rows::LDR64_RM, &[def], Address::Base { base, disp: 8 });
    Ok(())
}

/// `get_pinned_reg`.
pub(super) fn get_pinned_reg(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    needs(cx, inst, "enable_pinned_reg", cx.settings.enable_pinned_reg)?;
    // An effect keeps the instruction even if nobody wants its result.
    let def = address_result(cx, inst)?;
    cx.emit(rows::MOV64_FROM_X21, &[def]);
    Ok(())
}

/// `set_pinned_reg`.
pub(super) fn set_pinned_reg(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    needs(cx, inst, "enable_pinned_reg", cx.settings.enable_pinned_reg)?;
    let [value] = cx.args(inst);
    if cx.ty(value) != I64 {
        return Err(cx.unsupported(inst));
    }
    let source = cx.put(value);
    cx.emit(rows::MOV64_TO_X21, &[source]);
    Ok(())
}
