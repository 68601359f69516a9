//! Conversion of Cranelift's settings and CPU flags to ours.
//!
//! A setting is applied, ignored because it has no meaning for a compiler, or refused by its name. Two kinds need an
//! explanation:
//!
//! - The allocator is the one that the caller gives. Otherwise the environment variable `KINGPOST_REGALLOC` names it.
//!   Otherwise `regalloc_algorithm` selects it: Cranelift's default `backtracking` is our default `ssa`, and its fast
//!   `single_pass` is our `fused`.
//! - The environment variable `KINGPOST_CHECKER=1` turns the checker of allocations on, like the setting
//!   `regalloc_checker`.
//!
//! The environment is read once, because clients create a compiler for each function.

use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::Value;
use cranelift_codegen::{CodegenError, CodegenResult, settings};
use kingpost_codegen::Settings;
use std::sync::LazyLock;

/// The allocator of the environment.
static REGALLOC: LazyLock<Option<String>> =
    LazyLock::new(|| std::env::var("KINGPOST_REGALLOC").ok().filter(|name| !name.is_empty()));

/// Whether the environment turns the checker on.
static HAS_CHECKER: LazyLock<bool> =
    LazyLock::new(|| std::env::var("KINGPOST_CHECKER").is_ok_and(|value| value == "1"));

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
    ours.regalloc_checker |= *HAS_CHECKER;
    Ok(ours)
}

fn allocator(algorithm: &str, chosen: Option<&str>) -> String {
    chosen.map(str::to_string).or_else(|| REGALLOC.clone()).unwrap_or_else(|| match algorithm {
        "single_pass" => "fused".into(),
        _ => "ssa".into(),
    })
}

/// Returns the CPU flags that are on, in the form of our compiler.
pub(crate) fn cpu_flags(isa: &dyn TargetIsa) -> Vec<String> {
    isa.isa_flags().iter().filter(|flag| flag.as_bool() == Some(true)).map(|flag| flag.name.to_string()).collect()
}

fn refused(value: &Value) -> CodegenError {
    CodegenError::Unsupported(format!("setting `{}={}`", value.name, value.value_string()))
}
