//! What an instruction set provides to the parts of the compiler that are independent of the machine.

use crate::abi::AbiSignature;
use crate::buffer::{BranchForms, Buffer};
use crate::compiled::ControlFlowGuards;
use crate::cpu_flags::CpuFeatures;
use crate::emit_blocks::Blocks;
use crate::frame::FrameLayout;
use crate::inst::{AddrMode, IndexExtend, MInst};
use crate::lower::{Lower, LowerError, TileInfo};
use crate::regs::Regs;
use crate::row::{Row, RowId};
use kingpost_ir::signature::Signature;
use kingpost_ir::{Inst, TrapCode};
use kingpost_regalloc::{Block, MachineEnv, PReg, PRegSet};

/// What the base of a resolved memory operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemBase {
    /// A register.
    Reg(PReg),
    /// The stack pointer.
    StackPointer,
    /// The frame pointer.
    FramePointer,
    /// A symbol: index into the code's symbols.
    Symbol(u32),
    /// A jump table.
    Table(u32),
}

/// A memory operand after allocation and frame layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mem {
    /// Base of the address.
    pub base: MemBase,
    /// Index register with its shift and extension.
    pub index: Option<(PReg, u8, crate::inst::IndexExtend)>,
    /// Added to the address, bytes.
    pub disp: i64,
}

impl Mem {
    /// `base + disp`.
    pub fn base(base: MemBase, disp: i64) -> Mem {
        Mem { base, index: None, disp }
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
    pub symbols: &'a [crate::code::SymbolRef],
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

/// What an instruction set does itself with floats of 16 bits. The rest is done in single precision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HalfPrecision {
    /// Nothing: routines convert them.
    None,
    /// Conversions from and to floats of 32 and 64 bits.
    Conversions,
    /// Those, arithmetic, signs and comparisons.
    Arithmetic,
}

/// An instruction set with its settings: one object per compiler.
pub trait Isa: Send + Sync {
    /// Returns the name messages use.
    fn name(&self) -> &'static str;

    /// Returns the instruction table.
    fn rows(&self) -> &'static [Row];

    /// What the CPU can do that rows may need.
    fn features(&self) -> CpuFeatures;

    /// What it does itself with floats of 16 bits.
    fn half_precision(&self) -> HalfPrecision;

    /// Returns the registers to allocate.
    fn env(&self) -> &MachineEnv;

    /// Returns the registers to allocate if `regalloc_registers` left out none: what code of other functions may
    /// destroy.
    fn registers(&self) -> PRegSet;

    /// Returns a register's name when `width` bytes of it are used.
    fn reg_name(&self, reg: PReg, width: u8) -> String;

    /// Places of all arguments and results of `signature`.
    ///
    /// # Errors
    /// What the convention cannot pass.
    fn abi(&self, signature: &Signature) -> Result<AbiSignature, LowerError>;

    /// For each opcode the least width in bits, up to 32, at which the register of its first result, an integer, has
    /// zeros above the value, or 0. [`verify`](crate::verify) checks it of machine code.
    fn zeros_from(&self) -> &'static [u8];

    /// Lowers an instruction that has an effect or a result with a use: calls the function that the instruction set's
    /// table has for its opcode and shape. The successors of a terminator are [`Lower::targets`].
    ///
    /// # Errors
    /// Opcodes, types or settings this target does not support.
    fn lower(&self, cx: &mut Lower<'_>, inst: Inst) -> Result<(), LowerError>;

    /// Lowers the function's entry: parameters from where the convention passes them.
    ///
    /// # Errors
    /// Parameters this target does not support.
    fn lower_entry(&self, cx: &mut Lower<'_>) -> Result<(), LowerError>;

    /// Lowers the block of an edge, the one to destination number `edge` of `branch`: a jump to `target`, and before it
    /// what a call with handlers leaves to be done.
    ///
    /// # Errors
    /// Results this target does not support.
    fn lower_edge(&self, cx: &mut Lower<'_>, branch: Inst, edge: usize, target: Block) -> Result<(), LowerError>;

    /// Returns the local patterns that lowering looks for.
    fn tiles(&self) -> &'static [TileInfo];

    /// Returns bytes by which frames, and the stack at calls, are aligned.
    fn stack_align(&self) -> u32;

    /// Makes of an empty layout that of the frame for the given needs.
    ///
    /// # Errors
    /// A frame that is too large to address.
    fn frame(&self, needs: &crate::frame::FrameNeeds, frame: &mut FrameLayout) -> Result<(), LowerError>;

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
    /// registers are those of its operands and then those of its address. False if [`Isa::emit`] must do it.
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
