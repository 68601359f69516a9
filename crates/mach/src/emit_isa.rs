//! Interface of instruction sets for emission, and the data that it receives.

use crate::allocated_code::AllocatedCode;
use crate::buffer::{BranchForms, Buffer};
use crate::code::{Code, SymbolRef};
use crate::compiled::ControlFlowGuards;
use crate::error::LowerError;
use crate::frame::{FrameLayout, FrameNeeds, SpillArea};
use crate::inst::{AddrMode, IndexExtend, MInst};
use crate::isa::Isa;
use crate::limits::Guard;
use crate::mem::Mem;
use crate::regs::Regs;
use crate::row::RowId;
use crate::value_sites::ValueSites;
use kingpost_ir::TrapCode;
use kingpost_regalloc::{Allocation, Block, PReg};

/// Instruction set that emits allocated code.
pub trait EmitIsa: Isa {
    /// Lays out the frame for the given needs in an empty layout.
    ///
    /// # Errors
    /// If the frame is too large to address.
    fn frame(&self, needs: &FrameNeeds, frame: &mut FrameLayout) -> Result<(), LowerError>;

    /// Returns the function that emits the landing pad of blocks that jump tables refer to, if they need one.
    fn landing_pad(&self) -> Option<fn(&mut Buffer)> {
        None
    }

    /// Returns the guards that all code has.
    fn guards(&self) -> ControlFlowGuards {
        ControlFlowGuards::default()
    }

    /// Emits the prologue.
    fn prologue(&self, frame: &FrameLayout, buffer: &mut Buffer);

    /// Emits the blocks of a function by `blocks.emit(self)`, in which no call for a single instruction is virtual.
    ///
    /// # Errors
    /// If the code is too large.
    fn emit_blocks(&self, blocks: Blocks<'_>) -> Result<(), LowerError>;

    /// Emits an instruction that is described by its row, its registers and the frame. The registers are first the
    /// operands and then the address. Returns `false` if [`EmitIsa::emit`] must emit the instruction, or a listing is
    /// made.
    ///
    /// This is a fast path. Without it, compilation takes 4.3 % more instructions with `ssa` and 7.4 % more with `fused`
    /// (`make gate`, `x86_64 ssa none` and `x86_64 fused none`); the bytes are equal.
    fn emit_direct(&self, inst: &MInst, regs: Regs, frame: &FrameLayout, buffer: &mut Buffer) -> bool;

    /// Emits one instruction.
    fn emit(&self, inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer);

    /// Emits one edit. Preserves the flags.
    fn emit_edit(&self, edit: &MachineEdit, buffer: &mut Buffer);

    /// Emits a trap that [`Buffer::defer_trap`] has deferred, and records its site.
    fn emit_trap(&self, code: TrapCode, buffer: &mut Buffer);

    /// Returns the rows to use where the flags are dead, if the instruction set has any.
    fn short_rows(&self) -> Option<ShortRows> {
        None
    }

    /// Returns the number of bytes without effect that follow a call with handlers. Some unwinders take the return address
    /// of a call for a part of an epilogue if one follows, and then skip the handlers of the call.
    fn bytes_after_handlers(&self) -> usize {
        0
    }

    /// Returns the encodings of branches to labels.
    fn branches(&self) -> &dyn BranchForms;
}

/// Settings of emission.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct EmitOptions {
    /// Bytes of padding after each block, for tests of long branches, rounded up to whole instructions; 0 for none.
    pub block_padding: usize,
    /// Alignment of functions in bytes, at least the alignment that the instruction set needs.
    pub function_align: u32,
    /// Whether the offsets of blocks and the edges between them are recorded.
    pub block_offsets: bool,
    /// Whether the heads of blocks are recorded.
    pub block_heads: bool,
    /// Whether every function sets up a frame pointer.
    pub keep_frame_pointer: bool,
}

impl EmitOptions {
    /// Returns the options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut EmitOptions)) -> EmitOptions {
        change(&mut self);
        self
    }
}

/// Blocks of a function, ready to be emitted.
#[derive(Debug)]
pub struct Blocks<'a> {
    pub(crate) code: &'a Code,
    pub(crate) body: Body<'a>,
    pub(crate) frame: &'a FrameLayout,
    pub(crate) options: &'a EmitOptions,
    /// Final target of a branch to each block.
    pub(crate) thread: &'a [Block],
    /// Blocks that begin with a landing pad, ascending.
    pub(crate) pads: &'a [u32],
    pub(crate) spill_area: &'a SpillArea,
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) sites: &'a mut ValueSites,
    pub(crate) guard: &'a Guard,
}

/// Instructions of a function, with registers.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// Instructions of the code, in the places of an allocation.
    Allocated(&'a Allocation),
    /// Allocated code, and the allocation that it represents if a listing or values for a debugger are requested. The
    /// bytes do not depend on whether it is given.
    InRegisters(&'a AllocatedCode, Option<&'a Allocation>),
}

impl<'a> Body<'a> {
    /// Returns the allocation, if it is given.
    pub(crate) fn allocation(self) -> Option<&'a Allocation> {
        match self {
            Body::Allocated(allocation) => Some(allocation),
            Body::InRegisters(_, allocation) => allocation,
        }
    }
}

/// Edit with memory operands in place of slots. Widths are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineEdit {
    /// Register to register.
    Move(PReg, PReg, u8),
    /// Exchange of two registers.
    Exchange(PReg, PReg, u8),
    /// Register to memory.
    Spill(PReg, Mem, u8),
    /// Memory to register.
    Fill(Mem, PReg, u8),
}

/// Context of the emission of one instruction.
#[derive(Clone, Copy, Debug)]
pub struct EmitContext<'a> {
    /// Registers of its operands, without operands in memory and address registers.
    pub regs: &'a [PReg],
    /// Memory operand of the instruction.
    pub mem: Option<Mem>,
    /// Layout of the function's frame.
    pub frame: &'a FrameLayout,
    /// Symbols by index, for relocations.
    pub symbols: &'a [SymbolRef],
    /// Blocks by index, for branches with more than two targets.
    pub targets: &'a [u32],
    /// Block emitted next, which a branch may fall through to.
    pub next: Option<Block>,
}

/// Rows that replace longer ones where the flags may be clobbered.
#[derive(Clone, Copy, Debug)]
pub struct ShortRows {
    /// A load of an immediate, and the row that makes zero.
    pub zero: (RowId, RowId),
    /// Computations of an address, and the rows that add their second use to their first, which shares the register
    /// of their def.
    pub sums: [(RowId, RowId); 2],
}

impl ShortRows {
    /// Returns the row that replaces the instruction's own, with its registers. `regs` are the registers of the
    /// instruction.
    #[inline]
    pub(crate) fn of(&self, inst: &MInst, regs: Regs) -> Option<(RowId, Regs)> {
        if inst.row == self.zero.0 {
            return (inst.imm == 0).then_some((self.zero.1, regs));
        }
        let (_, sum) = self.sums.iter().find(|(address, _)| *address == inst.row)?;
        if inst.mode != AddrMode::index(0, IndexExtend::None) || inst.aux != 0 {
            return None;
        }
        match [regs.get(0), regs.get(1), regs.get(2)] {
            [to, base, other] | [to, other, base] if to == base => Some((*sum, Regs::of(&[to, to, other]))),
            _ => None,
        }
    }
}
