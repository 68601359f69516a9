//! Registers for the operands of one instruction: needs matched with registers.
//!
//! A need is for a register at the early point, the late point or both. The choosiest come first; each takes the register
//! that suits it best, or sends another need away that has a choice (Kuhn, *The Hungarian method*, 1955). Where that
//! fails, a bounded search over all ways decides.

use crate::pick_register::Hints;
use kingpost_regalloc::{AllocError, Edge, Inst, MachineEnv, PReg, PRegSet, RegClass, VReg};

/// A register that is needed at the early point, the late point or both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) vreg: VReg,
    pub(crate) class: RegClass,
    pub(crate) allowed: PRegSet,
    pub(crate) early: bool,
    pub(crate) late: bool,
    pub(crate) is_use: bool,
    /// The instruction writes the register.
    pub(crate) written: bool,
    /// The only edge on which the value exists.
    pub(crate) edge: Option<Edge>,
    /// Registers that suit the value.
    pub(crate) hints: Hints,
    pub(crate) reg: Option<PReg>,
}

impl Need {
    /// Is the value in one register before and after the instruction?
    pub(crate) fn carries(&self, vreg: VReg) -> bool {
        self.vreg == vreg && self.is_use && self.late && !self.written
    }
}

const NONE: u32 = u32::MAX;
/// Needs beyond this number are not searched for all ways.
const MAX_SEARCHED: usize = 256;
/// Steps of one such search.
const SEARCH_STEPS: u64 = 100_000;

/// Matches the needs of one instruction after another.
#[derive(Default)]
pub(crate) struct Matcher {
    pub(crate) needs: Vec<Need>,
    /// Per point and register, the need that has it.
    owners: [Vec<u32>; 2],
    /// Per point (early, late), the registers of needs.
    pub(crate) taken: [PRegSet; 2],
    order: Vec<u32>,
    /// Registers that results on edges get.
    edge_regs: PRegSet,
    pub(crate) steps: u64,
}

/// How well a register suits a need: the least is best.
pub(crate) type Score<'a> = &'a dyn Fn(&Need, PReg) -> i32;

impl Matcher {
    /// Prepares for a problem.
    pub(crate) fn begin(&mut self) {
        self.clear();
        self.owners.iter_mut().for_each(|owners| owners.resize(PReg::COUNT, NONE));
        self.steps = 0;
    }

    /// Forgets all needs.
    pub(crate) fn clear(&mut self) {
        for n in 0..self.needs.len() {
            self.leave(n as u32);
        }
        self.needs.clear();
        self.order.clear();
        self.edge_regs = PRegSet::EMPTY;
    }

    /// Adds a need, or lets an older one of the same value serve it. Returns its number.
    pub(crate) fn add(&mut self, need: Need) -> u32 {
        let start = self.needs.len().saturating_sub(MAX_SEARCHED);
        let shared = self.needs[start..].iter_mut().position(|old| share(old, &need));
        let Some(i) = shared else { return self.push(need) };
        let n = (start + i) as u32;
        if self.needs[n as usize].reg.is_none() && !self.order.contains(&n) {
            self.take_fixed(n);
        }
        n
    }

    /// Adds a need that shares with no other.
    pub(crate) fn push(&mut self, need: Need) -> u32 {
        self.needs.push(need);
        let n = self.needs.len() as u32 - 1;
        self.take_fixed(n);
        n
    }

    /// A need for one certain register takes it at once.
    fn take_fixed(&mut self, n: u32) {
        let need = self.needs[n as usize];
        let is_free = |reg: &PReg| self.owners_of(&need, *reg).iter().all(|&owner| owner == NONE || owner == n);
        match only(need.allowed).filter(|reg| need.edge.is_none() && is_free(reg)) {
            Some(reg) => self.take(n, reg),
            None => self.order.push(n),
        }
    }

    /// Finds a register for each need.
    pub(crate) fn place_all(&mut self, env: &MachineEnv, inst: Inst, score: Score) -> Result<(), AllocError> {
        let needs = &self.needs;
        self.order.sort_by_key(|&n| {
            let need = &needs[n as usize];
            (need.edge, need.allowed.len(), !(need.early && need.late))
        });
        let mut edge = None;
        let mut group = 0;
        let mut failed = None;
        for i in 0..self.order.len() {
            let n = self.order[i];
            let need = self.needs[n as usize];
            if need.edge != edge {
                self.close_group(group, i);
                (edge, group) = (need.edge, i);
            }
            if !self.place(env, n, edge, &mut PRegSet::default(), score) {
                failed = Some(n);
                break;
            }
        }
        let Some(n) = failed else {
            self.close_group(group, self.order.len());
            return Ok(());
        };
        match self.search() {
            true => Ok(()),
            false => Err(refusal(inst, &self.needs[n as usize])),
        }
    }

    /// Registers in which nothing can live through: those of needs at the late point, on edges too.
    pub(crate) fn taken_late(&self) -> PRegSet {
        self.taken[1].union(self.edge_regs)
    }

    /// The register in which a value is before and after the instruction.
    pub(crate) fn carrier(&self, vreg: VReg) -> Option<PReg> {
        self.needs.iter().find(|need| need.carries(vreg)).and_then(|need| need.reg)
    }

    /// The need that has a register at the early point.
    pub(crate) fn early_owner(&self, reg: PReg) -> Option<&Need> {
        self.needs.get(self.owners[0][reg.index()] as usize)
    }

    /// Other edges do not see the results of this one.
    fn close_group(&mut self, from: usize, to: usize) {
        for i in from..to {
            let n = self.order[i];
            if self.needs[n as usize].edge.is_some() {
                self.leave(n);
                self.edge_regs = self.needs[n as usize].reg.map_or(self.edge_regs, |reg| self.edge_regs.with(reg));
            }
        }
    }

    fn place(&mut self, env: &MachineEnv, n: u32, edge: Option<Edge>, tried: &mut PRegSet, score: Score) -> bool {
        let need = self.needs[n as usize];
        if let Some(reg) = only(need.allowed) {
            let clash = edge.is_none() && need.late && self.edge_regs.contains(reg);
            if !clash && self.owners_of(&need, reg) == [NONE; 2] {
                self.steps += 1;
                self.take(n, reg);
                return true;
            }
        }
        let order = &env.class(need.class).order;
        let mut best: Option<(i32, PReg)> = None;
        for &reg in order.iter().filter(|&&reg| need.allowed.contains(reg)) {
            self.steps += 1;
            let free = self.owners_of(&need, reg) == [NONE; 2];
            let clash = edge.is_none() && need.late && self.edge_regs.contains(reg);
            if free && !clash {
                let score = score(&need, reg);
                if best.is_none_or(|(least, _)| score < least) {
                    best = Some((score, reg));
                }
            }
        }
        if let Some((_, reg)) = best {
            self.take(n, reg);
            return true;
        }
        for &reg in order.iter().filter(|&&reg| need.allowed.contains(reg)) {
            self.steps += 1;
            let rival = match self.owners_of(&need, reg) {
                [a, b] if a != NONE && b != NONE && a != b => continue,
                [NONE, NONE] => continue,
                [NONE, rival] | [rival, _] => rival,
            };
            if tried.contains(reg) || self.needs[rival as usize].edge != edge {
                continue;
            }
            tried.insert(reg);
            self.leave(rival);
            self.take(n, reg);
            if self.place(env, rival, edge, tried, score) {
                return true;
            }
            self.leave(n);
            self.take(rival, reg);
        }
        false
    }

    fn owners_of(&self, need: &Need, reg: PReg) -> [u32; 2] {
        let owner = |point: usize, needed: bool| if needed { self.owners[point][reg.index()] } else { NONE };
        [owner(0, need.early), owner(1, need.late)]
    }

    fn take(&mut self, n: u32, reg: PReg) {
        let need = &mut self.needs[n as usize];
        need.reg = Some(reg);
        for ((owners, taken), needed) in self.owners.iter_mut().zip(&mut self.taken).zip([need.early, need.late]) {
            if needed {
                owners[reg.index()] = n;
                taken.insert(reg);
            }
        }
    }

    fn leave(&mut self, n: u32) {
        let Some(reg) = self.needs[n as usize].reg else { return };
        for (owners, taken) in self.owners.iter_mut().zip(&mut self.taken) {
            if owners[reg.index()] == n {
                owners[reg.index()] = NONE;
                taken.remove(reg);
            }
        }
    }

    /// Depth first over all ways, bounded.
    fn search(&mut self) -> bool {
        if self.needs.len() > MAX_SEARCHED {
            return false;
        }
        for n in 0..self.needs.len() {
            self.leave(n as u32);
            self.needs[n].reg = None;
        }
        self.order.clear();
        self.order.extend(0..self.needs.len() as u32);
        let needs = &self.needs;
        self.order.sort_by_key(|&n| needs[n as usize].allowed.len());
        let limit = self.steps + SEARCH_STEPS;
        let mut depth = 0;
        // Per depth, the registers not yet tried.
        let mut left: Vec<PRegSet> = vec![self.needs[self.order[0] as usize].allowed];
        while depth < self.order.len() {
            self.steps += 1;
            if self.steps > limit {
                return false;
            }
            let n = self.order[depth] as usize;
            let Some(reg) = left[depth].iter().next() else {
                self.needs[n].reg = None;
                left.pop();
                if depth == 0 {
                    return false;
                }
                depth -= 1;
                continue;
            };
            left[depth].remove(reg);
            let need = self.needs[n];
            let before = &self.order[..depth];
            let free = before.iter().all(|&m| {
                let other = &self.needs[m as usize];
                other.reg != Some(reg) || !meet(&need, other)
            });
            if free {
                self.needs[n].reg = Some(reg);
                depth += 1;
                if let Some(&next) = self.order.get(depth) {
                    left.push(self.needs[next as usize].allowed);
                }
            }
        }
        for n in 0..self.needs.len() {
            let Need { edge, reg: Some(reg), .. } = self.needs[n] else { continue };
            match edge {
                None => self.take(n as u32, reg),
                Some(_) => self.edge_regs.insert(reg),
            }
        }
        true
    }
}

/// The member of a set that has one only.
fn only(set: PRegSet) -> Option<PReg> {
    RegClass::ALL.into_iter().find_map(|class| {
        let mask = set.mask(class);
        let single = mask != 0 && mask & (mask - 1) == 0 && set.len() == 1;
        single.then(|| PReg::new(class, mask.trailing_zeros() as u8))
    })
}

/// May the two never share a register?
fn meet(a: &Need, b: &Need) -> bool {
    let points = a.early && b.early || a.late && b.late;
    points && (a.edge == b.edge || a.edge.is_none() || b.edge.is_none())
}

/// Lets `new` share the register of `old` if both are uses of one value and no constraint becomes harder to meet.
fn share(old: &mut Need, new: &Need) -> bool {
    if old.vreg != new.vreg || !old.is_use || !new.is_use || old.written && new.written {
        return false;
    }
    let covers = |long: &Need, short: &Need| {
        let points = long.late || !short.late;
        points && !(short.late && long.written) && long.allowed.difference(short.allowed).is_empty()
    };
    if !new.written && covers(old, new) {
        return true;
    }
    if !old.written && covers(new, old) {
        *old = *new;
        return true;
    }
    false
}

fn refusal(inst: Inst, need: &Need) -> AllocError {
    match need.allowed.iter().next() {
        Some(reg) if need.allowed.len() == 1 => AllocError::FixedConflict { inst, reg },
        _ => AllocError::TooFewRegisters { inst, class: need.class },
    }
}
