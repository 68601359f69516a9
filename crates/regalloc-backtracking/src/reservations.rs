//! Registers that instructions reserve independently of bundles: fixed operands, clobbers, safepoints.
//!
//! ```text
//! i3: use v0 = r1, clobbers {r0, r1}       r1 from 3e on, r0 and r1 at 3l
//! ```
//!
//! A call point is a point at which all registers of a class but the callee-saved ones are clobbered. A table has the number
//! of call points before each point, so that two lookups determine whether a segment is live across a call.

use crate::code::Code;
use crate::interference::Interference;
use crate::liveness::{Liveness, Segment};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{
    AllocError, ClobberId, Constraint, Inst, InstFlags, MachineEnv, Operand, PReg, PRegSet, Pos, Problem,
};
use kingpost_regalloc_common::matching::{Matching, Request, needs_register, tied_def};
use kingpost_regalloc_common::order::OrderedBlock;
use kingpost_regalloc_common::point::{PointRange, Position, ProgPoint};
use kingpost_regalloc_common::preference::{Reg, Registers};

/// Location of an operand, as far as it is known before its value has a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Binding(u8);

impl Binding {
    /// The location of its value.
    pub(crate) const WITH_VALUE: Binding = Binding(u8::MAX);
    /// In a slot, with the result that takes its register over, or on an edge.
    const APART: Binding = Binding(u8::MAX - 1);

    /// Returns the binding to a register.
    fn fixed(reg: PReg) -> Binding {
        Binding(reg.index() as u8)
    }

    /// Returns the register.
    fn reg(self) -> Option<PReg> {
        (self.0 < Binding::APART.0).then(|| PReg::from_index(usize::from(self.0)))
    }
}

/// No request for a register.
const NO_REQUEST: u32 = u32::MAX;

/// Registers that instructions reserve.
#[derive(Default)]
pub(crate) struct Reservations {
    pub(crate) registers: Registers,
    call_points: Vec<ProgPoint>,
    /// By position, if there are call points: the number of call points before it.
    calls_before: Vec<u32>,
    /// Points at which references that live through must be in memory.
    safepoints: Vec<ProgPoint>,
    /// Points at which wide values are lost in registers in which narrow ones survive.
    partial: Vec<(ProgPoint, ClobberId)>,
    /// Whether there are neither such points nor references that meet safepoints.
    is_plain: bool,
    bindings: Vec<Binding>,
    /// Instructions that are moves.
    pub(crate) moves: Vec<Inst>,
    is_matched: Vec<bool>,
    /// Whether a matching has assigned some instruction.
    pub(crate) has_matched: bool,
    allocatable: PRegSet,
    matching: Matching,
    /// By operand of the current instruction: the number of its request.
    requests: Vec<u32>,
}

heap_bytes!(Reservations { registers, call_points, calls_before, safepoints, partial, bindings, moves, is_matched, matching, requests } without { is_plain, has_matched, allocatable });

/// Collection of reservations.
impl Reservations {
    /// Clears the state for a walk over a problem.
    pub(crate) fn begin(&mut self, problem: &Problem, env: &MachineEnv) {
        self.registers.build(problem, env);
        self.call_points.clear();
        self.calls_before.clear();
        self.safepoints.clear();
        self.partial.clear();
        self.bindings.clear();
        self.bindings.resize(problem.num_operands(), Binding::WITH_VALUE);
        self.moves.clear();
        self.has_matched = false;
        self.is_matched.clear();
        self.is_matched.resize(problem.num_insts(), false);
        self.allocatable = env.allocatable();
        self.matching.begin(problem);
    }

    /// Completes the tables after the walk.
    pub(crate) fn finish(&mut self, problem: &Problem, positions: usize) {
        self.is_plain =
            self.partial.is_empty() && (self.safepoints.is_empty() || problem.vregs.values().all(|data| !data.is_ref));
        for (call, before) in self.call_points.iter().zip(0..) {
            self.calls_before.resize(call.position().index() + 1, before);
        }
        if !self.call_points.is_empty() {
            self.calls_before.resize(positions, self.call_points.len() as u32);
        }
    }

    /// Records the clobbers of an instruction, and whether it is a safepoint.
    pub(crate) fn clobber(
        &mut self,
        problem: &Problem,
        code: &Code<'_>,
        clobber: ClobberId,
        interference: &mut [Interference; 2],
    ) {
        let point = ProgPoint::late(code.at);
        if code.flags.has(InstFlags::SAFEPOINT) {
            self.safepoints.push(point);
        }
        if clobber == ClobberId::NONE {
            return;
        }
        let mut lost = self.registers.clobbered(clobber).lost;
        for class in 0..2 {
            interference[class].reserve(point, lost[class]);
        }
        for operand in code.operands.iter().filter(|operand| operand.is_def()) {
            if let Some(reg) = operand.fixed_reg() {
                lost[reg.class().index()] |= self.registers.reg(reg).bit();
            }
        }
        let others = |class: usize| self.registers.allocatable[class] & !self.registers.callee_saved[class];
        if (0..2).any(|class| others(class) != 0 && others(class) & !lost[class] == 0) {
            self.call_points.push(point);
        }
        if !problem.clobbers(code.inst).partial.is_empty() {
            self.partial.push((point, clobber));
        }
    }

    /// Records the operands that are not in the locations of their values.
    pub(crate) fn operands(&mut self, problem: &Problem, code: &Code<'_>, interference: &mut [Interference; 2]) {
        if code.flags.has(InstFlags::MOVE) {
            self.moves.push(code.inst);
        }
        for (k, operand) in (code.first..).zip(code.operands) {
            match operand.constraint() {
                Constraint::Reg | Constraint::Within(_) | Constraint::MemOk | Constraint::Any => {}
                Constraint::Stack => self.bindings[k] = Binding::APART,
                Constraint::Reuse(input) => {
                    for k in [k, code.first + usize::from(input)] {
                        if self.bindings[k] == Binding::WITH_VALUE {
                            self.bindings[k] = Binding::APART;
                        }
                    }
                }
                Constraint::Fixed(reg) => {
                    let bit = self.registers.reg(reg).bit();
                    let interference = &mut interference[reg.class().index()];
                    let reserve = |points| each_point(points, |point| interference.reserve(point, bit));
                    self.fix(problem, code.inst, code.at, k, reg, reserve);
                }
            }
        }
    }

    /// Assigns the operands of a branch with results by a matching, so that their registers are known first.
    ///
    /// # Errors
    /// If there are no registers for its operands.
    pub(crate) fn branch(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: &OrderedBlock,
        interference: &mut [Interference; 2],
        live: &Liveness,
    ) -> Result<(), AllocError> {
        let term = problem.terminator(block.block);
        let mut has_results = false;
        for (k, operand) in problem.operand_range(term).zip(problem.operands(term)) {
            if operand.is_def() && live.edge(operand.vreg()).is_some() {
                has_results = true;
                if self.bindings[k] == Binding::WITH_VALUE {
                    self.bindings[k] = Binding::APART;
                }
            }
        }
        if !has_results {
            return Ok(());
        }
        self.match_operands(problem, env, term, block.terminator(), live, |reg, points| {
            let interference = &mut interference[reg.class()];
            each_point(points, |point| interference.reserve(point, reg.bit()));
        })
    }

    /// Reserves the register of an operand, and for a use also the register of the def that takes it over.
    fn fix(
        &mut self,
        problem: &Problem,
        inst: Inst,
        at: Position,
        k: usize,
        reg: PReg,
        mut reserve: impl FnMut(PointRange),
    ) {
        let operand = problem.all_operands()[k];
        if operand.reused().is_some() {
            return;
        }
        self.bindings[k] = Binding::fixed(reg);
        reserve(reserved_points(operand, at));
        let range = problem.operand_range(inst);
        // Only the first operands can be tied. The check avoids a search per operand of an instruction with very
        // many.
        let source = u8::try_from(k - range.start).ok();
        let tied = source.and_then(|_| range.clone().find(|&d| problem.all_operands()[d].reused() == source));
        if let Some(def) = tied {
            reserve(PointRange::new(ProgPoint::late(at), ProgPoint::after(at)));
            self.bindings[def] = Binding::fixed(reg);
        }
    }

    /// Assigns registers to all operands of an instruction that need one, by a matching. They are fixed from then
    /// on. `reserve` is called with each register and the points over which the instruction has it.
    ///
    /// # Errors
    /// If there are no registers for the operands: the instruction has no solution.
    pub(crate) fn match_operands(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        at: Position,
        live: &Liveness,
        mut reserve: impl FnMut(Reg, PointRange),
    ) -> Result<(), AllocError> {
        self.is_matched[inst.index()] = true;
        self.has_matched = true;
        self.request_registers(problem, inst, live)?;
        self.matching.solve(env, inst, |_, _| 0)?;
        let range = problem.operand_range(inst);
        for k in range.clone() {
            let request = self.requests[k - range.start];
            if request != NO_REQUEST
                && let (None, Some(reg)) = (self.fixed(k), self.matching.reg(request))
            {
                let number = self.registers.reg(reg);
                self.fix(problem, inst, at, k, reg, |points| reserve(number, points));
            }
        }
        Ok(())
    }

    fn request_registers(&mut self, problem: &Problem, inst: Inst, live: &Liveness) -> Result<(), AllocError> {
        let operands = problem.operands(inst);
        let is_branch = problem.flags(inst).has(InstFlags::BRANCH);
        self.matching.clear();
        self.requests.clear();
        for (k, &operand) in operands.iter().enumerate() {
            let tied = tied_def(operands, k);
            self.requests.push(match needs_register(operand, tied) {
                false => NO_REQUEST,
                true => {
                    let edge = if is_branch && operand.is_def() { live.edge(operand.vreg()) } else { None };
                    let request = Request::new(problem, self.allocatable, inst, operand, tied)?;
                    self.matching.add(inst, Request { edge, ..request })?
                }
            });
        }
        Ok(())
    }
}

/// Queries.
impl Reservations {
    /// Returns `true` if the operand is in the location of its value.
    pub(crate) fn is_with_value(&self, k: usize) -> bool {
        self.bindings[k] == Binding::WITH_VALUE
    }

    /// Returns the register that an operand is currently fixed to.
    pub(crate) fn fixed(&self, k: usize) -> Option<PReg> {
        self.bindings[k].reg()
    }

    /// Returns `true` if a matching assigned the operands of the instruction.
    pub(crate) fn is_matched(&self, inst: Inst) -> bool {
        self.is_matched[inst.index()]
    }

    /// Returns the number of call points before a point. A segment between two points with different numbers is
    /// live across a call.
    pub(crate) fn calls_before(&self, point: ProgPoint) -> u32 {
        if self.call_points.is_empty() {
            return 0;
        }
        let before = self.calls_before[point.position().index()];
        before + u32::from(self.call_points.get(before as usize).is_some_and(|&call| call < point))
    }

    /// Returns `true` if a value that is live at these points is live across a call.
    pub(crate) fn crosses_call(&self, points: PointRange) -> bool {
        !self.call_points.is_empty() && self.call_point(self.calls_before(points.from)) < points.to.prev()
    }

    /// Returns a call point, or the end of all points after the last one.
    pub(crate) fn call_point(&self, index: u32) -> ProgPoint {
        self.call_points.get(index as usize).copied().unwrap_or(ProgPoint::OPEN)
    }

    /// Returns the unreserved registers in which the segment cannot be: registers that preserve only narrow values,
    /// and all registers for references that meet a safepoint.
    pub(crate) fn lost(&self, problem: &Problem, segment: &Segment) -> u64 {
        let data = problem.vregs[segment.vreg];
        let class = data.class.index();
        if data.is_ref && self.safepoints(segment.range()).next().is_some() {
            return self.registers.allocatable[class];
        }
        let start = self.partial.partition_point(|&(point, _)| point < segment.from);
        let inside = self.partial[start..].iter().take_while(|&&(point, _)| point < segment.to);
        inside.fold(0, |mask, &(_, clobber)| mask | self.registers.clobbered(clobber).of(class, data.width))
    }

    /// Returns `true` if [`Reservations::lost`] is always empty.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns the points from the position after the preceding safepoint to the following safepoint.
    pub(crate) fn between_safepoints(&self, point: ProgPoint) -> PointRange {
        let next = self.safepoints.partition_point(|&safepoint| safepoint < point);
        let from = if next == 0 { ProgPoint::FIRST } else { self.safepoints[next - 1].next_position() };
        PointRange::new(from, self.safepoints.get(next).copied().unwrap_or(ProgPoint::OPEN))
    }

    /// Returns the safepoints that a value lives through if it is live at the given points.
    pub(crate) fn safepoints(&self, points: PointRange) -> impl Iterator<Item = ProgPoint> + '_ {
        let start = self.safepoints.partition_point(|&point| point <= points.from);
        self.safepoints[start..].iter().take_while(move |&&point| point.next() < points.to).copied()
    }
}

/// Returns the points at which an operand of the instruction at `at` reserves a register.
pub(crate) fn reserved_points(operand: Operand, at: Position) -> PointRange {
    let is_early = operand.is_use() || operand.pos() == Pos::Early;
    let is_late = operand.is_def() || operand.pos() == Pos::Late;
    PointRange::new(
        if is_early { ProgPoint::early(at) } else { ProgPoint::late(at) },
        if is_late { ProgPoint::after(at) } else { ProgPoint::late(at) },
    )
}

/// Calls `f` with each of the points.
pub(crate) fn each_point(points: PointRange, mut f: impl FnMut(ProgPoint)) {
    let mut point = points.from;
    while point < points.to {
        f(point);
        point = point.next();
    }
}
