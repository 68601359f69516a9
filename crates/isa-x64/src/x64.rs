//! The target x86-64 with its settings and CPU flags.

use crate::flags::X64Flags;
use crate::regs;
use kingpost_ir::signature::CallConv;
use kingpost_mach::settings::AllocatedRegisters;
use kingpost_mach::{CpuFeatures, SettingError, Settings};
use kingpost_regalloc::{MachineEnv, PRegSet};

/// Bytes by which the stack is aligned at calls.
pub(crate) const STACK_ALIGN: u32 = 16;

/// x86-64 with its settings.
#[derive(Debug)]
pub struct X64 {
    pub(crate) settings: Settings,
    pub(crate) flags: X64Flags,
    pub(crate) features: CpuFeatures,
    pub(crate) env: MachineEnv,
    pub(crate) registers: PRegSet,
}

impl X64 {
    /// Returns the instruction set under `settings` on a CPU with `flags`.
    ///
    /// # Errors
    /// The first setting that is not supported by this target.
    pub fn new(settings: Settings, flags: X64Flags) -> Result<X64, SettingError> {
        settings.check()?;
        settings.require_libcalls(&[CallConv::SystemV, CallConv::Fast, CallConv::WindowsFastcall])?;
        let env = regs::env(settings.enable_pinned_reg, settings.regalloc_registers);
        let registers = regs::env(settings.enable_pinned_reg, AllocatedRegisters::All).allocatable();
        Ok(X64 { settings, features: flags.features(), flags, env, registers })
    }

    /// Returns the CPU flags.
    pub fn flags(&self) -> &X64Flags {
        &self.flags
    }

    /// Returns the size in bytes of the guard pages that prologues touch, or `None` if prologues do not touch them.
    pub(crate) fn guard(&self) -> Option<u64> {
        self.settings.enable_probestack.then(|| 1u64 << self.settings.probestack_size_log2)
    }
}
