//! Equal widths for block parameters and their arguments.
//!
//! Uses of a value may read more bytes of its register than its type has, or look through a truncation to a wider
//! value. In an allocation problem an argument is as wide as its parameter, so all values that are connected by edges
//! get the largest width among them. Their upper bytes are undefined but copied.
//!
//! Algorithm: union-find over the pairs, only if some pair differs. Cost: near-linear in pairs.

use cranelift_entity::{PrimaryMap, SecondaryMap};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Problem, VReg, VRegData};

/// Pairs of argument and parameter. Cleared and reused.
#[derive(Default, Debug)]
pub(crate) struct EdgeWidths {
    pairs: Vec<(VReg, VReg)>,
    /// Another member of the set plus one, or 0 for the set's root.
    link: SecondaryMap<VReg, u32>,
}

heap_bytes!(EdgeWidths { pairs, link });

impl EdgeWidths {
    /// Widens all values of a problem that edges connect to an equal width.
    pub(crate) fn unify(&mut self, problem: &mut Problem) {
        self.pairs.clear();
        let mut differ = false;
        for edge in problem.edges() {
            let args = problem.edge_args(edge);
            if args.is_empty() {
                continue;
            }
            for (&arg, &param) in args.iter().zip(problem.params(problem.edge(edge).to)) {
                self.pairs.push((arg, param));
                differ |= problem.width(arg) != problem.width(param);
            }
        }
        if differ {
            self.unify_pairs(&mut problem.vregs);
        }
    }

    fn unify_pairs(&mut self, vregs: &mut PrimaryMap<VReg, VRegData>) {
        self.link.clear();
        self.link.resize(vregs.len());
        for i in 0..self.pairs.len() {
            let (arg, param) = self.pairs[i];
            let (a, b) = (self.root(arg), self.root(param));
            vregs[b].width = vregs[a].width.max(vregs[b].width);
            if a != b {
                self.link[a] = b.as_u32() + 1;
            }
        }
        for i in 0..self.pairs.len() {
            for vreg in <[VReg; 2]>::from(self.pairs[i]) {
                let root = self.root(vreg);
                vregs[vreg].width = vregs[root].width;
            }
        }
    }

    /// Returns the root of the set, with path halving. Takes at most one step for each value: links lead from the
    /// root of one set to the root of another one, so they form no cycle.
    fn root(&mut self, mut vreg: VReg) -> VReg {
        while let Some(up) = self.link[vreg].checked_sub(1) {
            let above = self.link[VReg::from_u32(up)];
            if above != 0 {
                self.link[vreg] = above;
            }
            vreg = VReg::from_u32(up);
        }
        vreg
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use kingpost_regalloc::RegClass;

    #[test]
    fn connected_values_get_the_largest_width() {
        let mut vregs = PrimaryMap::new();
        let v: Vec<VReg> =
            [4, 4, 8, 4, 4].map(|width| vregs.push(VRegData { class: RegClass::Int, width, is_ref: false })).into();
        let pairs = vec![(v[0], v[1]), (v[1], v[0]), (v[2], v[1]), (v[3], v[4])];
        let mut widths = EdgeWidths { pairs, ..EdgeWidths::default() };
        widths.unify_pairs(&mut vregs);
        assert_eq!(vregs.values().map(|d| d.width).collect::<Vec<_>>(), [8, 8, 8, 4, 4]);
    }

    /// Checks random links, cycles among them: each value is passed to a random one, and connected values get one
    /// width.
    #[test]
    fn random_links_are_joined() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let count = 1 + random(30);
            let next: Vec<usize> = (0..count).map(|_| random(count)).collect();
            let given: Vec<u8> = (0..count).map(|_| [1, 2, 4, 8][random(4)]).collect();
            let mut vregs = PrimaryMap::new();
            given.iter().for_each(|&width| _ = vregs.push(VRegData { class: RegClass::Int, width, is_ref: false }));
            let pairs = next.iter().enumerate().map(|(from, &to)| (VReg::new(from), VReg::new(to))).collect();
            EdgeWidths { pairs, ..EdgeWidths::default() }.unify_pairs(&mut vregs);
            let mut expected = given.clone();
            for _ in 0..count {
                for (from, &to) in next.iter().enumerate() {
                    let width = expected[from].max(expected[to]);
                    (expected[from], expected[to]) = (width, width);
                }
            }
            assert_eq!(vregs.values().map(|data| data.width).collect::<Vec<_>>(), expected, "{next:?} {given:?}");
        }
    }
}
