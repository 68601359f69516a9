//! Loads and stores in stack slots: the address and the access.

use crate::builder::InstBuilder;
use crate::entities::{DynamicStackSlot, Inst, StackSlot, Value};
use crate::function::Function;
use crate::instruction::InstData;
use crate::memflags::MemFlags;
use crate::types::{I64, Type};

/// Builds accesses of stack slots. One method inserts the address and the access.
///
/// ```
/// use kingpost_ir::Function;
/// use kingpost_ir::builder::{ControlBuilder, SlotBuilder};
/// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
/// use kingpost_ir::types::I64;
///
/// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
/// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
/// let pair = b.create_stack_slot(16, 8);
/// let entry = b.create_block();
/// b.switch_to_block(entry);
/// let second = b.ins().stack_load(I64, pair, 8);
/// b.ins().stack_store(second, pair, 0);
/// b.ins().return_(&[]);
/// b.seal_all_blocks();
/// b.finalize().unwrap();
/// ```
pub trait SlotBuilder: InstBuilder {
    /// Inserts a load from byte `offset` of a slot.
    ///
    /// # Panics
    /// If the slot has no `ty` at this offset.
    fn stack_load(mut self, ty: Type, slot: StackSlot, offset: i32) -> Value {
        let flags = access(self.func(), "stack_load", ty, slot, offset);
        let address = self.insert_with_result(InstData::stack_addr(I64, slot, offset), I64);
        self.load(ty, flags, address, 0)
    }

    /// Inserts a store of `value` to byte `offset` of a slot.
    ///
    /// # Panics
    /// If the slot has no room for the value at this offset.
    fn stack_store(mut self, value: Value, slot: StackSlot, offset: i32) -> Inst {
        let ty = self.func().dfg.value_type(value);
        let flags = access(self.func(), "stack_store", ty, slot, offset);
        let address = self.insert_with_result(InstData::stack_addr(I64, slot, offset), I64);
        self.store(flags, value, address, 0)
    }

    /// Inserts a load of a value of a dynamic type from its slot.
    fn dynamic_stack_load(mut self, ty: Type, slot: DynamicStackSlot) -> Value {
        let address = self.insert_with_result(InstData::dynamic_stack_addr(I64, slot), I64);
        self.load(ty, MemFlags::trusted(), address, 0)
    }

    /// Inserts a store of a value of a dynamic type to its slot.
    fn dynamic_stack_store(mut self, value: Value, slot: DynamicStackSlot) -> Inst {
        let address = self.insert_with_result(InstData::dynamic_stack_addr(I64, slot), I64);
        self.store(MemFlags::trusted(), value, address, 0)
    }
}

impl<B: InstBuilder> SlotBuilder for B {}

/// Checks that an access is in its slot, and returns its flags.
fn access(func: &Function, name: &str, ty: Type, slot: StackSlot, offset: i32) -> MemFlags {
    let data = func.stack_slots.get(slot).unwrap_or_else(|| panic!("{name}: {slot} is not a slot of the function"));
    let (bytes, size) = (i64::from(ty.bytes()), i64::from(data.size));
    let end = i64::from(offset) + bytes;
    assert!(offset >= 0 && end <= size, "{name} of {ty} at byte {offset} of {slot}, which has {size} bytes");
    let is_aligned = bytes != 0 && (1 << data.align_shift) % bytes == 0 && i64::from(offset) % bytes == 0;
    if is_aligned { MemFlags::trusted() } else { MemFlags::new().with_notrap() }
}
