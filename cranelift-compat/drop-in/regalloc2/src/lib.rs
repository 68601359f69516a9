//! A replacement for the package `regalloc2` with Kingpost's register allocators.
//!
//! All items are the items of the published package, except for [`run`] and [`run_with_ctx`], which allocate with our
//! allocators. Cranelift's code generator needs no other change.
//!
//! | environment variable | effect |
//! |---|---|
//! | `KINGPOST_REGALLOC=NAME` | selects `ssa`, `linear`, `backtracking` or `spill_all`, or `regalloc2` for the published package's allocators |
//! | `KINGPOST_CHECKER=1` | checks each output with our checker |
//! | `KINGPOST_LOG=1` | prints which allocator is used to standard error, and each reason why a function is left to the published package |
//!
//! Without a name, [`Algorithm`] selects `ssa` for `Ion` and `linear` for `Fastalloc`.
//!
//! A function that our contract cannot express, or that our allocator fails on, is left to the published package. So
//! is every function if the name is unknown, and a function whose output our checker rejects. Both are printed in any
//! case.

mod log;

pub use upstream::*;

use kingpost_regalloc2::kingpost_regalloc::Allocator;
use std::cell::RefCell;
use std::sync::LazyLock;

/// Our allocators without the selection by the environment, and our checker.
pub mod kingpost {
    pub use kingpost_regalloc2::{NAMES, Refusal, Rejection, allocator, check, cost, run};
}

/// Returns the version of Kingpost's allocators in the place of regalloc2's.
pub fn kingpost_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Environment variable with the name of an allocator.
const VARIABLE: &str = "KINGPOST_REGALLOC";

/// Name of the published package's own allocators.
const UPSTREAM: &str = "regalloc2";

/// The environment is read once, because clients compile many functions.
static NAME: LazyLock<Option<String>> = LazyLock::new(|| std::env::var(VARIABLE).ok());
static IS_CHECKED: LazyLock<bool> = LazyLock::new(|| std::env::var("KINGPOST_CHECKER").is_ok_and(|value| value == "1"));

thread_local! {
    /// The allocator in use, which keeps its memory.
    static ALLOCATOR: RefCell<Option<Box<dyn Allocator>>> = const { RefCell::new(None) };
}

/// Runs the allocator.
///
/// # Errors
/// The published package's error for a function that is left to it.
pub fn run<F: Function>(func: &F, env: &MachineEnv, options: &RegallocOptions) -> Result<Output, RegAllocError> {
    match allocate(func, env, options) {
        Some(output) => Ok(output),
        None => upstream::run(func, env, options),
    }
}

/// Runs the allocator with a context, which holds the output.
///
/// # Errors
/// The published package's error for a function that is left to it.
pub fn run_with_ctx<'a, F: Function>(
    func: &F,
    env: &MachineEnv,
    options: &RegallocOptions,
    ctx: &'a mut Ctx,
) -> Result<&'a Output, RegAllocError> {
    match allocate(func, env, options) {
        Some(output) => {
            ctx.output = output;
            Ok(&ctx.output)
        }
        None => upstream::run_with_ctx(func, env, options, ctx),
    }
}

/// Returns the output of our allocator, or `None` if the function is left to the published package.
fn allocate<F: Function>(func: &F, env: &MachineEnv, options: &RegallocOptions) -> Option<Output> {
    let name = selected(NAME.as_deref(), options.algorithm);
    if name == UPSTREAM {
        log::print(|| "regalloc2 allocates registers, not kingpost".to_string());
        return None;
    }
    ALLOCATOR.with_borrow_mut(|slot| {
        if slot.as_ref().is_none_or(|allocator| allocator.name() != name) {
            *slot = kingpost::allocator(name);
        }
        let Some(allocator) = slot else {
            log::warn(format!(
                "{VARIABLE}={name}: the names are {} and {UPSTREAM}; regalloc2 allocates registers",
                kingpost::NAMES.join(", ")
            ));
            return None;
        };
        log::print(|| {
            let checker = if *IS_CHECKED { "on" } else { "off" };
            format!("kingpost allocates registers in the place of regalloc2: allocator {name}, checker {checker}")
        });
        match kingpost::run(func, env, allocator.as_mut()) {
            Ok(output) => (!*IS_CHECKED || is_accepted(func, env, &output, name)).then_some(output),
            Err(refusal) => {
                log::print(|| format!("regalloc2 allocates the registers of a function, not kingpost: {refusal}"));
                None
            }
        }
    })
}

fn is_accepted<F: Function>(func: &F, env: &MachineEnv, output: &Output, name: &str) -> bool {
    match kingpost::check(func, env, output) {
        Ok(()) => true,
        Err(rejection) => {
            log::warn(format!("regalloc2 allocates the registers of a function: the answer of {name}: {rejection}"));
            false
        }
    }
}

/// Returns the name of the allocator: the one of the environment, or the one for the algorithm.
fn selected(name: Option<&str>, algorithm: Algorithm) -> &str {
    match (name, algorithm) {
        (Some(name), _) if !name.is_empty() => name,
        (_, Algorithm::Ion) => "ssa",
        (_, Algorithm::Fastalloc) => "linear",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_the_algorithm() {
        assert_eq!(selected(None, Algorithm::Ion), "ssa");
        assert_eq!(selected(Some(""), Algorithm::Fastalloc), "linear");
        assert_eq!(selected(Some("backtracking"), Algorithm::Fastalloc), "backtracking");
        for name in kingpost::NAMES {
            assert_eq!(kingpost::allocator(name).unwrap().name(), name);
        }
        assert!(kingpost::allocator("fused").is_none() && kingpost::allocator(UPSTREAM).is_none());
    }
}
