//! What a preamble declares besides signatures and functions: stack slots, dynamic types, global
//! values and alias regions.

use crate::entities::{DynamicType, GlobalValue};
use crate::extfunc::ExternalName;
use crate::memflags::MemFlags;
use crate::types::Type;

/// A stack slot of fixed size.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct StackSlotData {
    /// Bytes.
    pub size: u32,
    /// Binary logarithm of the alignment in bytes.
    pub align_shift: u8,
    /// An opaque number of the front end.
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
    /// `load`: what stands in memory at `base + offset`.
    Load {
        /// The address.
        base: GlobalValue,
        /// Added to it, in bytes.
        offset: i32,
        /// The type of the value.
        ty: Type,
        /// Flags of the access; `notrap` and `aligned` are among them.
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
        /// Added to its address, in bytes.
        offset: i64,
        /// Whether it is defined nearby.
        colocated: bool,
        /// Whether it is thread-local.
        tls: bool,
    },
    /// `dyn_scale_target_const`: how many vectors of the type fit a vector register.
    DynScaleTargetConst {
        /// The vector type.
        vector_type: Type,
    },
}

/// A declared alias region: memory that accesses with another region do not touch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AliasRegionData {
    /// The front end's number; unique in a function.
    pub user_id: u32,
    /// A description.
    pub description: Box<str>,
}
