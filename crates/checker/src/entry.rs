//! The stored states at the entries of roots, and their meet.
//!
//! A stored state is the first state that arrived, as a version of its own, with all changed that later arrivals did
//! not confirm. Where the stored state and a new one say the same nothing is done, and the versions' common parts are
//! not even looked at. What differs is grouped by its class here and its class there; members of one group are equal on
//! both ways in, and become a class that belongs to the join. A group without a value or without a location says
//! nothing and goes. States only lose knowledge, so the fixpoint ends; a group that is all of a class keeps its number, or
//! loops that exchange two values would rename them for ever.

use crate::state::{Cell, Class, Epoch, MAX_CLASSES, State, Version};
use std::collections::HashMap;

/// What is known on entry to a root.
#[derive(Default)]
pub(crate) struct Entry {
    /// Some walk has arrived.
    pub(crate) reached: bool,
    pub(crate) version: Version,
    /// Classes of this join, ascending, with their sizes.
    own: Vec<(Class, u32)>,
    /// Locations of references, once arrivals of different epochs were joined.
    refs: Option<Vec<usize>>,
}

/// One value or location that the two states disagree on.
#[derive(Clone, Copy)]
struct Difference {
    index: usize,
    here: Class,
    there: Class,
    /// For a location: what is stored, with the bytes that both have.
    cell: Option<Cell>,
}

impl Difference {
    /// Both states know something, and not the same.
    fn is_split(&self) -> bool {
        self.here != Class::NONE && self.there != Class::NONE && self.here != self.there
    }
}

#[derive(Clone, Copy, Default)]
struct Group {
    members: u32,
    names: u32,
    class: Option<Class>,
}

/// Memory for meets, used again and again.
#[derive(Default)]
pub(crate) struct Meet {
    differences: Vec<Difference>,
    groups: HashMap<(Class, Class), Group>,
    /// Number of the next class.
    pub(crate) next_class: usize,
}

impl Meet {
    /// Are there more classes than can be told apart?
    pub(crate) fn is_full(&self) -> bool {
        self.next_class >= MAX_CLASSES
    }
}

impl Entry {
    pub(crate) fn clear(&mut self) {
        self.reached = false;
        self.version = Version::default();
        self.own.clear();
        self.refs = None;
    }

    /// Joins the current version of `state` in. Says whether this entry, of root number `root`, knows less than before
    /// or is reached for the first time.
    pub(crate) fn join(&mut self, state: &mut State, meet: &mut Meet, root: usize) -> bool {
        if !self.reached {
            self.reached = true;
            self.version = state.now;
            state.keep();
            return true;
        }
        self.find_differences(state, meet);
        let new_epoch = state.now.epoch != self.version.epoch;
        if new_epoch {
            self.drop_stale_references(state, meet);
        }
        let back = std::mem::replace(&mut state.now, self.version);
        let mut changed = self.settle(state, meet);
        if new_epoch && self.refs.is_none() {
            self.restamp(state, meet, Epoch::join(root));
            changed = true;
        }
        if changed {
            self.version = state.now;
            state.keep();
        }
        state.now = back;
        changed
    }

    fn find_differences(&self, state: &State, meet: &mut Meet) {
        let differences = &mut meet.differences;
        differences.clear();
        state.names.differences(self.version.names, state.now.names, &mut |index, here, there| {
            differences.push(Difference { index, here, there, cell: None });
        });
        state.locs.differences(self.version.locs, state.now.locs, &mut |index, cell, other| {
            let (here, there) = (self.version.class_of(&cell), state.now.class_of(&other));
            let cell = Cell { bytes: cell.bytes.min(other.bytes), ..cell };
            differences.push(Difference { index, here, there, cell: Some(cell) });
        });
    }

    /// References that look the same but that a safepoint on the way here forgot.
    fn drop_stale_references(&self, state: &State, meet: &mut Meet) {
        for &index in self.refs.iter().flatten() {
            let cell = state.locs.get(self.version.locs, index);
            let here = self.version.class_of(&cell);
            let there = state.locs.get(state.now.locs, index);
            if here != Class::NONE && state.now.class_of(&there) == Class::NONE {
                meet.differences.push(Difference { index, here, there: Class::NONE, cell: Some(cell) });
            }
        }
    }

    /// Gives the members of each group their class. `state.now` is the stored version.
    fn settle(&mut self, state: &mut State, meet: &mut Meet) -> bool {
        let Meet { differences, groups, next_class } = meet;
        groups.clear();
        for difference in differences.iter().filter(|d| d.is_split()) {
            let group = groups.entry((difference.here, difference.there)).or_default();
            group.members += 1;
            group.names += u32::from(difference.cell.is_none());
        }
        let mut changed = false;
        for difference in differences.iter_mut() {
            let Difference { index, here, there, cell } = *difference;
            let class = match groups.get_mut(&(here, there)) {
                _ if here == there => here,
                None => Class::NONE,
                Some(Group { class: Some(class), .. }) => *class,
                Some(group) => {
                    let class = self.class_of_group(here, there, *group, next_class);
                    group.class = Some(class);
                    class
                }
            };
            difference.here = class;
            changed |= apply(state, index, class, cell);
        }
        changed
    }

    fn class_of_group(&mut self, here: Class, there: Class, group: Group, next_class: &mut usize) -> Class {
        let Group { members, names, .. } = group;
        let own = self.own.binary_search_by_key(&here, |&(class, _)| class);
        if let Ok(place) = own {
            if self.own[place].1 == members {
                return here;
            }
            self.own[place].1 = self.own[place].1.saturating_sub(members);
        }
        if names == 0 || names == members || !here.is_like(there) {
            return Class::NONE;
        }
        let class = here.renumbered(*next_class);
        *next_class += 1;
        let place = self.own.partition_point(|&(other, _)| other < class);
        self.own.insert(place, (class, members));
        class
    }

    /// Begins an epoch of the join's own, with the references that both ways in know.
    fn restamp(&mut self, state: &mut State, meet: &Meet, epoch: Epoch) {
        state.now.epoch = epoch;
        let mut refs = Vec::new();
        for difference in meet.differences.iter().filter(|d| d.here.is_ref()) {
            let Some(cell) = difference.cell else { continue };
            let cell = Cell { class: difference.here, epoch, ..cell };
            state.now.locs = state.locs.set(state.now.locs, difference.index, cell);
            refs.push(difference.index);
        }
        self.refs = Some(refs);
    }
}

/// Writes the class of a value or location into the current version. Says whether that is something new.
fn apply(state: &mut State, index: usize, class: Class, cell: Option<Cell>) -> bool {
    let State { now, names, locs, .. } = state;
    match cell {
        None if class == Class::NONE => now.names = names.clear(now.names, index),
        None if names.get(now.names, index) == class => return false,
        None => now.names = names.set(now.names, index, class),
        Some(_) if class == Class::NONE => now.locs = locs.clear(now.locs, index),
        Some(cell) => {
            let old = locs.get(now.locs, index);
            if (old.class, old.bytes) == (class, cell.bytes) {
                return false;
            }
            now.locs = locs.set(now.locs, index, Cell { class, ..cell });
        }
    }
    true
}
