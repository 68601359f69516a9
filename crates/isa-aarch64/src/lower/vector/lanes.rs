//! Lanes from and to scalars.
//!
//! Before: `v1 = load.f32 v0; v2 = splat.f32x4 v1`. After: `ld1r {v2.4s}, [x0]`.

use super::super::cx::Cx;
use super::super::{LowerResult, tiles};
use super::constant::load_vector;
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes;
use kingpost_ir::TrapCode;
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::is_little;
use kingpost_mach::{Address, LowerBackend, LowerError};
use kingpost_regalloc::VReg;

/// Lowers `splat` of a constant, a load, a lane of another vector, or a register.
pub(in crate::lower) fn splat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let arrangement = cx.lanes(inst, ty)?;
    let def = cx.result(value);
    if let Some(constant) = cx.vector_constant(value) {
        load_vector(cx, def, constant, ty.bits());
    } else if let Some((address, trap)) = loaded(cx, inst, x)? {
        cx.count_tile(tiles::LOAD_SPLAT);
        cx.emit_mem(lanes::LD1R.of(arrangement), &[def], address).set_trap(trap);
    } else if let Some((vector, index)) = lane_of(cx, x) {
        let vector = cx.use_reg(vector);
        cx.define_imm(def, lanes::DUP_VE, arrangement, &[vector], index.into());
    } else {
        let source = cx.use_reg(x);
        let family = if cx.ty(x).is_int() { lanes::DUP_VR } else { lanes::DUP_VE };
        cx.define(def, family, arrangement, &[source]);
    }
    Ok(())
}

/// Returns the address and trap code of the load that defines `x`, if `inst` may do the load instead. Marks the load
/// as folded, so the caller must emit it.
fn loaded(cx: &mut Cx<'_, '_>, inst: Inst, x: Value) -> Result<Option<(Address, Option<TrapCode>)>, LowerError> {
    let Some(load) = cx.sinkable_load(x, inst) else { return Ok(None) };
    let InstView::Load { flags, addr, offset } = cx.func.dfg.view(load) else { return Ok(None) };
    if cx.func.dfg.opcode(load) != Opcode::Load || !is_little(flags) {
        return Ok(None);
    }
    let bytes = cx.ty(x).bytes() as u8;
    cx.mark_sunk(load);
    let address = cx.memory_operand(addr, i64::from(offset), bytes, load)?;
    Ok(Some((address, flags.trap_code())))
}

/// Returns the vector and number of the lane that `value` is, if it has no other use.
fn lane_of(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, u8)> {
    let def = cx.def_as(value, Opcode::Extractlane).filter(|_| cx.is_single_use(value))?;
    match cx.func.dfg.view(def) {
        InstView::BinaryImm8 { arg, imm } if cx.ty(arg).is_vector() && cx.ty(arg).bits() <= 128 => Some((arg, imm)),
        _ => None,
    }
}

/// Lowers `scalar_to_vector`. Writing a part of a register clears the bits above it.
pub(in crate::lower) fn scalar_to_vector(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let arrangement = cx.lanes(inst, cx.ty(value))?;
    let (def, bits) = (cx.result(value), arrangement.lane_bits());
    if let Some(constant) = cx.scalar_constant(x) {
        load_vector(cx, def, constant, 128);
    } else if let Some((address, trap)) = loaded(cx, inst, x)? {
        cx.count_tile(tiles::LOAD_LANE);
        cx.emit_mem(rows::LDR_FM.of(bits), &[def], address).set_trap(trap);
    } else if cx.ty(x).is_int() {
        let source = cx.use_zero_extended(x);
        cx.emit(rows::FMOV_FR.of(bits), &[def, source]);
    } else {
        let source = cx.use_reg(x);
        cx.define(def, lanes::MOV_SE, arrangement.in_full(), &[source]);
    }
    Ok(())
}

/// Lowers `insertlane`: from an integer register, or from a lane.
pub(in crate::lower) fn insert(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::TernaryImm8 { args: [x, y], imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let arrangement = cx.lanes(inst, cx.ty(value))?.in_full();
    let def = cx.result(value);
    let (source, index) = match lane_of(cx, y) {
        Some((vector, index)) => (vector, Some(index)),
        None => (y, (!cx.ty(y).is_int()).then_some(0)),
    };
    let operands = [x, source].map(|operand| cx.use_reg(operand));
    match index {
        Some(index) => {
            let imm = i32::from(imm) | i32::from(index) << 8;
            cx.define_imm(def, lanes::MOV_EE, arrangement, &operands, imm);
        }
        None => cx.define_imm(def, lanes::MOV_ER, arrangement, &operands, imm.into()),
    }
    Ok(())
}

/// Lowers `extractlane`.
pub(in crate::lower) fn extract(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::BinaryImm8 { arg, imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let (ty, arrangement) = (cx.ty(value), cx.lanes(inst, cx.ty(arg))?.in_full());
    let (def, source) = (cx.result(value), cx.use_reg(arg));
    match (ty.is_int(), ty.bits(), imm) {
        (true, 32 | 64, 0) => {
            cx.emit(rows::FMOV_RF.of(ty.bits()), &[def, source]);
        }
        (true, 64, _) => cx.define_imm(def, lanes::UMOV_XE, arrangement, &[source], imm.into()),
        (true, ..) => cx.define_imm(def, lanes::UMOV_RE, arrangement, &[source], imm.into()),
        (false, bits, 0) => {
            cx.emit(rows::FMOV_FF.of(bits), &[def, source]);
        }
        (false, ..) => cx.define_imm(def, lanes::MOV_SE, arrangement, &[source], imm.into()),
    }
    Ok(())
}

/// Sign-extends the lane that `x` is to `to` bits. Returns `false` if `x` is not a lane, has another use, or has 64
/// bits.
pub(in crate::lower) fn extract_signed(cx: &mut Cx<'_, '_>, def: VReg, x: Value, to: u32) -> bool {
    let Some((vector, index)) = lane_of(cx, x).filter(|_| cx.ty(x).bits() < 64) else { return false };
    let family = if to <= 32 { lanes::SMOV_RE } else { lanes::SMOV_XE };
    let arrangement = Arrangement::new(cx.ty(x).bits(), true);
    let vector = cx.use_reg(vector);
    cx.define_imm(def, family, arrangement, &[vector], index.into());
    true
}
