//! Renumbering of a problem, which must not affect whether it can be solved.

use crate::draft::with_constraint;
use crate::rng::Rng;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, Problem, VReg};

/// Returns `problem` with the numbers of its values and blocks shuffled, except for the entry. Blocks keep their
/// order of visits. Labels are left out.
pub fn renumbered(problem: &Problem, rng: &mut Rng) -> Problem {
    let blocks = problem.blocks().len();
    let old_blocks: Vec<usize> = [0].into_iter().chain(shuffled(1, blocks, rng)).collect();
    let new_blocks = inverse(&old_blocks);
    let old_values = shuffled(0, problem.vregs.len(), rng);
    let new_values = inverse(&old_values);
    let block = |old: Block| Block::new(new_blocks[old.index()]);
    let value = |old: &VReg| VReg::new(new_values[old.index()]);
    let values = |old: &[VReg]| -> Vec<VReg> { old.iter().map(value).collect() };

    let mut new = Problem::default();
    new.name = problem.name.clone();
    for &old in &old_values {
        let data = problem.vregs[VReg::new(old)];
        new.add_vreg(data.class, data.width, data.is_ref);
    }
    for &set in problem.all_reg_sets().values() {
        new.intern_reg_set(set);
    }
    for &old in &old_blocks {
        let old = Block::new(old);
        new.begin_block(problem.freq(old), &values(problem.params(old)));
        for inst in problem.insts(old) {
            for &operand in problem.operands(inst) {
                new.push_operand(with_constraint(operand, value(&operand.vreg()), operand.constraint()));
            }
            let clobbers = new.intern_clobbers(*problem.clobbers(inst));
            new.push_inst(problem.flags(inst), clobbers);
        }
    }
    for &old in &old_blocks {
        for &edge in problem.succs(Block::new(old)) {
            let data = problem.edge(edge);
            let (args, defs) = (values(problem.edge_args(edge)), values(problem.edge_defs(edge)));
            new.add_edge(block(data.from), block(data.to), data.freq, &args, &defs);
        }
    }
    let visited: Vec<Block> = if problem.order.is_empty() { problem.blocks().collect() } else { problem.order.clone() };
    new.order.extend(visited.into_iter().map(block));
    new.finish();
    new
}

/// Returns the numbers from `start` to `end` in random order.
fn shuffled(start: usize, end: usize, rng: &mut Rng) -> Vec<usize> {
    let mut numbers: Vec<usize> = (start..end).collect();
    for place in 1..numbers.len() {
        numbers.swap(place, rng.range(0..place + 1));
    }
    numbers
}

fn inverse(of: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; of.len()];
    of.iter().enumerate().for_each(|(new, &old)| inverse[old] = new);
    inverse
}
