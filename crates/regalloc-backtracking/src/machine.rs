//! What instructions take from each register, whoever lives there: fixed operands, clobbers, collections.

use crate::live::Segment;
use crate::matching::Matching;
use crate::occupancy::Occupancy;
use crate::order::{EARLY, LATE, NONE, POST, Place};
use crate::scan::Code;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    AllocError, ClobberId, Constraint, Inst, InstFlags, MachineEnv, Operand, PReg, PRegSet, Pos, Problem, RegClass,
    VReg,
};
use std::ops::Range;

/// The registers of a machine, numbered within their class by the order in which they are preferred.
#[derive(Default)]
pub(crate) struct Registers {
    order: [Vec<PReg>; 2],
    number: Vec<u8>,
    /// By class, as masks of these numbers.
    pub(crate) all: [u64; 2],
    pub(crate) callee_saved: [u64; 2],
}

impl Registers {
    fn build(&mut self, env: &MachineEnv) {
        self.number.clear();
        self.number.resize(PReg::COUNT, u8::MAX);
        for class in RegClass::ALL {
            let order = &mut self.order[class.index()];
            order.clone_from(&env.class(class).order);
            for (i, reg) in order.iter().enumerate() {
                self.number[reg.index()] = i as u8;
            }
            self.all[class.index()] = self.mask(class, PRegSet::from_mask(class, u64::MAX));
            self.callee_saved[class.index()] = self.mask(class, env.class(class).callee_saved);
        }
    }

    pub(crate) fn reg(&self, class: RegClass, number: usize) -> PReg {
        self.order[class.index()][number]
    }

    pub(crate) fn number(&self, reg: PReg) -> usize {
        usize::from(self.number[reg.index()])
    }

    /// The registers of a class but for those in a mask of numbers.
    pub(crate) fn free(&self, class: RegClass, taken: u64) -> PRegSet {
        let (order, mut rest) = (&self.order[class.index()], self.all[class.index()] & !taken);
        let mut free = PRegSet::EMPTY;
        while rest != 0 {
            free.insert(order[rest.trailing_zeros() as usize]);
            rest &= rest - 1;
        }
        free
    }

    /// The allocatable members of a set as a mask of their numbers.
    pub(crate) fn mask(&self, class: RegClass, set: PRegSet) -> u64 {
        let order = self.order[class.index()].iter().enumerate();
        order.filter(|&(_, &reg)| set.contains(reg)).fold(0, |mask, (i, _)| mask | 1 << i)
    }
}

/// The operand is in whatever place its value is in.
pub(crate) const ANYWHERE: u8 = u8::MAX;
/// The operand is in a slot, or where a result is that takes over its register, or on an edge.
pub(crate) const ELSEWHERE: u8 = u8::MAX - 1;

/// What instructions take.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) registers: Registers,
    /// Points at which all registers but the callee-saved ones are lost.
    walls: Vec<u32>,
    /// By slot, if there are walls: how many come before it.
    walls_before: Vec<u32>,
    /// Points at which references that live on must be in memory.
    safepoints: Vec<u32>,
    /// Points at which wide values die in registers in which narrow ones survive.
    partial: Vec<(u32, ClobberId)>,
    is_plain: bool,
    /// By clobber: masks of what is lost of each class.
    lost: Vec<[u64; 2]>,
    /// By operand: its register once that is fixed, or [`ANYWHERE`], or [`ELSEWHERE`].
    pub(crate) binding: Vec<u8>,
    /// Instructions that are moves.
    pub(crate) moves: Vec<Inst>,
    forced: Vec<bool>,
    /// Is there an instruction whose operands are all fixed?
    pub(crate) has_forced: bool,
    matching: Matching,
}

impl Machine {
    /// Empties it for a walk over a problem.
    pub(crate) fn begin(&mut self, problem: &Problem, env: &MachineEnv) {
        self.registers.build(env);
        self.walls.clear();
        self.walls_before.clear();
        self.safepoints.clear();
        self.partial.clear();
        self.lost.clear();
        let masks = |set| RegClass::ALL.map(|class| self.registers.mask(class, set));
        self.lost.extend(problem.all_clobbers().values().map(|clobbers| masks(clobbers.lost)));
        self.binding.clear();
        self.binding.resize(problem.num_operands(), ANYWHERE);
        self.moves.clear();
        self.has_forced = false;
        self.forced.clear();
        self.forced.resize(problem.num_insts(), false);
    }

    /// Completes what the walk found.
    pub(crate) fn finish(&mut self, problem: &Problem, slots: usize) {
        self.is_plain =
            self.partial.is_empty() && (self.safepoints.is_empty() || problem.vregs.values().all(|data| !data.is_ref));
        for (i, wall) in self.walls.iter().enumerate() {
            self.walls_before.resize((wall / 4) as usize + 1, i as u32);
        }
        if !self.walls.is_empty() {
            self.walls_before.resize(slots, self.walls.len() as u32);
        }
    }

    /// Notes what an instruction destroys, and collections.
    pub(crate) fn clobber(
        &mut self,
        problem: &Problem,
        code: &Code<'_>,
        clobber: ClobberId,
        occupancy: &mut [Occupancy; 2],
    ) {
        let point = code.at + LATE;
        if code.flags.has(InstFlags::SAFEPOINT) {
            self.safepoints.push(point);
        }
        if clobber == ClobberId::NONE {
            return;
        }
        let mut lost = self.lost[clobber.index()];
        for class in 0..2 {
            occupancy[class].fix(point, lost[class]);
        }
        for operand in code.operands.iter().filter(|operand| operand.is_def()) {
            if let Some(reg) = operand.fixed_reg() {
                lost[reg.class().index()] |= 1 << self.registers.number(reg);
            }
        }
        let registers = &self.registers;
        if (0..2).all(|class| registers.all[class] & !registers.callee_saved[class] & !lost[class] == 0) {
            self.walls.push(point);
        }
        if !problem.clobbers(code.inst).partial.is_empty() {
            self.partial.push((point, clobber));
        }
    }

    /// Notes which operands are not simply where their values are.
    pub(crate) fn operands(&mut self, problem: &Problem, code: &Code<'_>, occupancy: &mut [Occupancy; 2]) {
        if code.flags.has(InstFlags::MOVE) {
            self.moves.push(code.inst);
        }
        for (k, operand) in (code.first..).zip(code.operands) {
            match operand.constraint() {
                Constraint::Reg | Constraint::Within(_) | Constraint::MemOk | Constraint::Any => {}
                Constraint::Stack => self.binding[k] = ELSEWHERE,
                Constraint::Reuse(input) => {
                    for k in [k, code.first + usize::from(input)] {
                        if self.binding[k] == ANYWHERE {
                            self.binding[k] = ELSEWHERE;
                        }
                    }
                }
                Constraint::Fixed(reg) => {
                    let bit = 1 << self.registers.number(reg);
                    let occupancy = &mut occupancy[reg.class().index()];
                    let take = |points: Range<u32>| points.for_each(|point| occupancy.fix(point, bit));
                    self.fix(problem, code.inst, code.at, k, reg, take);
                }
            }
        }
    }

    /// Fixes the operands of a branch that has results.
    pub(crate) fn branch(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        place: &Place,
        occupancy: &mut [Occupancy; 2],
        edge_of: impl Fn(VReg) -> u32,
    ) -> Result<(), AllocError> {
        let term = problem.terminator(place.block);
        let mut has_results = false;
        for (k, operand) in problem.operand_range(term).zip(problem.operands(term)) {
            if operand.is_def() && edge_of(operand.vreg()) != NONE {
                has_results = true;
                if self.binding[k] == ANYWHERE {
                    self.binding[k] = ELSEWHERE;
                }
            }
        }
        if !has_results {
            return Ok(());
        }
        self.force(problem, env, term, place.stop() - 4, &edge_of, |class, number, points| {
            points.for_each(|point| occupancy[class].fix(point, 1 << number));
        })
    }

    /// Reserves the register of an operand, and for a use of the def that takes it over too.
    fn fix(&mut self, problem: &Problem, inst: Inst, at: u32, k: usize, reg: PReg, mut take: impl FnMut(Range<u32>)) {
        let operand = problem.all_operands()[k];
        if matches!(operand.constraint(), Constraint::Reuse(_)) {
            return;
        }
        self.binding[k] = reg.index() as u8;
        take(reserved(operand, at));
        let range = problem.operand_range(inst);
        let tied = |d: &usize| problem.all_operands()[*d].constraint() == Constraint::Reuse((k - range.start) as u8);
        if let Some(d) = range.clone().find(tied) {
            take(at + LATE..at + POST);
            self.binding[d] = reg.index() as u8;
        }
    }

    /// The register that an operand is fixed to by now.
    pub(crate) fn fixed(&self, k: usize) -> Option<PReg> {
        let binding = self.binding[k];
        (binding < ELSEWHERE).then(|| PReg::from_index(usize::from(binding)))
    }

    pub(crate) fn is_forced(&self, inst: Inst) -> bool {
        self.forced[inst.index()]
    }

    /// Fixes all operands of an instruction that need registers; `take` hears of each register, by class and number, and
    /// over which points the instruction has it from now on.
    pub(crate) fn force(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        at: u32,
        edge_of: impl Fn(VReg) -> u32,
        mut take: impl FnMut(usize, usize, Range<u32>),
    ) -> Result<(), AllocError> {
        self.forced[inst.index()] = true;
        self.has_forced = true;
        let mut matching = std::mem::take(&mut self.matching);
        let result = matching.solve(problem, env, inst, edge_of);
        if result.is_ok() {
            let range = problem.operand_range(inst);
            for k in range.clone() {
                if let (None, Some(reg)) = (self.fixed(k), matching.reg(k - range.start)) {
                    let number = self.registers.number(reg);
                    self.fix(problem, inst, at, k, reg, |points| take(reg.class().index(), number, points));
                }
            }
        }
        self.matching = matching;
        result
    }

    /// How many walls come before a point: between two points of one segment with different answers all registers but
    /// the callee-saved ones are lost.
    pub(crate) fn walls_before(&self, point: u32) -> u32 {
        if self.walls.is_empty() {
            return 0;
        }
        let before = self.walls_before[(point / 4) as usize];
        before + u32::from(self.walls.get(before as usize).is_some_and(|&wall| wall < point))
    }

    /// Is something that lives over these points, the end excluded, over a wall?
    pub(crate) fn has_wall(&self, from: u32, to: u32) -> bool {
        !self.walls.is_empty() && self.walls_before(from) != self.walls_before(to - 1)
    }

    /// The point of a wall, or the last point of all.
    pub(crate) fn wall(&self, index: u32) -> u32 {
        self.walls.get(index as usize).copied().unwrap_or(u32::MAX)
    }

    /// Registers in which the segment cannot be although they are not marked: those that keep only narrow values, and
    /// for references at safepoints all.
    pub(crate) fn lost(&self, problem: &Problem, segment: Segment) -> u64 {
        let class = problem.class(segment.vreg);
        let data = problem.vregs[segment.vreg];
        if data.is_ref && self.safepoints(segment).next().is_some() {
            return self.registers.all[class.index()];
        }
        let start = self.partial.partition_point(|&(point, _)| point < segment.from);
        let inside = self.partial[start..].iter().take_while(|&&(point, _)| point < segment.to);
        let killed = inside.map(|&(_, id)| problem.all_clobbers()[id].killed(data.width));
        killed.fold(0, |mask, set| mask | self.registers.mask(class, set))
    }

    /// May [`Machine::lost`] have anything to say?
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The first place after the safepoint before a point, and the safepoint after it.
    pub(crate) fn between_safepoints(&self, point: u32) -> (u32, u32) {
        let next = self.safepoints.partition_point(|&safepoint| safepoint < point);
        let low = if next == 0 { 0 } else { self.safepoints[next - 1] / 4 * 4 + 4 };
        (low, self.safepoints.get(next).copied().unwrap_or(u32::MAX))
    }

    /// Safepoints in the segment, by point.
    pub(crate) fn safepoints(&self, segment: Segment) -> impl Iterator<Item = u32> + '_ {
        let start = self.safepoints.partition_point(|&point| point <= segment.from);
        self.safepoints[start..].iter().take_while(move |&&point| point + 1 < segment.to).copied()
    }
}

/// The points at which an operand of the instruction at `at` has a register for itself.
pub(crate) fn reserved(operand: Operand, at: u32) -> Range<u32> {
    let from = at + if operand.is_use() || operand.pos() == Pos::Early { EARLY } else { LATE };
    let to = at + if operand.is_def() || operand.pos() == Pos::Late { POST } else { LATE };
    from..to
}
