//! Where the values that debug information names are: in registers over their stays, else in their slots.

use crate::emit::Emit;
use crate::resolve::Input;
use kingpost_regalloc::{LabelUse, Loc};
use kingpost_regalloc_common::answer;
use kingpost_regalloc_common::order::OrderedBlock;
use kingpost_regalloc_common::point::{Position, ProgPoint};

impl Emit<'_> {
    /// Says where a labelled value is, stretch by stretch.
    pub(crate) fn label(&mut self, wish: LabelUse) {
        let Input { problem, order, .. } = *self.input;
        let values = self.values;
        let vreg = wish.vreg;
        if !values.is_exact(vreg) || wish.from >= wish.to {
            return;
        }
        let place = *order.block(order.index(problem.block_of(wish.from)));
        let (first, end) = answer::label_insts(problem, &wish, |edge| !self.resolved.edges.of(edge).is_empty());
        let (low, high) = (place.position(first), place.position(end));
        self.s.labels.clear();
        let residence = &self.found.residence;
        let mut id = values[vreg].stay;
        while let Some(stay) = residence.stays.get(id as usize) {
            if stay.to <= ProgPoint::before(low) && !stay.is_void() {
                break;
            }
            self.s.labels.push(id);
            id = stay.prev;
        }
        for range in values.ranges(vreg) {
            let (from, to) = (first_slot(range.from).max(low), first_slot(range.to).min(high));
            self.label_range(wish, &place, from, to);
        }
    }

    /// The part of a label over slots in which its value is live.
    fn label_range(&mut self, wish: LabelUse, place: &OrderedBlock, from: Position, to: Position) {
        // The slot of a constant is written for single instructions only.
        let memory = if self.values.is_remat(wish.vreg) { Loc::NONE } else { self.memory(wish.vreg) };
        let mut at = from;
        for i in (0..self.s.labels.len()).rev() {
            let stay = *self.found.residence.stay(self.s.labels[i]);
            let (stay_from, stay_to) = (first_slot(stay.from).max(at), first_slot(stay.to).min(to));
            if stay_from < stay_to {
                self.label_piece(wish, place, memory, at, stay_from);
                let loc = Loc::reg(self.input.registers.preg(stay.reg));
                self.label_piece(wish, place, loc, stay_from, stay_to);
                at = stay_to;
            }
        }
        self.label_piece(wish, place, memory, at, to);
    }

    fn label_piece(&mut self, wish: LabelUse, place: &OrderedBlock, loc: Loc, from: Position, to: Position) {
        if from < to && !self.is_unread_constant(wish.vreg) {
            answer::push_label(self.out, wish.label, loc, place.inst(from), place.inst(to));
        }
    }
}

/// The first slot whose early point is not before `point`.
fn first_slot(point: ProgPoint) -> Position {
    point.prev().position().next()
}
