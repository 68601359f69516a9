//! The target AArch64 with its settings and CPU flags.

use crate::flags::A64Flags;
use crate::frame::{Signing, Style};
use crate::regs;
use kingpost_ir::signature::CallConv;
use kingpost_mach::settings::{AllocatedRegisters, ProbestackStrategy};
use kingpost_mach::{CpuFeatures, SettingError, Settings};
use kingpost_regalloc::{MachineEnv, PRegSet};

/// Bytes by which the stack is aligned, at calls and always.
pub(crate) const STACK_ALIGN: u32 = 16;

/// AArch64 with its settings.
#[derive(Debug)]
pub struct A64 {
    pub(crate) settings: Settings,
    pub(crate) flags: A64Flags,
    pub(crate) features: CpuFeatures,
    pub(crate) env: MachineEnv,
    pub(crate) registers: PRegSet,
    /// Whether unwind codes of Windows describe frames, and a routine probes them.
    pub(crate) of_windows: bool,
}

impl A64 {
    /// Returns the instruction set under `settings` on a CPU with `flags`.
    ///
    /// # Errors
    /// The first setting that is not supported by this target.
    pub fn new(settings: Settings, flags: A64Flags) -> Result<A64, SettingError> {
        A64::of(settings, flags, false)
    }

    /// Returns the instruction set for code on Windows.
    ///
    /// # Errors
    /// The first setting that is not supported by this target.
    pub fn of_windows(settings: Settings, flags: A64Flags) -> Result<A64, SettingError> {
        A64::of(settings, flags, true)
    }

    fn of(settings: Settings, flags: A64Flags, of_windows: bool) -> Result<A64, SettingError> {
        settings.check()?;
        check(&settings, &flags, of_windows)?;
        let env = regs::env(settings.enable_pinned_reg, settings.regalloc_registers);
        let registers = regs::env(settings.enable_pinned_reg, AllocatedRegisters::All).allocatable();
        Ok(A64 { settings, features: flags.features(), flags, env, registers, of_windows })
    }

    /// Returns the CPU flags.
    pub fn flags(&self) -> &A64Flags {
        &self.flags
    }

    /// Returns the restriction of frames.
    pub(crate) fn frame_style(&self) -> Style {
        match (self.of_windows, self.settings.enable_compact_unwind_abi) {
            (true, _) => Style::Mirrored,
            (false, true) => Style::Compact,
            (false, false) => Style::Any,
        }
    }

    /// Returns which functions sign their return address.
    pub(crate) fn signing(&self) -> Signing {
        match (self.flags.sign_return_address_all, self.flags.sign_return_address) {
            (true, _) => Signing::Always,
            (false, true) => Signing::WithFrame,
            (false, false) => Signing::Never,
        }
    }
}

/// Rejects settings and flags that this target does not support.
fn check(settings: &Settings, flags: &A64Flags, of_windows: bool) -> Result<(), SettingError> {
    let other = if of_windows { CallConv::WindowsFastcall } else { CallConv::AppleAarch64 };
    settings.require_libcalls(&[CallConv::SystemV, CallConv::Fast, other])?;
    let refuse = |key, value: String| Err(SettingError::Unsupported { key, value });
    if !of_windows && settings.enable_probestack && settings.probestack_strategy == ProbestackStrategy::Outline {
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
