//! Emission of code whose operands have their places: its steps, read backwards, become bytes in a module buffer.

use crate::buffer::Label;
use crate::code::Code;
use crate::compiled::{ModuleBuffer, SymbolName};
use crate::emit::{EmitOptions, Emitter, Encode, NO_BLOCK};
use crate::isa::Isa;
use crate::limits::check_limit;
use crate::lower::LowerError;
use crate::row::{Row, RowKind};
use crate::steps::{BlockSteps, PlacedInst, Step, Steps};
use cranelift_entity::EntityRef;
use kingpost_regalloc::Block;

impl Emitter {
    /// Emits the steps of `code` into `module` under `name`. The problem must be in `code` if offsets of blocks are wanted.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn emit_steps(
        &mut self,
        isa: &dyn Isa,
        code: &mut Code,
        steps: &Steps,
        options: &EmitOptions,
        name: SymbolName,
        module: &mut ModuleBuffer,
    ) -> Result<(), LowerError> {
        let saved = steps.written.intersection(isa.env().callee_saved().union(code.also_preserved));
        let frame = self.layout_frame(isa, code, saved, &steps.slots, options)?;
        self.thread_steps(isa.rows(), steps);
        self.thread_tables(code);
        let (landing_pad, short_rows) = (isa.landing_pad(), isa.short_rows());
        self.find_pads(code, landing_pad.is_some());
        self.buffer.start(steps.blocks.len());
        isa.prologue(&frame, &mut self.buffer);
        let mut next = 0;
        let mut follower = self.next_emitted(code, &mut next);
        while let Some(block) = follower {
            follower = self.next_emitted(code, &mut next);
            self.buffer.bind(Label::new(block.index()));
            if options.block_offsets {
                self.note_block(code, block);
            }
            if let (Some(pad), Ok(_)) = (landing_pad, self.pads.binary_search(&block.as_u32())) {
                pad(&mut self.buffer);
            }
            let mut encode = Encode {
                isa,
                short_rows,
                rows: isa.rows(),
                code,
                frame: &frame,
                thread: &self.thread,
                buffer: &mut self.buffer,
                spill_area: &self.spill_area,
            };
            let seen = if options.block_padding > 0 { None } else { follower };
            encode.steps(steps, steps.blocks[block.index()], seen);
            if options.block_padding > 0 {
                let branches = isa.branches();
                branches.nops(options.block_padding.next_multiple_of(branches.grid()), self.buffer.bytes_mut());
            }
            check_limit("bytes of code", self.buffer.len() as u64, self.limits.code_bytes)?;
        }
        self.complete(isa, code, &frame, options, name, module)
    }

    /// As for allocated code: blocks with a jump and nothing else are passed through.
    fn thread_steps(&mut self, rows: &[Row], steps: &Steps) {
        self.thread.clear();
        self.thread.extend((0..steps.blocks.len()).map(Block::new));
        for (block, data) in steps.blocks.iter().enumerate().skip(1) {
            let list = &steps.list[data.list.0 as usize..data.list.1 as usize];
            if let ([Step::Inst(PlacedInst { inst, .. })], true) = (list, data.heads.0 == data.heads.1)
                && rows[usize::from(inst.row.0)].kind == RowKind::Branch
                && inst.extra == NO_BLOCK
                && inst.aux != NO_BLOCK
                && rows[usize::from(inst.row.0)].operands.is_empty()
            {
                self.thread[block] = Block::from_u32(inst.aux);
            }
        }
        self.resolve_threads();
    }
}

impl Encode<'_> {
    fn steps(&mut self, steps: &Steps, block: BlockSteps, next: Option<Block>) {
        let (start, end) = (block.list.0 as usize, block.list.1 as usize);
        let has_srclocs = !steps.srclocs.is_empty();
        if has_srclocs && end > start {
            self.buffer.srcloc(steps.srclocs[end - 1]);
        }
        for step in &steps.heads[block.heads.0 as usize..block.heads.1 as usize] {
            self.step(step, next);
        }
        for at in (start..end).rev() {
            if has_srclocs {
                self.buffer.srcloc(steps.srclocs[at]);
            }
            self.step(&steps.list[at], next);
        }
    }

    #[inline]
    fn step(&mut self, step: &Step, next: Option<Block>) {
        match step {
            Step::Inst(inst) => self.placed(inst, next),
            Step::Edit(edit) => self.edit(*edit),
        }
    }

    #[inline]
    fn placed(&mut self, placed: &PlacedInst, next: Option<Block>) {
        let regs = placed.regs();
        let slot = placed.slot.expand().map(|slot| self.slot(slot));
        let start = self.buffer.len();
        let kind = self.rows[usize::from(placed.inst.row.0)].kind;
        if kind == RowKind::Branch {
            let mut inst = placed.inst;
            self.thread_branch(&mut inst);
            return self.emit(&inst, regs, slot, next);
        }
        let short = self.short_rows.filter(|_| placed.flags_are_dead).and_then(|rows| rows.of(&placed.inst, regs));
        self.emit_one_of(&placed.inst, short, regs, slot, next);
        self.annotate(&placed.inst, kind, start);
    }
}
