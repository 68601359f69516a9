//! The units of a file: every subtest, for each target, for each target and allocator, or for each target,
//! allocator and optimization level.

use kingpost_reader::{Header, Target, TestCommand};

use crate::options::Options;
use crate::subtests::{self, Per, What};
use crate::target::{all_allocators, named_allocator};
use crate::unit::Unit;

/// Returns the units of a file and their requests, in the order in which they run. Without a target line, a subtest
/// that needs a target is one unit without a target.
pub(crate) fn units<'a>(header: &'a Header, options: &'a Options) -> Vec<(What, Unit<'a>)> {
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
        let per = if let What::Run(subtest) = what { subtest.per } else { Per::File };
        if per == Per::File || header.targets.is_empty() {
            let (target, allocator, program, opt_level) = (None, None, None, None);
            units.push((what, Unit { command, target, allocator, program, opt_level, settings: &[] }));
            continue;
        }
        for target in header.targets.iter().filter(|target| options.selects(&target.triple)) {
            let unit = |allocator: Option<String>, opt_level| {
                let program = options.program.clone().filter(|_| allocator.as_deref() == Some(""));
                let allocator = allocator.filter(|name| !name.is_empty());
                let settings = if per == Per::Code { &options.settings[..] } else { &[] };
                (what, Unit { command, target: Some(target), allocator, program, opt_level, settings })
            };
            if per == Per::Target {
                units.push(unit(None, None));
                continue;
            }
            for allocator in allocators(header, target, options) {
                if per == Per::Code && !options.opt_levels.is_empty() {
                    let levels = options.opt_levels.iter().cloned();
                    units.extend(levels.map(|level| unit(Some(allocator.clone()), Some(level))));
                } else {
                    units.push(unit(Some(allocator), None));
                }
            }
        }
    }
    units
}

/// Returns the allocators of a target's units. An empty name represents a program.
fn allocators(header: &Header, target: &Target, options: &Options) -> Vec<String> {
    match named_allocator(header, target) {
        Some(name) => vec![name.to_string()],
        None if options.program.is_some() => vec![String::new()],
        None if options.allocators.is_empty() => all_allocators(),
        None => options.allocators.clone(),
    }
}
