//! Memory: the stack slots of the active frames, one frame after the other, zeroed at entry, and the data objects.
//!
//! The lowest bytes of the stack belong to no object, so that null pointers are out of bounds.

use std::ops::Range;

use crate::address::{DecodedAddress, Region};

/// Lowest offset into the stack that is in bounds.
const FIRST_OFFSET: u64 = 4096;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    stack: Vec<u8>,
    data: Vec<u8>,
    /// Number of bytes at the start of the data that cannot be written.
    read_only: u64,
}

/// Error: an access to memory of no object, or a write to read-only memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct OutOfBounds;

impl Memory {
    /// Empties the stack and resets the data to its initial contents.
    pub(crate) fn reset(&mut self, data: &[u8], read_only: u64) {
        self.stack.clear();
        self.data.clear();
        self.data.extend_from_slice(data);
        self.read_only = read_only;
    }

    /// Returns the size of the stack in use, in bytes.
    pub(crate) fn stack_len(&self) -> u64 {
        self.stack.len() as u64
    }

    /// Appends a frame of zeros. Returns the offset of its first byte, or `None` if the stack would exceed `limit`
    /// bytes.
    pub(crate) fn push_frame(&mut self, size: u64, align: u64, limit: u64) -> Option<u64> {
        let offset = (FIRST_OFFSET + self.stack_len()).checked_next_multiple_of(align)?;
        let end = (offset - FIRST_OFFSET).checked_add(size).filter(|&end| end <= limit)?;
        self.stack.resize(end as usize, 0);
        Some(offset)
    }

    /// Removes all frames above a length that [`Memory::stack_len`] returned.
    pub(crate) fn pop_frame(&mut self, len: u64) {
        self.stack.truncate(len as usize);
    }

    pub(crate) fn bytes(&self, place: DecodedAddress, size: u64) -> Result<&[u8], OutOfBounds> {
        let (bytes, first) = match place.region {
            Region::Stack => (&self.stack, FIRST_OFFSET),
            Region::Data => (&self.data, 0),
            Region::Functions | Region::Nowhere => return Err(OutOfBounds),
        };
        bytes.get(range(place.offset, first, size)?).ok_or(OutOfBounds)
    }

    pub(crate) fn bytes_mut(&mut self, place: DecodedAddress, size: u64) -> Result<&mut [u8], OutOfBounds> {
        let (bytes, first) = match place.region {
            Region::Stack => (&mut self.stack, FIRST_OFFSET),
            Region::Data if place.offset >= self.read_only => (&mut self.data, 0),
            Region::Data | Region::Functions | Region::Nowhere => return Err(OutOfBounds),
        };
        bytes.get_mut(range(place.offset, first, size)?).ok_or(OutOfBounds)
    }

    pub(crate) fn read(&self, place: DecodedAddress, size: u32) -> Result<u128, OutOfBounds> {
        let mut value = [0; 16];
        value[..size as usize].copy_from_slice(self.bytes(place, size.into())?);
        Ok(u128::from_le_bytes(value))
    }

    pub(crate) fn write(&mut self, place: DecodedAddress, size: u32, value: u128) -> Result<(), OutOfBounds> {
        self.bytes_mut(place, size.into())?.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        Ok(())
    }
}

/// Returns the indices of `size` bytes at an offset. `first` is the offset of byte 0.
fn range(offset: u64, first: u64, size: u64) -> Result<Range<usize>, OutOfBounds> {
    let start = usize::try_from(offset.checked_sub(first).ok_or(OutOfBounds)?).map_err(|_| OutOfBounds)?;
    let size = usize::try_from(size).map_err(|_| OutOfBounds)?;
    Ok(start..start.checked_add(size).ok_or(OutOfBounds)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(offset: u64) -> DecodedAddress {
        DecodedAddress { region: Region::Stack, offset }
    }

    #[test]
    fn frames_are_zero_and_bounded() {
        let mut memory = Memory::default();
        let first = memory.push_frame(8, 16, 100).unwrap();
        memory.write(stack(first), 8, u128::MAX).unwrap();
        let len = memory.stack_len();
        let second = memory.push_frame(4, 16, 100).unwrap();
        assert_eq!((second - first, memory.read(stack(second), 4)), (16, Ok(0)));
        assert_eq!(memory.read(stack(second + 1), 4), Err(OutOfBounds));
        assert_eq!(memory.read(stack(0), 1), Err(OutOfBounds));
        assert_eq!(memory.read(stack(u64::MAX), 1), Err(OutOfBounds));
        assert_eq!(memory.push_frame(u64::MAX, 16, 100), None);
        memory.pop_frame(len);
        assert_eq!(memory.read(stack(first), 8), Ok(u64::MAX.into()));
    }

    #[test]
    fn data_can_be_read_only() {
        let mut memory = Memory::default();
        memory.reset(&[1, 2, 3, 4], 2);
        let data = |offset| DecodedAddress { region: Region::Data, offset };
        assert_eq!(memory.read(data(0), 4), Ok(0x0403_0201));
        assert_eq!(memory.write(data(1), 1, 0), Err(OutOfBounds));
        assert_eq!(memory.write(data(2), 2, 0x0908), Ok(()));
        assert_eq!(memory.write(data(3), 2, 0), Err(OutOfBounds));
        assert_eq!(memory.read(data(1), 2), Ok(0x0802));
        assert_eq!(memory.read(DecodedAddress { region: Region::Functions, offset: 0 }, 1), Err(OutOfBounds));
    }
}
