//! Edits, collected backwards: of two before one instruction, the one pushed later runs earlier.

use kingpost_regalloc::{Allocation, Edit, EditKind, Inst};

/// The collection. Its memory is used again.
#[derive(Default, Debug)]
pub(crate) struct Edits {
    /// Before each comes its sort key: the instruction, then how many were pushed after it.
    edits: Vec<(u64, EditKind)>,
}

impl Edits {
    pub(crate) fn begin(&mut self) {
        self.edits.clear();
    }

    /// Adds an edit before `at`, to run before those that stand there already.
    #[inline]
    pub(crate) fn push(&mut self, at: Inst, kind: EditKind) {
        let pushed = u32::MAX - self.edits.len() as u32;
        self.edits.push((u64::from(at.as_u32()) << 32 | u64::from(pushed), kind));
    }

    /// Adds edits, which run in the order given, before those that stand there already.
    pub(crate) fn push_sequence(&mut self, at: Inst, sequence: &mut Vec<EditKind>) {
        sequence.drain(..).rev().for_each(|kind| self.push(at, kind));
    }

    /// Moves all edits to the answer, in order. Those at the heads of blocks come late, and few; the others are in order already
    /// if the blocks are.
    pub(crate) fn finish(&mut self, out: &mut Allocation) {
        self.edits.reverse();
        self.edits.sort_by_key(|&(key, _)| key);
        let edits = self.edits.drain(..);
        out.edits.extend(edits.map(|(key, kind)| Edit { at: Inst::from_u32((key >> 32) as u32), kind }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::PReg;

    #[test]
    fn what_is_pushed_later_runs_earlier() {
        let [mut edits, mut out] = [(); 2].map(|()| Edits::default()).map(|edits| (edits, Allocation::default()));
        let kind = |reg| EditKind::Remat { inst: Inst::from_u32(0), to: PReg::int(reg) };
        for (at, reg) in [(7, 3), (5, 2), (5, 1), (7, 0)] {
            edits.0.push(Inst::from_u32(at), kind(reg));
        }
        edits.0.push_sequence(Inst::from_u32(5), &mut vec![kind(8), kind(9)]);
        edits.0.finish(&mut out.1);
        let order: Vec<_> = out.1.edits.iter().map(|edit| (edit.at.as_u32(), edit.kind)).collect();
        assert_eq!(order, [(5, 8), (5, 9), (5, 1), (5, 2), (7, 0), (7, 3)].map(|(at, reg)| (at, kind(reg))));
    }
}
