//! An array whose versions share common parts.
//!
//! A version is a root number; a write makes a new version and leaves the old one unchanged. Comparing two versions
//! takes time proportional to the writes since they diverged, because common parts are the same nodes. Nodes made
//! since the last [`Arena::freeze`] belong to one version only and are overwritten in place.

use kingpost_meter::heap_bytes;

const FAN: usize = 8;
const BITS: u32 = FAN.trailing_zeros();

/// A version: the number of its topmost node, or 0 if all elements have their default value.
pub(crate) type Root = u32;

/// Elements that may be unknown.
pub(crate) trait Element: Copy + Default {
    /// Returns `true` if the content is unknown.
    fn is_unknown(&self) -> bool;
    /// Returns `true` if both have equal contents, whatever their origin.
    fn same(&self, other: &Self) -> bool;
}

/// Nodes of all versions.
#[derive(Default)]
pub(crate) struct Arena<T> {
    /// Nodes above the leaves; node `n` is `inner[n - 1]`.
    inner: Vec<[u32; FAN]>,
    leaves: Vec<[T; FAN]>,
    /// Levels of inner nodes.
    height: u32,
    frozen: (usize, usize),
    /// Numbers of nodes that belong to kept versions.
    kept: (usize, usize),
}

heap_bytes!(Arena<T> { inner, leaves } without { height, frozen, kept });

impl<T: Element> Arena<T> {
    /// Clears all versions. Elements are numbered up to `len`.
    pub(crate) fn reset(&mut self, len: usize) {
        self.inner.clear();
        self.leaves.clear();
        (self.frozen, self.kept) = ((0, 0), (0, 0));
        self.height = 0;
        let mut reach = FAN;
        while reach < len {
            reach *= FAN;
            self.height += 1;
        }
    }

    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.inner.len(), self.leaves.len())
    }

    /// Keeps every existing version unchanged from here on.
    pub(crate) fn freeze(&mut self) {
        self.frozen = self.len();
    }

    /// Keeps the existing versions when [`Arena::give_back`] drops nodes.
    pub(crate) fn keep(&mut self) {
        self.freeze();
        self.kept = self.len();
    }

    /// Drops the nodes made since the arena had the given length, except kept ones.
    pub(crate) fn give_back(&mut self, len: (usize, usize)) {
        self.inner.truncate(len.0.max(self.kept.0));
        self.leaves.truncate(len.1.max(self.kept.1));
        self.freeze();
    }

    pub(crate) fn get(&self, root: Root, index: usize) -> T {
        let mut node = root;
        for level in (1..=self.height).rev() {
            match node {
                0 => return T::default(),
                _ => node = self.inner[node as usize - 1][digit(index, level)],
            }
        }
        if node == 0 { T::default() } else { self.leaves[node as usize - 1][digit(index, 0)] }
    }

    /// Returns the version in which element `index` is `value` and all other elements are as in `root`.
    pub(crate) fn set(&mut self, root: Root, index: usize, value: T) -> Root {
        let top = self.own(root, self.height);
        let mut node = top;
        for level in (1..=self.height).rev() {
            let child = self.inner[node as usize - 1][digit(index, level)];
            let own = self.own(child, level - 1);
            self.inner[node as usize - 1][digit(index, level)] = own;
            node = own;
        }
        self.leaves[node as usize - 1][digit(index, 0)] = value;
        top
    }

    /// Returns the version in which element `index` is unknown. Nodes without a known element are left out, so that
    /// comparisons skip them.
    pub(crate) fn clear(&mut self, root: Root, index: usize) -> Root {
        self.clear_below(root, self.height, index)
    }

    fn clear_below(&mut self, node: u32, level: u32, index: usize) -> u32 {
        if node == 0 {
            return 0;
        }
        let own = self.own(node, level);
        let (at, place) = (own as usize - 1, digit(index, level));
        let empty = if level == 0 {
            self.leaves[at][place] = T::default();
            self.leaves[at].iter().all(T::is_unknown)
        } else {
            let child = self.clear_below(self.inner[at][place], level - 1, index);
            self.inner[at][place] = child;
            self.inner[at] == [0; FAN]
        };
        if empty { 0 } else { own }
    }

    /// Returns a node with the contents of `node` that may be overwritten.
    fn own(&mut self, node: u32, level: u32) -> u32 {
        let index = (node as usize).wrapping_sub(1);
        if level > 0 {
            if node != 0 && index >= self.frozen.0 {
                return node;
            }
            let contents = if node == 0 { [0; FAN] } else { self.inner[index] };
            self.inner.push(contents);
            return self.inner.len() as u32;
        }
        if node != 0 && index >= self.frozen.1 {
            return node;
        }
        let contents = if node == 0 { [T::default(); FAN] } else { self.leaves[index] };
        self.leaves.push(contents);
        self.leaves.len() as u32
    }

    /// Calls `differs` in order for each element that is known in `a` and that `b` lacks or has with another
    /// content.
    pub(crate) fn differences(&self, a: Root, b: Root, differs: &mut impl FnMut(usize, T, T)) {
        self.compare(a, b, self.height, 0, differs);
    }

    fn compare(&self, a: u32, b: u32, level: u32, first: usize, differs: &mut impl FnMut(usize, T, T)) {
        if a == b || a == 0 {
            return;
        }
        for place in 0..FAN {
            let index = first * FAN + place;
            if level > 0 {
                let child = |node: u32| if node == 0 { 0 } else { self.inner[node as usize - 1][place] };
                self.compare(child(a), child(b), level - 1, index, differs);
                continue;
            }
            let of = |node: u32| if node == 0 { T::default() } else { self.leaves[node as usize - 1][place] };
            let (in_a, in_b) = (of(a), of(b));
            if !in_a.is_unknown() && !in_a.same(&in_b) {
                differs(index, in_a, in_b);
            }
        }
    }
}

fn digit(index: usize, level: u32) -> usize {
    index >> (level * BITS) & (FAN - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Element for u32 {
        fn is_unknown(&self) -> bool {
            *self == 0
        }

        fn same(&self, other: &u32) -> bool {
            self == other
        }
    }

    fn differences(arena: &Arena<u32>, a: Root, b: Root) -> Vec<(usize, u32, u32)> {
        let mut found = Vec::new();
        arena.differences(a, b, &mut |index, a, b| found.push((index, a, b)));
        found
    }

    #[test]
    fn versions_are_independent() {
        for len in [1, 8, 9, 64, 1000] {
            let mut arena = Arena::default();
            arena.reset(len);
            let old = (0..len).fold(0, |root, index| arena.set(root, index, index as u32 + 1));
            arena.freeze();
            let new = arena.set(old, len - 1, 0);
            let new = arena.set(new, 0, 77);
            assert_eq!((arena.get(old, 0), arena.get(new, 0), arena.get(0, 0)), (1, 77, 0));
            let expected: &[_] = if len == 1 { &[(0, 1, 77)] } else { &[(0, 1, 77), (len - 1, len as u32, 0)] };
            assert_eq!(differences(&arena, old, new), expected);
            assert_eq!(differences(&arena, old, 0).len(), len);
            assert_eq!(differences(&arena, 0, old).len(), 0);
            arena.freeze();
            let cleared = (1..len).fold(old, |root, index| arena.clear(root, index));
            assert_eq!(differences(&arena, cleared, 0), [(0, 1, 0)]);
            assert_eq!((arena.clear(cleared, 0), arena.get(old, len - 1)), (0, len as u32));
        }
    }

    #[test]
    fn kept_versions_survive() {
        let mut arena = Arena::default();
        arena.reset(100);
        let start = arena.len();
        let kept = arena.set(0, 50, 5);
        arena.keep();
        let _ = arena.set(kept, 50, 6);
        arena.give_back(start);
        let other = arena.set(0, 50, 7);
        assert_eq!((arena.get(kept, 50), arena.get(other, 50)), (5, 7));
    }
}
