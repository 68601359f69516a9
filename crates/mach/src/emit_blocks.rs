//! Emission of the blocks of a function: the walk over instructions and edits, with one instance per instruction set.
//!
//! Needs a frame and a threading of jumps. Leaves the bytes of all blocks in the buffer, in layout order.
//! [`EmitIsa::emit_blocks`] is the one virtual call. After it the walk knows the instruction set, so that the encoder
//! is inlined and its arguments and results stay in registers.

use crate::allocated_code::{AllocatedCode, AllocatedInst, InstOrEdit};
use crate::branching::Branching;
use crate::buffer::{Buffer, Label};
use crate::code::Code;
use crate::compiled::DebugTag;
use crate::emit_isa::{Blocks, Body, EmitContext, EmitIsa, MachineEdit, ShortRows};
use crate::error::LowerError;
use crate::frame::{FrameLayout, SpillArea, place};
use crate::inst::{AddrKind, IndexExtend, MInst};
use crate::limits::check_limit;
use crate::listing::Origin;
use crate::mem::{Mem, MemBase};
use crate::regs::Regs;
use crate::row::{MAX_REGS, Row, RowKind};
use crate::thread_jumps::jump_target;
use crate::value_sites::{Span, ValueSites};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Block, Edit, EditKind, Inst, InstFlags, Loc, PReg, Slot};

/// Number of instructions that are examined to find whether the flags are dead.
pub const MAX_FLAG_ROWS: usize = 8;

/// Number of bytes of code that count as one unit of work.
const BYTES_PER_UNIT: u64 = 16;

impl Blocks<'_> {
    /// Emits the blocks.
    ///
    /// # Errors
    /// If the code is too large, or emission is canceled.
    pub fn emit<I: EmitIsa>(self, isa: &I) -> Result<(), LowerError> {
        let Blocks { code, body, options, thread, pads, sites, guard, .. } = self;
        let (landing_pad, branches) = (isa.landing_pad(), isa.branches());
        let mut encode = Encode {
            isa,
            short_rows: isa.short_rows(),
            rows: isa.rows(),
            code,
            frame: self.frame,
            thread,
            buffer: self.buffer,
            spill_area: self.spill_area,
        };
        let mut layout = code.layout.iter().copied().filter(|block| thread[block.index()] == *block);
        let mut follower = layout.next();
        let mut paid = 0;
        while let Some(block) = follower {
            guard.meter.spend_batch(encode.buffer.len() as u64 / BYTES_PER_UNIT, &mut paid)?;
            follower = layout.next();
            encode.buffer.bind(Label::new(block.index()));
            if options.block_offsets {
                encode.block_offsets(block);
            }
            if options.block_heads {
                encode.buffer.block_head(Label::new(block.index()));
            }
            encode.buffer.listing.set_origin(Origin::Frame);
            if let (Some(pad), Ok(_)) = (landing_pad, pads.binary_search(&block.as_u32())) {
                pad(encode.buffer);
            }
            let next = follower.filter(|_| options.block_padding == 0);
            match body {
                Body::Allocated(allocation) => {
                    Allocated { encode: &mut encode, allocation, sites }.block(block, next);
                }
                Body::InRegisters(allocated, None) => encode.items(allocated, block, next),
                Body::InRegisters(allocated, Some(allocation)) => {
                    Observed { encode: &mut encode, allocated, allocation, sites }.block(block, next);
                }
            }
            if options.block_padding > 0 {
                encode.buffer.list(|| "nop".into());
                branches.nops(options.block_padding.next_multiple_of(branches.grid()), encode.buffer.bytes_mut());
            }
            check_limit("bytes of code", encode.buffer.len() as u64, guard.limits.code_bytes)?;
        }
        Ok(guard.meter.spend_rest(encode.buffer.len() as u64 / BYTES_PER_UNIT, &mut paid)?)
    }
}

/// Context of the emission of instructions.
pub(crate) struct Encode<'a, I> {
    pub(crate) isa: &'a I,
    pub(crate) short_rows: Option<ShortRows>,
    pub(crate) rows: &'static [Row],
    pub(crate) code: &'a Code,
    pub(crate) frame: &'a FrameLayout,
    pub(crate) thread: &'a [Block],
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) spill_area: &'a SpillArea,
}

/// Context of the emission of an allocated block.
struct Allocated<'a, 'b, I> {
    encode: &'a mut Encode<'b, I>,
    allocation: &'a Allocation,
    sites: &'a mut ValueSites,
}

impl<I: EmitIsa> Allocated<'_, '_, I> {
    fn block(&mut self, block: Block, next: Option<Block>) {
        let (code, allocation) = (self.encode.code, self.allocation);
        let edits = allocation.edits.as_slice();
        let are_labelled = self.sites.are_wanted();
        let last = code.problem.terminator(block);
        let first = code.problem.first_inst(block);
        let mut edit = edits.partition_point(|edit| edit.at < first);
        for step in code.problem.walk(block) {
            let inst = step.inst;
            if let Some(&srcloc) = code.srclocs.get(inst) {
                self.encode.buffer.srcloc(srcloc);
            }
            let first_edit = self.encode.buffer.len() as u32;
            if edits.get(edit).is_some_and(|e| e.at == inst) {
                edit = self.edits(edit, last);
            }
            self.encode.buffer.listing.set_origin(Origin::Inst(inst));
            let start = self.encode.buffer.len() as u32;
            if step.flags == InstFlags::NONE || !allocation.is_dropped(inst) {
                self.inst(inst, &allocation.locs[step.operands], last, next);
            }
            if are_labelled {
                let span = Span { edits: first_edit, start, end: self.encode.buffer.len() as u32 };
                self.sites.inst(inst, span, &code.problem, allocation);
            }
        }
    }

    /// Emits edit number `first` and all edits before the same instruction. Returns the number of the next edit.
    #[inline(never)]
    fn edits(&mut self, first: usize, last: Inst) -> usize {
        let edits = &self.allocation.edits[first..];
        let at = edits[0].at;
        let mut number = first;
        for edit in edits.iter().take_while(|edit| edit.at == at) {
            if self.sites.are_wanted() {
                self.sites.edit(edit, self.encode.buffer.len() as u32);
            }
            self.encode.buffer.listing.set_origin(Origin::Edit(number as u32));
            self.edit(edit, last);
            number += 1;
        }
        number
    }

    fn edit(&mut self, edit: &Edit, last: Inst) {
        match edit.kind {
            EditKind::Remat { inst, to } => {
                let (code, rows) = (self.encode.code, self.encode.rows);
                let is_dead = || flags_are_dead(code, rows, edit.at, last);
                self.encode.plain(&code.insts[inst], Regs::of(&[to]), is_dead);
            }
            kind => self.encode.edit(kind),
        }
    }

    /// Emits an instruction with its operands in `locs`, in a block with the terminator `last`.
    #[inline(always)]
    fn inst(&mut self, inst: Inst, locs: &[Loc], last: Inst, next: Option<Block>) {
        let (code, rows) = (self.encode.code, self.encode.rows);
        let minst = &code.insts[inst];
        let row = &rows[usize::from(minst.row.0)];
        let encoded = row.operands.len() + minst.mode.regs();
        let is_in_slot = row.twin.is_some_and(|twin| locs[usize::from(twin.operand)].as_slot().is_some());
        if is_in_slot || row.kind.is_control() || encoded > Regs::MAX {
            return self.unusual(minst, row, locs, next);
        }
        let after = Inst::from_u32(inst.as_u32() + 1);
        self.encode.plain(minst, Regs::of_locs(&locs[..encoded]), || flags_are_dead(code, rows, after, last));
    }

    /// Emits an instruction that transfers control, has an operand in a slot, or has many.
    fn unusual(&mut self, inst: &MInst, row: &Row, locs: &[Loc], next: Option<Block>) {
        let mut inst = *inst;
        // An operand in a spill slot is not encoded as a register. This applies to the twin's operand and to a def
        // that reuses it.
        let encoded = row.operands.len() + inst.mode.regs();
        let mut regs = [PReg::int(0); MAX_REGS];
        let mut count = 0;
        for reg in locs.iter().take(encoded).filter_map(|loc| loc.as_reg()) {
            regs[count] = reg;
            count += 1;
        }
        let mut slot = None;
        if let Some(twin) = row.twin
            && let Some(found) = locs[usize::from(twin.operand)].as_slot()
        {
            inst.row = twin.row;
            slot = Some(self.encode.slot(found));
        }
        self.encode.control(&inst, &regs[..count], slot, next);
        if row.kind == RowKind::TryCall {
            self.encode.exits(inst.imm as usize, &locs[encoded..], next);
        }
    }
}

/// Returns `true` if the flags are written before they are read from the instruction `from` to the block's `last`
/// one. No block passes flags to another. If a few instructions do not decide it, the flags count as live.
fn flags_are_dead(code: &Code, rows: &[Row], from: Inst, last: Inst) -> bool {
    let insts = (from.as_u32()..=last.as_u32()).map(Inst::from_u32);
    for inst in insts.take(MAX_FLAG_ROWS) {
        let row = &rows[usize::from(code.insts[inst].row.0)];
        if row.flags.reads() {
            return false;
        }
        if row.flags.writes() || matches!(row.kind, RowKind::Call | RowKind::TryCall) {
            return true;
        }
    }
    last.as_u32() < from.as_u32() + MAX_FLAG_ROWS as u32
}

/// Emission of the items of a block that also records the instruction of each item.
struct Observed<'a, 'b, I> {
    encode: &'a mut Encode<'b, I>,
    allocated: &'a AllocatedCode,
    allocation: &'a Allocation,
    sites: &'a mut ValueSites,
}

impl<I: EmitIsa> Observed<'_, '_, I> {
    fn block(&mut self, block: Block, next: Option<Block>) {
        let Observed { encode, allocated, allocation, sites } = self;
        let problem = &encode.code.problem;
        let first = allocation.edits.partition_point(|edit| edit.at < problem.first_inst(block));
        let mut edits = allocation.edits.iter().zip(0..).skip(first).peekable();
        let mut each = allocated.in_order(block);
        for inst in problem.insts(block) {
            let before = encode.buffer.len() as u32;
            while let Some((edit, number)) = edits.next_if(|(edit, _)| edit.at == inst) {
                if sites.are_wanted() {
                    sites.edit(edit, encode.buffer.len() as u32);
                }
                encode.buffer.listing.set_origin(Origin::Edit(number));
                encode.located(each.next(), next);
            }
            encode.buffer.listing.set_origin(Origin::Inst(inst));
            let start = encode.buffer.len() as u32;
            if !allocation.is_dropped(inst) {
                encode.located(each.next(), next);
            }
            if sites.are_wanted() {
                let span = Span { edits: before, start, end: encode.buffer.len() as u32 };
                sites.inst(inst, span, problem, allocation);
            }
        }
        debug_assert!(each.next().is_none(), "{block} has items that are neither instruction nor edit");
    }
}

impl<I: EmitIsa> Encode<'_, I> {
    /// Emits the items of a block.
    fn items(&mut self, allocated: &AllocatedCode, block: Block, next: Option<Block>) {
        if !allocated.srclocs.is_empty() {
            return allocated.in_order(block).for_each(|item| self.located(Some(item), next));
        }
        for item in allocated.head(block) {
            self.item_apart(item, next);
        }
        for item in allocated.rest(block).iter().rev() {
            self.item(item, next);
        }
    }

    /// Emits an item that has a source location.
    #[inline(never)]
    fn located(&mut self, item: Option<(&InstOrEdit, u32)>, next: Option<Block>) {
        if let Some((item, srcloc)) = item {
            self.buffer.srcloc(srcloc);
            self.item(item, next);
        }
    }

    #[inline(always)]
    fn item(&mut self, item: &InstOrEdit, next: Option<Block>) {
        match item {
            InstOrEdit::Inst(inst) => self.placed(inst, next),
            InstOrEdit::Edit(edit) => self.edit(*edit),
        }
    }

    #[inline(never)]
    fn item_apart(&mut self, item: &InstOrEdit, next: Option<Block>) {
        self.item(item, next);
    }

    #[inline(always)]
    fn placed(&mut self, placed: &AllocatedInst, next: Option<Block>) {
        if placed.is_special {
            return self.special(placed, next);
        }
        self.plain(&placed.inst, placed.regs, || placed.flags_are_dead);
    }

    #[inline(never)]
    fn special(&mut self, placed: &AllocatedInst, next: Option<Block>) {
        let AllocatedInst { inst, regs, slot, .. } = placed;
        let target = jump_target(self.rows, inst);
        if target.is_some_and(|to| next == Some(self.thread[to.index()])) {
            return;
        }
        let slot = slot.expand().map(|slot| self.slot(slot));
        self.control(inst, &regs.to_array()[..regs.len()], slot, next);
        if self.rows[usize::from(inst.row.0)].kind == RowKind::TryCall {
            // Contexts are not part of items.
            self.exits(inst.imm as usize, &[], next);
        }
    }
}

impl<I: EmitIsa> Encode<'_, I> {
    /// Records the offset of a block, and its edges.
    fn block_offsets(&mut self, block: Block) {
        self.buffer.block_start();
        for &edge in self.code.problem.succs(block) {
            let to = self.thread[self.code.problem.edge(edge).to.index()];
            self.buffer.block_edge(Label::new(block.index()), Label::new(to.index()));
        }
    }

    pub(crate) fn slot(&self, slot: Slot) -> Mem {
        self.frame.spill_slot(self.spill_area.offset(slot))
    }

    /// Emits an edit other than a rematerialization.
    #[inline(always)]
    pub(crate) fn edit(&mut self, kind: EditKind) {
        match kind {
            EditKind::Move { from, to, width } => self.copy(from, to, width),
            _ => self.unusual_edit(kind),
        }
    }

    /// Emits a copy of a register. It is a separate function because most edits are copies, and a copy has no memory
    /// operand.
    #[inline(never)]
    fn copy(&mut self, from: PReg, to: PReg, width: u8) {
        self.isa.emit_edit(&MachineEdit::Move(from, to, width), self.buffer);
    }

    #[inline(never)]
    fn unusual_edit(&mut self, kind: EditKind) {
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

    /// Emits an instruction that does not transfer control and has no operand in a spill slot. Emits its shorter
    /// equivalent if the flags after it are dead.
    #[inline(always)]
    pub(crate) fn plain(&mut self, inst: &MInst, regs: Regs, flags_are_dead: impl FnOnce() -> bool) {
        let short = self.short_rows.as_ref().and_then(|rows| rows.of(inst, regs));
        match short.filter(|_| flags_are_dead()) {
            Some((row, regs)) => self.emit_packed(&MInst::new(row), regs),
            None => self.emit_packed(inst, regs),
        }
    }

    #[inline(never)]
    fn emit_packed(&mut self, inst: &MInst, regs: Regs) {
        if !self.isa.emit_direct(inst, regs, self.frame, self.buffer) {
            self.emit(inst, &regs.to_array()[..regs.len()], None, None);
        }
    }

    /// Emits any instruction, and records its annotations in the tables.
    #[inline]
    pub(crate) fn control(&mut self, inst: &MInst, regs: &[PReg], slot: Option<Mem>, next: Option<Block>) {
        let start = self.buffer.len();
        match self.rows[usize::from(inst.row.0)].kind {
            RowKind::Branch => {
                let mut inst = *inst;
                (inst.aux, inst.extra) = (self.threaded(inst.aux), self.threaded(inst.extra));
                self.emit(&inst, regs, slot, next);
            }
            RowKind::SequencePoint => {
                self.emit(inst, regs, slot, next);
                self.tell(inst, None);
            }
            RowKind::Call | RowKind::TryCall => {
                self.emit(inst, regs, slot, next);
                self.buffer.call();
                self.tell(inst, Some(self.buffer.len() - start));
            }
            RowKind::Plain | RowKind::Move | RowKind::Remat | RowKind::Exit => self.emit(inst, regs, slot, next),
        }
    }

    /// Records the continuations of the call emitted last, and jumps to the normal one. `locs` has the operands after
    /// the row's own.
    pub(crate) fn exits(&mut self, exits: usize, locs: &[Loc], next: Option<Block>) {
        let Encode { code, frame, spill_area, buffer, isa, .. } = &mut *self;
        let exits = &code.exits[exits];
        let handlers = exits.handlers.start as usize..exits.handlers.end as usize;
        for handler in &code.handlers[handlers] {
            let context = handler.context.and_then(|operand| place(locs[operand as usize], frame, spill_area));
            buffer.handler(handler.tag, Label::new(handler.block.index()), context);
        }
        if isa.bytes_after_handlers() > 0 {
            buffer.list(|| "nop".into());
            isa.branches().nops(isa.bytes_after_handlers(), buffer.bytes_mut());
        }
        Branching::new(isa.branches(), next, buffer).jump(exits.normal.as_u32());
    }

    /// Records the annotations of a sequence point, or of a call of `call_bytes` bytes that was just emitted.
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

    /// Returns the final target of a branch to `block`, or `block` itself if it is not a block.
    pub(crate) fn threaded(&self, block: u32) -> u32 {
        self.thread.get(block as usize).map_or(block, |to| to.as_u32())
    }

    /// Emits one instruction. The last registers belong to its address, unless `slot` is its memory.
    fn emit(&mut self, inst: &MInst, regs: &[PReg], slot: Option<Mem>, next: Option<Block>) {
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
            AddrKind::SlotIndex => {
                let index = (addr[0], inst.mode.shift(), IndexExtend::None);
                Some(Mem { index: Some(index), ..self.frame.user_slot(inst.aux) })
            }
            AddrKind::Incoming => Some(self.frame.incoming(inst.aux as i32)),
            AddrKind::Outgoing => Some(self.frame.outgoing(inst.aux)),
        });
        let (symbols, targets) = (&self.code.symbols, &self.code.tables.targets);
        let cx = EmitContext { regs, mem, frame: self.frame, symbols, targets, next };
        self.isa.emit(inst, &cx, self.buffer);
    }
}
