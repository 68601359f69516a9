//! Library routines that a process may lack: routines of the mathematics library and of the compiler's library, which
//! are linked only on request, and the stack probe.

use crate::symbols::{probestack, process_symbol, system_routine};

macro_rules! routines {
    ($($name:literal $function:ident($($arg:ident),+: $ty:ty) $body:expr;)+) => {
        $(extern "C" fn $function($($arg: $ty),+) -> $ty {
            $body
        })+

        /// Returns the address of the routine with this name in C.
        fn routine(name: &str) -> Option<usize> {
            match name {
                $($name => Some($function as *const () as usize),)+
                _ => None,
            }
        }
    };
}

/// Returns `result`, or the quiet form of `x` if it is a NaN. Rust's own rounding may return a signaling NaN, but
/// IEEE 754 (section 6.2) requires a quiet one.
fn quiet_f32(x: f32, result: f32) -> f32 {
    if x.is_nan() { f32::from_bits(x.to_bits() | 1 << 22) } else { result }
}

/// Returns `result`, or the quiet form of `x` if it is a NaN. See [`quiet_f32`].
fn quiet_f64(x: f64, result: f64) -> f64 {
    if x.is_nan() { f64::from_bits(x.to_bits() | 1 << 51) } else { result }
}

routines! {
    "ceilf" ceil_f32(x: f32) quiet_f32(x, x.ceil());
    "ceil" ceil_f64(x: f64) quiet_f64(x, x.ceil());
    "floorf" floor_f32(x: f32) quiet_f32(x, x.floor());
    "floor" floor_f64(x: f64) quiet_f64(x, x.floor());
    "truncf" trunc_f32(x: f32) quiet_f32(x, x.trunc());
    "trunc" trunc_f64(x: f64) quiet_f64(x, x.trunc());
    "nearbyintf" nearest_f32(x: f32) quiet_f32(x, x.round_ties_even());
    "nearbyint" nearest_f64(x: f64) quiet_f64(x, x.round_ties_even());
    "fmaf" fma_f32(x, y, z: f32) x.mul_add(y, z);
    "fma" fma_f64(x, y, z: f64) x.mul_add(y, z);
}

/// Returns the address of a library routine by its name in C: the routine of this process, or a replacement.
pub fn library_address(name: &str) -> Option<usize> {
    // The routines of Windows have the same requirements.
    let is_probe = matches!(name, "__kingpost_probestack" | "___chkstk_ms" | "__chkstk");
    let probestack = || if is_probe { probestack() } else { None };
    process_symbol(name).or_else(|| routine(name)).or_else(probestack).or_else(|| system_routine(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_codegen::module::default_libcall_name;
    use kingpost_ir::libcall::LibCall;
    use target_lexicon::triple;

    #[test]
    fn routines_are_there() {
        for &libcall in LibCall::ALL {
            let name = default_libcall_name(libcall, &triple!("x86_64-unknown-linux-gnu"));
            let is_ours = (LibCall::CeilF32..=LibCall::FmaF64).contains(&libcall);
            assert_eq!(routine(name).is_some(), is_ours, "{name}");
            if cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))
                && libcall >= LibCall::UdivI128
            {
                assert!(library_address(name).is_some(), "{name}");
            }
        }
    }
}
