//! Declarations of a preamble other than signatures and functions: stack slots, dynamic types, global values and
//! alias regions.

use crate::entities::{DynamicType, GlobalValue};
use crate::extfunc::ExternalName;
use crate::memflags::MemFlags;
use crate::types::Type;

/// A stack slot of fixed size.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct StackSlotData {
    /// Size in bytes.
    pub size: u32,
    /// Binary logarithm of the alignment in bytes.
    pub align_shift: u8,
    /// Opaque number of the front end.
    pub key: Option<u64>,
}

/// A stack slot for a value of a dynamic type.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct DynamicStackSlotData {
    /// The type.
    pub ty: DynamicType,
}

/// A dynamic type: a vector type times a scale known at run time.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct DynamicTypeData {
    /// The minimum: a fixed vector type.
    pub base: Type,
    /// The scale.
    pub scale: GlobalValue,
}

/// A global value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GlobalValueData {
    /// `vmctx`: the VM context parameter.
    VmContext,
    /// `load`: the contents of memory at `base + offset`.
    Load {
        /// The address.
        base: GlobalValue,
        /// Offset added to the address, in bytes.
        offset: i32,
        /// The type of the value.
        ty: Type,
        /// Flags of the access; they include `notrap` and `aligned`.
        flags: MemFlags,
    },
    /// `iadd_imm`: a sum.
    IAddImm {
        /// The first summand.
        base: GlobalValue,
        /// The second summand.
        offset: i64,
        /// The type of the value.
        ty: Type,
    },
    /// `symbol`: an address.
    Symbol {
        /// The symbol.
        name: ExternalName,
        /// Offset added to the symbol's address, in bytes.
        offset: i64,
        /// Whether the symbol is defined nearby.
        colocated: bool,
        /// Whether the symbol is thread-local.
        tls: bool,
    },
    /// `dyn_scale_target_const`: the number of vectors of the type that fit a vector register.
    DynScaleTargetConst {
        /// The vector type.
        vector_type: Type,
    },
}

/// A declared alias region: memory that accesses of other regions do not touch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AliasRegionData {
    /// Number chosen by the front end, unique in a function.
    pub user_id: u32,
    /// A description.
    pub description: Box<str>,
}
