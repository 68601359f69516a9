//! The machine in the allocator's own numbering: registers of a class are numbered by preference, so that the best
//! member of a set is its lowest bit.

use kingpost_regalloc::{Clobbers, Constraint, Costs, MachineEnv, Operand, PReg, PRegSet, Problem, RegClass};

/// A register: class × 64 plus its rank in the class's order of preference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reg(u8);

impl Reg {
    /// No register.
    pub(crate) const NONE: Reg = Reg(u8::MAX);

    pub(crate) fn new(class: usize, rank: u32) -> Reg {
        Reg((class * 64) as u8 + rank as u8)
    }

    pub(crate) fn is_none(self) -> bool {
        self == Reg::NONE
    }

    pub(crate) fn class(self) -> usize {
        usize::from(self.0 >> 6 & 1)
    }

    pub(crate) fn bit(self) -> u64 {
        1 << (self.0 & 63)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Is the register in the mask of its class?
    pub(crate) fn is_in(self, masks: &Masks) -> bool {
        !self.is_none() && masks[self.class()] & self.bit() != 0
    }
}

/// A set of registers per class.
pub(crate) type Masks = [u64; 2];

/// The members of one class of a set.
pub(crate) fn regs(class: usize, mut mask: u64) -> impl Iterator<Item = Reg> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let rank = mask.trailing_zeros();
            mask &= mask - 1;
            Reg::new(class, rank)
        })
    })
}

/// What an instruction destroys.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Kills {
    pub(crate) lost: Masks,
    pub(crate) partial: Masks,
    kept_bytes: u8,
}

impl Kills {
    /// The registers of a class in which a value of `width` bytes dies.
    pub(crate) fn of(&self, class: usize, width: u8) -> u64 {
        if width > self.kept_bytes { self.lost[class] | self.partial[class] } else { self.lost[class] }
    }

    /// Registers that lose at least a part.
    pub(crate) fn any(&self, class: usize) -> u64 {
        self.lost[class] | self.partial[class]
    }
}

pub(crate) struct Machine {
    /// What `env` and `clobbers` were when the tables were made.
    env: MachineEnv,
    clobbers: Vec<Clobbers>,
    pregs: [PReg; TABLE],
    ranks: [Reg; PReg::COUNT],
    pub(crate) allocatable: Masks,
    pub(crate) callee_saved: Masks,
    kills: Vec<Kills>,
    sets: Vec<Masks>,
}

/// Length of tables by [`Reg::index`]: any will do.
pub(crate) const TABLE: usize = 256;

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            env: MachineEnv::default(),
            clobbers: Vec::new(),
            pregs: [PReg::int(0); TABLE],
            ranks: [Reg::NONE; PReg::COUNT],
            allocatable: [0; 2],
            callee_saved: [0; 2],
            kills: Vec::new(),
            sets: Vec::new(),
        }
    }
}

impl Machine {
    pub(crate) fn costs(&self) -> Costs {
        self.env.costs
    }

    /// One problem after another is for the same machine and has the same kinds of calls, mostly.
    pub(crate) fn build(&mut self, problem: &Problem, env: &MachineEnv) {
        let is_new = self.env != *env;
        if is_new {
            self.env = env.clone();
            self.build_registers();
        }
        let clobbers = problem.all_clobbers().as_values_slice();
        if is_new || self.clobbers != clobbers {
            self.clobbers.clear();
            self.clobbers.extend_from_slice(clobbers);
            self.kills.clear();
            for clobbers in problem.all_clobbers().values() {
                let (lost, partial) = (self.masks(clobbers.lost), self.masks(clobbers.partial));
                self.kills.push(Kills { lost, partial, kept_bytes: clobbers.kept_bytes });
            }
        }
        self.sets.clear();
        for set in problem.all_reg_sets().values() {
            let masks = self.masks(*set);
            self.sets.push(masks);
        }
    }

    fn build_registers(&mut self) {
        self.ranks = [Reg::NONE; PReg::COUNT];
        for class in RegClass::ALL {
            let c = class.index();
            let order = &self.env.class(class).order;
            self.allocatable[c] = 0;
            for (rank, &preg) in order.iter().take(64).enumerate() {
                let reg = Reg::new(c, rank as u32);
                self.ranks[preg.index()] = reg;
                self.pregs[reg.index()] = preg;
                self.allocatable[c] |= reg.bit();
            }
        }
        self.callee_saved = self.masks(self.env.callee_saved());
    }

    fn masks(&self, set: PRegSet) -> Masks {
        let mut masks = [0; 2];
        for reg in set.iter().map(|preg| self.reg(preg)).filter(|reg| !reg.is_none()) {
            masks[reg.class()] |= reg.bit();
        }
        masks
    }

    /// The register's number here, or none if it is not allocatable.
    pub(crate) fn reg(&self, preg: PReg) -> Reg {
        self.ranks[preg.index()]
    }

    pub(crate) fn preg(&self, reg: Reg) -> PReg {
        self.pregs[reg.index()]
    }

    /// A few members of a set: more is never needed to move values past each other.
    pub(crate) fn some_of(&self, masks: Masks) -> PRegSet {
        let some = (0..2).flat_map(|class| regs(class, masks[class]).take(2));
        some.map(|reg| self.preg(reg)).collect()
    }

    pub(crate) fn kills(&self, clobbers: kingpost_regalloc::ClobberId) -> &Kills {
        &self.kills[clobbers.as_u32() as usize]
    }

    /// The registers of a class in which an operand may be.
    pub(crate) fn allowed(&self, operand: Operand, class: usize) -> u64 {
        match operand.constraint() {
            Constraint::Fixed(preg) => match self.reg(preg) {
                reg if reg.is_none() || reg.class() != class => 0,
                reg => reg.bit(),
            },
            Constraint::Within(set) => self.sets[set.as_u32() as usize][class] & self.allocatable[class],
            _ => self.allocatable[class],
        }
    }
}
