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

use crate::facts::Obstacle;
use crate::liveness::{HEAD, LIVE_OUT, rate, reset};
use crate::spilling::Input as Plan;
use crate::spilling::Spilling;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Inst, PReg, PRegSet, VReg};
use std::fmt::{self, Write};

const NONE: u8 = u8::MAX;
/// Instructions of one block that are looked at for the registers they take from a value defined in it.
const MAX_OBSTACLES: usize = 16;

#[derive(Default)]
pub(crate) struct Homes {
    /// Per class of values, the index of its register, or [`NONE`].
    homes: Vec<u8>,
    /// Per class of values, where its cuts start; one more at the end.
    starts: Vec<u32>,
    /// Cuts of each class: the place, doubled, and one more for its end; and the member there.
    cuts: Vec<(u32, VReg)>,
    /// The same as they are found, with their classes.
    members: Vec<(VReg, u32, VReg)>,
    /// Per class of values and fixed operand: the register, how often it is read there.
    wish_starts: Vec<u32>,
    wishes: Vec<(PReg, u32)>,
    /// Per cut, the registers given away.
    taken: Vec<PRegSet>,
    /// Per place, its first obstacle; one more at the end.
    obstacles: Vec<u32>,
    order: Vec<(u64, VReg)>,
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
        reset(&mut self.taken, 2 * places, PRegSet::EMPTY);
        self.steps = 0;
        self.order.clear();
        reset(&mut self.suits, PReg::COUNT, 0);
        self.differ = false;
        if places > 1 {
            self.find_cuts(input, plan);
            self.find_wishes(input);
            self.find_obstacles(input);
            self.sort_classes(input);
            for i in 0..self.order.len() {
                self.choose(input, plan, self.order[i].1);
            }
        }
    }

    /// The register that the class of a value would like.
    pub(crate) fn home(&self, class: VReg) -> Option<PReg> {
        let home = self.homes[class.index()];
        (home != NONE).then(|| PReg::from_index(usize::from(home)))
    }

    fn find_cuts(&mut self, input: Plan, plan: &Spilling) {
        let classes = input.classes;
        let places = input.order.blocks.len() as u32;
        reset(&mut self.starts, input.problem.vregs.len() + 1, 0);
        self.members.clear();
        for place in 0..places {
            for (cut, members) in [(2 * place, plan.head(place)), (2 * place + 1, plan.exit(place))] {
                for &vreg in members {
                    let class = classes.class(vreg);
                    self.starts[class.index()] += 1;
                    self.members.push((class, cut, vreg));
                }
            }
        }
        let mut start = 0;
        for count in &mut self.starts {
            start += std::mem::replace(count, start);
        }
        self.cuts.resize(start as usize, (0, VReg::from_u32(0)));
        for &(class, cut, vreg) in &self.members {
            let at = &mut self.starts[class.index()];
            self.cuts[*at as usize] = (cut, vreg);
            *at += 1;
        }
        self.starts.rotate_right(1);
        self.starts[0] = 0;
        self.steps += u64::from(start);
    }

    fn find_wishes(&mut self, input: Plan) {
        let classes = input.classes;
        let problem = input.problem;
        reset(&mut self.wish_starts, problem.vregs.len() + 1, 0);
        let each = |visit: &mut dyn FnMut(VReg, PReg, u32)| {
            for obstacle in &input.facts.obstacles {
                let block = input.order.blocks[obstacle.place as usize];
                let inst = Inst::from_u32(problem.first_inst(block).as_u32() + obstacle.pos);
                let range = problem.operand_range(inst);
                for (operand, after) in problem.operands(inst).iter().zip(&input.live.after[range]) {
                    // Who lives on while the register is lost needs a copy anyway.
                    let is_lost = |reg| operand.is_use() && !after.is_dead() && obstacle.late.contains(reg);
                    if let Some(reg) = operand.fixed_reg().filter(|&reg| !is_lost(reg)) {
                        visit(classes.class(operand.vreg()), reg, rate(problem.freq(block)));
                    }
                }
            }
        };
        each(&mut |class, _, _| self.wish_starts[class.index()] += 1);
        let mut start = 0;
        for count in &mut self.wish_starts {
            start += std::mem::replace(count, start);
        }
        self.wishes.clear();
        self.wishes.resize(start as usize, (PReg::int(0), 0));
        each(&mut |class, reg, rate| {
            let at = &mut self.wish_starts[class.index()];
            self.wishes[*at as usize] = (reg, rate);
            *at += 1;
        });
        self.wish_starts.rotate_right(1);
        self.wish_starts[0] = 0;
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

    fn sort_classes(&mut self, input: Plan) {
        for class in input.problem.vregs.keys() {
            let range = self.starts[class.index()] as usize..self.starts[class.index() + 1] as usize;
            if range.is_empty() {
                continue;
            }
            let often = self.cuts[range].iter().map(|&(cut, _)| u64::from(cut_rate(input, cut)));
            self.order.push((often.sum(), class));
        }
        self.order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    fn choose(&mut self, input: Plan, plan: &Spilling, class: VReg) {
        let range = self.starts[class.index()] as usize..self.starts[class.index() + 1] as usize;
        let reg_class = input.problem.class(class);
        self.steps += range.len() as u64;
        let taken =
            self.cuts[range.clone()].iter().fold(PRegSet::EMPTY, |all, &(cut, _)| all.union(self.taken[cut as usize]));
        let open = plan.open.of_class(reg_class);
        let free = open.difference(taken);
        if std::mem::take(&mut self.differ) {
            self.suits.fill(0);
        }
        let wishes = self.wish_starts[class.index()] as usize..self.wish_starts[class.index() + 1] as usize;
        for &(reg, rate) in &self.wishes[wishes] {
            self.suits[reg.index()] += i64::from(rate);
            self.differ = true;
        }
        self.repel(input, range.clone());
        if free.is_empty() {
            self.differ = true;
            for &(cut, _) in &self.cuts[range.clone()] {
                let cost = 2 * i64::from(cut_rate(input, cut));
                self.taken[cut as usize].intersection(open).iter().for_each(|reg| self.suits[reg.index()] -= cost);
            }
        }
        let candidates = if free.is_empty() { open } else { free };
        let mut order = input.env.class(reg_class).order.iter().copied().filter(|&reg| candidates.contains(reg));
        let best = if self.differ { order.rev().max_by_key(|reg| self.suits[reg.index()]) } else { order.next() };
        let Some(reg) = best else { return };
        self.homes[class.index()] = reg.index() as u8;
        for &(cut, _) in &self.cuts[range] {
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
        for &(_, class) in &self.order {
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
