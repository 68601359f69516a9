//! One width for every block parameter and what is passed to it.
//!
//! Uses of a value may read more bytes of its register than its type has, or look through a truncation to a
//! wider value. In an allocation problem an argument is as wide as its parameter, so all values that are connected by
//! edges get the largest width among them: the upper bytes are undefined but copied.
//!
//! Union-find over the pairs, only when some pair differs. Cost: near-linear in pairs.

use cranelift_entity::{PrimaryMap, SecondaryMap};
use kingpost_regalloc::{VReg, VRegData};

/// Pairs of argument and parameter. Cleared and used again.
#[derive(Default, Debug)]
pub(crate) struct EdgeWidths {
    pairs: Vec<(VReg, VReg)>,
    /// Another member of the set plus one, or 0 for the set's root.
    link: SecondaryMap<VReg, u32>,
}

impl EdgeWidths {
    /// Clears all pairs.
    pub(crate) fn clear(&mut self) {
        self.pairs.clear();
        self.link.clear();
    }

    /// Notes that `arg` is passed to `param`.
    pub(crate) fn add(&mut self, arg: VReg, param: VReg) {
        self.pairs.push((arg, param));
    }

    /// Makes all connected values equally wide.
    pub(crate) fn unify(&mut self, vregs: &mut PrimaryMap<VReg, VRegData>) {
        if self.pairs.iter().all(|&(arg, param)| vregs[arg].width == vregs[param].width) {
            return;
        }
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

    /// The set's root, with path halving.
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
    use kingpost_regalloc::RegClass;

    #[test]
    fn connected_values_get_the_largest_width() {
        let mut vregs = PrimaryMap::new();
        let v: Vec<VReg> =
            [4, 4, 8, 4, 4].map(|width| vregs.push(VRegData { class: RegClass::Int, width, is_ref: false })).into();
        let mut widths = EdgeWidths::default();
        widths.add(v[0], v[1]);
        widths.add(v[1], v[0]);
        widths.add(v[2], v[1]);
        widths.add(v[3], v[4]);
        widths.unify(&mut vregs);
        assert_eq!(vregs.values().map(|d| d.width).collect::<Vec<_>>(), [8, 8, 8, 4, 4]);
    }
}
