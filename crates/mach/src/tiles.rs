//! Lists of tiles: the local patterns that an instruction set matches, by number.
//!
//! [`Tile`](crate::lower::Tile) is a match of a tile.

/// Largest number of tiles of an instruction set.
pub const MAX_TILES: usize = 32;

/// Number of times that each tile has fired, indexed by [`TileId`].
pub type TileCounts = [u64; MAX_TILES];

/// Number of a tile in the list of its instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileId(pub u8);

/// Line of the list of tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileInfo {
    /// Name of the tile.
    pub name: &'static str,
    /// Pattern in CLIF. A nested definition is a value that has no other use.
    pub pattern: &'static str,
    /// Emitted instructions in assembly.
    pub emitted: &'static str,
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

/// Defines constants of type [`TileId`] and their list, `TILES`.
#[macro_export]
macro_rules! tiles {
    ($($(#[$doc:meta])* $id:ident = $name:literal $pattern:literal => $emitted:literal;)*) => {
        /// Names of the tiles in the order of the list.
        const ORDER: &[&str] = &[$(stringify!($id)),*];

        $($(#[$doc])* #[doc = concat!("`", $pattern, "`: `", $emitted, "`.")]
        pub(super) const $id: $crate::tiles::TileId = $crate::tiles::tile_number(ORDER, stringify!($id));)*

        /// Tiles of this instruction set.
        pub(crate) static TILES: &[$crate::tiles::TileInfo] = &[
            $($crate::tiles::TileInfo { name: $name, pattern: $pattern, emitted: $emitted }),*
        ];

        const _: () = assert!(TILES.len() <= $crate::tiles::MAX_TILES);
    };
}
