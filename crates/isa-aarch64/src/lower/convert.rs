//! Integer width changes, halves, and the same bits in another register class.

use super::Done;
use super::cx::{Cx, is_little, pick};
use crate::immediates;
use crate::rows;
use kingpost_ir::types::{I64, I128};
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::RowId;
use kingpost_regalloc::VReg;

/// `uextend`, where the operand's register has no zeros above it by itself.
pub(super) fn uextend(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let value = cx.first(inst);
    let defs = cx.result_parts(value);
    let source = cx.put(x);
    zero_extend(cx, defs[0], source, cx.ty(x).bits());
    if let Some(&high) = defs.get(1) {
        cx.load_constant(high, 0, 64);
    }
    Ok(())
}

/// `def` gets the low `bits` bits of `source`, zero-extended to 64 bits.
pub(super) fn zero_extend(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, bits: u32) {
    let row = match bits {
        8 => rows::UXTB32_RR,
        16 => rows::UXTH32_RR,
        32 => rows::MOVZX64_32_RR,
        _ => rows::MOV64_RR,
    };
    cx.emit(row, &[def, source]);
}

/// The row that sign-extends `from` bits to `to` bits.
fn sign_extend_row(from: u32, to: u32) -> RowId {
    match (from, to) {
        (8, ..=32) => rows::SXTB32_RR,
        (16, ..=32) => rows::SXTH32_RR,
        (8, _) => rows::SXTB64_RR,
        (16, _) => rows::SXTH64_RR,
        (32, _) => rows::SXTW64_RR,
        _ => rows::MOV64_RR,
    }
}

/// `def` gets the low `from` bits of `source`, sign-extended to `to` bits.
pub(super) fn sign_extend(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, from: u32, to: u32) {
    cx.emit(sign_extend_row(from, to), &[def, source]);
}

/// `sextend`; of a load nobody else needs, the load itself.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let value = cx.first(inst);
    let (from, to) = (cx.ty(x).bits(), cx.ty(value).bits());
    let defs = cx.result_parts(value);
    if !load_extended(cx, inst, defs[0], x, to)? {
        let source = cx.put(x);
        sign_extend(cx, defs[0], source, from, to);
    }
    if let Some(&high) = defs.get(1) {
        cx.emit_imm(rows::ASR64_RRI, &[high, defs[0]], 63);
    }
    Ok(())
}

/// Loads the value of `x` into `def` with its sign, if `x` is a load that `inst` may do itself.
fn load_extended(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    def: VReg,
    x: Value,
    to: u32,
) -> Result<bool, kingpost_mach::LowerError> {
    let Some(load) = cx.sinkable_load(x, inst) else { return Ok(false) };
    let InstView::Load { flags, addr, offset } = cx.func.dfg.view(load) else { return Ok(false) };
    let from = cx.ty(x).bits();
    if cx.func.dfg.opcode(load) != Opcode::Load || !is_little(flags) || from > 32 {
        return Ok(false);
    }
    let row = match (from, to) {
        (8, ..=32) => rows::LDRSB32_RM,
        (16, ..=32) => rows::LDRSH32_RM,
        (8, _) => rows::LDRSB64_RM,
        (16, _) => rows::LDRSH64_RM,
        _ => rows::LDRSW64_RM,
    };
    cx.sink(load);
    let address = cx.address(addr, i64::from(offset), from as u8 / 8, load)?;
    cx.emit_mem(row, &[def], address).set_trap(flags.trap_code());
    Ok(true)
}

/// `ireduce`. Whoever uses it takes the operand's register, so this is only reached for results nobody asked for by name.
pub(super) fn ireduce(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let value = cx.first(inst);
    let operands = [cx.result(value), cx.put(x)];
    cx.emit(rows::MOV32_RR, &operands);
    Ok(())
}

/// `isplit`.
pub(super) fn isplit(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [x] = cx.args(inst);
    let &[low, high] = cx.func.dfg.inst_results(inst) else { return Err(cx.unsupported(inst)) };
    let bits = cx.ty(low).bits();
    let wanted = |cx: &mut Cx<'_, '_>, value: Value| cx.is_put(value).then(|| cx.result(value));
    let (low, high) = (wanted(cx, low), wanted(cx, high));
    if cx.ty(x) == I128 {
        let parts = cx.put_parts(x);
        for (def, part) in [(low, parts[0]), (high, parts[1])] {
            if let Some(def) = def {
                cx.emit(rows::MOV64_RR, &[def, part]);
            }
        }
        return Ok(());
    }
    let source = cx.put(x);
    if let Some(def) = low {
        // The upper half may stay: it is above the result.
        cx.emit(rows::MOV32_RR, &[def, source]);
    }
    if let Some(def) = high {
        let row = if bits == 32 { rows::LSR64_RRI } else { rows::LSR32_RRI };
        cx.emit_imm(row, &[def, source], bits as i32);
    }
    Ok(())
}

/// `iconcat`: the upper half is put above the lower one.
pub(super) fn iconcat(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let [low, high] = cx.args(inst);
    let value = cx.first(inst);
    let bits = cx.ty(low).bits();
    if bits == 64 {
        let (defs, low, high) = (cx.result_parts(value), cx.put(low), cx.put(high));
        cx.emit(rows::MOV64_RR, &[defs[0], low]);
        cx.emit(rows::MOV64_RR, &[defs[1], high]);
        return Ok(());
    }
    let operands = [cx.result(value), cx.put(low), cx.put(high)];
    let row = pick(bits * 2, rows::BFM32_RRI, rows::BFM64_RRI);
    let field = immediates::bitfield_insert(bits as u8, bits as u8, bits.max(16) as u8 * 2);
    cx.emit_imm(row, &operands, field);
    Ok(())
}

/// `bitcast`.
pub(super) fn bitcast(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::LoadNoOffset { flags, arg } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let (from, to) = (cx.ty(arg), cx.ty(value));
    if !is_little(flags) || from.is_dynamic_vector() || to.is_dynamic_vector() {
        return Err(cx.unsupported(inst));
    }
    let row = match (from.is_int(), to.is_int(), from.bits()) {
        (true, true, ..=32) => rows::MOV32_RR,
        (true, true, 64) => rows::MOV64_RR,
        (true, false, 16 | 32) => rows::FMOV32_FR,
        (true, false, 64) => rows::FMOV64_FR,
        (false, true, 16 | 32) => rows::FMOV32_RF,
        (false, true, 64) => rows::FMOV64_RF,
        (false, false, ..=32) => rows::FMOV32_FF,
        (false, false, 64) => rows::FMOV64_FF,
        (false, false, 128) => rows::MOV128_FF,
        (_, _, 128) => {
            bitcast_wide(cx, arg, value);
            return Ok(());
        }
        _ => return Err(cx.unsupported(inst)),
    };
    let operands = [cx.result(value), cx.put(arg)];
    cx.emit(row, &operands);
    Ok(())
}

/// i128 to and from anything.
fn bitcast_wide(cx: &mut Cx<'_, '_>, arg: Value, value: Value) {
    let (defs, parts) = (cx.result_parts(value), cx.put_parts(arg));
    match (&defs[..], &parts[..]) {
        (&[def], &[low, high]) => {
            let image = cx.float_temp(128);
            cx.emit(rows::FMOV64_FR, &[image, low]);
            cx.emit(rows::INS64_HIGH_FR, &[def, image, high]);
        }
        (&[low, high], &[source]) => {
            cx.emit(rows::FMOV64_RF, &[low, source]);
            cx.emit(rows::UMOV64_HIGH_RF, &[high, source]);
        }
        (defs, parts) => {
            for (&def, &part) in defs.iter().zip(parts) {
                cx.emit(rows::MOV64_RR, &[def, part]);
            }
        }
    }
}

/// Is the operand of this type extended to an i64 by `uext` or `sext` for a convention?
pub(super) fn extend_for_abi(
    cx: &mut Cx<'_, '_>,
    value: VReg,
    ty: kingpost_ir::Type,
    extension: kingpost_ir::signature::ArgumentExtension,
) -> VReg {
    use kingpost_ir::signature::ArgumentExtension;
    if !Cx::is_word(ty) || ty == I64 {
        return value;
    }
    match extension {
        ArgumentExtension::None => value,
        ArgumentExtension::Uext => {
            let wide = cx.int_temp(64);
            zero_extend(cx, wide, value, ty.bits());
            wide
        }
        ArgumentExtension::Sext => {
            let wide = cx.int_temp(64);
            sign_extend(cx, wide, value, ty.bits(), 64);
            wide
        }
    }
}
