//! Who lives through an instruction, and in which register.

use crate::coloring::{Coloring, Output};
use crate::instruction::{At, Choice, Scratch};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Loc, PReg, PRegSet, Pos, VReg};

impl Coloring {
    /// Keeps values where they are, if no operand and no clobber is in the way, and finds places for the others.
    pub(crate) fn choose_survivors(&mut self, at: At, output: &mut Output) {
        let (early, late) = (self.matcher.taken(0), self.matcher.taken(1));
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.displaced.clear();
        scratch.survivors.clear();
        scratch.surviving = PRegSet::EMPTY;
        scratch.claims = PRegSet::EMPTY;
        for reg in self.occupied.iter() {
            let Some(vreg) = self.resident(reg) else { continue };
            if !self.lives_on(vreg, at.inst) {
                continue;
            }
            if at.collects(vreg) {
                self.leave(at, vreg, output);
                continue;
            }
            let own = !early.contains(reg) || self.matcher.early_owner(reg).is_some_and(|need| need.vreg == vreg);
            if let Some(bound) = self.bound_to(at, vreg, late).filter(|_| !self.is_home(at, vreg, reg)) {
                scratch.keep(vreg, bound);
            } else if own && !late.contains(reg) && !at.killed(vreg).contains(reg) {
                scratch.keep(vreg, reg);
            } else {
                scratch.displaced.push((self.values[vreg.index()].next.distance, vreg));
            }
        }
        for need in self.matcher.needs.iter().filter(|need| need.is_use && !need.written) {
            let Some(reg) = need.reg else { continue };
            let lives_on = self.lives_on(need.vreg, at.inst) && !at.collects(need.vreg);
            let free = need.late || !late.contains(reg);
            let kept = scratch.survivors.iter().any(|s| s.0 == need.vreg);
            if lives_on && free && !kept && !at.killed(need.vreg).contains(reg) {
                scratch.keep(need.vreg, reg);
            }
        }
        self.claim(at, early, late, &mut scratch);
        self.settle_displaced(at, early.union(late), &mut scratch, output);
        self.scratch = scratch;
    }

    /// The register that an operand binds the value to, if it can stay there: the next one may well want it there, too.
    fn bound_to(&self, at: At, vreg: VReg, late: PRegSet) -> Option<PReg> {
        let operands = at.operands.iter().filter(|o| o.vreg() == vreg && o.is_use());
        let bound = operands.filter_map(|o| o.fixed_reg()).find(|&reg| !late.contains(reg))?;
        (!at.killed(vreg).contains(bound)).then_some(bound)
    }

    fn is_home(&self, at: At, vreg: VReg, reg: PReg) -> bool {
        at.input.homes.home(vreg) == Some(reg)
    }

    /// Open operands read their value where it is, if that register is not taken.
    fn claim(&mut self, at: At, early: PRegSet, late: PRegSet, scratch: &mut Scratch) {
        for (i, operand) in at.operands.iter().enumerate() {
            let vreg = operand.vreg();
            let (Choice::Open, Some(reg)) = (scratch.choices[i], self.values[vreg.index()].at) else { continue };
            let own = !early.contains(reg) || self.matcher.early_owner(reg).is_some_and(|need| need.vreg == vreg);
            let lasts = operand.pos() == Pos::Early || !late.contains(reg) && !at.killed(vreg).contains(reg);
            if own && lasts {
                scratch.claims.insert(reg);
                scratch.choices[i] = Choice::At(Loc::reg(reg));
            }
        }
    }

    fn settle_displaced(&mut self, at: At, taken: PRegSet, scratch: &mut Scratch, output: &mut Output) {
        let input = at.input;
        let mut displaced = std::mem::take(&mut scratch.displaced);
        displaced.sort_unstable();
        for &(next, vreg) in &displaced {
            if scratch.survivors.iter().any(|s| s.0 == vreg) {
                continue;
            }
            let possible =
                at.allocatable(vreg).difference(at.killed(vreg)).difference(taken).difference(scratch.claims);
            let free = possible.difference(scratch.surviving).intersection(input.plan.open);
            if let Some(reg) = self.pick(input, vreg, at.inst, self.known_end(vreg), free) {
                scratch.keep(vreg, reg);
                continue;
            }
            let rivals = scratch.survivors.iter().enumerate().filter(|(_, s)| possible.contains(s.1));
            let farthest =
                rivals.max_by_key(|(_, s)| (self.values[s.0.index()].next.distance, s.0)).map(|(i, s)| (i, *s));
            match farthest {
                Some((i, (rival, reg))) if self.values[rival.index()].next.distance > next => {
                    scratch.survivors[i] = (vreg, reg);
                    self.leave(at, rival, output);
                }
                _ => self.leave(at, vreg, output),
            }
        }
        scratch.displaced = displaced;
    }

    /// A value that lives on has no register from here on.
    fn leave(&mut self, at: At, vreg: VReg, output: &mut Output) {
        let Some(from) = self.values[vreg.index()].at else { return };
        if let Some(to) = self.slot_to_write(at.input, vreg, output) {
            self.read_def(vreg);
            let problem = at.input.problem;
            self.moves.add(Loc::reg(from), Loc::slot(to), problem.class(vreg), problem.width(vreg));
        }
    }
}
