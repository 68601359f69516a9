//! Emission: code, its registers and a frame become bytes in a module buffer.
//!
//! Walks the blocks in layout order. Edits come before the instruction that they name; dropped instructions are left
//! out; an operand in a spill slot selects its row's memory twin. Blocks that hold only a jump, or that are equal to
//! another block, are not emitted (`thread_jumps.rs`).

use crate::allocated_code::{AllocatedCode, AllocatedInst, InstOrEdit};
use crate::buffer::{Buffer, TooLong};
use crate::code::Code;
use crate::compiled::{FrameInfo, FunctionHead, KeyedSlot, ModuleBuffer, SymbolName, ValueSite};
use crate::emit_isa::{Blocks, Body, EmitIsa, EmitOptions};
use crate::error::LowerError;
use crate::frame::{FrameLayout, FrameNeeds, SpillArea, place};
use crate::limits::{Guard, check_limit};
use crate::listing::{Listing, Origin};
use crate::row::Row;
use crate::thread_jumps::{Threads, jump_target};
use crate::value_sites::ValueSites;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{Allocation, Block, Edit, EditKind, Inst, PRegSet, Slot, SlotData};

/// Scratch memory of emission. Cleared and reused.
#[derive(Default, Debug)]
pub struct Emitter {
    guard: Guard,
    buffer: Buffer,
    spill_area: SpillArea,
    pub(crate) threads: Threads,
    /// Blocks that begin with a landing pad, ascending.
    pads: Vec<u32>,
    sites: ValueSites,
}

heap_bytes!(Emitter { buffer, spill_area, threads, pads, sites } without { guard });

impl Emitter {
    /// Returns scratch memory of emission that obeys limits.
    pub fn with_guard(guard: Guard) -> Emitter {
        Emitter { guard, ..Emitter::default() }
    }

    /// Sets whether [`Emitter::listing`] is recorded from now on.
    pub fn set_listing(&mut self, wanted: bool) {
        self.buffer.listing.set_wanted(wanted);
    }

    /// Returns the listing of the function emitted last, if it was recorded.
    pub fn listing(&self) -> &Listing {
        &self.buffer.listing
    }

    /// Emits `code`, whose instructions and registers are in `body`, into `module` under `name`.
    ///
    /// # Errors
    /// If the frame or the code is too large for the target, or if the meter refuses.
    pub fn emit(
        &mut self,
        isa: &dyn EmitIsa,
        code: &mut Code,
        body: Body<'_>,
        options: &EmitOptions,
        name: SymbolName,
        module: &mut ModuleBuffer,
    ) -> Result<(), LowerError> {
        let mut frame = FrameLayout::default();
        match body {
            Body::Allocated(answer) => {
                let work = answer.edits.len() + code.problem.num_insts() + code.problem.num_operands();
                self.guard.meter.reserve((work + 2 * code.problem.num_blocks()) as u64)?;
                let beyond = code.extra_callee_saved;
                let written = if beyond.is_empty() { beyond } else { answer.written(&code.problem) };
                let saved = answer.saved.union(written.intersection(beyond));
                self.layout_frame(isa, code, saved, &answer.slots, options, &mut frame)?;
                self.thread_jumps(isa.rows(), code, answer);
            }
            Body::InRegisters(allocated, _) => {
                self.guard.meter.reserve(2 * (allocated.list.len() + allocated.blocks.len()) as u64)?;
                let saved = allocated.written.intersection(isa.env().callee_saved().union(code.extra_callee_saved));
                self.layout_frame(isa, code, saved, &allocated.slots, options, &mut frame)?;
                self.thread_allocated(isa.rows(), allocated);
            }
        }
        self.sites.start(code);
        self.blocks(isa, code, body, &frame, options)?;
        self.buffer.listing.set_origin(Origin::Frame);
        if let Some(allocation) = body.allocation() {
            self.place_values(code, allocation, &frame);
        }
        self.complete(isa, code, &frame, options, name, module)
    }

    /// Emits the prologue and the blocks, with branches redirected by [`Emitter::threads`].
    fn blocks(
        &mut self,
        isa: &dyn EmitIsa,
        code: &mut Code,
        body: Body<'_>,
        frame: &FrameLayout,
        options: &EmitOptions,
    ) -> Result<(), LowerError> {
        self.thread_tables(code);
        self.find_pads(code, isa.landing_pad().is_some());
        self.buffer.start(self.threads.to().len());
        isa.prologue(frame, &mut self.buffer);
        isa.emit_blocks(Blocks {
            code,
            body,
            frame,
            options,
            thread: self.threads.to(),
            pads: &self.pads,
            spill_area: &self.spill_area,
            buffer: &mut self.buffer,
            sites: &mut self.sites,
            guard: &self.guard,
        })
    }

    /// Emits the code after the blocks, and adds the function to the module.
    fn complete(
        &mut self,
        isa: &dyn EmitIsa,
        code: &Code,
        frame: &FrameLayout,
        options: &EmitOptions,
        name: SymbolName,
        module: &mut ModuleBuffer,
    ) -> Result<(), LowerError> {
        self.buffer.place_deferred_traps(&frame.undo_saves(), |code, buffer| isa.emit_trap(code, buffer));
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
                body_offset: frame.below_frame_pointer() as u32,
                checks_limit: frame.checked_limit().is_some(),
                slots_offset: frame.user_slot_offset(0),
            },
            guards: isa.guards(),
        };
        self.buffer
            .finish(head, &code.tables, &code.names, isa.branches(), module)
            .map_err(|TooLong| LowerError::TooLarge { what: "bytes of code", limit: 1 << 31 })?;
        // The sizes of branches and tables are known only now.
        let bytes = module.last_code_bytes();
        check_limit("bytes of code", bytes as u64, self.guard.limits.code_bytes).inspect_err(|_| module.pop_function())
    }

    /// Records the places of labeled values.
    fn place_values(&mut self, code: &Code, allocation: &Allocation, frame: &FrameLayout) {
        self.buffer.constants(&code.constants);
        self.buffer.variables(&code.variables);
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

    /// Redirects the entries of tables that name blocks to the final targets of branches to them.
    fn thread_tables(&self, code: &mut Code) {
        let to = self.threads.to();
        for target in &mut code.tables.targets {
            *target = to[*target as usize].as_u32();
        }
        let exits = code.exits.iter_mut().map(|exits| &mut exits.normal);
        for block in exits.chain(code.handlers.iter_mut().map(|handler| &mut handler.block)) {
            *block = to[block.index()];
        }
    }

    /// Finds the blocks that are targets of indirect jumps.
    fn find_pads(&mut self, code: &Code, wanted: bool) {
        self.pads.clear();
        if !wanted {
            return;
        }
        self.pads.extend_from_slice(&code.tables.targets);
        self.pads.extend(code.handlers.iter().map(|handler| handler.block.as_u32()));
        sort(&mut self.pads);
        self.pads.dedup();
    }

    /// Lays out the frame in an empty layout.
    fn layout_frame(
        &mut self,
        isa: &dyn EmitIsa,
        code: &mut Code,
        saved: PRegSet,
        slots: &PrimaryMap<Slot, SlotData>,
        options: &EmitOptions,
        frame: &mut FrameLayout,
    ) -> Result<(), LowerError> {
        self.spill_area.place(slots);
        let needs = FrameNeeds {
            saved,
            spill_bytes: self.spill_area.bytes(),
            spill_align: self.spill_area.align(),
            slots_bytes: code.slots_bytes,
            slots_align: code.slots_align,
            outgoing_bytes: code.outgoing_bytes,
            incoming_bytes: code.incoming_bytes,
            popped_bytes: code.popped_bytes,
            has_calls: code.has_calls,
            keep_frame_pointer: options.keep_frame_pointer,
            moves_stack_pointer: code.moves_stack_pointer,
        };
        isa.frame(&needs, frame)?;
        frame.probestack = code.probestack;
        frame.stack_limit = code.stack_limit.take();
        check_limit("bytes of frame", frame.size, self.guard.limits.frame_bytes)
    }

    /// Finds the final target of a branch to each block.
    fn thread_jumps(&mut self, rows: &[Row], code: &Code, allocation: &Allocation) {
        let problem = &code.problem;
        self.threads.begin(problem.blocks().len());
        let edits = |block| edits_at(&allocation.edits, problem.terminator(block));
        for block in problem.blocks().skip(1) {
            let jump = problem.terminator(block);
            if problem.first_inst(block) != jump {
                continue;
            }
            if let Some(to) = jump_target(rows, &code.insts[jump]) {
                match edits(block) {
                    [] => self.threads.pass_through(block, to),
                    _ => self.threads.note_moves(block, to),
                }
            }
        }
        let is_same = |a: &Edit, b: &Edit| match (a.kind, b.kind) {
            (EditKind::Remat { inst: a, to }, EditKind::Remat { inst: b, to: also }) => {
                to == also && code.insts[a] == code.insts[b]
            }
            (a, b) => a == b,
        };
        self.threads.resolve(|a, b| {
            let (a, b) = (edits(a), edits(b));
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        });
    }

    /// Finds the final target of a branch to each block of allocated code.
    fn thread_allocated(&mut self, rows: &[Row], allocated: &AllocatedCode) {
        self.threads.begin(allocated.blocks.len());
        for block in (1..allocated.blocks.len()).map(Block::new) {
            // The jump comes first, because the items are in reverse order.
            let [InstOrEdit::Inst(AllocatedInst { inst, .. }), moves @ ..] = allocated.rest(block) else { continue };
            if let (Some(to), []) = (jump_target(rows, inst), allocated.head(block)) {
                match moves {
                    [] => self.threads.pass_through(block, to),
                    _ if moves.iter().all(InstOrEdit::is_move) => self.threads.note_moves(block, to),
                    _ => {}
                }
            }
        }
        self.threads.resolve(|a, b| allocated.rest(a)[1..] == allocated.rest(b)[1..]);
    }
}

/// Returns the edits before one instruction.
fn edits_at(edits: &[Edit], at: Inst) -> &[Edit] {
    let start = edits.partition_point(|e| e.at < at);
    let len = edits[start..].iter().take_while(|e| e.at == at).count();
    &edits[start..start + len]
}
