//! Names of values: classes of values that are copies of each other in the problem itself, and sets of classes.
//!
//! A value's *class* is its own, or the class of the value that it is always a copy of: the source of a move, or
//! the only argument that a parameter is ever passed. Classes are the same everywhere, so that a state records only
//! the contents of locations, not the names of values. If the problem does not determine a parameter, a location
//! may hold it and its argument at once; such *sets* of classes are classes too. An integer and the reference that
//! it was copied from or to form a set as well, which separates at the next safepoint.
//!
//! One class per value suffices, although a value is defined again in each iteration of a loop. A location that
//! holds `v` before `v` is defined would hold it on all paths from the entry, including the path that reaches the
//! def for the first time. And a copy is used only while its source is the value that it was copied from, because
//! the source's def dominates the use.

use crate::class::{Class, MAX_CLASSES};
use crate::flow::Flow;
use cranelift_entity::EntityRef;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, Edge, Problem, VReg, VRegData};

const NONE: u32 = u32::MAX;

/// A parameter that depends on the path into its root.
#[derive(Clone, Copy)]
struct Param {
    /// Number of the root.
    root: u32,
    /// Its position among the parameters.
    position: u32,
}

const NO_PARAM: Param = Param { root: NONE, position: 0 };

/// Classes of values, and sets of classes.
#[derive(Default)]
pub(crate) struct ValueNumbering {
    /// A value that this one is a copy of; in the end the first value of all its copies.
    source: Vec<VReg>,
    /// The class of each value.
    classes: Vec<Class>,
    params: Vec<Param>,
    /// Per set, the end of its members in `members`.
    set_ends: Vec<u32>,
    members: Vec<Class>,
    /// Whether some set has references and other values.
    has_mixed: bool,
}

heap_bytes!(ValueNumbering { source, classes, params, set_ends, members } without { has_mixed });

impl ValueNumbering {
    /// Resets every value to a class of its own.
    pub(crate) fn reset(&mut self, problem: &Problem) {
        self.source.clear();
        self.source.extend(problem.vregs.keys());
        self.set_ends.clear();
        self.members.clear();
        self.has_mixed = false;
    }

    /// Records that `to` is a copy of `from`, if both are of one kind and the copy keeps all bytes.
    pub(crate) fn copy(&mut self, problem: &Problem, from: VReg, to: VReg) {
        let (a, b): (VRegData, VRegData) = (problem.vregs[from], problem.vregs[to]);
        let fits = if a.is_ref { b.width == a.width } else { b.width <= a.width };
        let from = self.first(from);
        if a.class == b.class && a.is_ref == b.is_ref && fits && from != self.first(to) {
            self.source[to.index()] = from;
        }
    }

    /// Returns the first value of the copies of `vreg`, with path halving. Takes at most one step per value,
    /// because links lead only to first values and form no cycle.
    fn first(&mut self, vreg: VReg) -> VReg {
        let mut at = vreg;
        while self.source[at.index()] != at {
            let next = self.source[at.index()];
            self.source[at.index()] = self.source[next.index()];
            at = next;
        }
        at
    }

    /// Finds the parameters that are only ever passed one value, and numbers the classes of all values.
    pub(crate) fn number_classes(&mut self, problem: &Problem, flow: &Flow) {
        for &block in flow.postorder.iter().rev() {
            self.params_of(problem, block);
        }
        // Values that a loop passes to itself through inner loops are known only after these.
        for &block in &flow.postorder {
            self.params_of(problem, block);
        }
        self.classes.clear();
        for vreg in problem.vregs.keys() {
            let first = self.first(vreg);
            self.classes.push(Class::new(first.index(), &problem.vregs[first]));
        }
        self.params.clear();
        self.params.resize(problem.vregs.len(), NO_PARAM);
        for (root, &block) in flow.roots.iter().enumerate() {
            for (position, &param) in problem.params(block).iter().enumerate() {
                if self.source[param.index()] == param {
                    self.params[param.index()] = Param { root: root as u32, position: position as u32 };
                }
            }
        }
    }

    fn params_of(&mut self, problem: &Problem, block: Block) {
        for (position, &param) in problem.params(block).iter().enumerate() {
            if self.source[param.index()] != param {
                continue;
            }
            let mut only = None;
            for &edge in problem.preds(block) {
                let Some(&arg) = problem.edge_args(edge).get(position) else { return };
                let arg = self.first(arg);
                if arg == param || only == Some(arg) {
                    continue;
                }
                if only.is_some() {
                    only = None;
                    break;
                }
                only = Some(arg);
            }
            if let Some(arg) = only {
                self.copy(problem, arg, param);
            }
        }
    }

    /// Returns the class of a value.
    #[inline]
    pub(crate) fn class(&self, vreg: VReg) -> Class {
        self.classes[vreg.index()]
    }

    /// Returns the classes that a class consists of: itself, or the members of a set.
    #[inline]
    pub(crate) fn members(&self, class: Class) -> &[Class] {
        let number = class.number();
        if number < self.classes.len() {
            return std::slice::from_ref(&self.classes[number]);
        }
        let set = number - self.classes.len();
        let start = set.checked_sub(1).map_or(0, |before| self.set_ends[before] as usize);
        &self.members[start..self.set_ends[set] as usize]
    }

    /// Returns `true` if the class of a location includes the class `of`.
    #[inline]
    pub(crate) fn contains(&self, class: Class, of: Class) -> bool {
        class == of || (class.number() >= self.classes.len() && self.members(class).contains(&of))
    }

    /// Returns `true` if an edge into root number `root` may affect `class`, because it is or contains a parameter.
    #[inline]
    pub(crate) fn is_passed(&self, class: Class, root: usize) -> bool {
        match self.params.get(class.number()) {
            Some(param) => param.root == root as u32,
            None => self.members(class).iter().any(|member| self.params[member.number()].root == root as u32),
        }
    }

    /// Returns `true` if a location of class `there` holds the class `of` after `edge` into root number `root`.
    pub(crate) fn holds_after(&self, problem: &Problem, there: Class, edge: Edge, root: usize, of: Class) -> bool {
        let param = self.params[of.number()];
        if param.root != root as u32 {
            return self.contains(there, of);
        }
        let arg = problem.edge_args(edge).get(param.position as usize);
        arg.is_some_and(|&arg| self.contains(there, self.class(arg)))
    }

    /// Returns the set of `class` and other classes, which it does not contain yet.
    pub(crate) fn with(&mut self, class: Class, others: impl Iterator<Item = Class>) -> Class {
        let start = self.members.len();
        for i in 0..self.members(class).len() {
            let member = self.members(class)[i];
            self.members.push(member);
        }
        self.members.extend(others);
        self.new_set(start)
    }

    /// Returns the subset of `class` whose members satisfy `keep`. This is `class` itself if all members do.
    #[inline]
    pub(crate) fn filtered(&mut self, class: Class, keep: impl Fn(&ValueNumbering, Class) -> bool) -> Class {
        if class.number() < self.classes.len() {
            return if keep(self, class) { class } else { Class::NONE };
        }
        let start = self.members.len();
        let count = self.members(class).len();
        for i in 0..count {
            let member = self.members(class)[i];
            if keep(self, member) {
                self.members.push(member);
            }
        }
        let kept = self.members.len() - start;
        if kept > 1 && kept < count {
            return self.new_set(start);
        }
        let one = self.members.get(start).copied().unwrap_or(Class::NONE);
        self.members.truncate(start);
        if kept == count { class } else { one }
    }

    /// Returns the set of the members from `start` on.
    fn new_set(&mut self, start: usize) -> Class {
        self.set_ends.push(self.members.len() as u32);
        let number = self.classes.len() + self.set_ends.len() - 1;
        let refs = self.members[start..].iter().filter(|member| member.is_ref()).count();
        self.has_mixed |= refs != 0 && refs != self.members.len() - start;
        self.members[start].in_set(number, refs != 0)
    }

    /// Returns `true` if the class is a set of references and other values.
    #[inline]
    pub(crate) fn is_mixed(&self, class: Class) -> bool {
        self.has_mixed && class.is_ref() && !self.members(class).iter().all(|member| member.is_ref())
    }

    /// Returns `true` if there are more classes or members than can be numbered.
    pub(crate) fn is_full(&self) -> bool {
        self.classes.len() + self.set_ends.len() >= MAX_CLASSES || self.members.len() >= u32::MAX as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::RegClass;

    /// Checks random copies, cycles included: values that lead to one first value are copies of each other.
    #[test]
    fn random_copies_have_a_first() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let mut problem = Problem::default();
            let vregs: Vec<VReg> = (0..1 + random(30)).map(|_| problem.add_vreg(RegClass::Int, 8, false)).collect();
            let mut numbering = ValueNumbering::default();
            numbering.reset(&problem);
            let from: Vec<VReg> = vregs.iter().map(|_| vregs[random(vregs.len())]).collect();
            for (&to, &from) in vregs.iter().zip(&from) {
                numbering.copy(&problem, from, to);
            }
            for (&to, &from) in vregs.iter().zip(&from) {
                let first = numbering.first(to);
                assert_eq!((numbering.first(first), numbering.first(from)), (first, first), "{to} in {from:?}");
            }
        }
    }
}
