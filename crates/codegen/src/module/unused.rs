//! Local functions that nothing refers to once all their calls have been inlined.
//!
//! Functions that only such functions refer to are unused, too. A function that the module never called remains,
//! because its client may find it by its symbol. Cost: linear in functions and references.

use kingpost_mach::{ModuleBuffer, SymbolName};
use std::collections::{HashMap, HashSet};

/// Returns, by function of `functions`, whether it is unused. Of the functions in `inlined` a call was inlined; `others`
/// are the symbols that data and aliases refer to.
pub(super) fn find<'a>(
    functions: &ModuleBuffer,
    others: impl Iterator<Item = &'a SymbolName>,
    is_local: impl Fn(&SymbolName) -> bool,
    inlined: &HashSet<SymbolName>,
) -> Vec<bool> {
    let names: Vec<&SymbolName> = functions.functions().map(|view| &view.function.head.name).collect();
    let local = names.iter().enumerate().filter(|(_, name)| is_local(name));
    let index: HashMap<&SymbolName, usize> = local.map(|(number, &name)| (name, number)).collect();
    let referred = |number: usize| {
        let symbols = functions.function(number).symbols.iter();
        symbols.filter_map(|symbol| index.get(symbol).copied()).filter(move |&to| to != number)
    };
    let mut references = vec![0usize; names.len()];
    let all = (0..names.len()).flat_map(referred);
    all.chain(others.filter_map(|symbol| index.get(symbol).copied())).for_each(|to| references[to] += 1);
    let mut unused = vec![false; names.len()];
    let mut waiting: Vec<usize> = index
        .iter()
        .filter(|&(name, &number)| references[number] == 0 && inlined.contains(*name))
        .map(|(_, &number)| number)
        .collect();
    while let Some(number) = waiting.pop() {
        unused[number] = true;
        for to in referred(number) {
            references[to] -= 1;
            if references[to] == 0 && !unused[to] {
                waiting.push(to);
            }
        }
    }
    unused
}
