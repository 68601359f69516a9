//! The stored states at the entries of roots, and how arriving states lower them.
//!
//! The first state that arrives is stored, and the parameters are added to the locations of their arguments. Each
//! later arrival removes the contents that it does not confirm. If the stored state has `v` in a location, the
//! arriving one must have `v` there, or `v`'s argument on this edge if `v` is a parameter of the root. Sets only
//! shrink, so that the fixpoint terminates.
//!
//! All registers are compared. Of the slots, those are compared that differ, and those that are stored as holding a
//! parameter: an arriving state may agree there and mean the parameter of the previous iteration.

use crate::class::Class;
use crate::state::{Cell, Epoch, State, UNKNOWN_CELL, Version};
use crate::value_numbering::ValueNumbering;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{Edge, Problem};

/// The stored state at the entry of a root, without the registers.
#[derive(Default)]
pub(crate) struct Entry {
    /// Whether some walk has arrived.
    pub(crate) reached: bool,
    pub(crate) version: Version,
    /// Slots stored as holding parameters of the root.
    params: Vec<u32>,
    /// Slots of references, after arrivals of different epochs were joined.
    refs: Option<Vec<u32>>,
}

/// The entries of all roots.
#[derive(Default)]
pub(crate) struct Entries {
    list: Vec<Entry>,
    /// Cells of all roots, one per register and root.
    regs: Vec<Cell>,
    /// Slots to compare in a join.
    slots: Vec<u32>,
    /// Classes of arguments and parameters of an edge.
    passed: Vec<(Class, Class)>,
}

heap_bytes!(Entries { list, regs, slots, passed });

/// An edge into a root.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) edge: Edge,
    pub(crate) root: usize,
}

impl Entries {
    /// Resets the entries: only the entry of the function is reached, and its contents are unknown.
    pub(crate) fn reset(&mut self, roots: usize, regs: usize) {
        self.list.iter_mut().take(roots).for_each(|entry| {
            entry.reached = false;
            entry.params.clear();
            entry.refs = None;
        });
        self.list.resize_with(self.list.len().max(roots), Entry::default);
        self.list[0] = Entry { reached: true, ..Entry::default() };
        self.regs.resize(self.regs.len().max(roots * regs), UNKNOWN_CELL);
        self.regs[..regs].fill(UNKNOWN_CELL);
    }

    pub(crate) fn is_reached(&self, root: usize) -> bool {
        self.list[root].reached
    }

    pub(crate) fn get(&self, root: usize, regs: usize) -> (&[Cell], Version) {
        (&self.regs[root * regs..][..regs], self.list[root].version)
    }

    /// Joins the current state to the entry. Returns `true` if the entry became less precise or is reached for the
    /// first time.
    pub(crate) fn join(&mut self, state: &mut State, names: &mut ValueNumbering, arrival: Arrival) -> bool {
        let regs = state.regs.len();
        let stored = &mut self.regs[arrival.root * regs..][..regs];
        let entry = &mut self.list[arrival.root];
        if entry.reached {
            return entry.lower(stored, state, names, arrival, &mut self.slots);
        }
        entry.reached = true;
        entry.version = state.now;
        stored.copy_from_slice(&state.regs);
        state.slots.freeze();
        entry.add_params(stored, state, names, arrival, &mut self.passed);
        state.slots.keep();
        true
    }
}

impl Entry {
    /// Adds the parameters to the locations of their arguments.
    fn add_params(
        &mut self,
        stored: &mut [Cell],
        state: &mut State,
        names: &mut ValueNumbering,
        arrival: Arrival,
        passed: &mut Vec<(Class, Class)>,
    ) {
        let Arrival { problem, edge, root } = arrival;
        passed.clear();
        for (&param, &arg) in problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge)) {
            let (to, from) = (names.class(param), names.class(arg));
            if names.is_passed(to, root) {
                passed.push((from, to));
            }
        }
        sort(passed);
        for group in passed.chunk_by(|a, b| a.0 == b.0) {
            let from = group[0].0;
            let holds = |names: &ValueNumbering, there: &Cell, epoch| {
                let class = there.class_in(epoch);
                class != Class::NONE && names.contains(class, from)
            };
            for (cell, there) in stored.iter_mut().zip(&state.regs) {
                if holds(names, there, state.now.epoch) {
                    cell.class = names.with(cell.class, group.iter().map(|of| of.1));
                }
            }
            let mut slots: Vec<u32> = state.slots_of(from).collect();
            sort(&mut slots);
            slots.dedup();
            for slot in slots {
                if holds(names, &state.slots.get(state.now.slots, slot as usize), state.now.epoch) {
                    let cell = state.slots.get(self.version.slots, slot as usize);
                    let class = names.with(cell.class, group.iter().map(|of| of.1));
                    self.version.slots = state.slots.set(self.version.slots, slot as usize, Cell { class, ..cell });
                    self.params.push(slot);
                    group.iter().for_each(|of| state.note_slot(of.1, slot));
                }
            }
        }
    }

    fn lower(
        &mut self,
        stored: &mut [Cell],
        state: &mut State,
        names: &mut ValueNumbering,
        arrival: Arrival,
        slots: &mut Vec<u32>,
    ) -> bool {
        let (ours, theirs) = (self.version.epoch, state.now.epoch);
        let join = Join { arrival, ours, theirs };
        let mut changed = false;
        for (cell, there) in stored.iter_mut().zip(&state.regs) {
            changed |= join.lower(names, cell, *there);
        }
        slots.clear();
        state.slots.differences(self.version.slots, state.now.slots, &mut |index, _, _| slots.push(index as u32));
        slots.extend_from_slice(&self.params);
        if ours != theirs {
            slots.extend(self.refs.iter().flatten());
        }
        sort(slots);
        slots.dedup();
        for &slot in &*slots {
            let mut cell = state.slots.get(self.version.slots, slot as usize);
            let there = state.slots.get(state.now.slots, slot as usize);
            if cell.class != Class::NONE && join.lower(names, &mut cell, there) {
                changed = true;
                self.version.slots = match cell.class {
                    Class::NONE => state.slots.clear(self.version.slots, slot as usize),
                    _ => state.slots.set(self.version.slots, slot as usize, cell),
                };
            }
        }
        if ours != theirs && self.refs.is_none() {
            self.restamp(stored, state, slots, arrival.root);
            changed = true;
        }
        if changed {
            let version = self.version.slots;
            self.params.retain(|&slot| {
                let class = state.slots.get(version, slot as usize).class;
                class != Class::NONE && names.is_passed(class, arrival.root)
            });
            state.slots.keep();
        }
        changed
    }

    /// Begins a separate epoch for the join, with the references that both states know. Their slots are among
    /// `slots`, because cells of different epochs differ.
    fn restamp(&mut self, stored: &mut [Cell], state: &mut State, slots: &[u32], root: usize) {
        let (old, new) = (self.version.epoch, Epoch::join(root));
        for cell in stored.iter_mut().filter(|cell| cell.class.is_ref() && cell.epoch == old) {
            cell.epoch = new;
        }
        let mut refs = Vec::new();
        for &slot in slots {
            let cell = state.slots.get(self.version.slots, slot as usize);
            if cell.class.is_ref() && cell.epoch == old {
                self.version.slots = state.slots.set(self.version.slots, slot as usize, Cell { epoch: new, ..cell });
                refs.push(slot);
            }
        }
        self.version.epoch = new;
        self.refs = Some(refs);
    }
}

struct Join<'a> {
    arrival: Arrival<'a>,
    /// Epoch of the stored state.
    ours: Epoch,
    /// Epoch of the arriving state.
    theirs: Epoch,
}

impl Join<'_> {
    /// Intersects `cell` with `there`. Returns `true` if `cell` changed.
    #[inline]
    fn lower(&self, names: &mut ValueNumbering, cell: &mut Cell, there: Cell) -> bool {
        if cell.class == Class::NONE {
            return false;
        }
        let Arrival { problem, edge, root } = self.arrival;
        let same = cell.class == there.class && cell.bytes <= there.bytes && !cell.class.is_ref();
        if same && !names.is_passed(cell.class, root) {
            return false;
        }
        let (class, other) = (cell.class_in(self.ours), there.class_in(self.theirs));
        let kept = match class == Class::NONE || other == Class::NONE {
            true => Class::NONE,
            false => names.filtered(class, |names, of| names.holds_after(problem, other, edge, root, of)),
        };
        if kept == Class::NONE {
            *cell = UNKNOWN_CELL;
            return true;
        }
        let bytes = cell.bytes.min(there.bytes);
        let changed = (kept, bytes) != (cell.class, cell.bytes);
        (cell.class, cell.bytes) = (kept, bytes);
        changed
    }
}
