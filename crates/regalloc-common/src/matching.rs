//! Registers for the operands of one instruction, by matching requests with registers.
//!
//! ```text
//! use v0 in {r0, r1}, use v1 = r0      v1 has no choice and comes first: r0; v0: r1
//! use v2, def v3 reuse 0               one request over both points, for the use and the def
//! ```
//!
//! A request is for a register at the early point, the late point or both. Requests with the smallest choice come
//! first. Each takes the free register with the best score, or moves the owner of a register to another one
//! (augmenting paths; Kuhn, *The Hungarian method for the assignment problem*, 1955). This is exact for requests at
//! one point. Requests at both points, and uses of one value that may share a register, are more than a bipartite
//! matching can express. If matching fails, a search over all assignments decides. The search is bounded, per
//! instruction and per problem.
//!
//! Cost: requests times registers; the search makes at most 400,000 comparisons of requests. No memory is allocated
//! once the lists have grown.

use crate::release;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::sort::sort_by_key;
use kingpost_regalloc::{
    AllocError, Constraint, Edge, Inst, MachineEnv, Operand, PReg, PRegSet, Pos, Problem, RegClass, VReg,
};

/// No request.
const NONE: u32 = u32::MAX;

/// Number of preceding requests that a new one is compared with. The search is skipped for more requests.
const MAX_SEARCHED: usize = 256;

/// Largest number of requests that can be served; requests of different edges are not counted.
const MAX_REQUESTS: usize = 2 * PReg::COUNT;

/// Budget of one search, in comparisons of requests.
const SEARCH_STEPS: u64 = 400_000;

/// Budget of all searches of a problem, in comparisons of requests per operand.
const SEARCH_STEPS_PER_OPERAND: u64 = 256;

/// The points of an instruction at which a register is in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Points(u8);

impl Points {
    /// Point at which the instruction reads.
    pub const EARLY: Points = Points(1);
    /// Point at which it writes.
    pub const LATE: Points = Points(2);
    /// Both points.
    pub const BOTH: Points = Points(3);

    /// Returns the points at which an operand needs its register. With `is_tied`, a def takes the register over.
    pub fn of(operand: Operand, is_tied: bool) -> Points {
        let early = operand.is_use() || operand.pos() == Pos::Early;
        let late = operand.is_def() || operand.pos() == Pos::Late || is_tied;
        Points(u8::from(early) | u8::from(late) << 1)
    }

    /// Returns `true` if the early point is included.
    pub const fn early(self) -> bool {
        self.0 & 1 != 0
    }

    /// Returns `true` if the late point is included.
    pub const fn late(self) -> bool {
        self.0 & 2 != 0
    }

    /// Returns the indices of the points: 0 is early, 1 late.
    fn indices(self) -> impl Iterator<Item = usize> {
        (0..2).filter(move |point| self.0 >> point & 1 != 0)
    }
}

/// Demand of an operand, or of a use together with the def that takes its register over.
#[derive(Clone, Copy, Debug)]
pub struct Request<H = ()> {
    /// The value.
    pub vreg: VReg,
    /// Its class.
    pub class: RegClass,
    /// Registers that satisfy the constraint.
    pub allowed: PRegSet,
    /// Points at which the register is needed.
    pub points: Points,
    /// Whether the value is read.
    pub is_use: bool,
    /// Whether the instruction writes the register.
    pub is_written: bool,
    /// The edge on which a def of a branch exists.
    pub edge: Option<Edge>,
    /// Input of the score function.
    pub hint: H,
    /// The assigned register, if there is one.
    pub reg: Option<PReg>,
}

/// Returns the def that takes over the register of operand `k`.
pub fn tied_def(operands: &[Operand], k: usize) -> Option<Operand> {
    let k = u8::try_from(k).ok()?;
    operands.iter().copied().find(|def| def.reused() == Some(k))
}

/// Returns `true` if an operand needs a register. `tied` is the def that takes its register over. A tied def has
/// the register of its use.
pub fn needs_register(operand: Operand, tied: Option<Operand>) -> bool {
    match operand.constraint() {
        Constraint::Reuse(_) => false,
        Constraint::Stack | Constraint::MemOk | Constraint::Any => tied.is_some_and(|def| !def.is_rmw()),
        Constraint::Reg | Constraint::Within(_) | Constraint::Fixed(_) => true,
    }
}

impl<H: Default> Request<H> {
    /// Returns the request of an operand of `inst`, without hint and edge. `tied` is the def that takes its
    /// register over; `allocatable` has the registers of the machine.
    ///
    /// # Errors
    /// If no register satisfies the constraint.
    pub fn new(
        problem: &Problem,
        allocatable: PRegSet,
        inst: Inst,
        operand: Operand,
        tied: Option<Operand>,
    ) -> Result<Request<H>, AllocError> {
        let vreg = operand.vreg();
        let class = problem.class(vreg);
        let all = allocatable.of_class(class);
        let choice = match operand.constraint() {
            Constraint::Fixed(reg) => all.intersection(PRegSet::EMPTY.with(reg)),
            Constraint::Within(set) => all.intersection(problem.reg_set(set)),
            _ => all,
        };
        let points = Points::of(operand, tied.is_some());
        let width = problem.width(vreg).max(tied.map_or(0, |def| problem.width(def.vreg())));
        let killed = if points.late() { problem.clobbers(inst).killed(width) } else { PRegSet::EMPTY };
        let allowed = choice.difference(killed);
        if allowed.is_empty() {
            return Err(match operand.fixed_reg() {
                Some(reg) => AllocError::FixedConflict { inst, reg },
                None => AllocError::TooFewRegisters { inst, class },
            });
        }
        let (is_use, is_written) = (operand.is_use(), operand.is_def() || tied.is_some());
        Ok(Request { vreg, class, allowed, points, is_use, is_written, edge: None, hint: H::default(), reg: None })
    }
}

impl<H> Request<H> {
    /// Returns `true` if the two requests must have different registers.
    fn conflicts(&self, other: &Request<H>) -> bool {
        if self.edge != other.edge && self.edge.is_some() && other.edge.is_some() {
            return false;
        }
        let is_same = self.vreg == other.vreg && self.is_use && other.is_use;
        let early = self.points.early() && other.points.early();
        let late = self.points.late() && other.points.late();
        early && !is_same || late && !(is_same && !self.is_written && !other.is_written)
    }

    /// Returns `true` if every register of this request also serves `other`.
    fn covers(&self, other: &Request<H>) -> bool {
        let points = self.points.late() || !other.points.late();
        let is_kept = !(self.is_written && other.points.late());
        points && is_kept && !other.is_written && self.allowed.difference(other.allowed).is_empty()
    }

    /// Returns `true` if at most one register satisfies the constraint.
    fn is_forced(&self) -> bool {
        let allowed = self.allowed.mask(self.class);
        allowed & allowed.wrapping_sub(1) == 0
    }

    fn refusal(&self, inst: Inst) -> AllocError {
        match self.allowed.iter().next() {
            Some(reg) if self.allowed.len() == 1 => AllocError::FixedConflict { inst, reg },
            _ => AllocError::TooFewRegisters { inst, class: self.class },
        }
    }
}

/// Matches the requests of one instruction at a time.
#[derive(Debug)]
pub struct Matching<H = ()> {
    requests: Vec<Request<H>>,
    /// Number of requests that exist on all edges.
    on_all_edges: usize,
    /// By point and register: the request that owns the register.
    owners: [Vec<u32>; 2],
    /// By point: registers that have an owner.
    taken: [PRegSet; 2],
    /// Registers of served defs on edges.
    edge_regs: PRegSet,
    /// Registers to which defs on edges are fixed, and which requests at the late point avoid.
    edge_fixed: PRegSet,
    /// Registers that several uses of one value share, and that none of them can give up.
    shared: PRegSet,
    order: Vec<u32>,
    /// Remaining steps of searches.
    search_steps: u64,
    /// Registers examined since [`Matching::begin`].
    pub steps: u64,
}

heap_bytes!(Matching<H> { requests, owners, order } without { on_all_edges, taken, edge_regs, edge_fixed, shared, search_steps, steps });

impl<H> Matching<H> {
    /// Frees the memory of an instruction with more operands than most.
    pub fn shrink(&mut self) {
        release(&mut self.requests);
        release(&mut self.order);
    }
}

impl<H> Default for Matching<H> {
    fn default() -> Matching<H> {
        Matching {
            requests: Vec::new(),
            on_all_edges: 0,
            owners: Default::default(),
            taken: [PRegSet::EMPTY; 2],
            edge_regs: PRegSet::EMPTY,
            edge_fixed: PRegSet::EMPTY,
            shared: PRegSet::EMPTY,
            order: Vec::new(),
            search_steps: 0,
            steps: 0,
        }
    }
}

impl<H: Copy> Matching<H> {
    /// Prepares for a problem.
    pub fn begin(&mut self, problem: &Problem) {
        self.clear();
        self.owners.iter_mut().for_each(|owners| owners.resize(PReg::COUNT, NONE));
        self.search_steps = 4 * SEARCH_STEPS + SEARCH_STEPS_PER_OPERAND * problem.num_operands() as u64;
        self.steps = 0;
    }

    /// Clears all requests.
    pub fn clear(&mut self) {
        (0..self.requests.len()).for_each(|n| self.release(n as u32));
        self.requests.clear();
        self.on_all_edges = 0;
        self.edge_regs = PRegSet::EMPTY;
        self.edge_fixed = PRegSet::EMPTY;
        self.shared = PRegSet::EMPTY;
    }

    /// Returns all requests. Served requests have registers.
    pub fn requests(&self) -> &[Request<H>] {
        &self.requests
    }

    /// Returns the register of a request.
    pub fn reg(&self, request: u32) -> Option<PReg> {
        self.requests[request as usize].reg
    }

    /// Returns the registers taken at the given points by operands that exist on all edges.
    pub fn taken(&self, points: Points) -> PRegSet {
        points.indices().fold(PRegSet::EMPTY, |taken, point| taken.union(self.taken[point]))
    }

    /// Returns the registers of operands that exist on single edges.
    pub fn taken_on_edges(&self) -> PRegSet {
        self.edge_regs
    }

    /// Adds a request, or merges it with an earlier one of the same value, and returns its number.
    ///
    /// # Errors
    /// If there are more requests than registers for them.
    pub fn add(&mut self, inst: Inst, request: Request<H>) -> Result<u32, AllocError> {
        let start = self.requests.len().saturating_sub(MAX_SEARCHED);
        if request.is_use
            && let Some(i) = self.requests[start..].iter_mut().position(|old| share(old, &request))
        {
            return Ok((start + i) as u32);
        }
        if request.edge.is_none() {
            self.on_all_edges += 1;
            if self.on_all_edges > MAX_REQUESTS {
                return Err(AllocError::TooFewRegisters { inst, class: request.class });
            }
        }
        Ok(self.push(request))
    }

    fn push(&mut self, request: Request<H>) -> u32 {
        if request.edge.is_some() && request.allowed.len() == 1 {
            self.edge_fixed = self.edge_fixed.union(request.allowed);
        }
        self.requests.push(request);
        self.requests.len() as u32 - 1
    }

    /// Finds a register for each request. The register with the lowest score is chosen; among equal scores, the
    /// first in the machine's order.
    ///
    /// # Errors
    /// If there is no assignment, or none was found within the bounds.
    pub fn solve(
        &mut self,
        env: &MachineEnv,
        inst: Inst,
        score: impl Fn(&Request<H>, PReg) -> i32 + Copy,
    ) -> Result<(), AllocError> {
        self.augment(env, inst, score).or_else(|refusal| self.search(refusal))
    }

    /// Finds a register for each request by augmenting paths alone; see [`Matching::solve`].
    ///
    /// # Errors
    /// For the first request that is not served. If all requests are for one point, there is no assignment.
    pub fn augment(
        &mut self,
        env: &MachineEnv,
        inst: Inst,
        score: impl Fn(&Request<H>, PReg) -> i32 + Copy,
    ) -> Result<(), AllocError> {
        let requests = &self.requests;
        let is_forced = |n: &u32| requests[*n as usize].edge.is_none() && requests[*n as usize].is_forced();
        self.order.clear();
        self.order.extend((0..requests.len() as u32).filter(is_forced));
        let forced = self.order.len();
        if forced < requests.len() {
            self.order.extend((0..requests.len() as u32).filter(|n| !is_forced(n)));
            sort_by_key(&mut self.order[forced..], |&n| {
                let request = &requests[n as usize];
                (request.edge, request.allowed.len(), request.points != Points::BOTH, n)
            });
        }
        let mut group = 0;
        for i in 0..self.order.len() {
            let n = self.order[i];
            if self.edge(n) != self.edge(self.order[group]) {
                self.close_group(group, i);
                group = i;
            }
            if !self.place(env, n, &mut PRegSet::default(), score) {
                return Err(self.requests[n as usize].refusal(inst));
            }
        }
        self.close_group(group, self.order.len());
        Ok(())
    }

    fn edge(&self, n: u32) -> Option<Edge> {
        self.requests[n as usize].edge
    }

    /// Frees the registers of an edge's defs for defs on other edges.
    fn close_group(&mut self, from: usize, to: usize) {
        for i in from..to {
            let n = self.order[i];
            if self.edge(n).is_some() {
                self.release(n);
                self.edge_regs = self.reg(n).map_or(self.edge_regs, |reg| self.edge_regs.with(reg));
            }
        }
    }

    /// Finds a register for a request, if necessary one whose owner can move to another register. Returns `true` on
    /// success. `tried` bounds the recursion.
    fn place(
        &mut self,
        env: &MachineEnv,
        n: u32,
        tried: &mut PRegSet,
        score: impl Fn(&Request<H>, PReg) -> i32 + Copy,
    ) -> bool {
        let request = self.requests[n as usize];
        let mut allowed = request.allowed;
        if request.edge.is_none() && request.points.late() {
            allowed = allowed.difference(self.edge_regs);
        }
        self.steps += 1;
        if let Some(reg) = self.best_free(env, &request, allowed, score) {
            self.assign(n, reg);
            return true;
        }
        for &reg in env.class(request.class).order.iter().filter(|&&reg| allowed.contains(reg)) {
            self.steps += 1;
            let Some(rival) = self.only_owner(&request, reg) else { continue };
            if tried.contains(reg) || self.shared.contains(reg) || self.edge(rival) != request.edge {
                continue;
            }
            tried.insert(reg);
            self.release(rival);
            self.assign(n, reg);
            if self.place(env, rival, tried, score) {
                return true;
            }
            self.release(n);
            self.assign(rival, reg);
        }
        false
    }

    /// Returns the free register with the best score.
    fn best_free(
        &self,
        env: &MachineEnv,
        request: &Request<H>,
        allowed: PRegSet,
        score: impl Fn(&Request<H>, PReg) -> i32,
    ) -> Option<PReg> {
        let mut free = allowed.difference(self.taken(request.points));
        if request.edge.is_none() && request.points.late() {
            let others = free.difference(self.edge_fixed);
            free = if others.is_empty() { free } else { others };
        }
        let members = free.mask(request.class);
        if members & members.wrapping_sub(1) == 0 {
            return free.iter().next();
        }
        let order = env.class(request.class).order.iter().copied().filter(|&reg| free.contains(reg));
        order.min_by_key(|&reg| score(request, reg))
    }

    /// Returns the owner of a register at the points of a request, unless there are two owners.
    fn only_owner(&self, request: &Request<H>, reg: PReg) -> Option<u32> {
        let mut owners = request.points.indices().map(|point| self.owners[point][reg.index()]).filter(|&n| n != NONE);
        let first = owners.next()?;
        owners.all(|other| other == first).then_some(first)
    }

    fn assign(&mut self, n: u32, reg: PReg) {
        let request = &mut self.requests[n as usize];
        request.reg = Some(reg);
        for point in request.points.indices() {
            self.owners[point][reg.index()] = n;
            self.taken[point].insert(reg);
        }
    }

    /// Frees the register of a request, which still records it.
    fn release(&mut self, n: u32) {
        let Some(reg) = self.requests[n as usize].reg else { return };
        for (owners, taken) in self.owners.iter_mut().zip(&mut self.taken) {
            if owners[reg.index()] == n {
                owners[reg.index()] = NONE;
                taken.remove(reg);
            }
        }
    }

    /// Tries all assignments, depth first. Uses of one value share a register if they must.
    ///
    /// # Errors
    /// `refusal` if there is no assignment.
    fn search(&mut self, refusal: AllocError) -> Result<(), AllocError> {
        for n in 0..self.requests.len() {
            self.release(n as u32);
            self.requests[n].reg = None;
        }
        self.edge_regs = PRegSet::EMPTY;
        let requests = &self.requests;
        sort_by_key(&mut self.order, |&n| (requests[n as usize].allowed.len(), n));
        let limit = SEARCH_STEPS.min(self.search_steps);
        let mut left = limit;
        let is_found = requests.len() <= MAX_SEARCHED && self.extend(0, &mut left);
        self.steps += limit - left;
        self.search_steps -= limit - left;
        if !is_found {
            return Err(if left > 0 { refusal } else { AllocError::StepBudget { steps: self.steps } });
        }
        for n in 0..self.requests.len() {
            let Request { edge, reg: Some(reg), points, .. } = self.requests[n] else { continue };
            if edge.is_some() {
                self.edge_regs.insert(reg);
            } else {
                let is_shared = self.taken(points).contains(reg);
                self.shared = if is_shared { self.shared.with(reg) } else { self.shared };
                self.assign(n as u32, reg);
            }
        }
        Ok(())
    }

    /// Extends an assignment of the first `depth` requests in order to all of them, within the remaining steps.
    /// Returns `true` if it succeeds.
    fn extend(&mut self, depth: usize, steps: &mut u64) -> bool {
        let Some(&n) = self.order.get(depth) else { return true };
        let n = n as usize;
        for reg in self.requests[n].allowed.iter() {
            *steps = steps.saturating_sub(1 + depth as u64);
            if *steps == 0 {
                break;
            }
            let request = &self.requests[n];
            let mut before = self.order[..depth].iter().map(|&m| &self.requests[m as usize]);
            if before.all(|other| other.reg != Some(reg) || !request.conflicts(other)) {
                self.requests[n].reg = Some(reg);
                if self.extend(depth + 1, steps) {
                    return true;
                }
            }
        }
        self.requests[n].reg = None;
        false
    }
}

/// Merges `new` into `old` if one covers the other. Returns `true` if they are merged. Then a register for the
/// covering request serves both, so that no assignment is lost. Two choices that merely overlap stay two requests,
/// because the common registers may be taken.
fn share<H: Copy>(old: &mut Request<H>, new: &Request<H>) -> bool {
    if old.vreg != new.vreg || !old.is_use || !new.is_use {
        return false;
    }
    if old.covers(new) {
        return true;
    }
    let is_covered = new.covers(old);
    *old = if is_covered { *new } else { *old };
    is_covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::{ClobberId, InstFlags};

    const EARLY: Points = Points::EARLY;
    const LATE: Points = Points::LATE;
    const BOTH: Points = Points::BOTH;

    fn set(regs: &[u8]) -> PRegSet {
        regs.iter().map(|&reg| PReg::int(reg)).collect()
    }

    fn request(vreg: u32, allowed: &[u8], points: Points, is_use: bool, is_written: bool) -> Request {
        let (vreg, allowed) = (VReg::from_u32(vreg), set(allowed));
        Request { vreg, class: RegClass::Int, allowed, points, is_use, is_written, edge: None, hint: (), reg: None }
    }

    fn read(vreg: u32, allowed: &[u8], points: Points) -> Request {
        request(vreg, allowed, points, true, false)
    }

    fn tied(vreg: u32, allowed: &[u8]) -> Request {
        request(vreg, allowed, BOTH, true, true)
    }

    fn write(vreg: u32, allowed: &[u8], points: Points) -> Request {
        request(vreg, allowed, points, false, true)
    }

    fn on_edge(vreg: u32, allowed: &[u8], edge: u32) -> Request {
        Request { edge: Some(Edge::from_u32(edge)), ..write(vreg, allowed, LATE) }
    }

    /// Returns a machine whose order is r3, r2, r1, r0.
    fn env() -> MachineEnv {
        let mut env = MachineEnv::default();
        env.classes[0].order = [3, 2, 1, 0].map(PReg::int).to_vec();
        env
    }

    fn inst() -> Inst {
        Inst::from_u32(7)
    }

    fn problem() -> Problem {
        let mut problem = Problem::default();
        let vreg = problem.add_vreg(RegClass::Int, 8, false);
        problem.begin_block(kingpost_regalloc::Freq::ENTRY, &[]);
        problem.push_operand(Operand::reg_def(vreg));
        problem.push_inst(InstFlags::NONE, ClobberId::NONE);
        problem
    }

    /// Solves, and returns the register number of each request in the order of the requests.
    fn solve(matching: &mut Matching, requests: &[Request]) -> Result<Vec<u8>, AllocError> {
        matching.begin(&problem());
        let numbers: Result<Vec<u32>, _> = requests.iter().map(|&request| matching.add(inst(), request)).collect();
        let numbers = numbers?;
        matching.solve(&env(), inst(), |_, _| 0)?;
        Ok(numbers.iter().map(|&n| matching.reg(n).expect("all were served").enc()).collect())
    }

    fn regs(requests: &[Request]) -> Vec<u8> {
        solve(&mut Matching::default(), requests).expect("there is an assignment")
    }

    #[test]
    fn the_first_free_register_is_taken() {
        assert_eq!(regs(&[read(0, &[0, 1, 2], EARLY), read(1, &[0, 1, 2, 3], EARLY)]), [2, 3]);
        assert_eq!(regs(&[read(0, &[0, 1], EARLY), write(1, &[0, 1], LATE)]), [1, 1]);
        assert_eq!(regs(&[read(0, &[0, 1], BOTH), write(1, &[0, 1], LATE)]), [1, 0]);
    }

    #[test]
    fn owners_give_way() {
        let chain = [read(0, &[1, 2], EARLY), read(1, &[1, 3], EARLY), read(2, &[2, 3], BOTH), read(3, &[0, 3], EARLY)];
        let mut found = regs(&chain);
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3]);
    }

    #[test]
    fn uses_of_one_value_share_where_one_covers_the_other() {
        assert_eq!(regs(&[read(0, &[0, 1], EARLY), read(0, &[1], EARLY)]), [1, 1]);
        assert_eq!(regs(&[read(0, &[0, 1], EARLY), tied(0, &[1])]), [1, 1]);
        assert_eq!(regs(&[read(0, &[0, 1], EARLY), read(0, &[0], BOTH)]), [0, 0]);
        // A late use reads the register after the instruction has written it.
        assert_eq!(regs(&[read(0, &[0, 1], BOTH), tied(0, &[1])]), [0, 1]);
        assert_eq!(regs(&[tied(0, &[0, 1]), tied(0, &[1])]), [0, 1]);
    }

    #[test]
    fn choices_that_overlap_share_only_if_they_must() {
        // The common registers are taken: each use has a register of its own.
        assert_eq!(regs(&[read(0, &[0, 1], EARLY), read(0, &[1, 2], EARLY), read(1, &[1], EARLY)]), [0, 2, 1]);
        // Only the common registers are left.
        let both = [read(0, &[0, 1], EARLY), read(0, &[1, 2], EARLY), read(1, &[0], EARLY), read(2, &[2], EARLY)];
        assert_eq!(regs(&both), [1, 1, 0, 2]);
    }

    #[test]
    fn results_on_different_edges_share() {
        assert_eq!(regs(&[on_edge(0, &[1], 0), on_edge(1, &[1], 1), read(2, &[0, 1], EARLY)]), [1, 1, 1]);
        assert_eq!(regs(&[on_edge(0, &[1], 0), on_edge(1, &[1], 1), read(2, &[0, 1], BOTH)]), [1, 1, 0]);
        assert_eq!(regs(&[on_edge(0, &[0, 1], 0), on_edge(1, &[0, 2], 1), read(2, &[0, 1, 2], BOTH)]), [1, 0, 2]);
    }

    #[test]
    fn what_cannot_be_served_is_an_error() {
        let error = |requests: &[Request]| solve(&mut Matching::default(), requests).expect_err("there is none");
        assert_eq!(
            error(&[read(0, &[1], EARLY), read(1, &[1], EARLY)]),
            AllocError::FixedConflict { inst: inst(), reg: PReg::int(1) }
        );
        let three = [0, 1, 2].map(|vreg| read(vreg, &[0, 1], EARLY));
        assert_eq!(error(&three), AllocError::TooFewRegisters { inst: inst(), class: RegClass::Int });
        let many: Vec<Request> = (0..300).map(|vreg| read(vreg, &[0, 1], EARLY)).collect();
        assert_eq!(error(&many), AllocError::TooFewRegisters { inst: inst(), class: RegClass::Int });
    }

    #[test]
    fn registers_are_taken_at_points_and_on_edges() {
        let mut matching = Matching::default();
        let requests = [read(0, &[0, 3], EARLY), on_edge(1, &[2], 0), read(2, &[3], EARLY), write(3, &[2, 3], LATE)];
        assert_eq!(solve(&mut matching, &requests), Ok(vec![0, 2, 3, 3]));
        assert_eq!([EARLY, LATE, BOTH].map(|points| matching.taken(points)), [set(&[0, 3]), set(&[3]), set(&[0, 3])]);
        assert_eq!(matching.taken_on_edges(), set(&[2]));
    }

    #[test]
    fn augmenting_paths_serve_all_but_what_must_share() {
        let overlapping =
            [read(0, &[0, 1], EARLY), read(0, &[1, 2], EARLY), read(1, &[0], EARLY), read(2, &[2], EARLY)];
        let augment = |requests: &[Request]| {
            let mut matching: Matching = Matching::default();
            matching.begin(&problem());
            requests.iter().try_for_each(|&request| matching.add(inst(), request).map(drop))?;
            matching.augment(&env(), inst(), |_, _| 0)
        };
        assert_eq!(augment(&overlapping[..3]), Ok(()));
        assert_eq!(augment(&overlapping), Err(AllocError::TooFewRegisters { inst: inst(), class: RegClass::Int }));
    }

    #[test]
    fn the_best_score_wins() {
        let mut matching: Matching = Matching::default();
        matching.begin(&problem());
        let n = matching.add(inst(), read(0, &[0, 1, 2, 3], EARLY)).expect("there are registers");
        matching.solve(&env(), inst(), |_, reg| if reg.enc() == 1 { -1 } else { 0 }).expect("there are registers");
        assert_eq!(matching.reg(n), Some(PReg::int(1)));
    }

    #[test]
    fn only_the_first_operands_can_be_tied() {
        let mut operands = vec![Operand::any_use(VReg::from_u32(0)); 300];
        operands[299] = Operand::reuse_def(VReg::from_u32(1), 3);
        let tied: Vec<usize> = (0..300).filter(|&k| tied_def(&operands, k).is_some()).collect();
        assert_eq!(tied, [3], "259 has the same lower byte");
    }

    /// Returns `true` if there is an assignment. Tries all of them, and shares registers exactly as the contract
    /// allows.
    fn brute_force(requests: &[Request], chosen: &mut Vec<u8>) -> bool {
        let Some(next) = requests.get(chosen.len()) else { return true };
        (0..4).filter(|&reg| next.allowed.contains(PReg::int(reg))).any(|reg| {
            let fits = requests.iter().zip(&*chosen).all(|(other, &taken)| taken != reg || may_share(next, other));
            chosen.push(reg);
            let found = fits && brute_force(requests, chosen);
            chosen.pop();
            found
        })
    }

    fn may_share(a: &Request, b: &Request) -> bool {
        let apart = a.edge.is_some() && b.edge.is_some() && a.edge != b.edge;
        let one_value = a.vreg == b.vreg && a.is_use && b.is_use;
        let early = !(a.points.early() && b.points.early()) || one_value;
        let late = !(a.points.late() && b.points.late()) || one_value && !a.is_written && !b.is_written;
        apart || early && late
    }

    #[test]
    fn every_solvable_instruction_is_solved() {
        let mut seed = 1u64;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % below
        };
        let mut matching = Matching::default();
        let mut solved = 0;
        for _ in 0..20_000 {
            let mut requests = vec![];
            for k in 0..2 + random(6) {
                let some: Vec<u8> = (0..4).filter(|_| random(2) == 0).collect();
                let allowed = if some.is_empty() { vec![random(4) as u8] } else { some };
                requests.push(match random(6) {
                    0 | 1 => read(random(3), &allowed, EARLY),
                    2 => read(random(3), &allowed, BOTH),
                    3 => tied(random(3), &allowed),
                    4 => write(10 + k, &allowed, [LATE, BOTH][random(2) as usize]),
                    _ => on_edge(10 + k, &allowed, random(2)),
                });
            }
            let found = solve(&mut matching, &requests);
            assert_eq!(found.is_ok(), brute_force(&requests, &mut vec![]), "{requests:?}");
            let Ok(found) = found else { continue };
            solved += 1;
            for (i, (a, &reg)) in requests.iter().zip(&found).enumerate() {
                assert!(a.allowed.contains(PReg::int(reg)));
                let mut others = requests.iter().zip(&found).take(i);
                assert!(others.all(|(b, &other)| other != reg || may_share(a, b)), "{requests:?} {found:?}");
            }
        }
        assert!(solved > 5_000 && solved < 19_000, "{solved} of 20000 have an assignment");
    }
}
