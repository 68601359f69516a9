//! A unit: the smallest item that is run and reported.

use kingpost_reader::{Target, TestCommand};

use crate::native::Via;
use crate::shell::{file_word, quoted};

/// A subtest of a file, for a target, an allocator and an optimization level if it needs them.
#[derive(Debug)]
pub(crate) struct Unit<'a> {
    pub(crate) command: &'a TestCommand,
    pub(crate) target: Option<&'a Target>,
    pub(crate) allocator: Option<String>,
    /// A command that replaces the allocator.
    pub(crate) program: Option<String>,
    /// A level that replaces the file's `opt_level`.
    pub(crate) opt_level: Option<String>,
    /// Settings that are applied after the file's settings.
    pub(crate) settings: &'a [(String, String)],
}

impl Unit<'_> {
    /// Returns the name in reports.
    pub(crate) fn name(&self) -> String {
        let mut name = format!("test {}", self.command.name);
        if let Some(target) = self.target {
            name += &format!(", target {}", target.triple);
            for flag in &target.flags {
                let value = flag.value.iter().map(|value| format!("={value}"));
                name += &format!(" {}{}", flag.name, value.collect::<String>());
            }
        }
        if let Some(allocator) = &self.allocator {
            name += &format!(", allocator {allocator}");
        }
        if let Some(program) = &self.program {
            name += &format!(", allocator `{program}`");
        }
        if let Some(level) = &self.opt_level {
            name += &format!(", opt_level {level}");
        }
        for (key, value) in self.settings {
            name += &format!(", {key}={value}");
        }
        name
    }

    /// Returns the command that repeats the unit, and as little else as possible.
    pub(crate) fn repeat(&self, file: &str, via: Via) -> String {
        let target = self.target.map(|target| format!(" --target {}", target.triple)).unwrap_or_default();
        let allocator = self.allocator.as_ref().map(|name| format!(" --regalloc {name}")).unwrap_or_default();
        let program = self.program.as_ref().map(|command| format!(" --regalloc-command {}", quoted(command)));
        let program = program.unwrap_or_default();
        let level = self.opt_level.as_ref().map(|level| format!(" -O {level}")).unwrap_or_default();
        let settings: String = self.settings.iter().map(|(key, value)| format!(" --set {key}={value}")).collect();
        // The other variant is the default.
        let via = if self.command.name == "run" && via == Via::Object { " --via object" } else { "" };
        format!("kingpost test{target}{allocator}{program}{level}{settings}{via} {}", file_word(file))
    }
}
