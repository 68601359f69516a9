//! Stores moved from the definition of a value to where it leaves its registers, if that is colder: on the way to a call
//! in a block that seldom runs.

use crate::emit::{Emit, Phase};
use crate::live::Need;
use crate::order::PRE;
use crate::places::{Piece, Where};
use kingpost_regalloc::{Edge, VReg};

/// Where a value goes to memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    /// Before the instruction at this point.
    At(u32, Where),
    /// On an edge.
    On(Edge, Where),
}

/// Values that go to memory in more places are stored where they are defined.
const MAX_EXITS: usize = 8;

/// Block ends looked at for one value.
const MAX_BLOCKS: usize = 64;

impl Emit<'_> {
    /// Decides for each value in a slot where it is stored.
    pub(crate) fn sink_stores(&mut self) {
        let mut exits = std::mem::take(&mut self.s.exits);
        for i in 0..self.places.slotted.len() {
            let vreg = self.places.slotted[i];
            if self.places.pieces(vreg).is_empty() || !self.may_sink(vreg) {
                continue;
            }
            exits.clear();
            if !self.find_exits(vreg, &mut exits) {
                continue;
            }
            self.places.sink(vreg);
            for &exit in &exits {
                let to = Where::Memory(vreg);
                match exit {
                    Exit::At(point, from) => self.add(point, Phase::Split, from, to, vreg),
                    Exit::On(edge, from) => self.edge_move(edge, from, to, vreg),
                }
            }
        }
        self.s.exits = exits;
    }

    /// Can only the value's leaving its register make its slot read?
    fn may_sink(&self, vreg: VReg) -> bool {
        let def = self.live.def(vreg);
        self.live.remat(vreg).is_none()
            && !self.problem.vregs[vreg].is_ref
            && matches!(self.places.at(vreg, def), Where::Reg(_))
            && self.live.uses(vreg).iter().all(|u| u.need != Need::Slot)
    }

    /// Lists where the value leaves a register while the slot may be out of date; false if that costs no less than a
    /// store at the def.
    fn find_exits(&self, vreg: VReg, exits: &mut Vec<Exit>) -> bool {
        let mut left = self.order.freq_at(self.live.def(vreg));
        let mut blocks = 0;
        let pieces = self.places.pieces(vreg);
        for (i, &piece) in pieces.iter().enumerate() {
            let (reg, segment) = (Where::Reg(piece.reg), piece.segment);
            if self.is_clean(vreg, &pieces[..i], &piece) {
                continue;
            }
            let first = self.order.index_at(segment.from) as usize;
            let last = self.order.index_at(segment.to - 1) as usize;
            for place in &self.order.places[first..=last] {
                blocks += 1;
                if segment.to < place.stop() {
                    let is_next = pieces.get(i + 1).is_some_and(|next| next.segment.from == segment.to);
                    if !is_next && self.live.is_live(vreg, segment.to) {
                        let point = segment.to / 4 * 4;
                        // A piece that begins there is filled by the same moves: the store reads what is before them.
                        let is_fresh = segment.from == point && point != place.start();
                        let from = if is_fresh { self.places.at(vreg, point - 1) } else { reg };
                        if from != Where::Memory(vreg) {
                            exits.push(Exit::At(point, from));
                        }
                        left = left.saturating_sub(place.freq);
                    }
                } else {
                    for &edge in self.problem.succs(place.block) {
                        blocks += 1;
                        let start = self.order.place(self.problem.edge(edge).to).start();
                        if self.live.is_live(vreg, start) && self.places.at(vreg, start) == Where::Memory(vreg) {
                            exits.push(Exit::On(edge, reg));
                            left = left.saturating_sub(self.problem.edge(edge).freq.0);
                        }
                        if left == 0 || blocks > MAX_BLOCKS {
                            return false;
                        }
                    }
                }
                if left == 0 || exits.len() > MAX_EXITS || blocks > MAX_BLOCKS {
                    return false;
                }
            }
        }
        true
    }

    /// Does the piece lie in one block and begin with a load?
    fn is_clean(&self, vreg: VReg, before: &[Piece], piece: &Piece) -> bool {
        let from = piece.segment.from;
        let place = self.order.place_at(from);
        let joins = before.last().is_some_and(|last| last.segment.to == from);
        from % 4 == PRE
            && from != place.start()
            && from != self.live.def(vreg)
            && !joins
            && piece.segment.to <= place.stop()
    }
}
