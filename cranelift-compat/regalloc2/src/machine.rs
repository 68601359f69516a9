//! Classes, registers and machines of regalloc2 in our terms.
//!
//! regalloc2 has three classes and our contract has two. Values of different classes never share a register, so the
//! third class is a problem of its own.

use kingpost_regalloc::{ClassEnv, Costs, MachineEnv, PReg, PRegSet, RegClass};
use regalloc2::RegClass as UpstreamClass;

/// The classes of one problem: a class of regalloc2 for each of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part([Option<UpstreamClass>; 2]);

impl Part {
    /// Integers and floats.
    pub(crate) const SCALAR: Part = Part([Some(UpstreamClass::Int), Some(UpstreamClass::Float)]);
    /// The separate vector registers of a few machines.
    pub(crate) const VECTOR: Part = Part([None, Some(UpstreamClass::Vector)]);

    /// Returns our class for a class of the part.
    pub(crate) fn class(self, class: UpstreamClass) -> Option<RegClass> {
        RegClass::ALL.into_iter().find(|ours| self.0[ours.index()] == Some(class))
    }

    /// Returns the class of regalloc2 for one of ours.
    ///
    /// # Panics
    /// If the part lacks the class: no value of the problem has it.
    pub(crate) fn upstream_class(self, class: RegClass) -> UpstreamClass {
        self.0[class.index()].expect("a class of the part")
    }

    /// Returns our register for a register of the part.
    pub(crate) fn reg(self, reg: regalloc2::PReg) -> Option<PReg> {
        Some(PReg::new(self.class(reg.class())?, reg.hw_enc() as u8))
    }

    /// Returns the register of regalloc2 for one of ours.
    pub(crate) fn upstream_reg(self, reg: PReg) -> regalloc2::PReg {
        regalloc2::PReg::new(usize::from(reg.enc()), self.upstream_class(reg.class()))
    }

    /// Returns the registers of the part as a set.
    pub(crate) fn regs(self, regs: regalloc2::PRegSet) -> PRegSet {
        regs.into_iter().filter_map(|reg| self.reg(reg)).collect()
    }

    /// Returns the machine as our allocators see it.
    ///
    /// Registers that are not preferred are those whose use costs a save and a restore. Edits of regalloc2 neither
    /// exchange registers nor move from slot to slot.
    pub(crate) fn env(self, env: &regalloc2::MachineEnv) -> MachineEnv {
        let class = |class: Option<UpstreamClass>| {
            let Some(class) = class else { return ClassEnv::default() };
            let preferred = env.preferred_regs_by_class[class as usize];
            let others = env.non_preferred_regs_by_class[class as usize];
            ClassEnv {
                order: preferred.into_iter().chain(others).filter_map(|reg| self.reg(reg)).collect(),
                callee_saved: self.regs(others),
                scratch: env.scratch_by_class[class as usize].and_then(|reg| self.reg(reg)),
                exchange: false,
                slot_move: false,
            }
        };
        MachineEnv { classes: self.0.map(class), costs: Costs::default() }
    }
}
