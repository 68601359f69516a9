//! The index types of everything a function owns.
//!
//! Ids are dense, because they index tables. [`crate::names`] stores the numbers that the text used.

use crate::release::map_apart;
use cranelift_entity::{EntityRef, SecondaryMap, entity_impl};

/// Returns the element of `key`, and grows the map if needed. Keys mostly come in order. Growing by a share of the
/// length is therefore faster than growing by one.
pub(crate) fn grown<K: EntityRef, V: Clone + Default>(map: &mut SecondaryMap<K, V>, key: K) -> &mut V {
    if map.get(key).is_none() {
        let len = key.index();
        map_apart(map, len);
        map.resize(len + len / 8 + 16);
    }
    &mut map[key]
}

macro_rules! entities {
    ($($(#[$doc:meta])* $name:ident $prefix:literal)*) => {$(
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);
        entity_impl!($name, $prefix);
    )*};
}

entities! {
    /// An SSA value: an instruction's result, a block parameter, or an alias of another value.
    Value "v"
    /// A basic block.
    Block "block"
    /// An instruction.
    Inst "inst"
    /// A stack slot of fixed size.
    StackSlot "ss"
    /// A stack slot for a dynamic vector.
    DynamicStackSlot "dss"
    /// A dynamic vector type declared in the preamble.
    DynamicType "dt"
    /// A global value: an address or a value computed from the VM context or a symbol.
    GlobalValue "gv"
    /// A signature used by indirect calls, external functions and exception tables.
    SigRef "sig"
    /// A declared external function.
    FuncRef "fn"
    /// A constant in the function's constant pool.
    Constant "const"
    /// A shuffle mask of sixteen bytes.
    ShuffleMask "mask"
    /// The jump table of a `br_table`.
    JumpTable "jt"
    /// The exception table of a `try_call`.
    ExceptionTable "extable"
    /// A declared alias region of memory.
    AliasRegion "region"
    /// A variable of the source program, which debuggers show.
    ValueLabel "label"
    /// A `uN:M` name that external functions and symbols refer to.
    UserNameRef "userextname"
}

/// Any entity of a function, as a location for errors and comments.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AnyEntity {
    /// The function as a whole.
    Function,
    /// A block, at its header.
    Block(Block),
    /// An instruction.
    Inst(Inst),
    /// A value.
    Value(Value),
    /// A stack slot.
    StackSlot(StackSlot),
    /// A dynamic stack slot.
    DynamicStackSlot(DynamicStackSlot),
    /// A dynamic type.
    DynamicType(DynamicType),
    /// A global value.
    GlobalValue(GlobalValue),
    /// A signature.
    SigRef(SigRef),
    /// An external function.
    FuncRef(FuncRef),
    /// A constant.
    Constant(Constant),
    /// A jump table.
    JumpTable(JumpTable),
    /// An exception table.
    ExceptionTable(ExceptionTable),
    /// An alias region.
    AliasRegion(AliasRegion),
    /// The stack limit line of the preamble.
    StackLimit,
}

macro_rules! any_entity_from {
    ($($name:ident)*) => {$(
        impl From<$name> for AnyEntity {
            fn from(entity: $name) -> Self {
                AnyEntity::$name(entity)
            }
        }
    )*};
}

any_entity_from! {
    Block Inst Value StackSlot DynamicStackSlot DynamicType GlobalValue SigRef FuncRef Constant
    JumpTable ExceptionTable AliasRegion
}
