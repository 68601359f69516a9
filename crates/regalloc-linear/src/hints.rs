//! What is known about values and registers before the walk: the register each value would like, the values it wants to
//! share one with, the instructions that keep registers from values, and what can be computed again.
//!
//! Instructions come backwards (`survey.rs`), so that the wish nearest to a value's definition wins, and wishes travel through
//! moves, tied operands and forward edges: `v1 = move v0` with `v1` wanted in `r3` makes `v0` want `r3`.
//! Cost: linear in operands and edge arguments.

use crate::liveness::Liveness;
use crate::machine::{Machine, Masks, Reg};
use crate::order::{NONE, Order};
use crate::point::Point;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{ClobberId, Constraint, Inst, InstFlags, Operand, Pos, Problem, VReg};

/// An instruction at which registers are taken by fixed operands, lost to clobbers, or useless to references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Obstacle {
    pub(crate) slot: u32,
    pub(crate) clobbers: ClobberId,
    pub(crate) safepoint: bool,
    /// Taken at the early point by fixed operands.
    pub(crate) early: Masks,
    /// Taken at the late point by fixed operands.
    pub(crate) late: Masks,
}

/// One value.
#[derive(Clone, Copy)]
struct Data {
    /// The register of a fixed operand that it flows into, and the slot of that operand.
    wish: (Reg, u32),
    /// The block parameter, tied result or copy it flows into, as a number, or [`NONE`].
    partner: u32,
    /// The instruction that computes it anywhere, or [`NONE`].
    remat: u32,
    /// If it is a block parameter: where it is read first by more than edges that pass it on.
    first_use: Point,
}

/// A value of which nothing is known yet.
const UNKNOWN: Data = Data { wish: (Reg::NONE, 0), partner: NONE, remat: NONE, first_use: Point::FIRST };

/// Wishes and obstacles of one problem.
#[derive(Default)]
pub(crate) struct Hints {
    values: Vec<Data>,
    /// Values that some instruction could compute anywhere.
    pub(crate) remats: Vec<VReg>,
    /// Instructions that copy.
    pub(crate) moves: Vec<Inst>,
    /// Values that must be in a slot for some operand.
    needs_slots: Vec<VReg>,
    /// Ascending by slot.
    pub(crate) obstacles: Vec<Obstacle>,
    /// By obstacle: how often clobbering instructions from it on run, together.
    calls_from: Vec<u64>,
}

impl Hints {
    /// Forgets the former problem.
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.values.clear();
        self.values.resize(problem.vregs.len(), UNKNOWN);
        self.obstacles.clear();
        self.remats.clear();
        self.moves.clear();
        self.needs_slots.clear();
    }

    /// All instructions have come.
    pub(crate) fn finish(&mut self, order: &Order) {
        self.weigh_calls(order);
        self.obstacles.reverse();
        // Whoever must be in memory for some operand needs a slot, so computing it again saves nothing.
        for vreg in &self.needs_slots {
            self.values[vreg.index()].remat = NONE;
        }
    }

    /// The register the value would like and the slot of the operand that wants it there.
    pub(crate) fn wish(&self, vreg: VReg) -> (Reg, u32) {
        self.values[vreg.index()].wish
    }

    pub(crate) fn partner(&self, vreg: VReg) -> Option<VReg> {
        let partner = self.values[vreg.index()].partner;
        (partner != NONE).then(|| VReg::from_u32(partner))
    }

    /// The instruction that computes the value anywhere.
    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        let inst = self.values[vreg.index()].remat;
        (inst != NONE).then(|| Inst::from_u32(inst))
    }

    pub(crate) fn is_remat(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].remat != NONE
    }

    fn weigh_calls(&mut self, order: &Order) {
        let mut sum = 0u64;
        self.calls_from.clear();
        for obstacle in &self.obstacles {
            if obstacle.clobbers != ClobberId::NONE {
                sum = sum.saturating_add(order.freq_at(obstacle.slot));
            }
            self.calls_from.push(sum);
        }
        self.calls_from.reverse();
    }

    /// How often clobbering instructions from the obstacle at `index` on run, together.
    pub(crate) fn calls_from(&self, index: usize) -> u64 {
        self.calls_from.get(index).copied().unwrap_or(0)
    }

    /// An edge passes `arg` to `param`. Blocks come backwards, so that what happens to the parameter further on is known.
    pub(crate) fn passes(&mut self, live: &Liveness, arg: VReg, param: VReg) {
        let first = live.use_at(live.first_index(param));
        let point = first.map_or(Point::FIRST, |first| first.point);
        self.values[param.index()].first_use = match (self.partner(param), first) {
            (Some(next), Some(first)) if next == param && !point.is_early() => {
                live.use_at(first.next).map_or(point, |second| second.point)
            }
            (Some(next), _) if !point.is_early() && live.def(next) > point => self.first_use(next).max(point),
            _ => point,
        };
        self.flows(arg, param);
    }

    /// Where the parameter is read first by more than edges that pass it on.
    pub(crate) fn first_use(&self, param: VReg) -> Point {
        self.values[param.index()].first_use
    }

    fn flows(&mut self, from: VReg, to: VReg) {
        let wish = self.values[to.index()].wish;
        let from = &mut self.values[from.index()];
        from.partner = to.as_u32();
        if !wish.0.is_none() {
            from.wish = wish;
        }
    }

    /// The instruction in `slot`.
    pub(crate) fn instruction(
        &mut self,
        problem: &Problem,
        machine: &Machine,
        inst: Inst,
        slot: u32,
        operands: &[Operand],
    ) {
        let flags = problem.flags(inst);
        let clobbers = problem.clobber_id(inst);
        let safepoint = flags.has(InstFlags::SAFEPOINT);
        let mut obstacle = Obstacle { slot, clobbers, safepoint, early: [0; 2], late: [0; 2] };
        let mut is_obstacle = safepoint || clobbers != ClobberId::NONE;
        for &operand in operands {
            match operand.constraint() {
                Constraint::Fixed(preg) => {
                    is_obstacle = true;
                    self.fixed(&mut obstacle, operand, machine.reg(preg), slot);
                }
                Constraint::Reuse(k) => {
                    if let Some(source) = operands.get(usize::from(k)) {
                        self.flows(source.vreg(), operand.vreg());
                    }
                }
                Constraint::Stack | Constraint::Any => self.needs_slots.push(operand.vreg()),
                Constraint::Reg | Constraint::MemOk | Constraint::Within(_) => {}
            }
        }
        if is_obstacle {
            self.obstacles.push(obstacle);
        }
        match operands {
            [a, b] if flags.has(InstFlags::MOVE) => {
                self.moves.push(inst);
                let (def, source) = if a.is_def() { (a, b) } else { (b, a) };
                if source.fixed_reg().is_none() {
                    self.flows(source.vreg(), def.vreg());
                }
            }
            [def] if flags.has(InstFlags::REMAT) && def.constraint() == Constraint::Reg => {
                self.remats.push(def.vreg());
                self.values[def.vreg().index()].remat = inst.as_u32();
            }
            _ => {}
        }
    }

    fn fixed(&mut self, obstacle: &mut Obstacle, operand: Operand, reg: Reg, slot: u32) {
        if reg.is_none() {
            return;
        }
        if operand.pos() == Pos::Early {
            obstacle.early[reg.class()] |= reg.bit();
        }
        if operand.is_def() || operand.pos() == Pos::Late {
            obstacle.late[reg.class()] |= reg.bit();
        }
        if operand.is_use() {
            self.values[operand.vreg().index()].wish = (reg, slot);
        }
    }
}
