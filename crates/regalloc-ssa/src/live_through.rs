//! The registers of values that live through a constrained instruction.

use crate::coloring::Coloring;
use crate::instruction::ColorSite;
use crate::instruction_scratch::{Read, Scratch, Taken};
use cranelift_entity::EntityRef;
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{PRegSet, VReg};

impl Coloring {
    /// Keeps values in their registers if no operand or clobber takes these, and finds free registers for the other
    /// values. Returns `true` if there are enough.
    pub(crate) fn keep_live_through(&self, at: &ColorSite, scratch: &mut Scratch) -> bool {
        let Taken { early, late } = scratch.taken;
        let lost = at.demands.clobbers.lost.union(at.demands.clobbers.partial);
        let in_way = self.map.occupied.intersection(early.union(late).union(lost));
        scratch.moved.clear();
        scratch.displaced.clear();
        let late = self.keep_in_operands(at, scratch, in_way, late);
        for reg in in_way.iter() {
            let vreg = self.map.resident(reg);
            if !self.map.lives_on(vreg, at.inst) || scratch.moved.iter().any(|moved| moved.0 == vreg) {
                continue;
            }
            let is_read = |read: &Read| (read.vreg, read.reg) == (vreg, reg);
            let is_own = !early.contains(reg) || scratch.reads.iter().any(is_read);
            let stays = is_own && !late.contains(reg) && !at.demands.killed(vreg).contains(reg);
            if !stays {
                scratch.displaced.push((self.map.values[vreg.index()].distance, vreg));
            }
        }
        for &vreg in &scratch.reloads {
            if self.map.lives_on(vreg, at.inst) && !scratch.moved.iter().any(|moved| moved.0 == vreg) {
                scratch.displaced.push((self.map.values[vreg.index()].distance, vreg));
            }
        }
        self.place_displaced(at, early.union(late), scratch)
    }

    /// Keeps a value in the register in which an operand reads it, if possible, because the next instruction may
    /// expect it there too. Returns the registers taken at the late point.
    fn keep_in_operands(&self, at: &ColorSite, scratch: &mut Scratch, in_way: PRegSet, mut late: PRegSet) -> PRegSet {
        for &Read { vreg, reg, is_late, .. } in scratch.reads.iter().filter(|read| !read.is_written) {
            let is_kept = scratch.moved.iter().any(|moved| moved.0 == vreg);
            if is_kept || !self.map.lives_on(vreg, at.inst) {
                continue;
            }
            let is_hint = |from| at.input.hints.get(vreg) == Some(from) && !in_way.contains(from);
            let stays = self.map.at(vreg).is_some_and(is_hint);
            if is_late || !stays && !late.contains(reg) && !at.demands.killed(vreg).contains(reg) {
                scratch.moved.push((vreg, reg));
                late.insert(reg);
            }
        }
        late
    }

    /// Moves values to free registers, in the order of their next uses. Returns `false` if there are too few.
    fn place_displaced(&self, at: &ColorSite, taken: PRegSet, scratch: &mut Scratch) -> bool {
        if scratch.displaced.is_empty() {
            return true;
        }
        let leaving = scratch.displaced.iter().filter_map(|&(_, vreg)| self.map.at(vreg)).collect();
        let staying = self.map.occupied.difference(self.freed(scratch.ending, &scratch.moved)).difference(leaving);
        let mut busy = scratch.moved.iter().fold(taken.union(staying), |busy, moved| busy.with(moved.1));
        sort(&mut scratch.displaced);
        for &(_, vreg) in &scratch.displaced {
            let free = at.demands.allocatable(vreg).difference(at.demands.killed(vreg)).difference(busy);
            let end = self.known_end(vreg);
            let apart = free.intersection(at.input.spills.open).difference(self.source_of_successor(vreg, scratch));
            let found = self.pick(at.input, vreg, end, apart).or_else(|| self.pick(at.input, vreg, end, free));
            let Some(to) = found else { return false };
            busy.insert(to);
            scratch.moved.push((vreg, to));
        }
        true
    }

    /// Returns the register from which an operand moves into the register of a displaced value. If the value moved there, the two
    /// would have to be exchanged, which costs more than two moves.
    fn source_of_successor(&self, displaced: VReg, scratch: &Scratch) -> PRegSet {
        let from = self.map.at(displaced);
        let successors = scratch.reads.iter().filter(|read| Some(read.reg) == from);
        successors.filter_map(|read| self.map.at(read.vreg)).collect()
    }
}
