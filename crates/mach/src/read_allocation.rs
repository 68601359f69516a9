//! The allocation that items represent, for a checker of allocations of code that is emitted from items only.
//!
//! ```text
//! problem                              items                    allocation
//! i3: add64_rr def v2, use v1, use v0  add64_rr rax, rax, rcx   v2 in rax, v1 in rax, v0 in rcx
//!                                      move rdx <- rax          before i4: move rdx <- rax
//! i4: mov64_rr def v3, use v2          none                     dropped, both in rdx
//! ```
//! Locations and edits are read from the items, so that the checker judges the emitted code. Facts that no location
//! expresses are compared with the code: the instruction of each item, the block that it is in, whether the flags are
//! dead where it says so, and the registers that the prologue saves.
//!
//! Cost: linear in items and operands.

use crate::allocated_code::{AllocatedCode, AllocatedInst, InstOrEdit, Outcome};
use crate::code::Code;
use crate::inst::{AddrKind, MInst};
use crate::row::{Row, RowKind};
use kingpost_regalloc::{Allocation, Block, Edit, EditKind, Inst, Loc, MachineEnv, Operand, PRegSet};
use std::fmt;

/// Difference between the items and the code that lowering selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllocationMismatch {
    /// The item of an instruction is a different instruction.
    Inst(Inst),
    /// The item of an instruction has too few registers or too many, or an operand that is neither a register nor the
    /// slot of the item.
    Registers(Inst),
    /// The items of a block do not correspond to its instructions in order.
    Order(Block),
    /// An item before an instruction computes another value than the recorded one.
    Remat(Inst),
    /// An item of a block declares the flags dead, and they are read.
    Flags(Block),
    /// The function writes these registers, which it preserves for its caller, and does not save them.
    Saved(PRegSet),
}

impl fmt::Display for AllocationMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocationMismatch::Inst(inst) => write!(f, "the code of {inst} is another instruction"),
            AllocationMismatch::Registers(inst) => write!(f, "the code of {inst} does not have its operands"),
            AllocationMismatch::Order(block) => {
                write!(f, "the code of {block} does not correspond to its instructions")
            }
            AllocationMismatch::Remat(inst) => write!(f, "the code before {inst} does not compute its value"),
            AllocationMismatch::Flags(block) => {
                write!(f, "the code of {block} declares the flags dead, but they are read")
            }
            AllocationMismatch::Saved(regs) => write!(f, "{regs} are written and not saved"),
        }
    }
}

impl std::error::Error for AllocationMismatch {}

impl AllocatedCode {
    /// Reads the allocation that these items represent, an answer to the problem of `code`, into `out`.
    ///
    /// # Errors
    /// If an item is neither an instruction of `code` nor an edit.
    pub fn allocation(
        &self,
        code: &Code,
        rows: &[Row],
        env: &MachineEnv,
        out: &mut Allocation,
    ) -> Result<(), AllocationMismatch> {
        out.reset(&code.problem);
        out.slots.extend(self.slots.values().copied());
        out.emergency = self.origins.emergency;
        let mut reader = Reader { allocated: self, code, rows, out };
        for block in code.problem.blocks() {
            reader.block(block)?;
            reader.flags(block)?;
        }
        out.collect_saved(&code.problem, env.callee_saved());
        let preserved = env.callee_saved().union(code.extra_callee_saved);
        let lost = out.written(&code.problem).intersection(preserved).difference(self.written);
        if lost.is_empty() { Ok(()) } else { Err(AllocationMismatch::Saved(lost)) }
    }
}

struct Reader<'a> {
    allocated: &'a AllocatedCode,
    code: &'a Code,
    rows: &'a [Row],
    out: &'a mut Allocation,
}

impl Reader<'_> {
    /// Reads the items of a block.
    fn block(&mut self, block: Block) -> Result<(), AllocationMismatch> {
        let (allocated, origins, problem) = (self.allocated, &self.allocated.origins, &self.code.problem);
        let bounds = allocated.blocks[block.as_u32() as usize];
        let first = problem.first_inst(block);
        for (index, item) in (bounds.heads.0..).zip(allocated.head(block)) {
            let kind = self.edit(item, index, &origins.head_remats, first)?;
            self.out.edits.push(Edit { at: first, kind });
        }
        let mut end = bounds.list.1;
        for inst in problem.insts(block) {
            let outcome = *origins.insts.get(inst).ok_or(AllocationMismatch::Order(block))?;
            let (own, before) = outcome.bounds();
            if own < bounds.list.0 || before > end {
                return Err(AllocationMismatch::Order(block));
            }
            for index in (before..end).rev() {
                let kind = self.edit(&allocated.list[index as usize], index, &origins.remats, inst)?;
                self.out.edits.push(Edit { at: inst, kind });
            }
            match outcome {
                Outcome::Item(item) => self.inst(inst, &allocated.list[item as usize])?,
                Outcome::Dropped { loc, .. } => {
                    self.out.drop_inst(inst);
                    self.out.locs[problem.operand_range(inst)].fill(loc);
                }
            }
            end = own;
        }
        if end == bounds.list.0 { Ok(()) } else { Err(AllocationMismatch::Order(block)) }
    }

    /// Returns the edit of an item before `at`. `remats` are the items that rematerialize a value.
    fn edit(
        &self,
        item: &InstOrEdit,
        index: u32,
        remats: &[(u32, Inst)],
        at: Inst,
    ) -> Result<EditKind, AllocationMismatch> {
        let placed = match item {
            InstOrEdit::Edit(EditKind::Remat { .. }) => return Err(AllocationMismatch::Remat(at)),
            InstOrEdit::Edit(kind) => return Ok(*kind),
            InstOrEdit::Inst(placed) => placed,
        };
        let found =
            remats.binary_search_by_key(&index, |&(item, _)| item).map_err(|_| AllocationMismatch::Remat(at))?;
        let (inst, to) = (remats[found].1, placed.regs.get(0));
        let mut expected = AllocatedInst::new(self.code.insts[inst], RowKind::Remat, placed.flags_are_dead);
        expected.regs.push(to);
        expected.inst = self.with_symbol_of(&expected.inst, &placed.inst);
        if expected == *placed { Ok(EditKind::Remat { inst, to }) } else { Err(AllocationMismatch::Remat(at)) }
    }

    /// Reads the locations of an instruction's operands from its item.
    fn inst(&mut self, inst: Inst, item: &InstOrEdit) -> Result<(), AllocationMismatch> {
        let InstOrEdit::Inst(placed) = item else { return Err(AllocationMismatch::Inst(inst)) };
        let mut expected = self.code.insts[inst];
        let row = &self.rows[usize::from(expected.row.0)];
        let twin = match (placed.slot.expand(), row.twin) {
            (None, _) => None,
            (Some(slot), Some(twin)) => Some((usize::from(twin.operand), Loc::slot(slot), twin.row)),
            (Some(_), None) => return Err(AllocationMismatch::Inst(inst)),
        };
        expected.row = twin.map_or(expected.row, |twin| twin.2);
        let is_special = row.kind.is_control() || twin.is_some();
        if placed.inst != expected || placed.is_special != is_special {
            return Err(AllocationMismatch::Inst(inst));
        }
        let encoded = row.operands.len() + expected.mode.regs();
        let regs = placed.regs.to_array();
        let mut regs = regs[..placed.regs.len()].iter();
        let mut loc = |(k, operand): (usize, &Operand)| match twin {
            Some((operand, slot, _)) if operand == k => Some(slot),
            _ if k < encoded => regs.next().map(|&reg| Loc::reg(reg)),
            _ => operand.fixed_reg().map(Loc::reg),
        };
        let range = self.code.problem.operand_range(inst);
        for (k, place) in range.clone().enumerate() {
            let operand = &self.code.problem.all_operands()[place];
            self.out.locs[place] = loc((k, operand)).ok_or(AllocationMismatch::Registers(inst))?;
        }
        if regs.next().is_none() { Ok(()) } else { Err(AllocationMismatch::Registers(inst)) }
    }

    /// Returns `inst` with the symbol number of `other`, if both address one symbol, because a symbol has a number
    /// for each mention.
    fn with_symbol_of(&self, inst: &MInst, other: &MInst) -> MInst {
        let mut inst = *inst;
        if inst.mode.kind() == AddrKind::Symbol && other.mode.kind() == AddrKind::Symbol {
            let symbol = |number: u32| {
                let symbol = self.code.symbols[number as usize];
                (&self.code.names[symbol.name as usize], symbol.colocated, symbol.offset)
            };
            if symbol(inst.aux) == symbol(other.aux) {
                inst.aux = other.aux;
            }
        }
        inst
    }

    /// Checks that the flags are dead after each item of a block that declares them dead. No block passes flags to
    /// another.
    fn flags(&self, block: Block) -> Result<(), AllocationMismatch> {
        let mut are_live = false;
        for item in self.allocated.rest(block).iter().chain(self.allocated.head(block).iter().rev()) {
            let InstOrEdit::Inst(placed) = item else { continue };
            if placed.flags_are_dead && are_live {
                return Err(AllocationMismatch::Flags(block));
            }
            let row = &self.rows[usize::from(placed.inst.row.0)];
            let are_written = row.flags.writes() || matches!(row.kind, RowKind::Call | RowKind::TryCall);
            are_live = row.flags.reads() || are_live && !are_written;
        }
        Ok(())
    }
}
