//! Where values are live, and how far away their next use is.
//!
//! From each use backwards to its def, block by block (Brandner, Boissinot, Darte, de Dinechin and Rastello, *Computing
//! liveness sets for SSA-form programs*, 2011). What is kept is one entry per block and value at its head, with the
//! distance to the next use (Braun and Hack, *Register spilling and live-range splitting for SSA-form programs*, 2009),
//! and for each operand the distance to the next use after it. Together they tell all that later phases ask: a value
//! is live after an operand unless that distance is [`DEAD`].

use crate::taken::Taken;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{AllocError, Block, Constraint, Inst, InstFlags, Operand, PReg, Problem, VReg};
use std::fmt::{self, Write};

/// There is no next use.
pub(crate) const DEAD: u32 = u32::MAX;
/// No distance that means something is larger.
pub(crate) const FAR: u32 = 1 << 30;
/// What an edge to a block that runs much less often adds, so that uses in a loop come before uses behind it.
pub(crate) const AWAY: u32 = 1 << 16;
/// Entries and steps: for any function, and for each of its instructions and blocks.
const STEPS: (u64, u64) = (1 << 22, 1 << 10);

/// Sets in dense form, used for one problem after another.
#[derive(Default)]
pub(crate) struct Liveness {
    /// Blocks in an order in which each comes after one of its predecessors.
    pub(crate) order: Vec<Block>,
    /// Per operand, the position in its block of the next use of the value after the instruction.
    pub(crate) next_after: Vec<u32>,
    /// The instruction that computes the value, if it may run again anywhere.
    pub(crate) remat: SecondaryMap<VReg, PackedOption<Inst>>,
    /// A use may read it from memory, which must have it then.
    pub(crate) read_in_memory: SecondaryMap<VReg, bool>,
    /// Is the value live across an instruction with clobbers?
    pub(crate) crosses: SecondaryMap<VReg, bool>,
    /// How often the value is defined and used, together.
    pub(crate) weights: SecondaryMap<VReg, u64>,
    /// The register that a value is bound to next, and where in its block, unless it is lost before.
    pub(crate) wishes: SecondaryMap<VReg, Option<(PReg, u32)>>,
    /// Per register, the instructions that are bound to it or clobber it.
    taken: Taken,
    pub(crate) steps: u64,
    entries: Vec<(VReg, u32)>,
    ends: SecondaryMap<Block, u32>,
    def_blocks: SecondaryMap<VReg, PackedOption<Block>>,
    uses: Vec<(VReg, Block)>,
    pairs: Vec<(Block, VReg)>,
    marks: SecondaryMap<Block, PackedOption<VReg>>,
    work: Vec<Block>,
    distances: SecondaryMap<VReg, Distance>,
    touched: Vec<VReg>,
}

#[derive(Clone, Copy)]
struct Distance(u32);

impl Default for Distance {
    fn default() -> Distance {
        Distance(DEAD)
    }
}

impl Liveness {
    pub(crate) fn compute(&mut self, problem: &Problem) -> Result<(), AllocError> {
        self.steps = 0;
        self.find_order(problem);
        self.find_defs_and_uses(problem);
        self.find_entries(problem)?;
        self.next_after.clear();
        self.next_after.resize(problem.num_operands(), DEAD);
        self.distances.clear();
        self.crosses.clear();
        self.wishes.clear();
        self.weights.clear();
        self.taken.compute(problem);
        for _ in 0..2 {
            for i in (0..self.order.len()).rev() {
                self.measure(problem, self.order[i]);
            }
        }
        Ok(())
    }

    /// What is live at the head of a block, with the distance to the next use; parameters and results of the branch
    /// before it as well, even those that are [`DEAD`].
    pub(crate) fn entry(&self, block: Block) -> &[(VReg, u32)] {
        let start = block.as_u32().checked_sub(1).map_or(0, |before| self.ends[Block::from_u32(before)]);
        &self.entries[start as usize..self.ends[block] as usize]
    }

    /// Of a value that is live at the head of `block`: is it a parameter, or a result of the branch before?
    pub(crate) fn is_defined_at_head(&self, vreg: VReg, block: Block) -> bool {
        self.def_blocks[vreg].expand() == Some(block)
    }

    /// The order of the problem if it serves, else reverse post-order.
    fn find_order(&mut self, problem: &Problem) {
        self.marks.clear();
        self.order.clear();
        let mark = PackedOption::from(VReg::from_u32(0));
        let entry = problem.entry();
        let serves = problem.order.iter().all(|&block| {
            let preds = problem.preds(block);
            self.marks[block] = mark;
            block == entry
                || preds.iter().any(|&e| self.marks[problem.edge(e).from] == mark && problem.edge(e).from != block)
        });
        if serves {
            self.order.extend_from_slice(&problem.order);
            return;
        }
        self.marks.clear();
        let mut stack = vec![(entry, 0)];
        self.marks[entry] = mark;
        while let Some((block, next)) = stack.last_mut() {
            let Some(&edge) = problem.succs(*block).get(*next) else {
                self.order.push(*block);
                stack.pop();
                continue;
            };
            *next += 1;
            let to = problem.edge(edge).to;
            if self.marks[to] != mark {
                self.marks[to] = mark;
                stack.push((to, 0));
            }
        }
        self.order.reverse();
    }

    fn find_defs_and_uses(&mut self, problem: &Problem) {
        self.def_blocks.clear();
        self.uses.clear();
        self.remat.clear();
        self.read_in_memory.clear();
        for block in problem.blocks() {
            for &param in problem.params(block) {
                self.def_blocks[param] = block.into();
            }
            for inst in problem.insts(block) {
                for operand in problem.operands(inst) {
                    let vreg = operand.vreg();
                    if operand.is_def() {
                        self.def_blocks[vreg] = block.into();
                        if problem.flags(inst).has(InstFlags::REMAT) {
                            self.remat[vreg] = inst.into();
                        }
                        continue;
                    }
                    self.uses.push((vreg, block));
                    let memory =
                        matches!(operand.constraint(), Constraint::Stack | Constraint::MemOk | Constraint::Any);
                    self.read_in_memory[vreg] |= memory;
                }
            }
        }
        for edge in problem.edges() {
            let data = problem.edge(edge);
            self.uses.extend(problem.edge_args(edge).iter().map(|&arg| (arg, data.from)));
            for &vreg in problem.edge_defs(edge) {
                self.def_blocks[vreg] = data.to.into();
            }
        }
        let defs = &self.def_blocks;
        self.uses.retain(|&(vreg, block)| defs[vreg].expand() != Some(block));
        self.uses.sort_unstable();
        self.uses.dedup();
    }

    /// Walks from uses up to defs.
    fn find_entries(&mut self, problem: &Problem) -> Result<(), AllocError> {
        self.marks.clear();
        self.pairs.clear();
        let limit = STEPS.0 + STEPS.1 * (problem.num_insts() + problem.num_blocks()) as u64;
        for i in 0..self.uses.len() {
            let (vreg, block) = self.uses[i];
            self.enter(vreg, block);
            while let Some(block) = self.work.pop() {
                for &edge in problem.preds(block) {
                    self.steps += 1;
                    self.enter(vreg, problem.edge(edge).from);
                }
            }
            if self.steps > limit {
                return Err(AllocError::StepBudget { steps: self.steps });
            }
        }
        for edge in problem.edges() {
            let to = problem.edge(edge).to;
            self.pairs.extend(problem.edge_defs(edge).iter().map(|&vreg| (to, vreg)));
        }
        for block in problem.blocks() {
            self.pairs.extend(problem.params(block).iter().map(|&vreg| (block, vreg)));
        }
        self.pairs.sort_unstable();
        self.entries.clear();
        self.entries.extend(self.pairs.iter().map(|&(_, vreg)| (vreg, FAR)));
        self.ends.clear();
        let mut end = 0;
        for block in problem.blocks() {
            end += self.pairs[end..].iter().take_while(|pair| pair.0 == block).count();
            self.ends[block] = end as u32;
        }
        Ok(())
    }

    /// The value is live at the head of `block`, unless it is defined there.
    fn enter(&mut self, vreg: VReg, block: Block) {
        let seen = self.marks[block] == vreg.into();
        if !seen && self.def_blocks[vreg].expand() != Some(block) {
            self.marks[block] = vreg.into();
            self.pairs.push((block, vreg));
            self.work.push(block);
        }
    }

    fn approach(&mut self, vreg: VReg, distance: u32) {
        let known = &mut self.distances[vreg].0;
        if *known == DEAD {
            self.touched.push(vreg);
        }
        *known = distance.min(FAR).min(*known);
    }

    /// Takes the distances at the ends of successors through the block.
    fn measure(&mut self, problem: &Problem, block: Block) {
        let len = problem.insts(block).len() as u32;
        for &edge in problem.succs(block) {
            let to = problem.edge(edge).to;
            let away = problem.freq(to).0.saturating_mul(3) < problem.freq(block).0;
            let beyond = len + if away { AWAY } else { 0 };
            let start = to.as_u32().checked_sub(1).map_or(0, |before| self.ends[Block::from_u32(before)]);
            for i in start..self.ends[to] {
                let (vreg, distance) = self.entries[i as usize];
                if self.def_blocks[vreg].expand() != Some(to) {
                    self.approach(vreg, beyond.saturating_add(distance.min(FAR)));
                }
            }
            for &arg in problem.edge_args(edge) {
                self.approach(arg, len);
            }
        }
        let mut clobbered = DEAD;
        for (pos, inst) in problem.insts(block).enumerate().rev() {
            let pos = pos as u32;
            let calls = !problem.clobbers(inst).lost.is_empty();
            clobbered = if calls { pos } else { clobbered };
            for i in problem.operand_range(inst).rev() {
                let operand = problem.all_operands()[i];
                let vreg = operand.vreg();
                let next = self.distances[vreg].0;
                self.next_after[i] = next;
                // Each block is measured twice.
                let weight = &mut self.weights[vreg];
                *weight = weight.saturating_add(problem.freq(block).0 / 2);
                self.wish(problem, inst, operand, pos, clobbered);
                if operand.is_use() {
                    self.crosses[vreg] |= next != DEAD && next > clobbered;
                    self.approach(vreg, pos);
                } else {
                    self.crosses[vreg] |= next != DEAD && clobbered != DEAD && clobbered != pos && next > clobbered;
                }
            }
        }
        let start = block.as_u32().checked_sub(1).map_or(0, |before| self.ends[Block::from_u32(before)]);
        for i in start..self.ends[block] {
            let entry = &mut self.entries[i as usize];
            entry.1 = self.distances[entry.0].0;
            self.crosses[entry.0] |= entry.1 != DEAD && entry.1 > clobbered;
        }
        self.steps += u64::from(self.ends[block] - start) + u64::from(len);
        for vreg in self.touched.drain(..) {
            self.distances[vreg] = Distance::default();
        }
    }

    /// Takes wishes for registers backwards through an operand.
    fn wish(&mut self, problem: &Problem, inst: Inst, operand: Operand, pos: u32, clobbered: u32) {
        let vreg = operand.vreg();
        if let (true, Some(reg)) = (operand.is_use(), operand.fixed_reg()) {
            self.wishes[vreg] = Some((reg, pos));
        }
        if !operand.is_def() {
            return;
        }
        let lost = clobbered != DEAD && clobbered > pos;
        if self.wishes[vreg].is_some_and(|(_, at)| lost && clobbered < at) {
            self.wishes[vreg] = None;
        }
        let input = match operand.constraint() {
            Constraint::Reuse(k) => Some(problem.operands(inst)[usize::from(k)].vreg()),
            _ if problem.flags(inst).has(InstFlags::MOVE) => Some(problem.operands(inst)[0].vreg()),
            _ => None,
        };
        let wish = operand.fixed_reg().map(|reg| (reg, pos)).or(self.wishes[vreg]);
        if let (Some(input), Some(_)) = (input, wish) {
            self.wishes[input] = wish;
        }
    }

    /// The first instruction behind `inst` that takes `reg` from whoever is there.
    pub(crate) fn next_taken(&self, reg: PReg, inst: Inst) -> Inst {
        self.taken.next(reg, inst)
    }

    /// One line per block: what is live at its head and how far away it is used.
    pub(crate) fn dump(&self, out: &mut String) -> fmt::Result {
        for &block in &self.order {
            write!(out, "{block}:")?;
            for &(vreg, distance) in self.entry(block) {
                match distance {
                    DEAD => write!(out, " {vreg}:dead")?,
                    _ => write!(out, " {vreg}:{distance}")?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
