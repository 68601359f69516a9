//! Vectors of up to 128 bits, each in one register. The bits above a smaller vector are undefined.
//!
//! Before: `v2 = iadd.i16x8 v0, v1`. After: `add v2.8h, v0.8h, v1.8h`.
//!
//! Opcodes that are one instruction name its family in the table; it covers all lane widths that the instruction has.
//! Vectors of less than 64 bits are computed in 64.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | rows by type, and opcodes that are one row |
//! | `constant.rs` | constants |
//! | `arith.rs` | sums, differences, floats |
//! | `multiply.rs` | products, and sums of them |
//! | `shift.rs` | shifts, rotations, bit counts |
//! | `compare.rs` | comparisons, selection by lanes, minimum and maximum |
//! | `convert.rs` | conversions |
//! | `lanes.rs` | lanes from and to scalars |
//! | `memory.rs` | accesses in big-endian byte order |
//! | `shuffle.rs` | permutations of bytes |
//! | `narrow.rs` | lanes of half and twice the width |
//! | `pairwise.rs` | sums of neighboring lanes |
//! | `reduce.rs` | scalars computed from all lanes |

mod arith;
mod compare;
mod constant;
mod convert;
mod lanes;
mod memory;
mod multiply;
mod narrow;
mod pairwise;
mod reduce;
mod shift;
mod shuffle;

pub(super) use arith::{add, average, change_sign, float, fma, round, subtract};
pub(super) use compare::{bitselect, blend, fcmp, icmp, min_max};
pub(super) use constant::load_vector;
pub(super) use convert::{demote, from_int, promote_low, to_int_sat, truncate};
pub(super) use lanes::{extract, extract_signed, insert, scalar_to_vector, splat};
pub(super) use memory::{load, store};
pub(super) use multiply::{multiply, multiply_add_bytes, multiply_high, multiply_round};
pub(super) use narrow::{load_widened, narrow, widen};
pub(super) use pairwise::pairwise;
pub(super) use reduce::{Truth, all_true, any_true, high_bits, is_reduction, truth};
pub(super) use shift::{count_ones, rotate, shift};
pub(super) use shuffle::{shuffle, swizzle, table_lookup};

use super::LowerResult;
use super::cx::Cx;
use crate::encoding::Arrangement;
use crate::rows::ROWS;
use crate::rows::lanes::Lanes;
use kingpost_ir::{Inst, Type};
use kingpost_mach::lower::by_row;
use kingpost_mach::{Isa, LowerError, RowId};
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// Lowers an opcode that is one instruction for all lanes.
pub(super) fn plain(cx: &mut Cx<'_, '_>, inst: Inst, family: Lanes) -> LowerResult {
    let row = cx.lane_row(inst, family)?;
    by_row(cx, inst, row)
}

impl Cx<'_, '_> {
    /// Returns the lanes of `ty`, a type of `inst`.
    ///
    /// # Errors
    /// If the type fits no register.
    fn lanes(&self, inst: Inst, ty: Type) -> Result<Arrangement, LowerError> {
        if ty.is_vector() && ty.bits() <= 128 && ty.lane_bits() <= 64 {
            Ok(Arrangement::new(ty.lane_bits(), ty.bits() == 128))
        } else {
            Err(self.unsupported(inst))
        }
    }

    /// Returns the row of a family for the first operand's lanes, if the CPU has it.
    ///
    /// # Errors
    /// If there is none.
    fn lane_row(&self, inst: Inst, family: Lanes) -> Result<RowId, LowerError> {
        let x = self.func.dfg.inst_args(inst)[0];
        let lanes = self.lanes(inst, self.ty(x))?;
        self.find_row(family, lanes).ok_or_else(|| self.unsupported(inst))
    }

    /// Returns the row of a family for these lanes, if the CPU has it.
    fn find_row(&self, family: Lanes, lanes: Arrangement) -> Option<RowId> {
        family.find(lanes).filter(|row| self.isa.features().contains(ROWS[usize::from(row.0)].needs))
    }

    /// Returns a register for a vector.
    pub(super) fn vector_temp(&mut self) -> VReg {
        self.float_temp(128)
    }

    /// Returns the result of `family` on `sources` in a new register.
    fn compute(&mut self, family: Lanes, lanes: Arrangement, sources: &[VReg]) -> VReg {
        self.compute_imm(family, lanes, sources, 0)
    }

    /// Returns the result of `family` on `sources` and an immediate in a new register.
    fn compute_imm(&mut self, family: Lanes, lanes: Arrangement, sources: &[VReg], imm: i32) -> VReg {
        let def = self.vector_temp();
        self.define_imm(def, family, lanes, sources, imm);
        def
    }

    /// Emits `family` on `sources` with the result `def`.
    fn define(&mut self, def: VReg, family: Lanes, lanes: Arrangement, sources: &[VReg]) {
        self.define_imm(def, family, lanes, sources, 0);
    }

    /// Emits `family` on `sources` and an immediate with the result `def`.
    fn define_imm(&mut self, def: VReg, family: Lanes, lanes: Arrangement, sources: &[VReg], imm: i32) {
        let mut operands: SmallVec<[VReg; 4]> = SmallVec::from_slice(&[def]);
        operands.extend_from_slice(sources);
        self.emit_imm(family.of(lanes), &operands, imm);
    }
}
