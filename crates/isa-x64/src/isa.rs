//! The interface of the instruction set to the compiler.

use crate::branches::X64Branches;
use crate::lower::{Cx, table, tiles};
use crate::x64::{STACK_ALIGN, X64};
use crate::{abi, edit, emit, frame, regs, rows};
use kingpost_ir::signature::Signature;
use kingpost_ir::{Inst, TrapCode};
use kingpost_mach::abi::AbiSignature;
use kingpost_mach::lower::{self, LowerResult};
use kingpost_mach::settings::{LibcallCallConv, OptLevel};
use kingpost_mach::tiles::TileInfo;
use kingpost_mach::{
    Blocks, BranchForms, Buffer, CpuFeatures, EmitContext, EmitIsa, FrameLayout, FrameNeeds, HalfPrecision, Isa,
    LowerCtx, LowerError, LowerIsa, MInst, MachineEdit, Regs, Row, ShortRows,
};
use kingpost_regalloc::{Block, MachineEnv, PReg, PRegSet};

impl Isa for X64 {
    fn name(&self) -> &'static str {
        "x86_64"
    }

    fn rows(&self) -> &'static [Row] {
        &rows::ROWS
    }

    fn features(&self) -> CpuFeatures {
        self.features
    }

    fn half_precision(&self) -> HalfPrecision {
        HalfPrecision::None
    }

    fn env(&self) -> &MachineEnv {
        &self.env
    }

    fn registers(&self) -> PRegSet {
        self.registers
    }

    fn reg_name(&self, reg: PReg, width: u8) -> String {
        regs::name(reg, width)
    }

    fn abi(&self, signature: &Signature) -> Result<AbiSignature, LowerError> {
        abi::assign(signature, &self.settings)
    }

    fn zeros_from(&self) -> &'static [u8] {
        &table::ZEROS_FROM
    }

    fn tiles(&self) -> &'static [TileInfo] {
        tiles::TILES
    }

    fn stack_align(&self) -> u32 {
        STACK_ALIGN
    }
}

impl LowerIsa for X64 {
    fn lower(&self, cx: &mut LowerCtx<'_>, inst: Inst) -> LowerResult {
        table::lower(&mut Cx { lower: cx, isa: self }, inst)
    }

    fn lower_entry(&self, cx: &mut LowerCtx<'_>) -> LowerResult {
        lower::entry::entry(&mut Cx { lower: cx, isa: self })
    }

    fn lower_edge(&self, cx: &mut LowerCtx<'_>, branch: Inst, edge: usize, target: Block) -> LowerResult {
        lower::try_call::edge(&mut Cx { lower: cx, isa: self }, branch, edge, target)
    }
}

impl EmitIsa for X64 {
    fn frame(&self, needs: &FrameNeeds, frame: &mut FrameLayout) -> Result<(), LowerError> {
        frame.prefers_size = self.settings.opt_level == OptLevel::SpeedAndSize;
        frame::lay_out(needs, STACK_ALIGN, self.guard(), self.settings.enable_compact_unwind_abi, frame)
    }

    fn prologue(&self, frame: &FrameLayout, buffer: &mut Buffer) {
        frame::prologue(frame, self.guard(), buffer);
    }

    fn emit_blocks(&self, blocks: Blocks<'_>) -> Result<(), LowerError> {
        blocks.emit(self)
    }

    /// Returns 1 on Windows, whose unwinder recognizes epilogues by their instructions.
    fn bytes_after_handlers(&self) -> usize {
        usize::from(self.settings.libcall_call_conv == LibcallCallConv::WindowsFastcall)
    }

    #[inline(always)]
    fn emit_direct(&self, inst: &MInst, regs: Regs, frame: &FrameLayout, buffer: &mut Buffer) -> bool {
        emit::emit_direct(inst, regs, frame, buffer)
    }

    fn emit(&self, inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer) {
        emit::emit(inst, cx, buffer);
    }

    #[inline(always)]
    fn emit_edit(&self, edit: &MachineEdit, buffer: &mut Buffer) {
        edit::emit_edit(edit, buffer);
    }

    fn emit_trap(&self, code: TrapCode, buffer: &mut Buffer) {
        emit::emit_trap(code, buffer);
    }

    fn short_rows(&self) -> Option<ShortRows> {
        let sum = |bits| (rows::LEA_RM.of(bits), rows::ADD_RR.of(bits));
        Some(ShortRows { zero: (rows::MOV32_RI, rows::XOR32_ZERO), sums: [sum(32), sum(64)] })
    }

    fn branches(&self) -> &dyn BranchForms {
        &X64Branches
    }
}
