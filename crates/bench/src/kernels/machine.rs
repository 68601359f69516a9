//! The targets of the kernels, with the tools for them.

use anyhow::{Context, Result};

/// A target with its tools.
pub(super) struct Machine {
    pub(super) target: &'static str,
    /// Compilers of C. One that is not installed is left out, except the first.
    pub(super) c_compilers: &'static [&'static str],
    pub(super) c_flags: &'static [&'static str],
    /// The emulator of programs.
    pub(super) emulator: &'static str,
}

pub(super) const X86_64: Machine =
    Machine { target: crate::X86_64, c_compilers: &["cc", "clang"], c_flags: &["-msse4.2"], emulator: "qemu-x86_64" };

const AARCH64: Machine =
    Machine { target: "aarch64", c_compilers: &["aarch64-linux-gnu-gcc"], c_flags: &[], emulator: "qemu-aarch64" };

/// Returns the target of this name.
pub(super) fn machine(target: &str) -> Result<&'static Machine> {
    [&X86_64, &AARCH64]
        .into_iter()
        .find(|machine| machine.target == target)
        .with_context(|| format!("no target {target}"))
}
