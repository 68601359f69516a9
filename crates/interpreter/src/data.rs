//! Data objects: static memory that functions refer to by symbol.

use std::collections::HashMap;
use std::fmt;

use kingpost_ir::extfunc::FuncName;

/// A data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataBlock {
    /// Its name.
    pub name: FuncName,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Whether the program may write to it.
    pub writable: bool,
    /// The first bytes; the remaining bytes up to `size` are zero.
    pub bytes: Vec<u8>,
    /// Size in bytes.
    pub size: u64,
    /// Pointers in it.
    pub pointers: Vec<DataPointer>,
}

/// A pointer of 8 bytes in a data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataPointer {
    /// Offset from the start of the object, in bytes. The pointer is within `bytes`.
    pub offset: u64,
    /// The symbol whose address it holds.
    pub symbol: FuncName,
    /// Addend, in bytes.
    pub addend: i64,
}

/// Reason why data objects cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DataError {
    /// All objects together are larger than [`MAX_DATA_BYTES`].
    TooLarge,
    /// A pointer holds the address of a symbol that is neither a function nor a data object here.
    UnknownSymbol(FuncName),
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            DataError::TooLarge => write!(f, "the interpreter takes at most {MAX_DATA_BYTES} bytes of data"),
            DataError::UnknownSymbol(name) => write!(f, "the address of symbol {name} is not known"),
        }
    }
}

impl std::error::Error for DataError {}

/// Maximum size of all data objects together, in bytes.
pub const MAX_DATA_BYTES: u64 = 1 << 26;

/// All data objects, the read-only ones first.
#[derive(Debug, Default)]
pub(crate) struct DataImage {
    pub(crate) bytes: Vec<u8>,
    /// Size of the read-only part, in bytes.
    pub(crate) read_only: u64,
    /// Looked up only, never iterated.
    offsets: HashMap<FuncName, u64>,
}

impl DataImage {
    /// Lays out the objects. The pointers in them stay zero.
    pub(crate) fn new(blocks: &[DataBlock]) -> Result<DataImage, DataError> {
        let mut image = DataImage::default();
        for writable in [false, true] {
            for block in blocks.iter().filter(|block| block.writable == writable) {
                image.push(block)?;
            }
            if !writable {
                image.read_only = image.bytes.len() as u64;
            }
        }
        Ok(image)
    }

    fn push(&mut self, block: &DataBlock) -> Result<(), DataError> {
        let start = (self.bytes.len() as u64).checked_next_multiple_of(block.align.max(1));
        let end = start.and_then(|start| start.checked_add(block.size.max(block.bytes.len() as u64)));
        let (Some(start), Some(end)) = (start, end.filter(|&end| end <= MAX_DATA_BYTES)) else {
            return Err(DataError::TooLarge);
        };
        self.bytes.resize(start as usize, 0);
        self.bytes.extend_from_slice(&block.bytes);
        self.bytes.resize(end as usize, 0);
        self.offsets.entry(block.name.clone()).or_insert(start);
        Ok(())
    }

    pub(crate) fn offset(&self, name: &FuncName) -> Option<u64> {
        self.offsets.get(name).copied()
    }

    pub(crate) fn write_pointer(&mut self, offset: u64, address: u64) {
        let start = offset as usize;
        if let Some(bytes) = self.bytes.get_mut(start..start.saturating_add(8)) {
            bytes.copy_from_slice(&address.to_le_bytes());
        }
    }
}
