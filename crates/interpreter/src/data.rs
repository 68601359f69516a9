//! Data objects: static memory that functions name by symbol.

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
    /// First bytes; the rest up to `size` is zero.
    pub bytes: Vec<u8>,
    /// Bytes in all.
    pub size: u64,
    /// Pointers in it.
    pub pointers: Vec<DataPointer>,
}

/// A pointer in a data object: 8 bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataPointer {
    /// Bytes from the start of the object; the pointer lies within its first bytes.
    pub offset: u64,
    /// Whose address it holds.
    pub symbol: FuncName,
    /// Added to the address, in bytes.
    pub addend: i64,
}

/// Reason for which data objects cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DataError {
    /// All objects together have more bytes than [`MAX_DATA_BYTES`].
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

/// The most bytes of data objects.
pub const MAX_DATA_BYTES: u64 = 1 << 26;

/// All data objects, those that cannot be written first.
#[derive(Debug, Default)]
pub(crate) struct DataImage {
    pub(crate) bytes: Vec<u8>,
    /// Bytes that cannot be written.
    pub(crate) read_only: u64,
    /// Only looked up, never walked.
    offsets: HashMap<FuncName, u64>,
}

impl DataImage {
    /// Lays out the objects; the pointers in them stay zero.
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
