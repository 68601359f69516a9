//! Entry and return of a function: parameters, results, and the registers of the frame.
//!
//! Before: `block0(v0: i64, v1: i64): return v0`. After: `entry def v0 fixed rdi; ret use v0 fixed rax`.

use super::access::load_place_row;
use super::machine::LowerBackend;
use super::memory::store_reg;
use super::symbol::global_base;
use super::width::extend_for_abi;
use super::{Address, LowerCtx, LowerResult};
use crate::abi::{AbiArg, AbiPart, AbiPlace, AbiSignature, VariadicList};
use crate::error::LowerError;
use crate::row::RowId;
use crate::settings::ProbestackStrategy;
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::signature::CallConv;
use kingpost_ir::types::I64;
use kingpost_ir::{GlobalValue, Inst, Type, Value};
use kingpost_regalloc::{ClobberId, Operand, PRegSet, RegClass, VReg};
use smallvec::SmallVec;
use std::sync::Arc;

/// Defines the parameters that have uses: parameters in registers by one instruction without bytes, parameters in
/// memory by loads.
///
/// # Errors
/// If there is no code for the stack limit or a stack argument.
pub fn entry<'f, M: LowerBackend<'f>>(cx: &mut M) -> LowerResult {
    let probes = cx.settings.enable_probestack;
    if probes && cx.settings.probestack_strategy == ProbestackStrategy::Outline {
        let near = cx.settings.use_colocated_libcalls;
        let symbol = cx.symbol(&ExternalName::LibCall(LibCall::Probestack), near, 0);
        cx.code.probestack = Some(cx.code.symbols[symbol as usize]);
    }
    let abi = Arc::clone(&cx.abi);
    cx.code.incoming_bytes = u64::from(abi.arg_bytes);
    if abi.callee_pops {
        // Tail calls, which are lowered before the entry, may need more.
        cx.code.popped_bytes = cx.code.popped_bytes.max(abi.arg_bytes.into());
    }
    // Callers rely on the registers that probing and checks of the stack limit would write.
    let preserves_all = matches!(cx.func.signature.call_conv, CallConv::PreserveAll | CallConv::Probestack);
    let limit = cx.func.stack_limit.filter(|_| M::HAS_ENTRY_SCRATCH || !preserves_all);
    cx.code.stack_limit = limit.and_then(|limit| cx.limit_from_context(limit));
    let checked = if cx.code.stack_limit.is_some() { None } else { cx.func.stack_limit };
    if let Some(context) = checked.and_then(|limit| cx.context_of(limit)) {
        cx.use_reg(context);
    }
    let mut incoming = Incoming::default();
    incoming.collect(cx, &abi)?;
    // The registers that probing writes matter only in functions that preserve all registers, because no other values
    // are live yet.
    let probe_writes = match cx.settings.probestack_strategy {
        _ if !probes || !preserves_all => PRegSet::EMPTY,
        ProbestackStrategy::Inline => M::PROBE_CLOBBERS,
        ProbestackStrategy::Outline => M::PROBE_CLOBBERS.union(M::PROBE_ROUTINE_CLOBBERS),
    };
    let is_lost = |operand: &Operand| operand.fixed_reg().is_some_and(|reg| probe_writes.contains(reg));
    if incoming.operands.iter().any(is_lost) {
        return Err(cx.unsupported_feature("a prologue that probes the stack in the calling convention `probestack`"));
    }
    if !incoming.operands.is_empty() || !probe_writes.is_empty() {
        let clobbers = match probe_writes.is_empty() {
            true => ClobberId::NONE,
            false => cx.clobbers(probe_writes, PRegSet::EMPTY, 0),
        };
        cx.emit_with(M::ROWS.entry, &[], None, &incoming.operands, clobbers);
    }
    for &(source, offset) in &incoming.variadic {
        cx.emit_incoming_store(M::store_row(RegClass::Int, 8), source, offset);
    }
    for &(def, row, address) in &incoming.loads {
        cx.emit_mem(row, &[def], address);
    }
    for &(source, address) in &incoming.words {
        cx.emit_mem(M::store_row(RegClass::Int, 8), &[source], address);
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
    /// Destination, row and source of each load.
    loads: SmallVec<[(VReg, RowId, Address); 8]>,
    /// Registers with variadic arguments, and their offsets in memory.
    variadic: SmallVec<[(VReg, i32); 8]>,
    /// Words of structures, and their places in the frame.
    words: SmallVec<[(VReg, Address); 4]>,
}

impl Incoming {
    fn collect<'f, M: LowerBackend<'f>>(&mut self, cx: &mut M, abi: &AbiSignature) -> LowerResult {
        if let (Some(part), Some(def)) = (&abi.return_area, cx.used_return_area())
            && let AbiPlace::Reg(reg) = part.place
        {
            self.operands.push(Operand::fixed_def(def, reg));
        }
        for (&param, from) in params(cx).iter().zip(&abi.args) {
            if cx.has_reg(param) {
                let defs = cx.result_parts(param);
                self.param(cx, &defs, from)?;
            }
        }
        Ok(())
    }

    fn param<'f, M: LowerBackend<'f>>(&mut self, cx: &mut M, defs: &[VReg], from: &AbiArg) -> LowerResult {
        match from {
            AbiArg::Struct { offset, .. } => {
                self.loads.push((defs[0], M::ROWS.address, Address::Incoming(*offset as i32)));
                Ok(())
            }
            AbiArg::Value(parts) => defs.iter().zip(parts).try_for_each(|(&def, from)| self.part(cx, def, from)),
            AbiArg::StructByAddress { pointer, .. } => self.part(cx, defs[0], pointer),
            AbiArg::StructInRegs { parts, .. } => self.words(cx, defs[0], parts),
            AbiArg::VariadicList(list) => {
                self.variadic_list(cx, defs[0], list);
                Ok(())
            }
            AbiArg::Indirect { pointer, parts } => {
                let base = cx.int_temp(64);
                self.part(cx, base, pointer)?;
                let mut disp = 0;
                for (&def, part) in defs.iter().zip(parts) {
                    self.load(cx, def, part.ty, Address::Base { base, disp })?;
                    disp += part.ty.bytes() as i32;
                }
                Ok(())
            }
        }
    }

    /// Stores the words of a structure into the frame, and defines its address.
    fn words<'f, M: LowerBackend<'f>>(&mut self, cx: &mut M, def: VReg, parts: &[AbiPart]) -> LowerResult {
        let slot = cx.argument_slot(8 * parts.len() as u32)?;
        for (part, offset) in parts.iter().zip((slot..).step_by(8)) {
            let word = cx.int_temp(64);
            self.part(cx, word, &AbiPart { ty: I64, ..*part })?;
            self.words.push((word, Address::Slot(offset)));
        }
        self.loads.push((def, M::ROWS.address, Address::Slot(slot)));
        Ok(())
    }

    /// Stores the registers that may hold variadic arguments before the ones in memory, and defines the address of the
    /// first one.
    fn variadic_list<'f, M: LowerBackend<'f>>(&mut self, cx: &mut M, def: VReg, list: &VariadicList) {
        for &(reg, offset) in &list.registers {
            let source = cx.int_temp(64);
            self.operands.push(Operand::fixed_def(source, reg));
            self.variadic.push((source, offset));
        }
        if list.reserved > 0 {
            // The frame grows as for a tail call that passes this many bytes, and the return gives them back.
            (cx.code.incoming_bytes, cx.code.popped_bytes) = (0, list.reserved.into());
        }
        self.loads.push((def, M::ROWS.address, Address::Incoming(list.offset)));
    }

    fn part<'f, M: LowerBackend<'f>>(&mut self, cx: &M, def: VReg, from: &AbiPart) -> LowerResult {
        match from.place {
            AbiPlace::Reg(reg) => {
                self.operands.push(Operand::fixed_def(def, reg));
                Ok(())
            }
            AbiPlace::Stack(offset) => self.load(cx, def, from.ty, Address::Incoming(offset as i32)),
        }
    }

    fn load<'f, M: LowerBackend<'f>>(&mut self, cx: &M, def: VReg, ty: Type, from: Address) -> LowerResult {
        let row = load_place_row::<M>(ty).ok_or_else(|| cx.unsupported_feature("a stack argument of this type"))?;
        self.loads.push((def, row, from));
        Ok(())
    }
}

/// Returns the function's parameters.
fn params<'f>(cx: &LowerCtx<'f>) -> &'f [Value] {
    let func = cx.func;
    func.layout.entry_block().map_or(&[][..], |entry| func.dfg.block_params(entry))
}

/// Traps if the stack pointer, after the frame is made, is below the limit. A leaf without a frame needs no check.
fn check_stack<'f>(cx: &mut impl LowerBackend<'f>, limit: GlobalValue) -> LowerResult {
    let value =
        global_base(cx, limit).map_err(|error| error.unwrap_or_else(|| cx.unsupported_feature("this stack limit")))?;
    cx.check_stack(value);
    Ok(())
}

/// Lowers `return`.
///
/// # Errors
/// If there is no code for the type of a result.
pub fn ret<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let abi = Arc::clone(&cx.abi);
    let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
    for (&value, to) in cx.func.dfg.inst_args(inst).iter().zip(&abi.results) {
        let AbiArg::Value(parts) = to else { continue };
        let vregs = cx.use_regs(value);
        for (&vreg, part) in vregs.iter().zip(parts) {
            let extended = extend_for_abi(cx, vreg, part.ty, part.extension);
            match part.place {
                AbiPlace::Reg(reg) => operands.push(Operand::fixed_use(extended, reg)),
                AbiPlace::Stack(offset) => {
                    let address = Address::Base { base: cx.return_area(), disp: offset as i32 };
                    if extended != vreg {
                        cx.emit_mem(M::store_row(RegClass::Int, 8), &[extended], address);
                        continue;
                    }
                    // Results may be consecutive without gaps.
                    store_reg(cx, vreg, part.ty, address, None).ok_or_else(|| cx.unsupported(inst))?;
                }
            }
        }
    }
    if let Some((index, reg)) = abi.sret
        && let Some(&param) = params(cx).get(index)
    {
        let pointer = cx.use_reg(param);
        operands.push(Operand::fixed_use(pointer, reg));
    }
    cx.emit_with(M::ROWS.ret, &[], None, &operands, ClobberId::NONE);
    Ok(())
}

/// Returns the register of the result, for opcodes whose result is an address.
fn address_result(cx: &mut LowerCtx<'_>, inst: Inst) -> Result<VReg, LowerError> {
    let value = cx.first_result(inst);
    if cx.ty(value) != I64 {
        return Err(cx.unsupported(inst));
    }
    // The instruction is kept because of its effect even if its result has no use.
    Ok(cx.result(value))
}

fn needs(cx: &LowerCtx<'_>, inst: Inst, key: &'static str, set: bool) -> LowerResult {
    let opcode = cx.func.dfg.opcode(inst);
    if set { Ok(()) } else { Err(LowerError::Setting { opcode, key }) }
}

fn needs_frame_pointers(cx: &LowerCtx<'_>, inst: Inst) -> LowerResult {
    needs(cx, inst, "preserve_frame_pointers", cx.settings.preserve_frame_pointers)
}

fn needs_pinned_reg(cx: &LowerCtx<'_>, inst: Inst) -> LowerResult {
    needs(cx, inst, "enable_pinned_reg", cx.settings.enable_pinned_reg)
}

/// Lowers `get_frame_pointer`.
///
/// # Errors
/// If the type is not `i64`, or the setting that it needs is off.
pub fn get_frame_pointer<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    needs_frame_pointers(cx, inst)?;
    let def = address_result(cx, inst)?;
    cx.emit(M::ROWS.frame_pointer, &[def]);
    Ok(())
}

/// Lowers `get_stack_pointer`.
///
/// # Errors
/// If the type is not `i64`, or the setting that it needs is off.
pub fn get_stack_pointer<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let def = address_result(cx, inst)?;
    cx.emit(M::ROWS.stack_pointer, &[def]);
    Ok(())
}

/// Lowers `get_return_address`: a load from above the caller's frame pointer.
///
/// # Errors
/// If the type is not `i64`, or the setting that it needs is off.
pub fn get_return_address<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    needs_frame_pointers(cx, inst)?;
    let def = address_result(cx, inst)?;
    let base = cx.int_temp(64);
    cx.emit(M::ROWS.frame_pointer, &[base]);
    cx.emit_mem(M::load_row(RegClass::Int, 8), &[def], Address::Base { base, disp: 8 });
    Ok(())
}

/// Lowers `get_pinned_reg`.
///
/// # Errors
/// If the type is not `i64`, or the setting that it needs is off.
pub fn get_pinned_reg<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    needs_pinned_reg(cx, inst)?;
    let def = address_result(cx, inst)?;
    cx.emit(M::ROWS.pinned, &[def]);
    Ok(())
}

/// Lowers `set_pinned_reg`.
///
/// # Errors
/// If the type is not `i64`, or the setting that it needs is off.
pub fn set_pinned_reg<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    needs_pinned_reg(cx, inst)?;
    let [value] = cx.args(inst);
    if cx.ty(value) != I64 {
        return Err(cx.unsupported(inst));
    }
    let source = cx.use_reg(value);
    cx.emit(M::ROWS.set_pinned, &[source]);
    Ok(())
}
