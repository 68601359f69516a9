//! The text of a failure.

/// Returns the failure with the command that repeats it.
pub(crate) fn repeat(target: &str, seed: u64, text: &str) -> anyhow::Error {
    anyhow::anyhow!("{text}\nrepeat with: make fuzz TARGET={target} N=1 SEED={seed}")
}
