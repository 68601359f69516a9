//! Single lanes, and one value in all lanes.
//!
//! Before: `v1 = splat.i32x4 v0`. After: `movd t, v0; pshufd v1, t, 0`.

use super::shuffle::permute;
use super::{LowerResult, in_memory, repeated};
use crate::lower::cx::Cx;
use crate::lower::tiles;
use crate::rows;
use kingpost_ir::types::F16;
use kingpost_ir::{Inst, InstView, Opcode, Type, Value};
use kingpost_mach::lower::is_float_reg;
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `splat`.
pub(in crate::lower) fn splat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let bits = cx.ty(x).bits();
    if let Some(constant) = scalar_constant(cx, x) {
        cx.load_vector(def, repeated(constant, bits));
        return Ok(());
    }
    if let Some((vector, lane)) = lane_of(cx, x)
        && (bits >= 32 || lane == 0 || cx.can(rows::PSHUFB))
    {
        cx.count_tile(tiles::LANE_SPLAT);
        let source = cx.use_reg(vector);
        if lane == 0 {
            broadcast(cx, def, bits, source);
            return Ok(());
        }
        let bytes = bits as u8 / 8;
        return permute(cx, def, source, std::array::from_fn(|k| lane * bytes + k as u8 % bytes));
    }
    if let Some(row) = broadcast_from_memory(cx, bits)
        && let Some(load) = cx.fold_load(x, bits, inst)?
    {
        cx.emit_folded(row, &[def], load);
        return Ok(());
    }
    let source = in_float_register(cx, x);
    broadcast(cx, def, bits, source);
    Ok(())
}

/// Returns the vector and number of the lane that `value` is, if it has no other use.
fn lane_of(cx: &Cx<'_, '_>, value: Value) -> Option<(Value, u8)> {
    let inst = cx.def_as(value, Opcode::Extractlane).filter(|_| cx.is_single_use(value))?;
    let InstView::BinaryImm8 { arg, imm } = cx.func.dfg.view(inst) else { return None };
    is_float_reg(cx.ty(arg)).then_some((arg, imm))
}

/// Returns the bits of a constant of up to 64 bits.
fn scalar_constant(cx: &Cx<'_, '_>, x: Value) -> Option<u64> {
    match cx.func.dfg.view(cx.def(x)?) {
        InstView::UnaryIeee16 { imm } => Some(imm.bits().into()),
        InstView::UnaryIeee32 { imm } => Some(imm.bits().into()),
        InstView::UnaryIeee64 { imm } => Some(imm.bits()),
        _ => cx.constant(x),
    }
}

fn broadcast_from_memory(cx: &Cx<'_, '_>, bits: u32) -> Option<RowId> {
    let row = match bits {
        8 => rows::VPBROADCASTB_RM,
        16 => rows::VPBROADCASTW_RM,
        32 => rows::VBROADCASTSS_RM,
        _ => in_memory(rows::MOVDDUP),
    };
    cx.can(row).then_some(row)
}

/// Returns a scalar in the low bits of a float register; the bits above it are undefined.
fn in_float_register(cx: &mut Cx<'_, '_>, x: Value) -> VReg {
    let (source, ty) = (cx.use_reg(x), cx.ty(x));
    if !ty.is_int() {
        return source;
    }
    let moved = cx.float_temp(ty.bits().max(32));
    cx.emit(rows::MOV_FR.of(ty.bits()), &[moved, source]);
    moved
}

/// Sets all lanes of `def` to the lowest `bits` bits of `source`.
fn broadcast(cx: &mut Cx<'_, '_>, def: VReg, bits: u32, source: VReg) {
    match bits {
        8 if cx.can(rows::VPBROADCASTB_RR) => {
            cx.emit(rows::VPBROADCASTB_RR, &[def, source]);
        }
        8 if cx.can(rows::PSHUFB) => {
            let zero = cx.vector(0);
            cx.emit(rows::PSHUFB, &[def, source, zero]);
        }
        8 => {
            let pairs = cx.make(rows::PUNPCKL.of(8), &[source, source]);
            broadcast(cx, def, 16, pairs);
        }
        16 if cx.can(rows::VPBROADCASTW_RR) => {
            cx.emit(rows::VPBROADCASTW_RR, &[def, source]);
        }
        16 => {
            let low = cx.make_imm(rows::PSHUFLW, &[source], 0);
            cx.emit_imm(rows::PSHUFD, &[def, low], 0);
        }
        32 => {
            cx.emit_imm(rows::PSHUFD, &[def, source], 0);
        }
        _ => {
            cx.emit(rows::MOVLHPS_RR, &[def, source, source]);
        }
    }
}

/// Lowers `scalar_to_vector`. The upper bits are zero.
pub(in crate::lower) fn scalar_to_vector(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (def, ty) = (cx.result(value), cx.ty(x));
    if matches!(ty.bits(), 32 | 64)
        && let Some(load) = cx.fold_load(x, ty.bits(), inst)?
    {
        cx.emit_folded(rows::MOVS_RM.of(ty.bits()), &[def], load);
        return Ok(());
    }
    if ty.is_int() {
        let source = if ty.bits() < 32 { cx.use_zero_extended(x) } else { cx.use_reg(x) };
        cx.emit(rows::MOV_FR.of(ty.bits()), &[def, source]);
        return Ok(());
    }
    let source = cx.use_reg(x);
    match ty.bits() {
        16 => {
            cx.emit_with(rows::ANDPS, &[def, source], 0xffff);
        }
        32 => {
            let zero = cx.vector(0);
            cx.emit(rows::MOVSS_RR, &[def, zero, source]);
        }
        _ => {
            cx.emit(rows::MOVQ_RR, &[def, source]);
        }
    }
    Ok(())
}

/// Lowers `insertlane`.
pub(in crate::lower) fn insertlane(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::TernaryImm8 { args: [x, y], imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let (ty, lane) = (cx.ty(y), i32::from(imm));
    let value = cx.first_result(inst);
    let (def, vector) = (cx.result(value), cx.use_reg(x));
    let (from_memory, imm) = match (ty.bits(), ty.is_int()) {
        (8, _) => (rows::PINSRB_RMI, lane),
        (16, _) => (rows::PINSRW_RMI, lane),
        (32, true) => (rows::PINSRD_RMI, lane),
        (32, false) => (rows::INSERTPS_RMI, lane << 4),
        _ => (rows::PINSRQ_RMI, lane),
    };
    if cx.can(from_memory)
        && let Some(load) = cx.fold_load(y, ty.bits(), inst)?
    {
        cx.emit_folded(from_memory, &[def, vector], load).imm = imm;
        return Ok(());
    }
    let scalar = cx.use_reg(y);
    match (ty.bits(), ty.is_int()) {
        (8 | 16, _) => insert_narrow(cx, def, vector, scalar, ty, lane),
        (32, true) if cx.can(rows::PINSRD_RRI) => {
            cx.emit_imm(rows::PINSRD_RRI, &[def, vector, scalar], lane);
        }
        (64, true) if cx.can(rows::PINSRQ_RRI) => {
            cx.emit_imm(rows::PINSRQ_RRI, &[def, vector, scalar], lane);
        }
        (32, _) => insert_32(cx, def, vector, scalar, ty, lane),
        _ => {
            let source = in_float_register(cx, y);
            let row = if lane == 0 { rows::MOVSD_RR } else { rows::MOVLHPS_RR };
            cx.emit(row, &[def, vector, source]);
        }
    }
    Ok(())
}

/// Inserts a lane of 8 or 16 bits, by the instruction for 16.
fn insert_narrow(cx: &mut Cx<'_, '_>, def: VReg, vector: VReg, scalar: VReg, ty: Type, lane: i32) {
    if ty == F16 {
        let image = cx.int_temp(32);
        cx.emit(rows::MOV_RF.of(32), &[image, scalar]);
        cx.emit_imm(rows::PINSRW_RRI, &[def, vector, image], lane);
    } else if ty.bits() == 16 {
        cx.emit_imm(rows::PINSRW_RRI, &[def, vector, scalar], lane);
    } else if cx.can(rows::PINSRB_RRI) {
        cx.emit_imm(rows::PINSRB_RRI, &[def, vector, scalar], lane);
    } else {
        // Insert the byte together with its neighbor.
        let [pair, other, byte, joined] = std::array::from_fn(|_| cx.int_temp(32));
        cx.emit_imm(rows::PEXTRW_RRI, &[pair, vector], lane / 2);
        cx.zero_extend(byte, scalar, 8);
        if lane % 2 == 0 {
            cx.emit_imm(rows::AND_RI.of(32), &[other, pair], 0xff00);
            cx.emit(rows::OR_RR.of(32), &[joined, other, byte]);
        } else {
            let up = cx.int_temp(32);
            cx.zero_extend(other, pair, 8);
            cx.emit_imm(rows::SHL_RI.of(32), &[up, byte], 8);
            cx.emit(rows::OR_RR.of(32), &[joined, other, up]);
        }
        cx.emit_imm(rows::PINSRW_RRI, &[def, vector, joined], lane / 2);
    }
}

/// Inserts a lane of 32 bits. The lowest one has an instruction, and floats have one on newer CPUs. Further lanes are
/// inserted in two halves.
fn insert_32(cx: &mut Cx<'_, '_>, def: VReg, vector: VReg, scalar: VReg, ty: Type, lane: i32) {
    if !ty.is_int() && (lane == 0 || cx.can(rows::INSERTPS_RRI)) {
        if lane == 0 {
            cx.emit(rows::MOVSS_RR, &[def, vector, scalar]);
        } else {
            cx.emit_imm(rows::INSERTPS_RRI, &[def, vector, scalar], lane << 4);
        }
        return;
    }
    let image = if ty.is_int() {
        scalar
    } else {
        let image = cx.int_temp(32);
        cx.emit(rows::MOV_RF.of(32), &[image, scalar]);
        image
    };
    let upper = cx.int_temp(32);
    let low = cx.make_imm(rows::PINSRW_RRI, &[vector, image], 2 * lane);
    cx.emit_imm(rows::SHR_RI.of(32), &[upper, image], 16);
    cx.emit_imm(rows::PINSRW_RRI, &[def, low, upper], 2 * lane + 1);
}

/// Lowers `extractlane`.
pub(in crate::lower) fn extractlane(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::BinaryImm8 { arg, imm } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let (ty, lane) = (cx.ty(value), i32::from(imm));
    let (def, vector) = (cx.result(value), cx.use_reg(arg));
    match (ty.bits(), ty.is_int()) {
        (8, _) if cx.can(rows::PEXTRB_RRI) => {
            cx.emit_imm(rows::PEXTRB_RRI, &[def, vector], lane);
        }
        (8, _) => {
            let pair = cx.int_temp(32);
            cx.emit_imm(rows::PEXTRW_RRI, &[pair, vector], lane / 2);
            if lane % 2 == 0 {
                cx.zero_extend(def, pair, 8);
            } else {
                cx.emit_imm(rows::SHR_RI.of(32), &[def, pair], 8);
            }
        }
        (16, true) => {
            cx.emit_imm(rows::PEXTRW_RRI, &[def, vector], lane);
        }
        (bits @ (32 | 64), true) => {
            let row = if bits == 32 { rows::PEXTRD_RRI } else { rows::PEXTRQ_RRI };
            if lane != 0 && cx.can(row) {
                cx.emit_imm(row, &[def, vector], lane);
                return Ok(());
            }
            let source = cx.lowest_lane(vector, bits, lane);
            cx.emit(rows::MOV_RF.of(bits), &[def, source]);
        }
        (_, false) if lane == 0 => {
            cx.emit(rows::MOVAPS_RR, &[def, vector]);
        }
        (16, false) => {
            cx.emit_imm(rows::PSRLDQ_RI, &[def, vector], 2 * lane);
        }
        (bits, _) => {
            cx.emit_imm(rows::PSHUFD, &[def, vector], lane_at_front(bits, lane));
        }
    }
    Ok(())
}

impl Cx<'_, '_> {
    /// Returns a register whose lowest lane of 32 or 64 bits is lane `lane` of `vector`.
    pub(in crate::lower) fn lowest_lane(&mut self, vector: VReg, bits: u32, lane: i32) -> VReg {
        if lane == 0 { vector } else { self.make_imm(rows::PSHUFD, &[vector], lane_at_front(bits, lane)) }
    }
}

/// Returns the immediate of `pshufd` that moves lane `lane` to the lowest one.
fn lane_at_front(bits: u32, lane: i32) -> i32 {
    if bits == 32 { lane } else { 0xee }
}

/// Returns the instruction that stores a lane without another use: its row and immediate, and the vector.
pub(in crate::lower) fn stored_lane(cx: &Cx<'_, '_>, value: Value) -> Option<(RowId, i32, Value)> {
    let (arg, imm) = lane_of(cx, value)?;
    let (ty, lane) = (cx.ty(value), i32::from(imm));
    let row = match (ty.bits(), lane) {
        (8, _) => rows::PEXTRB_MRI,
        (16, _) => rows::PEXTRW_MRI,
        (32, 1..) => rows::PEXTRD_MRI,
        (32, _) => rows::MOVS_MR.of(32),
        (64, 0) => rows::MOVS_MR.of(64),
        _ => rows::MOVHPS_MR,
    };
    cx.can(row).then_some((row, lane, arg))
}
