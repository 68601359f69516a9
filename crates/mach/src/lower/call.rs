//! Calls: arguments to the places of the convention, the call, and results from their places.
//!
//! Before: `v2 = call fn0(v0, v1)`. After: `call_sym %g, use v0 fixed rdi, use v1 fixed rsi, def v2 fixed rax`.
//!
//! Register arguments and results are operands fixed to their registers, after the operands of the call's row. Stack
//! arguments are first stored into the area at the bottom of the frame. Results without a register are returned in an
//! area of the frame whose address is passed as a hidden argument.

use super::access::store_place_row;
use super::machine::LowerBackend;
use super::memory::load_into;
use super::rows::CallRows;
use super::symbol::symbol_address;
use super::width::extend_for_abi;
use super::{Address, LowerCtx, LowerResult, Parts};
use crate::abi::{AbiArg, AbiPart, AbiPlace, AbiSignature};
use crate::error::LowerError;
use crate::inst::MInst;
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::types::I64;
use kingpost_ir::{Inst, InstView, SigRef, Value};
use kingpost_regalloc::{ClobberId, Clobbers, Operand, PRegSet, RegClass, VReg};
use smallvec::SmallVec;

/// Operands of a call after the operands of its row.
pub(super) type Operands = SmallVec<[Operand; 16]>;
/// Registers of a call's results, by number. Results without a use have none.
pub(super) type Results = SmallVec<[Parts; 4]>;

/// Largest structure in bytes that is copied by moves; `memcpy` copies larger ones.
const MAX_COPIED: u32 = 128;

/// Callee of a call.
pub(super) enum Callee<'a> {
    Symbol { name: &'a ExternalName, near: bool },
    Address(VReg),
}

/// Lowers `call`.
///
/// # Errors
/// If the convention cannot pass the signature, if a patchable call pops its arguments, or if an annotation refers to
/// a place without a fixed offset.
pub fn call<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let (callee, sig, args) = direct(cx, inst)?;
    call_signature(cx, inst, callee, sig, args)
}

/// Lowers `call_indirect`.
///
/// # Errors
/// If the convention cannot pass the signature, or if an annotation refers to a place without a fixed offset.
pub fn call_indirect<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let (callee, sig, args) = indirect(cx, inst)?;
    call_signature(cx, inst, callee, sig, args)
}

/// Records the annotations of a call and returns their number.
pub(super) fn annotate_call(cx: &mut LowerCtx<'_>, inst: Inst, abi: &AbiSignature) -> Result<Option<u32>, LowerError> {
    let dfg = &cx.func.dfg;
    let patchable = match dfg.view(inst) {
        InstView::Call { func, .. } | InstView::TryCall { func, .. } => dfg.ext_funcs[func].patchable,
        _ => false,
    };
    if patchable && pops(abi) {
        return Err(cx.unsupported_feature("a patchable call of a function that pops its arguments"));
    }
    cx.annotate(inst, patchable)
}

/// Returns `true` if the callee pops stack arguments.
fn pops(abi: &AbiSignature) -> bool {
    abi.callee_pops && abi.arg_bytes > 0
}

/// Returns the callee, signature and arguments of a call of a function.
pub(super) fn direct<'f>(
    cx: &impl LowerBackend<'f>,
    inst: Inst,
) -> Result<(Callee<'f>, SigRef, &'f [Value]), LowerError> {
    let func = cx.func;
    let (InstView::Call { func: callee, args } | InstView::TryCall { func: callee, args, .. }) = func.dfg.view(inst)
    else {
        return Err(cx.unsupported(inst));
    };
    let data = &func.dfg.ext_funcs[callee];
    Ok((Callee::Symbol { name: &data.name, near: data.colocated }, data.signature, args))
}

/// Returns the callee, signature and arguments of a call of an address.
pub(super) fn indirect<'f>(
    cx: &mut impl LowerBackend<'f>,
    inst: Inst,
) -> Result<(Callee<'f>, SigRef, &'f [Value]), LowerError> {
    let func = cx.func;
    let (sig, callee, args) = match func.dfg.view(inst) {
        InstView::CallIndirect { sig, callee, args } => (sig, callee, args),
        InstView::TryCallIndirect { callee, args, table } => (func.dfg.exception_table(table).sig, callee, args),
        _ => return Err(cx.unsupported(inst)),
    };
    if cx.ty(callee) != I64 {
        return Err(cx.unsupported(inst));
    }
    Ok((Callee::Address(cx.use_reg(callee)), sig, args))
}

fn call_signature<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    inst: Inst,
    callee: Callee<'_>,
    sig: SigRef,
    args: &[Value],
) -> LowerResult {
    let abi = cx.call_abi(sig)?;
    let annotation = annotate_call(cx, inst, &abi)?;
    let mut operands = Operands::new();
    pass_arguments(cx, inst, &abi, args, &mut operands)?;
    let results: Results = cx.func.dfg.inst_results(inst).iter().map(|&result| cx.parts(result)).collect();
    let defined = define_results(&results, &abi, &mut operands);
    emit_call(cx, M::ROWS.call, callee, &operands, abi.call_clobbers(), defined).set_annotation(annotation);
    after_call(cx, inst, &abi, &results)
}

/// Moves all arguments of a call to the places in `abi`, and adds the arguments in registers to `operands`.
pub(super) fn pass_arguments<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    inst: Inst,
    abi: &AbiSignature,
    args: &[Value],
    operands: &mut Operands,
) -> LowerResult {
    if abi.arg_bytes > 0 {
        // From the last one, because a routine that copies may write to the first bytes of the area.
        for (&arg, to) in args.iter().zip(&abi.args).rev() {
            if let AbiArg::Struct { offset, size } | AbiArg::StructByAddress { offset, size, .. } = *to {
                copy_struct(cx, arg, offset, size);
            }
        }
    }
    if let Some(part) = &abi.return_area {
        let area = cx.call_area(abi.return_bytes)?;
        let pointer = cx.int_temp(64);
        cx.emit_lea(pointer, Address::Slot(area));
        pass(cx, pointer, part, operands).ok_or_else(|| cx.unsupported(inst))?;
    }
    for (&arg, to) in args.iter().zip(&abi.args) {
        if let Some(reg) = to.only_reg() {
            operands.push(Operand::fixed_use(cx.use_reg(arg), reg));
            continue;
        }
        pass_argument(cx, arg, to, operands).ok_or_else(|| cx.unsupported(inst))?;
    }
    if let Some((reg, count)) = abi.float_count {
        let count = cx.constant_temp(count.into(), 32);
        operands.push(Operand::fixed_use(count, reg));
    }
    cx.code.outgoing_bytes = cx.code.outgoing_bytes.max(u64::from(abi.arg_bytes));
    Ok(())
}

/// Passes one argument. Structures in memory have been copied. Returns `None` if there is no code for its type.
fn pass_argument<'f, M: LowerBackend<'f>>(cx: &mut M, arg: Value, to: &AbiArg, operands: &mut Operands) -> Option<()> {
    match to {
        AbiArg::Value(parts) => {
            let vregs = cx.use_regs(arg);
            for (&vreg, part) in vregs.iter().zip(parts) {
                pass(cx, vreg, part, operands)?;
            }
            if let (&[float], &[_, copy]) = (&vregs[..], &parts[..]) {
                // A variadic float is in a general-purpose register too.
                let bits = cx.int_temp(copy.ty.bits());
                cx.float_bits(bits, float, copy.ty.bits());
                pass(cx, bits, &copy, operands)?;
            }
            Some(())
        }
        AbiArg::Indirect { pointer, parts } => {
            let vregs = cx.use_regs(arg);
            for (&vreg, part) in vregs.iter().zip(parts) {
                pass(cx, vreg, part, operands)?;
            }
            let AbiPlace::Stack(offset) = parts[0].place else { return None };
            pass_address(cx, offset, pointer, operands)
        }
        AbiArg::StructByAddress { pointer, offset, .. } => pass_address(cx, *offset, pointer, operands),
        AbiArg::StructInRegs { parts, .. } => {
            let base = cx.use_reg(arg);
            for (part, disp) in parts.iter().zip((0..).step_by(8)) {
                let word = cx.int_temp(part.ty.bits().max(32));
                cx.emit_mem(M::load_row(RegClass::Int, part.ty.bytes() as u8), &[word], Address::Base { base, disp });
                pass(cx, word, part, operands)?;
            }
            Some(())
        }
        AbiArg::Struct { .. } | AbiArg::VariadicList(_) => Some(()),
    }
}

/// Passes the address of a copy in the stack arguments.
fn pass_address<'f, M: LowerBackend<'f>>(cx: &mut M, offset: u32, to: &AbiPart, operands: &mut Operands) -> Option<()> {
    let pointer = cx.int_temp(64);
    cx.emit_lea(pointer, Address::Outgoing(offset));
    pass(cx, pointer, to, operands)
}

/// Returns the parts of the results of a call that have uses, each with its place.
fn places<'a>(results: &'a Results, abi: &'a AbiSignature) -> impl Iterator<Item = (VReg, &'a AbiPart)> {
    results.iter().zip(&abi.results).flat_map(|(regs, from)| {
        let parts = if let AbiArg::Value(parts) = from { &parts[..] } else { &[] };
        regs.iter().filter_map(|reg| reg.expand()).zip(parts)
    })
}

/// Adds the results in registers to the operands of a call, and returns their registers.
pub(super) fn define_results(results: &Results, abi: &AbiSignature, operands: &mut Operands) -> PRegSet {
    let mut defined = PRegSet::EMPTY;
    if let ([regs], [from]) = (&results[..], &abi.results[..])
        && let Some(reg) = from.only_reg()
    {
        if let Some(def) = regs[0].expand() {
            operands.push(Operand::fixed_def(def, reg));
            defined.insert(reg);
        }
        return defined;
    }
    for (def, part) in places(results, abi) {
        if let AbiPlace::Reg(reg) = part.place {
            operands.push(Operand::fixed_def(def, reg));
            defined.insert(reg);
        }
    }
    defined
}

/// Emits the code after a call: restores the stack pointer and loads the results in memory.
pub(super) fn after_call<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    inst: Inst,
    abi: &AbiSignature,
    results: &Results,
) -> LowerResult {
    if pops(abi) {
        // The callee has popped its arguments, and the next call's arguments go to the same memory.
        cx.readjust_sp_after_pop(abi.arg_bytes);
    }
    let in_memory = if abi.return_bytes > 0 { Some(places(results, abi)) } else { None };
    for (def, part) in in_memory.into_iter().flatten() {
        if let AbiPlace::Stack(offset) = part.place {
            let area = cx.call_area(abi.return_bytes)?;
            load_into(cx, def, part.ty, Address::Slot(area + offset), None).ok_or_else(|| cx.unsupported(inst))?;
        }
    }
    Ok(())
}

/// Passes one part of an argument. Returns `None` if there is no code for its type.
fn pass<'f, M: LowerBackend<'f>>(cx: &mut M, vreg: VReg, part: &AbiPart, operands: &mut Operands) -> Option<()> {
    let extended = extend_for_abi(cx, vreg, part.ty, part.extension);
    match part.place {
        AbiPlace::Reg(reg) => operands.push(Operand::fixed_use(extended, reg)),
        AbiPlace::Stack(offset) => {
            let row = if extended == vreg { store_place_row::<M>(part.ty)? } else { M::store_row(RegClass::Int, 8) };
            cx.emit_mem(row, &[extended], Address::Outgoing(offset));
        }
    }
    Some(())
}

/// Emits the call. It destroys `lost` except for the registers that it defines.
pub(super) fn emit_call<'c, 'f: 'c, M: LowerBackend<'f>>(
    cx: &'c mut M,
    rows: CallRows,
    callee: Callee<'_>,
    operands: &[Operand],
    mut lost: Clobbers,
    defined: PRegSet,
) -> &'c mut MInst {
    if cx.abi.partial_clobbers.is_empty() {
        // Callers rely on whole registers. Registers that a callee preserves in part are clobbered, so this function
        // preserves them.
        lost = Clobbers::lost(lost.lost.union(lost.partial));
    }
    cx.code.has_calls = true;
    let clobbers = cx.clobbers(lost.lost.difference(defined), lost.partial.difference(defined), lost.kept_bytes);
    emit_call_or_jump(cx, callee, rows, operands, clobbers)
}

/// Emits the call or jump to `callee` by one of `rows`.
pub(super) fn emit_call_or_jump<'c, 'f: 'c, M: LowerBackend<'f>>(
    cx: &'c mut M,
    callee: Callee<'_>,
    rows: CallRows,
    operands: &[Operand],
    clobbers: ClobberId,
) -> &'c mut MInst {
    let (row, address, symbol) = match callee {
        Callee::Symbol { name, near } if near || cx.settings.is_pic => {
            let symbol = Address::Symbol(cx.symbol(name, near, 0));
            (if near { rows.near } else { rows.far }, None, Some(symbol))
        }
        Callee::Symbol { name, near } => {
            let address = cx.int_temp(64);
            symbol_address(cx, address, name, near, 0);
            (rows.reg, Some(address), None)
        }
        Callee::Address(address) => (rows.reg, Some(address), None),
    };
    cx.emit_with(row, address.as_slice(), symbol, operands, clobbers)
}

/// Copies the structure that `pointer` points to into the stack arguments. Sizes are multiples of 8.
fn copy_struct<'f, M: LowerBackend<'f>>(cx: &mut M, pointer: Value, offset: u32, size: u32) {
    let pointer = cx.use_reg(pointer);
    let (registers, home) = cx.memcpy_args();
    // The routine may write to the bytes at the bottom of the frame, so it copies only the bytes above them.
    let by_moves = if size <= MAX_COPIED { size } else { home.saturating_sub(offset) };
    if by_moves < size {
        let [target, source] = [(); 2].map(|()| cx.int_temp(64));
        cx.emit_lea(target, Address::Outgoing(offset + by_moves));
        cx.add_offset(source, pointer, by_moves.into());
        let length = cx.constant_temp(u64::from(size - by_moves), 64);
        let args = [target, source, length].into_iter().zip(registers);
        let operands: Operands = args.map(|(vreg, reg)| Operand::fixed_use(vreg, reg)).collect();
        libcall(cx, LibCall::Memcpy, &operands, PRegSet::EMPTY);
    }
    for at in (0..by_moves).step_by(8) {
        let word = cx.int_temp(64);
        cx.emit_mem(M::load_row(RegClass::Int, 8), &[word], Address::Base { base: pointer, disp: at as i32 });
        cx.emit_mem(M::store_row(RegClass::Int, 8), &[word], Address::Outgoing(offset + at));
    }
}

/// Calls a library routine whose arguments and results are the fixed `operands`; `defined` are the registers of the
/// results.
pub fn libcall<'f, M: LowerBackend<'f>>(cx: &mut M, routine: LibCall, operands: &[Operand], defined: PRegSet) {
    let near = cx.settings.use_colocated_libcalls;
    let name = ExternalName::LibCall(routine);
    emit_call(cx, M::ROWS.call, Callee::Symbol { name: &name, near }, operands, M::LIBCALL_CLOBBERS, defined);
}
