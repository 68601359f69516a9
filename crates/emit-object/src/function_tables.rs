//! Sections that describe functions to programs, such as `kingpost_traps`; see docs/sections.md.
//!
//! All have one layout, in words of 4 bytes: a header, records of functions, and entries whose size depends on the
//! section.

use kingpost_codegen::DwarfRegisters;
use kingpost_ir::types::Type;
use kingpost_mach::{ContextPlace, DebugTag, FunctionView, ModuleBuffer};

/// Version of the layout in docs/sections.md.
const VERSION: u32 = 2;
const HEADER_BYTES: usize = 16;
const FUNCTION_BYTES: usize = 24;

/// The contents of one section.
pub(crate) struct FunctionTable {
    /// Name of the section.
    pub(crate) name: &'static str,
    /// Contents. The address of the `i`-th function is at [`FunctionTable::address_field`] and still zero.
    pub(crate) bytes: Vec<u8>,
    /// Numbers of the functions in the table.
    pub(crate) functions: Vec<usize>,
}

impl FunctionTable {
    /// Returns a table of the `functions` for which `entries` returns entries.
    fn new<const N: usize>(
        name: &'static str,
        module: &ModuleBuffer,
        functions: &[usize],
        entries: impl Fn(&FunctionView<'_>) -> Option<Vec<[u32; N]>>,
    ) -> FunctionTable {
        const { assert!(N.is_multiple_of(2), "tables are a multiple of 8 bytes long") }
        let (mut listed, mut records, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for &index in functions {
            let f = module.function(index);
            if let Some(entries) = entries(&f) {
                let (first, count) = (all.len() as u32, entries.len() as u32);
                records.extend([0, f.code.len() as u32, first, count, f.function.head.frame.body_offset, 0]);
                listed.push(index);
                all.extend(entries);
            }
        }
        let header = [VERSION, listed.len() as u32, all.len() as u32, 0];
        let words = header.into_iter().chain(records).chain(all.into_iter().flatten());
        FunctionTable { name, bytes: words.flat_map(u32::to_le_bytes).collect(), functions: listed }
    }

    /// Returns the offset of the field that holds the address of the `i`-th function.
    pub(crate) fn address_field(i: usize) -> u64 {
        (HEADER_BYTES + i * FUNCTION_BYTES) as u64
    }
}

/// Returns `kingpost_traps`: each of `functions` with its trapping instructions.
pub(crate) fn traps(module: &ModuleBuffer, functions: &[usize]) -> FunctionTable {
    FunctionTable::new("kingpost_traps", module, functions, |f| {
        Some(f.traps.iter().map(|trap| [trap.offset, trap.code.byte().into()]).collect())
    })
}

/// Returns the sections that have an entry of `functions`. They are always written, so that no annotation of a function
/// is lost.
pub(crate) fn wanted(
    module: &ModuleBuffer,
    functions: &[usize],
    registers: &DwarfRegisters,
) -> impl Iterator<Item = FunctionTable> {
    let tables = || {
        [
            handlers(module, functions, registers),
            stack_maps(module, functions),
            debug_tags(module, functions),
            patchable_calls(module, functions),
            stack_slots(module, functions),
        ]
    };
    module.has_sites().then(tables).into_iter().flatten().filter(|table| !table.functions.is_empty())
}

/// Returns `kingpost_handlers`: calls that let exceptions through, and their handlers.
fn handlers(module: &ModuleBuffer, functions: &[usize], registers: &DwarfRegisters) -> FunctionTable {
    FunctionTable::new("kingpost_handlers", module, functions, |f| {
        some(f.handlers, |site| {
            let (is_default, tag) = (site.tag.is_none().into(), site.tag.unwrap_or(0));
            let (place, number) = match site.context {
                None => (0, 0),
                Some(ContextPlace::Stack(bytes)) => (1, bytes),
                Some(ContextPlace::Reg(reg)) => (2, registers.number(reg).into()),
            };
            [site.return_offset, site.handler_offset, is_default, tag, place, number]
        })
    })
}

/// Returns `kingpost_stack_maps`: references that are live during calls.
fn stack_maps(module: &ModuleBuffer, functions: &[usize]) -> FunctionTable {
    FunctionTable::new("kingpost_stack_maps", module, functions, |f| {
        some(f.stack_maps, |entry| [entry.return_offset, entry.offset, lane(entry.ty), entry.ty.lane_count()])
    })
}

/// Returns `kingpost_debug_tags`: tags of calls and sequence points.
fn debug_tags(module: &ModuleBuffer, functions: &[usize]) -> FunctionTable {
    FunctionTable::new("kingpost_debug_tags", module, functions, |f| {
        some(f.debug_tags, |site| {
            let (is_slot, value) = match site.tag {
                DebugTag::User(number) => (false, number),
                DebugTag::StackSlot(offset) => (true, offset),
            };
            [site.offset, site.of_call.into(), is_slot.into(), value]
        })
    })
}

/// Returns `kingpost_patchable_calls`: calls that may be overwritten.
fn patchable_calls(module: &ModuleBuffer, functions: &[usize]) -> FunctionTable {
    FunctionTable::new("kingpost_patchable_calls", module, functions, |f| {
        some(f.patchable_calls, |call| [call.return_offset, call.bytes])
    })
}

/// Returns `kingpost_stack_slots`: stack slots that have keys.
fn stack_slots(module: &ModuleBuffer, functions: &[usize]) -> FunctionTable {
    FunctionTable::new("kingpost_stack_slots", module, functions, |f| {
        some(f.keyed_slots, |slot| [slot.key as u32, (slot.key >> 32) as u32, slot.offset, slot.bytes])
    })
}

/// Returns the entries of a function; `None` if there are none.
fn some<T, const N: usize>(entries: &[T], entry: impl Fn(&T) -> [u32; N]) -> Option<Vec<[u32; N]>> {
    (!entries.is_empty()).then(|| entries.iter().map(entry).collect())
}

/// Returns the encoded lane type: the number of bits, with bit 31 set for floats.
fn lane(ty: Type) -> u32 {
    ty.lane_bits() | u32::from(ty.lane_type().is_float()) << 31
}
