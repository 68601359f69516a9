//! The queue of bundles: each gets a free register, or that of lighter bundles, or is split.

use crate::bundles::{Bundle, Bundles};
use crate::live::{Liveness, Need, Segment, Use};
use crate::machine::Machine;
use crate::order::{NONE, Order};
use kingpost_regalloc::{AllocError, Freq, MachineEnv, PReg, PRegSet, Problem, RegClass, Stats, VReg};
use std::collections::{BTreeMap, BinaryHeap};

/// More bundles in the way than this are not evicted.
const MAX_EVICTED: usize = 16;

/// Steps before bundles are no longer evicted: for any problem, and for each of its operands and instructions.
const STEPS: (u64, u64) = (4096, 512);

/// How many times the price of a save a bundle must be worth to use a fresh callee-saved register: its parts may yet find
/// others.
const SAVE_FACTOR: u64 = 2;

/// Weight of a bundle that must have a register and cannot be cut.
const MINIMAL: u64 = u64::MAX;

/// Who lives in a register from a point on.
#[derive(Clone, Copy, Debug)]
struct Tenant {
    to: u32,
    bundle: u32,
    vreg: VReg,
}

/// Scratch memory of the search.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Longest first, then the older one.
    queue: BinaryHeap<(u32, std::cmp::Reverse<u32>)>,
    tenants: Vec<BTreeMap<u32, Tenant>>,
    rivals: Vec<u32>,
    best: Vec<u32>,
    pub(crate) pieces: Vec<Segment>,
    pub(crate) cuts: Vec<(u32, u32)>,
    evicted: Vec<u32>,
}

impl Scratch {
    /// Who is in `reg` at `point`?
    pub(crate) fn is_taken(&self, reg: PReg, point: u32) -> bool {
        let before = self.tenants[reg.index()].range(..=point).next_back();
        before.is_some_and(|(_, tenant)| tenant.to > point)
    }
}

/// What a bundle wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    /// Price of having it in memory.
    price: u64,
    weight: u64,
    allowed: PRegSet,
    must: bool,
    is_minimal: bool,
    hint: Option<PReg>,
    class: RegClass,
    /// The first point at which registers of the class are lost.
    first_loss: u32,
}

/// How a register suits a bundle.
enum Probe {
    Free,
    /// Bundles in [`Scratch::rivals`] are in the way, the heaviest of this weight, the first from this point on.
    Taken(u64, u32),
    /// Not to be had from this point on.
    Never(u32),
}

pub(crate) struct Search<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a Liveness,
    pub(crate) machine: &'a mut Machine,
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) s: &'a mut Scratch,
    pub(crate) stats: &'a mut Stats,
    /// Callee-saved registers not used so far.
    pub(crate) unused: PRegSet,
    pub(crate) limit: u64,
}

impl Search<'_> {
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        let size = self.problem.num_operands() + self.problem.num_insts() + self.bundles.segments.len();
        self.limit = STEPS.0 + STEPS.1 * size as u64;
        self.s.tenants.resize_with(PReg::COUNT, BTreeMap::new);
        self.s.tenants.iter_mut().for_each(BTreeMap::clear);
        self.s.queue.clear();
        for bundle in 0..self.bundles.bundles.len() as u32 {
            match self.live.is_in_memory(self.bundles.segments(bundle)[0].vreg) {
                true => self.shatter(bundle),
                false => self.enqueue(bundle),
            }
        }
        while let Some((_, std::cmp::Reverse(bundle))) = self.s.queue.pop() {
            self.process(bundle)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, bundle: u32) {
        let length = self.bundles.segments(bundle).iter().map(|s| s.to - s.from).sum();
        self.s.queue.push((length, std::cmp::Reverse(bundle)));
    }

    /// Adds a part of `parent` with the segments in [`Scratch::pieces`].
    pub(crate) fn add_part(&mut self, parent: u32) {
        let Bundle { family, cuts, .. } = self.bundles.bundles[parent as usize];
        let start = self.bundles.segments.len() as u32;
        self.bundles.segments.extend_from_slice(&self.s.pieces);
        let end = self.bundles.segments.len() as u32;
        let part = Bundle { start, end, family, cuts: cuts + 1, weight: 0, reg: None };
        self.bundles.bundles.push(part);
        self.stats.splits += 1;
        self.enqueue(self.bundles.bundles.len() as u32 - 1);
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.stats.steps > self.limit
    }

    /// What a use needs by now.
    pub(crate) fn need(&self, u: &Use) -> Need {
        if u.operand != NONE && self.machine.fixed[u.operand as usize] != NONE {
            return Need::Copy;
        }
        let is_remat = self.live.remat(u.vreg).is_some();
        match u.need {
            Need::Soft if is_remat && !u.is_def => {
                match self.machine.is_forced(self.order.inst(self.problem, u.point)) {
                    true => Need::Soft,
                    false => Need::Reg,
                }
            }
            need => need,
        }
    }

    fn wants(&mut self, bundle: u32) -> Wants {
        let segments = self.bundles.segments(bundle);
        let class = self.problem.class(segments[0].vreg);
        let mut w = Wants {
            price: 0,
            weight: 0,
            allowed: self.env.class(class).allocatable(),
            must: false,
            is_minimal: segments[0].from / 4 == (segments[segments.len() - 1].to - 1) / 4,
            hint: None,
            class,
            first_loss: u32::MAX,
        };
        let mut hint_price = 0;
        let mut length = 0;
        let mut steps = 0;
        for &segment in segments {
            length += u64::from(segment.to - segment.from);
            let is_remat = self.live.remat(segment.vreg).is_some();
            for i in self.live.uses_in(segment) {
                steps += 1;
                let u = self.live.use_at(i);
                let freq = self.order.freq_at(u.point);
                let need = self.need(&u);
                match need {
                    Need::Reg => w.must = true,
                    Need::Within(set) => {
                        w.must = true;
                        w.allowed = w.allowed.intersection(self.problem.reg_set(set));
                    }
                    _ => {}
                }
                let price = match need {
                    Need::Slot => 0,
                    _ if is_remat && u.is_def => 0,
                    Need::Soft => 1,
                    _ if is_remat => 1,
                    _ => 2,
                };
                w.price = w.price.saturating_add(price * freq);
                let fixed = if u.operand != NONE { self.machine.fixed[u.operand as usize] } else { NONE };
                if fixed != NONE && (w.hint.is_none() || freq > hint_price) {
                    hint_price = freq;
                    w.hint = Some(PReg::from_index(fixed as usize));
                }
            }
            let allowed = &mut w.allowed;
            let first = &mut w.first_loss;
            self.machine.losses(self.problem, segment, |point, lost| {
                steps += 1;
                *allowed = allowed.difference(lost);
                *first = point.min(*first);
                allowed.is_empty()
            });
        }
        self.stats.steps += steps;
        w.weight = match w.must && w.is_minimal {
            true => MINIMAL,
            false => w.price / (length + 16),
        };
        w
    }

    fn process(&mut self, bundle: u32) -> Result<(), AllocError> {
        self.stats.steps += 1;
        let wants = self.wants(bundle);
        if !wants.must && (wants.price == 0 || wants.is_minimal) {
            return Ok(());
        }
        self.bundles.bundles[bundle as usize].weight = wants.weight;
        let family = self.bundles.bundles[bundle as usize].family as usize;
        let hints = [wants.hint, self.bundles.families[family].hint];
        let env = self.env;
        let mut tried = PRegSet::EMPTY;
        let (mut lightest, mut best) = (wants.weight, None);
        let mut farthest = if wants.first_loss == u32::MAX { 0 } else { wants.first_loss };
        let worth_saving = wants.must && wants.is_minimal
            || wants.price > SAVE_FACTOR * u64::from(env.costs.callee_saved) * Freq::ENTRY.0;
        for round in 0..2 {
            let order = env.class(wants.class).order.iter().copied();
            for reg in hints.into_iter().flatten().chain(order) {
                let is_dear = self.unused.contains(reg);
                if tried.contains(reg) || !wants.allowed.contains(reg) || is_dear && (round == 0 || !worth_saving) {
                    continue;
                }
                tried.insert(reg);
                match self.probe(bundle, reg, lightest) {
                    Probe::Free => {
                        self.assign(bundle, reg);
                        return Ok(());
                    }
                    Probe::Taken(weight, first) => {
                        farthest = farthest.max(first);
                        if weight < lightest {
                            lightest = weight;
                            best = Some(reg);
                            std::mem::swap(&mut self.s.rivals, &mut self.s.best);
                        }
                    }
                    Probe::Never(first) => farthest = farthest.max(first),
                }
            }
        }
        let may_evict = !self.is_exhausted() || wants.weight == MINIMAL;
        if let Some(reg) = best.filter(|_| may_evict) {
            let mut evicted = std::mem::take(&mut self.s.best);
            evicted.drain(..).for_each(|rival| self.evict(rival));
            self.s.best = evicted;
            self.assign(bundle, reg);
            return Ok(());
        }
        if wants.is_minimal {
            return self.force(bundle);
        }
        self.split(bundle, farthest);
        Ok(())
    }

    /// Who is in the way of the bundle in `reg`? Bundles not lighter than `lightest` need not be listed.
    fn probe(&mut self, bundle: u32, reg: PReg, lightest: u64) -> Probe {
        self.s.rivals.clear();
        let (mut heaviest, mut first) = (0, u32::MAX);
        for &segment in self.bundles.segments(bundle) {
            self.stats.steps += 1;
            if let Some(r) = self.machine.reservation(reg, segment) {
                return Probe::Never(r.from.min(first));
            }
            let tenants = &self.s.tenants[reg.index()];
            let before = tenants.range(..segment.from).next_back().filter(|(_, t)| t.to > segment.from);
            for (&from, tenant) in before.into_iter().chain(tenants.range(segment.from..segment.to)) {
                self.stats.steps += 1;
                first = first.min(from.max(segment.from));
                heaviest = self.bundles.bundles[tenant.bundle as usize].weight.max(heaviest);
                if !self.s.rivals.contains(&tenant.bundle) {
                    self.s.rivals.push(tenant.bundle);
                }
                if heaviest >= lightest || self.s.rivals.len() > MAX_EVICTED {
                    return Probe::Taken(MINIMAL, first);
                }
            }
        }
        if self.s.rivals.is_empty() { Probe::Free } else { Probe::Taken(heaviest, first) }
    }

    fn assign(&mut self, bundle: u32, reg: PReg) {
        let Bundle { family, start, end, .. } = self.bundles.bundles[bundle as usize];
        for &segment in &self.bundles.segments[start as usize..end as usize] {
            let tenant = Tenant { to: segment.to, bundle, vreg: segment.vreg };
            self.s.tenants[reg.index()].insert(segment.from, tenant);
        }
        self.bundles.bundles[bundle as usize].reg = Some(reg);
        self.bundles.families[family as usize].hint = Some(reg);
        self.unused.remove(reg);
    }

    fn evict(&mut self, bundle: u32) {
        let Bundle { start, end, reg, .. } = self.bundles.bundles[bundle as usize];
        let Some(reg) = reg else { return };
        for segment in &self.bundles.segments[start as usize..end as usize] {
            self.s.tenants[reg.index()].remove(&segment.from);
        }
        self.bundles.bundles[bundle as usize].reg = None;
        self.stats.evictions += 1;
        self.enqueue(bundle);
    }

    /// Solves the instruction of a minimal bundle by itself.
    fn force(&mut self, bundle: u32) -> Result<(), AllocError> {
        let point = self.bundles.segments(bundle)[0].from;
        let inst = self.order.inst(self.problem, point);
        debug_assert!(!self.machine.is_forced(inst), "the operands of {inst} are fixed");
        let mut evicted = std::mem::take(&mut self.s.evicted);
        let tenants = &self.s.tenants;
        let live = self.live;
        let result = self.machine.force(
            self.problem,
            self.env,
            inst,
            point / 4 * 4,
            |vreg| live.edge_of(vreg),
            |reg, r| {
                let before = tenants[reg.index()].range(..r.from).next_back().filter(|(_, t)| t.to > r.from);
                let tenants = before.into_iter().chain(tenants[reg.index()].range(r.from..r.to));
                evicted.extend(tenants.filter(|(_, t)| t.vreg != r.owner).map(|(_, t)| t.bundle));
            },
        );
        self.stats.steps += self.problem.operands(inst).len() as u64;
        evicted.drain(..).for_each(|rival| self.evict(rival));
        self.s.evicted = evicted;
        self.enqueue(bundle);
        result
    }
}
