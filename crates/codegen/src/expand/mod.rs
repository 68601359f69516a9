//! Expansion: what every target would lower alike becomes plain instructions.
//!
//! Before: `v2 = udiv.i128 v0, v1`.
//! After: `trapz v1, int_divz`, `v3, v4 = isplit v0`, `v5, v6 = isplit v1`, `v7, v8 = call %UdivI128(v3, v4, v5, v6)`,
//! `v9 = iconcat v7, v8`; `v2` is an alias of `v9`, which the stages behind this one resolve.
//!
//! | file | holds |
//! |---|---|
//! | `global_values.rs` | global values but for symbols |
//! | `dynamic_vectors.rs` | vectors whose size is only known at run time |
//! | `wide.rs` | what no machine does with integers of 128 bits and floats of 16 and 128 bits |
//! | `float_format.rs` | the formats of floats |
//! | `floats.rs`, `conversions.rs`, `byte_order.rs` | the same, by family |
//! | `windows_results.rs` | results of 128 bits in `windows_fastcall` |
//!
//! Cost: linear in instructions where there is anything to expand, else nothing.

use crate::compiler::Compiler;
use kingpost_ir::Function;
use kingpost_mach::Refusal;

mod byte_order;
mod conversions;
mod dynamic_vectors;
mod float_format;
mod floats;
mod global_values;
mod wide;
mod windows_results;

/// Expands `func`, which may use aliases before and after.
///
/// # Errors
/// A global value or a part of a vector that no target has.
pub(crate) fn run(func: &mut Function, compiler: &Compiler) -> Result<(), Refusal> {
    if dynamic_vectors::occurs(func) {
        dynamic_vectors::run(func)?;
    }
    if !func.global_values.is_empty() && func.dfg.has_symbol_values() {
        global_values::run(func)?;
    }
    if wide::occurs(func) {
        wide::run(func, compiler.isa().half_precision(), compiler.settings());
    }
    Ok(())
}
