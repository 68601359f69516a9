//! Where values are that debug labels name: noted as they move, and matched with the wishes at the end.

use crate::liveness::reset;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Inst, LabelRange, Loc, PReg, Problem, VReg};

/// Where a labelled value was over a few instructions; in its slot if there is no register.
#[derive(Clone, Copy)]
struct Stay {
    vreg: VReg,
    reg: Option<PReg>,
    from: Inst,
    to: Inst,
}

#[derive(Default)]
pub(crate) struct Labels {
    stays: Vec<Stay>,
    /// Per value, its stay under way.
    open: Vec<Option<(Option<PReg>, Inst)>>,
    list: Vec<VReg>,
}

impl Labels {
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.stays.clear();
        self.list.clear();
        if !problem.labels.is_empty() {
            reset(&mut self.open, problem.vregs.len(), None);
        }
    }

    /// Is no value being followed?
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Notes where a labelled value is from `from` on.
    pub(crate) fn note(&mut self, vreg: VReg, reg: Option<PReg>, from: Inst) {
        match self.open[vreg.index()] {
            Some((before, _)) if before == reg => return,
            Some((before, start)) if start < from => self.stays.push(Stay { vreg, reg: before, from: start, to: from }),
            Some(_) => {}
            None => self.list.push(vreg),
        }
        self.open[vreg.index()] = Some((reg, from));
    }

    /// A labelled value is no more, or the block ends.
    fn close(&mut self, vreg: VReg, to: Inst) {
        if let Some((reg, from)) = self.open[vreg.index()].take()
            && from < to
        {
            self.stays.push(Stay { vreg, reg, from, to });
        }
    }

    /// The block ends.
    pub(crate) fn close_all(&mut self, to: Inst) {
        while let Some(vreg) = self.list.pop() {
            self.close(vreg, to);
        }
    }

    /// Labelled values that die in `inst` or moved before it. `at` tells where those are that live on.
    pub(crate) fn update(&mut self, inst: Inst, at: impl Fn(VReg) -> Option<Option<PReg>>) {
        let mut i = 0;
        while let Some(&vreg) = self.list.get(i) {
            match at(vreg) {
                Some(reg) => {
                    self.note(vreg, reg, inst);
                    i += 1;
                }
                None => {
                    self.close(vreg, inst);
                    self.list.swap_remove(i);
                }
            }
        }
    }

    /// Answers the wishes. A value in no register is in the slot that `slot` tells, if memory has it at all.
    pub(crate) fn emit(&mut self, problem: &Problem, out: &mut Allocation, slot: impl Fn(VReg) -> Option<Loc>) {
        self.stays.sort_by_key(|stay| (stay.vreg, stay.from));
        for wish in &problem.labels {
            let first = self.stays.partition_point(|stay| (stay.vreg, stay.to) <= (wish.vreg, wish.from));
            let stays = self.stays[first..].iter().take_while(|s| s.vreg == wish.vreg && s.from < wish.to);
            for stay in stays {
                let loc = stay.reg.map(Loc::reg).or_else(|| slot(wish.vreg));
                let (from, to) = (stay.from.max(wish.from), stay.to.min(wish.to));
                if let Some(loc) = loc.filter(|_| from < to) {
                    out.labels.push(LabelRange { label: wish.label, loc, from, to });
                }
            }
        }
        out.labels.sort_by_key(|range| (range.label, range.from));
    }
}
