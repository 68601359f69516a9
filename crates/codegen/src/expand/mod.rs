//! Expansion: operations that every target would lower alike become plain instructions.
//!
//! Before: `v2 = udiv.i128 v0, v1`.
//! After: `trapz v1, int_divz`, `v3, v4 = isplit v0`, `v5, v6 = isplit v1`, `v7, v8 = call %UdivI128(v3, v4, v5, v6)`,
//! `v9 = iconcat v7, v8`; `v2` is an alias of `v9`, which later stages resolve.
//!
//! | file | holds |
//! |---|---|
//! | `global_values.rs` | global values other than symbols |
//! | `dynamic_vectors.rs` | vectors whose size is only known at run time |
//! | `wide.rs` | operations on integers of 128 bits and floats of 16 and 128 bits that no machine supports |
//! | `float_format.rs` | the formats of floats |
//! | `floats.rs`, `conversions.rs`, `byte_order.rs` | the families of such operations |
//! | `windows_results.rs` | results of 128 bits in `windows_fastcall` |
//! | `windows_variadic.rs` | floats and vectors in variadic signatures of Windows on AArch64 |
//!
//! Cost: linear in instructions if there is anything to expand, otherwise constant.

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
mod windows_variadic;

/// Expands `func`. The function may have aliases before and after.
///
/// # Errors
/// If a global value or a part of a vector is of a kind that no target supports, or an operation needs a routine that
/// code must not call.
// `make gate` finds the cost of the stage by this name.
#[inline(never)]
pub(crate) fn run(func: &mut Function, compiler: &Compiler) -> Result<(), Refusal> {
    if dynamic_vectors::occurs(func) {
        dynamic_vectors::run(func)?;
    }
    if !func.global_values.is_empty() && func.dfg.has_symbol_values() {
        global_values::run(func)?;
    }
    if windows_variadic::occurs(func) && !windows_results::passes_by_address(compiler) {
        windows_variadic::run(func);
    }
    if wide::occurs(func) {
        wide::run(func, compiler)?;
    }
    Ok(())
}
