//! Which values a loop finds in registers: next-use distances and pressure (Braun and Hack, 2009).
//!
//! Values used in a loop come first. Those that only live through it stay in registers as far as there are more than
//! the loop itself needs at its fullest point; the others wait in memory, stored once at their defs, so that no turn of
//! the loop pays for them. Within blocks the value used last leaves first, which `instruction.rs` sees to.

use crate::liveness::{AWAY, DEAD, Liveness};
use cranelift_entity::SecondaryMap;
use kingpost_regalloc::{Block, Clobbers, MachineEnv, Problem, RegClass};
use std::fmt::{self, Write};

/// Per class of registers.
type Counts = [u32; 2];

/// What was found out about blocks.
#[derive(Default)]
pub(crate) struct Spilling {
    /// Position of each block in the order.
    places: SecondaryMap<Block, u32>,
    /// Per place, the most registers wanted at one point.
    pressure: Vec<Counts>,
    /// Per loop header, how many values that only live through may have registers.
    room: SecondaryMap<Block, Option<Counts>>,
    /// Headers of loops under way: place, last place.
    nest: Vec<(u32, u32)>,
}

impl Spilling {
    pub(crate) fn compute(&mut self, problem: &Problem, env: &MachineEnv, live: &Liveness) {
        self.places.clear();
        self.room.clear();
        self.pressure.clear();
        self.nest.clear();
        for (place, &block) in live.order.iter().enumerate() {
            self.places[block] = place as u32;
            self.pressure.push(pressure(problem, env, live, block));
        }
        // Each block hands what it needs to the innermost loop around it, which does so when it ends.
        let mut maxima: Vec<Counts> = Vec::new();
        for place in 0..live.order.len() as u32 {
            let block = live.order[place as usize];
            let ends = problem.preds(block).iter().map(|&edge| self.places[problem.edge(edge).from]);
            if let Some(end) = ends.max().filter(|&end| end >= place) {
                self.nest.push((place, end));
                maxima.push([0; 2]);
            }
            if let Some(max) = maxima.last_mut() {
                raise(max, self.pressure[place as usize]);
            }
            while let Some(&(header, end)) = self.nest.last()
                && end <= place
            {
                self.nest.pop();
                let max = maxima.pop().unwrap_or_default();
                if let Some(outer) = maxima.last_mut() {
                    raise(outer, max);
                }
                let header = live.order[header as usize];
                self.room[header] = Some(room(problem, env, live, header, max));
            }
        }
    }

    /// How many values that only live through the loop of `header` may enter it in registers; `None` elsewhere.
    pub(crate) fn room(&self, header: Block) -> Option<Counts> {
        self.room[header]
    }

    /// One line per loop.
    pub(crate) fn dump(&self, live: &Liveness, out: &mut String) -> fmt::Result {
        for &block in &live.order {
            if let Some([ints, floats]) = self.room[block] {
                writeln!(out, "{block}: room for {ints} int and {floats} float values that are not used in the loop")?;
            }
        }
        Ok(())
    }
}

fn raise(max: &mut Counts, by: Counts) {
    for class in RegClass::ALL {
        max[class.index()] = max[class.index()].max(by[class.index()]);
    }
}

/// The most registers wanted at one point of a block; what an instruction clobbers counts as wanted.
fn pressure(problem: &Problem, env: &MachineEnv, live: &Liveness, block: Block) -> Counts {
    let mut count = [0u32; 2];
    for &(vreg, distance) in live.entry(block) {
        count[problem.class(vreg).index()] += u32::from(distance != DEAD);
    }
    let mut max = count;
    for inst in problem.insts(block) {
        let mut defs = [0; 2];
        for i in problem.operand_range(inst).rev() {
            let operand = problem.all_operands()[i];
            let class = problem.class(operand.vreg()).index();
            if operand.is_def() {
                defs[class] += 1;
                count[class] += u32::from(live.next_after[i] != DEAD);
            } else if live.next_after[i] == DEAD {
                count[class] = count[class].saturating_sub(1);
            }
        }
        raise(&mut max, count);
        let Clobbers { lost, .. } = *problem.clobbers(inst);
        if !lost.is_empty() {
            for class in RegClass::ALL {
                let lost = lost.intersection(env.class(class).allocatable()).len() as u32;
                let through = count[class.index()].saturating_sub(defs[class.index()]);
                max[class.index()] = max[class.index()].max(through + lost);
            }
        }
    }
    max
}

/// Registers left for values that only live through the loop.
fn room(problem: &Problem, env: &MachineEnv, live: &Liveness, header: Block, max: Counts) -> Counts {
    let mut room = [0; 2];
    for class in RegClass::ALL {
        let through = live.entry(header).iter().filter(|entry| (AWAY..DEAD).contains(&entry.1));
        let through = through.filter(|entry| problem.class(entry.0) == class).count() as u32;
        let registers = env.class(class).order.len() as u32;
        room[class.index()] = (registers + through).saturating_sub(max[class.index()]);
    }
    room
}
