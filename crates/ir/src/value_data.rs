//! Stored form of a value, in eight bytes.
//!
//! Bits 0–31: the instruction or block that defines the value, or the target of an alias. Bits 32–51: the index of
//! the result or parameter. Bits 52–61: the type. Bits 62–63: the kind.

use crate::entities::{Block, Inst, Value};
use crate::types::Type;

/// Definition of a value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// Result number N of an instruction.
    Result(Inst, u32),
    /// Parameter number N of a block.
    Param(Block, u32),
    /// The value is not defined (yet).
    Undefined,
}

/// Upper limit of the number of parameters of a block and of results of an instruction, exclusive.
pub const MAX_VALUES_PER_OWNER: u32 = 1 << NUMBER_BITS;

const NUMBER_BITS: u32 = 20;
const NUMBER_SHIFT: u32 = 32;
const TYPE_SHIFT: u32 = NUMBER_SHIFT + NUMBER_BITS;
const KIND_SHIFT: u32 = 62;
const UNDEFINED: u64 = 0;
const RESULT: u64 = 1;
const PARAM: u64 = 2;
const ALIAS: u64 = 3;

#[derive(Copy, Clone, Debug, Hash)]
pub(crate) struct ValueData(u64);

impl ValueData {
    #[inline]
    fn new(kind: u64, owner: u32, number: u32, ty: Type) -> ValueData {
        debug_assert!(number < MAX_VALUES_PER_OWNER, "too many results or parameters");
        ValueData(
            u64::from(owner)
                | u64::from(number) << NUMBER_SHIFT
                | u64::from(ty.code()) << TYPE_SHIFT
                | kind << KIND_SHIFT,
        )
    }

    pub(crate) fn undefined() -> ValueData {
        ValueData(UNDEFINED << KIND_SHIFT)
    }

    pub(crate) fn result(inst: Inst, number: u32, ty: Type) -> ValueData {
        ValueData::new(RESULT, inst.as_u32(), number, ty)
    }

    pub(crate) fn param(block: Block, number: u32, ty: Type) -> ValueData {
        ValueData::new(PARAM, block.as_u32(), number, ty)
    }

    pub(crate) fn alias(target: Value, ty: Type) -> ValueData {
        ValueData::new(ALIAS, target.as_u32(), 0, ty)
    }

    pub(crate) fn ty(self) -> Type {
        Type::from_code((self.0 >> TYPE_SHIFT & 0x3ff) as u16)
    }

    pub(crate) fn set_type(&mut self, ty: Type) {
        self.0 = self.0 & !(0x3ff << TYPE_SHIFT) | u64::from(ty.code()) << TYPE_SHIFT;
    }

    pub(crate) fn alias_target(self) -> Option<Value> {
        (self.0 >> KIND_SHIFT == ALIAS).then_some(Value(self.0 as u32))
    }

    /// Returns the target if the value is an alias, otherwise `own`. Compiles to a select, because the outcome is
    /// unpredictable.
    pub(crate) fn resolved(self, own: Value) -> Value {
        std::hint::select_unpredictable(self.0 >> KIND_SHIFT == ALIAS, Value(self.0 as u32), own)
    }

    /// Returns the instruction whose first result the value is.
    #[inline]
    pub(crate) fn first_result_of(self) -> Option<Inst> {
        let tags = self.0 & !(0x3ff << TYPE_SHIFT) & !u64::from(u32::MAX);
        (tags == RESULT << KIND_SHIFT).then(|| Inst::from_u32(self.0 as u32))
    }

    /// Returns the instruction one of whose results the value is.
    #[inline]
    pub(crate) fn defining_inst(self) -> Option<Inst> {
        (self.0 >> KIND_SHIFT == RESULT).then(|| Inst::from_u32(self.0 as u32))
    }

    /// Returns the definition of the value. An alias counts as undefined.
    pub(crate) fn def(self) -> ValueDef {
        let number = (self.0 >> NUMBER_SHIFT) as u32 % MAX_VALUES_PER_OWNER;
        match self.0 >> KIND_SHIFT {
            RESULT => ValueDef::Result(Inst::from_u32(self.0 as u32), number),
            PARAM => ValueDef::Param(Block::from_u32(self.0 as u32), number),
            _ => ValueDef::Undefined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{F64X2, I8X16, INVALID};

    #[test]
    fn packs() {
        let widest = I8X16.by(16).and_then(Type::vector_to_dynamic).unwrap();
        for ty in [F64X2, widest, INVALID] {
            let mut data = ValueData::result(Inst::from_u32(u32::MAX - 1), (1 << 20) - 1, ty);
            assert_eq!(data.ty(), ty);
            assert_eq!(data.def(), ValueDef::Result(Inst::from_u32(u32::MAX - 1), (1 << 20) - 1));
            assert_eq!(data.alias_target(), None);
            data.set_type(F64X2);
            assert_eq!(data.ty(), F64X2);
        }
        let alias = ValueData::alias(Value(7), F64X2);
        assert_eq!((alias.alias_target(), alias.def()), (Some(Value(7)), ValueDef::Undefined));
        assert_eq!(ValueData::param(Block(3), 5, F64X2).def(), ValueDef::Param(Block(3), 5));
        assert_eq!(ValueData::undefined().def(), ValueDef::Undefined);
    }
}
