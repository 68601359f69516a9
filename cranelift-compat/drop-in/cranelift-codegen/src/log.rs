//! Messages about the compiler in use.

use crate::VERSION;
use cranelift_compat_core::Compiler;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};
use upstream::isa::TargetIsa;

/// Whether messages are requested. The environment is read once, because clients compile many functions.
static IS_ON: LazyLock<bool> = LazyLock::new(|| std::env::var("KINGPOST_LOG").is_ok_and(|value| value == "1"));

/// The printed messages.
static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Prints that our compiler is used, with `KINGPOST_LOG=1`.
pub(crate) fn kingpost(isa: &dyn TargetIsa, compiler: &Compiler) {
    print(|| {
        let settings = compiler.settings();
        let checker = if settings.regalloc_checker { "on" } else { "off" };
        format!(
            "kingpost {} compiles for {} in the place of cranelift-codegen {}: allocator {}, opt_level {}, \
             checker {checker}",
            crate::kingpost_version(),
            isa.triple(),
            VERSION,
            settings.regalloc_algorithm,
            isa.flags().opt_level(),
        )
    });
}

/// Prints that Cranelift's compiler is used, with `KINGPOST_LOG=1`.
pub(crate) fn cranelift(isa: &dyn TargetIsa) {
    print(|| format!("cranelift-codegen {VERSION} compiles for {}, not kingpost", isa.triple()));
}

fn print(message: impl FnOnce() -> String) {
    if *IS_ON {
        let message = message();
        let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
        if !printed.contains(&message) {
            eprintln!("{message}");
            printed.insert(message);
        }
    }
}
