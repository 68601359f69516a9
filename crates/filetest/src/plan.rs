//! The units of a file: every subtest, and for those that need a target every target × allocator.

use kingpost_reader::{Header, Target, TestCommand};

use crate::native::Via;
use crate::runner::Options;
use crate::subtests::{self, Subtest};
use crate::target::{all_allocators, named_allocator};

/// A subtest of a file, for a target and an allocator if it needs them.
#[derive(Debug)]
pub(crate) struct Unit<'a> {
    pub(crate) command: &'a TestCommand,
    pub(crate) what: What,
    pub(crate) target: Option<&'a Target>,
    pub(crate) allocator: Option<String>,
}

/// What a `test` line asks for.
#[derive(Copy, Clone, Debug)]
pub(crate) enum What {
    Run(&'static Subtest),
    /// It exists, but not here yet.
    NotSupported,
    /// There is no such subtest.
    Unknown,
    /// The subtest needs a target and the file names none.
    NoTarget,
}

impl Unit<'_> {
    /// As reports name it.
    pub(crate) fn name(&self) -> String {
        let mut name = format!("test {}", self.command.name);
        if let Some(target) = self.target {
            name += &format!(", target {}", target.triple);
            for flag in &target.flags {
                name += &format!(" {}", flag.name);
            }
        }
        if let Some(allocator) = &self.allocator {
            name += &format!(", allocator {allocator}");
        }
        name
    }

    /// The command that runs it alone, or nearly so.
    pub(crate) fn repeat(&self, file: &str, via: Via) -> String {
        let target = self.target.map(|target| format!(" --target {}", target.triple)).unwrap_or_default();
        let allocator = self.allocator.as_ref().map(|name| format!(" --regalloc {name}")).unwrap_or_default();
        // The other way is the usual one.
        let via = if self.command.name == "run" && via == Via::Object { " --via object" } else { "" };
        format!("kingpost test{target}{allocator}{via} {file}")
    }
}

/// The units of a file, in the order in which they run.
pub(crate) fn units<'a>(header: &'a Header, options: &Options) -> Vec<Unit<'a>> {
    let mut commands: Vec<(usize, &TestCommand, What)> = header
        .commands
        .iter()
        .map(|command| {
            let (place, what) = subtests::find(&command.name);
            (place, command, what)
        })
        .collect();
    commands.sort_by_key(|&(place, ..)| place);
    let mut units = Vec::new();
    for (_, command, what) in commands {
        match what {
            What::Run(subtest) if subtest.needs_target => targets(&mut units, header, command, subtest, options),
            _ => units.push(Unit { command, what, target: None, allocator: None }),
        }
    }
    units
}

fn targets<'a>(
    units: &mut Vec<Unit<'a>>,
    header: &'a Header,
    command: &'a TestCommand,
    subtest: &'static Subtest,
    options: &Options,
) {
    if header.targets.is_empty() {
        units.push(Unit { command, what: What::NoTarget, target: None, allocator: None });
    }
    for target in header.targets.iter().filter(|target| options.wants_target(&target.triple)) {
        let allocators = match named_allocator(header, target) {
            Some(name) => vec![name.to_string()],
            None if options.allocators.is_empty() => all_allocators(),
            None => options.allocators.clone(),
        };
        for allocator in allocators {
            let what = What::Run(subtest);
            units.push(Unit { command, what, target: Some(target), allocator: Some(allocator) });
        }
    }
}
