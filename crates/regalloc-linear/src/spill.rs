//! Taking a register from a value that is still live, and planning when it shall have one again.

use crate::values::NONE;
use crate::values::fact;
use crate::walk::Scan;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Event, VReg};
use kingpost_regalloc_common::order::{BlockIndex, Entries};
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::Reg;

/// How many loops around a block are looked at for a better place to split.
const LOOPS_TRIED: usize = 16;

impl Scan<'_, '_> {
    /// The value in `reg` is in memory from `point` on. If it has not been used since some loop around was entered it
    /// leaves its register where that loop begins.
    pub(crate) fn evict(&mut self, reg: Reg, point: ProgPoint) {
        let id = self.close(reg, point);
        self.found.residence.evict(id);
        let vreg = self.found.residence.stay(id).vreg;
        let at = self.inst_at(point);
        self.event(Event::Split { vreg, at });
        self.event(Event::Spill { vreg, at });
        self.out.stats.splits += 1;
        self.values.find_use(vreg, point);
        let busy = self.values.def(vreg).max(self.values[vreg].before);
        let def = self.values.def(vreg);
        if let Some(head) = self.outermost_loop(point, busy) {
            self.cut_back(id, head);
        } else if busy == def && def < point && self.values.is_at_head(vreg) && !self.values.is_edge_def(vreg) {
            // A parameter that nobody reads before it goes to memory is passed there.
            self.cut_back(id, def);
            self.values.set(vreg, fact::DEF_IN_MEM);
        }
        self.plan_reload(vreg, point);
    }

    /// The head of the outermost loop around `point` that begins after `busy`.
    fn outermost_loop(&self, point: ProgPoint, busy: ProgPoint) -> Option<ProgPoint> {
        let mut best = None;
        for l in self.order.loops_around(self.order.index_at(point.position())).take(LOOPS_TRIED) {
            let place = self.order.block(l.header);
            if place.start() <= busy {
                break;
            }
            // Only where paths meet do edges compare registers; other heads take over what their predecessor left.
            if l.entries != Entries::Anywhere && place.start() < point && self.problem.preds(place.block).len() >= 2 {
                best = Some(place.start());
            }
        }
        best
    }

    /// The value is in memory at `point`. If its next use is in a loop further on, it should be in a register when that
    /// loop begins.
    pub(crate) fn plan_reload(&mut self, vreg: VReg, point: ProgPoint) {
        let next = self.values.next_use(vreg, point);
        if next >= self.values.end(vreg) {
            return;
        }
        let here = self.order.index_at(point.position());
        let around = self.order.loops_around(self.order.index_at(next.position())).take(LOOPS_TRIED);
        let ahead = around.take_while(|l| l.header > here).last();
        if let Some(head) = ahead.map(|l| l.header)
            && self.problem.preds(self.order.block(head).block).len() >= 2
        {
            let list = &mut self.s.reload_heads[head.index()];
            self.s.reloads.push((vreg, *list));
            *list = self.s.reloads.len() as u32 - 1;
        }
    }

    /// Gives registers that are left to the values that wait for one at the head of the block at `at`.
    pub(crate) fn reload_at_head(&mut self, at: BlockIndex) {
        let point = self.order.block(at).start();
        let mut item = self.s.reload_heads[at.index()];
        while item != NONE {
            let (vreg, next) = self.s.reloads[item as usize];
            item = next;
            // In an unusual order the value may wait for a register since before its definition, which is settled.
            let begins = self.values.def(vreg) == point;
            if begins || !self.values.home(vreg).is_none() || !self.values.is_live(vreg, point) {
                continue;
            }
            let class = self.values[vreg].class();
            let until = self.values.next_use(vreg, point);
            let fresh = self.registers.callee_saved[class] & !self.found.residence.used[class];
            let free = self.registers.allocatable[class] & !self.found.residence.held[class] & !fresh;
            let good = free & !self.blocked(vreg, until);
            if good != 0 {
                let reg = self.choose(vreg, good, point, Reg::NONE);
                self.open(vreg, reg, point, false);
                self.found.settled[at.index()] = NONE;
            }
        }
    }
}
