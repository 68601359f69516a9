//! The copies of one place, all at once.
//!
//! Stores come first, then copies between registers, each before its destination is overwritten in turn, then what comes
//! from memory or is computed again. What that order cannot do, as registers that change places or memory that is both
//! read and written, is left to [`ParallelMoves`].

use kingpost_regalloc::{
    Allocation, EditKind, Inst, Loc, MachineEnv, NoRegister, PReg, PRegSet, ParallelMoves, Problem, RegClass,
};

/// More copies than this are not put in order here.
const MOST: usize = 16;

#[derive(Clone, Copy, Debug)]
enum Source {
    Loc(Loc),
    Remat(Inst),
}

impl Source {
    fn as_reg(self) -> Option<PReg> {
        match self {
            Source::Loc(loc) => loc.as_reg(),
            Source::Remat(_) => None,
        }
    }
}

/// A copy from place to place.
#[derive(Clone, Copy, Debug)]
struct Copy {
    from: Source,
    to: Loc,
    class: RegClass,
    width: u8,
}

impl Copy {
    fn is_between_regs(&self) -> bool {
        self.from.as_reg().is_some() && self.to.as_reg().is_some()
    }

    /// The one edit that does it, but for what goes from memory to memory.
    fn edit(self) -> Option<EditKind> {
        let Copy { from, to, width, .. } = self;
        let to_reg = to.as_reg();
        match from {
            Source::Remat(inst) => to_reg.map(|to| EditKind::Remat { inst, to }),
            Source::Loc(from) => match (from.as_reg(), to_reg) {
                (Some(from), Some(to)) => Some(EditKind::Move { from, to, width }),
                (Some(from), None) => to.as_slot().map(|to| EditKind::Spill { from, to, width }),
                (None, Some(to)) => from.as_slot().map(|from| EditKind::Fill { from, to, width }),
                (None, None) => None,
            },
        }
    }
}

/// A parallel move under construction.
#[derive(Default)]
pub(crate) struct Moves {
    list: Vec<Copy>,
    read: PRegSet,
    written: PRegSet,
    /// Registers whose values stay.
    kept: PRegSet,
    /// One bit per remainder of the numbers of slots that are read or written.
    slots: u64,
    /// Some copies need more than an order.
    is_hard: bool,
    rest: ParallelMoves,
    /// Does `rest` know the problem?
    is_ready: bool,
}

impl Moves {
    /// Prepares for a problem.
    pub(crate) fn begin(&mut self) {
        self.clear();
        self.is_ready = false;
    }

    fn clear(&mut self) {
        self.list.clear();
        self.read = PRegSet::EMPTY;
        self.written = PRegSet::EMPTY;
        self.kept = PRegSet::EMPTY;
        self.slots = 0;
        self.is_hard = false;
    }

    pub(crate) fn add(&mut self, from: Loc, to: Loc, class: RegClass, width: u8) {
        if from == to {
            self.kept = from.as_reg().map_or(self.kept, |reg| self.kept.with(reg));
            return;
        }
        match from.as_reg() {
            Some(reg) => self.read.insert(reg),
            None => self.touch(from),
        }
        self.push(Copy { from: Source::Loc(from), to, class, width });
    }

    pub(crate) fn add_remat(&mut self, inst: Inst, to: Loc, class: RegClass, width: u8) {
        self.push(Copy { from: Source::Remat(inst), to, class, width });
    }

    fn push(&mut self, copy: Copy) {
        match copy.to.as_reg() {
            Some(reg) => {
                self.is_hard |= self.written.contains(reg);
                self.written.insert(reg);
            }
            None => {
                self.is_hard |= copy.from.as_reg().is_none();
                self.touch(copy.to);
            }
        }
        self.list.push(copy);
    }

    fn touch(&mut self, slot: Loc) {
        if let Some(slot) = slot.as_slot() {
            let bit = 1 << (slot.as_u32() % 64);
            self.is_hard |= self.slots & bit != 0;
            self.slots |= bit;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Appends to `out` edits that do all copies at once, as [`ParallelMoves::resolve`], and forgets them.
    pub(crate) fn resolve(
        &mut self,
        free: PRegSet,
        (problem, env): (&Problem, &MachineEnv),
        allocation: &mut Allocation,
        out: &mut Vec<EditKind>,
    ) -> Result<(), NoRegister> {
        let is_easy = !self.is_hard && self.list.len() <= MOST && self.in_order(out);
        let mut done = Ok(());
        if !is_easy {
            if !std::mem::replace(&mut self.is_ready, true) {
                self.rest.begin(problem);
            }
            for &Copy { from, to, class, width } in &self.list {
                match from {
                    Source::Loc(from) => self.rest.add(from, to, class, width),
                    Source::Remat(inst) => self.rest.add_remat(inst, to, class, width),
                }
            }
            done = self.rest.resolve(free.difference(self.kept), env, allocation, out);
        }
        self.clear();
        done
    }

    /// Copies that only need an order. False, and nothing done, if there is none.
    fn in_order(&self, out: &mut Vec<EditKind>) -> bool {
        let start = out.len();
        out.extend(self.list.iter().filter(|copy| copy.to.as_reg().is_none()).filter_map(|copy| copy.edit()));
        if self.read.intersection(self.written).is_empty() {
            out.extend(self.list.iter().filter(|copy| copy.to.as_reg().is_some()).filter_map(|copy| copy.edit()));
            return true;
        }
        if !self.order_regs(out) {
            out.truncate(start);
            return false;
        }
        let loads = self.list.iter().filter(|copy| copy.to.as_reg().is_some() && !copy.is_between_regs());
        out.extend(loads.filter_map(|copy| copy.edit()));
        true
    }

    /// Copies from register to register. False if some change places.
    fn order_regs(&self, out: &mut Vec<EditKind>) -> bool {
        let mut pending = [0u8; MOST];
        let mut count = 0;
        for (i, _) in self.list.iter().enumerate().filter(|(_, copy)| copy.is_between_regs()) {
            pending[count] = i as u8;
            count += 1;
        }
        while count > 0 {
            let copies = pending[..count].iter().map(|&i| &self.list[usize::from(i)]);
            let read: PRegSet = copies.filter_map(|copy| copy.from.as_reg()).collect();
            let mut left = 0;
            for k in 0..count {
                let copy = &self.list[usize::from(pending[k])];
                if copy.to.as_reg().is_some_and(|to| read.contains(to)) {
                    pending[left] = pending[k];
                    left += 1;
                } else {
                    out.extend(copy.edit());
                }
            }
            if left == count {
                return false;
            }
            count = left;
        }
        true
    }
}
