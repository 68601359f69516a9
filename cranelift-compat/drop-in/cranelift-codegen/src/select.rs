//! Selection of the compiler: ours or Cranelift's.

use std::cell::Cell;
use std::sync::LazyLock;
use upstream::isa::TargetIsa;
use upstream::{CodegenError, CodegenResult};

/// The compiler of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selected {
    Kingpost,
    Cranelift,
}

/// Environment variable with the functions that are left to Cranelift.
const VARIABLE: &str = "KINGPOST_CRANELIFT";

/// The value of the variable. It is read once, because clients compile many functions.
static VALUE: LazyLock<String> = LazyLock::new(|| std::env::var(VARIABLE).unwrap_or_default());

thread_local! {
    /// Whether a call of [`with_cranelift`] is active.
    static LEFT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `run`. Until it returns, Cranelift's compiler compiles the functions of this thread, for comparisons.
pub fn with_cranelift<R>(run: impl FnOnce() -> R) -> R {
    /// Restores the selection, also after a panic.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let _restore = Restore(LEFT.replace(true));
    run()
}

/// Returns the compiler for a target.
///
/// # Errors
/// If we do not support the target and it is not left to Cranelift, or if [`VARIABLE`] has an unknown value.
pub(crate) fn selected(isa: &dyn TargetIsa) -> CodegenResult<Selected> {
    if LEFT.get() {
        return Ok(Selected::Cranelift);
    }
    let value = VALUE.as_str();
    let is_supported = ["x86_64", "aarch64"].contains(&&*isa.triple().architecture.into_str());
    match (value, is_supported) {
        ("always", _) | ("targets", false) => Ok(Selected::Cranelift),
        ("" | "never" | "targets", true) => Ok(Selected::Kingpost),
        ("" | "never", false) => Err(CodegenError::Unsupported(format!(
            "target {}: Kingpost supports x86_64 and aarch64; {VARIABLE}=targets leaves other targets to Cranelift",
            isa.triple()
        ))),
        _ => Err(CodegenError::Unsupported(format!("{VARIABLE}={value}: the values are `targets`, `always`, `never`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cranelift_compiles_until_the_function_returns() {
        assert!(!LEFT.get());
        with_cranelift(|| {
            with_cranelift(|| assert!(LEFT.get()));
            assert!(LEFT.get());
        });
        assert!(std::panic::catch_unwind(|| with_cranelift(|| panic!("stops"))).is_err());
        assert!(!LEFT.get());
    }
}
