//! The abstract state: which values each location is known to hold.
//!
//! The set of values of a location is not stored as a set. Values known to be equal and the locations that hold them
//! have one *class*; location `l` holds value `v` if both are of one class and enough low bytes of it are in `l`. A copy
//! then costs one write however many names its value has, and a def takes its value away from every other location by
//! giving it a class that those are not of.
//!
//! Classes are numbered so that walking a block twice gives the same numbers: the class that a def of `v` makes is
//! always the same one, and each join has classes of its own. That a location has the class of `v`'s def from an
//! earlier round of a loop when the def runs is impossible: the walk that runs the def began with a stored state (see
//! `entry.rs`), whose classes are those of the first arrival there, before the def ever ran, or the join's own.
//!
//! References are known only where their cell has the state's *epoch*, which is the last safepoint. An argument like
//! the one above shows that no location has the epoch of a safepoint when that runs.

use crate::error::Origin;
use crate::persistent::{Arena, Element, Root};
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{Block, Inst, Loc, PReg, Problem, RegClass, VReg, VRegData};

const REF: u32 = 1 << 31;
const FLOAT: u32 = 1 << 30;

/// Room for classes of defs and of joins.
pub(crate) const MAX_CLASSES: usize = FLOAT as usize;

/// A set of values and locations with equal contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Class(u32);

impl Class {
    /// Nothing known.
    pub(crate) const NONE: Class = Class(0);

    fn new(number: usize, data: &VRegData) -> Class {
        let float = if data.class == RegClass::Float { FLOAT } else { 0 };
        Class((number as u32 + 1) | float | if data.is_ref { REF } else { 0 })
    }

    /// Another class of the same kind of values.
    pub(crate) fn renumbered(self, number: usize) -> Class {
        Class((number as u32 + 1) | self.0 & (REF | FLOAT))
    }

    pub(crate) fn is_ref(self) -> bool {
        self.0 & REF != 0
    }

    pub(crate) fn reg_class(self) -> RegClass {
        if self.0 & FLOAT != 0 { RegClass::Float } else { RegClass::Int }
    }

    /// Are both kinds of values the same?
    pub(crate) fn is_like(self, other: Class) -> bool {
        (self.0 ^ other.0) & (REF | FLOAT) == 0
    }
}

impl Element for Class {
    fn is_unknown(&self) -> bool {
        *self == Class::NONE
    }

    fn same(&self, other: &Class) -> bool {
        self == other
    }
}

/// When references were last known: at the entry, at a safepoint, or at a join of different epochs.
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

/// What is known about one location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) class: Class,
    pub(crate) epoch: Epoch,
    pub(crate) bytes: u8,
    pub(crate) origin: Origin,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell { class: Class::NONE, epoch: Epoch::default(), bytes: 0, origin: Origin::Nothing }
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

/// One version of the state.
#[derive(Clone, Copy, Default)]
pub(crate) struct Version {
    pub(crate) names: Root,
    pub(crate) locs: Root,
    pub(crate) epoch: Epoch,
    safepoint: Option<Inst>,
}

impl Version {
    /// What a cell says if the state is in this version's epoch.
    pub(crate) fn class_of(&self, cell: &Cell) -> Class {
        if cell.class.is_ref() && cell.epoch != self.epoch { Class::NONE } else { cell.class }
    }
}

/// A version to which [`State::undo`] goes back.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    version: Version,
    names: (usize, usize),
    locs: (usize, usize),
}

/// Something that a label claim may depend on changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// The location with this index.
    Loc(usize),
    /// The class of this value.
    Name(VReg),
    /// All references.
    Epoch,
}

/// The current version, and the memory of all.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) now: Version,
    pub(crate) names: Arena<Class>,
    pub(crate) locs: Arena<Cell>,
    /// Values that are always the same: those of rematerialisable instructions.
    constants: Vec<bool>,
    /// What to say of a location that nothing wrote since the walk began.
    untouched: Option<Block>,
    /// Are changes noted?
    pub(crate) watched: bool,
    pub(crate) changes: Vec<Change>,
}

/// Dense number of a location: registers first, then slots.
pub(crate) fn loc_index(loc: Loc) -> usize {
    match (loc.as_reg(), loc.as_slot()) {
        (Some(reg), _) => reg.index(),
        (_, Some(slot)) => PReg::COUNT + slot.index(),
        _ => unreachable!("an operand without location is reported before the states are looked at"),
    }
}

impl State {
    /// Nothing is known about any of the problem's values and the given number of slots.
    pub(crate) fn reset(&mut self, problem: &Problem, slots: usize, constants: impl Iterator<Item = VReg>) {
        self.now = Version::default();
        self.names.reset(problem.vregs.len());
        self.locs.reset(PReg::COUNT + slots);
        self.untouched = None;
        self.watched = false;
        self.changes.clear();
        self.constants.clear();
        self.constants.resize(problem.vregs.len(), false);
        constants.for_each(|vreg| self.constants[vreg.index()] = true);
    }

    /// A walk begins with a stored version; `block` is where, unless it is the entry of the function.
    pub(crate) fn begin(&mut self, version: Version, block: Option<Block>) {
        self.names.freeze();
        self.locs.freeze();
        self.now = version;
        self.untouched = block;
    }

    pub(crate) fn mark(&mut self) -> Mark {
        self.names.freeze();
        self.locs.freeze();
        Mark { version: self.now, names: self.names.len(), locs: self.locs.len() }
    }

    pub(crate) fn undo(&mut self, mark: Mark) {
        self.now = mark.version;
        self.names.give_back(mark.names);
        self.locs.give_back(mark.locs);
    }

    /// The current version stays whatever is undone.
    pub(crate) fn keep(&mut self) {
        self.names.keep();
        self.locs.keep();
    }

    /// The class that a def of `vreg` makes.
    pub(crate) fn class_of_def(&self, vregs: &PrimaryMap<VReg, VRegData>, vreg: VReg) -> Class {
        Class::new(vreg.index(), &vregs[vreg])
    }

    pub(crate) fn name(&self, vregs: &PrimaryMap<VReg, VRegData>, vreg: VReg) -> Class {
        match self.constants[vreg.index()] {
            true => self.class_of_def(vregs, vreg),
            false => self.names.get(self.now.names, vreg.index()),
        }
    }

    fn note(&mut self, change: Change) {
        if self.watched {
            self.changes.push(change);
        }
    }

    pub(crate) fn set_name(&mut self, vreg: VReg, class: Class) {
        self.note(Change::Name(vreg));
        self.now.names = self.names.set(self.now.names, vreg.index(), class);
    }

    pub(crate) fn content(&self, loc: Loc) -> Content {
        let cell = self.locs.get(self.now.locs, loc_index(loc));
        match self.now.class_of(&cell) {
            Class::NONE => UNKNOWN,
            class => Content { class, bytes: cell.bytes },
        }
    }

    pub(crate) fn origin(&self, loc: Loc) -> Origin {
        let cell = self.locs.get(self.now.locs, loc_index(loc));
        match (cell.origin, self.untouched, self.now.safepoint) {
            (_, _, Some(inst)) if cell.class.is_ref() && cell.epoch != self.now.epoch => Origin::Safepoint(inst),
            (Origin::Nothing, Some(block), _) => Origin::Entry(block),
            (origin, ..) => origin,
        }
    }

    pub(crate) fn set(&mut self, loc: Loc, content: Content, origin: Origin) {
        self.note(Change::Loc(loc_index(loc)));
        let cell = Cell { class: content.class, epoch: self.now.epoch, bytes: content.bytes, origin };
        self.now.locs = self.locs.set(self.now.locs, loc_index(loc), cell);
    }

    /// Forgets what the location holds.
    pub(crate) fn kill(&mut self, loc: Loc, origin: Origin) {
        if self.content(loc).class != Class::NONE {
            self.set(loc, UNKNOWN, origin);
        }
    }

    /// Does `loc` hold all of `vreg`?
    pub(crate) fn holds(&self, vregs: &PrimaryMap<VReg, VRegData>, vreg: VReg, loc: Loc) -> bool {
        let content = self.content(loc);
        content.class != Class::NONE && content.class == self.name(vregs, vreg) && vregs[vreg].width <= content.bytes
    }

    /// From here on no location holds a reference, except those that [`State::keep_reference`] names.
    pub(crate) fn begin_epoch(&mut self, inst: Inst) {
        self.note(Change::Epoch);
        self.now.epoch = Epoch::safepoint(inst);
        self.now.safepoint = Some(inst);
    }

    /// The reference that `loc` held in epoch `last` is there in this one.
    pub(crate) fn keep_reference(&mut self, loc: Loc, last: Epoch) {
        let cell = self.locs.get(self.now.locs, loc_index(loc));
        if cell.class.is_ref() && cell.epoch == last {
            self.set(loc, Content { class: cell.class, bytes: cell.bytes }, cell.origin);
        }
    }

    /// All values of a class, in order. It looks at every value: for messages only.
    pub(crate) fn values(&self, vregs: &PrimaryMap<VReg, VRegData>, class: Class) -> Vec<VReg> {
        vregs.keys().filter(|&vreg| class != Class::NONE && self.name(vregs, vreg) == class).collect()
    }
}
