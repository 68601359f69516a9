//! The walk: blocks from the last to the first, and in each the instructions from the last to the first.

use crate::edges::Heads;
use crate::edits::Edits;
use crate::references::References;
use crate::slot_coalescing::SlotCoalescing;
use crate::state::State;
use crate::survey::Survey;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{
    AllocError, Allocation, Allocator, Diagnostics, EditKind, Event, Inst, InstFlags, LabelRange, Loc, MachineEnv,
    PRegSet, ParallelMoves, Problem, Slot, Step, VReg,
};
use kingpost_regalloc_common::answer;
use kingpost_regalloc_common::matching::Matching;
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder, LoopId};
use kingpost_regalloc_common::preference::{Masks, Reg, Registers};

/// The allocator that passes once. See the [crate documentation](crate). Memory is kept from one problem to the next.
#[derive(Default)]
pub struct SinglePass {
    registers: Registers,
    order: LinearOrder,
    survey: Survey,
    state: State,
    scratch: Scratch,
}

/// Memory of the walk.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) heads: Heads,
    pub(crate) edits: Edits,
    pub(crate) slots: SlotCoalescing,
    pub(crate) matching: Matching<Option<kingpost_regalloc::PReg>>,
    /// By operand of a constrained instruction: its request.
    pub(crate) requests: Vec<u32>,
    pub(crate) moves: ParallelMoves,
    pub(crate) sequence: Vec<EditKind>,
    references: References,
}

impl Allocator for SinglePass {
    fn name(&self) -> &'static str {
        "single_pass"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.allocate_with(problem, env, out, &mut Diagnostics::default())
    }

    fn allocate_with(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Result<(), AllocError> {
        out.reset(problem);
        let SinglePass { registers, order, survey, state, scratch } = self;
        diagnostics.begin("survey");
        registers.build(problem, env);
        order.build_forward(problem)?;
        order.find_positions();
        state.begin(problem);
        survey.run(problem, order, state);
        diagnostics.begin("walk");
        let fewest = registers.allocatable.iter().map(|mask| mask.count_ones() as usize).filter(|&n| n > 0).min();
        let mut walk = Walk {
            problem,
            env,
            registers,
            order,
            survey,
            state,
            s: scratch,
            out,
            diagnostics,
            index: BlockIndex::FIRST,
            innermost: None.into(),
            calls: 0,
            written: PRegSet::EMPTY,
            fewest_registers: fewest.unwrap_or(0),
            allocatable: env.allocatable(),
        };
        walk.run()
    }
}

/// The state of the walk.
pub(crate) struct Walk<'a, 'd> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) registers: &'a Registers,
    pub(crate) order: &'a LinearOrder,
    pub(crate) survey: &'a Survey,
    pub(crate) state: &'a mut State,
    pub(crate) s: &'a mut Scratch,
    pub(crate) out: &'a mut Allocation,
    pub(crate) diagnostics: &'a mut Diagnostics<'d>,
    /// The block the walk is in.
    pub(crate) index: BlockIndex,
    /// The innermost loop around it.
    pub(crate) innermost: PackedOption<LoopId>,
    /// Calls before the point that the walk has come to, in the linear order.
    pub(crate) calls: u32,
    /// Registers that definitions and clobbers write.
    pub(crate) written: PRegSet,
    /// Registers of the class that has fewer of them.
    pub(crate) fewest_registers: usize,
    /// All registers of both classes.
    pub(crate) allocatable: PRegSet,
}

impl Walk<'_, '_> {
    fn run(&mut self) -> Result<(), AllocError> {
        let blocks = self.order.num_blocks();
        self.s.heads.begin(blocks);
        self.s.edits.begin();
        self.s.slots.begin();
        self.s.matching.begin(self.problem);
        self.s.moves.begin();
        self.out.stats.steps += (self.problem.num_operands() + self.problem.num_insts()) as u64;
        for index in self.order.indices().rev() {
            self.index = index;
            self.calls = self.survey.calls_before_end(index);
            if self.order.block(index).innermost != self.innermost {
                self.begin_loop();
            }
            self.block()?;
        }
        self.s.edits.finish(self.out);
        self.finish()
    }

    fn block(&mut self) -> Result<(), AllocError> {
        let problem = self.problem;
        let mut steps = problem.walk(self.order.block(self.index).block).rev();
        if let Some(Step { inst: mut after, .. }) = steps.next() {
            self.end_block(after)?;
            for step in steps {
                let inst = step.inst;
                self.instruction(step, after)?;
                after = inst;
            }
        }
        self.head()
    }

    /// Chooses locations for the operands of an instruction, and writes what must be done behind it before `after`.
    #[inline]
    fn instruction(&mut self, step: Step, after: Inst) -> Result<(), AllocError> {
        let Step { inst, flags, shape, operands, .. } = step;
        let start = operands.start;
        if flags.has(InstFlags::REMAT) && self.skip_remat(inst, start) {
            return Ok(());
        }
        if self.is_plain(shape, operands.len()) {
            self.plain(inst, Some(after), operands);
        } else {
            self.constrained(inst, Some(after))?;
        }
        if flags.has(InstFlags::MOVE) && self.out.locs[start] == self.out.locs[start + 1] {
            self.out.drop_inst(inst);
        }
        Ok(())
    }

    /// A rematerialisable value that nothing reads here is not computed here.
    fn skip_remat(&mut self, inst: Inst, operand: usize) -> bool {
        let value = self.state.value(self.problem.all_operands()[operand].vreg());
        let skip = value.reg.is_none() && !value.is_stored;
        if skip {
            self.out.drop_inst(inst);
        }
        skip
    }

    fn finish(&mut self) -> Result<(), AllocError> {
        for label in &self.problem.labels {
            let slot = self.slot(label.vreg);
            self.out.labels.push(LabelRange {
                label: label.label,
                loc: Loc::slot(slot),
                from: label.from,
                to: label.to,
            });
        }
        let state = &*self.state;
        let slot_of = |vreg: VReg| state.value(vreg).existing_slot();
        self.s.references.collect(self.problem, self.order, slot_of, self.out)?;
        self.out.stats.steps += self.s.matching.steps;
        answer::sort_tables(self.out);
        answer::collect_saved(self.env, self.written, self.out);
        Ok(())
    }
}

/// Registers and memory.
impl Walk<'_, '_> {
    #[inline]
    pub(crate) fn loc(&self, reg: Reg) -> Loc {
        Loc::reg(self.registers.preg(reg))
    }

    /// The location of a register, if it is one.
    #[inline]
    pub(crate) fn register_loc(&self, reg: Reg) -> Option<Loc> {
        (!reg.is_none()).then(|| self.loc(reg))
    }

    /// The slot of a value, which its definition stores.
    pub(crate) fn slot(&mut self, vreg: VReg) -> Slot {
        self.state.value_mut(vreg).is_stored = true;
        self.s.slots.slot((self.problem, self.order), vreg, self.state, self.out)
    }

    /// The slot as a location.
    pub(crate) fn slot_loc(&mut self, vreg: VReg) -> Loc {
        Loc::slot(self.slot(vreg))
    }

    /// Brings a value into a register before `at`: from its slot, or by computing it again.
    pub(crate) fn reload(&mut self, at: Inst, vreg: VReg, reg: Reg) {
        let to = self.registers.preg(reg);
        let value = self.state.value(vreg);
        let width = value.width;
        let kind = match value.remat.expand() {
            Some(inst) => EditKind::Remat { inst, to },
            None => EditKind::Fill { from: self.slot(vreg), to, width },
        };
        self.s.edits.push(at, kind);
        self.diagnostics.event(Event::Reload { vreg, at });
    }

    /// Stores a value that was just defined in a register, if anything reads its slot.
    #[inline]
    pub(crate) fn store(&mut self, at: Inst, vreg: VReg, reg: Reg) {
        let value = self.state.value(vreg);
        if value.is_stored {
            let (width, to) = (value.width, self.slot(vreg));
            self.s.edits.push(at, EditKind::Spill { from: self.registers.preg(reg), to, width });
            self.diagnostics.event(Event::Spill { vreg, at });
        }
    }

    /// Takes the value in `reg` out of it. Behind the current instruction, before `after`, it is reloaded; without an `after` the
    /// heads of successors see to that.
    pub(crate) fn evict(&mut self, reg: Reg, winner: VReg, after: Option<Inst>) {
        let Some(vreg) = self.state.release(reg) else { return };
        self.out.stats.evictions += 1;
        if let Some(at) = after {
            self.diagnostics.event(Event::Evict { vreg, winner, at });
            self.reload(at, vreg, reg);
        }
    }

    /// A register for a value, outside of `busy`: its hint, `prefer`, or the first free one of the better kind, which is
    /// callee-saved if a call lies between the definition and here.
    #[inline]
    pub(crate) fn free_register(&self, vreg: VReg, busy: &Masks, prefer: Reg) -> Option<Reg> {
        let value = self.state.value(vreg);
        let class = value.class();
        let free = self.registers.allocatable[class] & !self.state.occupied[class] & !busy[class];
        if free == 0 {
            return None;
        }
        let saved = self.registers.callee_saved[class];
        let better = if value.lives_over_call { free & saved } else { free & (!saved | self.state.used[class]) };
        let choice = if better == 0 { free } else { better };
        let apart = choice & !self.state.resident[class];
        let choice = if apart == 0 || self.state.is_resident(value) { choice } else { apart };
        let is_choice = |reg: Reg| !reg.is_none() && reg.class() == class && choice & reg.bit() != 0;
        if is_choice(value.hint) {
            return Some(value.hint);
        }
        if is_choice(prefer) {
            return Some(prefer);
        }
        // Values of one block and those of many keep out of each other's way.
        let number = if value.block == self.index { choice.trailing_zeros() } else { 63 - choice.leading_zeros() };
        Some(Reg::new(class, number))
    }

    /// A register for a value, if necessary one whose value is evicted. None if all are busy.
    #[inline]
    pub(crate) fn any_register(&mut self, vreg: VReg, busy: &Masks, prefer: Reg, after: Option<Inst>) -> Option<Reg> {
        if let Some(reg) = self.free_register(vreg, busy, prefer) {
            return Some(reg);
        }
        let class = self.state.value(vreg).class();
        let held = self.state.occupied[class] & !busy[class];
        self.out.stats.steps += u64::from(held.count_ones());
        let reg = self.state.farthest(class, held)?;
        self.evict(reg, vreg, after);
        Some(reg)
    }
}
