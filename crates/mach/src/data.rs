//! Data objects: the static memory that goes with compiled functions.

use crate::compiled::SymbolName;

/// A pointer inside a data object: 8 bytes that hold a symbol's address plus a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataPointer {
    /// Bytes from the start of the object.
    pub offset: u64,
    /// Whose address.
    pub symbol: SymbolName,
    /// Added to it, bytes.
    pub addend: i64,
}

/// A data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataObject {
    /// Its name.
    pub name: SymbolName,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// May the program write to it?
    pub writable: bool,
    /// Does each thread have one of its own? It is writable then.
    pub tls: bool,
    /// First bytes; the rest up to `size` is zero.
    pub bytes: Vec<u8>,
    /// Bytes in all, at least as many as there are initial ones.
    pub size: u64,
    /// Pointers in it, by ascending offset, each within `bytes`.
    pub pointers: Vec<DataPointer>,
}
