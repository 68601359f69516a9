//! Emission: code, its allocation and a frame become bytes in a module buffer.
//!
//! Walks the blocks in layout order. Edits come before the instruction they name; dropped instructions are left out; an
//! operand that landed in a slot selects its row's memory twin. Blocks that hold nothing but a jump are not emitted:
//! branches to them go where they go.

use crate::branching::Branching;
use crate::buffer::{Buffer, Label, TooLong};
use crate::code::Code;
use crate::compiled::{
    ContextPlace, DebugTag, FrameInfo, FunctionHead, KeyedSlot, ModuleBuffer, SymbolName, ValueSite,
};
use crate::frame::{FrameLayout, FrameNeeds, SpillArea};
use crate::inst::{AddrKind, MInst};
use crate::isa::{EmitContext, Isa, MachineEdit, Mem, MemBase, ShortRows};
use crate::limits::{Limits, check_limit};
use crate::listing::{Listing, Origin};
use crate::lower::LowerError;
use crate::row::{MAX_REGS, RowId, RowKind};
use crate::value_sites::{Span, ValueSites};
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{Allocation, Block, Edit, EditKind, Inst, Loc, PReg, PRegSet, Slot, SlotData};

/// Settings of emission.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmitOptions {
    /// Bytes of padding behind each block, to test long branches, rounded up to whole instructions; 0 for none.
    pub block_padding: usize,
    /// Alignment of functions in bytes, at least what the instruction set needs.
    pub function_align: u32,
    /// Note where blocks begin, and the edges between them.
    pub block_offsets: bool,
    /// Set up a frame pointer in every function.
    pub keep_frame_pointer: bool,
}

/// So many instructions are looked at to know whether the flags are dead.
pub const MAX_FLAG_ROWS: usize = 8;

/// Reusable scratch of emission.
#[derive(Default, Debug)]
pub struct Emitter {
    pub(crate) limits: Limits,
    pub(crate) buffer: Buffer,
    pub(crate) spill_area: SpillArea,
    /// Per block, where a branch to it really goes.
    pub(crate) thread: Vec<Block>,
    /// Blocks that begin with a landing pad, ascending.
    pub(crate) pads: Vec<u32>,
    sites: ValueSites,
}

/// "No block" in [`MInst::extra`] of a branch without second target.
pub const NO_BLOCK: u32 = u32::MAX;

impl Emitter {
    /// Scratch of emission that keeps to limits.
    pub fn with_limits(limits: Limits) -> Emitter {
        Emitter { limits, ..Emitter::default() }
    }

    /// Says whether [`Emitter::listing`] is wanted of what is emitted from now on.
    pub fn set_listing(&mut self, wanted: bool) {
        self.buffer.listing.set_wanted(wanted);
    }

    /// The listing of the function emitted last, if it was wanted.
    pub fn listing(&self) -> &Listing {
        &self.buffer.listing
    }

    /// Emits `code` as allocated into `module` under `name`.
    ///
    /// # Errors
    /// If the frame or the code is too large for the target.
    pub fn emit(
        &mut self,
        isa: &dyn Isa,
        code: &mut Code,
        allocation: &Allocation,
        options: &EmitOptions,
        name: SymbolName,
        module: &mut ModuleBuffer,
    ) -> Result<(), LowerError> {
        let written = || allocation.written(&code.problem);
        let saved = match code.also_preserved.is_empty() {
            true => allocation.saved,
            false => allocation.saved.union(written().intersection(code.also_preserved)),
        };
        let frame = self.layout_frame(isa, code, saved, &allocation.slots, options)?;
        self.thread_jumps(isa, code, allocation);
        self.thread_tables(code);
        let (landing_pad, short_rows) = (isa.landing_pad(), isa.short_rows());
        self.find_pads(code, landing_pad.is_some());
        self.sites.start(code);
        self.buffer.start(code.problem.num_blocks());
        isa.prologue(&frame, &mut self.buffer);
        let mut next = 0;
        while let Some(block) = self.next_emitted(code, &mut next) {
            let mut peek = next;
            let follower = if options.block_padding > 0 { None } else { self.next_emitted(code, &mut peek) };
            self.buffer.bind(Label::new(block.index()));
            if options.block_offsets {
                self.note_block(code, block);
            }
            self.buffer.listing.set_origin(Origin::Frame);
            if let (Some(pad), Ok(_)) = (landing_pad, self.pads.binary_search(&block.as_u32())) {
                pad(&mut self.buffer);
            }
            let mut body = Body {
                encode: Encode {
                    isa,
                    short_rows,
                    rows: isa.rows(),
                    code,
                    frame: &frame,
                    thread: &self.thread,
                    buffer: &mut self.buffer,
                    spill_area: &self.spill_area,
                },
                last: code.problem.terminator(block),
                allocation,
                sites: &mut self.sites,
            };
            body.block(block, follower);
            if options.block_padding > 0 {
                let branches = isa.branches();
                self.buffer.list(|| "nop".into());
                branches.nops(options.block_padding.next_multiple_of(branches.grid()), self.buffer.bytes_mut());
            }
            check_limit("bytes of code", self.buffer.len() as u64, self.limits.code_bytes)?;
        }
        self.buffer.listing.set_origin(Origin::Frame);
        self.place_values(code, allocation, &frame);
        self.complete(isa, code, &frame, options, name, module)
    }

    /// Notes where a block starts and where it goes on.
    pub(crate) fn note_block(&mut self, code: &Code, block: Block) {
        self.buffer.block_start();
        for &edge in code.problem.succs(block) {
            let to = self.thread[code.problem.edge(edge).to.index()];
            self.buffer.block_edge(Label::new(block.index()), Label::new(to.index()));
        }
    }

    /// Emits what stands behind the blocks, and adds the function to the module.
    pub(crate) fn complete(
        &mut self,
        isa: &dyn Isa,
        code: &Code,
        frame: &FrameLayout,
        options: &EmitOptions,
        name: SymbolName,
        module: &mut ModuleBuffer,
    ) -> Result<(), LowerError> {
        self.buffer.place_deferred_traps(|code, buffer| isa.emit_trap(code, buffer));
        self.buffer.srcloc(u32::MAX);
        for &slot in &code.keyed_slots {
            self.buffer.keyed_slot(KeyedSlot { offset: frame.user_slot_offset(slot.offset), ..slot });
        }
        let head = FunctionHead {
            name,
            align: options.function_align.max(1),
            frame: FrameInfo {
                size: (frame.size + u64::from(frame.link_bytes)) as u32,
                incoming_bytes: frame.incoming_bytes as u32,
                body_offset: frame.size as u32,
            },
        };
        self.buffer
            .finish(head, &code.tables, &code.names, isa.branches(), module)
            .map_err(|TooLong| LowerError::TooLarge { what: "bytes of code", limit: 1 << 31 })?;
        // Only now the sizes of branches and tables are known.
        let bytes = module.function(module.len() - 1).code.len();
        check_limit("bytes of code", bytes as u64, self.limits.code_bytes).inspect_err(|_| module.pop_function())
    }

    /// Notes where labelled values are.
    fn place_values(&mut self, code: &Code, allocation: &Allocation, frame: &FrameLayout) {
        self.buffer.constants(&code.constants);
        self.sites.finish();
        for (label, loc, bytes) in self.sites.places(&code.problem, allocation) {
            let ty = code.value_types.binary_search_by_key(&label, |&(label, _)| label);
            let place = place(loc, frame, &self.spill_area);
            if let (false, Ok(ty), Some(place)) = (bytes.is_empty(), ty, place) {
                let ty = code.value_types[ty].1;
                self.buffer.value(ValueSite { from: bytes.start, to: bytes.end, value: label, ty, place });
            }
        }
    }

    /// Leads everything that names blocks beside instructions to where branches to them really go.
    pub(crate) fn thread_tables(&self, code: &mut Code) {
        for target in &mut code.tables.targets {
            *target = self.thread[*target as usize].as_u32();
        }
        let exits = code.exits.iter_mut().map(|exits| &mut exits.normal);
        for block in exits.chain(code.handlers.iter_mut().map(|handler| &mut handler.block)) {
            *block = self.thread[block.index()];
        }
    }

    /// Finds the blocks that indirect jumps may go to.
    pub(crate) fn find_pads(&mut self, code: &Code, wanted: bool) {
        self.pads.clear();
        if !wanted {
            return;
        }
        self.pads.extend_from_slice(&code.tables.targets);
        self.pads.extend(code.handlers.iter().map(|handler| handler.block.as_u32()));
        self.pads.sort_unstable();
        self.pads.dedup();
    }

    /// The next block of the layout that is emitted at all.
    pub(crate) fn next_emitted(&self, code: &Code, next: &mut usize) -> Option<Block> {
        loop {
            let block = *code.layout.get(*next)?;
            *next += 1;
            if self.thread[block.index()] == block {
                return Some(block);
            }
        }
    }

    pub(crate) fn layout_frame(
        &mut self,
        isa: &dyn Isa,
        code: &mut Code,
        saved: PRegSet,
        slots: &PrimaryMap<Slot, SlotData>,
        options: &EmitOptions,
    ) -> Result<FrameLayout, LowerError> {
        self.spill_area.place(slots, FrameLayout::saves_bytes(saved));
        let frame = isa.frame(&FrameNeeds {
            saved,
            spill_bytes: self.spill_area.bytes(),
            slots_bytes: code.slots_bytes,
            slots_align: code.slots_align,
            outgoing_bytes: code.outgoing_bytes,
            incoming_bytes: code.incoming_bytes,
            popped_bytes: code.popped_bytes,
            has_calls: code.has_calls,
            keep_frame_pointer: options.keep_frame_pointer,
            moves_stack_pointer: code.moves_stack_pointer,
        })?;
        check_limit("bytes of frame", frame.size, self.limits.frame_bytes)?;
        let (has_calls, stack_limit) = (code.has_calls, code.stack_limit.take());
        Ok(FrameLayout { has_calls, probestack: code.probestack, stack_limit, ..frame })
    }

    /// Finds for every block where a branch to it ends up. Blocks with only a jump and no edits are passed through,
    /// but not the entry, and not a ring of such blocks.
    fn thread_jumps(&mut self, isa: &dyn Isa, code: &Code, allocation: &Allocation) {
        let problem = &code.problem;
        self.thread.clear();
        self.thread.extend(problem.blocks());
        for block in problem.blocks().skip(1) {
            let jump = problem.terminator(block);
            let inst = &code.insts[jump];
            let only_jump = problem.first_inst(block) == jump
                && isa.rows()[inst.row.0 as usize].kind == RowKind::Branch
                && problem.succs(block).len() == 1
                && inst.extra == NO_BLOCK
                && edits_at(&allocation.edits, jump).is_empty();
            if only_jump {
                self.thread[block.index()] = problem.edge(problem.succs(block)[0]).to;
            }
        }
        self.resolve_threads();
    }

    /// Follows all chains of jumps.
    pub(crate) fn resolve_threads(&mut self) {
        (0..self.thread.len()).for_each(|block| self.resolve_thread(Block::new(block)));
    }

    /// Follows `block`'s chain of jumps and shortens it. A ring is broken where it was entered.
    fn resolve_thread(&mut self, block: Block) {
        let mut end = block;
        while self.thread[end.index()] != end {
            let next = self.thread[end.index()];
            if next == block {
                // A ring: keep this block, the rest of the ring leads here.
                self.thread[block.index()] = block;
                return;
            }
            end = next;
        }
        let mut at = block;
        while self.thread[at.index()] != end {
            let next = self.thread[at.index()];
            self.thread[at.index()] = end;
            at = next;
        }
    }
}

/// The edits before one instruction.
fn edits_at(edits: &[Edit], at: Inst) -> &[Edit] {
    let start = edits.partition_point(|e| e.at < at);
    let len = edits[start..].iter().take_while(|e| e.at == at).count();
    &edits[start..start + len]
}

/// What encoding of instructions needs.
pub(crate) struct Encode<'a> {
    pub(crate) isa: &'a dyn Isa,
    pub(crate) short_rows: Option<ShortRows>,
    pub(crate) rows: &'static [crate::row::Row],
    pub(crate) code: &'a Code,
    pub(crate) frame: &'a FrameLayout,
    pub(crate) thread: &'a [Block],
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) spill_area: &'a SpillArea,
}

/// What emission of an allocated block needs.
struct Body<'a> {
    encode: Encode<'a>,
    /// The block's terminator.
    last: Inst,
    allocation: &'a Allocation,
    sites: &'a mut ValueSites,
}

/// Where a runtime or a debugger finds what is in `loc`.
fn place(loc: Loc, frame: &FrameLayout, spill_area: &SpillArea) -> Option<ContextPlace> {
    let slot = |slot| ContextPlace::Stack(frame.above_stack_pointer(spill_area.offset(slot)) as u32);
    loc.as_reg().map(ContextPlace::Reg).or(loc.as_slot().map(slot))
}

impl Body<'_> {
    fn block(&mut self, block: Block, next: Option<Block>) {
        let code = self.encode.code;
        let first = code.problem.first_inst(block);
        let edits = &self.allocation.edits;
        let mut edit = edits.partition_point(|e| e.at < first);
        for inst in code.problem.insts(block) {
            if let Some(&srcloc) = code.srclocs.get(inst) {
                self.encode.buffer.srcloc(srcloc);
            }
            let first_edit = self.encode.buffer.len() as u32;
            while let Some(e) = edits.get(edit).filter(|e| e.at == inst) {
                if self.sites.are_wanted() {
                    self.sites.edit(e, self.encode.buffer.len() as u32);
                }
                self.encode.buffer.listing.set_origin(Origin::Edit(edit as u32));
                self.edit(e);
                edit += 1;
            }
            self.encode.buffer.listing.set_origin(Origin::Inst(inst));
            let start = self.encode.buffer.len() as u32;
            if !self.allocation.is_dropped(inst) {
                self.inst(inst, next);
            }
            if self.sites.are_wanted() {
                let span = Span { edits: first_edit, start, end: self.encode.buffer.len() as u32 };
                self.sites.inst(inst, span, &code.problem, self.allocation);
            }
        }
    }

    fn edit(&mut self, edit: &Edit) {
        match edit.kind {
            EditKind::Remat { inst, to } => {
                let minst = self.encode.code.insts[inst];
                self.emit_short(&minst, &[to], None, None, edit.at);
            }
            kind => self.encode.edit(kind),
        }
    }

    fn inst(&mut self, inst: Inst, next: Option<Block>) {
        let mut minst = self.encode.code.insts[inst];
        let row = &self.encode.rows[minst.row.0 as usize];
        let locs = self.allocation.operand_locs(&self.encode.code.problem, inst);
        // What is in a slot is not encoded as a register: the twin's operand, and the def that reuses it.
        let encoded = row.operands.len() + minst.mode.regs();
        let mut regs = [PReg::int(0); MAX_REGS];
        let mut count = 0;
        for loc in &locs[..encoded.min(locs.len())] {
            if let Some(reg) = loc.as_reg() {
                regs[count] = reg;
                count += 1;
            }
        }
        let regs = &regs[..count];
        let mut slot = None;
        if let Some(twin) = row.twin
            && let Some(found) = locs[usize::from(twin.operand)].as_slot()
        {
            minst.row = twin.row;
            slot = Some(found);
        }
        if row.kind == RowKind::Branch {
            self.encode.thread_branch(&mut minst);
        }
        let start = self.encode.buffer.len();
        let mem = slot.map(|slot| self.encode.slot(slot));
        self.emit_short(&minst, regs, mem, next, Inst::from_u32(inst.as_u32() + 1));
        self.encode.annotate(&minst, row.kind, start);
        if row.kind == RowKind::TryCall {
            self.exits(minst.imm as usize, &locs[encoded..], next);
        }
    }

    /// Notes where the call emitted last goes on, and goes there. `locs` are those of the operands behind the row's own.
    fn exits(&mut self, exits: usize, locs: &[Loc], next: Option<Block>) {
        let Encode { code, frame, spill_area, buffer, isa, .. } = &mut self.encode;
        let exits = &code.exits[exits];
        let handlers = exits.handlers.start as usize..exits.handlers.end as usize;
        for handler in &code.handlers[handlers] {
            let context = handler.context.and_then(|operand| place(locs[operand as usize], frame, spill_area));
            buffer.handler(handler.tag, Label::new(handler.block.index()), context);
        }
        Branching::new(isa.branches(), next, buffer).jump(exits.normal.as_u32());
    }

    /// As [`Encode::emit`], by a shorter row if the flags are dead before the instruction `after`.
    #[inline]
    fn emit_short(&mut self, inst: &MInst, regs: &[PReg], slot: Option<Mem>, next: Option<Block>, after: Inst) {
        let short = self.encode.short_rows.and_then(|rows| rows.of(inst, regs));
        self.encode.emit_one_of(inst, short.filter(|_| self.flags_are_dead(after)), regs, slot, next);
    }

    /// Does nothing from the instruction `from` on read the flags before they are written? No block leaves them to another. If
    /// that is not known after a few instructions, they may be read.
    fn flags_are_dead(&self, from: Inst) -> bool {
        let insts = (from.as_u32()..=self.last.as_u32()).map(Inst::from_u32);
        for inst in insts.take(MAX_FLAG_ROWS) {
            let row = &self.encode.rows[usize::from(self.encode.code.insts[inst].row.0)];
            if row.flags.reads() {
                return false;
            }
            if row.flags.writes() || matches!(row.kind, RowKind::Call | RowKind::TryCall) {
                return true;
            }
        }
        self.last.as_u32() < from.as_u32() + MAX_FLAG_ROWS as u32
    }
}

impl Encode<'_> {
    pub(crate) fn slot(&self, slot: Slot) -> Mem {
        self.frame.spill_slot(self.spill_area.offset(slot))
    }

    /// Emits an edit other than rematerialisation.
    pub(crate) fn edit(&mut self, kind: EditKind) {
        let edit = match kind {
            EditKind::Move { from, to, width } => MachineEdit::Move(from, to, width),
            EditKind::Exchange { a, b, width } => MachineEdit::Exchange(a, b, width),
            EditKind::Spill { from, to, width } => MachineEdit::Spill(from, self.slot(to), width),
            EditKind::Fill { from, to, width } => MachineEdit::Fill(self.slot(from), to, width),
            EditKind::SlotMove { .. } => unreachable!("no target has slot to slot moves, so no allocation holds one"),
            EditKind::Remat { .. } => unreachable!("the caller emits the instruction"),
        };
        self.isa.emit_edit(&edit, self.buffer);
    }

    /// Tells the tables what is known of an instruction of this kind that was emitted last, from `start` on.
    #[inline]
    pub(crate) fn annotate(&mut self, inst: &MInst, kind: RowKind, start: usize) {
        match kind {
            RowKind::Call | RowKind::TryCall => {
                self.buffer.call();
                self.tell(inst, Some(self.buffer.len() - start));
            }
            RowKind::SequencePoint => self.tell(inst, None),
            _ => {}
        }
    }

    /// Tells the tables what is known of a sequence point, or of a call of `call_bytes` bytes that was just emitted.
    fn tell(&mut self, inst: &MInst, call_bytes: Option<usize>) {
        let Some(index) = inst.annotation() else { return };
        let annotation = &self.code.annotations[index as usize];
        for &(ty, offset) in &annotation.stack_map {
            self.buffer.stack_map_entry(ty, self.frame.user_slot_offset(offset));
        }
        for &tag in &annotation.tags {
            let tag = match tag {
                DebugTag::User(number) => DebugTag::User(number),
                DebugTag::StackSlot(offset) => DebugTag::StackSlot(self.frame.user_slot_offset(offset)),
            };
            self.buffer.debug_tag(tag, call_bytes.is_some());
        }
        if let Some(bytes) = call_bytes.filter(|_| annotation.patchable) {
            self.buffer.patchable_call(bytes);
        }
    }

    /// Leads a branch to where it really goes.
    pub(crate) fn thread_branch(&self, inst: &mut MInst) {
        let threaded = |block: u32| self.thread.get(block as usize).map_or(block, |b| b.as_u32());
        (inst.aux, inst.extra) = (threaded(inst.aux), threaded(inst.extra));
    }

    /// Emits an instruction, or the shorter one that does the same.
    #[inline]
    pub(crate) fn emit_one_of(
        &mut self,
        inst: &MInst,
        short: Option<(RowId, [PReg; 3])>,
        regs: &[PReg],
        slot: Option<Mem>,
        next: Option<Block>,
    ) {
        match short {
            Some((row, regs)) => {
                let regs = &regs[..self.rows[usize::from(row.0)].operands.len()];
                self.emit(&MInst::new(row), regs, None, next);
            }
            None => self.emit(inst, regs, slot, next),
        }
    }

    /// Emits one instruction. The last registers are those of its address, unless `slot` is its memory.
    pub(crate) fn emit(&mut self, inst: &MInst, regs: &[PReg], slot: Option<Mem>, next: Option<Block>) {
        let (regs, addr) = regs.split_at(regs.len() - inst.mode.regs());
        let disp = i64::from(inst.aux as i32);
        let mem = slot.or_else(|| match inst.mode.kind() {
            AddrKind::None => None,
            AddrKind::Base => Some(Mem::base(MemBase::Reg(addr[0]), disp)),
            AddrKind::Index => {
                let index = (addr[1], inst.mode.shift(), inst.mode.extend());
                Some(Mem { base: MemBase::Reg(addr[0]), index: Some(index), disp })
            }
            AddrKind::Symbol => Some(Mem::base(MemBase::Symbol(inst.aux), 0)),
            AddrKind::Table => Some(Mem::base(MemBase::Table(inst.aux), 0)),
            AddrKind::Slot => Some(self.frame.user_slot(inst.aux)),
            AddrKind::Incoming => Some(self.frame.incoming(inst.aux as i32)),
            AddrKind::Outgoing => Some(self.frame.outgoing(inst.aux)),
        });
        let (symbols, targets) = (&self.code.symbols, &self.code.tables.targets);
        let cx = EmitContext { regs, mem, frame: self.frame, symbols, targets, next };
        self.isa.emit(inst, &cx, self.buffer);
    }
}
