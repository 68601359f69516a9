//! Published regalloc2 on our problems: the conversion of problems and of answers, which is not timed.
//!
//! The conversion is one to one: blocks, edges, instructions and operands keep their numbers. Original moves and
//! rematerializable instructions become ordinary ones, because regalloc2 has no such kinds; a move with equal source
//! and destination counts as dropped. Features without a counterpart are refused: references, register subsets that
//! no limit describes, and edges that define two values in one register. Partial clobbers are treated as whole ones.

use super::cases::Case;
use kingpost_regalloc::{
    Allocation, Block, Clobbers, Constraint, Edit, EditKind, Inst, InstFlags, Kind, Loc, MachineEnv, Operand, PReg,
    PRegSet, Pos, Problem, RegClass, Slot, VReg,
};
use regalloc2::{Algorithm, AllocationKind, Ctx, OperandConstraint, OperandKind, OperandPos, RegallocOptions};
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A problem in the form of regalloc2.
#[derive(Clone, Debug)]
pub struct Function {
    operands: Vec<regalloc2::Operand>,
    insts: Vec<Instruction>,
    blocks: Vec<BlockData>,
    block_pool: Vec<regalloc2::Block>,
    vreg_pool: Vec<regalloc2::VReg>,
    /// Range of the arguments of each edge.
    args: Vec<Range<usize>>,
    edges: Vec<usize>,
    num_vregs: usize,
    /// Size of a slot of each class in words.
    slot_words: [usize; 2],
}

#[derive(Clone, Debug)]
struct Instruction {
    operands: Range<usize>,
    clobbers: regalloc2::PRegSet,
    is_branch: bool,
    is_return: bool,
}

#[derive(Clone, Debug)]
struct BlockData {
    insts: regalloc2::InstRange,
    succs: Range<usize>,
    preds: Range<usize>,
    params: Range<usize>,
    /// Range of the block's outgoing edges in `edges`.
    edges: Range<usize>,
}

fn class(class: RegClass) -> regalloc2::RegClass {
    match class {
        RegClass::Int => regalloc2::RegClass::Int,
        RegClass::Float => regalloc2::RegClass::Float,
    }
}

fn preg(reg: PReg) -> regalloc2::PReg {
    regalloc2::PReg::new(usize::from(reg.enc()), class(reg.class()))
}

fn set(regs: impl Iterator<Item = PReg>) -> regalloc2::PRegSet {
    regs.fold(regalloc2::PRegSet::empty(), |set, reg| set.with(preg(reg)))
}

/// Returns the machine in the form of regalloc2. Callee-saved registers are not preferred.
pub fn machine(env: &MachineEnv) -> regalloc2::MachineEnv {
    let saved = env.callee_saved();
    let of = |c: usize, is_saved: bool| {
        set(env.classes[c].order.iter().copied().filter(|&reg| saved.contains(reg) == is_saved))
    };
    let none = regalloc2::PRegSet::empty();
    regalloc2::MachineEnv {
        preferred_regs_by_class: [of(0, false), of(1, false), none],
        non_preferred_regs_by_class: [of(0, true), of(1, true), none],
        scratch_by_class: [env.classes[0].scratch.map(preg), env.classes[1].scratch.map(preg), None],
        fixed_stack_slots: Vec::new(),
    }
}

impl Function {
    /// Converts a problem.
    ///
    /// # Errors
    /// If regalloc2 cannot express the problem.
    pub fn new(problem: &Problem, env: &MachineEnv) -> Result<Function, &'static str> {
        if problem.vregs.values().any(|data| data.is_ref) {
            return Err("references");
        }
        let width = |class| problem.vregs.values().filter(|d| d.class == class).map(|d| d.width).max().unwrap_or(0);
        let words = |class, least: u8| usize::from(width(class).max(least)).div_ceil(8);
        let mut f = Function {
            operands: Vec::with_capacity(problem.num_operands()),
            insts: Vec::with_capacity(problem.num_insts()),
            blocks: Vec::with_capacity(problem.num_blocks()),
            block_pool: Vec::new(),
            vreg_pool: Vec::new(),
            args: Vec::with_capacity(problem.num_edges()),
            edges: Vec::new(),
            num_vregs: problem.vregs.len(),
            slot_words: [words(RegClass::Int, 8), words(RegClass::Float, 16)],
        };
        for edge in problem.edges() {
            let args = f.pool_vregs(problem, problem.edge_args(edge));
            f.args.push(args);
        }
        for block in problem.blocks() {
            f.block(problem, env, block)?;
        }
        Ok(f)
    }

    fn pool_vregs(&mut self, problem: &Problem, vregs: &[VReg]) -> Range<usize> {
        let start = self.vreg_pool.len();
        self.vreg_pool.extend(vregs.iter().map(|&v| vreg(problem, v)));
        start..self.vreg_pool.len()
    }

    fn block(&mut self, problem: &Problem, env: &MachineEnv, block: Block) -> Result<(), &'static str> {
        let params = self.pool_vregs(problem, problem.params(block));
        let start = self.block_pool.len();
        self.block_pool.extend(problem.succs(block).iter().map(|&e| regalloc2::Block(problem.edge(e).to.as_u32())));
        let succs = start..self.block_pool.len();
        self.block_pool.extend(problem.preds(block).iter().map(|&e| regalloc2::Block(problem.edge(e).from.as_u32())));
        let preds = succs.end..self.block_pool.len();
        let first_edge = self.edges.len();
        self.edges.extend(problem.succs(block).iter().map(|&edge| edge.as_u32() as usize));
        let edges = first_edge..self.edges.len();
        let first = self.insts.len();
        for inst in problem.insts(block) {
            self.inst(problem, env, inst, !succs.is_empty())?;
        }
        let insts = regalloc2::InstRange::new(regalloc2::Inst::new(first), regalloc2::Inst::new(self.insts.len()));
        self.blocks.push(BlockData { insts, succs, preds, params, edges });
        Ok(())
    }

    fn inst(&mut self, problem: &Problem, env: &MachineEnv, inst: Inst, goes_on: bool) -> Result<(), &'static str> {
        let operands = problem.operands(inst);
        let start = self.operands.len();
        let is_branch = problem.flags(inst).has(InstFlags::BRANCH);
        for (k, &operand) in operands.iter().enumerate() {
            let reused = operands.iter().any(|o| o.constraint() == Constraint::Reuse(k.min(255) as u8));
            let constraint = constraint(problem, env, operand, reused)?;
            let fixed = |o: &Operand| o.is_def().then(|| o.fixed_reg()).flatten();
            let twice = fixed(&operand).is_some_and(|reg| operands[..k].iter().any(|o| fixed(o) == Some(reg)));
            if is_branch && twice {
                return Err("results of two edges in one register");
            }
            self.operands.push(regalloc2::Operand::new(
                vreg(problem, operand.vreg()),
                constraint,
                if operand.kind() == Kind::Def { OperandKind::Def } else { OperandKind::Use },
                if operand.pos() == Pos::Late { OperandPos::Late } else { OperandPos::Early },
            ));
        }
        let &Clobbers { lost, partial, .. } = problem.clobbers(inst);
        self.insts.push(Instruction {
            operands: start..self.operands.len(),
            clobbers: set(lost.union(partial).iter()),
            is_branch: is_branch && goes_on,
            is_return: is_branch && !goes_on,
        });
        Ok(())
    }
}

fn vreg(problem: &Problem, vreg: VReg) -> regalloc2::VReg {
    regalloc2::VReg::new(vreg.as_u32() as usize, class(problem.class(vreg)))
}

fn constraint(
    problem: &Problem,
    env: &MachineEnv,
    operand: Operand,
    reused: bool,
) -> Result<OperandConstraint, &'static str> {
    Ok(match operand.constraint() {
        Constraint::Reg => OperandConstraint::Reg,
        Constraint::Fixed(reg) => OperandConstraint::FixedReg(preg(reg)),
        Constraint::Reuse(k) if k < 32 => OperandConstraint::Reuse(usize::from(k)),
        Constraint::Reuse(_) => return Err("reuse of an operand beyond the 32nd"),
        Constraint::Stack => OperandConstraint::Stack,
        // A reused operand is in a register there.
        Constraint::MemOk | Constraint::Any if reused => OperandConstraint::Reg,
        Constraint::MemOk | Constraint::Any => OperandConstraint::Any,
        Constraint::Within(id) => {
            let class = problem.class(operand.vreg());
            subset(env.class(class).allocatable(), problem.reg_set(id)).ok_or("a subset of registers")?
        }
    })
}

/// Returns a subset in the form of regalloc2: all registers, one register, or all registers below a power of two.
fn subset(all: PRegSet, set: PRegSet) -> Option<OperandConstraint> {
    let within = set.intersection(all);
    if within == all {
        return Some(OperandConstraint::Reg);
    }
    if within.len() == 1 {
        return within.iter().next().map(|reg| OperandConstraint::FixedReg(preg(reg)));
    }
    let below = |limit: usize| all.iter().filter(move |reg| usize::from(reg.enc()) < limit).collect::<PRegSet>();
    [2, 4, 8, 16, 32].into_iter().find(|&limit| below(limit) == within).map(OperandConstraint::Limit)
}

impl regalloc2::Function for Function {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn entry_block(&self) -> regalloc2::Block {
        regalloc2::Block(0)
    }

    fn block_insns(&self, block: regalloc2::Block) -> regalloc2::InstRange {
        self.blocks[block.index()].insts
    }

    fn block_succs(&self, block: regalloc2::Block) -> &[regalloc2::Block] {
        &self.block_pool[self.blocks[block.index()].succs.clone()]
    }

    fn block_preds(&self, block: regalloc2::Block) -> &[regalloc2::Block] {
        &self.block_pool[self.blocks[block.index()].preds.clone()]
    }

    fn block_params(&self, block: regalloc2::Block) -> &[regalloc2::VReg] {
        &self.vreg_pool[self.blocks[block.index()].params.clone()]
    }

    fn is_ret(&self, inst: regalloc2::Inst) -> bool {
        self.insts[inst.index()].is_return
    }

    fn is_branch(&self, inst: regalloc2::Inst) -> bool {
        self.insts[inst.index()].is_branch
    }

    fn branch_blockparams(&self, block: regalloc2::Block, _: regalloc2::Inst, succ: usize) -> &[regalloc2::VReg] {
        let edge = self.edges[self.blocks[block.index()].edges.start + succ];
        &self.vreg_pool[self.args[edge].clone()]
    }

    fn inst_operands(&self, inst: regalloc2::Inst) -> &[regalloc2::Operand] {
        &self.operands[self.insts[inst.index()].operands.clone()]
    }

    fn inst_clobbers(&self, inst: regalloc2::Inst) -> regalloc2::PRegSet {
        self.insts[inst.index()].clobbers
    }

    fn num_vregs(&self) -> usize {
        self.num_vregs
    }

    fn spillslot_size(&self, class: regalloc2::RegClass) -> usize {
        self.slot_words[class as usize]
    }
}

/// One of regalloc2's algorithms with its context.
pub struct Rival {
    options: RegallocOptions,
    machine: regalloc2::MachineEnv,
    context: Ctx,
}

impl Rival {
    /// Returns `algorithm` for the machine of `case`.
    pub fn new(algorithm: Algorithm, case: &Case) -> Rival {
        let options = RegallocOptions { verbose_log: false, validate_ssa: false, algorithm };
        Rival { options, machine: machine(&case.env), context: Ctx::default() }
    }

    /// Allocates registers. Only this function is timed.
    ///
    /// # Errors
    /// The error of regalloc2, or the message that it panicked.
    pub fn allocate(&mut self, function: &Function) -> Result<(), String> {
        let run = || regalloc2::run_with_ctx(function, &self.machine, &self.options, &mut self.context).map(|_| ());
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(_) => {
                self.context = Ctx::default();
                Err("panic".into())
            }
        }
    }

    /// Converts the last answer to our form.
    pub fn answer(&self, function: &Function, problem: &Problem, env: &MachineEnv, out: &mut Allocation) {
        out.reset(problem);
        let mut back = Back { function, slots: HashMap::new() };
        let output = &self.context.output;
        for n in 0..problem.num_operands() {
            let operand = problem.all_operands()[n];
            out.locs[n] = back.loc(output.allocs[n], problem.class(operand.vreg()), out);
        }
        for inst in (0..problem.num_insts() as u32).map(Inst::from_u32) {
            let met = matches!(out.operand_locs(problem, inst), [a, b] if a == b);
            if problem.flags(inst).has(InstFlags::MOVE) && met {
                out.drop_inst(inst);
            }
        }
        for &(point, regalloc2::Edit::Move { from, to }) in &output.edits {
            let after = u32::from(point.pos() == regalloc2::InstPosition::After);
            let at = Inst::from_u32(point.inst().raw_u32() + after);
            back.edit(at, from, to, out);
        }
        out.collect_saved(problem, env.callee_saved());
    }
}

/// Conversion of an answer.
struct Back<'a> {
    function: &'a Function,
    slots: HashMap<usize, Slot>,
}

impl Back<'_> {
    fn bytes(&self, class: RegClass) -> u8 {
        8 * self.function.slot_words[class.index()] as u8
    }

    fn loc(&mut self, allocation: regalloc2::Allocation, class: RegClass, out: &mut Allocation) -> Loc {
        match allocation.kind() {
            AllocationKind::None => Loc::NONE,
            AllocationKind::Reg => Loc::reg(allocation.as_reg().map_or(PReg::int(0), back_preg)),
            AllocationKind::Stack => {
                let bytes = self.bytes(class);
                Loc::slot(*self.slots.entry(allocation.index()).or_insert_with(|| out.add_slot(bytes)))
            }
        }
    }

    fn edit(&mut self, at: Inst, from: regalloc2::Allocation, to: regalloc2::Allocation, out: &mut Allocation) {
        let class = match from.as_reg().or(to.as_reg()) {
            Some(reg) => back_preg(reg).class(),
            None => RegClass::Int,
        };
        let (from, to) = (self.loc(from, class, out), self.loc(to, class, out));
        let width = self.bytes(class);
        let kind = match (from.as_reg(), to.as_reg(), from.as_slot(), to.as_slot()) {
            _ if from == to => return,
            (Some(from), Some(to), ..) => EditKind::Move { from, to, width },
            (Some(from), _, _, Some(to)) => EditKind::Spill { from, to, width },
            (_, Some(to), Some(from), _) => EditKind::Fill { from, to, width },
            (_, _, Some(from), Some(to)) => EditKind::SlotMove { from, to, width },
            _ => return,
        };
        out.edits.push(Edit { at, kind });
    }
}

fn back_preg(reg: regalloc2::PReg) -> PReg {
    let class = if reg.class() == regalloc2::RegClass::Int { RegClass::Int } else { RegClass::Float };
    PReg::new(class, reg.hw_enc() as u8)
}
