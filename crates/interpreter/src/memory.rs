//! Memory: the stack slots of the active frames, one frame after the other, zeroed at entry.
//!
//! Addresses are made up. The two top bits of a 32- or 64-bit address name the region: 0 is the
//! stack, 1 are functions. The lowest bytes of the stack region belong to nobody, so that null
//! pointers are out of bounds.

use kingpost_ir::memflags::Endianness;
use kingpost_ir::{InstView, MemFlags, TrapCode, Type};

use crate::control::Flow;
use crate::convert::{from_memory, to_memory};
use crate::error::Stop;
use crate::int;
use crate::interpreter::{Cx, Interpreter};
use crate::value::mask;

/// Addresses below this one are out of bounds.
const FIRST_ADDRESS: u64 = 4096;
const STACK: u64 = 0;
const FUNCTIONS: u64 = 1;
/// Set in the addresses of library routines.
const LIBRARY_BIT: u64 = 1 << 29;

/// A function that an address stands for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum CodeAddress {
    Function(u64),
    Library(u64),
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
}

/// An access went beyond the stack.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct OutOfBounds;

impl Memory {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Bytes in use.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Appends a frame of zeros. Gives the address of its first byte, or nothing if the stack would
    /// exceed `limit` bytes.
    pub(crate) fn push_frame(&mut self, size: u64, align: u64, limit: u64) -> Option<u64> {
        let address = (FIRST_ADDRESS + self.len()).checked_next_multiple_of(align)?;
        let end = (address - FIRST_ADDRESS).checked_add(size).filter(|&end| end <= limit)?;
        self.bytes.resize(end as usize, 0);
        Some(address)
    }

    /// Removes everything above a length that [`Memory::len`] gave.
    pub(crate) fn pop_frame(&mut self, len: u64) {
        self.bytes.truncate(len as usize);
    }

    fn range(&self, address: u64, size: u64) -> Result<std::ops::Range<usize>, OutOfBounds> {
        let start = address.checked_sub(FIRST_ADDRESS).ok_or(OutOfBounds)?;
        let end = start.checked_add(size).filter(|&end| end <= self.len()).ok_or(OutOfBounds)?;
        Ok(start as usize..end as usize)
    }

    pub(crate) fn bytes(&self, address: u64, size: u64) -> Result<&[u8], OutOfBounds> {
        Ok(&self.bytes[self.range(address, size)?])
    }

    pub(crate) fn bytes_mut(&mut self, address: u64, size: u64) -> Result<&mut [u8], OutOfBounds> {
        let range = self.range(address, size)?;
        Ok(&mut self.bytes[range])
    }

    fn read(&self, address: u64, size: u32) -> Result<u128, OutOfBounds> {
        let mut value = [0; 16];
        value[..size as usize].copy_from_slice(self.bytes(address, size.into())?);
        Ok(u128::from_le_bytes(value))
    }

    fn write(&mut self, address: u64, size: u32, value: u128) -> Result<(), OutOfBounds> {
        self.bytes_mut(address, size.into())?.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        Ok(())
    }
}

/// The address of a function in an address type of `bits` bits.
pub(crate) fn code_address(bits: u32, code: CodeAddress) -> u64 {
    let offset = match code {
        CodeAddress::Function(index) => index,
        CodeAddress::Library(index) => index | LIBRARY_BIT,
    };
    FUNCTIONS << (bits - 2) | offset
}

/// What an address of `bits` bits stands for, if its region is that of functions.
pub(crate) fn decode_code(bits: u32, address: u64) -> Option<CodeAddress> {
    let offset = address & mask(bits - 2) as u64;
    if address >> (bits - 2) != FUNCTIONS {
        None
    } else if offset & LIBRARY_BIT != 0 {
        Some(CodeAddress::Library(offset & !LIBRARY_BIT))
    } else {
        Some(CodeAddress::Function(offset))
    }
}

/// The offset into the stack region of `address + offset`, for an access of `size` bytes.
///
/// # Errors
/// The trap code of the flags if the region is another one, or if the access is misaligned and the
/// flags forbid it.
pub(crate) fn stack_address(
    bits: u32,
    address: u128,
    offset: i32,
    size: u32,
    flags: MemFlags,
) -> Result<u64, TrapCode> {
    let address = (address as u64).wrapping_add(i64::from(offset) as u64) & mask(bits) as u64;
    let misaligned = flags.aligned() && !address.is_multiple_of(size.into());
    if address >> (bits - 2) != STACK || misaligned {
        return Err(trap_code(flags));
    }
    Ok(address)
}

/// An access with `notrap` that is out of bounds has no meaning; it traps like one without a code.
pub(crate) fn trap_code(flags: MemFlags) -> TrapCode {
    flags.trap_code().unwrap_or(TrapCode::HEAP_OUT_OF_BOUNDS)
}

/// An address operand: the bits of its type, and its value.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Address {
    pub(crate) bits: u32,
    pub(crate) value: u128,
    pub(crate) offset: i32,
}

impl Interpreter<'_> {
    pub(crate) fn read(&self, address: Address, ty: Type, flags: MemFlags) -> Result<u128, Stop> {
        let at = stack_address(address.bits, address.value, address.offset, ty.bytes(), flags).map_err(Stop::Trap)?;
        let memory = self.memory.read(at, ty.bytes()).map_err(|_| Stop::Trap(trap_code(flags)))?;
        Ok(from_memory(ty, memory, order(flags)))
    }

    fn write(&mut self, address: Address, ty: Type, flags: MemFlags, value: u128) -> Result<(), Stop> {
        let at = stack_address(address.bits, address.value, address.offset, ty.bytes(), flags).map_err(Stop::Trap)?;
        let memory = to_memory(ty, value & mask(ty.bits()), order(flags));
        self.memory.write(at, ty.bytes(), memory).map_err(|_| Stop::Trap(trap_code(flags)))
    }

    /// Loads a value of type `ty` and extends it to the result's width.
    pub(crate) fn load(&mut self, cx: Cx<'_>, ty: Type, sign_extend: bool) -> Result<Flow, Stop> {
        let InstView::Load { flags, addr, offset } = cx.view() else { return Err(cx.malformed()) };
        self.check_memory_type(cx, ty)?;
        let value = self.read(self.address(cx, addr, offset), ty, flags)?;
        let value = if sign_extend { int::signed(ty.bits(), value) as u128 } else { value };
        Ok(self.finish(cx, value))
    }

    /// Stores the low bits of a value as type `ty`.
    pub(crate) fn store(&mut self, cx: Cx<'_>, ty: Type) -> Result<Flow, Stop> {
        let InstView::Store { flags, value, addr, offset } = cx.view() else { return Err(cx.malformed()) };
        self.check_memory_type(cx, ty)?;
        self.write(self.address(cx, addr, offset), ty, flags, self.get(cx, value))?;
        Ok(Flow::Next)
    }

    pub(crate) fn atomic_load(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::LoadNoOffset { flags, arg } = cx.view() else { return Err(cx.malformed()) };
        let value = self.read(self.address(cx, arg, 0), cx.ctrl, flags)?;
        Ok(self.finish(cx, value))
    }

    pub(crate) fn atomic_store(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::StoreNoOffset { flags, value, addr } = cx.view() else { return Err(cx.malformed()) };
        self.write(self.address(cx, addr, 0), cx.ctrl, flags, self.get(cx, value))?;
        Ok(Flow::Next)
    }

    pub(crate) fn atomic_rmw(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::AtomicRmw { flags, op, addr, value } = cx.view() else { return Err(cx.malformed()) };
        let address = self.address(cx, addr, 0);
        let old = self.read(address, cx.ctrl, flags)?;
        let new = int::rmw(op, cx.ctrl.bits(), old, self.get(cx, value));
        self.write(address, cx.ctrl, flags, new)?;
        Ok(self.finish(cx, old))
    }

    pub(crate) fn atomic_cas(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::AtomicCas { flags, addr, expected, new } = cx.view() else { return Err(cx.malformed()) };
        let address = self.address(cx, addr, 0);
        let old = self.read(address, cx.ctrl, flags)?;
        if old == self.get(cx, expected) {
            self.write(address, cx.ctrl, flags, self.get(cx, new))?;
        }
        Ok(self.finish(cx, old))
    }

    pub(crate) fn stack_addr(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::StackAddr { slot, offset } = cx.view() else { return Err(cx.malformed()) };
        let size = cx.function().stack_slots.get(slot).ok_or_else(|| cx.malformed())?.size;
        let in_slot = u64::try_from(offset).ok().filter(|&offset| offset < size.into());
        let in_slot = in_slot.ok_or(Stop::Trap(TrapCode::HEAP_OUT_OF_BOUNDS))?;
        let slot_offset = cx.callable.slot_offset(slot).unwrap_or(0);
        Ok(self.finish(cx, (cx.frame_address + slot_offset + in_slot).into()))
    }

    fn check_memory_type(&self, cx: Cx<'_>, ty: Type) -> Result<(), Stop> {
        if ty.is_dynamic_vector() || ty.bits() > 128 { Err(cx.not_supported()) } else { Ok(()) }
    }
}

/// Without a flag the byte order is the target's; both targets are little-endian.
pub(crate) fn order(flags: MemFlags) -> Endianness {
    flags.endianness().unwrap_or(Endianness::Little)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_zero_and_bounded() {
        let mut memory = Memory::default();
        let first = memory.push_frame(8, 16, 100).unwrap();
        memory.write(first, 8, u128::MAX).unwrap();
        let len = memory.len();
        let second = memory.push_frame(4, 16, 100).unwrap();
        assert_eq!((second - first, memory.read(second, 4)), (16, Ok(0)));
        assert_eq!(memory.read(second + 1, 4), Err(OutOfBounds));
        assert_eq!(memory.read(0, 1), Err(OutOfBounds));
        assert_eq!(memory.read(u64::MAX, 1), Err(OutOfBounds));
        assert_eq!(memory.push_frame(u64::MAX, 16, 100), None);
        memory.pop_frame(len);
        assert_eq!(memory.read(first, 8), Ok(u64::MAX.into()));
    }

    #[test]
    fn regions() {
        for bits in [32, 64] {
            for code in [CodeAddress::Function(3), CodeAddress::Library(2)] {
                assert_eq!(decode_code(bits, code_address(bits, code)), Some(code));
            }
            let function = code_address(bits, CodeAddress::Function(0));
            let access = |address, offset, flags| stack_address(bits, address, offset, 4, flags);
            assert_eq!(access(function.into(), 0, MemFlags::new()), Err(TrapCode::HEAP_OUT_OF_BOUNDS));
            assert_eq!(access(mask(bits), 1, MemFlags::new()), Ok(0));
            assert_eq!(access(4097, -1, MemFlags::new().with_aligned()), Ok(4096));
            let user = TrapCode::user(7);
            let flags = MemFlags::new().with_aligned().with_trap_code(user);
            assert_eq!(access(4096, 2, flags).err(), user);
        }
    }
}
