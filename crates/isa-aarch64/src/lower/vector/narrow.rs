//! Lanes of half and of twice the width.
//!
//! Before: `v2 = snarrow.i16x8 v0, v1`. After: `sqxtn v2.8b, v0.8h; sqxtn2 v2.16b, v1.8h`.

use super::super::LowerResult;
use super::super::cx::Cx;
use super::memory::reverse;
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes::{self, Lanes};
use kingpost_ir::{Inst, Opcode, Type, Value};
use kingpost_mach::LowerBackend;
use kingpost_mach::lower::is_little;

/// Lowers `snarrow`, `unarrow`, `uunarrow`: the first operand's lanes into the lower half, the second one's into the
/// upper half.
pub(in crate::lower) fn narrow(cx: &mut Cx<'_, '_>, inst: Inst, low: Lanes, high: Lanes) -> LowerResult {
    let [def, x, y] = cx.registers(inst);
    let ty = cx.ty(cx.args::<2>(inst)[0]);
    let from = cx.lanes(inst, ty)?;
    let half = Arrangement::new(from.lane_bits() / 2, false);
    if from.is_full() {
        let lower = cx.compute(low, half, &[x]);
        cx.define(def, high, half.in_full(), &[lower, y]);
    } else {
        // The lanes of both operands are joined in one register.
        let both = cx.compute(lanes::ZIP1, Arrangement::new(ty.bits(), ty.bits() == 64), &[x, y]);
        cx.define(def, low, half, &[both]);
    }
    Ok(())
}

/// Lowers `swiden_low`, `swiden_high`, `uwiden_low`, `uwiden_high`.
pub(in crate::lower) fn widen(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool, high: bool) -> LowerResult {
    let [x] = cx.args(inst);
    let (ty, value) = (cx.ty(x), cx.first_result(inst));
    if cx.ty(value).is_int() {
        // The conversion is of one lane out of two.
        let (def, source) = (cx.result(value), cx.use_reg(x));
        let family = match (signed, ty.lane_bits()) {
            (true, 32) => lanes::SMOV_XE,
            (true, _) => lanes::SMOV_RE,
            (false, _) => lanes::UMOV_RE,
        };
        cx.define_imm(def, family, Arrangement::new(ty.lane_bits(), true), &[source], high.into());
        return Ok(());
    }
    let (from, to) = (cx.lanes(inst, ty)?, cx.lanes(inst, cx.ty(value))?);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let family = if signed { lanes::SSHLL } else { lanes::USHLL };
    if from.is_full() || !high {
        cx.define(def, family, if high { from } else { from.in_half() }, &[source]);
        return Ok(());
    }
    // In a register, the upper lanes of less than 16 bytes are not the upper ones.
    debug_assert!(!to.is_full());
    let all = cx.compute(family, from, &[source]);
    let part = Arrangement::new(cx.ty(value).bits(), true);
    cx.define_imm(def, lanes::MOV_SE, part, &[all], 1);
    Ok(())
}

/// Operand whose lanes are extended to twice their width, for instructions that extend it themselves.
#[derive(Clone, Copy)]
pub(super) struct Widened {
    pub(super) source: Value,
    pub(super) signed: bool,
    /// The lanes before the extension: the lower ones, or the upper ones if the arrangement has 16 bytes.
    pub(super) lanes: Arrangement,
}

impl Widened {
    /// Returns the operand if the definition of `value` extends lanes.
    pub(super) fn of(cx: &Cx<'_, '_>, value: Value) -> Option<Widened> {
        let def = cx.def(value)?;
        let (signed, high) = match cx.func.dfg.opcode(def) {
            Opcode::SwidenLow => (true, false),
            Opcode::SwidenHigh => (true, true),
            Opcode::UwidenLow => (false, false),
            Opcode::UwidenHigh => (false, true),
            _ => return None,
        };
        let [source] = cx.args(def);
        let ty = cx.ty(source);
        let fits = ty.is_vector() && if high { ty.bits() == 128 } else { ty.bits() <= 128 };
        fits.then(|| Widened { source, signed, lanes: Arrangement::new(ty.lane_bits(), high) })
    }

    /// Returns `true` if both operands are extended alike and are corresponding halves of their vectors.
    pub(super) fn is_like(self, other: Widened) -> bool {
        self.signed == other.signed && self.lanes == other.lanes
    }
}

/// Lowers `uload8x8` and similar opcodes: 8 bytes of lanes of type `memory`, extended.
pub(in crate::lower) fn load_widened(cx: &mut Cx<'_, '_>, inst: Inst, memory: Type, signed: bool) -> LowerResult {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    let value = cx.first_result(inst);
    let address = cx.memory_operand(addr, i64::from(offset), 8, inst)?;
    let (def, mut half) = (cx.result(value), cx.float_temp(64));
    cx.emit_mem(rows::LDR_FM.of(64), &[half], address).set_trap(flags.trap_code());
    let family = if signed { lanes::SSHLL } else { lanes::USHLL };
    let arrangement = Arrangement::new(memory.bits(), false);
    if !is_little(flags) {
        let image = std::mem::replace(&mut half, cx.vector_temp());
        reverse(cx, half, arrangement, image);
    }
    cx.define(def, family, arrangement, &[half]);
    Ok(())
}
