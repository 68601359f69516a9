//! Contents of a data object.

use kingpost_mach::DataPointer;

/// What the memory holds at first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataContents {
    /// So many bytes of zero.
    Zeros(u64),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// The definition of a data object.
///
/// ```
/// use kingpost_codegen::module::DataDescription;
///
/// let text = DataDescription::bytes(*b"hello\0");
/// assert_eq!((text.size(), text.align), (6, 16));
/// let table = DataDescription { align: 64, ..DataDescription::zeros(4096) };
/// assert_eq!(table.size(), 4096);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataDescription {
    /// What it holds.
    pub contents: DataContents,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Pointers in it, in any order. They name things as the intermediate representation does: `u0:N` is a function of
    /// the module, `u1:N` a data object. What stands at their place before does not matter.
    pub pointers: Vec<DataPointer>,
}

impl DataDescription {
    /// Zeros, 16-byte aligned.
    pub fn zeros(size: u64) -> DataDescription {
        DataDescription { contents: DataContents::Zeros(size), align: 16, pointers: Vec::new() }
    }

    /// Bytes, 16-byte aligned.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> DataDescription {
        DataDescription { contents: DataContents::Bytes(bytes.into()), align: 16, pointers: Vec::new() }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        match &self.contents {
            DataContents::Zeros(size) => *size,
            DataContents::Bytes(bytes) => bytes.len() as u64,
        }
    }
}
