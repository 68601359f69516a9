//! Functions that are measured together.

use super::kernel::Kernel;

/// Functions that are measured together.
pub(crate) struct Suite {
    pub(super) kernels: Vec<Kernel>,
    /// C code of the program around them. `prepare()` comes before each call, outside of its time, and the result of the call is
    /// combined with `digest()` by an exclusive or.
    pub(super) surroundings: &'static str,
}

impl Suite {
    /// Returns `true` if all functions have a source in C.
    pub(super) fn has_c(&self) -> bool {
        self.kernels.iter().all(|kernel| kernel.c.is_some())
    }
}
