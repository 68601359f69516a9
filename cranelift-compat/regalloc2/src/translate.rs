//! Functions of regalloc2 as problems of our contract.
//!
//! | regalloc2 | problem |
//! |---|---|
//! | a branch or return with operands | an instruction, then a branch without operands |
//! | arguments of one of several edges of a block | a block on the edge |
//! | an entry block with predecessors | an empty entry block before it |
//! | a use in a fixed stack slot | a use in a register before the instruction, which is copied to the slot |
//! | a def in a fixed stack slot | a def in a register after the instruction, copied from the slot |
//! | a register that is not allocatable | nothing |
//! | registers below a limit | a subset |

use crate::flow::Flow;
use crate::machine::Part;
use crate::refusal::Refusal;
use kingpost_regalloc::cranelift_entity::EntityRef;
use kingpost_regalloc::{
    ClobberId, Clobbers, Constraint, Freq, Inst, InstFlags, Kind, LabelUse, MachineEnv, Operand, PRegSet, Pos, Problem,
    RegClass, VReg,
};
use regalloc2::{Function, OperandConstraint, OperandKind, OperandPos};

/// The origin of an instruction of a problem. It determines the place of edits before the instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Site {
    /// An instruction of the function.
    Inst(regalloc2::Inst),
    /// A copy to a fixed stack slot before an instruction.
    ToSlot(regalloc2::Inst, regalloc2::PReg),
    /// A copy from a fixed stack slot before an instruction, for a def of the previous one.
    FromSlot(regalloc2::Inst, regalloc2::PReg),
    /// The branch added after the last instruction of a block. Edits before it are placed at the start of each
    /// successor, which has no other predecessor.
    End(regalloc2::Block),
    /// The jump of a block that was added on the edge to this block, which has no other predecessor.
    Edge(regalloc2::Block),
    /// The jump of the entry block that was added.
    Entry,
}

/// Index of an operand that is none of the function's.
pub(crate) const NO_TARGET: u32 = u32::MAX;

/// Intended use of a problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// To be solved by our allocators.
    Solve,
    /// To check an output. Fixed stack slots are spill slots, so that values can stay in them.
    Check,
}

/// A problem, and the way back.
pub(crate) struct Translation {
    pub(crate) problem: Problem,
    pub(crate) env: MachineEnv,
    pub(crate) part: Part,
    /// Origin of each instruction.
    pub(crate) sites: Vec<Site>,
    /// For each operand its index in [`regalloc2::Output::allocs`], or [`NO_TARGET`].
    pub(crate) targets: Vec<u32>,
    /// For each instruction of the function, the first instruction that it became.
    pub(crate) first: Vec<Inst>,
}

/// Returns the index of the first operand of each instruction.
pub(crate) fn operand_offsets<F: Function>(func: &F) -> Vec<u32> {
    let mut next = 0;
    let offset = |inst| {
        let offset = next;
        next += func.inst_operands(regalloc2::Inst::new(inst)).len() as u32;
        offset
    };
    (0..func.num_insts()).map(offset).collect()
}

/// Returns the number of bytes by which our contract describes a value of a class. The unit of regalloc2's slots is
/// taken as 8 bytes; slots of the output have the function's own sizes.
pub(crate) fn width<F: Function>(func: &F, part: Part, class: RegClass) -> u8 {
    match class {
        RegClass::Int => 8,
        RegClass::Float => (8 * func.spillslot_size(part.upstream_class(class)).clamp(1, 8)).next_power_of_two() as u8,
    }
}

/// Translates the registers of one part.
///
/// # Errors
/// [`Refusal`] if the contract cannot express the function, or if it breaks a rule of the contract.
pub(crate) fn translate<F: Function>(
    func: &F,
    env: &regalloc2::MachineEnv,
    part: Part,
    flow: &Flow,
    offsets: &[u32],
    purpose: Purpose,
) -> Result<Translation, Refusal> {
    if flow.order.len() < func.num_blocks() {
        return Err(Refusal::Unsupported("a block that the entry does not reach"));
    }
    let ours = part.env(env);
    let mut builder = Builder {
        func,
        part,
        purpose,
        flow,
        offsets,
        allocatable: ours.allocatable(),
        slots: env.fixed_stack_slots.iter().copied().collect(),
        problem: Problem::default(),
        vregs: vec![None; func.num_vregs()],
        defs: vec![None; func.num_vregs()],
        blocks: vec![None; func.num_blocks()],
        sites: Vec::new(),
        targets: Vec::new(),
        first: vec![Inst::new(0); func.num_insts()],
        late_copies: Vec::new(),
    };
    builder.blocks()?;
    builder.edges()?;
    if purpose == Purpose::Solve {
        builder.labels();
    }
    let Builder { problem, sites, targets, first, .. } = builder;
    problem.verify_with(&ours).map_err(|errors| Refusal::Invalid(errors[0].to_string()))?;
    Ok(Translation { problem, env: ours, part, sites, targets, first })
}

struct Builder<'a, F> {
    func: &'a F,
    part: Part,
    purpose: Purpose,
    flow: &'a Flow,
    offsets: &'a [u32],
    allocatable: PRegSet,
    slots: regalloc2::PRegSet,
    problem: Problem,
    vregs: Vec<Option<VReg>>,
    /// Per value of the function, its block and the first of our instructions before which it exists.
    defs: Vec<Option<(regalloc2::Block, u32)>>,
    blocks: Vec<Option<kingpost_regalloc::Block>>,
    sites: Vec<Site>,
    targets: Vec<u32>,
    first: Vec<Inst>,
    /// Defs in fixed stack slots by the current instruction.
    late_copies: Vec<(regalloc2::VReg, regalloc2::PReg)>,
}

impl<F: Function> Builder<'_, F> {
    fn blocks(&mut self) -> Result<(), Refusal> {
        let entry = self.func.entry_block();
        if self.has_own_entry() {
            self.problem.begin_block(Freq::ENTRY, &[]);
            self.push_inst(InstFlags::BRANCH, ClobberId::NONE, Site::Entry);
        }
        for &block in &self.flow.order {
            let params = self.vregs(self.func.block_params(block), Some((block, 0)))?;
            let freq = match block == entry && !self.has_own_entry() {
                true => Freq::ENTRY,
                false => self.freq(block),
            };
            let begun = self.problem.begin_block(freq, &params);
            self.blocks[block.index()] = Some(begun);
            if self.func.block_insns(block).len() == 0 {
                return Err(Refusal::Invalid(format!("block {} has no instruction", block.index())));
            }
            let last = self.func.block_insns(block).last();
            for inst in self.func.block_insns(block).iter() {
                self.inst(block, inst, last)?;
            }
        }
        Ok(())
    }

    /// Returns `true` if the problem has an entry block that the function does not have.
    fn has_own_entry(&self) -> bool {
        !self.func.block_preds(self.func.entry_block()).is_empty()
    }

    fn freq(&self, block: regalloc2::Block) -> Freq {
        let freq = Freq(Freq::ENTRY.0 << (3 * self.flow.depths[block.index()].min(8)));
        freq.min(Freq::MAX)
    }

    fn block_of(&self, block: regalloc2::Block) -> kingpost_regalloc::Block {
        self.blocks[block.index()].expect("all blocks are reached")
    }

    fn inst(&mut self, block: regalloc2::Block, inst: regalloc2::Inst, last: regalloc2::Inst) -> Result<(), Refusal> {
        self.first[inst.index()] = Inst::new(self.problem.num_insts());
        let clobbers = self.part.regs(self.func.inst_clobbers(inst)).intersection(self.allocatable);
        let is_last = inst == last;
        if is_last && self.func.inst_operands(inst).is_empty() && clobbers.is_empty() {
            self.push_inst(InstFlags::BRANCH, ClobberId::NONE, Site::Inst(inst));
            return Ok(());
        }
        self.copies_to_slots(inst)?;
        self.operands(block, inst)?;
        let clobbers = match clobbers.is_empty() {
            true => ClobberId::NONE,
            false => self.problem.intern_clobbers(Clobbers::lost(clobbers)),
        };
        self.push_inst(InstFlags::NONE, clobbers, Site::Inst(inst));
        if is_last {
            if !self.late_copies.is_empty() {
                return Err(Refusal::Unsupported("a branch with a def in a fixed stack slot"));
            }
            self.push_inst(InstFlags::BRANCH, ClobberId::NONE, Site::End(block));
        }
        let next = inst.next();
        for (vreg, slot) in std::mem::take(&mut self.late_copies) {
            let ours = self.vreg(vreg)?;
            self.problem.push_operand(Operand::reg_def(ours));
            self.targets.push(NO_TARGET);
            self.push_inst(InstFlags::NONE, ClobberId::NONE, Site::FromSlot(next, slot));
            self.defs[vreg.vreg()] = Some((block, self.problem.num_insts() as u32));
        }
        Ok(())
    }

    fn push_inst(&mut self, flags: InstFlags, clobbers: ClobberId, site: Site) {
        self.problem.push_inst(flags, clobbers);
        self.sites.push(site);
    }

    /// Adds copies of the uses in fixed stack slots.
    fn copies_to_slots(&mut self, inst: regalloc2::Inst) -> Result<(), Refusal> {
        for &operand in self.func.inst_operands(inst) {
            if operand.kind() == OperandKind::Use
                && let Some(slot) = self.copied_slot(operand)
            {
                let vreg = self.vreg(operand.vreg())?;
                self.problem.push_operand(Operand::reg_use(vreg));
                self.targets.push(NO_TARGET);
                self.push_inst(InstFlags::NONE, ClobberId::NONE, Site::ToSlot(inst, slot));
            }
        }
        Ok(())
    }

    /// Returns the fixed stack slot of an operand that is copied.
    fn copied_slot(&self, operand: regalloc2::Operand) -> Option<regalloc2::PReg> {
        self.part.class(operand.class())?;
        let slot = fixed_slot(operand, self.slots)?;
        (self.purpose == Purpose::Solve).then_some(slot)
    }

    fn operands(&mut self, block: regalloc2::Block, inst: regalloc2::Inst) -> Result<(), Refusal> {
        let func = self.func;
        let operands = func.inst_operands(inst);
        let offset = self.offsets[inst.index()];
        let late = self.problem.num_insts() as u32 + 1;
        // Positions among the operands of the problem.
        let mut positions = Vec::with_capacity(operands.len());
        let mut count = 0;
        for &operand in operands {
            let is_kept = self.part.class(operand.class()).is_some()
                && operand.as_fixed_nonallocatable().is_none()
                && self.copied_slot(operand).is_none();
            positions.push(is_kept.then_some(count));
            count += u8::from(is_kept);
            if count == u8::MAX {
                return Err(Refusal::Unsupported("an instruction of more than 254 operands"));
            }
        }
        for (i, &operand) in operands.iter().enumerate() {
            if self.part.class(operand.class()).is_none() || operand.as_fixed_nonallocatable().is_some() {
                continue;
            }
            let vreg = self.vreg(operand.vreg())?;
            if operand.kind() == OperandKind::Def {
                self.defs[operand.vreg().vreg()] = Some((block, late));
                if let Some(slot) = self.copied_slot(operand) {
                    self.late_copies.push((operand.vreg(), slot));
                }
            }
            if positions[i].is_none() {
                continue;
            }
            let is_reused = operands.iter().any(|def| def.constraint() == OperandConstraint::Reuse(i));
            let constraint = match operand.constraint() {
                // The location of a def that reuses it is a register.
                OperandConstraint::Any if is_reused => Constraint::Reg,
                OperandConstraint::Any => Constraint::Any,
                OperandConstraint::Reg => Constraint::Reg,
                OperandConstraint::Stack => Constraint::Stack,
                OperandConstraint::FixedReg(reg) if self.slots.contains(reg) => Constraint::Stack,
                OperandConstraint::FixedReg(reg) => match self.part.reg(reg) {
                    Some(reg) if self.allocatable.contains(reg) => Constraint::Fixed(reg),
                    _ => return Err(Refusal::Unsupported("a value in a register that is not allocatable")),
                },
                OperandConstraint::Reuse(k) => match positions.get(k) {
                    Some(&Some(k)) => Constraint::Reuse(k),
                    _ => return Err(Refusal::Unsupported("a def in the fixed location of a use")),
                },
                OperandConstraint::Limit(limit) => {
                    let class = self.problem.class(vreg);
                    let below = self.allocatable.iter().filter(|reg| usize::from(reg.enc()) < limit);
                    let below = below.filter(|reg| reg.class() == class).collect();
                    Constraint::Within(self.problem.intern_reg_set(below))
                }
            };
            let kind = match operand.kind() {
                OperandKind::Use => Kind::Use,
                OperandKind::Def => Kind::Def,
            };
            let pos = match operand.pos() {
                OperandPos::Early => Pos::Early,
                OperandPos::Late => Pos::Late,
            };
            self.problem.push_operand(Operand::new(vreg, kind, pos, constraint));
            self.targets.push(offset + i as u32);
        }
        Ok(())
    }

    /// Returns our value for one of the function. All its operands must have one class.
    fn vreg(&mut self, vreg: regalloc2::VReg) -> Result<VReg, Refusal> {
        let class = self.part.class(vreg.class()).expect("a value of the part");
        let width = width(self.func, self.part, class);
        let invalid = || Refusal::Invalid(format!("value {vreg} has two classes or a number out of range"));
        let ours = self.vregs.get_mut(vreg.vreg()).ok_or_else(invalid)?;
        let ours = *ours.get_or_insert_with(|| self.problem.add_vreg(class, width, false));
        if self.problem.class(ours) == class { Ok(ours) } else { Err(invalid()) }
    }

    /// Returns the values of the part among these. `def` is where they are defined, if they are parameters.
    fn vregs(&mut self, vregs: &[regalloc2::VReg], def: Option<(regalloc2::Block, u32)>) -> Result<Vec<VReg>, Refusal> {
        let mut ours = Vec::with_capacity(vregs.len());
        let part = self.part;
        for &vreg in vregs.iter().filter(|vreg| part.class(vreg.class()).is_some()) {
            ours.push(self.vreg(vreg)?);
            if def.is_some() {
                self.defs[vreg.vreg()] = def;
            }
        }
        Ok(ours)
    }

    fn edges(&mut self) -> Result<(), Refusal> {
        let func = self.func;
        // Blocks on edges, by the block to which the edge leads.
        let mut on_edges: Vec<Option<kingpost_regalloc::Block>> = vec![None; func.num_blocks()];
        let entry = func.entry_block();
        if self.has_own_entry() {
            let (from, to) = (self.problem.entry(), self.block_of(entry));
            self.problem.add_edge(from, to, Freq::ENTRY, &[], &[]);
        }
        for &block in &self.flow.order {
            let succs = func.block_succs(block);
            let last = func.block_insns(block).last();
            for (i, &succ) in succs.iter().enumerate() {
                let joins = func.block_preds(succ).len() + usize::from(succ == entry) > 1;
                if joins && (succs.len() > 1 || !self.ends_bare(block)) {
                    return Err(Refusal::Unsupported("a critical edge, or a branch with operands to a join"));
                }
                let args = match func.is_branch(last) {
                    true => self.vregs(func.branch_blockparams(block, last, i), None)?,
                    false => Vec::new(),
                };
                let freq = if succs.len() == 1 { self.problem.freq(self.block_of(block)) } else { self.freq(succ) };
                let (mut from, to) = (self.block_of(block), self.block_of(succ));
                if succs.len() > 1 && !args.is_empty() {
                    let on_edge = self.problem.begin_block(freq, &[]);
                    self.push_inst(InstFlags::BRANCH, ClobberId::NONE, Site::Edge(succ));
                    self.problem.add_edge(from, on_edge, freq, &[], &[]);
                    on_edges[succ.index()] = Some(on_edge);
                    from = on_edge;
                }
                self.problem.add_edge(from, to, freq, &args, &[]);
            }
        }
        if self.has_own_entry() {
            self.problem.order.push(self.problem.entry());
        }
        for &block in &self.flow.order {
            self.problem.order.extend(on_edges[block.index()]);
            self.problem.order.push(self.block_of(block));
        }
        self.problem.finish();
        Ok(())
    }

    /// Returns `true` if edits before the last instruction of our block are edits before the function's branch.
    fn ends_bare(&self, block: regalloc2::Block) -> bool {
        matches!(self.sites[self.problem.terminator(self.block_of(block)).index()], Site::Inst(_))
    }

    /// Adds the requests of debug information, block by block, where the value exists.
    fn labels(&mut self) {
        let func = self.func;
        let requests = func.debug_value_labels();
        if requests.is_empty() {
            return;
        }
        let mut blocks = self.flow.order.clone();
        blocks.sort_unstable_by_key(|&block| func.block_insns(block).first());
        for &(vreg, start, end, label) in requests {
            if self.part.class(vreg.class()).is_none() {
                continue;
            }
            let (Some(&Some(ours)), Some(&Some((home, exists)))) =
                (self.vregs.get(vreg.vreg()), self.defs.get(vreg.vreg()))
            else {
                continue;
            };
            let begin = blocks.partition_point(|&block| func.block_insns(block).last() < start);
            let within = blocks[begin..].iter().take_while(|&&block| func.block_insns(block).first() < end);
            for &block in within.filter(|&&block| self.flow.dominates(home, block)) {
                let insts = func.block_insns(block);
                let after = self.problem.terminator(self.block_of(block)).as_u32() + 1;
                let from = self.first[start.max(insts.first()).index()].as_u32();
                let from = if home == block { from.max(exists) } else { from };
                let to = if end > insts.last() { after } else { self.first[end.index()].as_u32() };
                if from < to {
                    let (from, to) = (Inst::from_u32(from), Inst::from_u32(to));
                    self.problem.labels.push(LabelUse { label, vreg: ours, from, to });
                }
            }
        }
    }
}

/// Returns the fixed stack slot of an operand.
pub(crate) fn fixed_slot(operand: regalloc2::Operand, slots: regalloc2::PRegSet) -> Option<regalloc2::PReg> {
    match operand.constraint() {
        OperandConstraint::FixedReg(reg) if slots.contains(reg) => Some(reg),
        _ => None,
    }
}
