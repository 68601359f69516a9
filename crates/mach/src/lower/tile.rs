//! Tiles: local patterns of which one machine instruction does the work, matched apart from being emitted.
//!
//! Before: `v3 = imul v0, v1; v4 = iadd v2, v3`. After: `madd w4, w0, w1, w2`, if nothing else uses `v3`.
//!
//! A matching function looks and changes nothing; what it returns says which row defines the result from which values.
//! So patterns can be listed (each instruction set has a list, `kingpost tiles`), counted when they fire (`--stats`),
//! and looked at one by one.

use super::{Lower, Lowered, Lowering};
use crate::row::RowId;
use kingpost_ir::{Inst, Value};
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// No instruction set has more tiles.
pub const MAX_TILES: usize = 32;

/// Number of times that each tile has fired, indexed by [`TileId`].
pub type TileCounts = [u64; MAX_TILES];

/// Number of a tile in the list of its instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileId(pub u8);

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileInfo {
    /// Its name.
    pub name: &'static str,
    /// Pattern, in CLIF with a definition in the place of a value that has no other use.
    pub pattern: &'static str,
    /// Emitted instructions, in assembly.
    pub emitted: &'static str,
}

/// A match: the row that defines the result from these values, and its immediate.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    id: TileId,
    row: RowId,
    values: [Option<Value>; 3],
    imm: i32,
}

impl Tile {
    /// Returns the match of a tile whose row has these operands behind the result.
    pub fn new<const N: usize>(id: TileId, row: RowId, values: [Value; N]) -> Tile {
        const { assert!(N <= 3, "no row has more") };
        Tile { id, row, values: std::array::from_fn(|k| values.get(k).copied()), imm: 0 }
    }

    /// Returns the same with an immediate.
    #[must_use]
    pub fn imm(self, imm: i32) -> Tile {
        Tile { imm, ..self }
    }
}

/// Returns the number of the tile `name` in the list whose names are `order`.
pub const fn tile_number(order: &[&str], name: &str) -> TileId {
    let mut k = 0;
    while !same(order[k].as_bytes(), name.as_bytes()) {
        k += 1;
    }
    TileId(k as u8)
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut k = 0;
    while k < a.len() && k < b.len() && a[k] == b[k] {
        k += 1;
    }
    k == a.len() && k == b.len()
}

/// Makes constants of type [`TileId`] and their list, `TILES`.
#[macro_export]
macro_rules! tiles {
    ($($(#[$doc:meta])* $id:ident = $name:literal $pattern:literal => $emitted:literal;)*) => {
        /// Names in the order of the list.
        const ORDER: &[&str] = &[$(stringify!($id)),*];

        $($(#[$doc])* #[doc = concat!("`", $pattern, "`: `", $emitted, "`.")]
        pub(super) const $id: $crate::lower::TileId = $crate::lower::tile_number(ORDER, stringify!($id));)*

        /// The tiles of this instruction set.
        pub(crate) static TILES: &[$crate::lower::TileInfo] = &[
            $($crate::lower::TileInfo { name: $name, pattern: $pattern, emitted: $emitted }),*
        ];

        const _: () = assert!(TILES.len() <= $crate::lower::MAX_TILES);
    };
}

impl Lower<'_> {
    /// Emits a tile as the definition of the first result of `inst`.
    ///
    /// # Errors
    /// None: what lowers an instruction ends with this.
    pub fn emit_tile(&mut self, inst: Inst, tile: Tile) -> Lowered {
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

    /// Counts a tile that is emitted by other means.
    pub fn count_tile(&mut self, id: TileId) {
        self.cx.tile_counts[usize::from(id.0)] += 1;
    }
}

impl Lowering {
    /// Returns how often each tile has fired since the last call.
    pub fn take_tile_counts(&mut self) -> TileCounts {
        std::mem::take(&mut self.tile_counts)
    }
}
