//! The walk: it receives instructions from lowering and adds items.

use crate::heads::Heads;
use crate::log::Log;
use crate::loops::Loops;
use crate::selected::{Selected, WORD, masks};
use crate::state::{Remat, State};
use cranelift_entity::EntityRef;
use kingpost_mach::lower::{Edges, InstReceiver, SelectedInst};
use kingpost_mach::{
    AllocatedCode, AllocatedInst, AllocationMismatch, Code, FlagsEffect, InstOrEdit, LowerCtx, MAX_FLAG_ROWS, MInst,
    Outcome, PlainOperands, Regs, Row, RowKind,
};
use kingpost_regalloc::meter::{MeterRef, heap_bytes};
use kingpost_regalloc::{
    Allocation, Block, EditKind, Inst, Loc, MachineEnv, PReg, ParallelMoves, Problem, RegClass, Slot, VReg,
};
use kingpost_regalloc_common::label_places::place_labels;
use kingpost_regalloc_common::matching::Matching;
use kingpost_regalloc_common::preference::{Masks, Reg, Registers, regs};

pub(crate) const MANY_REGISTERS: &str = "an instruction of many registers";

/// Registers of the operands of a plain instruction, and one more.
pub(crate) type FewRegs = [Reg; PlainOperands::MOST + 1];

/// The allocator in the walk of lowering. See the [crate documentation](crate). Memory is kept for the next
/// function, which must be of the same machine.
#[derive(Default)]
pub struct Fused {
    pub(crate) registers: Registers,
    /// Whether `registers` has been built for the machine.
    has_registers: bool,
    /// Numbers of clobbers and register subsets in `registers`.
    known: (usize, usize),
    pub(crate) state: State,
    pub(crate) loops: Loops,
    pub(crate) heads: Heads,
    pub(crate) allocated: AllocatedCode,
    /// Slots of values and of parallel moves.
    pub(crate) slots: Allocation,
    pub(crate) moves: ParallelMoves,
    pub(crate) sequence: Vec<EditKind>,
    pub(crate) matching: Matching<Option<PReg>>,
    /// Whether `matching` has begun the function.
    pub(crate) has_matched: bool,
    /// Instructions that rematerialize values.
    remats: Vec<MInst>,
    /// A problem with the widths of registers alone, for parallel moves.
    pub(crate) widths: Problem,
    pub(crate) log: Option<Log>,
    pub(crate) refusal: Option<&'static str>,
    /// Number of the current block; `edges` has the edges from its end until its terminator has been allocated.
    pub(crate) block: u32,
    pub(crate) edges: Box<Edges>,
    is_at_end: bool,
    pub(crate) flags: Flags,
    srcloc: u32,
    has_srclocs: bool,
}

heap_bytes!(Fused { registers, state, loops, heads, allocated, slots, sequence, matching, remats, widths, log, edges } without { has_registers, known, moves, has_matched, refusal, block, is_at_end, flags, srcloc, has_srclocs });

impl Fused {
    /// Prepares for a function. With `is_logged` its problem is logged.
    pub fn begin(&mut self, is_logged: bool) {
        if self.widths.vregs.is_empty() {
            self.widths.add_vreg(RegClass::Int, WORD, false);
            self.widths.add_vreg(RegClass::Float, 16, false);
        }
        self.known = (0, 0);
        self.state.begin();
        self.loops.begin();
        self.allocated.clear(0);
        self.slots.reset(&self.widths);
        self.moves.begin();
        self.has_matched = false;
        self.remats.clear();
        self.log = is_logged.then(Log::default);
        self.refusal = None;
        self.is_at_end = false;
        self.flags = Flags::END;
        (self.srcloc, self.has_srclocs) = (u32::MAX, false);
    }

    /// Returns the items of the function lowered last.
    ///
    /// # Errors
    /// The reason if the function needs another allocator.
    pub fn allocated_code(&self) -> Result<&AllocatedCode, &'static str> {
        self.refusal.map_or(Ok(&self.allocated), Err)
    }

    /// Writes the allocation that the items represent, with the places of labeled values, to `out`. The problem
    /// must have been logged.
    ///
    /// # Errors
    /// If an item differs from the selected instruction.
    pub fn allocation(
        &self,
        code: &Code,
        rows: &[Row],
        env: &MachineEnv,
        out: &mut Allocation,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocationMismatch> {
        self.allocated.allocation(code, rows, env, out)?;
        // Without labels if the meter refuses; its status tells.
        let _ = place_labels(&code.problem, env, out, meter);
        Ok(())
    }
}

impl InstReceiver for Fused {
    fn end(&mut self, lower: &mut LowerCtx<'_>, block: Block, edges: &mut Box<Edges>) {
        if self.refusal.is_some() {
            return;
        }
        if self.allocated.blocks.is_empty() {
            self.allocated.clear(lower.order().blocks().len());
            self.heads.begin(self.allocated.blocks.len());
        }
        self.sync(lower);
        self.block = block.as_u32();
        std::mem::swap(&mut self.edges, edges);
        self.is_at_end = true;
        self.flags = Flags::END;
        let at = self.allocated.list.len() as u32;
        self.allocated.blocks[block.index()].list = (at, at);
        if let Some(log) = &mut self.log {
            log.end(block, &self.edges);
        }
        self.end_block(lower);
    }

    fn receive(&mut self, lower: &mut LowerCtx<'_>) {
        if self.refusal.is_some() {
            return;
        }
        if self.srcloc != lower.srcloc() {
            self.begin_srcloc(lower.srcloc());
        }
        self.state.grow(lower.code.problem.vregs.len());
        let mut at = lower.sequence().len();
        if std::mem::take(&mut self.is_at_end) {
            at -= 1;
            self.state.clock += 1;
            self.terminator(lower, at, plain_operands(&lower.sequence()[at]));
        }
        while at > 0 {
            at -= 1;
            self.state.clock += 1;
            match plain_operands(&lower.sequence()[at]) {
                Some(plain) => self.plain(lower, at, plain, true),
                None => self.constrained(lower, at),
            }
        }
    }

    fn head(&mut self, lower: &mut LowerCtx<'_>, block: Block) {
        if self.refusal.is_some() {
            return;
        }
        self.state.grow(lower.code.problem.vregs.len());
        self.head_block(lower, block);
        self.allocated.blocks[block.index()].list.1 = self.allocated.list.len() as u32;
    }

    fn finish(&mut self, lower: &mut LowerCtx<'_>) {
        self.allocated.slots.clear();
        self.allocated.slots.extend(self.slots.slots.values().copied());
        for (class, extra_callee_saved) in self.registers.masks(lower.code.extra_callee_saved).into_iter().enumerate() {
            let preserved = self.registers.callee_saved[class] | extra_callee_saved;
            for reg in regs(class, self.state.used[class] & preserved) {
                self.allocated.written.insert(self.registers.preg(reg));
            }
        }
        if let (Some(log), None) = (self.log.take(), self.refusal) {
            self.allocated.origins.emergency = self.slots.emergency;
            let (code, order) = lower.code_and_order();
            log.finish(code, order, &mut self.allocated.origins);
        }
    }
}

/// The next access to the flags from the current point on, as far as emission of allocated code can see: 0 if they
/// may be read, otherwise the number of further instructions before which they are known to be dead.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Flags(u8);

impl Flags {
    /// No code below reads or writes them.
    const END: Flags = Flags(MAX_FLAG_ROWS as u8 + 1);
    /// The next access reads them.
    const READ: Flags = Flags(0);
    /// The next access writes them.
    const WRITTEN: Flags = Flags(MAX_FLAG_ROWS as u8);

    /// Returns the state before an instruction with that effect.
    fn before(self, effect: FlagsEffect) -> Flags {
        // No branches, because the next effect is hard to predict.
        let (kept, set) = BEFORE[effect as usize];
        Flags(self.0.saturating_sub(1) & kept | set)
    }

    /// Returns `true` if the flags are known to be dead.
    pub(crate) fn are_dead(self) -> bool {
        self.0 != 0
    }
}

/// By effect: the bits to keep after counting one instruction, and the bits to set.
const BEFORE: [(u8, u8); 5] = {
    let mut before = [(0, Flags::READ.0); 5];
    before[FlagsEffect::None as usize] = (u8::MAX, 0);
    before[FlagsEffect::Def as usize] = (0, Flags::WRITTEN.0);
    before[FlagsEffect::Clobber as usize] = (0, Flags::WRITTEN.0);
    before
};

/// Returns the plain operands of an instruction: in any registers, without clobbers or additional operands.
fn plain_operands(record: &SelectedInst) -> Option<&'static PlainOperands> {
    record.row.plain.as_ref().filter(|_| !record.has_more)
}

impl Fused {
    /// Updates the state to the values, clobbers and register subsets that lowering has created.
    pub(crate) fn sync(&mut self, lower: &LowerCtx<'_>) {
        self.state.grow(lower.code.problem.vregs.len());
        let problem = &lower.code.problem;
        let known = (problem.all_clobbers().len(), problem.all_reg_sets().len());
        if self.known != known {
            self.known = known;
            self.build_registers(lower);
        }
    }

    #[inline(never)]
    fn build_registers(&mut self, lower: &LowerCtx<'_>) {
        let problem = &lower.code.problem;
        match std::mem::replace(&mut self.has_registers, true) {
            true => self.registers.update(problem),
            false => self.registers.build(problem, lower.env()),
        }
    }

    /// Rejects the function, for the given reason.
    pub(crate) fn refuse(&mut self, what: &'static str) {
        self.refusal = Some(what);
    }

    /// Begins the items of another source location.
    fn begin_srcloc(&mut self, srcloc: u32) {
        self.srcloc = srcloc;
        if !self.has_srclocs {
            self.has_srclocs = true;
            self.allocated.srclocs.resize(self.allocated.list.len(), u32::MAX);
        }
    }

    /// Drops an instruction whose operands are all in `reg`.
    #[inline(never)]
    pub(crate) fn drop_inst(&mut self, lower: &LowerCtx<'_>, at: usize, reg: Reg) {
        self.flags = self.flags.before(FlagsEffect::None);
        if self.log.is_some() {
            let loc = if reg.is_none() { Loc::NONE } else { self.loc(reg) };
            let before = self.allocated.list.len() as u32;
            self.log_inst(&Selected::new(lower, &lower.sequence()[at]), Outcome::Dropped { before, loc });
        }
    }

    /// Adds an instruction with its operands in the first `count` registers, except for one in `slot`, before all
    /// items added so far.
    #[inline(always)]
    pub(crate) fn push_plain(
        &mut self,
        lower: &LowerCtx<'_>,
        at: usize,
        regs: &FewRegs,
        count: usize,
        slot: Option<Slot>,
    ) {
        let placed = match slot {
            // Few instructions have more. Without this case, compilation takes 1.1 % more instructions (`make gate`,
            // `x86_64 fused none`).
            None if count <= 3 => {
                Regs::of_first([regs[0], regs[1], regs[2]].map(|reg| self.registers.preg(reg)), count)
            }
            None => Regs::of_first(regs.map(|reg| self.registers.preg(reg)), count),
            Some(_) => {
                let in_registers = regs[..count].iter().filter(|reg| !reg.is_none());
                Regs::of_few(in_registers.map(|&reg| self.registers.preg(reg)))
            }
        };
        self.push_inst(lower, at, placed, slot);
    }

    /// Adds a branch without operands.
    pub(crate) fn push_bare(&mut self, lower: &LowerCtx<'_>, at: usize) {
        self.push_inst(lower, at, Regs::default(), None);
    }

    #[inline(always)]
    fn push_inst(&mut self, lower: &LowerCtx<'_>, at: usize, regs: Regs, slot: Option<Slot>) {
        if self.log.is_some() {
            self.log_item(lower, at);
        }
        let SelectedInst { inst, row, .. } = lower.sequence()[at];
        let mut placed = AllocatedInst::new(inst, row.kind, self.flags.are_dead());
        self.flags = self.flags.before(row.flags);
        if let (Some(slot), Some(twin)) = (slot, row.twin) {
            placed.read_slot(slot, twin);
        }
        placed.regs = regs;
        self.push(InstOrEdit::Inst(placed));
    }

    /// Records in the log that the next item is made of an instruction.
    #[cold]
    pub(crate) fn log_item(&mut self, lower: &LowerCtx<'_>, at: usize) {
        let item = self.allocated.list.len() as u32;
        self.log_inst(&Selected::new(lower, &lower.sequence()[at]), Outcome::Item(item));
    }

    fn log_inst(&mut self, selected: &Selected, outcome: Outcome) {
        if let Some(log) = &mut self.log {
            log.inst(selected, self.srcloc, outcome);
        }
    }

    /// Adds an instruction with the locations of its operands, before all items added so far.
    pub(crate) fn push_selected(&mut self, selected: &Selected, locs: &[Loc]) {
        self.log_inst(selected, Outcome::Item(self.allocated.list.len() as u32));
        let row = selected.row;
        let mut placed = AllocatedInst::new(selected.inst, row.kind, self.flags.are_dead());
        let encoded = row.operands.len() + selected.inst.mode.regs();
        for &loc in &locs[..encoded.min(locs.len())] {
            match (loc.as_reg(), loc.as_slot(), row.twin) {
                (Some(reg), ..) if placed.regs.push(reg) => {}
                (None, Some(slot), Some(twin)) => placed.read_slot(slot, twin),
                _ => self.refuse(MANY_REGISTERS),
            }
        }
        self.push_placed(placed, row);
    }

    /// Adds an instruction that may be a call, before all items added so far.
    pub(crate) fn push_placed(&mut self, placed: AllocatedInst, row: &Row) {
        let is_call = matches!(row.kind, RowKind::Call | RowKind::TryCall);
        self.flags = if is_call { Flags::WRITTEN } else { self.flags.before(row.flags) };
        self.push(InstOrEdit::Inst(placed));
    }

    #[inline(always)]
    fn push(&mut self, item: InstOrEdit) {
        if self.has_srclocs {
            self.allocated.srclocs.push(self.srcloc);
        }
        self.allocated.list.push(item);
    }

    /// Adds an edit before all items added so far. The instruction number of a rematerialization is the number of
    /// its value.
    ///
    /// The item is built in place in the list: otherwise it would have to be complete before it could be copied.
    #[inline(always)]
    pub(crate) fn push_edit(&mut self, kind: EditKind) {
        if let (Some(log), EditKind::Remat { inst, .. }) = (&mut self.log, kind) {
            log.remat(self.allocated.list.len(), VReg::from_u32(inst.as_u32()));
        }
        let item = self.item(kind, self.flags.are_dead());
        self.push(item);
    }

    /// Adds a copy of a register into another one, before all items added so far.
    #[inline(always)]
    pub(crate) fn push_copy(&mut self, from: Reg, to: Reg, width: u8) {
        self.state.touch(to);
        let (from, to) = (self.registers.preg(from), self.registers.preg(to));
        self.push(InstOrEdit::Edit(EditKind::Move { from, to, width }));
    }

    /// Returns the item that an edit is encoded as.
    #[inline(always)]
    pub(crate) fn item(&mut self, kind: EditKind, flags_are_dead: bool) -> InstOrEdit {
        let mut touch = |preg| {
            let reg = self.registers.reg(preg);
            if !reg.is_none() {
                self.state.touch(reg);
            }
        };
        match kind {
            EditKind::Move { to, .. } | EditKind::Fill { to, .. } => touch(to),
            EditKind::Exchange { a, b, .. } => {
                touch(a);
                touch(b);
            }
            EditKind::Spill { .. } | EditKind::SlotMove { .. } => {}
            EditKind::Remat { inst, to } => {
                touch(to);
                if let Remat::By(number) = self.state.value(VReg::from_u32(inst.as_u32())).remat {
                    let mut placed = AllocatedInst::new(self.remats[number as usize], RowKind::Remat, flags_are_dead);
                    placed.regs.push(to);
                    return InstOrEdit::Inst(placed);
                }
            }
        }
        InstOrEdit::Edit(kind)
    }

    /// Emits the resolved parallel move. Registers outside `needed` are dead after it.
    pub(crate) fn resolve(&mut self, lower: &LowerCtx<'_>, needed: &Masks) {
        if !self.moves.is_empty() {
            self.push_moves(lower, needed);
        }
    }

    #[inline(never)]
    fn push_moves(&mut self, lower: &LowerCtx<'_>, needed: &Masks) {
        self.sequence_moves(lower, needed);
        while let Some(kind) = self.sequence.pop() {
            self.push_edit(kind);
        }
    }

    /// Orders the moves of the current parallel move.
    pub(crate) fn sequence_moves(&mut self, lower: &LowerCtx<'_>, needed: &Masks) {
        if !self.moves.resolve_in_order(&mut self.sequence) {
            let free = (0..2).flat_map(|class| regs(class, self.registers.allocatable[class] & !needed[class]));
            let free = free.map(|reg| self.registers.preg(reg)).collect();
            let machine = (&self.widths, lower.env());
            if self.moves.resolve(free, machine, &mut self.slots, &mut self.sequence).is_err() {
                self.refuse("a move that no register is left for");
            }
        }
    }
}

/// Values and registers.
impl Fused {
    /// Records that the walk visits a value, and initializes the value the first time. Returns its register.
    pub(crate) fn visit(&mut self, lower: &LowerCtx<'_>, vreg: VReg) -> Reg {
        let clock = self.state.clock;
        let value = self.state.value_mut(vreg);
        if std::mem::replace(&mut value.last_visit, clock) == 0 {
            self.first_visit(lower, vreg);
            return Reg::NONE;
        }
        value.reg
    }

    /// Initializes a value that the walk has not visited before.
    #[inline(never)]
    pub(crate) fn first_visit(&mut self, lower: &LowerCtx<'_>, vreg: VReg) {
        let data = lower.code.problem.vregs[vreg];
        let value = self.state.value_mut(vreg);
        value.class = data.class.index() as u8;
        value.width = if data.class == RegClass::Int { WORD } else { data.width };
        value.block = self.block;
        let Some(origin) = lower.origin(vreg) else { return };
        let (block, lives_over_call) = lower.definition(origin);
        value.block = block.map_or(self.block, |block| block.as_u32());
        value.lives_over_call = lives_over_call;
        if value.block == 0
            && let Some(reg) = lower.incoming_register(origin).map(|preg| self.registers.reg(preg))
            && !reg.is_none()
            && reg.class() == value.class()
        {
            value.hint = reg;
        }
    }

    pub(crate) fn loc(&self, reg: Reg) -> Loc {
        Loc::reg(self.registers.preg(reg))
    }

    /// Returns the slot of a value, which its definition then stores.
    pub(crate) fn slot(&mut self, vreg: VReg) -> Slot {
        let value = self.state.value_mut(vreg);
        value.is_stored = true;
        if let Some(slot) = value.slot.expand() {
            return slot;
        }
        let slot = self.slots.add_slot(value.width);
        value.slot = slot.into();
        slot
    }

    /// Returns `true` if a value is rematerializable.
    pub(crate) fn is_remat(&mut self, lower: &mut LowerCtx<'_>, vreg: VReg) -> bool {
        if self.state.value(vreg).remat == Remat::Unknown {
            let inst = match lower.origin(vreg) {
                Some(origin) => lower.rematerialised(origin),
                None => None,
            };
            self.state.value_mut(vreg).remat = match inst {
                Some(inst) => {
                    self.remats.push(inst);
                    Remat::By(self.remats.len() as u32 - 1)
                }
                None => Remat::No,
            };
        }
        self.state.value(vreg).remat != Remat::No
    }

    /// Loads a value into a register, before all items added so far: from its slot or by rematerialization.
    pub(crate) fn reload(&mut self, lower: &mut LowerCtx<'_>, vreg: VReg, reg: Reg) {
        let to = self.registers.preg(reg);
        let kind = match self.is_remat(lower, vreg) {
            true => EditKind::Remat { inst: Inst::from_u32(vreg.as_u32()), to },
            false => EditKind::Fill { from: self.slot(vreg), to, width: self.state.value(vreg).width },
        };
        self.push_edit(kind);
    }

    /// Stores a value that the next added instruction defines in a register, if any code reads its slot.
    #[inline(always)]
    pub(crate) fn store(&mut self, vreg: VReg, reg: Reg) {
        if self.state.value(vreg).is_stored {
            self.spill(vreg, reg);
        }
    }

    #[inline(never)]
    fn spill(&mut self, vreg: VReg, reg: Reg) {
        let (width, to) = (self.state.value(vreg).width, self.slot(vreg));
        self.push_edit(EditKind::Spill { from: self.registers.preg(reg), to, width });
    }

    /// Puts a value without a register into a free one. It may become resident in the surrounding loops.
    #[inline(always)]
    pub(crate) fn put(&mut self, reg: Reg, vreg: VReg) {
        let value = self.state.value(vreg);
        if self.loops.is_from_outside(value.block) && value.resident.is_none() {
            self.make_resident(reg, vreg);
        }
        self.state.put(reg, vreg);
    }

    #[inline(never)]
    fn make_resident(&mut self, reg: Reg, vreg: VReg) {
        if self.loops.make_resident(reg, vreg, self.state.value(vreg).block, &self.state.recent) {
            self.state.value_mut(vreg).resident = reg;
        }
    }

    /// Adds a move of a value from its register `from`, or from its slot or rematerialization if that is none.
    pub(crate) fn add_move(&mut self, lower: &mut LowerCtx<'_>, from: Reg, vreg: VReg, to: Loc) {
        let value = self.state.value(vreg);
        let (class, width) = (RegClass::ALL[value.class()], value.width);
        if !from.is_none() {
            self.moves.add(self.loc(from), to, class, width);
        } else if self.is_remat(lower, vreg) {
            self.moves.add_remat(Inst::from_u32(vreg.as_u32()), to, class, width);
        } else {
            let from = Loc::slot(self.slot(vreg));
            self.moves.add(from, to, class, width);
        }
    }

    /// Returns a register for a value, outside `busy`: its hint, `prefer`, or the first free one of the better
    /// kind.
    pub(crate) fn free_register(&self, vreg: VReg, busy: &Masks, prefer: Reg) -> Option<Reg> {
        let value = self.state.value(vreg);
        let class = value.class();
        let free = self.registers.allocatable[class] & !self.state.occupied[class] & !busy[class];
        if free == 0 {
            return None;
        }
        let saved = self.registers.callee_saved[class];
        let better = if value.lives_over_call { free & saved } else { free & (!saved | self.state.used[class]) };
        let mut choice = if better == 0 { free } else { better };
        if self.loops.is_inside() {
            if value.resident.is_in(&[free; 2]) && value.resident.class() == class {
                return Some(value.resident);
            }
            // Values of the loop and values from outside use separate registers.
            let touched = self.loops.touched(&self.state.recent)[class];
            let apart = if self.loops.is_from_outside(value.block) { free & !touched } else { choice & touched };
            choice = [apart & choice, apart, choice].into_iter().find(|&set| set != 0).unwrap_or(choice);
        }
        let is_choice = |reg: Reg| !reg.is_none() && reg.class() == class && choice & reg.bit() != 0;
        if is_choice(value.hint) {
            return Some(value.hint);
        }
        Some(if is_choice(prefer) { prefer } else { Reg::new(class, choice.trailing_zeros()) })
    }

    /// Returns a free register outside `busy` in which a value that is also in its slot can have been since its
    /// definition: its hint, if no call is between and the register needs not be saved for it. Reading it is faster
    /// than reading the slot soon after the store.
    #[inline(never)]
    pub(crate) fn register_since_definition(&self, lower: &LowerCtx<'_>, vreg: VReg, busy: &Masks) -> Option<Reg> {
        let value = self.state.value(vreg);
        let (hint, class) = (value.hint, value.class());
        if self.loops.is_from_outside(value.block) || hint.is_none() || hint.class() != class {
            return None;
        }
        let unsaved = !self.registers.callee_saved[class] | self.state.used[class];
        let free = self.registers.allocatable[class] & unsaved & !self.state.occupied[class] & !busy[class];
        let is_near = |origin| lower.is_in_register_without_calls(origin);
        (free & hint.bit() != 0 && lower.origin(vreg).is_some_and(is_near)).then_some(hint)
    }

    /// Removes another value from a register, outside `busy`, for this value. With `can_evict` the other value is
    /// filled again after the instruction. Returns `None` if there is no register.
    #[inline(never)]
    pub(crate) fn evict(&mut self, lower: &mut LowerCtx<'_>, vreg: VReg, busy: &[Reg], can_evict: bool) -> Option<Reg> {
        let class = self.state.value(vreg).class();
        let reg = self.state.oldest(class, self.state.occupied[class] & !masks(busy)[class], self.block)?;
        let loser = self.state.release(reg)?;
        if can_evict {
            self.reload(lower, loser, reg);
        }
        Some(reg)
    }
}
