//! Constants: one instruction if 8 bits encode them, two if one move makes all lanes, else a literal.
//!
//! Before: `v0 = vconst.i32x4 [256 256 256 256]`. After: `movi v0.4s, #1, lsl #8`.

use super::super::cx::Cx;
use crate::encoding::Arrangement;
use crate::immediates;
use crate::rows;
use crate::rows::lanes::{self, Lanes};
use kingpost_ir::{InstView, Opcode, Value};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Puts the low `bits` bits of a constant into `def`. The bits above them do not matter.
pub(in crate::lower) fn load_vector(cx: &mut Cx<'_, '_>, def: VReg, value: u128, bits: u32) {
    if let Some((row, imm)) = immediate(repeated(value, bits)) {
        cx.emit_imm(row, &[def], imm);
    } else if let Some(lane) = equal_lanes(value, bits) {
        let image = cx.int_temp(32);
        let image_bits = u64::from(value as u32) & u64::MAX >> (64 - lane);
        cx.load_constant(image, image_bits, 32);
        cx.define(def, lanes::DUP_VR, Arrangement::new(lane, true), &[image]);
    } else {
        let bits = bits.max(32);
        let literal = cx.literal(&value.to_le_bytes()[..bits as usize / 8]);
        cx.emit_mem(rows::LDR_FCONST.of(bits), &[def], literal);
    }
}

/// Returns the width of the lanes of a vector that are equal and that one move to an integer register makes. Such a
/// vector takes two instructions and no literal of 16 bytes.
fn equal_lanes(value: u128, bits: u32) -> Option<u32> {
    let equal = |lane| bits == 128 && value == repeated(value, lane);
    let moves = || immediates::constant(u64::from(value as u32), 32).len();
    [16, 32].into_iter().find(|&lane| equal(lane)).filter(|&lane| lane == 16 || moves() == 1)
}

/// Returns the low `bits` bits of `value`, repeated to fill 128 bits.
pub(super) fn repeated(value: u128, bits: u32) -> u128 {
    let (mut value, mut bits) = (value & u128::MAX >> (128 - bits), bits);
    while bits < 128 {
        value |= value << bits;
        bits *= 2;
    }
    value
}

impl Cx<'_, '_> {
    /// Returns the bits of a constant vector, or of a scalar in all lanes.
    pub(super) fn vector_constant(&self, value: Value) -> Option<u128> {
        let def = self.def(value)?;
        match self.func.dfg.view(def) {
            InstView::UnaryConst { constant } => {
                let bytes = self.func.dfg.constants.bytes(constant);
                (bytes.len() <= 16).then(|| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte)))
            }
            InstView::Unary { arg } if self.func.dfg.opcode(def) == Opcode::Splat => {
                let ty = self.ty(value);
                let all = repeated(self.scalar_constant(arg)?, ty.lane_bits());
                Some(all & u128::MAX >> (128 - ty.bits().min(128)))
            }
            _ => None,
        }
    }

    /// Returns the bits of a constant scalar.
    pub(super) fn scalar_constant(&self, value: Value) -> Option<u128> {
        let def = self.def(value)?;
        match self.func.dfg.view(def) {
            InstView::UnaryIeee16 { imm } => Some(imm.bits().into()),
            InstView::UnaryIeee32 { imm } => Some(imm.bits().into()),
            InstView::UnaryIeee64 { imm } => Some(imm.bits().into()),
            _ if self.ty(value).is_int() => self.constant(value).map(u128::from),
            _ => None,
        }
    }

    /// Returns `true` if all bits of a vector are known to be zero.
    pub(super) fn is_zero_vector(&self, value: Value) -> bool {
        self.vector_constant(value) == Some(0)
    }

    /// Returns a vector with the low `bits` bits of `lane` in each lane.
    pub(super) fn all_lanes(&mut self, lane: u64, bits: u32) -> VReg {
        let def = self.vector_temp();
        load_vector(self, def, repeated(lane.into(), bits), 128);
        def
    }
}

/// Returns the instruction that makes a constant, with its immediate (Arm ARM, `AdvSIMDExpandImm`).
pub(super) fn immediate(value: u128) -> Option<(RowId, i32)> {
    let d = value as u64;
    if u128::from(d) << 64 | u128::from(d) != value {
        return None;
    }
    let (s, h) = (d as u32, d as u16);
    let row = |family: Lanes, bits| family.of(Arrangement::new(bits, true));
    let bytes = d.to_le_bytes();
    if bytes.iter().all(|byte| matches!(byte, 0 | 0xff)) {
        let mask = (0..8).map(|k| i32::from(bytes[k] & 1) << k).sum();
        return Some((row(lanes::MOVI_MASK, 64), mask));
    }
    if bytes.iter().all(|&byte| byte == bytes[0]) {
        return Some((row(lanes::MOVI_B, 8), bytes[0].into()));
    }
    if d == u64::from(h) * 0x0001_0001_0001_0001 {
        let family = |image, family| Some((row(family, 16), shifted(u32::from(image), 2, 0)?));
        return family(h, lanes::MOVI_H).or_else(|| family(!h, lanes::MVNI_H));
    }
    if d == u64::from(s) * 0x0000_0001_0000_0001 {
        let family = |image, family| Some((row(family, 32), shifted(image, 4, 0)?));
        let ones = |image: u32, family| {
            let filled = (image & 0xff == 0xff).then_some(image)?;
            let short = if filled & 0xffff == 0xffff { (filled >> 16, 1) } else { (filled >> 8, 0) };
            (short.0 <= 0xff).then(|| (row(family, 32), short.0 as i32 | short.1 << 8))
        };
        return family(s, lanes::MOVI_S)
            .or_else(|| family(!s, lanes::MVNI_S))
            .or_else(|| ones(s, lanes::MOVI_ONES))
            .or_else(|| ones(!s, lanes::MVNI_ONES))
            .or_else(|| Some((row(lanes::FMOV_S, 32), immediates::float(s.into(), 32)?)));
    }
    Some((row(lanes::FMOV_D, 64), immediates::float(d, 64)?))
}

/// Returns the immediate of a byte that is shifted by one of `amounts` numbers of bytes: the byte, and above it the
/// number plus `least`.
fn shifted(image: u32, amounts: i32, least: i32) -> Option<i32> {
    (0..amounts).find(|n| image & !(0xff << (8 * n)) == 0).map(|n| (image >> (8 * n)) as i32 | (n + least) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::byte_mask;
    use crate::immediates::float_value;

    /// Returns the value that a row makes from its immediate, as the manual defines it.
    fn expanded(row: RowId, imm: i32) -> u128 {
        let (byte, amount) = (imm as u64 & 0xff, 8 * (imm >> 8));
        let shifted = byte << amount;
        let ones = (byte << (amount + 8)) | ((1 << (amount + 8)) - 1);
        let (value, bits) = match rows::ROWS[usize::from(row.0)].name {
            "movi16b_vai" => (byte, 8),
            "movi8h_vai" => (shifted, 16),
            "mvni8h_vai" => (!shifted, 16),
            "movi4s_vai" => (shifted, 32),
            "mvni4s_vai" => (!shifted, 32),
            "movi4s_vmi" => (ones, 32),
            "mvni4s_vmi" => (!ones, 32),
            "movi2d_vbi" => (byte_mask(byte as u8), 64),
            "fmov4s_vfi" => ((float_value(imm) as f32).to_bits().into(), 32),
            "fmov2d_vfi" => (float_value(imm).to_bits(), 64),
            name => panic!("{name}"),
        };
        repeated(value.into(), bits)
    }

    #[test]
    fn constants_of_eight_bits_are_found_and_made() {
        let mut found = 0;
        for byte in 0..=0xffu64 {
            let lanes = [0u32, 8, 16, 24].map(|n| (byte << n, 32));
            let others = [(byte, 8), (byte, 16), (byte << 8, 16), (byte << 8 | 0xff, 32), (byte << 16 | 0xffff, 32)];
            let floats = [
                (u64::from((float_value(byte as i32) as f32).to_bits()), 32),
                (float_value(byte as i32).to_bits(), 64),
                (byte_mask(byte as u8), 64),
            ];
            for (value, bits) in lanes.into_iter().chain(others).chain(floats) {
                for value in [value, !value] {
                    let value = repeated(value.into(), bits);
                    if let Some((row, imm)) = immediate(value) {
                        assert_eq!(expanded(row, imm), value, "{value:x}");
                        found += 1;
                    }
                }
                assert!(immediate(repeated(value.into(), bits)).is_some(), "{value:x} of {bits} bits");
            }
        }
        assert!(found > 256 * 12);
        assert_eq!(immediate(0x1234), None);
        assert_eq!(immediate(repeated(0x1234, 16)), None);
    }
}
