//! A problem that can be changed anywhere: the generator writes it and the shrinker cuts it.

use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{
    Block, Clobbers, Constraint, Freq, Inst, InstFlags, LabelUse, Operand, PRegSet, Problem, RegSetId, VReg, VRegData,
};

/// One instruction.
#[derive(Clone, Debug, Default)]
pub struct DraftInst {
    /// Its flags.
    pub flags: InstFlags,
    /// Registers that it clobbers.
    pub clobbers: Clobbers,
    /// Its operands.
    pub operands: Vec<Operand>,
}

/// One edge, owned by its predecessor.
#[derive(Clone, Debug)]
pub struct DraftEdge {
    /// Number of the successor.
    pub to: usize,
    /// Arguments, one per parameter of the successor.
    pub args: Vec<VReg>,
    /// Results of the terminator that exist only here.
    pub defs: Vec<VReg>,
}

/// One block.
#[derive(Clone, Debug, Default)]
pub struct DraftBlock {
    /// Parameters.
    pub params: Vec<VReg>,
    /// Instructions; the last one is the terminator.
    pub insts: Vec<DraftInst>,
    /// Outgoing edges.
    pub edges: Vec<DraftEdge>,
}

/// A label over a part of one block.
#[derive(Clone, Debug)]
pub struct DraftLabel {
    /// The label.
    pub label: u32,
    /// Its value.
    pub vreg: VReg,
    /// The block.
    pub block: usize,
    /// Indices of instructions within the block.
    pub over: std::ops::Range<usize>,
}

/// A problem in parts. Block 0 is the entry.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// All values.
    pub vregs: PrimaryMap<VReg, VRegData>,
    /// All blocks.
    pub blocks: Vec<DraftBlock>,
    /// Register subsets by number.
    pub reg_sets: Vec<PRegSet>,
    /// Labels.
    pub labels: Vec<DraftLabel>,
    /// Blocks in the order in which allocators visit them; if empty, in the order of `blocks`.
    pub order: Vec<usize>,
}

impl Draft {
    /// Creates the draft of a problem. Labels that cross a block's end are left out.
    pub fn of(problem: &Problem) -> Draft {
        let block = |block: Block| DraftBlock {
            params: problem.params(block).to_vec(),
            insts: problem.insts(block).map(|inst| draft_inst(problem, inst)).collect(),
            edges: problem
                .succs(block)
                .iter()
                .map(|&edge| DraftEdge {
                    to: problem.edge(edge).to.index(),
                    args: problem.edge_args(edge).to_vec(),
                    defs: problem.edge_defs(edge).to_vec(),
                })
                .collect(),
        };
        let label = |request: &LabelUse| {
            let block = problem.block_of(request.from);
            let first = problem.first_inst(block).index();
            let over = request.from.index().checked_sub(first)?..request.to.index().checked_sub(first)?;
            let inside = over.end <= problem.insts(block).len();
            inside.then(|| DraftLabel { label: request.label, vreg: request.vreg, block: block.index(), over })
        };
        Draft {
            vregs: problem.vregs.clone(),
            blocks: problem.blocks().map(block).collect(),
            reg_sets: problem.all_reg_sets().values().copied().collect(),
            labels: problem.labels.iter().filter_map(label).collect(),
            order: problem.order.iter().map(|block| block.index()).collect(),
        }
    }

    /// Builds the problem. Values without a definition are left out and the others renumbered.
    pub fn build(&self, name: &str) -> Problem {
        let mut problem = Problem::default();
        problem.name = name.into();
        let renamed = self.rename(&mut problem);
        let new = |vreg: &VReg| renamed[vreg.index()].unwrap_or(VReg::new(0));
        let sets: Vec<RegSetId> = self.reg_sets.iter().map(|&set| problem.intern_reg_set(set)).collect();
        let freqs = self.frequencies();
        let mut first_insts = Vec::new();
        for (number, block) in self.blocks.iter().enumerate() {
            let params: Vec<VReg> = block.params.iter().map(new).collect();
            problem.begin_block(freqs[number], &params);
            first_insts.push(problem.num_insts());
            for inst in &block.insts {
                for operand in &inst.operands {
                    problem.push_operand(renumbered(*operand, new(&operand.vreg()), &sets));
                }
                let clobbers = problem.intern_clobbers(inst.clobbers);
                problem.push_inst(inst.flags, clobbers);
            }
        }
        for (number, block) in self.blocks.iter().enumerate() {
            for edge in &block.edges {
                let args: Vec<VReg> = edge.args.iter().map(new).collect();
                let defs: Vec<VReg> = edge.defs.iter().map(new).collect();
                let freq = Freq(freqs[number].0 / block.edges.len() as u64);
                problem.add_edge(Block::new(number), Block::new(edge.to), freq, &args, &defs);
            }
        }
        for label in &self.labels {
            let at = |index: usize| Inst::new(first_insts[label.block] + index);
            let (from, to) = (at(label.over.start), at(label.over.end));
            problem.labels.push(LabelUse { label: label.label, vreg: new(&label.vreg), from, to });
        }
        problem.order.extend(self.order.iter().map(|&block| Block::new(block)));
        problem.finish();
        problem
    }

    fn rename(&self, problem: &mut Problem) -> Vec<Option<VReg>> {
        let mut renamed = vec![None; self.vregs.len()];
        let mut define = |vreg: VReg| {
            let data = self.vregs[vreg];
            renamed[vreg.index()] = Some(problem.add_vreg(data.class, data.width, data.is_ref));
        };
        for block in &self.blocks {
            block.params.iter().copied().for_each(&mut define);
            let operands = block.insts.iter().flat_map(|inst| &inst.operands);
            operands.filter(|operand| operand.is_def()).for_each(|operand| define(operand.vreg()));
        }
        renamed
    }

    /// Returns a frequency per block: the entry's, less in deeper branches, more from the target of a back edge to
    /// its source.
    fn frequencies(&self) -> Vec<Freq> {
        let mut freqs = vec![Freq::ENTRY; self.blocks.len()];
        for (number, block) in self.blocks.iter().enumerate() {
            for edge in block.edges.iter().filter(|edge| edge.to <= number) {
                for freq in &mut freqs[edge.to..=number] {
                    freq.0 = (freq.0 * 4).min(Freq::MAX.0);
                }
            }
        }
        freqs
    }
}

fn draft_inst(problem: &Problem, inst: Inst) -> DraftInst {
    DraftInst {
        flags: problem.flags(inst),
        clobbers: *problem.clobbers(inst),
        operands: problem.operands(inst).to_vec(),
    }
}

fn renumbered(operand: Operand, vreg: VReg, sets: &[RegSetId]) -> Operand {
    let constraint = match operand.constraint() {
        Constraint::Within(set) => Constraint::Within(sets[set.index()]),
        other => other,
    };
    with_constraint(operand, vreg, constraint)
}

/// Returns the operand with another value and constraint.
pub(crate) fn with_constraint(operand: Operand, vreg: VReg, constraint: Constraint) -> Operand {
    let new = Operand::new(vreg, operand.kind(), operand.pos(), constraint);
    let is_reuse = matches!(constraint, Constraint::Reuse(_));
    if operand.is_rmw() && is_reuse { new.with_rmw() } else { new }
}
