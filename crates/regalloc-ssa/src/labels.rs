//! Where values are that debug labels name: noted as they move, and matched with the labels asked for at the end.

use crate::tables::reset;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Inst, LabelRange, Loc, PReg, Problem, VReg};
use kingpost_regalloc_common::answer;

/// Location of a labeled value over a few instructions; its slot if there is no register.
#[derive(Clone, Copy)]
struct Interval {
    vreg: VReg,
    reg: Option<PReg>,
    from: Inst,
    to: Inst,
}

#[derive(Default)]
pub(crate) struct Labels {
    intervals: Vec<Interval>,
    /// Per value, its interval under way.
    open: Vec<Option<(Option<PReg>, Inst)>>,
    list: Vec<VReg>,
    has_labels: bool,
}

impl Labels {
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.intervals.clear();
        self.list.clear();
        self.has_labels = !problem.labels.is_empty();
        if !problem.labels.is_empty() {
            reset(&mut self.open, problem.vregs.len(), None);
        }
    }

    /// Returns `true` if the problem has labels.
    pub(crate) fn any(&self) -> bool {
        self.has_labels
    }

    /// Returns `true` if no value is being followed.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Notes where a labeled value is from `from` on.
    pub(crate) fn note(&mut self, vreg: VReg, reg: Option<PReg>, from: Inst) {
        match self.open[vreg.index()] {
            Some((before, _)) if before == reg => return,
            Some((before, start)) if start < from => {
                self.intervals.push(Interval { vreg, reg: before, from: start, to: from })
            }
            Some(_) => {}
            None => self.list.push(vreg),
        }
        self.open[vreg.index()] = Some((reg, from));
    }

    /// A labeled value is no more, or the block ends.
    fn close(&mut self, vreg: VReg, to: Inst) {
        if let Some((reg, from)) = self.open[vreg.index()].take()
            && from < to
        {
            self.intervals.push(Interval { vreg, reg, from, to });
        }
    }

    /// The block ends.
    pub(crate) fn close_all(&mut self, to: Inst) {
        while let Some(vreg) = self.list.pop() {
            self.close(vreg, to);
        }
    }

    /// Labeled values that die in `inst` or moved before it. `at` is where those are that live through, `read` where
    /// `inst` reads those that it uses.
    pub(crate) fn update(
        &mut self,
        inst: Inst,
        at: impl Fn(VReg) -> Option<Option<PReg>>,
        read: impl Fn(VReg) -> Option<Loc>,
    ) {
        let mut i = 0;
        while let Some(&vreg) = self.list.get(i) {
            match at(vreg) {
                Some(reg) => {
                    self.note(vreg, reg, inst);
                    i += 1;
                }
                None => {
                    match read(vreg) {
                        Some(loc) => {
                            self.note(vreg, loc.as_reg(), inst);
                            self.close(vreg, Inst::from_u32(inst.as_u32() + 1));
                        }
                        None => self.close(vreg, inst),
                    }
                    self.list.swap_remove(i);
                }
            }
        }
    }

    /// Answers the labels asked for. A value in no register is in the slot that `slot` returns, if memory has it at
    /// all.
    pub(crate) fn emit(&mut self, problem: &Problem, out: &mut Allocation, slot: impl Fn(VReg) -> Option<Loc>) {
        self.intervals.sort_by_key(|interval| (interval.vreg, interval.from));
        for asked in &problem.labels {
            let first =
                self.intervals.partition_point(|interval| (interval.vreg, interval.to) <= (asked.vreg, asked.from));
            let intervals = self.intervals[first..].iter().take_while(|s| s.vreg == asked.vreg && s.from < asked.to);
            for interval in intervals {
                let loc = interval.reg.map(Loc::reg).or_else(|| slot(asked.vreg));
                let (from, to) = (interval.from.max(asked.from), interval.to.min(asked.to));
                if let Some(loc) = loc.filter(|_| from < to) {
                    out.labels.push(LabelRange { label: asked.label, loc, from, to });
                }
            }
        }
        answer::sort_labels(out);
    }
}
