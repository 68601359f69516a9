//! The numbers that the text used for entities.
//!
//! Entities are dense. The numbers of a text may have gaps and any order. A table maps dense ids to numbers. Entities
//! that are created later get numbers above the largest one. An empty table means that the numbers are the ids.

use cranelift_entity::EntityRef;
use std::fmt;
use std::marker::PhantomData;

use crate::entities::{Block, Constant, DynamicStackSlot, DynamicType, FuncRef, GlobalValue, SigRef, StackSlot, Value};
use kingpost_meter::heap_bytes;

/// The text numbers of one kind of entity.
#[derive(Clone, Hash, Debug)]
pub struct NameTable<E> {
    numbers: Vec<u32>,
    /// Larger than every number in the table.
    next: u64,
    entity: PhantomData<E>,
}

heap_bytes!(NameTable<E> { numbers } without { next, entity });

impl<E> Default for NameTable<E> {
    fn default() -> Self {
        NameTable { numbers: Vec::new(), next: 0, entity: PhantomData }
    }
}

impl<E: EntityRef> NameTable<E> {
    /// Returns the number of an entity. It exceeds 32 bits only if the text used the highest numbers and entities
    /// were added.
    pub fn number(&self, entity: E) -> u64 {
        let index = entity.index();
        match self.numbers.get(index) {
            Some(&number) => number.into(),
            None => self.next + (index - self.numbers.len()) as u64,
        }
    }

    /// Sets the number that the text used for an entity. Different entities must have different numbers.
    pub fn set(&mut self, entity: E, number: u32) {
        let index = entity.index();
        if index == self.numbers.len() && index > 0 {
            self.numbers.push(number);
            self.next = self.next.max(u64::from(number) + 1);
        } else if index < self.numbers.len() || self.number(entity) != u64::from(number) {
            self.set_between(index, number);
        }
    }

    /// Sets the number of an entity that is not the next one after the end of the table.
    fn set_between(&mut self, index: usize, number: u32) {
        while self.numbers.len() < index {
            // Numbers of the text fit 32 bits, so the numbers in between fit too.
            self.numbers.push(self.next as u32);
            self.next += 1;
        }
        if index < self.numbers.len() {
            self.numbers[index] = number;
        } else {
            self.numbers.push(number);
        }
        self.next = self.next.max(u64::from(number) + 1);
    }

    /// Returns `true` if the numbers are the ids.
    pub fn is_identity(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Resets the numbers to the ids.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.next = 0;
    }
}

/// The text numbers of all kinds of entities that have their own numbers.
#[derive(Clone, Default, Hash, Debug)]
pub struct Names {
    /// `vN`
    pub values: NameTable<Value>,
    /// `blockN`
    pub blocks: NameTable<Block>,
    /// `ssN`
    pub stack_slots: NameTable<StackSlot>,
    /// `dssN`
    pub dynamic_stack_slots: NameTable<DynamicStackSlot>,
    /// `dtN`
    pub dynamic_types: NameTable<DynamicType>,
    /// `gvN`
    pub global_values: NameTable<GlobalValue>,
    /// `sigN`
    pub signatures: NameTable<SigRef>,
    /// `fnN`
    pub functions: NameTable<FuncRef>,
    /// `constN`
    pub constants: NameTable<Constant>,
}

heap_bytes!(Names {
    values,
    blocks,
    stack_slots,
    dynamic_stack_slots,
    dynamic_types,
    global_values,
    signatures,
    functions,
    constants
});

/// An entity that prints with its number in the text.
pub struct Named {
    prefix: &'static str,
    number: u64,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}{}", self.prefix, self.number)
    }
}

macro_rules! named {
    ($($field:ident $method:ident $entity:ident $prefix:literal;)*) => {
        impl Names {
            /// Resets all numbers to the ids.
            pub fn clear(&mut self) {
                $(self.$field.clear();)*
            }

            $(
                /// Returns the entity in the form of the text.
                pub fn $method(&self, entity: $entity) -> Named {
                    Named { prefix: $prefix, number: self.$field.number(entity) }
                }
            )*
        }
    };
}

named! {
    values value Value "v";
    blocks block Block "block";
    stack_slots stack_slot StackSlot "ss";
    dynamic_stack_slots dynamic_stack_slot DynamicStackSlot "dss";
    dynamic_types dynamic_type DynamicType "dt";
    global_values global_value GlobalValue "gv";
    signatures signature SigRef "sig";
    functions function FuncRef "fn";
    constants constant Constant "const";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_until_it_differs() {
        let mut names = Names::default();
        let value = Value::from_u32;
        names.values.set(value(0), 0);
        names.values.set(value(1), 1);
        assert!(names.values.numbers.is_empty());
        names.values.set(value(3), 400_000_000);
        names.values.set(value(4), 3);
        let numbers: Vec<u64> = (0..7).map(|id| names.values.number(value(id))).collect();
        assert_eq!(numbers, [0, 1, 2, 400_000_000, 3, 400_000_001, 400_000_002]);
        assert_eq!(names.value(value(4)).to_string(), "v3");
        names.values.set(value(5), u32::MAX);
        assert_eq!(names.values.number(value(6)), 1 << 32);
    }
}
