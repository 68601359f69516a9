//! Cranelift's settings and CPU flags as ours.
//!
//! A setting is honoured, has no meaning to a compiler, or is refused by its name. Two kinds need words:
//!
//! - The allocator is that of the caller, else that of the environment variable `KINGPOST_REGALLOC`, else what
//!   `regalloc_algorithm` says: Cranelift's default `backtracking` is our default `ssa`, its fast `single_pass` is our
//!   `fused`.
//! - The environment variable `KINGPOST_CHECKER=1` turns the checker of allocations on, as the setting
//!   `regalloc_checker` does.

use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::Value;
use cranelift_codegen::{CodegenError, CodegenResult, settings};
use kingpost_codegen::Settings;

/// The variables of the environment that choose settings.
pub(crate) const VARIABLES: [&str; 2] = ["KINGPOST_REGALLOC", "KINGPOST_CHECKER"];

/// The settings of a client for our compiler, with the allocator `regalloc` if it is given.
///
/// # Errors
/// [`CodegenError::Unsupported`] with the setting that is refused.
pub(crate) fn shared(isa: &dyn TargetIsa, regalloc: Option<&str>) -> CodegenResult<Settings> {
    let mut ours = Settings::default();
    let defaults = settings::Flags::new(settings::builder());
    for (value, default) in isa.flags().iter().zip(defaults.iter()) {
        let text = value.value_string();
        match value.name {
            "regalloc_algorithm" => ours.regalloc_algorithm = allocator(&text, regalloc),
            // Its own verifier looks at what the client built, with its messages.
            "enable_verifier" => ours.enable_verifier = false,
            name => {
                if ours.set(name, &text).is_err() && text != default.value_string() {
                    return Err(refused(&value));
                }
            }
        }
    }
    ours.regalloc_checker |= std::env::var("KINGPOST_CHECKER").is_ok_and(|value| value == "1");
    Ok(ours)
}

fn allocator(algorithm: &str, chosen: Option<&str>) -> String {
    let by_environment = || std::env::var("KINGPOST_REGALLOC").ok().filter(|name| !name.is_empty());
    chosen.map(str::to_string).or_else(by_environment).unwrap_or_else(|| match algorithm {
        "single_pass" => "fused".into(),
        _ => "ssa".into(),
    })
}

/// The words by which our compiler is given the CPU flags that are on.
pub(crate) fn cpu_flags(isa: &dyn TargetIsa) -> Vec<String> {
    isa.isa_flags().iter().filter(|flag| flag.as_bool() == Some(true)).map(|flag| flag.name.to_string()).collect()
}

fn refused(value: &Value) -> CodegenError {
    CodegenError::Unsupported(format!("setting `{}={}`", value.name, value.value_string()))
}
