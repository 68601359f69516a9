//! Conversion of Cranelift's settings and CPU flags to ours.
//!
//! A setting is applied, ignored because it has no meaning for a compiler, or refused by its name. Two kinds need an
//! explanation:
//!
//! - The allocator is the one that the caller gives. Otherwise [`Defaults`] names it. Otherwise `regalloc_algorithm`
//!   selects it: Cranelift's default `backtracking` is our default `ssa`, and its fast `single_pass` is our `fused`.
//! - [`Defaults`] turn the checker of allocations on, like the setting `regalloc_checker`.

use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::Value;
use cranelift_codegen::{CodegenError, CodegenResult, settings};
use kingpost_codegen::{Settings, TargetError};
use std::sync::OnceLock;

/// Allocator and checker of all compilers of the process whose creator does not choose an allocator.
///
/// A program sets them before its first compilation. Otherwise the environment does: `KINGPOST_REGALLOC` names the
/// allocator, and `KINGPOST_CHECKER=1` turns the checker on.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Defaults {
    /// Name in [`kingpost_codegen::ALLOCATORS`]. `None` leaves the choice to the setting `regalloc_algorithm`.
    pub regalloc: Option<String>,
    /// Whether the checker is on even if the setting `regalloc_checker` is off.
    pub checker: bool,
}

/// The defaults of the process. The environment is read once, because clients create a compiler for each function.
static DEFAULTS: OnceLock<Defaults> = OnceLock::new();

impl Defaults {
    /// Makes `self` the defaults of the process, in the place of the environment.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] if no allocator has the name, or if the process has defaults because it set them
    /// or compiled a function.
    pub fn set(self) -> CodegenResult<()> {
        if let Some(name) = self.regalloc.as_ref().filter(|name| kingpost_codegen::allocator(name).is_none()) {
            return Err(CodegenError::Unsupported(TargetError::Allocator(name.clone()).to_string()));
        }
        DEFAULTS.set(self).map_err(|_| CodegenError::Unsupported("the process has a default allocator".into()))
    }

    fn of_environment() -> Defaults {
        Defaults {
            regalloc: std::env::var("KINGPOST_REGALLOC").ok().filter(|name| !name.is_empty()),
            checker: std::env::var("KINGPOST_CHECKER").is_ok_and(|value| value == "1"),
        }
    }

    fn of_process() -> &'static Defaults {
        DEFAULTS.get_or_init(Defaults::of_environment)
    }
}

/// Returns the settings of a client for our compiler, with the allocator `regalloc` if it is given.
///
/// # Errors
/// [`CodegenError::Unsupported`] with the name of a refused setting.
pub(crate) fn shared(isa: &dyn TargetIsa, regalloc: Option<&str>) -> CodegenResult<Settings> {
    let mut ours = Settings::default();
    let defaults = settings::Flags::new(settings::builder());
    for (value, default) in isa.flags().iter().zip(defaults.iter()) {
        let text = value.value_string();
        match value.name {
            "regalloc_algorithm" => ours.regalloc_algorithm = allocator(&text, regalloc),
            // Cranelift's verifier checks the client's function, with its own messages.
            "enable_verifier" => ours.enable_verifier = false,
            // The context, which uses the cache, does these checks.
            "enable_incremental_compilation_cache_checks" => {}
            name => {
                if ours.set(name, &text).is_err() && text != default.value_string() {
                    return Err(refused(&value));
                }
            }
        }
    }
    ours.regalloc_checker |= Defaults::of_process().checker;
    Ok(ours)
}

fn allocator(algorithm: &str, chosen: Option<&str>) -> String {
    let chosen = chosen.or(Defaults::of_process().regalloc.as_deref());
    let of_algorithm = if algorithm == "single_pass" { "fused" } else { "ssa" };
    chosen.unwrap_or(of_algorithm).to_string()
}

/// Returns the CPU flags that are on, in the form of our compiler.
pub(crate) fn cpu_flags(isa: &dyn TargetIsa) -> Vec<String> {
    isa.isa_flags().iter().filter(|flag| flag.as_bool() == Some(true)).map(|flag| flag.name.to_string()).collect()
}

fn refused(value: &Value) -> CodegenError {
    CodegenError::Unsupported(format!("setting `{}={}`", value.name, value.value_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_set_once() {
        let unknown = Defaults { regalloc: Some("none".into()), checker: false };
        let message = unknown.set().unwrap_err().to_string();
        assert!(message.contains("no register allocator is called `none`"), "{message}");
        let of_process = Defaults::of_process().clone();
        assert!(Defaults::default().set().is_err());
        assert_eq!(*Defaults::of_process(), of_process);
    }
}
