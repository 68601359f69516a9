//! Opcodes that move lanes, or whose lanes depend on several lanes.
//!
//! Lane 0 is in the lowest bits. Opcodes that work on one lane at a time are in `int`, `float` and `convert`.

use kingpost_ir::types::{F32X4, F64X2, I8X16, I16X8};
use kingpost_ir::{InstView, Type};

use crate::error::Stop;
use crate::float;
use crate::int::{add, clamp_signed, clamp_unsigned, signed};
use crate::interpreter::{Cx, Flow, Interpreter};
use crate::lanes::lane;
use crate::value::mask;

/// Computes one lane of `blendv`.
pub(crate) fn blend(bits: u32, c: u128, x: u128, y: u128) -> u128 {
    if c >> (bits - 1) != 0 { x } else { y }
}

/// Computes one lane of `snarrow`, from a lane of `bits` bits to half the width.
pub(crate) fn narrow_signed(bits: u32, x: u128) -> u128 {
    clamp_signed(bits / 2, signed(bits, x))
}

/// Computes one lane of `unarrow`: narrows like [`narrow_signed`], but to the unsigned range.
pub(crate) fn narrow_to_unsigned(bits: u32, x: u128) -> u128 {
    clamp_unsigned(bits / 2, signed(bits, x))
}

/// Computes one lane of `uunarrow`: narrows like [`narrow_to_unsigned`], but from the unsigned range.
pub(crate) fn narrow_unsigned(bits: u32, x: u128) -> u128 {
    x.min(mask(bits / 2))
}

/// Computes one byte of `swizzle`: byte `index` of `x`, or 0 if there is none.
pub(crate) fn swizzle(x: u128, index: u128) -> u128 {
    if index < 16 { lane(I8X16, x, index as u32) } else { 0 }
}

/// Computes one byte of `x86_pshufb`: like [`swizzle`], but it uses only the top bit and the low four bits of
/// `index`.
pub(crate) fn pshufb(x: u128, index: u128) -> u128 {
    if index >> 7 != 0 { 0 } else { swizzle(x, index & 15) }
}

/// Returns lane `index` of the lanes of `x` followed by the lanes of `y`.
fn lane_of_two(ty: Type, x: u128, y: u128, index: u32) -> u128 {
    match index.checked_sub(ty.lane_count()) {
        None => lane(ty, x, index),
        Some(index) => lane(ty, y, index),
    }
}

/// Returns `true` if `holds` is true for any lane.
fn any_lane(ty: Type, x: u128, holds: impl Fn(u128) -> bool) -> bool {
    (0..ty.lane_count()).any(|index| holds(lane(ty, x, index)))
}

impl Interpreter<'_> {
    /// Returns the type and the bits of a vector operand.
    ///
    /// # Errors
    /// If it has more than 128 bits.
    fn vector(&self, cx: Cx<'_>, operand: usize) -> Result<(Type, u128), Stop> {
        let value = *cx.args().get(operand).ok_or_else(|| cx.malformed())?;
        let ty = cx.type_of(value);
        if ty.bits() > 128 { Err(cx.not_supported()) } else { Ok((ty, self.get(cx, value))) }
    }

    pub(crate) fn splat(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let x = self.operand(cx, 0);
        self.each_lane(cx, cx.ctrl, |_| Ok(x))
    }

    /// Extracts the first and only part of a dynamic vector.
    pub(crate) fn extract_vector(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::BinaryImm8 { arg, imm } = cx.view() else { return Err(cx.malformed()) };
        if imm == 0 { Ok(self.finish(cx, self.get(cx, arg))) } else { Err(cx.not_supported()) }
    }

    pub(crate) fn scalar_to_vector(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let x = self.operand(cx, 0);
        self.each_lane(cx, cx.ctrl, |index| Ok(if index == 0 { x } else { 0 }))
    }

    pub(crate) fn insertlane(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::TernaryImm8 { imm, .. } = cx.view() else { return Err(cx.malformed()) };
        let ((ty, x), y) = (self.vector(cx, 0)?, self.operand(cx, 1));
        self.each_lane(cx, ty, |index| Ok(if index == imm.into() { y } else { lane(ty, x, index) }))
    }

    pub(crate) fn extractlane(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::BinaryImm8 { imm, .. } = cx.view() else { return Err(cx.malformed()) };
        let (ty, x) = self.vector(cx, 0)?;
        if u32::from(imm) >= ty.lane_count() {
            return Err(cx.malformed());
        }
        Ok(self.finish(cx, lane(ty, x, imm.into())))
    }

    pub(crate) fn shuffle(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::Shuffle { mask, .. } = cx.view() else { return Err(cx.malformed()) };
        let (x, y) = (self.operand(cx, 0), self.operand(cx, 1));
        self.each_lane(cx, I8X16, |index| Ok(lane_of_two(I8X16, x, y, mask[index as usize].into())))
    }

    /// Permutes the bytes of the first operand by the bytes of the second.
    pub(crate) fn permuted(&mut self, cx: Cx<'_>, pick: fn(u128, u128) -> u128) -> Result<Flow, Stop> {
        let (x, y) = (self.operand(cx, 0), self.operand(cx, 1));
        self.each_lane(cx, I8X16, |index| Ok(pick(x, lane(I8X16, y, index))))
    }

    pub(crate) fn vany_true(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let (_, x) = self.vector(cx, 0)?;
        Ok(self.finish(cx, u128::from(x != 0)))
    }

    pub(crate) fn vall_true(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let (ty, x) = self.vector(cx, 0)?;
        Ok(self.finish(cx, u128::from(!any_lane(ty, x, |lane| lane == 0))))
    }

    pub(crate) fn vhigh_bits(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let (ty, x) = self.vector(cx, 0)?;
        let top = |index| lane(ty, x, index) >> (ty.lane_bits() - 1);
        let bits = (0..ty.lane_count()).fold(0, |bits, index| bits | top(index) << index);
        Ok(self.finish(cx, bits))
    }

    pub(crate) fn iadd_pairwise(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let ((ty, x), (_, y)) = (self.vector(cx, 0)?, self.vector(cx, 1)?);
        let operand = |index| lane_of_two(ty, x, y, index);
        self.each_lane(cx, ty, |index| Ok(add(ty.lane_bits(), operand(2 * index), operand(2 * index + 1))))
    }

    /// Multiplies signed bytes by unsigned bytes and adds neighboring products, clamped.
    pub(crate) fn x86_pmaddubsw(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let (x, y) = (self.operand(cx, 0), self.operand(cx, 1));
        let product = |index| signed(8, lane(I8X16, x, index)) * lane(I8X16, y, index) as i128;
        self.each_lane(cx, I16X8, |index| Ok(clamp_signed(16, product(2 * index) + product(2 * index + 1))))
    }

    /// Narrows the lanes of two operands to half their width by `op`.
    pub(crate) fn narrowed(&mut self, cx: Cx<'_>, op: fn(u32, u128) -> u128) -> Result<Flow, Stop> {
        let ((ty, x), (_, y)) = (self.vector(cx, 0)?, self.vector(cx, 1)?);
        let result = ty.split_lanes().ok_or_else(|| cx.malformed())?;
        self.each_lane(cx, result, |index| Ok(op(ty.lane_bits(), lane_of_two(ty, x, y, index))))
    }

    /// Extends each lane of the high or low half to twice its width.
    pub(crate) fn widened(&mut self, cx: Cx<'_>, high: bool, sign_extend: bool) -> Result<Flow, Stop> {
        let (ty, x) = self.vector(cx, 0)?;
        let result = ty.merge_lanes().ok_or_else(|| cx.malformed())?;
        let first = if high { result.lane_count() } else { 0 };
        self.each_lane(cx, result, |index| Ok(extended(ty, lane(ty, x, first + index), sign_extend)))
    }

    /// Loads 64 bits as lanes of half the result's width and extends each.
    pub(crate) fn load_widened(&mut self, cx: Cx<'_>, result: Type, sign_extend: bool) -> Result<Flow, Stop> {
        let memory = result.half_width().ok_or_else(|| cx.malformed())?;
        let x = self.loaded(cx, memory)?;
        self.each_lane(cx, result, |index| Ok(extended(memory, lane(memory, x, index), sign_extend)))
    }

    pub(crate) fn fvpromote_low(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let x = self.operand(cx, 0);
        let canonicalize = self.canonicalize();
        self.each_lane(cx, F64X2, |index| Ok(canonicalize(64, float::convert(32, 64, lane(F32X4, x, index)))))
    }

    pub(crate) fn fvdemote(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let x = self.operand(cx, 0);
        let canonicalize = self.canonicalize();
        self.each_lane(cx, F32X4, |index| {
            Ok(if index < 2 { canonicalize(32, float::convert(64, 32, lane(F64X2, x, index))) } else { 0 })
        })
    }
}

/// Returns a lane of a vector of type `ty`, extended.
fn extended(ty: Type, lane: u128, sign_extend: bool) -> u128 {
    if sign_extend { signed(ty.lane_bits(), lane) as u128 } else { lane }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_clamps() {
        let both = |x: i16| {
            let bits = x as u16;
            let narrowed = [narrow_signed, narrow_to_unsigned, narrow_unsigned].map(|op| op(16, bits.into()) as u8);
            (narrowed[0] as i8, narrowed[1], narrowed[2])
        };
        assert_eq!(both(127), (127, 127, 127));
        assert_eq!(both(200), (127, 200, 200));
        assert_eq!(both(-1), (-1, 0, 255));
        assert_eq!(both(i16::MIN), (-128, 0, 255));
    }

    #[test]
    fn permutations_differ_above_15() {
        let x = 0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100_u128 << 4;
        assert_eq!((swizzle(x, 3), pshufb(x, 3)), (0x30, 0x30));
        assert_eq!((swizzle(x, 0x13), pshufb(x, 0x13)), (0, 0x30));
        assert_eq!((swizzle(x, 0x83), pshufb(x, 0x83)), (0, 0));
    }

    #[test]
    fn lanes_of_two_operands_follow_each_other() {
        let picked: Vec<u128> = (0..4).map(|index| lane_of_two(F64X2, 1 << 64, 3 << 64 | 2, index)).collect();
        assert_eq!(picked, [0, 1, 2, 3]);
    }
}
