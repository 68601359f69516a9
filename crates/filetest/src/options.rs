//! Options of a test run.

use std::path::Path;

use crate::known_wrong::KnownWrong;
use crate::native::Via;
use kingpost_testgen::Shard;

/// Options of a test run.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The architectures or triples of `target` lines to run; all if empty.
    pub targets: Vec<String>,
    /// The register allocators; all if empty. A file that sets one is run with that one.
    pub allocators: Vec<String>,
    /// A command that is the only register allocator, for files that set none.
    pub program: Option<String>,
    /// The optimization levels of run tests; the level of each file if empty.
    pub opt_levels: Vec<String>,
    /// Shared settings of run tests, applied after the settings of each file: keys with their values.
    pub settings: Vec<(String, String)>,
    /// Number of threads; the number of processors if 0.
    pub jobs: usize,
    /// Whether to replace the expectations of `precise-output` tests by the actual output.
    pub bless: bool,
    /// Way in which compiled code is run.
    pub via: Via,
    /// Calls such as `%f(1, 2)` to run and print instead of the files' directives, if there are any.
    pub calls: Vec<String>,
    /// Directives that must not hold.
    pub known_wrong: KnownWrong,
    /// Settings and flags of the instruction set that follow the words of each `target` line, for [`run_text`] with a
    /// command.
    ///
    /// [`run_text`]: crate::run_text
    pub words: Vec<String>,
    /// Limit of the calls of a unit, in seconds of CPU time of compiled code, or in millions of interpreted
    /// instructions; by default 10 and 100.
    pub limit: Option<u32>,
    /// Texts that select files by their paths; all files if empty.
    pub files: Vec<String>,
    /// The part of the selected files to test.
    pub shard: Shard,
    /// Names of the functions to test, such as `%f`; all if empty.
    pub functions: Vec<String>,
    /// Whether to list the units and run none.
    pub list: bool,
}

impl Options {
    /// Returns the options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Options {
        change(&mut self);
        self
    }

    /// Returns `true` if the file at `path` is to be tested.
    pub(crate) fn selects_file(&self, path: &Path) -> bool {
        let path = path.display().to_string();
        self.files.is_empty() || self.files.iter().any(|text| path.contains(text))
    }

    pub(crate) fn selects(&self, triple: &str) -> bool {
        let architecture = |text: &str| text.split('-').next().map(str::to_string);
        self.targets.is_empty()
            || self.targets.iter().any(|wanted| wanted == triple || Some(wanted.clone()) == architecture(triple))
    }
}
