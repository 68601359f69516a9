//! Rounding to integral values, and multiplication and addition with one rounding: by instructions of newer CPUs, or
//! else by library routines.
//!
//! Before: `v3 = fneg v2; v4 = fma v0, v1, v3`. After: `vfmsub213sd v4, v1, v2`.

use super::LowerResult;
use super::cx::Cx;
use super::float::{FloatRows, arithmetic};
use crate::regs::xmm;
use crate::rows;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::types::F64;
use kingpost_ir::{Inst, Opcode, Type, Value};
use kingpost_mach::lower::libcall;
use kingpost_regalloc::{Operand, PRegSet, VReg};
use smallvec::SmallVec;

/// Bit of the immediate of `roundss` that suppresses the report of an inexact operand.
const QUIET: i32 = 8;

const ROUND: FloatRows = FloatRows::new(rows::ROUNDS_RRI, rows::ROUNDP);

/// Lowers `ceil`, `floor`, `trunc`, `nearest`.
pub(super) fn round(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_floats(inst, ty)?;
    let (mode, single, double) = match cx.func.dfg.opcode(inst) {
        Opcode::Nearest => (0, LibCall::NearestF32, LibCall::NearestF64),
        Opcode::Floor => (1, LibCall::FloorF32, LibCall::FloorF64),
        Opcode::Ceil => (2, LibCall::CeilF32, LibCall::CeilF64),
        _ => (3, LibCall::TruncF32, LibCall::TruncF64),
    };
    arithmetic(cx, inst, |cx, def| {
        if cx.isa.flags.has_sse41 {
            cx.emit_float(ROUND.of(ty), &[def], x, inst)?.imm = QUIET | mode;
        } else {
            let x = cx.use_reg(x);
            call_routine(cx, if ty.lane_type() == F64 { double } else { single }, def, &[x], ty);
        }
        Ok(())
    })
}

/// Rows of `a * b + c` with the signs of product and addend: `[negate product][negate addend]`.
const FUSED: [[FloatRows; 2]; 2] = [
    [
        FloatRows::new(rows::VFMADD213S_RRR, rows::VFMADD213P_RRR),
        FloatRows::new(rows::VFMSUB213S_RRR, rows::VFMSUB213P_RRR),
    ],
    [
        FloatRows::new(rows::VFNMADD213S_RRR, rows::VFNMADD213P_RRR),
        FloatRows::new(rows::VFNMSUB213S_RRR, rows::VFNMSUB213P_RRR),
    ],
];

/// Lowers `fma`.
pub(super) fn fma(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y, z] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_floats(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        if cx.isa.flags.has_fma {
            let (x, negate_x) = cx.without_sign_change(x);
            let (y, negate_y) = cx.without_sign_change(y);
            let (z, negate_z) = cx.without_sign_change(z);
            let row = FUSED[usize::from(negate_x != negate_y)][usize::from(negate_z)].of(ty);
            let factors = [cx.use_reg(x), cx.use_reg(y)];
            cx.emit_float(row, &[def, factors[0], factors[1]], z, inst)?;
        } else {
            let args = [cx.use_reg(x), cx.use_reg(y), cx.use_reg(z)];
            let routine = if ty.lane_type() == F64 { LibCall::FmaF64 } else { LibCall::FmaF32 };
            call_routine(cx, routine, def, &args, ty);
        }
        Ok(())
    })
}

/// Calls a routine with float arguments and one float result of type `ty`, for vectors on each lane.
fn call_routine(cx: &mut Cx<'_, '_>, routine: LibCall, def: VReg, args: &[VReg], ty: Type) {
    if ty.is_scalar() {
        return call_on_scalars(cx, routine, def, args);
    }
    let lane_bits = ty.lane_bits();
    let lanes: SmallVec<[VReg; 4]> = (0..ty.lane_count() as i32)
        .map(|lane| {
            let args: SmallVec<[VReg; 3]> = args.iter().map(|&arg| cx.lowest_lane(arg, lane_bits, lane)).collect();
            let result = cx.float_temp(lane_bits);
            call_on_scalars(cx, routine, result, &args);
            result
        })
        .collect();
    match lanes[..] {
        [low, high] => cx.emit(rows::PUNPCKL.of(lane_bits), &[def, low, high]),
        _ => {
            let [low, high] = [0, 2].map(|k| cx.make(rows::PUNPCKL.of(32), &[lanes[k], lanes[k + 1]]));
            cx.emit(rows::MOVLHPS_RR, &[def, low, high])
        }
    };
}

fn call_on_scalars(cx: &mut Cx<'_, '_>, routine: LibCall, def: VReg, args: &[VReg]) {
    let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
    operands.extend((0..).zip(args).map(|(n, &arg)| Operand::fixed_use(arg, xmm(n))));
    operands.push(Operand::fixed_def(def, xmm(0)));
    libcall(cx, routine, &operands, PRegSet::EMPTY.with(xmm(0)));
}

impl Cx<'_, '_> {
    /// Returns the operand of an `fneg` without another use, and whether there was one.
    fn without_sign_change(&self, value: Value) -> (Value, bool) {
        match self.def_as(value, Opcode::Fneg).filter(|_| self.uses(value) == 1) {
            Some(fneg) => {
                let [operand] = self.args(fneg);
                (operand, true)
            }
            None => (value, false),
        }
    }
}
