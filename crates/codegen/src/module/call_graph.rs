//! The calls between functions, and an order in which callees come first.

use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::{FuncRef, Function};
use kingpost_mach::SymbolName;
use std::collections::HashMap;

/// Resolver of the names that functions use. It returns the symbol that a call of the name certainly reaches if the
/// declaration of the name is near (`colocated`) or not; `None` if the definition may be replaced when linked.
pub(crate) type Resolve<'a> = &'a dyn Fn(SymbolName, bool) -> Option<SymbolName>;

/// The direct calls between functions.
pub(super) struct CallGraph {
    /// By function: the functions that it calls.
    callees: Vec<Vec<usize>>,
}

impl CallGraph {
    /// Returns the graph of functions that are named by their symbols.
    pub(super) fn new(funcs: &[&mut Function], resolve: Resolve<'_>) -> CallGraph {
        let mut index = HashMap::new();
        for (number, func) in funcs.iter().enumerate() {
            index.entry(SymbolName::from(&func.name)).or_insert(number);
        }
        let callees = funcs.iter().map(|func| {
            let known = func.dfg.ext_funcs.keys().map(|callee| Some(*index.get(&called(func, callee, resolve)?)?));
            let mut callees: Vec<usize> = known.flatten().collect();
            callees.sort_unstable();
            callees.dedup();
            callees
        });
        CallGraph { callees: callees.collect() }
    }

    /// Returns all functions, each with whether it can call itself. Strongly connected components come after the
    /// components that they call (Tarjan, 1972, Depth-first search and linear graph algorithms).
    pub(super) fn callees_first(&self) -> Vec<(usize, bool)> {
        let count = self.callees.len();
        let mut search = Search { entered: vec![0; count], low: vec![0; count], ..Search::default() };
        for root in 0..count {
            if search.entered[root] == 0 {
                self.search(root, &mut search);
            }
        }
        search.order
    }

    fn search(&self, root: usize, s: &mut Search) {
        s.enter(root);
        // Functions on the current path, each with the number of callees that were followed.
        let mut path = vec![(root, 0)];
        while let Some((func, followed)) = path.last_mut() {
            let func = *func;
            if let Some(&callee) = self.callees[func].get(*followed) {
                *followed += 1;
                if s.entered[callee] == 0 {
                    s.enter(callee);
                    path.push((callee, 0));
                } else {
                    // Functions of finished components have the greatest number.
                    s.low[func] = s.low[func].min(s.low[callee]);
                }
                continue;
            }
            path.pop();
            if let Some(&(caller, _)) = path.last() {
                s.low[caller] = s.low[caller].min(s.low[func]);
            }
            if s.low[func] == s.entered[func] {
                self.finish(func, s);
            }
        }
    }

    /// Takes the component whose first function is `first` from the stack.
    fn finish(&self, first: usize, s: &mut Search) {
        let start = s.stack.iter().rposition(|&func| func == first).expect("it is on the stack");
        let is_recursive = s.stack.len() - start > 1 || self.callees[first].contains(&first);
        for func in s.stack.drain(start..) {
            s.low[func] = usize::MAX;
            s.order.push((func, is_recursive));
        }
    }
}

/// Returns the symbol of a declared function.
pub(super) fn called(func: &Function, callee: FuncRef, resolve: Resolve<'_>) -> Option<SymbolName> {
    let declared = &func.dfg.ext_funcs[callee];
    let name = match &declared.name {
        ExternalName::Named(word) => SymbolName::Named(word.clone()),
        &ExternalName::User(user) => {
            let &(namespace, index) = func.user_names.get(user)?;
            SymbolName::User(namespace, index)
        }
        ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => return None,
    };
    resolve(name, declared.colocated)
}

/// State of the search.
#[derive(Default)]
struct Search {
    /// By function: the number of functions entered before and including it, or 0.
    entered: Vec<usize>,
    /// By function: the least such number among the functions of unfinished components that it reaches.
    low: Vec<usize>,
    /// Functions of unfinished components.
    stack: Vec<usize>,
    order: Vec<(usize, bool)>,
    count: usize,
}

impl Search {
    fn enter(&mut self, func: usize) {
        self.count += 1;
        self.entered[func] = self.count;
        self.low[func] = self.count;
        self.stack.push(func);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(callees: &[&[usize]], expected: &[(usize, bool)]) {
        let graph = CallGraph { callees: callees.iter().map(|callees| callees.to_vec()).collect() };
        assert_eq!(graph.callees_first(), expected, "{callees:?}");
    }

    #[test]
    fn callees_come_first() {
        check(&[&[1, 2], &[2], &[]], &[(2, false), (1, false), (0, false)]);
        check(&[&[], &[0], &[1, 0]], &[(0, false), (1, false), (2, false)]);
    }

    #[test]
    fn recursion_is_found() {
        check(&[&[0]], &[(0, true)]);
        check(&[&[1], &[2], &[1]], &[(1, true), (2, true), (0, false)]);
        check(&[&[1, 2], &[0], &[], &[2, 0]], &[(2, false), (0, true), (1, true), (3, false)]);
    }
}
