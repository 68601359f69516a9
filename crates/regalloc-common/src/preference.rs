//! The registers of a machine in order of preference. A register has the number of its place in the machine's order
//! of its class, so that the best member of a set is its lowest bit.
//!
//! ```text
//! int r6, r7, r0, r3 saved {r3}       r6 is 0, r7 is 1, r0 is 2, r3 is 3; sets are words: {r7, r3} is 0b1010
//! ```
//!
//! Callee-saved registers keep their place in the machine's order, usually last. The first use of one costs a save
//! and a restore, so allocators take from [`Registers::unsaved`] only if that pays.
//!
//! Sets of the problem are translated once. The tables are kept from problem to problem while the machine and its
//! clobber descriptions are unchanged. Cost: a comparison of these.

use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{
    ClobberId, Clobbers, Constraint, Costs, MachineEnv, Operand, PReg, PRegSet, Problem, RegClass, RegSetId,
};

/// A register by class and preference: class × 64 plus its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reg(u8);

impl Default for Reg {
    fn default() -> Reg {
        Reg::NONE
    }
}

impl Reg {
    /// No register.
    pub const NONE: Reg = Reg(u8::MAX);
    /// Length of a table by [`Reg::index`], for which every index is valid.
    pub const TABLE: usize = 256;

    /// Returns the register with the given number in its class.
    pub fn new(class: usize, number: u32) -> Reg {
        Reg((class * 64) as u8 + number as u8)
    }

    /// Returns `true` if this is [`Reg::NONE`].
    pub fn is_none(self) -> bool {
        self == Reg::NONE
    }

    /// Returns the index of the register's class.
    pub fn class(self) -> usize {
        usize::from(self.0 >> 6 & 1)
    }

    /// Returns the number of the register, which is its place in the order of its class.
    pub fn number(self) -> usize {
        usize::from(self.0 & 63)
    }

    /// Returns the set of this register alone, as a mask of its class.
    pub fn bit(self) -> u64 {
        1 << (self.0 & 63)
    }

    /// Returns `true` if the register is in a set of registers of one class.
    pub fn is_one_of(self, class: usize, mask: u64) -> bool {
        let number = usize::from(self.0) ^ (class * 64);
        number < 64 && mask >> number & 1 != 0
    }

    /// Returns the index in tables of length [`Reg::TABLE`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns `true` if the register is in the set of its class.
    pub fn is_in(self, masks: &Masks) -> bool {
        !self.is_none() && masks[self.class()] & self.bit() != 0
    }
}

/// A set of registers: a word per class.
pub type Masks = [u64; 2];

/// Returns the members of one class of a set, best first.
pub fn regs(class: usize, mut mask: u64) -> impl Iterator<Item = Reg> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let number = mask.trailing_zeros();
            mask &= mask - 1;
            Reg::new(class, number)
        })
    })
}

/// Registers that an instruction clobbers.
#[derive(Clone, Copy, Default, Debug)]
pub struct Clobbered {
    /// Registers that lose all bytes.
    pub lost: Masks,
    /// Registers that lose all but their low bytes.
    pub partial: Masks,
    kept_bytes: u8,
}

impl Clobbered {
    /// Returns the registers of a class in which a value of `width` bytes is lost.
    pub fn of(&self, class: usize, width: u8) -> u64 {
        if width > self.kept_bytes { self.lost[class] | self.partial[class] } else { self.lost[class] }
    }

    /// Returns the registers of a class that lose at least some bytes.
    pub fn any(&self, class: usize) -> u64 {
        self.lost[class] | self.partial[class]
    }
}

/// The registers of one machine.
pub struct Registers {
    /// Machine environment for which the tables were made.
    env: MachineEnv,
    clobbers: Vec<Clobbers>,
    pregs: [PReg; Reg::TABLE],
    numbers: [Reg; PReg::COUNT],
    /// Registers that values may be in.
    pub allocatable: Masks,
    /// Allocatable registers that the prologue saves if they are used.
    pub callee_saved: Masks,
    clobbered: Vec<Clobbered>,
    sets: Vec<Masks>,
    /// Register sets of the problem for which the tables were made.
    reg_sets: Vec<PRegSet>,
}

heap_bytes!(Registers { clobbers, clobbered, sets, reg_sets } without { env, pregs, numbers, allocatable, callee_saved });

impl Default for Registers {
    fn default() -> Registers {
        Registers {
            env: MachineEnv::default(),
            clobbers: Vec::new(),
            pregs: [PReg::int(0); Reg::TABLE],
            numbers: [Reg::NONE; PReg::COUNT],
            allocatable: [0; 2],
            callee_saved: [0; 2],
            clobbered: Vec::new(),
            sets: Vec::new(),
            reg_sets: Vec::new(),
        }
    }
}

impl Registers {
    /// Prepares for a problem.
    pub fn build(&mut self, problem: &Problem, env: &MachineEnv) {
        if self.env != *env {
            self.env = env.clone();
            self.number();
            self.clobbers.clear();
            self.clobbered.clear();
            self.reg_sets.clear();
            self.sets.clear();
        }
        self.update(problem);
    }

    /// Updates the tables for a problem of the same machine as the last one. The machines are not compared.
    pub fn update(&mut self, problem: &Problem) {
        let clobbers = problem.all_clobbers().as_values_slice();
        if self.clobbers != clobbers {
            self.clobbers.clear();
            self.clobbers.extend_from_slice(clobbers);
            self.clobbered.clear();
            for clobbers in problem.all_clobbers().values() {
                let (lost, partial) = (self.masks(clobbers.lost), self.masks(clobbers.partial));
                self.clobbered.push(Clobbered { lost, partial, kept_bytes: clobbers.kept_bytes });
            }
        }
        let reg_sets = problem.all_reg_sets().as_values_slice();
        if self.reg_sets != reg_sets {
            self.reg_sets.clear();
            self.reg_sets.extend_from_slice(reg_sets);
            self.sets.clear();
            for &set in reg_sets {
                let masks = self.masks(set);
                self.sets.push(masks);
            }
        }
    }

    fn number(&mut self) {
        self.numbers = [Reg::NONE; PReg::COUNT];
        for class in RegClass::ALL {
            let c = class.index();
            let order = &self.env.class(class).order;
            self.allocatable[c] = 0;
            for (number, &preg) in order.iter().take(64).enumerate() {
                let reg = Reg::new(c, number as u32);
                self.numbers[preg.index()] = reg;
                self.pregs[reg.index()] = preg;
                self.allocatable[c] |= reg.bit();
            }
        }
        self.callee_saved = self.masks(self.env.callee_saved());
    }

    /// Returns the allocatable members of a set.
    pub fn masks(&self, set: PRegSet) -> Masks {
        let mut masks = [0; 2];
        for reg in set.iter().map(|preg| self.reg(preg)).filter(|reg| !reg.is_none()) {
            masks[reg.class()] |= reg.bit();
        }
        masks
    }

    /// Returns the machine's costs.
    pub fn costs(&self) -> Costs {
        self.env.costs
    }

    /// Returns the register, or [`Reg::NONE`] if it is not allocatable.
    pub fn reg(&self, preg: PReg) -> Reg {
        self.numbers[preg.index()]
    }

    /// Returns the machine's name of a register, which must not be [`Reg::NONE`].
    pub fn preg(&self, reg: Reg) -> PReg {
        self.pregs[reg.index()]
    }

    /// Returns the callee-saved registers of a class that the prologue does not save yet. `used` has the registers
    /// already in use.
    pub fn unsaved(&self, class: usize, used: &Masks) -> u64 {
        self.callee_saved[class] & !used[class]
    }

    /// Returns two members of each class of a set, which is enough for every parallel move.
    pub fn some_of(&self, masks: Masks) -> PRegSet {
        let some = (0..2).flat_map(|class| regs(class, masks[class]).take(2));
        some.map(|reg| self.preg(reg)).collect()
    }

    /// Returns the registers of a clobber description.
    pub fn clobbered(&self, clobbers: ClobberId) -> &Clobbered {
        &self.clobbered[clobbers.as_u32() as usize]
    }

    /// Returns a set of the problem.
    pub fn set(&self, set: RegSetId) -> &Masks {
        &self.sets[set.as_u32() as usize]
    }

    /// Returns the registers of a class in which an operand may be.
    pub fn allowed(&self, operand: Operand, class: usize) -> u64 {
        match operand.constraint() {
            Constraint::Fixed(preg) => match self.reg(preg) {
                reg if reg.is_none() || reg.class() != class => 0,
                reg => reg.bit(),
            },
            Constraint::Within(set) => self.set(set)[class],
            _ => self.allocatable[class],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::text::parse;

    fn registers(text: &str) -> (Registers, Problem) {
        let mut file = parse(text).expect("the text is well-formed");
        let problem = file.cases.remove(0).problem;
        let mut registers = Registers::default();
        registers.build(&problem, &file.env.expect("a machine"));
        (registers, problem)
    }

    const TEXT: &str = "env {
        int r6, r7, r0, r3 saved {r3}
        float f1, f0
        }
        problem %f {
        v0: int 8
        b0:
        def v0 in {r3, r0, r7}, clobbers {r6, r9} kept 8 {f1}
        branch
        }";

    #[test]
    fn the_lowest_bit_is_the_best_register() {
        let (registers, _) = registers(TEXT);
        let names = |class| regs(class, registers.allocatable[class]).map(|reg| registers.preg(reg).to_string());
        assert_eq!(names(0).collect::<Vec<_>>(), ["r6", "r7", "r0", "r3"]);
        assert_eq!(names(1).collect::<Vec<_>>(), ["f1", "f0"]);
        assert!(registers.reg(PReg::int(9)).is_none() && !registers.reg(PReg::int(9)).is_in(&[u64::MAX; 2]));
        assert_eq!(registers.unsaved(0, &[0; 2]), 0b1000);
        assert_eq!(registers.unsaved(0, &registers.callee_saved), 0);
        assert_eq!(registers.some_of([0b1110, 0b10]).to_string(), "{r0, r7, f0}");
    }

    #[test]
    fn sets_of_the_problem_are_in_numbers() {
        let (registers, problem) = registers(TEXT);
        let def = problem.all_operands()[0];
        assert_eq!(registers.allowed(def, 0), 0b1110);
        let inst = problem.first_inst(problem.entry());
        let clobbered = registers.clobbered(problem.clobber_id(inst));
        assert_eq!((clobbered.of(0, 8), clobbered.of(1, 8), clobbered.of(1, 16)), (0b1, 0, 0b1));
        assert_eq!(clobbered.any(1), 0b1);
    }
}
