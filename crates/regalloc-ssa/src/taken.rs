//! Which instructions take which registers: those with an operand bound to one, and those that clobber it.

use cranelift_entity::EntityRef;
use kingpost_regalloc::{Inst, PReg, PRegSet, Problem};

/// Per register, ascending instructions, in one pool.
#[derive(Default)]
pub(crate) struct Taken {
    pool: Vec<Inst>,
    /// Where the share of each register ends.
    ends: Vec<u32>,
}

impl Taken {
    pub(crate) fn compute(&mut self, problem: &Problem) {
        self.ends.clear();
        self.ends.resize(PReg::COUNT, 0);
        each(problem, |_, reg| self.ends[reg.index()] += 1);
        let mut start = 0;
        for end in &mut self.ends {
            start += std::mem::replace(end, start);
        }
        self.pool.clear();
        self.pool.resize(start as usize, Inst::from_u32(0));
        each(problem, |inst, reg| {
            let end = &mut self.ends[reg.index()];
            self.pool[*end as usize] = inst;
            *end += 1;
        });
    }

    /// The first instruction behind `inst` that takes `reg`, or one past all.
    pub(crate) fn next(&self, reg: PReg, inst: Inst) -> Inst {
        let start = reg.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        let share = &self.pool[start as usize..self.ends[reg.index()] as usize];
        let i = share.partition_point(|&other| other <= inst);
        share.get(i).copied().unwrap_or(Inst::from_u32(u32::MAX - 1))
    }
}

fn each(problem: &Problem, mut visit: impl FnMut(Inst, PReg)) {
    for inst in (0..problem.num_insts()).map(Inst::new) {
        let fixed: PRegSet = problem.operands(inst).iter().filter_map(|operand| operand.fixed_reg()).collect();
        for reg in fixed.union(problem.clobbers(inst).lost).iter() {
            visit(inst, reg);
        }
    }
}
