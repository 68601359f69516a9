//! Calls: arguments to where the convention wants them, the call, results from where they are.
//!
//! Register arguments and results are operands fixed to their registers, behind those of the call's row. Stack arguments
//! are stored into the area at the frame's bottom before. Results without a register come back in an area of the frame
//! whose address is passed as a hidden argument.

use super::Done;
use super::convert::extend_for_abi;
use super::cx::Cx;
use super::memory::{load_row, store_row};
use super::symbol::symbol_address;
use crate::regs::{AAPCS_CLOBBERS, AAPCS_KEPT_BYTES, AAPCS_PARTIAL, x};
use crate::rows;
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::types::I64;
use kingpost_ir::{Inst, InstView, SigRef, Value};
use kingpost_mach::Address;
use kingpost_mach::abi::{AbiArg, AbiPart, AbiPlace, AbiSignature};
use kingpost_regalloc::{Operand, PRegSet, VReg};
use smallvec::SmallVec;

/// Operands of a call behind those of its row.
type Operands = SmallVec<[Operand; 16]>;

/// Structures up to this size are copied by moves, larger ones by `memcpy`.
const MAX_COPIED: u32 = 128;

/// What is called.
enum Callee<'a> {
    Symbol { name: &'a ExternalName, near: bool },
    Address(VReg),
}

/// `call`.
pub(super) fn call(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::Call { func, args } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let data = &cx.func.dfg.ext_funcs[func];
    if data.patchable {
        return Err(cx.unsupported_feature("a patchable call"));
    }
    let callee = Callee::Symbol { name: &data.name, near: data.colocated };
    call_signature(cx, inst, callee, data.signature, args)
}

/// `call_indirect`.
pub(super) fn call_indirect(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::CallIndirect { sig, callee, args } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    if cx.ty(callee) != I64 {
        return Err(cx.unsupported(inst));
    }
    let callee = Callee::Address(cx.put(callee));
    call_signature(cx, inst, callee, sig, args)
}

fn call_signature(cx: &mut Cx<'_, '_>, inst: Inst, callee: Callee<'_>, sig: SigRef, args: &[Value]) -> Done {
    let abi = cx.call_abi(sig)?;
    let mut operands = Operands::new();
    for (&arg, to) in args.iter().zip(&abi.args) {
        if let AbiArg::Struct { offset, size, .. } = *to {
            copy_struct(cx, arg, offset, size);
        }
    }
    if let Some(part) = &abi.return_area {
        let area = cx.call_area(abi.return_bytes)?;
        let pointer = cx.int_temp(64);
        cx.emit_lea(pointer, Address::Slot(area));
        pass(cx, pointer, part, &mut operands).ok_or_else(|| cx.unsupported(inst))?;
    }
    for (&arg, to) in args.iter().zip(&abi.args) {
        let AbiArg::Value(parts) = to else { continue };
        let vregs = cx.put_parts(arg);
        for (&vreg, part) in vregs.iter().zip(parts) {
            pass(cx, vreg, part, &mut operands).ok_or_else(|| cx.unsupported(inst))?;
        }
    }
    cx.code.outgoing_bytes = cx.code.outgoing_bytes.max(u64::from(abi.arg_bytes));
    let defined = cx.define_results(inst, &abi, &mut operands);
    emit_call(cx, callee, &operands, Lost::of(&abi, &cx.abi).but(defined));
    if abi.callee_pops && abi.arg_bytes > 0 {
        // The callee took its arguments off the stack, where the next call's will be.
        cx.code.moves_stack_pointer = true;
        take_back(cx, abi.arg_bytes);
    }
    load_results(cx, inst, &abi)
}

/// Passes one part of an argument. None if there is no code for its type.
fn pass(cx: &mut Cx<'_, '_>, vreg: VReg, part: &AbiPart, operands: &mut Operands) -> Option<()> {
    let extended = extend_for_abi(cx, vreg, part.ty, part.extension);
    match part.place {
        AbiPlace::Reg(reg) => operands.push(Operand::fixed_use(extended, reg)),
        AbiPlace::Stack(offset) => {
            let row = if extended == vreg { store_row(part.ty)? } else { rows::STR64_MR };
            cx.emit_mem(row, &[extended], Address::Outgoing(offset));
        }
    }
    Some(())
}

/// Loads the results that came in memory.
fn load_results(cx: &mut Cx<'_, '_>, inst: Inst, abi: &AbiSignature) -> Done {
    for (&result, from) in cx.func.dfg.inst_results(inst).iter().zip(&abi.results) {
        let AbiArg::Value(parts) = from else { continue };
        if !cx.is_put(result) {
            continue;
        }
        let defs = cx.result_parts(result);
        for (&def, part) in defs.iter().zip(parts) {
            if let AbiPlace::Stack(offset) = part.place {
                let area = cx.call_area(abi.return_bytes)?;
                let row = load_row(part.ty).ok_or_else(|| cx.unsupported(inst))?;
                cx.emit_mem(row, &[def], Address::Slot(area + offset));
            }
        }
    }
    Ok(())
}

/// Moves the stack pointer down by what a callee popped.
fn take_back(cx: &mut Cx<'_, '_>, bytes: u32) {
    let (low, high) = (bytes & 0xfff, bytes & !0xfff);
    if u64::from(high) >= 1 << 24 {
        let bytes = cx.constant_temp(u64::from(bytes), 64);
        cx.emit(rows::SUBSP_R, &[bytes]);
        return;
    }
    for part in [high, low].into_iter().filter(|&part| part > 0) {
        cx.emit_imm(rows::SUBSP_I, &[], part as i32);
    }
}

/// Registers that a call destroys, wholly or but for their low bytes.
struct Lost {
    wholly: PRegSet,
    partial: PRegSet,
    kept_bytes: u8,
}

impl Lost {
    /// What a call of this convention destroys. In a function whose callers rely on whole registers, those that are kept
    /// in part are lost: the function preserves them.
    fn of(abi: &AbiSignature, own: &AbiSignature) -> Lost {
        let (wholly, partial, kept_bytes) = (abi.clobbers, abi.partial_clobbers, abi.kept_bytes);
        match own.partial_clobbers.is_empty() {
            true => Lost { wholly: wholly.union(partial), partial: PRegSet::EMPTY, kept_bytes: 0 },
            false => Lost { wholly, partial, kept_bytes },
        }
    }

    /// Without those that the call defines.
    fn but(self, defined: PRegSet) -> Lost {
        Lost {
            wholly: self.wholly.difference(defined),
            partial: self.partial.difference(defined),
            kept_bytes: self.kept_bytes,
        }
    }
}

fn emit_call(cx: &mut Cx<'_, '_>, callee: Callee<'_>, operands: &[Operand], lost: Lost) {
    cx.code.has_calls = true;
    let clobbers = cx.clobbers(lost.wholly, lost.partial, lost.kept_bytes);
    match callee {
        Callee::Symbol { name, near } if near || cx.settings.is_pic => {
            let symbol = cx.symbol(name, near, 0);
            cx.emit_with(rows::BL_SYM, &[], Some(Address::Symbol(symbol)), operands, clobbers);
        }
        Callee::Symbol { name, near } => {
            let address = cx.int_temp(64);
            symbol_address(cx, address, name, near, 0);
            cx.emit_with(rows::BLR_R, &[address], None, operands, clobbers);
        }
        Callee::Address(address) => {
            cx.emit_with(rows::BLR_R, &[address], None, operands, clobbers);
        }
    }
}

/// Copies the structure that `pointer` points to among the stack arguments. Sizes are multiples of 8.
fn copy_struct(cx: &mut Cx<'_, '_>, pointer: Value, offset: u32, size: u32) {
    let pointer = cx.put(pointer);
    if size <= MAX_COPIED {
        for at in (0..size).step_by(8) {
            let word = cx.int_temp(64);
            cx.emit_mem(rows::LDR64_RM, &[word], Address::Base { base: pointer, disp: at as i32 });
            cx.emit_mem(rows::STR64_MR, &[word], Address::Outgoing(offset + at));
        }
        return;
    }
    let target = cx.int_temp(64);
    cx.emit_lea(target, Address::Outgoing(offset));
    let length = cx.constant_temp(u64::from(size), 64);
    let operands: Operands =
        [target, pointer, length].into_iter().zip(0..).map(|(vreg, n)| Operand::fixed_use(vreg, x(n))).collect();
    libcall(cx, LibCall::Memcpy, &operands);
}

/// Calls a library routine without results whose arguments are fixed `operands`.
fn libcall(cx: &mut Cx<'_, '_>, routine: LibCall, operands: &[Operand]) {
    let near = cx.settings.use_colocated_libcalls;
    let name = ExternalName::LibCall(routine);
    let abi = AbiSignature {
        clobbers: AAPCS_CLOBBERS,
        partial_clobbers: AAPCS_PARTIAL,
        kept_bytes: AAPCS_KEPT_BYTES,
        ..AbiSignature::default()
    };
    let lost = Lost::of(&abi, &cx.abi);
    emit_call(cx, Callee::Symbol { name: &name, near }, operands, lost);
}
