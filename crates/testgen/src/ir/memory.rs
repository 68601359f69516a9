//! Addresses, loads, stores and atomics.
//!
//! A region is a stack slot or the memory of a pointer parameter. Its size is a power of two, and every address is
//! `region + masked index * scale + constants`, in one of the shapes that address modes can fold.
//!
//! A region may have a name, an alias region. All pointer parameters have one name, because they may point to the
//! same bytes. An access uses the name or none. So no byte is accessed under two names, as CLIF requires.

use super::plan::{POINTEE, TypeSet, random_word};
use super::region::{Base, Region};
use super::scope::Scope;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::function::{DebugTag, UserStackMapEntry};
use kingpost_ir::memflags::Endianness;
use kingpost_ir::preamble::{AliasRegionData, StackSlotData};
use kingpost_ir::types::{F64, I8, I16, I32, I64};
use kingpost_ir::{AliasRegion, Inst, InstData, MemFlags, Opcode, Type, Value};
use smallvec::{SmallVec, smallvec};

/// Bytes of the memory that never changes.
const CONSTANTS: u32 = 32;

impl Scope<'_> {
    /// Declares alias regions, in some functions more than an optimizer distinguishes.
    pub(super) fn declare_names(&mut self) {
        // Other compilers in the comparison disagree on the memory that an access without a name may touch.
        let percent = match self.type_set {
            TypeSet::Usual => return,
            TypeSet::Memory => 90,
            TypeSet::All | TypeSet::Vectors => 40,
        };
        if self.rng.chance(percent) {
            let count = if self.rng.chance(70) { self.rng.range(1..4) } else { self.rng.range(4..16) };
            for user_id in 0..count as u32 {
                self.func.alias_regions.push(AliasRegionData { user_id, description: "memory".into() });
            }
        }
        self.pointee_name = self.name();
    }

    /// Returns one of the declared names, or `None`.
    fn name(&mut self) -> Option<AliasRegion> {
        let names: Vec<AliasRegion> = self.func.alias_regions.keys().collect();
        self.rng.pick(&names).filter(|_| self.rng.chance(85))
    }

    /// Declares stack slots. The first one can be passed to functions that take pointers.
    pub(super) fn declare_slots(&mut self) {
        let most = if self.type_set == TypeSet::Memory { 2 } else { 4 };
        for n in 0..self.rng.range(1..most) {
            let size = if n == 0 { POINTEE } else { [8, 16, 32, 128, 1024][self.rng.range(0..5)] };
            let align_shift = self.rng.range(3..5) as u8;
            let key = self.rng.chance(20).then(|| self.rng.bits());
            let slot = self.func.stack_slots.push(StackSlotData { size, align_shift, key });
            let name = self.name();
            self.regions.push(Region { base: Base::Slot(slot), size, name });
        }
    }

    /// Adds a stack map of some values in its slots to a call. A number distinguishes it from all other calls.
    pub(super) fn annotate(&mut self, call: Inst) {
        let number = DebugTag::User(self.func.debug_tags.len() as u32);
        let (mut map, mut tags): (SmallVec<[_; 4]>, SmallVec<[_; 4]>) = (SmallVec::new(), smallvec![number]);
        for index in 0..self.regions.len() {
            let Region { base: Base::Slot(slot), size, .. } = self.regions[index] else { continue };
            for _ in 0..self.rng.range(0..3) {
                let ty = [I8, I16, I32, I64, F64][self.rng.range(0..5)];
                let offset = ty.bytes() * self.rng.range(0..(size / ty.bytes()) as usize) as u32;
                map.push(UserStackMapEntry { ty, slot, offset });
            }
            if self.rng.chance(20) {
                tags.push(DebugTag::StackSlot(slot));
            }
        }
        self.func.stack_maps.insert(call, map);
        self.func.debug_tags.insert(call, tags);
    }

    /// Adds a sequence point, with a number that no call has.
    pub(super) fn sequence_point(&mut self) {
        let number = DebugTag::User(self.func.debug_tags.len() as u32);
        let point = self.ins().sequence_point();
        self.func.debug_tags.insert(point, smallvec![number]);
    }

    pub(super) fn add_pointer(&mut self, pointer: Value) {
        self.regions.push(Region { base: Base::Pointer(pointer), size: POINTEE, name: self.pointee_name });
    }

    /// Adds further addresses of some regions, whose equality is not obvious.
    pub(super) fn add_hidden_pointers(&mut self) {
        for index in 0..self.regions.len() {
            if self.type_set != TypeSet::Memory || self.rng.chance(40) {
                continue;
            }
            let region = self.regions[index];
            let (base, _) = self.region_address(Region { size: 1, ..region }, 0);
            let zero = self.hidden_zero(I64);
            let pointer = self.ins().iadd(base, zero);
            self.pin(pointer);
            self.regions.push(Region { base: Base::Pointer(pointer), ..region });
        }
    }

    /// Returns a zero that no compiler knows: the second lowest bit of a square.
    pub(super) fn hidden_zero(&mut self, ty: Type) -> Value {
        let (value, bit) = (self.pick(ty), self.pinned_const(ty, 2));
        let square = self.ins().imul(value, value);
        self.pin(square);
        let zero = self.ins().band(square, bit);
        self.pin(zero)
    }

    /// Fills the stack slots, which start out undefined.
    pub(super) fn fill_slots(&mut self) {
        for index in 0..self.regions.len() {
            let Region { base: Base::Slot(slot), size, .. } = self.regions[index] else { continue };
            let bits = self.rng.bits() as i64;
            let value = self.pinned_const(I64, if size > 128 { 0 } else { bits });
            let base = self.ins().stack_addr(I64, slot, 0);
            self.pin(base);
            for offset in (0..size as i32).step_by(8) {
                let store = self.ins().store(MemFlags::trusted(), value, base, offset);
                self.pinned.insert(store);
            }
        }
    }

    /// Creates and fills a stack slot that does not change afterwards, in most functions. No load moves above the
    /// stores, because they are at the start of the entry.
    pub(super) fn fill_constants(&mut self) {
        if self.rng.chance(30) {
            return;
        }
        let slot = self.func.stack_slots.push(StackSlotData { size: CONSTANTS, align_shift: 4, key: None });
        let base = self.ins().stack_addr(I64, slot, 0);
        self.pin(base);
        for offset in (0..CONSTANTS as i32).step_by(8) {
            let bits = self.rng.bits() as i64;
            let value = self.pinned_const(I64, bits);
            let store = self.ins().store(MemFlags::trusted(), value, base, offset);
            self.pinned.insert(store);
        }
        self.constants = Some(base);
    }

    /// Returns the address of a region's byte `offset`, and a remaining displacement to be added.
    fn region_address(&mut self, region: Region, offset: u32) -> (Value, i32) {
        match region.base {
            Base::Slot(slot) => {
                let at = if self.type_set == TypeSet::Memory || self.rng.chance(50) {
                    0
                } else {
                    self.rng.range(0..region.size as usize) as i32
                };
                let address = self.ins().stack_addr(I64, slot, at);
                (self.pin(address), offset as i32 - at)
            }
            Base::Pointer(pointer) => (pointer, offset as i32),
        }
    }

    /// Returns a pointer to at least [`POINTEE`] bytes, to be passed to a function.
    pub(super) fn pointer_argument(&mut self) -> Value {
        let large: Vec<Region> = self.regions.iter().copied().filter(|region| region.size >= POINTEE).collect();
        let region = self.rng.pick(&large).expect("the first slot is large enough");
        match region.base {
            Base::Slot(slot) => {
                let at = self.rng.range(0..(region.size - POINTEE) as usize / 16 + 1) * 16;
                let address = self.ins().stack_addr(I64, slot, at as i32);
                self.pin(address)
            }
            Base::Pointer(pointer) => pointer,
        }
    }

    /// Returns the flags of an access, and an address and a displacement at which `size` bytes of some region
    /// start, at a multiple of `align`.
    fn address(&mut self, size: u32, align: u32) -> (MemFlags, Value, i32) {
        let fitting: Vec<Region> = self.regions.iter().copied().filter(|region| region.size >= size).collect();
        let region = self.rng.pick(&fitting).expect("every region holds a scalar");
        let name = region.name.filter(|_| self.rng.chance(50));
        let flags = self.flags().with_alias_region(name).expect("few names");
        let (address, offset) = self.address_in(region, size, align);
        (flags, address, offset)
    }

    fn address_in(&mut self, region: Region, size: u32, align: u32) -> (Value, i32) {
        let room = region.size - size;
        if self.type_set == TypeSet::Memory && self.rng.chance(85) {
            // Few places, some of which overlap.
            let offset =
                self.rng.range(0..2) as u32 * 8 + if self.rng.chance(80) { 0 } else { self.rng.range(0..8) as u32 };
            return self.region_address(region, offset.min(room) / align * align);
        }
        // The index moves the access by index * scale, where index is at most `mask`.
        let scale = 1 << self.rng.range(0..5);
        let mut mask = 0;
        while (2 * mask + 1) * scale <= room {
            mask = 2 * mask + 1;
        }
        let rest = (room - mask * scale) as usize;
        let offset = self.rng.range(0..rest + 1) as u32 / align * align;
        if mask == 0 || !scale.is_multiple_of(align) || self.rng.chance(40) {
            let offset = self.rng.range(0..room as usize + 1) as u32 / align * align;
            return self.region_address(region, offset);
        }
        let (base, displacement) = self.region_address(region, offset);
        let index = self.index(i64::from(mask));
        let scaled = self.scaled(index, scale);
        let operands = if self.rng.chance(50) { [base, scaled] } else { [scaled, base] };
        let sum = self.ins().iadd(operands[0], operands[1]);
        self.pin(sum);
        if !self.rng.chance(30) {
            return (sum, displacement);
        }
        // A further summand, which the displacement cancels.
        let extra = self.rng.range(0..4096) as i32 - 2048;
        let summand = self.pinned_const(I64, extra.into());
        let sum = self.ins().iadd(sum, summand);
        (self.pin(sum), displacement - extra)
    }

    /// Returns a 64-bit index of at most `mask`, in some cases from 32 bits that wrap on the way.
    fn index(&mut self, mask: i64) -> Value {
        match self.rng.range(0..4) {
            0 | 1 => self.masked(I64, mask),
            2 => {
                let narrow = [I8, I16, I32][self.rng.range(0..3)];
                let index = self.masked(narrow, mask & 0x7f);
                let opcode = if self.rng.chance(70) { Opcode::Uextend } else { Opcode::Sextend };
                self.pinned_unary(opcode, I64, index)
            }
            _ => {
                let index = self.masked(I32, mask);
                let shift = self.rng.bits() as i32;
                let (down, up) = (self.pinned_const(I32, shift.into()), self.pinned_const(I32, shift.into()));
                let away = self.ins().isub(index, down);
                self.pin(away);
                let back = self.ins().iadd(away, up);
                self.pin(back);
                self.pinned_unary(Opcode::Uextend, I64, back)
            }
        }
    }

    fn scaled(&mut self, index: Value, scale: u32) -> Value {
        if scale == 1 && self.rng.chance(80) {
            return index;
        }
        let scaled = if self.rng.chance(70) {
            let shift = self.pinned_const(I64, scale.trailing_zeros().into());
            self.ins().ishl(index, shift)
        } else {
            let factor = self.pinned_const(I64, scale.into());
            self.ins().imul(index, factor)
        };
        self.pin(scaled)
    }

    fn pinned_unary(&mut self, opcode: Opcode, ty: Type, x: Value) -> Value {
        let value = self.ins().insert_with_result(InstData::unary(opcode, ty, x), ty);
        self.pin(value)
    }

    fn flags(&mut self) -> MemFlags {
        let flags = match self.rng.range(0..4) {
            0 | 1 => MemFlags::new().with_notrap(),
            2 => MemFlags::new(),
            _ => {
                let code = self.trap_code();
                MemFlags::new().with_trap_code(Some(code))
            }
        };
        if self.rng.chance(10) { flags.with_endianness(Endianness::Little) } else { flags }
    }

    /// Adds one access. A loaded value becomes available.
    pub(super) fn memory(&mut self) {
        if self.type_set == TypeSet::Memory && self.rng.chance(70) {
            return if self.rng.chance(50) { self.load() } else { self.store() };
        }
        match self.rng.range(0..100) {
            0..22 => self.load(),
            22..30 => self.constant_load(),
            30..60 => self.store(),
            60..72 => self.narrow_load(),
            72..80 => self.narrow_store(),
            80..88 => self.update(),
            88..99 => self.atomic(),
            _ => self.trapping(),
        }
    }

    fn load(&mut self) {
        let ty = self.any_type();
        let (flags, address, offset) = self.address(ty.bytes(), 1);
        let value = self.emit(InstData::load(Opcode::Load, ty, flags, address, offset), ty);
        self.mark_clean(value);
    }

    /// Adds a load of memory that never changes, from few places, so that some repeat others.
    fn constant_load(&mut self) {
        let Some(base) = self.constants else { return self.load() };
        let ty = self.any_type();
        let offset = self.rng.range(0..(CONSTANTS / ty.bytes()) as usize) as u32 * ty.bytes();
        let flags = self.flags().with_readonly();
        let flags = if self.rng.chance(50) { flags.with_can_move() } else { flags };
        let value = self.emit(InstData::load(Opcode::Load, ty, flags, base, offset as i32), ty);
        self.mark_clean(value);
    }

    fn store(&mut self) {
        let ty = self.any_type();
        let value = self.pick_clean(ty);
        let (flags, address, offset) = self.address(ty.bytes(), 1);
        self.ins().store(flags, value, address, offset);
    }

    fn narrow_load(&mut self) {
        let (opcode, size, ty) = match self.rng.range(0..6) {
            0 => (Opcode::Uload8, 1, [I16, I32, I64][self.rng.range(0..3)]),
            1 => (Opcode::Sload8, 1, [I16, I32, I64][self.rng.range(0..3)]),
            2 => (Opcode::Uload16, 2, [I32, I64][self.rng.range(0..2)]),
            3 => (Opcode::Sload16, 2, [I32, I64][self.rng.range(0..2)]),
            4 => (Opcode::Uload32, 4, I64),
            _ => (Opcode::Sload32, 4, I64),
        };
        let (flags, address, offset) = self.address(size, 1);
        self.emit(InstData::load(opcode, ty, flags, address, offset), ty);
    }

    /// Adds a load of 8 bytes whose lanes are widened.
    pub(super) fn load_lanes(&mut self) {
        const LOADS: [Opcode; 6] = [
            Opcode::Uload8x8,
            Opcode::Sload8x8,
            Opcode::Uload16x4,
            Opcode::Sload16x4,
            Opcode::Uload32x2,
            Opcode::Sload32x2,
        ];
        let opcode = LOADS[self.rng.range(0..LOADS.len())];
        let (flags, address, offset) = self.address(8, 1);
        self.emit(InstData::load(opcode, I64, flags, address, offset), I64);
    }

    fn narrow_store(&mut self) {
        let (opcode, size, ty) = match self.rng.range(0..3) {
            0 => (Opcode::Istore8, 1, [I16, I32, I64][self.rng.range(0..3)]),
            1 => (Opcode::Istore16, 2, [I32, I64][self.rng.range(0..2)]),
            _ => (Opcode::Istore32, 4, I64),
        };
        let value = self.pick(ty);
        let (flags, address, offset) = self.address(size, 1);
        self.ins().insert(InstData::store(opcode, flags, value, address, offset), ty);
    }

    /// Adds a load, an operation, and a store to the address of the load.
    fn update(&mut self) {
        let ty = self.int_type();
        let opcodes = [Opcode::Iadd, Opcode::Isub, Opcode::Band, Opcode::Bor, Opcode::Bxor, Opcode::Ishl];
        let opcode = opcodes[self.rng.range(0..opcodes.len())];
        let operand = self.pick(ty);
        let (flags, address, offset) = self.address(ty.bytes(), 1);
        let old = self.ins().load(ty, flags, address, offset);
        let operands = if self.rng.chance(75) { [old, operand] } else { [operand, old] };
        let new = self.ins().insert_with_result(InstData::binary(opcode, ty, operands), ty);
        self.ins().store(flags, new, address, offset);
        if self.rng.chance(20) {
            self.pool.push(old);
        }
        if self.rng.chance(20) {
            self.pool.push(new);
        }
    }

    fn atomic(&mut self) {
        let ty = random_word(self.rng);
        let (flags, address, offset) = self.address(ty.bytes(), ty.bytes());
        let offset = self.pinned_const(I64, offset.into());
        let address = self.ins().iadd(address, offset);
        self.pin(address);
        match self.rng.range(0..6) {
            0 => {
                self.emit(InstData::load_no_offset(Opcode::AtomicLoad, ty, flags, address), ty);
            }
            1 => {
                let value = self.pick(ty);
                self.ins().atomic_store(flags, value, address);
            }
            2 | 3 => {
                let op = AtomicRmwOp::ALL[self.rng.range(0..AtomicRmwOp::ALL.len())];
                let value = self.pick(ty);
                self.emit(InstData::atomic_rmw(ty, flags, op, address, value), ty);
            }
            4 => {
                let expected = if self.rng.chance(50) {
                    self.emit(InstData::load(Opcode::Load, ty, flags, address, 0), ty)
                } else {
                    self.pick(ty)
                };
                let new = self.pick(ty);
                self.emit(InstData::atomic_cas(flags, address, expected, new), ty);
            }
            _ => {
                self.ins().fence();
            }
        }
    }

    /// Adds an access to one of the lowest addresses, which traps.
    fn trapping(&mut self) {
        if self.rng.chance(60) {
            return;
        }
        let ty = self.any_type();
        let low = self.rng.range(0..2000) as i64;
        let (address, offset) = (self.pinned_const(I64, low), self.rng.range(0..2000) as i32);
        let code = self.trap_code();
        let flags = MemFlags::new().with_trap_code(Some(code));
        if self.rng.chance(50) {
            let value = self.emit(InstData::load(Opcode::Load, ty, flags, address, offset), ty);
            self.mark_clean(value);
        } else {
            let value = self.pick_clean(ty);
            self.ins().store(flags, value, address, offset);
        }
    }

    /// Combines all contents of the stack slots with `sum`.
    pub(super) fn mix_slots(&mut self, mut sum: Value) -> Value {
        for index in 0..self.regions.len() {
            let Region { base: Base::Slot(slot), size, .. } = self.regions[index] else { continue };
            let base = self.ins().stack_addr(I64, slot, 0);
            self.pin(base);
            for offset in (0..size as i32).step_by(8).take(8) {
                let word = self.ins().load(I64, MemFlags::trusted(), base, offset);
                sum = self.mix(sum, word);
            }
        }
        sum
    }
}
