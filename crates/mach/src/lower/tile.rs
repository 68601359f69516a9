//! Tiles: local patterns that one machine instruction computes. Matching a tile is separate from emitting it.
//!
//! Before: `v3 = imul v0, v1; v4 = iadd v2, v3`. After: `madd w4, w0, w1, w2`, if nothing else uses `v3`.
//!
//! A matching function changes no state. It returns the row that defines the result and the values that it reads. So
//! patterns can be listed (each instruction set has a list, `kingpost tiles`), counted when they fire (`--stats`),
//! and examined one by one.

use super::{LowerCtx, LowerResult, LowerState};
use crate::row::RowId;
use crate::tiles::{TileCounts, TileId};
use kingpost_ir::{Inst, Value};
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// Match of a tile: the row that defines the result from these values, and its immediate.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    id: TileId,
    row: RowId,
    values: [Option<Value>; 3],
    imm: i32,
}

impl Tile {
    /// Returns the match of a tile whose row has these operands after the result.
    pub fn new<const N: usize>(id: TileId, row: RowId, values: [Value; N]) -> Tile {
        const { assert!(N <= 3, "no row has more") };
        Tile { id, row, values: std::array::from_fn(|k| values.get(k).copied()), imm: 0 }
    }

    /// Returns the match with an immediate.
    #[must_use]
    pub fn imm(self, imm: i32) -> Tile {
        Tile { imm, ..self }
    }
}

impl LowerCtx<'_> {
    /// Emits a tile as the definition of the first result of `inst`. Always returns `Ok`, for callers that end with
    /// this call.
    pub fn emit_tile(&mut self, inst: Inst, tile: Tile) -> LowerResult {
        self.count_tile(tile.id);
        let value = self.first_result(inst);
        let mut vregs: SmallVec<[VReg; 4]> = SmallVec::new();
        vregs.push(self.result(value));
        for value in tile.values.into_iter().flatten() {
            vregs.push(self.use_reg(value));
        }
        self.emit_imm(tile.row, &vregs, tile.imm);
        Ok(())
    }

    /// Counts a tile that is emitted in another way.
    pub fn count_tile(&mut self, id: TileId) {
        self.cx.tile_counts[usize::from(id.0)] += 1;
    }
}

impl LowerState {
    /// Returns how often each tile has fired since the last call, and resets the counts.
    pub fn take_tile_counts(&mut self) -> TileCounts {
        std::mem::take(&mut self.tile_counts)
    }
}
