//! The section `kingpost_traps`: where functions are, and which of their instructions trap, and why.
//!
//! Its name is a C identifier, so that linkers define `__start_kingpost_traps` and `__stop_kingpost_traps` around it. Each
//! object contributes one table; linkers put them one behind the other. A table needs no relocation at run time. It is
//! a multiple of 8 bytes long and has, with all numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | version: 1 |
//! | 4 | number of functions, *F* |
//! | 4 | number of traps, *T* |
//! | 4 | zero |
//! | *F* × 16 | functions, in order of addresses |
//! | *T* × 8 | traps: those of the first function, those of the second, … |
//!
//! A function: 4 bytes, its address minus the address of this field, signed; 4 bytes, the length of its code; 4 bytes, the
//! index of its first trap; 4 bytes, the number of its traps. A trap: 4 bytes, the offset of the instruction in the
//! function; 4 bytes, the code: 1 to 250 are the client's own, larger ones those of `TrapCode`.

use kingpost_mach::ModuleBuffer;

/// Name of the section.
pub(crate) const SECTION: &str = "kingpost_traps";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;
const FUNCTION_BYTES: usize = 16;

/// Contents of the section, the fields for the addresses still zero: that of function `i` is at [`address_field`]`(i)`.
pub(crate) fn write(module: &ModuleBuffer) -> Vec<u8> {
    let traps: usize = module.functions().map(|f| f.traps.len()).sum();
    let mut words = vec![VERSION, module.len() as u32, traps as u32, 0];
    let mut first = 0;
    for f in module.functions() {
        let count = f.traps.len() as u32;
        words.extend([0, f.code.len() as u32, first, count]);
        first += count;
    }
    for f in module.functions() {
        words.extend(f.traps.iter().flat_map(|trap| [trap.offset, u32::from(trap.code.byte())]));
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Offset of the field that holds the address of a function.
pub(crate) fn address_field(function: usize) -> u64 {
    (HEADER_BYTES + function * FUNCTION_BYTES) as u64
}
