//! Functions that the generated matcher calls.

use super::bits::Bits;
use super::graph::Graph;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::types::{I64, I128, INVALID};
use kingpost_ir::{InstData, Opcode, TrapCode, Type, Value};

/// Returns the pure instruction or load that defines a value; `nop` if there is none.
pub(super) fn definition(g: &impl Graph, value: Value) -> InstData {
    g.definition(value).copied().unwrap_or_else(|| InstData::nullary(Opcode::Nop, INVALID))
}

/// Returns the constant that a value is; for a vector, the constant of all its lanes.
#[inline]
pub(super) fn constant(g: &impl Graph, value: Value) -> Option<Bits> {
    match g.constant(value) {
        Some(bits) => Some(Bits::zero_extended(g.ty(value).lane_bits(), bits)),
        None if g.ty(value).is_vector() || g.ty(value) == I128 => made_constant(g, value),
        None => None,
    }
}

/// Returns a constant of a type that has no `iconst`.
#[inline(never)]
fn made_constant(g: &impl Graph, value: Value) -> Option<Bits> {
    let inst = g.definition(value)?;
    let part = |index: usize| {
        let arg = *inst.args().get(index)?;
        Some(Bits::new(g.ty(arg).bits(), g.constant(arg)?.into()))
    };
    let ty = g.ty(value);
    match inst.opcode() {
        Opcode::Splat if ty.lane_type().is_int() => part(0),
        Opcode::Uextend if ty == I128 => Some(part(0)?.resize(ty.bits())),
        Opcode::Sextend if ty == I128 => Some(part(0)?.sign_extend(ty.bits())),
        Opcode::Iconcat if ty == I128 => {
            let [low, high] = [part(0)?, part(1)?].map(Bits::unsigned);
            Some(Bits::new(I128.bits(), (low | high << I64.bits()) as i128))
        }
        _ => None,
    }
}

/// Makes a constant; for a vector, with this constant in all lanes.
pub(super) fn make_constant(g: &mut impl Graph, ty: Type, bits: Bits) -> Value {
    if ty.is_vector() {
        let lane = g.iconst(ty.lane_type(), bits.unsigned() as u64);
        return g.make(InstData::unary(Opcode::Splat, ty, lane));
    }
    if ty != I128 {
        return g.iconst(ty, bits.unsigned() as u64);
    }
    let low = g.iconst(I64, bits.unsigned() as u64);
    if i128::from(bits.signed() as i64) == bits.signed() {
        return g.make(InstData::unary(Opcode::Sextend, ty, low));
    }
    let high = g.iconst(I64, (bits.unsigned() >> I64.bits()) as u64);
    g.make(InstData::binary(Opcode::Iconcat, I64, [low, high]))
}

/// Returns the offset of an access, as wide as its address, which is the last operand.
pub(super) fn offset(g: &impl Graph, request: &InstData) -> Bits {
    let width = request.args().last().map_or(I64.bits(), |&address| g.ty(address).bits());
    Bits::new(width, request.offset().into())
}

/// Returns `true` if the offset fits an instruction.
pub(super) fn is_offset(offset: Bits) -> bool {
    i32::try_from(offset.signed()).is_ok()
}

/// Returns a load with the flags of `request`.
pub(super) fn load(request: &InstData, opcode: Opcode, ty: Type, address: Value, offset: i32) -> InstData {
    InstData::load(opcode, ty, request.memflags().unwrap_or_default(), address, offset)
}

/// Returns a store with the flags of `request`.
pub(super) fn store(request: &InstData, opcode: Opcode, value: Value, address: Value, offset: i32) -> InstData {
    InstData::store(opcode, request.memflags().unwrap_or_default(), value, address, offset)
}

/// Returns a conditional trap with the trap code of `request`.
pub(super) fn cond_trap(g: &impl Graph, request: &InstData, opcode: Opcode, condition: Value) -> InstData {
    InstData::cond_trap(opcode, g.ty(condition), condition, code(request))
}

/// Returns an unconditional trap with the trap code of `request`.
pub(super) fn trap(request: &InstData) -> InstData {
    InstData::trap(code(request))
}

fn code(request: &InstData) -> TrapCode {
    request.trap_code().unwrap_or(TrapCode::HEAP_OUT_OF_BOUNDS)
}

/// Returns the condition of a comparison.
pub(super) fn condition(inst: &InstData) -> IntCC {
    inst.int_cond().unwrap_or(IntCC::Equal)
}

/// Returns the condition of a comparison of floats.
pub(super) fn float_condition(inst: &InstData) -> FloatCC {
    inst.float_cond().unwrap_or(FloatCC::Equal)
}

/// Returns `true` for scalar integers, and vectors of integers of 128 bits.
pub(super) fn is_int_or_lanes(ty: Type) -> bool {
    ty.is_int() || ty.lane_type().is_int() && ty.is_vector() && ty.bits() == 128
}

/// Returns `true` if a file has the hash of the file from which the matcher was generated (FNV-1a, of Fowler, Noll
/// and Vo). Always `true` if `KINGPOST_STALE_RULES` is set, so that `make rules` can build a stale matcher once
/// more to generate the next one.
pub(super) const fn fits(bytes: &[u8], hash: u64) -> bool {
    let (mut state, mut index) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while index < bytes.len() {
        state = (state ^ bytes[index] as u64).wrapping_mul(0x100_0000_01b3);
        index += 1;
    }
    state == hash || option_env!("KINGPOST_STALE_RULES").is_some()
}
