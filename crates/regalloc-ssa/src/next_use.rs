//! One walk over all operands, backwards: what follows each in its own block, and what blocks read from outside.
//!
//! ```text
//! b1: v1 = add v0      read from outside: v0, first by the add. What follows v0 here is the load;
//!     v2 = load v0     what follows the load's v0 is open until the blocks behind this one are known
//! ```

use crate::constraints::Constraints;
use crate::liveness::{AWAY, HEAD, Liveness, Next, reset, scaled};
use crate::order::Order;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, ClobberId, Constraint, Edge, InstFlags, Operand, Pos, Problem, VReg};

pub(crate) const NONE: u32 = u32::MAX;

/// What a block reads from outside, or of its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) place: u32,
    /// The point of the last use.
    pub(crate) end: u32,
    /// The first use; dead if only an edge reads the value.
    pub(crate) next: Next,
    /// Index of the operand that uses it last, or [`NONE`].
    pub(crate) open: u32,
    /// Index of the value's use in a later block, or [`NONE`].
    pub(crate) later: u32,
}

/// An edge reads a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    pub(crate) param: VReg,
    pub(crate) from: u32,
    pub(crate) edge: EdgeDistance,
    /// Index of another edge that reads the value, or [`NONE`].
    pub(crate) other: u32,
}

/// The distance from the head of a block over one of its edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeDistance {
    /// Instructions of the block.
    pub(crate) len: u32,
    /// How much farther away than that what is used behind the edge is.
    pub(crate) farther: u32,
    /// How often it is taken.
    pub(crate) freq: u32,
}

impl EdgeDistance {
    pub(crate) fn new(problem: &Problem, edge: Edge) -> EdgeDistance {
        let data = problem.edge(edge);
        let away = problem.freq(data.to).0.saturating_mul(3) < problem.freq(data.from).0;
        let len = problem.insts(data.from).len() as u32;
        EdgeDistance { len, farther: if away { AWAY } else { 0 }, freq: scaled(data.freq) }
    }
}

/// What is known of a value in the block at hand.
#[derive(Clone, Copy)]
struct Seen {
    /// The block for which it holds.
    place: u32,
    /// The point of the last use, its operand, and what its instruction defines, or [`NONE`].
    last: u32,
    open: u32,
    result: u32,
    next: Next,
}

const NEW: Seen = Seen { place: NONE, last: HEAD, open: NONE, result: NONE, next: Next::DEAD };

/// Where a value is used.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    /// The first block that uses it, or [`NONE`].
    pub(crate) first: u32,
    /// Some edge that does, or [`NONE`].
    pub(crate) pass: u32,
    /// If an operand defines it, the one that uses it last in its own block, or that one.
    pub(crate) open: u32,
}

/// The instruction at hand.
#[derive(Clone, Copy)]
struct At {
    pos: u32,
    place: u32,
    /// The freq of the block.
    here: u32,
    /// What it defines in any register, or [`NONE`].
    result: u32,
}

/// What blocks do with values.
#[derive(Default)]
pub(crate) struct Uses {
    /// Per value.
    pub(crate) chains: Vec<Chain>,
    pub(crate) all: Vec<Use>,
    pub(crate) passes: Vec<Pass>,
    /// Values in the order in which they end before others begin.
    pub(crate) defs: Vec<VReg>,
    seen: Vec<Seen>,
    /// Values that the block at hand reads.
    read: Vec<VReg>,
}

impl Uses {
    fn begin(&mut self, values: usize) {
        reset(&mut self.chains, values, Chain { first: NONE, pass: NONE, open: NONE });
        self.all.clear();
        self.passes.clear();
        self.defs.clear();
        reset(&mut self.seen, values, NEW);
    }

    /// The value as the block at a place knows it so far.
    #[inline]
    fn seen(&mut self, vreg: VReg, place: u32) -> &mut Seen {
        let seen = &mut self.seen[vreg.index()];
        if seen.place != place {
            *seen = Seen { place, ..NEW };
        }
        seen
    }

    /// An edge out of the block reads the value.
    fn pass(&mut self, vreg: VReg, param: VReg, from: u32, edge: EdgeDistance) {
        self.seen(vreg, from);
        self.read.push(vreg);
        let pass = &mut self.chains[vreg.index()].pass;
        self.passes.push(Pass { param, from, edge, other: *pass });
        *pass = self.passes.len() as u32 - 1;
    }

    /// The head of the block is reached: what it reads and has not defined comes from outside.
    fn close(&mut self, place: u32) {
        for vreg in self.read.drain(..) {
            let seen = &mut self.seen[vreg.index()];
            if seen.place == place {
                seen.place = NONE;
                let first = &mut self.chains[vreg.index()].first;
                self.all.push(Use { place, end: seen.last, next: seen.next, open: seen.open, later: *first });
                *first = self.all.len() as u32 - 1;
            }
        }
    }
}

impl Liveness {
    /// Walks over all operands, and shows constraints what has any.
    pub(crate) fn find_uses(&mut self, problem: &Problem, order: &Order, constraints: &mut Constraints) {
        let values = problem.vregs.len();
        reset(&mut self.def_place, values, NONE);
        reset(&mut self.def_point, values, HEAD);
        reset(&mut self.def_end, values, 0);
        reset(&mut self.after, problem.num_operands(), Next::DEAD);
        self.uses.begin(values);
        for (place, &block) in order.blocks.iter().enumerate().rev() {
            self.find_uses_in(problem, block, place as u32, constraints);
        }
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                let place = order.place(problem.edge(edge).to);
                (self.def_place[vreg.index()], self.def_point[vreg.index()]) = (place, HEAD);
            }
        }
        constraints.end();
    }

    fn find_uses_in(&mut self, problem: &Problem, block: Block, place: u32, constraints: &mut Constraints) {
        for &edge in problem.succs(block) {
            let args = problem.edge_args(edge);
            if !args.is_empty() {
                let distance = EdgeDistance::new(problem, edge);
                for (&arg, &param) in args.iter().zip(problem.params(problem.edge(edge).to)) {
                    constraints.flow(arg, param);
                    self.uses.pass(arg, param, place, distance);
                }
            }
        }
        let here = scaled(problem.freq(block));
        for (pos, inst) in problem.insts(block).enumerate().rev() {
            let range = problem.operand_range(inst);
            let operands = &problem.all_operands()[range.clone()];
            let (flags, clobbers) = (problem.flags(inst), problem.clobber_id(inst));
            let (mut is_plain, mut defines, mut result) = (true, false, NONE);
            for operand in operands {
                is_plain &= operand.is_plain();
                if operand.is_def() {
                    defines = true;
                    let goes_on = operand.constraint() == Constraint::Reg && !flags.has(InstFlags::BRANCH);
                    result = if goes_on { operand.vreg().as_u32() } else { result };
                }
            }
            for (i, &operand) in range.zip(operands).rev() {
                let at = At { pos: pos as u32, place, here, result };
                self.operand(problem, operand, i, at, constraints);
            }
            let is_usual = flags == InstFlags::NONE || flags == InstFlags::BRANCH && !defines;
            if !(is_plain && is_usual && clobbers == ClobberId::NONE) {
                constraints.instruction(problem, inst, place, pos as u32);
            }
        }
        for &param in problem.params(block) {
            self.def_place[param.index()] = place;
            self.uses.defs.push(param);
            let result = self.uses.seen(param, place).result;
            self.link(problem, param, result, constraints);
        }
        self.uses.close(place);
    }

    #[inline]
    fn operand(&mut self, problem: &Problem, operand: Operand, i: usize, at: At, constraints: &mut Constraints) {
        let At { pos, place, here, result } = at;
        let vreg = operand.vreg();
        let v = vreg.index();
        let at = point(pos, operand.pos());
        let seen = self.uses.seen(vreg, place);
        let next = seen.next;
        if next.is_dead() {
            seen.open = i as u32;
        } else {
            self.after[i] = next;
        }
        if operand.is_def() {
            seen.place = NONE;
            (self.def_place[v], self.def_point[v]) = (place, at);
            self.def_end[v] = if next.is_dead() { point(pos, Pos::Late) } else { seen.last };
            let Seen { open, result, .. } = *seen;
            self.uses.chains[v].open = open;
            self.link(problem, vreg, result, constraints);
            self.uses.defs.push(vreg);
            return;
        }
        seen.next = Next { distance: pos, freq: if operand.is_plain() { here } else { use_freq(operand, here) } };
        if next.is_dead() {
            seen.last = at;
            seen.result = result;
            self.uses.read.push(vreg);
        } else if seen.last == at.wrapping_sub(1) && operand.pos() == Pos::Late {
            seen.last = at;
        }
    }

    /// A value that its own block alone uses may go on in what the instruction defines that uses it last.
    #[inline]
    fn link(&mut self, problem: &Problem, vreg: VReg, result: u32, constraints: &mut Constraints) {
        let Chain { first, pass, .. } = self.uses.chains[vreg.index()];
        if result != NONE && first == NONE && pass == NONE {
            let result = VReg::from_u32(result);
            if problem.class(vreg) == problem.class(result) {
                constraints.flow_from_dying(vreg, result);
            }
        }
    }
}

/// The point before (early) or after (late) the instruction at a position, among the points of its block.
fn point(pos: u32, at: Pos) -> u32 {
    1 + 2 * pos + u32::from(at == Pos::Late)
}

/// An operand that may be in memory spares half of the load.
fn use_freq(operand: Operand, here: u32) -> u32 {
    match operand.constraint() {
        Constraint::MemOk => (here / 2).max(1),
        Constraint::Any | Constraint::Stack => 1,
        _ => here,
    }
}
