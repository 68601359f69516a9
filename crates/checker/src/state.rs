//! The abstract state: the class of values that each location is known to hold.
//!
//! Registers are few and stored in an array. Slots may be many and are a version of an array whose versions share
//! common parts (`persistent.rs`), so that a stored state costs only its differences.
//!
//! A reference is known only if its cell has the state's *epoch*, which is the last safepoint. Passing a safepoint
//! then costs as much as its stack map has entries. No location has the epoch of a safepoint when the safepoint
//! runs, by the argument in `value_numbering.rs`.

use crate::class::Class;
use crate::error::{CheckError, Found, Origin};
use crate::persistent::{Arena, Element, Root};
use crate::value_numbering::ValueNumbering;
use cranelift_entity::EntityRef;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, Inst, Loc, MachineEnv, PReg, Problem, RegClass, VReg};
use std::collections::BTreeSet;

/// The point at which references were last known: the entry, a safepoint, or a join of different epochs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Epoch(u32);

impl Epoch {
    pub(crate) fn safepoint(inst: Inst) -> Epoch {
        Epoch(inst.as_u32().wrapping_mul(2).wrapping_add(1))
    }

    pub(crate) fn join(root: usize) -> Epoch {
        Epoch((root as u32).wrapping_mul(2).wrapping_add(2))
    }
}

/// Known content of one location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) class: Class,
    pub(crate) epoch: Epoch,
    pub(crate) bytes: u8,
    pub(crate) origin: Origin,
}

pub(crate) const UNKNOWN_CELL: Cell = Cell { class: Class::NONE, epoch: Epoch(0), bytes: 0, origin: Origin::Nothing };

impl Cell {
    /// Returns its class in a state of this epoch.
    #[inline]
    pub(crate) fn class_in(&self, epoch: Epoch) -> Class {
        if self.class.is_ref() && self.epoch != epoch { Class::NONE } else { self.class }
    }
}

impl Default for Cell {
    fn default() -> Cell {
        UNKNOWN_CELL
    }
}

impl Element for Cell {
    fn is_unknown(&self) -> bool {
        self.class == Class::NONE
    }

    fn same(&self, other: &Cell) -> bool {
        let epoch = !self.class.is_ref() || self.epoch == other.epoch;
        self.class == other.class && self.bytes == other.bytes && epoch
    }
}

/// The contents of a location.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) class: Class,
    pub(crate) bytes: u8,
}

pub(crate) const UNKNOWN: Content = Content { class: Class::NONE, bytes: 0 };

/// The state without the registers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Version {
    pub(crate) slots: Root,
    pub(crate) epoch: Epoch,
    safepoint: Option<Inst>,
}

/// A state that [`State::restore`] restores.
struct Saved {
    version: Version,
    nodes: (usize, usize),
}

/// A change on which a label range may depend.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// The location with this index.
    Loc(usize),
    /// All references.
    Epoch,
}

/// Number of a register that allocations may not name.
const NOWHERE: u8 = u8::MAX;

/// The current state, saved states, and the memory of the slots of all states.
pub(crate) struct State {
    /// Dense number of each register that an allocation may name.
    numbers: [u8; PReg::COUNT],
    /// Cells by dense number.
    pub(crate) regs: Vec<Cell>,
    pub(crate) now: Version,
    pub(crate) slots: Arena<Cell>,
    saved: Vec<Saved>,
    saved_regs: Vec<Cell>,
    /// Block since whose head the locations without an entry of their own are unchanged.
    untouched: Option<Block>,
    /// Whether changes are recorded.
    pub(crate) watched: bool,
    pub(crate) changes: Vec<Change>,
    /// Slots that ever held each class, as lists: the first entry of each, and entries with the next.
    first_slots: Vec<u32>,
    slot_lists: Vec<(u32, u32)>,
    /// Locations that ever held an integer and a reference at once.
    mixed: BTreeSet<Loc>,
}

heap_bytes!(State { regs, slots, saved, saved_regs, changes, first_slots, slot_lists, mixed } without { numbers, now, untouched, watched });

impl Default for State {
    fn default() -> State {
        State {
            numbers: [NOWHERE; PReg::COUNT],
            regs: Vec::new(),
            now: Version::default(),
            slots: Arena::default(),
            saved: Vec::new(),
            saved_regs: Vec::new(),
            untouched: None,
            watched: false,
            changes: Vec::new(),
            first_slots: Vec::new(),
            slot_lists: Vec::new(),
            mixed: BTreeSet::new(),
        }
    }
}

/// Returns the dense number of a location: registers first, then slots.
#[inline]
pub(crate) fn loc_index(loc: Loc) -> usize {
    match (loc.as_reg(), loc.as_slot()) {
        (Some(reg), _) => reg.index(),
        (_, Some(slot)) => PReg::COUNT + slot.index(),
        _ => unreachable!("an operand without location is reported before the states are looked at"),
    }
}

const END: u32 = u32::MAX;

impl State {
    /// Resets the state: all registers of the machine and `slots` slots are unknown.
    pub(crate) fn reset(&mut self, problem: &Problem, env: &MachineEnv, slots: usize) {
        self.numbers = [NOWHERE; PReg::COUNT];
        let scratch = RegClass::ALL.into_iter().filter_map(|class| env.class(class).scratch);
        let mut count = 0;
        for reg in env.classes.iter().flat_map(|class| class.order.iter().copied()).chain(scratch) {
            self.numbers[reg.index()] = count;
            count += 1;
        }
        self.regs.clear();
        self.regs.resize(usize::from(count), UNKNOWN_CELL);
        self.now = Version::default();
        self.slots.reset(slots);
        self.saved.clear();
        self.saved_regs.clear();
        self.untouched = None;
        self.watched = false;
        self.changes.clear();
        self.first_slots.clear();
        self.first_slots.resize(if slots == 0 { 0 } else { problem.vregs.len() }, END);
        self.slot_lists.clear();
        self.mixed.clear();
    }

    /// Begins a walk with the given registers and version at `block`, which is `None` for the entry of the
    /// function.
    pub(crate) fn begin(&mut self, regs: &[Cell], version: Version, block: Option<Block>) {
        self.slots.freeze();
        self.regs.copy_from_slice(regs);
        self.now = version;
        self.untouched = block;
    }

    /// Saves the current state until [`State::restore`] has restored it for the last time.
    pub(crate) fn save(&mut self) {
        self.slots.freeze();
        self.saved.push(Saved { version: self.now, nodes: self.slots.len() });
        self.saved_regs.extend_from_slice(&self.regs);
    }

    /// Restores the last saved state.
    pub(crate) fn restore(&mut self, last_time: bool) {
        let Some(saved) = self.saved.last() else { return };
        self.now = saved.version;
        self.slots.give_back(saved.nodes);
        let start = self.saved_regs.len() - self.regs.len();
        self.regs.copy_from_slice(&self.saved_regs[start..]);
        if last_time {
            self.saved.pop();
            self.saved_regs.truncate(start);
        }
    }

    fn note(&mut self, change: Change) {
        if self.watched {
            self.changes.push(change);
        }
    }

    #[inline]
    fn cell(&self, loc: Loc) -> Cell {
        match (loc.as_reg(), loc.as_slot()) {
            (Some(reg), _) => self.regs.get(usize::from(self.numbers[reg.index()])).copied().unwrap_or_default(),
            (_, Some(slot)) => self.slots.get(self.now.slots, slot.index()),
            _ => UNKNOWN_CELL,
        }
    }

    #[inline]
    pub(crate) fn content(&self, loc: Loc) -> Content {
        let cell = self.cell(loc);
        match cell.class_in(self.now.epoch) {
            Class::NONE => UNKNOWN,
            class => Content { class, bytes: cell.bytes },
        }
    }

    pub(crate) fn origin(&self, loc: Loc) -> Origin {
        let cell = self.cell(loc);
        match (cell.origin, self.untouched, self.now.safepoint) {
            (_, _, Some(inst)) if cell.class.is_ref() && cell.epoch != self.now.epoch => Origin::Safepoint(inst),
            (Origin::Nothing, Some(block), _) => Origin::Entry(block),
            (origin, ..) => origin,
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, names: &ValueNumbering, loc: Loc, content: Content, origin: Origin) {
        if self.watched {
            self.note(Change::Loc(loc_index(loc)));
        }
        let cell = Cell { class: content.class, epoch: self.now.epoch, bytes: content.bytes, origin };
        if names.is_mixed(content.class) {
            self.mixed.insert(loc);
        }
        if let Some(reg) = loc.as_reg() {
            if let Some(reg) = self.regs.get_mut(usize::from(self.numbers[reg.index()])) {
                *reg = cell;
            }
        } else if let Some(slot) = loc.as_slot() {
            self.now.slots = self.slots.set(self.now.slots, slot.index(), cell);
            if content.class != Class::NONE {
                for &class in names.members(content.class) {
                    self.note_slot(class, slot.as_u32());
                }
            }
        }
    }

    /// Clears the content of a location.
    #[inline]
    pub(crate) fn kill(&mut self, names: &ValueNumbering, loc: Loc, origin: Origin) {
        if self.content(loc).class != Class::NONE {
            self.set(names, loc, UNKNOWN, origin);
        }
    }

    /// Clears the content of a register.
    #[inline]
    pub(crate) fn kill_reg(&mut self, reg: PReg, origin: Origin) {
        if let Some(cell) = self.regs.get_mut(usize::from(self.numbers[reg.index()]))
            && cell.class != Class::NONE
        {
            *cell = Cell { origin, ..UNKNOWN_CELL };
            self.note(Change::Loc(reg.index()));
        }
    }

    /// Returns `true` if `loc` holds all of `vreg`.
    #[inline]
    pub(crate) fn holds(&self, names: &ValueNumbering, problem: &Problem, vreg: VReg, loc: Loc) -> bool {
        let content = self.content(loc);
        content.class != Class::NONE
            && names.contains(content.class, names.class(vreg))
            && problem.width(vreg) <= content.bytes
    }

    /// Begins an epoch in which no location holds a reference, except the ones that [`State::keep_reference`]
    /// names. Of a mixed set the part remains that the collector does not change: references in the slots for which
    /// `is_mapped` returns `true`, the other values elsewhere.
    pub(crate) fn begin_epoch(&mut self, names: &mut ValueNumbering, inst: Inst, is_mapped: impl Fn(Loc) -> bool) {
        for loc in self.mixed.clone() {
            let Content { class, bytes } = self.content(loc);
            if names.is_mixed(class) {
                let kept = names.filtered(class, |_, member| member.is_ref() == is_mapped(loc));
                self.set(names, loc, Content { class: kept, bytes }, Origin::Safepoint(inst));
            }
        }
        self.note(Change::Epoch);
        self.now.epoch = Epoch::safepoint(inst);
        self.now.safepoint = Some(inst);
    }

    /// Keeps the reference that `loc` held in epoch `last`.
    pub(crate) fn keep_reference(&mut self, names: &ValueNumbering, loc: Loc, last: Epoch) {
        let cell = self.cell(loc);
        if cell.class.is_ref() && cell.epoch == last {
            self.set(names, loc, Content { class: cell.class, bytes: cell.bytes }, cell.origin);
        }
    }

    /// Records that a slot holds `class`.
    pub(crate) fn note_slot(&mut self, class: Class, slot: u32) {
        // The slots of a class repeat, so that comparing a few of them suffices.
        let known = self.slots_of(class).take(4).any(|known| known == slot);
        if let (false, Some(first)) = (known, self.first_slots.get_mut(class.number())) {
            self.slot_lists.push((slot, *first));
            *first = self.slot_lists.len() as u32 - 1;
        }
    }

    /// Returns the slots that ever held `class`, some of them more than once.
    pub(crate) fn slots_of(&self, class: Class) -> impl Iterator<Item = u32> {
        let mut next = self.first_slots.get(class.number()).copied().unwrap_or(END);
        std::iter::from_fn(move || {
            let &(slot, after) = self.slot_lists.get(next as usize)?;
            next = after;
            Some(slot)
        })
    }
}

/// Adds the content of `loc` to an error. It examines every value, so it is for messages only.
pub(crate) fn with_content(
    error: CheckError,
    problem: &Problem,
    names: &ValueNumbering,
    state: &State,
    loc: Loc,
) -> CheckError {
    let content = state.content(loc);
    let holds = |&vreg: &VReg| content.class != Class::NONE && names.contains(content.class, names.class(vreg));
    let values = problem.vregs.keys().filter(holds).collect();
    let found = Found { values, bytes: content.bytes, origin: state.origin(loc) };
    CheckError { found: Some(found), ..error.at(loc) }
}
