//! The units of a file: every subtest, and for those that need a target every target × allocator.

use kingpost_reader::{Header, TestCommand};

use crate::options::Options;
use crate::subtests::{self, Subtest, What};
use crate::target::{all_allocators, named_allocator};
use crate::unit::Unit;

/// The units of a file, in the order in which they run, and what each is to do. Without a target line, a subtest that
/// needs a target is one unit without a target.
pub(crate) fn units<'a>(header: &'a Header, options: &Options) -> Vec<(What, Unit<'a>)> {
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
            What::Run(Subtest { needs_target: true, .. }) if !header.targets.is_empty() => {
                let on_targets = on_targets(header, command, options);
                units.extend(on_targets.into_iter().map(|unit| (what, unit)));
            }
            _ => units.push((what, Unit { command, target: None, allocator: None })),
        }
    }
    units
}

fn on_targets<'a>(header: &'a Header, command: &'a TestCommand, options: &Options) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    for target in header.targets.iter().filter(|target| options.wants_target(&target.triple)) {
        let allocators = match named_allocator(header, target) {
            Some(name) => vec![name.to_string()],
            None if options.allocators.is_empty() => all_allocators(),
            None => options.allocators.clone(),
        };
        let unit = |allocator| Unit { command, target: Some(target), allocator: Some(allocator) };
        units.extend(allocators.into_iter().map(unit));
    }
    units
}
