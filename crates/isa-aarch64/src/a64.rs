//! The target AArch64 with its settings and CPU flags.

use crate::flags::A64Flags;
use crate::frame::Signing;
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
}

impl A64 {
    /// Returns the instruction set under `settings` on a CPU with `flags`.
    ///
    /// # Errors
    /// The first setting that is not supported by this target.
    pub fn new(settings: Settings, flags: A64Flags) -> Result<A64, SettingError> {
        settings.check()?;
        check(&settings, &flags)?;
        let env = regs::env(settings.enable_pinned_reg, settings.regalloc_registers);
        let registers = regs::env(settings.enable_pinned_reg, AllocatedRegisters::All).allocatable();
        Ok(A64 { settings, features: flags.features(), flags, env, registers })
    }

    /// Returns the CPU flags.
    pub fn flags(&self) -> &A64Flags {
        &self.flags
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
