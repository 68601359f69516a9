//! Vectors of up to 128 bits, in float registers.
//!
//! Before: `v2 = iadd.i32x4 v0, v1`. After: `paddd v2, v1`.
//!
//! | file | holds |
//! |---|---|
//! | `arith.rs` | sums, signs, extremes, means, clamped sums, counts of bits |
//! | `multiply.rs` | products |
//! | `shift.rs` | shifts and rotations |
//! | `compare.rs` | comparisons, masks, selection by a mask |
//! | `convert.rs` | between integers and floats, between precisions |
//! | `memory.rs` | accesses in big-endian byte order |
//! | `lanes.rs` | single lanes, and one value in all lanes |
//! | `shuffle.rs` | lanes in another order |
//! | `narrow.rs`, `saturate.rs` | lanes of half the width |
//! | `widen.rs` | lanes of twice the width |
//! | `pairwise.rs` | sums of neighboring lanes |
//! | `reduce.rs` | tests of all lanes |
//!
//! SSE2 is enough for every operation; [`Cx::can`] and [`Cx::lane_row`] tell whether the CPU has a row of a later
//! extension. Rows are named by their first form; emission takes the AVX form on CPUs with AVX. A vector of fewer
//! than 128 bits is in the low part of a register, and the bits above are undefined. They do not matter to operations
//! on single lanes; functions whose lanes depend on each other document their treatment.

use super::LowerResult;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::{Family, Isa, LowerBackend, MInst, Row, RowId};
use kingpost_regalloc::VReg;

pub(super) mod arith;
pub(super) mod compare;
pub(super) mod convert;
pub(super) mod lanes;
pub(super) mod memory;
pub(super) mod multiply;
pub(super) mod narrow;
pub(super) mod pairwise;
pub(super) mod reduce;
mod saturate;
pub(super) mod shift;
pub(super) mod shuffle;
pub(super) mod widen;

/// Returns the low `bits` bits of `lane` in all lanes of 128 bits.
pub(super) fn repeated(lane: u64, bits: u32) -> u128 {
    let lane = u128::from(lane & (u64::MAX >> (64 - bits)));
    (0..128 / bits).fold(0, |all, k| all | lane << (k * bits))
}

/// Returns the sign bit of each lane.
fn signs(bits: u32) -> u128 {
    repeated(1 << (bits - 1), bits)
}

/// Returns the form of `row` that takes its last operand from memory.
pub(super) fn in_memory(row: RowId) -> RowId {
    rows::ROWS[usize::from(row.0)].twin.map_or(row, |twin| twin.row)
}

impl Cx<'_, '_> {
    /// Returns `true` if the CPU has `row`, or the form that it is upgraded to.
    pub(super) fn can(&self, row: RowId) -> bool {
        let is_able = |row: &Row| self.isa.features().contains(row.needs);
        let row = &rows::ROWS[usize::from(row.0)];
        is_able(row) || row.upgrade.is_some_and(|upgrade| is_able(&rows::ROWS[usize::from(upgrade.0)]))
    }

    /// Returns the row of `family` for lanes of `bits` bits, if the CPU has it.
    pub(super) fn lane_row(&self, family: Family, bits: u32) -> Option<RowId> {
        family.get(bits).filter(|&row| self.can(row))
    }

    /// Returns the number of bits of the lanes of a value.
    pub(super) fn lane_bits(&self, value: Value) -> u32 {
        self.ty(value).lane_bits()
    }

    /// Returns a new register for a vector.
    pub(super) fn vector_temp(&mut self) -> VReg {
        self.float_temp(128)
    }

    /// Returns the result of `row` on `uses` in a new register.
    pub(super) fn make(&mut self, row: RowId, uses: &[VReg]) -> VReg {
        self.make_imm(row, uses, 0)
    }

    /// Returns the result of `row` on `uses` and an immediate in a new register.
    pub(super) fn make_imm(&mut self, row: RowId, uses: &[VReg], imm: i32) -> VReg {
        let made = self.vector_temp();
        self.emit_into(row, made, uses).imm = imm;
        made
    }

    /// Emits `row`, which defines `def`.
    pub(super) fn emit_into(&mut self, row: RowId, def: VReg, uses: &[VReg]) -> &mut MInst {
        match *uses {
            [x] => self.emit(row, &[def, x]),
            [x, y] => self.emit(row, &[def, x, y]),
            _ => unreachable!("vector rows have one use or two"),
        }
    }

    /// Emits `row` with a constant in memory as its last operand.
    pub(super) fn emit_with(&mut self, row: RowId, vregs: &[VReg], constant: u128) -> &mut MInst {
        let literal = self.literal(&constant.to_le_bytes());
        self.emit_mem(in_memory(row), vregs, literal)
    }

    /// Returns the result of `row` on `x` and a constant in memory, in a new register.
    pub(super) fn make_with(&mut self, row: RowId, x: VReg, constant: u128) -> VReg {
        let made = self.vector_temp();
        self.emit_with(row, &[made, x], constant);
        made
    }

    /// Returns the vector that a vector is a bitcast of, through any number of casts. A cast of a scalar stays, because it is
    /// in another register. The loop ends because definitions dominate uses in all blocks that are lowered.
    fn without_casts(&self, mut value: Value) -> Value {
        while let Some(cast) = self.def_as(value, Opcode::Bitcast) {
            let [source] = self.args(cast);
            if self.ty(source).is_scalar() {
                break;
            }
            value = source;
        }
        value
    }

    /// Returns the bytes of a vector constant or of a constant in all lanes, looking through casts.
    fn vector_constant(&self, value: Value) -> Option<u128> {
        let inst = self.def(self.without_casts(value))?;
        match self.func.dfg.view(inst) {
            InstView::UnaryConst { constant } => {
                let bytes = self.func.dfg.constants.bytes(constant);
                Some(bytes.iter().rev().fold(0, |all, &byte| all << 8 | u128::from(byte)))
            }
            InstView::Unary { arg } if self.func.dfg.opcode(inst) == Opcode::Splat => {
                Some(repeated(self.constant(arg)?, self.ty(arg).bits()))
            }
            _ => None,
        }
    }

    /// Returns a constant in a new register.
    pub(super) fn vector(&mut self, constant: u128) -> VReg {
        let made = self.vector_temp();
        self.load_vector(made, constant);
        made
    }

    /// Returns the result and the two operands of a binary opcode.
    fn binary(&mut self, inst: Inst) -> (VReg, [VReg; 2]) {
        let [def, x, y] = self.registers(inst);
        (def, [x, y])
    }
}

/// Lowers an opcode of two operands that is one row for each width of lane.
pub(super) fn lanes(cx: &mut Cx<'_, '_>, inst: Inst, family: Family) -> LowerResult {
    let bits = cx.lane_bits(cx.first_result(inst));
    match cx.lane_row(family, bits) {
        Some(row) => by_row(cx, inst, row),
        None => Err(cx.unsupported(inst)),
    }
}

/// Lowers an opcode of two operands by `row`.
pub(super) fn by_row(cx: &mut Cx<'_, '_>, inst: Inst, row: RowId) -> LowerResult {
    let value = cx.first_result(inst);
    let operands = cx.args(inst);
    let [x, y] = cx.memory_last(row, value, operands);
    let (def, x) = (cx.result(value), cx.use_reg(x));
    cx.emit_float(row, &[def, x], y, inst)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn constants_repeat_a_lane() {
        assert_eq!(super::repeated(0x1ff, 8), u128::MAX);
        assert_eq!(super::repeated(7, 64), 7 << 64 | 7);
        assert_eq!(super::signs(32), 0x8000_0000_8000_0000_8000_0000_8000_0000);
    }
}
