//! The copies of one place, all at once. A single one, as most are, needs no ordering.

use kingpost_regalloc::{
    Allocation, EditKind, Inst, Loc, MachineEnv, NoRegister, PRegSet, ParallelMoves, Problem, RegClass,
};

/// A copy from place to place.
#[derive(Clone, Copy, Debug)]
struct Copy {
    from: Loc,
    to: Loc,
    class: RegClass,
    width: u8,
}

impl Copy {
    /// The one edit that does it, but for copies from slot to slot.
    fn edit(self) -> Option<EditKind> {
        let Copy { from, to, width, .. } = self;
        match (from.as_reg(), from.as_slot(), to.as_reg(), to.as_slot()) {
            (Some(from), _, Some(to), _) => Some(EditKind::Move { from, to, width }),
            (Some(from), _, _, Some(to)) => Some(EditKind::Spill { from, to, width }),
            (_, Some(from), Some(to), _) => Some(EditKind::Fill { from, to, width }),
            _ => None,
        }
    }
}

/// A parallel move under construction.
#[derive(Default)]
pub(crate) struct Moves {
    /// All but the first, and the first once there is another.
    rest: ParallelMoves,
    first: Option<Copy>,
    /// Registers whose values stay.
    kept: PRegSet,
}

impl Moves {
    /// Prepares for a problem.
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.rest.begin(problem);
        self.first = None;
        self.kept = PRegSet::EMPTY;
    }

    pub(crate) fn add(&mut self, from: Loc, to: Loc, class: RegClass, width: u8) {
        if from == to {
            self.kept = from.as_reg().map_or(self.kept, |reg| self.kept.with(reg));
        } else if self.is_empty() {
            self.first = Some(Copy { from, to, class, width });
        } else {
            self.pass_first();
            self.rest.add(from, to, class, width);
        }
    }

    pub(crate) fn add_remat(&mut self, inst: Inst, to: Loc, class: RegClass, width: u8) {
        self.pass_first();
        self.rest.add_remat(inst, to, class, width);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_empty()
    }

    fn pass_first(&mut self) {
        if let Some(Copy { from, to, class, width }) = self.first.take() {
            self.rest.add(from, to, class, width);
        }
    }

    /// Appends to `out` edits that do all copies at once, as [`ParallelMoves::resolve`].
    pub(crate) fn resolve(
        &mut self,
        free: PRegSet,
        env: &MachineEnv,
        allocation: &mut Allocation,
        out: &mut Vec<EditKind>,
    ) -> Result<(), NoRegister> {
        let kept = std::mem::take(&mut self.kept);
        if let Some(edit) = self.first.and_then(Copy::edit) {
            self.first = None;
            out.push(edit);
            return Ok(());
        }
        self.pass_first();
        if self.rest.is_empty() {
            return Ok(());
        }
        self.rest.resolve(free.difference(kept), env, allocation, out)
    }
}
