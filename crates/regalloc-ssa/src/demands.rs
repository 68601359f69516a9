//! The registers that one instruction needs, for its operands and for the values that live through it.
//!
//! Spilling tests whether there are enough registers, and evicts values until there are. Coloring chooses the best
//! ones, value by value. If it reaches a dead end, it solves the problem that spilling has solved before.

use crate::constraints::Constraints;
use crate::liveness::Liveness;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    AllocError, Clobbers, Constraint, Edge, Inst, InstFlags, MachineEnv, Operand, PReg, PRegSet, Pos, Problem,
    RegClass, VReg,
};
use kingpost_regalloc_common::matching::{self, Points};
use kingpost_regalloc_common::order::LinearOrder;

/// The registers that suit a value, computed once for all registers.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Hints {
    /// Hint of its class.
    pub(crate) class: Option<PReg>,
    /// Register of its next fixed operand.
    pub(crate) fixed: Option<PReg>,
    /// Hint of the class of the value it flows into.
    pub(crate) flow: Option<PReg>,
    /// Registers that are taken from the value while it is in this block.
    pub(crate) bad: PRegSet,
}

pub(crate) type Matching = matching::Matching<Hints>;
pub(crate) type Request = matching::Request<Hints>;

/// Location of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Site {
    Memory,
    Register,
    /// The location of the operand that it overwrites.
    SameAs(u8),
}

/// The demands of an instruction.
#[derive(Clone, Copy)]
pub(crate) struct Demands<'a> {
    pub(crate) problem: &'a Problem,
    order: &'a LinearOrder,
    live: &'a Liveness,
    allocatable: PRegSet,
    /// Registers that do not preserve the widest value of the problem.
    lost: PRegSet,
    pub(crate) inst: Inst,
    pub(crate) operands: &'a [Operand],
    pub(crate) clobbers: &'a Clobbers,
    has_reuse: bool,
    is_branch: bool,
}

/// Predicates on the values around the instruction.
pub(crate) struct Around<'a> {
    /// Whether the value is in a register when the instruction reads it.
    pub(crate) is_read_in_register: &'a dyn Fn(VReg) -> bool,
    /// Whether operands that may be in memory read the value there, independently of its other operands.
    pub(crate) is_read_in_memory: &'a dyn Fn(VReg) -> bool,
    /// Whether the value is in a register after the instruction.
    pub(crate) lives_on: &'a dyn Fn(VReg) -> bool,
    /// Whether the definition begins in memory.
    pub(crate) begins_in_memory: &'a dyn Fn(VReg) -> bool,
}

impl<'a> Demands<'a> {
    pub(crate) fn new(
        problem: &'a Problem,
        (order, live): (&'a LinearOrder, &'a Liveness),
        constraints: &Constraints,
        inst: Inst,
    ) -> Demands<'a> {
        let operands = problem.operands(inst);
        Demands {
            problem,
            order,
            live,
            allocatable: constraints.allocatable,
            lost: problem.clobbers(inst).killed(constraints.widest),
            inst,
            operands,
            clobbers: problem.clobbers(inst),
            has_reuse: operands.iter().any(|operand| operand.reused().is_some()),
            is_branch: problem.flags(inst).has(InstFlags::BRANCH),
        }
    }

    /// Returns the registers that do not preserve the value.
    pub(crate) fn killed(&self, vreg: VReg) -> PRegSet {
        self.clobbers.killed(self.problem.width(vreg))
    }

    /// Returns the allocatable registers of the value's class.
    pub(crate) fn allocatable(&self, vreg: VReg) -> PRegSet {
        self.allocatable.of_class(self.problem.class(vreg))
    }

    /// Returns the definition that overwrites an operand.
    pub(crate) fn reuser(&self, i: usize) -> Option<Operand> {
        let reuses = |def: &&Operand| def.reused() == Some(i as u8);
        if self.has_reuse { self.operands.iter().find(reuses).copied() } else { None }
    }

    pub(crate) fn site(&self, i: usize, around: &Around) -> Site {
        let operand = self.operands[i];
        if let Some(k) = operand.reused() {
            return Site::SameAs(k);
        }
        if let Some(def) = self.reuser(i).filter(|def| def.is_rmw())
            && (around.begins_in_memory)(def.vreg())
        {
            return Site::Memory;
        }
        match operand.constraint() {
            Constraint::Stack => Site::Memory,
            Constraint::MemOk | Constraint::Any => {
                let in_register = match operand.is_use() {
                    true if self.reuser(i).is_none() && (around.is_read_in_memory)(operand.vreg()) => false,
                    true => (around.is_read_in_register)(operand.vreg()),
                    false => !(around.begins_in_memory)(operand.vreg()),
                };
                if in_register { Site::Register } else { Site::Memory }
            }
            _ => Site::Register,
        }
    }

    /// Returns the request of an operand in a register. If the value lives on and its operand is unconstrained, it
    /// keeps this register after the instruction.
    ///
    /// # Errors
    /// If no register satisfies the constraint.
    pub(crate) fn request(&self, i: usize, lives_on: bool) -> Result<Request, AllocError> {
        let operand = self.operands[i];
        let reuser = self.reuser(i);
        let mut request = Request::new(self.problem, self.allocatable, self.inst, operand, reuser)?;
        let is_anywhere = matches!(operand.constraint(), Constraint::Reg | Constraint::MemOk | Constraint::Any);
        if operand.is_use() && lives_on && is_anywhere && reuser.is_none() {
            request.points = Points::BOTH;
            request.allowed = request.allowed.difference(self.killed(operand.vreg()));
        }
        if self.is_branch && operand.is_def() {
            request.edge = self.edge_of(operand.vreg());
        }
        Ok(request)
    }

    /// Returns the request of a value that lives through the instruction.
    fn request_through(&self, vreg: VReg) -> Request {
        Request {
            vreg,
            class: self.problem.class(vreg),
            allowed: self.allocatable(vreg).difference(self.killed(vreg)),
            points: Points::BOTH,
            is_use: true,
            is_written: false,
            edge: None,
            hint: Hints::default(),
            reg: None,
        }
    }

    /// Returns the edge on which a result of the branch exists. It is the only edge into the block at whose head
    /// the result begins.
    fn edge_of(&self, vreg: VReg) -> Option<Edge> {
        let begins = self.live.defs[vreg.index()].point.is_before();
        let target = self.order.block(self.live.defs[vreg.index()].block).block;
        self.problem.preds(target).first().copied().filter(|_| begins)
    }

    /// Requests registers for all operands, and for the values in `through`, which are sorted and live through the
    /// instruction in registers. The requests depend on no other state. `sites` receives the places of the operands
    /// and the numbers of their requests.
    ///
    /// # Errors
    /// If no register satisfies one of them.
    pub(crate) fn request_all(
        &self,
        matching: &mut Matching,
        around: &Around,
        sites: &mut Vec<(Site, u32)>,
        through: &[VReg],
    ) -> Result<(), AllocError> {
        matching.clear();
        sites.clear();
        sites.extend((0..self.operands.len()).map(|i| (self.site(i, around), 0)));
        for (i, (_, number)) in sites.iter_mut().enumerate().filter(|(_, site)| site.0 == Site::Register) {
            let mut request = self.request(i, (around.lives_on)(self.operands[i].vreg()))?;
            if self.keeps(i, around) {
                // A fixed register that is not lost keeps its value.
                request.points = Points::BOTH;
            }
            *number = matching.add(self.inst, request)?;
        }
        for &vreg in through {
            if !matching.requests().iter().any(|request| carries(request, vreg)) {
                matching.add(self.inst, self.request_through(vreg))?;
            }
        }
        Ok(())
    }

    /// Finds registers for all requests.
    ///
    /// # Errors
    /// If there are none, or the search for them is too long.
    pub(crate) fn solve(&self, matching: &mut Matching, env: &MachineEnv) -> Result<(), AllocError> {
        matching.solve(env, self.inst, |_, _| 0)
    }

    /// Returns `true` if a fixed use leaves its value, which lives on, in its register.
    fn keeps(&self, i: usize, around: &Around) -> bool {
        let operand = self.operands[i];
        let Some(reg) = operand.fixed_reg().filter(|_| operand.is_use() && self.reuser(i).is_none()) else {
            return false;
        };
        let is_result = |other: &Operand| {
            other.fixed_reg() == Some(reg)
                && (other.is_def() || other.pos() == Pos::Late && other.vreg() != operand.vreg())
        };
        (around.lives_on)(operand.vreg())
            && !self.killed(operand.vreg()).contains(reg)
            && !self.operands.iter().any(is_result)
    }

    /// Returns `true` if the counts alone show that there are enough registers. `open` are the usable registers,
    /// `through` the number of values per class that live through.
    pub(crate) fn fits_by_count(&self, open: PRegSet, around: &Around, through: [usize; 2]) -> bool {
        let lost = self.lost;
        let (mut early, mut late) = (PRegSet::EMPTY, PRegSet::EMPTY);
        let mut needed = through;
        for (i, &operand) in self.operands.iter().enumerate() {
            let vreg = operand.vreg();
            match (operand.constraint(), operand.is_def(), operand.pos()) {
                (Constraint::Fixed(reg), false, Pos::Early) if self.reuser(i).is_none() => {
                    if early.contains(reg) {
                        return false;
                    }
                    early.insert(reg);
                }
                (Constraint::Fixed(reg), true, Pos::Late) => {
                    if late.contains(reg) || lost.contains(reg) {
                        return false;
                    }
                    late.insert(reg);
                }
                (Constraint::Fixed(_) | Constraint::Within(_), ..) => return false,
                _ => {
                    let carries = operand.is_use() && (around.lives_on)(vreg) && self.reuser(i).is_none();
                    let counts = !carries && self.site(i, around) == Site::Register;
                    needed[self.problem.class(vreg).index()] += usize::from(counts);
                }
            }
        }
        let fixed = early.union(late);
        let left = open.difference(lost).difference(fixed);
        fixed.difference(self.allocatable).is_empty()
            && RegClass::ALL.into_iter().all(|class| needed[class.index()] <= left.of_class(class).len())
    }
}

/// Returns `true` if a request keeps the value in one register before and after the instruction.
pub(crate) fn carries(request: &Request, vreg: VReg) -> bool {
    request.vreg == vreg && request.is_use && request.points.late() && !request.is_written
}
