//! Emission of code whose operands have their places: its steps, read backwards, become bytes in a module buffer.

use crate::code::Code;
use crate::compiled::{ModuleBuffer, SymbolName};
use crate::emit::{EmitOptions, Emitter, NO_BLOCK};
use crate::emit_blocks::{Body, Encode};
use crate::frame::FrameLayout;
use crate::inst::MInst;
use crate::isa::Isa;
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
        let mut frame = FrameLayout::default();
        self.layout_frame(isa, code, saved, &steps.slots, options, &mut frame)?;
        self.thread_steps(isa.rows(), steps);
        self.blocks(isa, code, Body::Steps(steps), &frame, options)?;
        self.complete(isa, code, &frame, options, name, module)
    }

    /// Finds for every block where a branch to it ends up, as for allocated code.
    fn thread_steps(&mut self, rows: &[Row], steps: &Steps) {
        self.threads.begin(steps.blocks.len());
        let list = |block: Block| {
            let (start, end) = steps.blocks[block.index()].list;
            &steps.list[start as usize..end as usize]
        };
        for block in (1..steps.blocks.len()).map(Block::new) {
            // The jump comes first, as everything does that is last.
            let [Step::Inst(PlacedInst { inst, .. }), moves @ ..] = list(block) else { continue };
            let (start, end) = steps.blocks[block.index()].heads;
            if is_jump(&rows[usize::from(inst.row.0)], inst) && start == end {
                let to = Block::from_u32(inst.aux);
                match moves {
                    [] => self.threads.pass_through(block, to),
                    _ if moves.iter().all(Step::is_move) => self.threads.note_moves(block, to),
                    _ => {}
                }
            }
        }
        self.threads.resolve(|a, b| list(a)[1..] == list(b)[1..]);
    }
}

/// Does an instruction of this row go to one block, whatever holds?
#[inline]
fn is_jump(row: &Row, inst: &MInst) -> bool {
    row.kind == RowKind::Branch && inst.extra == NO_BLOCK && inst.aux != NO_BLOCK && row.operands.is_empty()
}

impl<I: Isa> Encode<'_, I> {
    /// Emits a block of which the steps are known.
    pub(crate) fn steps(&mut self, steps: &Steps, block: BlockSteps, next: Option<Block>) {
        if !steps.srclocs.is_empty() {
            return self.located_steps(steps, block, next);
        }
        let BlockSteps { list, heads } = block;
        for step in &steps.heads[heads.0 as usize..heads.1 as usize] {
            self.step_apart(step, next);
        }
        for step in steps.list[list.0 as usize..list.1 as usize].iter().rev() {
            self.step(step, next);
        }
    }

    /// The same for a function with source locations.
    #[inline(never)]
    fn located_steps(&mut self, steps: &Steps, block: BlockSteps, next: Option<Block>) {
        let list = block.list.0 as usize..block.list.1 as usize;
        let srclocs = &steps.srclocs[list.clone()];
        if let Some(&srcloc) = srclocs.last() {
            self.buffer.srcloc(srcloc);
        }
        for step in &steps.heads[block.heads.0 as usize..block.heads.1 as usize] {
            self.step_apart(step, next);
        }
        for (step, &srcloc) in steps.list[list].iter().zip(srclocs).rev() {
            self.buffer.srcloc(srcloc);
            self.step_apart(step, next);
        }
    }

    #[inline(always)]
    fn step(&mut self, step: &Step, next: Option<Block>) {
        match step {
            Step::Inst(inst) => self.placed(inst, next),
            Step::Edit(edit) => self.edit(*edit),
        }
    }

    #[inline(never)]
    fn step_apart(&mut self, step: &Step, next: Option<Block>) {
        self.step(step, next);
    }

    #[inline(always)]
    fn placed(&mut self, placed: &PlacedInst, next: Option<Block>) {
        if placed.is_special {
            return self.special(placed, next);
        }
        self.plain(&placed.inst, placed.regs, || placed.flags_are_dead);
    }

    #[inline(never)]
    fn special(&mut self, placed: &PlacedInst, next: Option<Block>) {
        let PlacedInst { inst, regs, slot, .. } = placed;
        let row = &self.rows[usize::from(inst.row.0)];
        if is_jump(row, inst) && next.is_some_and(|next| next.as_u32() == self.threaded(inst.aux)) {
            return;
        }
        let slot = slot.expand().map(|slot| self.slot(slot));
        self.control(inst, &regs.to_array()[..regs.len()], slot, next);
        if row.kind == RowKind::TryCall {
            // Contexts are not among steps.
            self.exits(placed.inst.imm as usize, &[], next);
        }
    }
}
