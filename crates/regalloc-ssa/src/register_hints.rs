//! The register that each class of values would like, everywhere: the hottest class chooses first.
//!
//! Where values are side by side in registers at the head or the end of a block they need different ones. Each such
//! *cut* has no more members than there are registers, so that nearly every class finds one that is free in all its
//! cuts, and is found there by every edge: no moves. A class without one takes the register that is free where it is
//! hottest. Fixed operands attract, instructions that take registers from values that live through them repel.
//!
//! A home is a wish and nothing else: colouring may put a value elsewhere at any point.
//!
//! Cost: linear in the members of cuts, but for sorting classes.

use crate::constraints::Obstacle;
use crate::liveness::{HEAD, LIVE_OUT, reset};
use crate::spilling::Input as Plan;
use crate::spilling::Spilling;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Inst, PReg, PRegSet, VReg};
use std::fmt::{self, Write};

const NONE: u8 = u8::MAX;
/// There is no other.
const END: u32 = u32::MAX;
/// Instructions of one block that are looked at for the registers they take from a value defined in it.
const MAX_OBSTACLES: usize = 16;

/// A class of values that has cuts.
#[derive(Clone, Copy, Debug)]
struct Group {
    class: VReg,
    /// How often its cuts are passed.
    rate: u64,
    /// Its cuts.
    start: u32,
    end: u32,
    /// The last of its wishes.
    wish: u32,
}

/// A fixed operand: the register, how often it is read there.
#[derive(Clone, Copy, Debug)]
struct Wish {
    reg: PReg,
    rate: u32,
    /// The one before of this class.
    other: u32,
}

#[derive(Default)]
pub(crate) struct Homes {
    /// Per value, the index of its register, or [`NONE`].
    homes: Vec<u8>,
    /// Per class of values, the index of its group, or [`END`].
    numbers: Vec<u32>,
    groups: Vec<Group>,
    /// Cuts group by group: the place, doubled, and one more for its end; and the member there.
    cuts: Vec<(u32, VReg)>,
    /// The same as they are found, with their groups.
    members: Vec<(u32, u32, VReg)>,
    wishes: Vec<Wish>,
    /// Per cut, the registers given away.
    taken: Vec<PRegSet>,
    /// Per place, its first obstacle; one more at the end.
    obstacles: Vec<u32>,
    /// How often the cuts of a group are passed, its class, and the group.
    order: Vec<(u64, VReg, u32)>,
    /// Per register of the class at hand, how much it suits.
    suits: Vec<i64>,
    /// Do some suit more than others?
    differ: bool,
    pub(crate) steps: u64,
}

impl Homes {
    pub(crate) fn compute(&mut self, input: Plan, plan: &Spilling) {
        let values = input.problem.vregs.len();
        let places = input.order.blocks.len();
        reset(&mut self.homes, values, NONE);
        self.steps = 0;
        self.order.clear();
        reset(&mut self.suits, PReg::COUNT, 0);
        self.differ = false;
        if places > 1 {
            reset(&mut self.taken, 2 * places, PRegSet::EMPTY);
            self.find_cuts(input, plan);
            self.find_wishes(input);
            self.find_obstacles(input);
            self.sort_classes();
            for i in 0..self.order.len() {
                self.choose(input, plan, self.groups[self.order[i].2 as usize]);
            }
            for &vreg in &input.classes.merged {
                self.homes[vreg.index()] = self.homes[input.classes.class(vreg).index()];
            }
        }
    }

    /// The register that the class of a value would like.
    #[inline]
    pub(crate) fn home(&self, vreg: VReg) -> Option<PReg> {
        let home = self.homes[vreg.index()];
        (home != NONE).then(|| PReg::from_index(usize::from(home)))
    }

    fn find_cuts(&mut self, input: Plan, plan: &Spilling) {
        reset(&mut self.numbers, input.problem.vregs.len(), END);
        self.groups.clear();
        self.members.clear();
        for (place, &rate) in input.order.rates.iter().enumerate() {
            let place = place as u32;
            for (cut, members) in [(2 * place, plan.head(place)), (2 * place + 1, plan.exit(place))] {
                for &vreg in members {
                    let class = input.classes.class(vreg);
                    let number = &mut self.numbers[class.index()];
                    if *number == END {
                        *number = self.groups.len() as u32;
                        self.groups.push(Group { class, rate: 0, start: 0, end: 0, wish: END });
                    }
                    let group = &mut self.groups[*number as usize];
                    group.rate += u64::from(rate);
                    group.end += 1;
                    self.members.push((*number, cut, vreg));
                }
            }
        }
        self.steps += self.members.len() as u64;
        self.sort_cuts();
    }

    fn sort_cuts(&mut self) {
        let mut start = 0;
        for group in &mut self.groups {
            group.start = start;
            start += std::mem::replace(&mut group.end, start);
        }
        if self.cuts.len() < self.members.len() {
            self.cuts.resize(self.members.len(), (0, VReg::from_u32(0)));
        }
        for &(number, cut, vreg) in &self.members {
            let group = &mut self.groups[number as usize];
            self.cuts[group.end as usize] = (cut, vreg);
            group.end += 1;
        }
    }

    fn find_wishes(&mut self, input: Plan) {
        let problem = input.problem;
        self.wishes.clear();
        for obstacle in &input.facts.obstacles {
            let block = input.order.blocks[obstacle.place as usize];
            let inst = Inst::from_u32(problem.first_inst(block).as_u32() + obstacle.pos);
            let range = problem.operand_range(inst);
            for (operand, after) in problem.operands(inst).iter().zip(&input.live.after[range]) {
                // Who lives on while the register is lost needs a copy anyway.
                let is_lost = |reg| operand.is_use() && !after.is_dead() && obstacle.late.contains(reg);
                let Some(reg) = operand.fixed_reg().filter(|&reg| !is_lost(reg)) else { continue };
                let number = self.numbers[input.classes.class(operand.vreg()).index()];
                if let Some(group) = self.groups.get_mut(number as usize) {
                    let other = std::mem::replace(&mut group.wish, self.wishes.len() as u32);
                    self.wishes.push(Wish { reg, rate: input.order.rates[obstacle.place as usize], other });
                }
            }
        }
    }

    fn find_obstacles(&mut self, input: Plan) {
        let obstacles = &input.facts.obstacles;
        self.obstacles.clear();
        let mut next = 0;
        for place in 0..input.order.blocks.len() as u32 {
            self.obstacles.push(next);
            while obstacles.get(next as usize).is_some_and(|obstacle| obstacle.place == place) {
                next += 1;
            }
        }
        self.obstacles.push(next);
    }

    fn sort_classes(&mut self) {
        let groups = self.groups.iter().enumerate();
        self.order.extend(groups.map(|(number, group)| (group.rate, group.class, number as u32)));
        self.order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    fn choose(&mut self, input: Plan, plan: &Spilling, group: Group) {
        let reg_class = input.problem.class(group.class);
        let cuts = group.start as usize..group.end as usize;
        let taken =
            self.cuts[cuts.clone()].iter().fold(PRegSet::EMPTY, |all, &(cut, _)| all.union(self.taken[cut as usize]));
        let open = plan.open.of_class(reg_class);
        let free = open.difference(taken);
        if std::mem::take(&mut self.differ) {
            self.suits.fill(0);
        }
        let mut wish = group.wish;
        while let Some(&Wish { reg, rate, other }) = self.wishes.get(wish as usize) {
            self.suits[reg.index()] += i64::from(rate);
            self.differ = true;
            wish = other;
        }
        if !input.facts.obstacles.is_empty() {
            self.repel(input, cuts.clone());
        }
        if free.is_empty() {
            self.differ = true;
            for &(cut, _) in &self.cuts[cuts.clone()] {
                let cost = 2 * i64::from(cut_rate(input, cut));
                self.taken[cut as usize].intersection(open).iter().for_each(|reg| self.suits[reg.index()] -= cost);
            }
        }
        let candidates = if free.is_empty() { open } else { free };
        let mut order = input.env.class(reg_class).order.iter().copied().filter(|&reg| candidates.contains(reg));
        let best = if self.differ { order.rev().max_by_key(|reg| self.suits[reg.index()]) } else { order.next() };
        let Some(reg) = best else { return };
        self.homes[group.class.index()] = reg.index() as u8;
        for &(cut, _) in &self.cuts[cuts] {
            self.taken[cut as usize].insert(reg);
        }
    }

    /// Registers that are taken from members where they live.
    fn repel(&mut self, input: Plan, cuts: std::ops::Range<usize>) {
        let mut last = (PRegSet::EMPTY, 0i64);
        for &(cut, vreg) in &self.cuts[cuts] {
            let place = cut / 2;
            let obstacles = self.obstacles[place as usize] as usize..self.obstacles[place as usize + 1] as usize;
            if obstacles.is_empty() {
                continue;
            }
            // Who lives on counts at the end.
            let entry = if cut % 2 == 0 { input.live.entry(place, vreg) } else { None };
            let until = match entry {
                _ if cut % 2 == 1 => LIVE_OUT,
                Some(entry) if entry.end != LIVE_OUT => entry.end,
                _ => continue,
            };
            let (home, def) = (input.live.def_place[vreg.index()], input.live.def_point[vreg.index()]);
            let since = if home == place { def } else { HEAD };
            let often = i64::from(cut_rate(input, cut));
            let point = |obstacle: &Obstacle| 2 + 2 * obstacle.pos;
            let met = input.facts.obstacles[obstacles].iter().rev().skip_while(|&obstacle| point(obstacle) > until);
            for obstacle in met.take(MAX_OBSTACLES) {
                if point(obstacle) <= since {
                    break;
                }
                if last.0 != obstacle.late {
                    last.0.iter().for_each(|reg| self.suits[reg.index()] -= last.1);
                    last = (obstacle.late, 0);
                }
                last.1 += often;
                self.differ = true;
            }
        }
        last.0.iter().for_each(|reg| self.suits[reg.index()] -= last.1);
    }

    /// One line per class with a home.
    pub(crate) fn dump(&self, out: &mut String) -> fmt::Result {
        for &(_, class, _) in &self.order {
            if let Some(reg) = self.home(class) {
                writeln!(out, "{class} at home in {reg}")?;
            }
        }
        Ok(())
    }
}

fn cut_rate(input: Plan, cut: u32) -> u32 {
    input.order.rates[cut as usize / 2]
}
