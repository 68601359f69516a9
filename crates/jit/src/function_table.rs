//! The table by which the unwinder of Windows finds the frames of loaded functions: an entry for each function that has a frame,
//! then their descriptions (Microsoft, "x64 exception handling" and "ARM64 exception handling"). It lies in the image,
//! because entries have addresses of 32 bits relative to a base.

use crate::error::LoadError;
use kingpost_debug_info::{WindowsUnwinding, windows_unwinding};
use kingpost_mach::ModuleBuffer;
use std::ops::Range;
use target_lexicon::HOST;

/// Whether an entry has the end of its function, as on x86-64.
const HAS_END: bool = cfg!(target_arch = "x86_64");

/// Size of an entry in bytes.
const ENTRY: usize = if HAS_END { 12 } else { 8 };

/// Descriptions of frames, by the index of the function.
#[derive(Debug, Default)]
pub(crate) struct FunctionTable {
    frames: Vec<(usize, WindowsUnwinding)>,
}

impl FunctionTable {
    /// Describes the functions of a module.
    ///
    /// # Errors
    /// If the format does not describe a construct of a function.
    pub(crate) fn new(module: &ModuleBuffer) -> Result<FunctionTable, LoadError> {
        let mut frames = Vec::new();
        for (index, f) in module.functions().enumerate() {
            let frame = windows_unwinding(HOST.architecture, &f, false)
                .map_err(|construct| LoadError::Unwind(f.function.head.name.clone(), construct))?;
            frames.extend(frame.map(|frame| (index, frame)));
        }
        Ok(FunctionTable { frames })
    }

    /// Returns the number of entries.
    pub(crate) fn entries(&self) -> usize {
        self.frames.len()
    }

    /// Returns the size of the table in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let records = self.frames.iter().map(|(_, frame)| match frame {
            WindowsUnwinding::Packed(_) => 0,
            WindowsUnwinding::Record(record) => record.len().next_multiple_of(4),
        });
        ENTRY * self.entries() + records.sum::<usize>()
    }

    /// Writes the table to `out`. `at` is its place, and `functions` the places of functions by ascending address, all relative to
    /// the base.
    ///
    /// # Errors
    /// If places exceed 32 bits.
    pub(crate) fn write(&self, functions: &[Range<usize>], at: usize, out: &mut [u8]) -> Result<(), LoadError> {
        let word = |place: usize| u32::try_from(place).map_err(|_| LoadError::Memory { bytes: place });
        let mut record_at = ENTRY * self.entries();
        for (entry, (index, frame)) in self.frames.iter().enumerate() {
            let Range { start, end } = functions[*index];
            let description = match frame {
                WindowsUnwinding::Packed(description) => *description,
                WindowsUnwinding::Record(record) => {
                    out[record_at..record_at + record.len()].copy_from_slice(record);
                    let description = word(at + record_at)?;
                    record_at += record.len().next_multiple_of(4);
                    description
                }
            };
            // An entry without an end has two words.
            let words = [word(start)?, if HAS_END { word(end)? } else { description }, description];
            for (field, word) in out[ENTRY * entry..][..ENTRY].as_chunks_mut().0.iter_mut().zip(words) {
                *field = word.to_le_bytes();
            }
        }
        Ok(())
    }
}

/// A table in an image.
#[cfg_attr(not(windows), allow(dead_code, reason = "only the unwinder of Windows reads the table"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedTable {
    /// Address of the table.
    pub(crate) address: usize,
    /// Number of entries.
    pub(crate) entries: usize,
    /// The address that entries are relative to.
    pub(crate) base: usize,
}

#[cfg(windows)]
impl LoadedTable {
    /// Registers the table with the unwinder.
    ///
    /// # Safety
    /// The image must stay loaded until [`LoadedTable::deregister`] is called.
    pub(crate) unsafe fn register(self) {
        use windows_sys::Win32::System::Diagnostics::Debug::RtlAddFunctionTable;
        let table = std::ptr::with_exposed_provenance(self.address);
        // SAFETY: the table is well-formed, and stays as it is as the caller promises.
        unsafe { RtlAddFunctionTable(table, self.entries as u32, self.base as _) };
    }

    /// Removes the registration.
    pub(crate) fn deregister(self) {
        use windows_sys::Win32::System::Diagnostics::Debug::RtlDeleteFunctionTable;
        // SAFETY: the unwinder compares the address with those that it knows.
        unsafe { RtlDeleteFunctionTable(std::ptr::with_exposed_provenance(self.address)) };
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Checks the entries of two functions, and that no place is cut off. Only the second function has a frame.
    #[test]
    fn entries_lead_to_records() {
        let frames = vec![(1, WindowsUnwinding::Record(vec![1, 4, 1, 0, 4, 0x52, 0, 0]))];
        let table = FunctionTable { frames };
        let mut out = [0xff; 20];
        assert_eq!(table.bytes(), out.len());
        table.write(&[0..7, 16..40], 0x1000, &mut out).unwrap();
        assert_eq!(out, [16, 0, 0, 0, 40, 0, 0, 0, 12, 16, 0, 0, 1, 4, 1, 0, 4, 0x52, 0, 0]);
        assert!(table.write(&[0..7, 16..40], 1 << 32, &mut out).is_err());
    }
}
