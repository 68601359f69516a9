//! Contents of a data object.

use super::declarations::{DATA, DataId, FUNCTIONS, FuncId};
use kingpost_mach::{DataPointer, Placement, SymbolName};

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
    /// Requests about its place in an object file.
    pub placement: Placement,
}

impl DataDescription {
    /// Returns a description of `size` zero bytes, 16-byte aligned.
    pub fn zeros(size: u64) -> DataDescription {
        DataDescription::new(DataContents::Zeros(size))
    }

    /// Returns a description of these bytes, 16-byte aligned.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> DataDescription {
        DataDescription::new(DataContents::Bytes(bytes.into()))
    }

    fn new(contents: DataContents) -> DataDescription {
        DataDescription { contents, align: 16, pointers: Vec::new(), placement: Placement::default() }
    }

    /// Adds a pointer to a function, `offset` bytes from the start of the object.
    ///
    /// ```
    /// use kingpost_codegen::module::{DataDescription, FuncId, Module, ModuleError};
    ///
    /// /// Defines a table of functions.
    /// fn table(module: &mut impl Module, functions: &[FuncId]) -> Result<(), ModuleError> {
    ///     let mut table = DataDescription::zeros(8 * functions.len() as u64);
    ///     for (offset, &function) in (0..).step_by(8).zip(functions) {
    ///         table.point_to_function(offset, function);
    ///     }
    ///     let id = module.declare_anonymous_data(kingpost_codegen::module::DataKind::ReadOnly);
    ///     module.define_data(id, &table)
    /// }
    /// ```
    pub fn point_to_function(&mut self, offset: u64, function: FuncId) {
        let symbol = SymbolName::User(FUNCTIONS, function.as_u32());
        self.pointers.push(DataPointer { offset, symbol, addend: 0 });
    }

    /// Adds a pointer to byte `addend` of a data object, `offset` bytes from the start of this object.
    pub fn point_to_data(&mut self, offset: u64, data: DataId, addend: i64) {
        let symbol = SymbolName::User(DATA, data.as_u32());
        self.pointers.push(DataPointer { offset, symbol, addend });
    }

    /// Sets the section of the object in an object file. Names such as `.init_array` have a meaning to linkers, which
    /// determines the type of the section.
    pub fn set_section(&mut self, name: impl Into<String>) {
        self.placement.section = Some(name.into());
    }

    /// Makes linkers keep the object although no symbol refers to it.
    pub fn set_used(&mut self) {
        self.placement.used = true;
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
