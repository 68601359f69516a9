//! The stored states at the entries of roots, and their meet.
//!
//! A stored state lists the values live there and the locations that hold them, each with the number of its class. The
//! meet of a stored state with a new one keeps what is equal in both: it walks the stored lists only, and splits a
//! class whose members fall into several classes of the other state. States only shrink, so the fixpoint ends.

use crate::error::Origin;
use crate::state::{Class, Content, State};
use cranelift_entity::PrimaryMap;
use kingpost_regalloc::{Block, VReg, VRegData};
use std::collections::HashMap;

/// What is known on entry to a root.
#[derive(Default)]
pub(crate) struct Entry {
    /// Some walk has arrived.
    pub(crate) reached: bool,
    names: Vec<(VReg, u32)>,
    /// Index of the location, class, and how many low bytes it holds.
    locs: Vec<(u32, u32, u8)>,
    classes: u32,
}

/// Memory for meets, used again and again.
#[derive(Default)]
pub(crate) struct Meet {
    /// Per class of the stored state, the class of the other state that goes on under its number.
    partner: Vec<Option<Class>>,
    split: HashMap<(u32, Class), u32>,
    has_loc: Vec<bool>,
    has_name: Vec<bool>,
    number: Vec<u32>,
    local: HashMap<Class, u32>,
    loaded: Vec<Class>,
}

impl Entry {
    pub(crate) fn clear(&mut self) {
        self.reached = false;
        self.names.clear();
        self.locs.clear();
        self.classes = 0;
    }

    /// Members of the lists.
    pub(crate) fn len(&self) -> usize {
        self.names.len() + self.locs.len()
    }

    /// Makes `state`, which must know nothing, know what is stored here.
    pub(crate) fn load(&self, state: &mut State, vregs: &PrimaryMap<VReg, VRegData>, block: Block, meet: &mut Meet) {
        let classes = &mut meet.loaded;
        classes.clear();
        classes.resize(self.classes as usize, Class::NONE);
        for &(vreg, number) in &self.names {
            let class = &mut classes[number as usize];
            if *class == Class::NONE {
                *class = state.fresh(&vregs[vreg]);
            }
            state.set_name(vreg, *class);
        }
        for &(index, number, bytes) in &self.locs {
            let class = classes[number as usize];
            state.set_at(index as usize, Content { class, bytes }, Origin::Entry(block));
        }
    }

    /// Joins `state` in; `live` are the values that matter here. Says whether this entry knows less than before or is
    /// reached for the first time.
    pub(crate) fn join(&mut self, state: &State, live: &[VReg], params: &[VReg], meet: &mut Meet) -> bool {
        if self.reached {
            return self.meet(state, meet);
        }
        self.reached = true;
        self.copy(state, live, params, meet);
        true
    }

    fn copy(&mut self, state: &State, live: &[VReg], params: &[VReg], meet: &mut Meet) {
        meet.local.clear();
        for &vreg in live.iter().chain(params) {
            let class = state.name(vreg);
            let known = |&index: &usize| state.content_at(index).class == class;
            if class == Class::NONE || !state.members(class).any(|index| known(&index)) {
                continue;
            }
            let next = meet.local.len() as u32;
            let number = *meet.local.entry(class).or_insert(next);
            self.names.push((vreg, number));
            if number == next {
                let members = state.members(class).filter(known);
                self.locs.extend(members.map(|index| (index as u32, number, state.content_at(index).bytes)));
            }
        }
        self.classes = meet.local.len() as u32;
    }

    fn meet(&mut self, state: &State, meet: &mut Meet) -> bool {
        let before = (self.names.len(), self.locs.len(), self.classes);
        meet.start(self.classes);
        for (vreg, number) in &mut self.names {
            *number = meet.pair(*number, state.name(*vreg));
        }
        let mut fewer_bytes = false;
        for (index, number, bytes) in &mut self.locs {
            let content = state.content_at(*index as usize);
            *number = meet.pair(*number, content.class);
            if *number != LOST {
                fewer_bytes |= content.bytes < *bytes;
                *bytes = content.bytes.min(*bytes);
                meet.has_loc[*number as usize] = true;
            }
        }
        for &(_, number) in self.names.iter().filter(|(_, number)| *number != LOST) {
            meet.has_name[number as usize] = true;
        }
        let kept = |number: u32| number != LOST && meet.has_loc[number as usize] && meet.has_name[number as usize];
        self.names.retain(|&(_, number)| kept(number));
        self.locs.retain(|&(_, number, _)| kept(number));
        self.renumber(meet);
        fewer_bytes || before != (self.names.len(), self.locs.len(), self.classes)
    }

    fn renumber(&mut self, meet: &mut Meet) {
        meet.number.clear();
        meet.number.resize(meet.has_loc.len(), LOST);
        self.classes = 0;
        for (_, number) in &mut self.names {
            let new = &mut meet.number[*number as usize];
            if *new == LOST {
                *new = self.classes;
                self.classes += 1;
            }
            *number = *new;
        }
        for (_, number, _) in &mut self.locs {
            *number = meet.number[*number as usize];
        }
    }
}

/// The number of no class.
const LOST: u32 = u32::MAX;

impl Meet {
    fn start(&mut self, classes: u32) {
        self.partner.clear();
        self.partner.resize(classes as usize, None);
        self.split.clear();
        self.has_loc.clear();
        self.has_loc.resize(classes as usize, false);
        self.has_name.clear();
        self.has_name.resize(classes as usize, false);
    }

    /// The number for what is in class `stored` here and in class `other` there.
    fn pair(&mut self, stored: u32, other: Class) -> u32 {
        if other == Class::NONE {
            return LOST;
        }
        let partner = self.partner[stored as usize].get_or_insert(other);
        if *partner == other {
            return stored;
        }
        let next = self.has_loc.len() as u32;
        let number = *self.split.entry((stored, other)).or_insert(next);
        if number == next {
            self.has_loc.push(false);
            self.has_name.push(false);
        }
        number
    }
}
