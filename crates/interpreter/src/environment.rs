//! The functions that calls can reach, by name and number, and the data objects.

use std::collections::HashMap;

use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_ir::{DynamicStackSlot, Function, StackSlot};

use crate::address::{CodeAddress, DecodedAddress, Region};
use crate::data::{DataBlock, DataError, DataImage};

/// A function of an environment.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub(crate) u32);

/// A function and the layout of its stack slots.
#[derive(Debug)]
pub(crate) struct Callable<'a> {
    pub(crate) function: &'a Function,
    /// Offset of each slot, in bytes from the frame's first byte.
    slot_offsets: Vec<u64>,
    /// Offset of each slot of a dynamic type, in bytes from the frame's first byte.
    dynamic_slot_offsets: Vec<u64>,
    /// Size of the frame, in bytes.
    pub(crate) frame_size: u64,
}

/// Minimum alignment of slots in bytes, so that accesses with `aligned` behave as in compiled code.
const MIN_SLOT_ALIGN: u64 = 16;

impl<'a> Callable<'a> {
    fn new(function: &'a Function) -> Callable<'a> {
        let mut frame_size = 0_u64;
        let mut place = |align: u64, size: u32| {
            let offset = frame_size.saturating_add(align - 1) & !(align - 1);
            frame_size = offset.saturating_add(size.into());
            offset
        };
        let slots = function.stack_slots.values();
        let slot_offsets = slots
            .map(|slot| {
                let align = 1_u64.checked_shl(slot.align_shift.into()).unwrap_or(1).max(MIN_SLOT_ALIGN);
                place(align, slot.size)
            })
            .collect();
        let dynamic_slots = function.dynamic_stack_slots.values();
        let dynamic_slot_offsets = dynamic_slots
            .map(|slot| place(MIN_SLOT_ALIGN, function.dynamic_types.get(slot.ty).map_or(0, |ty| ty.base.bytes())))
            .collect();
        Callable { function, slot_offsets, dynamic_slot_offsets, frame_size }
    }

    pub(crate) fn slot_offset(&self, slot: StackSlot) -> Option<u64> {
        self.slot_offsets.get(slot.as_u32() as usize).copied()
    }

    pub(crate) fn dynamic_slot_offset(&self, slot: DynamicStackSlot) -> Option<u64> {
        self.dynamic_slot_offsets.get(slot.as_u32() as usize).copied()
    }

    /// Returns the largest alignment of a slot, in bytes.
    pub(crate) fn frame_align(&self) -> u64 {
        let shifts = self.function.stack_slots.values().map(|slot| slot.align_shift);
        let align = shifts.max().and_then(|shift| 1_u64.checked_shl(shift.into()));
        align.unwrap_or(1).max(MIN_SLOT_ALIGN)
    }
}

/// Functions that can call each other. If several have one name, the first one is called.
#[derive(Debug, Default)]
pub struct Environment<'a> {
    callables: Vec<Callable<'a>>,
    // The maps are looked up only, never iterated.
    by_word: HashMap<&'a str, FunctionId>,
    by_number: HashMap<(u32, u32), FunctionId>,
    pub(crate) data: DataImage,
}

impl<'a> Environment<'a> {
    /// Creates an environment of these functions, which must have passed the verifier.
    pub fn new(functions: impl IntoIterator<Item = &'a Function>) -> Environment<'a> {
        let mut environment = Environment::default();
        for function in functions {
            let id = FunctionId(environment.callables.len() as u32);
            match &function.name {
                FuncName::Named(word) => environment.by_word.entry(word).or_insert(id),
                FuncName::User(namespace, index) => environment.by_number.entry((*namespace, *index)).or_insert(id),
            };
            environment.callables.push(Callable::new(function));
        }
        environment
    }

    /// Adds data objects to the environment.
    ///
    /// # Errors
    /// If the objects are too large, or hold addresses of unknown symbols.
    pub fn with_data(mut self, blocks: &[DataBlock]) -> Result<Environment<'a>, DataError> {
        self.data = DataImage::new(blocks)?;
        for block in blocks {
            let start = self.data.offset(&block.name).unwrap_or(0);
            for pointer in &block.pointers {
                let symbol = &pointer.symbol;
                let address = self.address(symbol).ok_or_else(|| DataError::UnknownSymbol(symbol.clone()))?;
                self.data
                    .write_pointer(start.saturating_add(pointer.offset), address.wrapping_add_signed(pointer.addend));
            }
        }
        Ok(self)
    }

    /// Returns the 64-bit address of a function or data object.
    fn address(&self, name: &FuncName) -> Option<u64> {
        if let Some(offset) = self.data.offset(name) {
            return Some(DecodedAddress { region: Region::Data, offset }.encode(64));
        }
        let id = match name {
            FuncName::Named(word) => self.by_word.get(word.as_str()),
            FuncName::User(namespace, index) => self.by_number.get(&(*namespace, *index)),
        };
        id.map(|id| CodeAddress::Function(id.0.into()).encode(64))
    }

    /// Returns the 64-bit address of the object to which an external name of `user` refers.
    pub(crate) fn symbol_address(&self, user: &Function, name: &ExternalName) -> Option<u64> {
        match name {
            ExternalName::Named(word) => self.address(&FuncName::Named(word.to_string())),
            ExternalName::User(reference) => {
                let &(namespace, index) = user.user_names.get(*reference)?;
                self.address(&FuncName::User(namespace, index))
            }
            ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => None,
        }
    }

    /// Returns the function with this index, in the order in which the functions were added.
    pub fn by_index(&self, index: usize) -> Option<FunctionId> {
        (index < self.callables.len()).then_some(FunctionId(index as u32))
    }

    /// Returns the function `%word`. The name is written without the percent sign.
    pub fn by_word(&self, word: &str) -> Option<FunctionId> {
        self.by_word.get(word).copied()
    }

    /// Returns the function itself.
    pub fn function(&self, id: FunctionId) -> &'a Function {
        self.callables[id.0 as usize].function
    }

    pub(crate) fn callable(&self, id: FunctionId) -> &Callable<'a> {
        &self.callables[id.0 as usize]
    }

    /// Returns the function to which an external name of `user` refers, if it is in the environment.
    pub(crate) fn resolve(&self, user: &Function, name: &ExternalName) -> Option<FunctionId> {
        match name {
            ExternalName::Named(word) => self.by_word(word),
            ExternalName::User(reference) => self.by_number.get(user.user_names.get(*reference)?).copied(),
            ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => None,
        }
    }
}
