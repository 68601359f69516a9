//! What is asked of a problem again and again: which values can be computed anywhere, which instructions take registers
//! from values, which registers there are. Liveness shows it what it passes on its way (`next_use.rs`).

use crate::liveness::reset;
use crate::order::Order;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    ClobberId, Constraint, Inst, InstFlags, MachineEnv, Operand, PReg, PRegSet, Pos, Problem, RegClass, VReg,
};

const NONE: u32 = u32::MAX;

/// An instruction that takes registers: by fixed operands, by clobbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Obstacle {
    pub(crate) place: u32,
    pub(crate) pos: u32,
    /// Registers in which a value that is read by the instruction may not be, but by its own fixed operands.
    pub(crate) early: PRegSet,
    /// Registers in which no value lives through it.
    pub(crate) late: PRegSet,
}

/// Facts of one problem after another.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) allocatable: PRegSet,
    /// Callee-saved registers of both classes.
    pub(crate) callee_saved: PRegSet,
    /// Per place and class, the position of the first instruction through which no register keeps its value, or [`NONE`].
    wipes: Vec<[u32; 2]>,
    /// Per instruction: has it operands that need a certain register or time, or other demands?
    demands: Vec<bool>,
    /// In the order of the walk.
    pub(crate) obstacles: Vec<Obstacle>,
    /// Instructions that copy, in the order of the walk, and their places.
    pub(crate) moves: Vec<(u32, Inst)>,
    /// Per value, the instruction that computes it anywhere, or [`NONE`].
    remat: Vec<u32>,
    /// Values that have one.
    computed: Vec<VReg>,
    /// Per value: does something read it in memory for sure?
    pub(crate) read_in_memory: Vec<bool>,
    /// Per value: does a label name it?
    pub(crate) labelled: Vec<bool>,
    /// Per value, the parameter, result or copy it flows into, or [`NONE`].
    flows: Vec<u32>,
    /// Per value: does one flow into it where it dies?
    is_fed: Vec<bool>,
    /// Per value, the register it is bound to next, as an index, and the number of the instruction that binds it.
    wishes: Vec<(u8, u32)>,
}

const NO_WISH: (u8, u32) = (u8::MAX, 0);

impl Facts {
    pub(crate) fn begin(&mut self, problem: &Problem, env: &MachineEnv, order: &Order) {
        let values = problem.vregs.len();
        self.allocatable = env.allocatable();
        self.callee_saved = env.callee_saved();
        self.obstacles.clear();
        self.moves.clear();
        reset(&mut self.wipes, order.blocks.len(), [NONE; 2]);
        reset(&mut self.is_fed, values, false);
        reset(&mut self.demands, problem.num_insts(), false);
        reset(&mut self.remat, values, NONE);
        reset(&mut self.read_in_memory, values, false);
        reset(&mut self.labelled, values, false);
        reset(&mut self.flows, values, NONE);
        reset(&mut self.wishes, values, NO_WISH);
        for label in &problem.labels {
            self.labelled[label.vreg.index()] = true;
        }
    }

    /// All instructions and edges were seen, backwards, so that wishes travel from fixed operands to definitions.
    pub(crate) fn end(&mut self) {
        self.obstacles.reverse();
        self.moves.reverse();
        // Whoever must be in memory for some operand needs a slot, so that computing it again saves nothing.
        for vreg in self.computed.drain(..) {
            if self.read_in_memory[vreg.index()] {
                self.remat[vreg.index()] = NONE;
            }
        }
    }

    /// Has the instruction clobbers, several tied results, or operands that need a certain register or time?
    pub(crate) fn has_demands(&self, inst: Inst) -> bool {
        self.demands[inst.index()]
    }

    /// The first instruction from `at` on that has such, before `end`.
    pub(crate) fn next_demand(&self, at: u32, end: u32) -> u32 {
        let next = self.demands[at as usize..end as usize].iter().position(|&demands| demands);
        next.map_or(end, |next| at + next as u32)
    }

    /// The instruction that computes the value anywhere.
    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        let inst = self.remat[vreg.index()];
        (inst != NONE).then(|| Inst::from_u32(inst))
    }

    /// Do all registers of a class lose their values in the block at a place, before the instruction at a position?
    pub(crate) fn is_wiped(&self, place: u32, class: RegClass, pos: u32) -> bool {
        self.wipes[place as usize][class.index()] < pos
    }

    /// What the value flows into.
    pub(crate) fn flows_into(&self, vreg: VReg) -> Option<VReg> {
        let to = self.flows[vreg.index()];
        (to != NONE).then(|| VReg::from_u32(to))
    }

    /// The register the value is bound to next, if nothing takes it before, and the number of the instruction.
    pub(crate) fn wish(&self, vreg: VReg) -> Option<(PReg, u32)> {
        let (reg, inst) = self.wishes[vreg.index()];
        (reg != u8::MAX).then(|| (PReg::from_index(usize::from(reg)), inst))
    }

    /// An argument is passed.
    pub(crate) fn flow(&mut self, from: VReg, to: VReg) {
        self.flows[from.index()] = to.as_u32();
        if self.wishes[to.index()] != NO_WISH {
            self.wishes[from.index()] = self.wishes[to.index()];
        }
    }

    /// An instruction that is more than plain operands.
    pub(crate) fn instruction(&mut self, problem: &Problem, inst: Inst, place: u32, pos: u32) {
        let operands = problem.operands(inst);
        let flags = problem.flags(inst);
        let mut obstacle = Obstacle { place, pos, early: PRegSet::EMPTY, late: PRegSet::EMPTY };
        if problem.clobber_id(inst) != ClobberId::NONE {
            let clobbers = problem.clobbers(inst);
            obstacle.late = clobbers.lost.union(clobbers.partial);
            for class in RegClass::ALL {
                if self.allocatable.of_class(class).difference(clobbers.lost).is_empty() {
                    self.wipes[place as usize][class.index()] = pos;
                }
            }
        }
        let mut ties = 0;
        let mut demands = flags.has(InstFlags::SAFEPOINT) || problem.clobber_id(inst) != ClobberId::NONE;
        for &operand in operands {
            demands |= is_demanding(operand, flags);
            ties += u32::from(matches!(operand.constraint(), Constraint::Reuse(_)));
            match operand.constraint() {
                Constraint::Fixed(reg) => self.fixed(&mut obstacle, operand, reg, inst),
                Constraint::Reuse(k) => {
                    if let Some(input) = operands.get(usize::from(k)) {
                        self.flow(input.vreg(), operand.vreg());
                    }
                }
                Constraint::Stack | Constraint::Any => {
                    self.read_in_memory[operand.vreg().index()] |= operand.is_use();
                }
                _ => {}
            }
        }
        self.demands[inst.index()] = demands || ties > 1;
        match operands {
            [a, b] if flags.has(InstFlags::MOVE) => {
                self.moves.push((place, inst));
                let (def, input) = if a.is_def() { (a, b) } else { (b, a) };
                self.flow(input.vreg(), def.vreg());
            }
            [def] if flags.has(InstFlags::REMAT) => {
                self.remat[def.vreg().index()] = inst.as_u32();
                self.computed.push(def.vreg());
            }
            _ => {}
        }
        if !obstacle.early.union(obstacle.late).is_empty() {
            self.obstacles.push(obstacle);
        }
    }

    /// A result goes on where an input that dies leaves off, so that a chain stays in one register. This one does, in the
    /// block that defines it.
    pub(crate) fn flow_from_dying(&mut self, from: VReg, to: VReg) {
        if self.flows[from.index()] == NONE && !std::mem::replace(&mut self.is_fed[to.index()], true) {
            let wish = self.wishes[from.index()];
            self.flow(from, to);
            // Who is read elsewhere before that wishes to be there first.
            if wish != NO_WISH {
                self.wishes[from.index()] = wish;
            }
        }
    }

    fn fixed(&mut self, obstacle: &mut Obstacle, operand: Operand, reg: PReg, inst: Inst) {
        if operand.pos() == Pos::Early {
            obstacle.early.insert(reg);
        }
        if operand.is_def() || operand.pos() == Pos::Late {
            obstacle.late.insert(reg);
        }
        if operand.is_use() {
            self.wishes[operand.vreg().index()] = (reg.index() as u8, inst.as_u32());
        }
    }
}

fn is_demanding(operand: Operand, flags: InstFlags) -> bool {
    match (operand.is_def(), operand.pos(), operand.constraint()) {
        (false, Pos::Early, Constraint::Reg | Constraint::MemOk | Constraint::Any) => false,
        (true, Pos::Late, Constraint::Reg | Constraint::Reuse(_)) => flags.has(InstFlags::BRANCH),
        _ => true,
    }
}
