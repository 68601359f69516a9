//! Emission as instruction sets provide it, and what they are given for it.

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
use crate::steps::Steps;
use crate::value_sites::ValueSites;
use kingpost_ir::TrapCode;
use kingpost_regalloc::{Allocation, Block, PReg};

/// An instruction set that emits allocated code.
pub trait EmitIsa: Isa {
    /// Makes of an empty layout that of the frame for the given needs.
    ///
    /// # Errors
    /// A frame that is too large to address.
    fn frame(&self, needs: &FrameNeeds, frame: &mut FrameLayout) -> Result<(), LowerError>;

    /// Emits what must stand at the start of blocks that jump tables lead to, if anything must.
    fn landing_pad(&self) -> Option<fn(&mut Buffer)> {
        None
    }

    /// Returns the guards that all code has.
    fn guards(&self) -> ControlFlowGuards {
        ControlFlowGuards::default()
    }

    /// Emits the prologue.
    fn prologue(&self, frame: &FrameLayout, buffer: &mut Buffer);

    /// Emits the blocks of a function: `blocks.emit(self)`, in which no call for an instruction is virtual.
    ///
    /// # Errors
    /// If the code is too large.
    fn emit_blocks(&self, blocks: Blocks<'_>) -> Result<(), LowerError>;

    /// Emits an instruction if its row, its registers and the frame say all of it, and no listing is made. The
    /// registers are those of its operands and then those of its address. False if [`EmitIsa::emit`] must do it.
    fn emit_direct(&self, inst: &MInst, regs: Regs, frame: &FrameLayout, buffer: &mut Buffer) -> bool;

    /// Emits one instruction.
    fn emit(&self, inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer);

    /// Emits one edit. It leaves the flags alone.
    fn emit_edit(&self, edit: &MachineEdit, buffer: &mut Buffer);

    /// Emits a trap with its site, as [`Buffer::defer_trap`] promised.
    fn emit_trap(&self, code: TrapCode, buffer: &mut Buffer);

    /// Returns rows for where the flags are of no use any more, if that makes a difference.
    fn short_rows(&self) -> Option<ShortRows> {
        None
    }

    /// How branches to labels are encoded.
    fn branches(&self) -> &dyn BranchForms;
}

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

/// The blocks of a function, ready to be emitted.
#[derive(Debug)]
pub struct Blocks<'a> {
    pub(crate) code: &'a Code,
    pub(crate) body: Body<'a>,
    pub(crate) frame: &'a FrameLayout,
    pub(crate) options: &'a EmitOptions,
    /// Per block, where a branch to it really goes.
    pub(crate) thread: &'a [Block],
    /// Blocks that begin with a landing pad, ascending.
    pub(crate) pads: &'a [u32],
    pub(crate) spill_area: &'a SpillArea,
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) sites: &'a mut ValueSites,
    pub(crate) guard: &'a Guard,
}

/// The instructions of a function, with registers.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// Instructions of the code, in the places of an allocation.
    Allocated(&'a Allocation),
    /// Steps, and the allocation that they stand for if a listing or values for a debugger are asked for. The bytes are those of
    /// the steps with or without it.
    Steps(&'a Steps, Option<&'a Allocation>),
}

impl<'a> Body<'a> {
    /// Returns the allocation, if it is known.
    pub(crate) fn allocation(self) -> Option<&'a Allocation> {
        match self {
            Body::Allocated(allocation) => Some(allocation),
            Body::Steps(_, allocation) => allocation,
        }
    }
}

/// An edit with slots turned into memory operands. Widths are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineEdit {
    /// Register to register.
    Move(PReg, PReg, u8),
    /// Two registers exchanged.
    Exchange(PReg, PReg, u8),
    /// Register to memory.
    Spill(PReg, Mem, u8),
    /// Memory to register.
    Fill(Mem, PReg, u8),
}

/// What emission of one instruction may look at besides the instruction.
#[derive(Clone, Copy, Debug)]
pub struct EmitContext<'a> {
    /// Registers of its operands, those in memory left out, address registers left out.
    pub regs: &'a [PReg],
    /// Its memory operand.
    pub mem: Option<Mem>,
    /// The frame it runs in.
    pub frame: &'a FrameLayout,
    /// Symbols by index, for relocations.
    pub symbols: &'a [SymbolRef],
    /// Blocks by index, for branches with more than two.
    pub targets: &'a [u32],
    /// The block emitted next, to which a branch may fall through.
    pub next: Option<Block>,
}

/// Rows that do in fewer bytes what others do, and destroy the flags besides.
#[derive(Clone, Copy, Debug)]
pub struct ShortRows {
    /// Loads an immediate; makes zero.
    pub zero: (RowId, RowId),
    /// Computes an address; adds its second use to its first, where its def is.
    pub sums: [(RowId, RowId); 2],
}

impl ShortRows {
    /// Returns the row to use in place of an instruction's own, with its registers. `regs` are those of the
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
