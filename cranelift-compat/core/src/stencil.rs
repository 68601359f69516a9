//! The form of Cranelift's cache entries. All differences between the supported minor versions of Cranelift that matter here are
//! in this file:
//!
//! | version | tables about the code | location | alignment |
//! |---|---|---|---|
//! | 0.135, 0.136 | in one order | relative | `alignment` |
//! | 0.137 (feature `since-0-137`) | in another order | has bit 31 set where it is relative | `min_alignment` |
//!
//! Most fields of Cranelift's `MachBufferFinalized`, and some types of their entries, are private. `postcard`, which
//! writes cache entries, writes fields one after the other, and an enumeration as the number of the variant and its
//! fields, so other types can replace such types here. The version at the start is Cranelift's own check of the form.

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::bitset::CompoundBitSet;
use cranelift_codegen::ir::{self, ExceptionTag, RelSourceLoc, SourceLoc};
use cranelift_codegen::isa::unwind::UnwindInst;
use cranelift_codegen::{
    CompiledCode, ExceptionContextLoc, MachBufferFrameLayout, MachDebugTagPos, MachTrap, ValueLocRange,
};
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};
use std::ops::Range;

/// Compiled code in the form of a cache entry.
pub(crate) struct Stencil {
    /// The code, followed by constants.
    pub(crate) code: Vec<u8>,
    /// Offset, kind, target, addend.
    pub(crate) relocs: Vec<(u32, Reloc, Target, i64)>,
    pub(crate) traps: Vec<MachTrap>,
    /// Return address, distance from the frame pointer down to the stack pointer, range of `handlers`.
    pub(crate) calls: Vec<(u32, Option<u32>, Range<u32>)>,
    /// Return address, bytes.
    pub(crate) patchable_calls: Vec<(u32, u32)>,
    pub(crate) handlers: Vec<Handler>,
    /// Start, end, location relative to the function's base location.
    pub(crate) srclocs: Vec<(u32, u32, Location)>,
    /// Offset, position, range of `tags`.
    pub(crate) tag_sites: Vec<(u32, MachDebugTagPos, Range<u32>)>,
    pub(crate) tags: Vec<ir::DebugTag>,
    /// Return address, bytes of the frame, references.
    pub(crate) stack_maps: Vec<(u32, u32, StackMap)>,
    pub(crate) frame_layout: Option<MachBufferFrameLayout>,
    pub(crate) unwind: Vec<(u32, UnwindInst)>,
    pub(crate) align: u32,
    pub(crate) nop_units: Vec<Vec<u8>>,
    pub(crate) listing: Option<String>,
    pub(crate) value_labels: Vec<(ir::ValueLabel, Vec<ValueLocRange>)>,
    /// Empty without `machine_code_cfg_info`, as are the edges.
    pub(crate) block_starts: Vec<u32>,
    pub(crate) block_edges: Vec<(u32, u32)>,
}

/// Offsets of references by type, relative to the stack pointer plus this number of bytes.
pub(crate) type StackMap = (Vec<(ir::Type, CompoundBitSet)>, Option<u32>);

/// Target of a relocation.
#[derive(Serialize)]
pub(crate) enum Target {
    ExternalName(ir::ExternalName),
}

/// Handler of exceptions at a call, with its offset; or the context that the tags after it belong to.
#[derive(Serialize)]
pub(crate) enum Handler {
    Tag(ExceptionTag, u32),
    Default(u32),
    Context(ExceptionContextLoc),
}

/// A location relative to the function's base location.
pub(crate) struct Location(pub(crate) RelSourceLoc);

/// Whether the version is 0.137 or later.
const SINCE_137: bool = cfg!(feature = "since-0-137");

/// Returns the alignment of the code in bytes.
pub fn alignment(code: &CompiledCode) -> u32 {
    #[cfg(feature = "since-0-137")]
    return code.buffer.min_alignment;
    #[cfg(not(feature = "since-0-137"))]
    code.buffer.alignment
}

impl Stencil {
    /// Returns code without bytes. `nop_units` are Cranelift's instructions that do nothing.
    pub(crate) fn new(nop_units: Vec<Vec<u8>>) -> Stencil {
        Stencil {
            code: Vec::new(),
            relocs: Vec::new(),
            traps: Vec::new(),
            calls: Vec::new(),
            patchable_calls: Vec::new(),
            handlers: Vec::new(),
            srclocs: Vec::new(),
            tag_sites: Vec::new(),
            tags: Vec::new(),
            stack_maps: Vec::new(),
            frame_layout: None,
            unwind: Vec::new(),
            align: 1,
            nop_units,
            listing: None,
            value_labels: Vec::new(),
            block_starts: Vec::new(),
            block_edges: Vec::new(),
        }
    }
}

impl Serialize for Stencil {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_tuple(19)?;
        fields.serialize_element(cranelift_codegen::VERSION)?;
        fields.serialize_element(&Bytes(&self.code))?;
        if SINCE_137 {
            fields.serialize_element(&self.traps)?;
            fields.serialize_element(&self.relocs)?;
            fields.serialize_element(&self.handlers)?;
            fields.serialize_element(&self.calls)?;
            fields.serialize_element(&self.patchable_calls)?;
            fields.serialize_element(&self.tag_sites)?;
            fields.serialize_element(&self.tags)?;
            fields.serialize_element(&self.stack_maps)?;
            fields.serialize_element(&self.unwind)?;
            fields.serialize_element(&self.frame_layout)?;
            fields.serialize_element(&self.srclocs)?;
        } else {
            fields.serialize_element(&self.relocs)?;
            fields.serialize_element(&self.traps)?;
            fields.serialize_element(&self.calls)?;
            fields.serialize_element(&self.patchable_calls)?;
            fields.serialize_element(&self.handlers)?;
            fields.serialize_element(&self.srclocs)?;
            fields.serialize_element(&self.tag_sites)?;
            fields.serialize_element(&self.tags)?;
            fields.serialize_element(&self.stack_maps)?;
            fields.serialize_element(&self.frame_layout)?;
            fields.serialize_element(&self.unwind)?;
        }
        fields.serialize_element(&self.align)?;
        fields.serialize_element(&self.nop_units)?;
        fields.serialize_element(&self.listing)?;
        fields.serialize_element(&self.value_labels)?;
        fields.serialize_element(&self.block_starts)?;
        fields.serialize_element(&self.block_edges)?;
        fields.end()
    }
}

/// Bytes that are written as a whole and not one by one.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The number, because the base is zero.
        let number = self.0.expand(SourceLoc::new(0)).bits();
        serializer.serialize_u32(if SINCE_137 { number | 1 << 31 } else { number })
    }
}
