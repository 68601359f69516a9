//! The abstract state: which values each location is known to hold.
//!
//! The set of values of a location is not stored as a set. Values known to be equal and the locations that hold them
//! form a *class*; location `l` holds value `v` if both are of one class and enough low bytes of it are in `l`. A copy
//! then costs one write however many names its value has, and a def takes its value away from every other location by
//! giving it a new class. Every change is logged, so that the state of a branch can be taken back.
//!
//! Invariants: 1. the locations of a class are linked from its head. 2. A class number is below `heads.len()`.
//! 3. A class with the reference bit is known only in locations of the current epoch: a safepoint begins a new one.

use crate::error::Origin;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use kingpost_regalloc::{Block, Loc, PReg, RegClass, VReg, VRegData};

const NIL: u32 = u32::MAX;
const REF: u32 = 1 << 31;
const FLOAT: u32 = 1 << 30;

/// A set of values and locations with equal contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Class(u32);

impl Class {
    /// Nothing known.
    pub(crate) const NONE: Class = Class(0);

    fn index(self) -> usize {
        (self.0 & !(REF | FLOAT)) as usize
    }

    pub(crate) fn is_ref(self) -> bool {
        self.0 & REF != 0
    }

    pub(crate) fn reg_class(self) -> RegClass {
        if self.0 & FLOAT != 0 { RegClass::Float } else { RegClass::Int }
    }
}

#[derive(Clone, Copy)]
struct LocState {
    class: Class,
    epoch: u32,
    next: u32,
    prev: u32,
    bytes: u8,
    origin: Origin,
}

const EMPTY: LocState =
    LocState { class: Class::NONE, epoch: 0, next: NIL, prev: NIL, bytes: 0, origin: Origin::Nothing };

enum Undo {
    Loc { index: u32, class: Class, epoch: u32, bytes: u8, origin: Origin },
    Name { vreg: VReg, class: Class },
    Epoch { epoch: u32, safepoint: Origin },
}

/// A point in the log to which [`State::undo`] goes back.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    log: usize,
    classes: usize,
}

/// The contents of a location.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) class: Class,
    pub(crate) bytes: u8,
}

pub(crate) const UNKNOWN: Content = Content { class: Class::NONE, bytes: 0 };

#[derive(Default)]
pub(crate) struct State {
    locs: Vec<LocState>,
    names: SecondaryMap<VReg, Class>,
    heads: Vec<u32>,
    epoch: u32,
    safepoint: Option<Origin>,
    /// What to say of a location that nothing wrote since the walk began.
    untouched: Option<Block>,
    log: Vec<Undo>,
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
    pub(crate) fn reset(&mut self, slots: usize) {
        self.locs.clear();
        self.locs.resize(PReg::COUNT + slots, EMPTY);
        self.names.clear();
        self.heads.clear();
        self.heads.push(NIL);
        self.epoch = 0;
        self.safepoint = None;
        self.untouched = None;
        self.log.clear();
    }

    /// A walk begins; `block` is where, unless it is the entry of the function.
    pub(crate) fn begin_root(&mut self, block: Option<Block>) {
        self.untouched = block;
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { log: self.log.len(), classes: self.heads.len() }
    }

    pub(crate) fn undo(&mut self, mark: Mark) {
        while self.log.len() > mark.log {
            match self.log.pop() {
                Some(Undo::Loc { index, class, epoch, bytes, origin }) => {
                    self.relink(index, class);
                    let loc = &mut self.locs[index as usize];
                    (loc.epoch, loc.bytes, loc.origin) = (epoch, bytes, origin);
                }
                Some(Undo::Name { vreg, class }) => self.names[vreg] = class,
                Some(Undo::Epoch { epoch, safepoint }) => {
                    self.epoch = epoch;
                    self.safepoint = (safepoint != Origin::Nothing).then_some(safepoint);
                }
                None => {}
            }
        }
        self.heads.truncate(mark.classes);
    }

    /// A class of its own for a value of the given kind.
    pub(crate) fn fresh(&mut self, data: &VRegData) -> Class {
        let index = self.heads.len() as u32;
        self.heads.push(NIL);
        let float = if data.class == RegClass::Float { FLOAT } else { 0 };
        Class(index | float | if data.is_ref { REF } else { 0 })
    }

    pub(crate) fn name(&self, vreg: VReg) -> Class {
        self.names[vreg]
    }

    pub(crate) fn set_name(&mut self, vreg: VReg, class: Class) {
        let old = self.names[vreg];
        if old != class {
            self.log.push(Undo::Name { vreg, class: old });
            self.names[vreg] = class;
        }
    }

    pub(crate) fn content(&self, loc: Loc) -> Content {
        self.content_at(loc_index(loc))
    }

    pub(crate) fn content_at(&self, index: usize) -> Content {
        let loc = &self.locs[index];
        match loc.class.is_ref() && loc.epoch != self.epoch {
            true => UNKNOWN,
            false => Content { class: loc.class, bytes: loc.bytes },
        }
    }

    pub(crate) fn origin(&self, loc: Loc) -> Origin {
        let state = &self.locs[loc_index(loc)];
        match self.safepoint {
            Some(safepoint) if state.class.is_ref() && state.epoch != self.epoch => safepoint,
            _ => match (state.origin, self.untouched) {
                (Origin::Nothing, Some(block)) => Origin::Entry(block),
                (origin, _) => origin,
            },
        }
    }

    pub(crate) fn set(&mut self, loc: Loc, content: Content, origin: Origin) {
        self.set_at(loc_index(loc), content, origin);
    }

    pub(crate) fn set_at(&mut self, index: usize, content: Content, origin: Origin) {
        let LocState { class, epoch, bytes, origin: old_origin, .. } = self.locs[index];
        self.log.push(Undo::Loc { index: index as u32, class, epoch, bytes, origin: old_origin });
        self.relink(index as u32, content.class);
        let loc = &mut self.locs[index];
        (loc.epoch, loc.bytes, loc.origin) = (self.epoch, content.bytes, origin);
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
        content.class != Class::NONE && content.class == self.names[vreg] && vregs[vreg].width <= content.bytes
    }

    /// From here on no location holds a reference, except those that [`State::keep_reference`] names.
    pub(crate) fn begin_epoch(&mut self, safepoint: Origin) {
        let old = self.safepoint.replace(safepoint).unwrap_or(Origin::Nothing);
        self.log.push(Undo::Epoch { epoch: self.epoch, safepoint: old });
        self.epoch += 1;
    }

    /// The reference that `loc` held in the last epoch is there in this one.
    pub(crate) fn keep_reference(&mut self, loc: Loc) {
        let LocState { class, bytes, origin, epoch, .. } = self.locs[loc_index(loc)];
        if class.is_ref() && epoch + 1 == self.epoch {
            self.set(loc, Content { class, bytes }, origin);
        }
    }

    /// The locations of a class, by index, in no particular order.
    pub(crate) fn members(&self, class: Class) -> impl Iterator<Item = usize> {
        let mut next = if class == Class::NONE { NIL } else { self.heads[class.index()] };
        std::iter::from_fn(move || {
            let index = (next != NIL).then_some(next as usize)?;
            next = self.locs[index].next;
            Some(index)
        })
    }

    /// All values of a class, in order. It looks at every value: for messages only.
    pub(crate) fn values(&self, class: Class) -> Vec<VReg> {
        let named = self.names.iter().filter(|&(_, &c)| c == class && c != Class::NONE);
        named.map(|(vreg, _)| vreg).collect()
    }

    fn relink(&mut self, index: u32, class: Class) {
        let LocState { class: old, next, prev, .. } = self.locs[index as usize];
        if old == class {
            return;
        }
        if old != Class::NONE {
            match prev {
                NIL => self.heads[old.index()] = next,
                _ => self.locs[prev as usize].next = next,
            }
            if next != NIL {
                self.locs[next as usize].prev = prev;
            }
        }
        let mut head = NIL;
        if class != Class::NONE {
            head = std::mem::replace(&mut self.heads[class.index()], index);
            if head != NIL {
                self.locs[head as usize].prev = index;
            }
        }
        let loc = &mut self.locs[index as usize];
        (loc.class, loc.next, loc.prev) = (class, head, NIL);
    }
}
