//! Random allocation problems and machines, valid by construction.
//!
//! Control flow first, then block by block instructions of the kinds that lowering makes: constants, two-address
//! arithmetic with a memory twin, shifts and divisions with fixed registers, calls, moves, temporaries. Operands
//! are chosen from dominating values. An instruction that needs more registers than the machine has is rejected.
//! Parameters get their arguments at the ends of predecessors, where they are defined if no value fits.

use crate::draft::{Draft, DraftBlock, DraftEdge, DraftInst, DraftLabel};
use crate::feasible::feasible;
use crate::flow::Flow;
use crate::rng::Rng;
use kingpost_regalloc::{
    ClassEnv, Clobbers, Constraint, Costs, InstFlags, Kind, MachineEnv, Operand, PReg, PRegSet, Pos, Problem, RegClass,
    RegSetId, VReg, VRegData,
};

/// Shape of a generated case.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of blocks before edges are split.
    pub blocks: usize,
    /// Largest number of instructions per block.
    pub insts: usize,
    /// Whether a collector runs at some calls.
    pub refs: bool,
    /// Whether there are labels.
    pub labels: bool,
    /// Whether the order of the blocks is random.
    pub shuffled: bool,
}

impl Shape {
    /// Returns a shape for a test case of one seed: mostly small, sometimes long.
    pub fn random(rng: &mut Rng) -> Shape {
        let blocks = if rng.chance(5) { rng.range(10..40) } else { rng.range(1..10) };
        let insts = if rng.chance(5) { rng.range(10..60) } else { rng.range(1..10) };
        Shape { blocks, insts, refs: rng.chance(40), labels: rng.chance(30), shuffled: rng.chance(10) }
    }
}

/// Returns the case of a seed: a machine and a problem that it can solve.
pub fn generate(seed: u64) -> (Problem, MachineEnv) {
    let rng = &mut Rng::new(seed);
    let shape = Shape::random(rng);
    generate_shape(rng, shape, &format!("seed_{seed}"))
}

/// Returns a machine and a problem of the given shape.
pub fn generate_shape(rng: &mut Rng, shape: Shape, name: &str) -> (Problem, MachineEnv) {
    let env = random_env(rng);
    let flow = Flow::random(rng, shape.blocks);
    let mut generator = Generator { rng, env, shape, draft: Draft::default(), values: Vec::new() };
    generator.reg_sets();
    generator.blocks(&flow);
    if shape.labels {
        generator.labels();
    }
    if shape.shuffled {
        generator.shuffle_order();
    }
    (generator.draft.build(name), generator.env)
}

/// Returns a machine with few or many registers.
pub fn random_env(rng: &mut Rng) -> MachineEnv {
    let class = |rng: &mut Rng, class: RegClass| {
        let count = match rng.range(0..100) {
            0..10 => 1,
            10..50 => rng.range(2..5),
            50..85 => rng.range(4..9),
            _ => rng.range(8..17),
        };
        let first = rng.range(0..64 - count - 1);
        let mut order: Vec<PReg> = (first..first + count).map(|enc| PReg::new(class, enc as u8)).collect();
        order.rotate_left(rng.range(0..count));
        let saves = rng.chance(60);
        let callee_saved = order.iter().copied().filter(|_| saves && rng.chance(40)).collect();
        let scratch = rng.chance(30).then(|| PReg::new(class, (first + count) as u8));
        let exchange = rng.chance(if class == RegClass::Int { 70 } else { 20 });
        ClassEnv { order, callee_saved, scratch, exchange, slot_move: rng.chance(15) }
    };
    MachineEnv { classes: [class(rng, RegClass::Int), class(rng, RegClass::Float)], costs: Costs::default() }
}

struct Generator<'a> {
    rng: &'a mut Rng,
    env: MachineEnv,
    shape: Shape,
    draft: Draft,
    /// Values available at the end of each finished block.
    values: Vec<Vec<VReg>>,
}

impl Generator<'_> {
    fn reg_sets(&mut self) {
        for class in RegClass::ALL {
            let all = self.env.class(class).allocatable();
            for _ in 0..2 {
                let some: PRegSet = all.iter().filter(|_| self.rng.chance(50)).collect();
                let set = if some.is_empty() { all } else { some };
                if !self.draft.reg_sets.contains(&set) {
                    self.draft.reg_sets.push(set);
                }
            }
        }
    }

    fn blocks(&mut self, flow: &Flow) {
        for block in 0..flow.succs.len() {
            // Only jumps pass arguments. Blocks are in reverse post-order, so that a back edge finds its parameters
            // defined.
            let takes_args = block != 0 && flow.preds[block].iter().all(|&pred| flow.succs[pred].len() == 1);
            let count = if takes_args && self.rng.chance(60) { self.rng.range(1..5) } else { 0 };
            let params = (0..count).map(|_| self.new_value(None)).collect();
            self.draft.blocks.push(DraftBlock { params, ..DraftBlock::default() });
        }
        let mut edge_defs: Vec<Vec<VReg>> = vec![Vec::new(); flow.succs.len()];
        for block in 0..flow.succs.len() {
            let mut values = if block == 0 { Vec::new() } else { self.values[flow.idom[block]].clone() };
            values.extend(&self.draft.blocks[block].params);
            values.append(&mut edge_defs[block]);
            self.values.push(values);
            for _ in 0..self.rng.range(0..self.shape.insts + 1) {
                self.inst(block);
            }
            let edges: Vec<DraftEdge> = flow.succs[block].iter().map(|&to| self.edge(block, to)).collect();
            self.draft.blocks[block].edges = edges;
            self.terminator(block, flow);
            for edge in &self.draft.blocks[block].edges {
                edge_defs[edge.to].extend(&edge.defs);
            }
        }
    }

    fn edge(&mut self, block: usize, to: usize) -> DraftEdge {
        let params = self.draft.blocks[to].params.clone();
        let args = params.iter().map(|&param| self.value_like(block, self.draft.vregs[param])).collect();
        DraftEdge { to, args, defs: Vec::new() }
    }

    fn new_value(&mut self, class: Option<RegClass>) -> VReg {
        let class = class.unwrap_or(if self.rng.chance(70) { RegClass::Int } else { RegClass::Float });
        let is_ref = class == RegClass::Int && self.shape.refs && self.rng.chance(40);
        let widths: &[u8] = match class {
            RegClass::Int if is_ref => &[8],
            RegClass::Int => &[8, 8, 8, 4, 4, 2, 1],
            RegClass::Float => &[8, 8, 16, 16, 4, 32, 64],
        };
        let width = self.rng.pick(widths).unwrap_or(8);
        self.draft.vregs.push(VRegData { class, width, is_ref })
    }

    fn value_of(&mut self, data: VRegData) -> VReg {
        self.draft.vregs.push(data)
    }

    /// Returns a value with the given properties that is available at the end of `block`. Defines one there if
    /// necessary.
    fn value_like(&mut self, block: usize, data: VRegData) -> VReg {
        let fitting: Vec<VReg> =
            self.values[block].iter().copied().filter(|&vreg| self.draft.vregs[vreg] == data).collect();
        if let Some(vreg) = self.rng.pick(&fitting)
            && self.rng.chance(85)
        {
            return vreg;
        }
        let vreg = self.value_of(data);
        let flags = if data.is_ref { InstFlags::NONE } else { InstFlags::REMAT };
        let inst = DraftInst { flags, operands: vec![Operand::reg_def(vreg)], ..DraftInst::default() };
        self.push(block, inst);
        vreg
    }

    fn push(&mut self, block: usize, inst: DraftInst) {
        let defs = inst.operands.iter().filter(|operand| operand.is_def()).map(|operand| operand.vreg());
        self.values[block].extend(defs);
        self.draft.blocks[block].insts.push(inst);
    }

    /// Returns a value to use: often a recent one.
    fn used(&mut self, block: usize) -> VReg {
        let count = self.values[block].len();
        match count {
            0 => {
                let data = VRegData { class: RegClass::Int, width: 8, is_ref: false };
                self.value_like(block, data)
            }
            _ if self.rng.chance(50) => self.values[block][self.rng.range(count.saturating_sub(4)..count)],
            _ => self.values[block][self.rng.range(0..count)],
        }
    }

    fn inst(&mut self, block: usize) {
        let inst = match self.rng.range(0..100) {
            0..15 => self.constant(),
            15..35 => self.plain(block),
            35..50 => self.two_address(block),
            50..60 => self.copy(block),
            60..75 => self.fixed(block),
            75..90 => self.call(block),
            _ => self.bookkeeping(block),
        };
        if self.fits(&inst) {
            self.push(block, inst);
        }
    }

    fn fits(&self, inst: &DraftInst) -> bool {
        self.fits_if(inst, |_, _| false)
    }

    fn fits_if(&self, inst: &DraftInst, apart: impl Fn(VReg, VReg) -> bool) -> bool {
        feasible(&self.env, &self.draft.vregs, &self.draft.reg_sets, inst, apart)
    }

    fn constant(&mut self) -> DraftInst {
        let vreg = self.new_value(None);
        let constraint = match self.rng.range(0..10) {
            0 => self.fixed_constraint(vreg),
            1 => self.within(vreg),
            _ => Constraint::Reg,
        };
        let again = constraint == Constraint::Reg && !self.draft.vregs[vreg].is_ref;
        let flags = if again { InstFlags::REMAT } else { InstFlags::NONE };
        let operand = Operand::new(vreg, Kind::Def, Pos::Late, constraint);
        DraftInst { flags, operands: vec![operand], ..DraftInst::default() }
    }

    /// Returns an instruction with any mixture of operands in registers, in register subsets and at both points,
    /// and perhaps one in memory.
    fn plain(&mut self, block: usize) -> DraftInst {
        let mut operands = Vec::new();
        for _ in 0..self.rng.range(0..4) {
            let vreg = self.used(block);
            let pos = if self.rng.chance(15) { Pos::Late } else { Pos::Early };
            let constraint = if self.rng.chance(15) { self.within(vreg) } else { Constraint::Reg };
            operands.push(Operand::new(vreg, Kind::Use, pos, constraint));
        }
        if self.rng.chance(30) {
            operands.push(Operand::mem_ok_use(self.used(block)));
        }
        for _ in 0..self.rng.range(0..3) {
            let vreg = self.new_value(None);
            let pos = if self.rng.chance(25) { Pos::Early } else { Pos::Late };
            let constraint = if self.rng.chance(15) { self.within(vreg) } else { Constraint::Reg };
            operands.push(Operand::new(vreg, Kind::Def, pos, constraint));
        }
        DraftInst { operands, ..DraftInst::default() }
    }

    /// Returns `d = op a, b` with d in the location of a; b, or d and a together, may be in memory.
    fn two_address(&mut self, block: usize) -> DraftInst {
        let a = self.used(block);
        let b = self.used(block);
        let in_memory = self.rng.range(0..3);
        let d = match in_memory == 1 || self.rng.chance(80) {
            true => self.value_of(VRegData { is_ref: false, ..self.draft.vregs[a] }),
            false => self.new_value(Some(self.draft.vregs[a].class)),
        };
        let a = if in_memory == 1 { Operand::mem_ok_use(a) } else { Operand::reg_use(a) };
        let b = if in_memory == 2 { Operand::mem_ok_use(b) } else { Operand::reg_use(b) };
        let mut operands = match self.rng.chance(50) {
            true => vec![Operand::reuse_def(d, 1), a, b],
            false => vec![b, a, Operand::reuse_def(d, 1)],
        };
        if in_memory == 1 && self.rng.chance(60) {
            operands.iter_mut().filter(|o| o.is_def()).for_each(|o| *o = o.with_rmw());
        }
        if self.rng.chance(20) {
            operands.push(Operand::early_def(self.new_value(None)));
        }
        if self.rng.chance(20) {
            operands.push(Operand::late_use(self.used(block)));
        }
        DraftInst { operands, ..DraftInst::default() }
    }

    fn copy(&mut self, block: usize) -> DraftInst {
        let from = self.used(block);
        let mut data = self.draft.vregs[from];
        if !data.is_ref && data.class.has_width(data.width / 2) && self.rng.chance(20) {
            data.width /= 2;
        }
        let to = self.value_of(data);
        let (source, target) = match self.rng.range(0..6) {
            0 => (Constraint::MemOk, Constraint::Reg),
            1 => (Constraint::Reg, self.fixed_constraint(to)),
            2 => (self.fixed_constraint(from), Constraint::Reg),
            _ => (Constraint::Reg, Constraint::Reg),
        };
        let operands =
            vec![Operand::new(from, Kind::Use, Pos::Early, source), Operand::new(to, Kind::Def, Pos::Late, target)];
        DraftInst { flags: InstFlags::MOVE, operands, ..DraftInst::default() }
    }

    /// Returns an instruction with operands in prescribed registers, such as a division or a shift.
    fn fixed(&mut self, block: usize) -> DraftInst {
        let mut operands = Vec::new();
        for _ in 0..self.rng.range(1..4) {
            let vreg = self.used(block);
            let constraint = if self.rng.chance(70) { self.fixed_constraint(vreg) } else { Constraint::Reg };
            let pos = if self.rng.chance(15) { Pos::Late } else { Pos::Early };
            operands.push(Operand::new(vreg, Kind::Use, pos, constraint));
        }
        for _ in 0..self.rng.range(0..3) {
            let vreg = self.new_value(None);
            let constraint = if self.rng.chance(70) { self.fixed_constraint(vreg) } else { Constraint::Reg };
            let pos = if self.rng.chance(15) { Pos::Early } else { Pos::Late };
            operands.push(Operand::new(vreg, Kind::Def, pos, constraint));
        }
        let lost: PRegSet = self.env.allocatable().iter().filter(|_| self.rng.chance(5)).collect();
        let clobbers = Clobbers::lost(without_fixed_defs(lost, &operands));
        DraftInst { operands, clobbers, ..DraftInst::default() }
    }

    fn call(&mut self, block: usize) -> DraftInst {
        let mut operands = Vec::new();
        for _ in 0..self.rng.range(0..4) {
            let vreg = self.used(block);
            let constraint = if self.rng.chance(80) { self.fixed_constraint(vreg) } else { Constraint::Any };
            operands.push(Operand::new(vreg, Kind::Use, Pos::Early, constraint));
        }
        for _ in 0..self.rng.range(0..3) {
            let vreg = self.new_value(None);
            operands.push(Operand::new(vreg, Kind::Def, Pos::Late, self.fixed_constraint(vreg)));
        }
        let clobbers = self.call_clobbers(&operands);
        let safepoint = self.shape.refs && self.rng.chance(70);
        DraftInst { flags: if safepoint { InstFlags::SAFEPOINT } else { InstFlags::NONE }, clobbers, operands }
    }

    fn call_clobbers(&mut self, operands: &[Operand]) -> Clobbers {
        let all = self.env.allocatable();
        let callee_saved = self.env.callee_saved();
        let lost = all.difference(callee_saved);
        let floats = callee_saved.of_class(RegClass::Float);
        let partial = if self.rng.chance(50) { floats } else { PRegSet::EMPTY };
        let kept_bytes = if partial.is_empty() { 0 } else { self.rng.pick(&[8, 16]).unwrap_or(8) };
        let partial = without_fixed_defs(partial, operands);
        let kept_bytes = if partial.is_empty() { 0 } else { kept_bytes };
        Clobbers { lost: without_fixed_defs(lost, operands), partial, kept_bytes }
    }

    /// Returns an instruction whose operands need no register.
    fn bookkeeping(&mut self, block: usize) -> DraftInst {
        let mut operands = Vec::new();
        let many = if self.rng.chance(5) { 40 } else { 4 };
        for _ in 0..self.rng.range(0..many) {
            let constraint = if self.rng.chance(40) { Constraint::Stack } else { Constraint::Any };
            let pos = if self.rng.chance(25) { Pos::Late } else { Pos::Early };
            operands.push(Operand::new(self.used(block), Kind::Use, pos, constraint));
        }
        if self.rng.chance(40) {
            let constraints = [Constraint::Stack, Constraint::Any, Constraint::MemOk];
            let constraint = self.rng.pick(&constraints).unwrap_or(Constraint::Any);
            let pos = if self.rng.chance(25) { Pos::Early } else { Pos::Late };
            operands.push(Operand::new(self.new_value(None), Kind::Def, pos, constraint));
        }
        DraftInst { operands, ..DraftInst::default() }
    }

    fn fixed_constraint(&mut self, vreg: VReg) -> Constraint {
        let class = self.draft.vregs[vreg].class;
        self.rng.pick(&self.env.class(class).order).map_or(Constraint::Reg, Constraint::Fixed)
    }

    fn within(&mut self, vreg: VReg) -> Constraint {
        let class = self.draft.vregs[vreg].class;
        let of_class = |set: &PRegSet| !set.of_class(class).is_empty();
        let sets: Vec<u32> =
            (0..self.draft.reg_sets.len()).filter(|&n| of_class(&self.draft.reg_sets[n])).map(|n| n as u32).collect();
        self.rng.pick(&sets).map_or(Constraint::Reg, |set| Constraint::Within(RegSetId::from_u32(set)))
    }

    fn terminator(&mut self, block: usize, flow: &Flow) {
        let plain = DraftInst { flags: InstFlags::BRANCH, ..DraftInst::default() };
        let ways = flow.succs[block].len();
        let alone = flow.succs[block].iter().all(|&to| flow.preds[to].len() == 1);
        let has_args = self.draft.blocks[block].edges.iter().any(|edge| !edge.args.is_empty());
        let inst = match ways {
            0 => self.exit(block),
            _ if alone && !has_args && self.rng.chance(if ways == 1 { 35 } else { 20 }) => {
                return self.call_with_ways(block);
            }
            1 if has_args || !alone || self.rng.chance(85) => plain.clone(),
            _ => self.branch(block),
        };
        let fits = self.fits(&inst);
        self.draft.blocks[block].insts.push(if fits { inst } else { plain });
    }

    fn exit(&mut self, block: usize) -> DraftInst {
        let mut operands = Vec::new();
        for _ in 0..self.rng.range(0..5) {
            let vreg = self.used(block);
            let constraint = match self.rng.range(0..3) {
                0 => self.fixed_constraint(vreg),
                1 => Constraint::Any,
                _ => Constraint::Reg,
            };
            // The epilogue restores callee-saved registers before the exit reads the registers that it names.
            let is_restored = matches!(constraint, Constraint::Fixed(reg) if self.env.callee_saved().contains(reg));
            let constraint = if is_restored { Constraint::Any } else { constraint };
            operands.push(Operand::new(vreg, Kind::Use, Pos::Early, constraint));
        }
        self.temporaries(&mut operands);
        DraftInst { flags: InstFlags::BRANCH, operands, ..DraftInst::default() }
    }

    fn branch(&mut self, block: usize) -> DraftInst {
        let mut operands = vec![Operand::reg_use(self.used(block))];
        if self.rng.chance(40) {
            operands.push(Operand::mem_ok_use(self.used(block)));
        }
        if self.rng.chance(10) {
            operands.push(Operand::late_use(self.used(block)));
        }
        self.temporaries(&mut operands);
        DraftInst { flags: InstFlags::BRANCH, operands, ..DraftInst::default() }
    }

    /// Adds results of a terminator that no edge lists.
    fn temporaries(&mut self, operands: &mut Vec<Operand>) {
        for _ in 0..if self.rng.chance(20) { self.rng.range(1..4) } else { 0 } {
            let vreg = self.new_value(None);
            self.draft.vregs[vreg].is_ref = false;
            operands.push(if self.rng.chance(50) { Operand::early_def(vreg) } else { Operand::reg_def(vreg) });
        }
    }

    /// Adds a call that ends its block, with results on its edges.
    fn call_with_ways(&mut self, block: usize) {
        let mut call = self.call(block);
        call.operands.retain(|operand| operand.is_use());
        let mut edges = self.draft.blocks[block].edges.clone();
        for edge in &mut edges {
            for _ in 0..self.rng.range(0..3) {
                let vreg = self.new_value(None);
                let constraint = if self.rng.chance(80) { self.fixed_constraint(vreg) } else { Constraint::Reg };
                call.operands.push(Operand::new(vreg, Kind::Def, Pos::Late, constraint));
                edge.defs.push(vreg);
            }
        }
        self.temporaries(&mut call.operands);
        call.flags = call.flags.and(InstFlags::BRANCH);
        call.clobbers = self.call_clobbers(&call.operands);
        // Results on different edges may be fixed to one register; allocators need not share one among other
        // results.
        let fixed: Vec<VReg> =
            call.operands.iter().filter(|o| o.is_def() && o.fixed_reg().is_some()).map(|o| o.vreg()).collect();
        let way = |vreg: VReg| edges.iter().position(|edge| fixed.contains(&vreg) && edge.defs.contains(&vreg));
        if !self.fits_if(&call, |a, b| way(a).is_some() && way(b).is_some() && way(a) != way(b)) {
            call = DraftInst { flags: InstFlags::BRANCH, ..DraftInst::default() };
            edges.iter_mut().for_each(|edge| edge.defs.clear());
        }
        self.draft.blocks[block].edges = edges;
        self.draft.blocks[block].insts.push(call);
    }

    /// Shuffles the order of blocks: any order that begins with the entry is valid.
    fn shuffle_order(&mut self) {
        let mut order: Vec<usize> = (0..self.draft.blocks.len()).collect();
        for place in 1..order.len() {
            order.swap(place, self.rng.range(1..place + 1));
        }
        self.draft.order = order;
    }

    /// Adds labels for values from right after their definition to a point in the same block.
    fn labels(&mut self) {
        for block in 0..self.draft.blocks.len() {
            let insts = self.draft.blocks[block].insts.len();
            for index in 0..insts.saturating_sub(1) {
                let operands = &self.draft.blocks[block].insts[index].operands;
                let defs: Vec<VReg> = operands.iter().filter(|o| o.is_def()).map(|o| o.vreg()).collect();
                if let Some(vreg) = self.rng.pick(&defs)
                    && self.rng.chance(30)
                {
                    let label = self.draft.labels.len() as u32;
                    let over = index + 1..self.rng.range(index + 1..insts) + 1;
                    self.draft.labels.push(DraftLabel { label, vreg, block, over });
                }
            }
        }
    }
}

/// Returns the members of `set` to which no def is fixed.
fn without_fixed_defs(set: PRegSet, operands: &[Operand]) -> PRegSet {
    let defs = operands.iter().filter(|operand| operand.is_def()).filter_map(|operand| operand.fixed_reg());
    set.difference(defs.collect())
}
