//! The instruction set as the rest of the compiler sees it.

use crate::branches::A64Branches;
use crate::flags::A64Flags;
use crate::frame::Signing;
use crate::lower::{Cx, table, tiles};
use crate::{abi, emit, frame, regs, rows};
use kingpost_ir::signature::{CallConv, Signature};
use kingpost_ir::{Inst, TrapCode};
use kingpost_mach::abi::AbiSignature;
use kingpost_mach::lower::{self, Lowered, TileInfo};
use kingpost_mach::settings::{AllocatedRegisters, ProbestackStrategy};
use kingpost_mach::{
    Blocks, BranchForms, Buffer, ControlFlowGuards, CpuFeatures, EmitContext, FrameLayout, FrameNeeds, HalfPrecision,
    Isa, Lower, LowerError, MInst, MachineEdit, Regs, Row, SettingError, Settings,
};
use kingpost_regalloc::{Block, MachineEnv, PReg, PRegSet};

/// Bytes by which the stack is aligned, at calls and always.
pub(crate) const STACK_ALIGN: u32 = 16;

/// AArch64 with its settings.
#[derive(Debug)]
pub struct A64 {
    pub(crate) settings: Settings,
    pub(crate) flags: A64Flags,
    features: CpuFeatures,
    env: MachineEnv,
    registers: PRegSet,
}

impl A64 {
    /// The instruction set under `settings` on a CPU with `flags`.
    ///
    /// # Errors
    /// The first setting that is not supported here.
    pub fn new(settings: Settings, flags: A64Flags) -> Result<A64, SettingError> {
        settings.check()?;
        check(&settings, &flags)?;
        let env = regs::env(settings.enable_pinned_reg, settings.regalloc_registers);
        let registers = regs::env(settings.enable_pinned_reg, AllocatedRegisters::All).allocatable();
        Ok(A64 { settings, features: flags.features(), flags, env, registers })
    }

    /// The CPU flags.
    pub fn flags(&self) -> &A64Flags {
        &self.flags
    }

    /// Which functions sign their return address.
    fn signing(&self) -> Signing {
        match (self.flags.sign_return_address_all, self.flags.sign_return_address) {
            (true, _) => Signing::Always,
            (false, true) => Signing::WithFrame,
            (false, false) => Signing::Never,
        }
    }
}

/// Refuses what this target does not do yet.
fn check(settings: &Settings, flags: &A64Flags) -> Result<(), SettingError> {
    settings.require_libcalls(&[CallConv::SystemV, CallConv::Fast, CallConv::AppleAarch64])?;
    let refuse = |key, value: String| Err(SettingError::Unsupported { key, value });
    if settings.enable_probestack && settings.probestack_strategy == ProbestackStrategy::Outline {
        return refuse("probestack_strategy", settings.probestack_strategy.to_string());
    }
    if flags.sign_return_address_with_bkey {
        return refuse("sign_return_address_with_bkey", "true".into());
    }
    if flags.use_csdb {
        return refuse("use_csdb", "true".into());
    }
    Ok(())
}

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

    fn lower(&self, cx: &mut Lower<'_>, inst: Inst) -> Lowered {
        table::lower(&mut Cx { lower: cx, isa: self }, inst)
    }

    fn lower_entry(&self, cx: &mut Lower<'_>) -> Lowered {
        lower::entry::entry(&mut Cx { lower: cx, isa: self })
    }

    fn lower_edge(&self, cx: &mut Lower<'_>, branch: Inst, edge: usize, target: Block) -> Lowered {
        lower::branch::edge(&mut Cx { lower: cx, isa: self }, branch, edge, target)
    }

    fn tiles(&self) -> &'static [TileInfo] {
        tiles::TILES
    }

    fn stack_align(&self) -> u32 {
        STACK_ALIGN
    }

    fn frame(&self, needs: &FrameNeeds, frame: &mut FrameLayout) -> Result<(), LowerError> {
        frame::lay_out(needs, STACK_ALIGN, self.signing(), frame)
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
