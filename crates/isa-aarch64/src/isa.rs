//! The interface of the instruction set to the compiler.

use crate::a64::{A64, STACK_ALIGN};
use crate::branches::A64Branches;
use crate::frame::Signing;
use crate::lower::{Cx, table, tiles};
use crate::{abi, emit, frame, regs, rows};
use kingpost_ir::signature::Signature;
use kingpost_ir::{Inst, TrapCode};
use kingpost_mach::abi::AbiSignature;
use kingpost_mach::lower::{self, LowerResult};
use kingpost_mach::tiles::TileInfo;
use kingpost_mach::{
    Blocks, BranchForms, Buffer, ControlFlowGuards, CpuFeatures, EmitContext, EmitIsa, FrameLayout, FrameNeeds,
    HalfPrecision, Isa, LowerCtx, LowerError, LowerIsa, MInst, MachineEdit, Regs, Row,
};
use kingpost_regalloc::{Block, MachineEnv, PReg, PRegSet};

impl Isa for A64 {
    fn name(&self) -> &'static str {
        "aarch64"
    }

    fn rows(&self) -> &'static [Row] {
        &rows::ROWS
    }

    fn features(&self) -> CpuFeatures {
        self.features
    }

    fn half_precision(&self) -> HalfPrecision {
        if self.flags.has_fp16 { HalfPrecision::Arithmetic } else { HalfPrecision::Conversions }
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

impl LowerIsa for A64 {
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

impl EmitIsa for A64 {
    fn frame(&self, needs: &FrameNeeds, frame: &mut FrameLayout) -> Result<(), LowerError> {
        frame::lay_out(needs, STACK_ALIGN, self.signing(), self.frame_style(), frame)
    }

    fn landing_pad(&self) -> Option<fn(&mut Buffer)> {
        self.flags.use_bti.then_some(emit::landing_pad)
    }

    fn guards(&self) -> ControlFlowGuards {
        ControlFlowGuards { landing_pads: self.flags.use_bti, signed_returns: self.signing() != Signing::Never }
    }

    fn prologue(&self, frame: &FrameLayout, buffer: &mut Buffer) {
        let settings = &self.settings;
        let guard = settings.enable_probestack.then(|| 1u64 << settings.probestack_size_log2);
        frame::prologue(frame, guard, self.flags.use_bti, buffer);
    }

    fn emit_blocks(&self, blocks: Blocks<'_>) -> Result<(), LowerError> {
        blocks.emit(self)
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
        emit::emit_edit(edit, buffer);
    }

    fn emit_trap(&self, code: TrapCode, buffer: &mut Buffer) {
        emit::emit_trap(code, buffer);
    }

    fn branches(&self) -> &dyn BranchForms {
        &A64Branches
    }
}
