//! Data objects: static memory beside compiled functions.

use crate::compiled::SymbolName;
use std::fmt;

/// Pointer inside a data object: 8 bytes that hold a symbol's address plus a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataPointer {
    /// Offset in bytes from the start of the object.
    pub offset: u64,
    /// Symbol whose address is stored.
    pub symbol: SymbolName,
    /// Constant added to the address.
    pub addend: i64,
}

/// A data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataObject {
    /// Name of the object.
    pub name: SymbolName,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Whether the program may write to it.
    pub writable: bool,
    /// Whether each thread has its own copy, which is writable.
    pub tls: bool,
    /// Initial bytes; the bytes up to `size` are zero.
    pub bytes: Vec<u8>,
    /// Size in bytes, at least the number of initial bytes.
    pub size: u64,
    /// Pointers in the object, by ascending offset, each within `bytes`.
    pub pointers: Vec<DataPointer>,
    /// Requests about its place in an object file.
    pub placement: Placement,
}

/// Requests about the place of a data object in an object file. Modules in memory ignore them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Placement {
    /// Name of the section; `None` for the usual section of the object's contents.
    pub section: Option<String>,
    /// Whether linkers keep the object although no symbol refers to it.
    pub used: bool,
}

/// Largest alignment of a data object in bytes.
const MAX_ALIGN: u64 = 1 << 30;
/// Size of a pointer in bytes.
const POINTER_BYTES: u64 = 8;

impl DataObject {
    /// Checks that the fields agree with each other.
    ///
    /// # Errors
    /// The first field that contradicts its description.
    pub fn check(&self) -> Result<(), DataFault> {
        if !self.align.is_power_of_two() || self.align > MAX_ALIGN {
            return Err(DataFault::Alignment(self.align));
        }
        let initial = self.bytes.len() as u64;
        if self.size < initial || self.size > i64::MAX as u64 {
            return Err(DataFault::Size { size: self.size, initial });
        }
        let mut free = 0;
        for pointer in &self.pointers {
            let end = pointer.offset.checked_add(POINTER_BYTES).filter(|&end| end <= initial && pointer.offset >= free);
            free = end.ok_or(DataFault::Pointer { offset: pointer.offset })?;
        }
        Ok(())
    }
}

/// Fields of a data object that contradict each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DataFault {
    /// An alignment that is not a power of two, or above 1 GiB.
    Alignment(u64),
    /// A size that is less than the number of initial bytes, or above the signed range.
    Size {
        /// The size in bytes.
        size: u64,
        /// Number of initial bytes.
        initial: u64,
    },
    /// A pointer that is not within the initial bytes, or that overlaps a preceding pointer.
    Pointer {
        /// Offset in bytes from the start of the object.
        offset: u64,
    },
}

impl fmt::Display for DataFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataFault::Alignment(align) => write!(f, "data cannot be aligned to {align} bytes"),
            DataFault::Size { size, initial } => {
                write!(f, "{initial} initial bytes do not fit into data of {size} bytes")
            }
            DataFault::Pointer { offset } => {
                write!(f, "the pointer at byte {offset} overlaps another one or the end of the initial bytes")
            }
        }
    }
}

impl std::error::Error for DataFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_found() {
        let good = DataObject {
            placement: Placement::default(),
            name: SymbolName::named("d"),
            align: 8,
            writable: true,
            tls: false,
            bytes: vec![0; 24],
            size: 32,
            pointers: vec![],
        };
        assert_eq!(good.check(), Ok(()));
        for align in [0, 3, 1 << 40] {
            assert_eq!(DataObject { align, ..good.clone() }.check(), Err(DataFault::Alignment(align)));
        }
        for size in [0, 23, u64::MAX] {
            assert_eq!(DataObject { size, ..good.clone() }.check(), Err(DataFault::Size { size, initial: 24 }));
        }
        for (offsets, wrong) in
            [(&[0, 8, 16][..], None), (&[17], Some(17)), (&[0, 7], Some(7)), (&[u64::MAX], Some(u64::MAX))]
        {
            let pointer = |&offset| DataPointer { offset, symbol: SymbolName::named("s"), addend: 0 };
            let object = DataObject { pointers: offsets.iter().map(pointer).collect(), ..good.clone() };
            assert_eq!(object.check(), wrong.map_or(Ok(()), |offset| Err(DataFault::Pointer { offset })));
        }
    }
}
