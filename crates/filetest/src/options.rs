//! What to run of the files.

use crate::known_wrong::KnownWrong;
use crate::native::Via;

/// Options of a test run.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Only `target` lines of these architectures or triples; all if empty.
    pub targets: Vec<String>,
    /// The register allocators; all if empty. A file that sets one is run with that one.
    pub allocators: Vec<String>,
    /// A command that is the only register allocator, of files that set none.
    pub program: Option<String>,
    /// The optimization levels of run tests; what each file says if empty.
    pub opt_levels: Vec<String>,
    /// Shared settings of run tests, after those of each file: keys with their values.
    pub settings: Vec<(String, String)>,
    /// Threads; as many as there are processors if 0.
    pub jobs: usize,
    /// Whether to write what was found over the expectations of `precise-output` tests.
    pub bless: bool,
    /// Way in which compiled code is run.
    pub via: Via,
    /// Calls as `%f(1, 2)` to run and print in place of the files' directives, if there are any.
    pub calls: Vec<String>,
    /// Directives that must not hold.
    pub known_wrong: KnownWrong,
}

impl Options {
    pub(crate) fn selects(&self, triple: &str) -> bool {
        let architecture = |text: &str| text.split('-').next().map(str::to_string);
        self.targets.is_empty()
            || self.targets.iter().any(|wanted| wanted == triple || Some(wanted.clone()) == architecture(triple))
    }
}
