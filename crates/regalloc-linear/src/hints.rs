//! What is known about values and registers before the walk: the register each value would like, the values it wants to
//! share one with, the instructions that keep registers from values, and what can be computed again.
//!
//! One pass backwards over the code, so that the wish nearest to a value's definition wins, and wishes travel through
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

/// Wishes and obstacles of one problem.
#[derive(Default)]
pub(crate) struct Hints {
    /// Per value: the register of a fixed operand that it flows into, and the slot of that operand.
    wish: Vec<(Reg, u32)>,
    /// Per value: the block parameter, tied result or copy it flows into, as a number, or [`NONE`].
    partner: Vec<u32>,
    /// Per value: the instruction that computes it anywhere, or [`NONE`].
    remat: Vec<u32>,
    /// Per block parameter: where it is read first by more than edges that pass it on.
    first_use: Vec<Point>,
    /// Ascending by slot.
    pub(crate) obstacles: Vec<Obstacle>,
    /// By obstacle: how often clobbering instructions from it on run, together.
    calls_from: Vec<u64>,
}

impl Hints {
    pub(crate) fn build(&mut self, problem: &Problem, order: &Order, live: &Liveness, machine: &Machine) {
        let values = problem.vregs.len();
        self.wish.clear();
        self.wish.resize(values, (Reg::NONE, 0));
        self.partner.clear();
        self.partner.resize(values, NONE);
        self.first_use.clear();
        self.first_use.resize(values, Point::FIRST);
        self.remat.clear();
        self.remat.resize(values, NONE);
        self.obstacles.clear();
        for place in order.places.iter().rev() {
            for &edge in problem.succs(place.block) {
                let params = problem.params(problem.edge(edge).to);
                for (&arg, &param) in problem.edge_args(edge).iter().zip(params) {
                    self.passes(live, arg, param);
                }
            }
            for (slot, inst) in (place.head + 1..place.end).zip(problem.insts(place.block)).rev() {
                self.instruction(problem, machine, inst, slot);
            }
        }
        self.weigh_calls(order);
        self.obstacles.reverse();
        // Whoever must be in memory for some operand needs a slot, so computing it again saves nothing.
        for operand in problem.all_operands() {
            if matches!(operand.constraint(), Constraint::Stack | Constraint::Any) {
                self.remat[operand.vreg().index()] = NONE;
            }
        }
    }

    /// The register the value would like and the slot of the operand that wants it there.
    pub(crate) fn wish(&self, vreg: VReg) -> (Reg, u32) {
        self.wish[vreg.index()]
    }

    pub(crate) fn partner(&self, vreg: VReg) -> Option<VReg> {
        let partner = self.partner[vreg.index()];
        (partner != NONE).then(|| VReg::from_u32(partner))
    }

    /// The instruction that computes the value anywhere.
    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        let inst = self.remat[vreg.index()];
        (inst != NONE).then(|| Inst::from_u32(inst))
    }

    pub(crate) fn is_remat(&self, vreg: VReg) -> bool {
        self.remat[vreg.index()] != NONE
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
    fn passes(&mut self, live: &Liveness, arg: VReg, param: VReg) {
        let first = live.uses(param).first().copied().unwrap_or(live.end(param));
        self.first_use[param.index()] = match self.partner(param) {
            Some(next) if !first.is_early() && live.def(next) > first => self.first_use[next.index()].max(first),
            _ => first,
        };
        self.flows(arg, param);
    }

    /// Where the parameter is read first by more than edges that pass it on.
    pub(crate) fn first_use(&self, param: VReg) -> Point {
        self.first_use[param.index()]
    }

    fn flows(&mut self, from: VReg, to: VReg) {
        self.partner[from.index()] = to.as_u32();
        if !self.wish[to.index()].0.is_none() {
            self.wish[from.index()] = self.wish[to.index()];
        }
    }

    fn instruction(&mut self, problem: &Problem, machine: &Machine, inst: Inst, slot: u32) {
        let flags = problem.flags(inst);
        let clobbers = problem.clobber_id(inst);
        let operands = problem.operands(inst);
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
                _ => {}
            }
        }
        if is_obstacle {
            self.obstacles.push(obstacle);
        }
        match operands {
            [a, b] if flags.has(InstFlags::MOVE) => {
                let (def, source) = if a.is_def() { (a, b) } else { (b, a) };
                if source.fixed_reg().is_none() {
                    self.flows(source.vreg(), def.vreg());
                }
            }
            [def] if flags.has(InstFlags::REMAT) && def.constraint() == Constraint::Reg => {
                self.remat[def.vreg().index()] = inst.as_u32();
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
            self.wish[operand.vreg().index()] = (reg, slot);
        }
    }
}
