//! Walk over a function's blocks and instructions, in reverse order.

use super::{LowerCtx, LowerError, LowerIsa, LowerResult, LowerState, Receiver};
use crate::block_order::MachineBlock;
use crate::code::Code;
use crate::compiled::KeyedSlot;
use crate::error::Refusal;
use crate::limits::check_limit;
use crate::settings::Settings;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::signature::CallConv;
use kingpost_ir::{Block as IrBlock, BlockArgKind, Function, Inst};
use kingpost_regalloc::Block;

impl LowerState {
    /// Lowers `func`, which must be valid and have its aliases resolved, into `code`. `analyses` must belong to
    /// `func` or be marked stale.
    ///
    /// # Errors
    /// If the target does not support the function, if it exceeds a limit, or if lowering is canceled.
    pub fn run(
        &mut self,
        func: &Function,
        analyses: &mut Analyses,
        isa: &dyn LowerIsa,
        settings: &Settings,
        code: &mut Code,
    ) -> Result<(), Refusal> {
        let mut lower = self.start(func, analyses, isa, settings, code)?;
        lower.lower_blocks(&mut None)?;
        lower.finish();
        lower.label_values();
        self.needed.release();
        Ok(())
    }

    /// Prepares the walk.
    #[inline(always)]
    pub(super) fn start<'a>(
        &'a mut self,
        func: &'a Function,
        analyses: &'a mut Analyses,
        isa: &'a dyn LowerIsa,
        settings: &'a Settings,
        code: &'a mut Code,
    ) -> Result<LowerCtx<'a>, Refusal> {
        let first = func.layout.entry_block().and_then(|entry| Some((entry, func.layout.last_inst(entry)?)));
        let Some((block, inst)) = first else {
            return Err(LowerError::Feature { what: "a function without blocks", target: isa.name() }.into());
        };
        let has_list = matches!(func.signature.call_conv, CallConv::WindowsFastcall | CallConv::AppleAarch64);
        if func.signature.variadic.is_some() && !has_list {
            let what = "the definition of a variadic function in this calling convention";
            return Err(LowerError::Feature { what, target: isa.name() }.into());
        }
        self.clear();
        // Loops, the order of blocks, needed values, selection, and a machine instruction for each instruction.
        self.guard
            .meter
            .reserve(5 * (func.dfg.num_insts() + func.dfg.num_blocks()) as u64)
            .map_err(LowerError::from)?;
        code.clear();
        analyses.update_loops(func);
        self.order.compute(func, analyses);
        self.needed.compute(func, &analyses.cfg, &self.order);
        self.insts_after_block.resize(self.order.blocks().len(), 0);
        self.value_regs.resize(func.dfg.num_values(), [None.into(); 2]);
        let abi = self.abi_cache.assign(isa, &func.signature)?;
        let env = isa.env();
        code.extra_callee_saved = abi.callee_saved.intersection(isa.registers()).difference(env.callee_saved());
        let (rows, zeros_from) = (isa.rows(), isa.zeros_from());
        let mut lower = LowerCtx {
            func,
            analyses,
            settings,
            code,
            abi,
            isa,
            rows,
            zeros_from,
            cx: self,
            is_streaming: false,
            srcloc: u32::MAX,
            block,
            inst,
        };
        lower.place_slots()?;
        Ok(lower)
    }

    fn clear(&mut self) {
        self.value_regs.clear();
        self.edge_results.clear();
        self.records.clear();
        self.operands.clear();
        self.sequence_start = 0;
        self.insts_after_block.clear();
        self.depend_on_widths.clear();
        self.has_srclocs = false;
        self.slot_offsets.clear();
        self.call_abis.clear();
        self.return_area = None.into();
        self.writes_incoming = false;
        self.stream.clear();
    }
}

/// Least alignment of stack slots in bytes.
const WORD_BYTES: u64 = 8;

/// Walk over the function.
impl LowerCtx<'_> {
    /// Lays out the user's stack slots, each aligned to at least a machine word. Slots aligned beyond the stack are
    /// enlarged, so that they can be aligned at run time.
    fn place_slots(&mut self) -> Result<(), LowerError> {
        self.cx.call_area = 0;
        if self.func.stack_slots.is_empty() {
            return Ok(());
        }
        let stack_align = u64::from(self.isa.stack_align());
        let mut top = 0u64;
        for (slot, data) in self.func.stack_slots.iter() {
            let align = (1u64 << data.align_shift.min(63)).max(WORD_BYTES);
            let slack = align.saturating_sub(stack_align);
            let align = align.min(stack_align);
            self.code.slots_align = self.code.slots_align.max(align as u32);
            top = top.next_multiple_of(align);
            self.cx.slot_offsets[slot] = top;
            if let Some(key) = data.key {
                let offset = self.fixed_slot_offset(slot, "a key of a stack slot that is aligned beyond the stack")?;
                self.code.keyed_slots.push(KeyedSlot { key, offset, bytes: data.size });
            }
            top = top.saturating_add(u64::from(data.size)).saturating_add(slack);
        }
        self.code.slots_bytes = top.next_multiple_of(u64::from(self.code.slots_align));
        self.cx.call_area = self.code.slots_bytes.next_multiple_of(stack_align);
        check_limit("bytes of stack slots", self.code.slots_bytes, self.cx.guard.limits.frame_bytes)
    }

    pub(super) fn lower_blocks(&mut self, receiver: &mut Receiver<'_>) -> Result<(), Refusal> {
        let mut paid = self.work();
        for index in (0..self.cx.order.blocks().len()).rev() {
            self.cx.insts_after_block[index] = self.code.insts.len() as u32;
            match self.cx.order.blocks()[index] {
                MachineBlock::Ir(block) => self.lower_block(block, Block::from_u32(index as u32), receiver)?,
                MachineBlock::Edge { from, edge } => {
                    self.lower_edge_block(from, edge, Block::from_u32(index as u32), receiver)?
                }
            }
            if let Some(receiver) = receiver {
                receiver.head(self, Block::from_u32(index as u32));
            }
            self.check_guard(&mut paid)?;
        }
        self.cx.guard.meter.spend_rest(self.work(), &mut paid).map_err(LowerError::from)?;
        Ok(())
    }

    /// Returns the number of machine instructions so far.
    fn num_insts(&self) -> usize {
        self.code.insts.len() + self.cx.stream.count
    }

    /// Returns the work that depends on the machine: one unit for each instruction, the reserved ones included.
    fn work(&self) -> u64 {
        self.num_insts().max(self.func.dfg.num_insts()) as u64
    }

    /// Checks limits, and charges the meter. `paid` is the work that it has counted. Called once per block: the
    /// instructions of one block are bounded by the instructions of the text, which are counted before.
    fn check_guard(&self, paid: &mut u64) -> Result<(), LowerError> {
        let guard = &self.cx.guard;
        guard.meter.spend_batch(self.work(), paid)?;
        check_limit("machine instructions", self.num_insts() as u64, guard.limits.instructions)?;
        check_limit("virtual registers", self.code.problem.vregs.len() as u64, guard.limits.vregs)
    }

    fn lower_block(&mut self, block: IrBlock, machine: Block, receiver: &mut Receiver<'_>) -> Result<(), Refusal> {
        self.block = block;
        let mut next = self.func.layout.last_inst(block);
        if let Some(terminator) = next {
            self.locate(terminator);
            match receiver {
                Some(receiver) => self.deliver_edges(block, terminator, machine, *receiver),
                None => self.record_edges(block, terminator, machine),
            }
            self.isa.lower(self, terminator).map_err(Refusal::of(terminator))?;
            self.cx.edge_results.clear();
            self.flush(receiver);
            next = self.func.layout.prev_inst(terminator);
        }
        while let Some(inst) = next {
            if self.cx.needed.is_lowered(inst) {
                self.locate(inst);
                self.isa.lower(self, inst).map_err(Refusal::of(inst))?;
                self.note_zeros(inst);
                self.flush(receiver);
            }
            next = self.func.layout.prev_inst(inst);
        }
        if Some(block) == self.func.layout.entry_block() {
            self.srcloc = u32::MAX;
            self.isa.lower_entry(self)?;
            self.flush(receiver);
        }
        Ok(())
    }

    /// Sets the location of instructions emitted from now on to the location of `inst`.
    fn locate(&mut self, inst: Inst) {
        self.inst = inst;
        self.srcloc = self.func.srcloc(inst).0;
        self.cx.has_srclocs |= self.srcloc != u32::MAX;
    }

    fn lower_edge_block(
        &mut self,
        from: IrBlock,
        edge: u32,
        machine: Block,
        receiver: &mut Receiver<'_>,
    ) -> LowerResult {
        self.srcloc = u32::MAX;
        let edge = edge as usize;
        let branch = self.analyses.cfg.terminator(from).expect("a block with edges has a branch");
        let target = self.analyses.cfg.succs(from)[edge];
        let target = self.cx.order.block_of(target).expect("a reachable block is placed");
        if let Some(receiver) = receiver {
            self.inst = branch;
            self.deliver_edge(edge, &self.func.dfg.branch_destinations(branch)[edge], (machine, target), *receiver);
        }
        self.isa.lower_edge(self, branch, edge, target)?;
        self.flush(receiver);
        Ok(())
    }

    /// Records the edges out of `block`, whose arguments become needed.
    fn record_edges(&mut self, block: IrBlock, terminator: Inst, machine: Block) {
        let func = self.func;
        let dests = func.dfg.branch_destinations(terminator);
        let table = func.dfg.inst_exception_table(terminator);
        let table = table.map(|table| func.dfg.exception_table(table));
        let throws = table.is_some_and(|table| !table.handlers.is_empty());
        let mut args = std::mem::take(&mut self.cx.edge_args);
        for (k, dest) in dests.iter().enumerate() {
            let Some(to) = self.cx.order.own_target(block, k) else { continue };
            let direct = self.cx.order.block_of(dest.block).expect("a reachable block is placed");
            args.clear();
            for (&param, arg) in func.dfg.block_params(dest.block).iter().zip(func.dfg.block_args(*dest)) {
                if !self.is_needed(param) {
                    continue;
                }
                match (arg.kind(), table) {
                    (BlockArgKind::Value(arg), _) => {
                        self.use_regs(arg).iter().for_each(|&part| args.push(part));
                    }
                    (kind, Some(table)) => {
                        let parts = self.edge_result(table, k, kind);
                        args.extend(parts.into_iter().filter_map(PackedOption::expand));
                    }
                    _ => {}
                }
            }
            if to == direct {
                // No critical edge is direct: each is the only one out of its source, or the only one into its target.
                let freq = self.cx.order.freq(machine).min(self.cx.order.freq(to));
                self.code.problem.add_edge(machine, to, freq, &args, &[]);
            } else {
                let freq = self.cx.order.freq(to);
                self.code.problem.add_edge(to, direct, freq, &args, &[]);
                // A call with handlers adds its own edge, with the values that it defines on it.
                if !throws {
                    self.code.problem.add_edge(machine, to, freq, &[], &[]);
                }
            }
        }
        self.cx.edge_args = args;
    }

    /// Ends the current sequence.
    #[inline(always)]
    fn flush(&mut self, receiver: &mut Receiver<'_>) {
        if let Some(receiver) = receiver {
            return self.deliver(*receiver);
        }
        let end = self.code.insts.len();
        let start = std::mem::replace(&mut self.cx.sequence_start, end);
        // A single instruction is its own reverse.
        if end - start > 1 {
            self.reverse_sequence(start, end);
        }
    }

    /// Reverses the instructions of a sequence, which were appended in order.
    fn reverse_sequence(&mut self, start: usize, end: usize) {
        self.code.problem.reverse_tail(end - start);
        self.code.insts.values_mut().into_slice()[start..].reverse();
        for index in self.cx.depend_on_widths.iter_mut().rev().take_while(|index| **index >= start as u32) {
            *index = (start + end - 1) as u32 - *index;
        }
    }
}
