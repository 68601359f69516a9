//! Opcodes that access memory.

use kingpost_ir::memflags::Endianness;
use kingpost_ir::{InstView, MemFlags, TrapCode, Type, Value};

use crate::address::{DecodedAddress, Region};
use crate::convert::{from_memory, to_memory};
use crate::error::Stop;
use crate::int;
use crate::interpreter::{Cx, Flow, Interpreter};
use crate::value::mask;

/// Returns the trap code of an access. An out-of-bounds access with `notrap` is undefined; here it traps like an
/// access without a code.
pub(crate) fn trap_code(flags: MemFlags) -> TrapCode {
    flags.trap_code().unwrap_or(TrapCode::HEAP_OUT_OF_BOUNDS)
}

/// An address operand: the width of its type in bits, its value, and an offset in bytes.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Address {
    pub(crate) bits: u32,
    pub(crate) value: u128,
    pub(crate) offset: i32,
}

impl Address {
    /// Returns the place in memory that an access of `size` bytes accesses.
    ///
    /// # Errors
    /// A trap with the flags' code if the address is misaligned and the flags forbid that.
    fn place(self, size: u32, flags: MemFlags) -> Result<DecodedAddress, Stop> {
        let address = (self.value as u64).wrapping_add(i64::from(self.offset) as u64);
        if flags.aligned() && !address.is_multiple_of(size.into()) {
            return Err(Stop::Trap(trap_code(flags)));
        }
        Ok(DecodedAddress::decode(self.bits, address))
    }
}

impl Interpreter<'_> {
    /// Returns the address that an operand and an offset make.
    fn address(&self, cx: Cx<'_>, value: Value, offset: i32) -> Address {
        Address { bits: cx.type_of(value).bits(), value: self.get(cx, value), offset }
    }

    pub(crate) fn read(&self, address: Address, ty: Type, flags: MemFlags) -> Result<u128, Stop> {
        let place = address.place(ty.bytes(), flags)?;
        let memory = self.memory.read(place, ty.bytes()).map_err(|_| Stop::Trap(trap_code(flags)))?;
        Ok(from_memory(ty, memory, order(flags)))
    }

    fn write(&mut self, address: Address, ty: Type, flags: MemFlags, value: u128) -> Result<(), Stop> {
        let place = address.place(ty.bytes(), flags)?;
        let memory = to_memory(ty, value & mask(ty.bits()), order(flags));
        self.memory.write(place, ty.bytes(), memory).map_err(|_| Stop::Trap(trap_code(flags)))
    }

    /// Returns the value of type `ty` that a load reads.
    pub(crate) fn loaded(&self, cx: Cx<'_>, ty: Type) -> Result<u128, Stop> {
        let InstView::Load { flags, addr, offset } = cx.view() else { return Err(cx.malformed()) };
        self.check_memory_type(cx, ty)?;
        self.read(self.address(cx, addr, offset), ty, flags)
    }

    /// Loads a value of type `ty` and extends it to the result's width.
    pub(crate) fn load(&mut self, cx: Cx<'_>, ty: Type, sign_extend: bool) -> Result<Flow, Stop> {
        let value = self.loaded(cx, ty)?;
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
        let place = DecodedAddress { region: Region::Stack, offset: cx.frame_offset + slot_offset + in_slot };
        Ok(self.finish(cx, place.encode(cx.ctrl.bits()).into()))
    }

    pub(crate) fn dynamic_stack_addr(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::DynamicStackAddr { slot } = cx.view() else { return Err(cx.malformed()) };
        let slot_offset = cx.callable.dynamic_slot_offset(slot).ok_or_else(|| cx.malformed())?;
        let place = DecodedAddress { region: Region::Stack, offset: cx.frame_offset + slot_offset };
        Ok(self.finish(cx, place.encode(cx.ctrl.bits()).into()))
    }

    fn check_memory_type(&self, cx: Cx<'_>, ty: Type) -> Result<(), Stop> {
        if ty.bits() > 128 { Err(cx.not_supported()) } else { Ok(()) }
    }
}

/// Returns the byte order of an access. Without a flag, it is little-endian, as on both targets.
pub(crate) fn order(flags: MemFlags) -> Endianness {
    flags.endianness().unwrap_or(Endianness::Little)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_wrap_in_the_address_type() {
        let place = |bits, value, offset, flags| Address { bits, value, offset }.place(4, flags);
        let at = |region, offset| Ok(DecodedAddress { region, offset });
        for bits in [32, 64] {
            assert_eq!(place(bits, mask(bits), 1, MemFlags::new()), at(Region::Stack, 0));
            assert_eq!(place(bits, 4097, -1, MemFlags::new().with_aligned()), at(Region::Stack, 4096));
            let user = TrapCode::user(7);
            let flags = MemFlags::new().with_aligned().with_trap_code(user);
            assert_eq!(place(bits, 4096, 2, flags), user.map(Stop::Trap).map_or(at(Region::Nowhere, 0), Err));
        }
    }
}
