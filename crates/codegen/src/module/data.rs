//! Contents of a data object.

use kingpost_mach::DataPointer;

/// Initial contents of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataContents {
    /// This many bytes of zero.
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
/// let table = DataDescription::zeros(4096).with(|data| data.align = 64);
/// assert_eq!(table.size(), 4096);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DataDescription {
    /// The contents.
    pub contents: DataContents,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Pointers in the object, in any order. They use the names of the intermediate representation: `u0:N` is a
    /// function of the module, `u1:N` a data object. The bytes that they replace are ignored.
    pub pointers: Vec<DataPointer>,
}

impl DataDescription {
    /// Returns a description of `size` zero bytes, 16-byte aligned.
    pub fn zeros(size: u64) -> DataDescription {
        DataDescription { contents: DataContents::Zeros(size), align: 16, pointers: Vec::new() }
    }

    /// Returns a description of these bytes, 16-byte aligned.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> DataDescription {
        DataDescription { contents: DataContents::Bytes(bytes.into()), align: 16, pointers: Vec::new() }
    }

    /// Returns the description after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut DataDescription)) -> DataDescription {
        change(&mut self);
        self
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        match &self.contents {
            DataContents::Zeros(size) => *size,
            DataContents::Bytes(bytes) => bytes.len() as u64,
        }
    }
}
