//! The register hint of each class of values: the most frequent class chooses first.
//!
//! Values that are in registers at the same block boundary need different ones. A block boundary has no more
//! members than there are registers, so that nearly every class finds a register that is free at all its
//! boundaries. Edges between these boundaries need no moves. A class without such a register takes the one that is
//! free at its most frequent boundaries. Fixed operands attract their values. Instructions repel values that live
//! through them from the registers that they take.
//!
//! The result is only a hint: coloring may put a value elsewhere at any point.
//!
//! Cost: linear in the members of boundaries, except for sorting classes.

use crate::constraints::ClobberPoint;
use crate::preference::Preference;
use crate::spill_input::SpillInput;
use crate::spill_plan::SpillPlan;
use crate::tables::{reset, scaled, unscaled};
use crate::uses::LIVE_OUT;
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, PReg, PRegSet, RegClass, VReg};
use kingpost_regalloc_common::order::{BlockIndex, OrderedBlock};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::release;
use std::fmt::{self, Write};

const NONE: u8 = u8::MAX;
/// End of a list.
const END: u32 = u32::MAX;
/// An instruction that takes more registers than this from values that live through it is treated as a call.
const FEW: u32 = 4;
/// Limit on the clobber points examined per member.
const MAX_POINTS: usize = 16;

/// Entry of a class that lives through no call.
const NO_CALL: (Position, u32) = (Position::new(0), 0);

/// The head or the end of a block.
#[derive(Clone, Copy, Debug)]
struct Boundary(u32);

impl Boundary {
    fn head(block: BlockIndex) -> Boundary {
        Boundary(2 * block.as_u32())
    }

    fn end(block: BlockIndex) -> Boundary {
        Boundary(2 * block.as_u32() + 1)
    }

    fn block(self) -> BlockIndex {
        BlockIndex::from_u32(self.0 / 2)
    }

    fn is_head(self) -> bool {
        self.0.is_multiple_of(2)
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A class of values with boundaries.
#[derive(Clone, Copy, Debug)]
struct Group {
    class: VReg,
    /// Sum of the frequencies of its boundaries.
    freq: u64,
    /// Index of its last member.
    member: u32,
    /// Index of its last fixed operand.
    fixed: u32,
}

/// A member of a class that is in a register at a boundary.
#[derive(Clone, Copy, Debug)]
struct Member {
    boundary: Boundary,
    vreg: VReg,
    /// Index of the previous member of this class.
    other: u32,
}

/// A fixed operand: its register and frequency.
#[derive(Clone, Copy, Debug)]
struct FixedHint {
    reg: PReg,
    freq: u32,
    /// Index of the previous fixed operand of this class.
    other: u32,
}

/// A group by the frequency of its boundaries, in descending order, then by its class, in one number that is
/// compared without a branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u128);

impl Rank {
    fn new(group: &Group, number: usize) -> Rank {
        Rank(u128::from(!group.freq) << 64 | u128::from(group.class.as_u32()) << 32 | number as u128)
    }

    fn group(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Registers that are taken from members of the current group, and the frequency.
#[derive(Clone, Copy)]
struct Repelled {
    regs: u64,
    often: i64,
}

#[derive(Default)]
pub(crate) struct RegisterHints {
    /// Per value, the index of its register, or [`NONE`].
    hints: Vec<u8>,
    /// Per value, the last call that its class lives through, and the frequency of the call. Empty if no
    /// instruction takes registers.
    last_calls: Vec<(Position, u32)>,
    /// Per representative of a class, and per value met at a boundary, the index of the class's group, or [`END`].
    numbers: Vec<u32>,
    groups: Vec<Group>,
    members: Vec<Member>,
    fixed: Vec<FixedHint>,
    /// Frequencies per boundary.
    freqs: Vec<u32>,
    /// Per class of registers and boundary, the assigned registers. Empty if no value of the class is at a
    /// boundary.
    taken: [Vec<u64>; 2],
    /// Per block, the index of its first clobber point. One more index ends the list.
    points: Vec<u32>,
    /// The groups in the order in which they choose.
    order: Vec<Rank>,
    /// Registers of each class in order of preference.
    pub(crate) preferences: [Preference; 2],
    /// Per register of the current class, its suitability.
    suits: Vec<i64>,
    /// Whether the entries of `suits` differ.
    differ: bool,
    pub(crate) steps: u64,
}

heap_bytes!(RegisterHints { hints, last_calls, numbers, groups, members, fixed, freqs, taken, points, order, suits } without { preferences, differ, steps });

impl RegisterHints {
    /// Chooses a register for each class.
    ///
    /// # Errors
    /// If the meter refuses.
    pub(crate) fn run(&mut self, input: &SpillInput, plan: &SpillPlan) -> Result<(), AllocError> {
        let values = input.problem.vregs.len();
        let blocks = input.order.num_blocks();
        reset(&mut self.hints, values, NONE);
        let has_calls = blocks > 1 && !input.constraints.clobber_points.is_empty();
        reset(&mut self.last_calls, if has_calls { values } else { 0 }, NO_CALL);
        self.steps = 0;
        self.order.clear();
        reset(&mut self.suits, 64, 0);
        self.differ = false;
        for (preference, class) in self.preferences.iter_mut().zip(&input.env.classes) {
            preference.set(&class.order);
        }
        self.taken.iter_mut().for_each(Vec::clear);
        if blocks > 1 {
            self.find_freqs(input);
            input.meter.reserve(4 * blocks as u64)?;
            self.find_boundaries(input, plan);
            input.meter.reserve(2 * self.members.len() as u64)?;
            self.find_points(input);
            self.sort_classes();
            for i in 0..self.order.len() {
                self.choose(input, plan, self.groups[self.order[i].group()]);
            }
            for &vreg in &input.classes.merged {
                if has_calls {
                    self.last_calls[vreg.index()] = self.last_calls[input.classes.class(vreg).index()];
                }
                self.hints[vreg.index()] = self.hints[input.classes.class(vreg).index()];
            }
        }
        Ok(())
    }

    /// Frees memory of a large problem that later phases do not need.
    pub(crate) fn release(&mut self) {
        release(&mut self.numbers);
        release(&mut self.groups);
        release(&mut self.members);
        release(&mut self.order);
        release(&mut self.fixed);
        release(&mut self.freqs);
        release(&mut self.points);
    }

    /// Frees memory of a large problem that the answer does not need.
    pub(crate) fn close(&mut self) {
        release(&mut self.hints);
        release(&mut self.last_calls);
        self.taken.iter_mut().for_each(release);
    }

    /// Returns the hint of the class of a value.
    pub(crate) fn get(&self, vreg: VReg) -> Option<PReg> {
        let hint = self.hints[vreg.index()];
        (hint != NONE).then(|| PReg::from_index(usize::from(hint)))
    }

    /// Returns the frequency of the last call that the class of the value lives through, in units of [`Freq`]; 0 if
    /// that call is before `at`.
    ///
    /// [`Freq`]: kingpost_regalloc::Freq
    pub(crate) fn call_after(&self, vreg: VReg, at: Position) -> u64 {
        let (call, freq) = self.last_calls.get(vreg.index()).copied().unwrap_or(NO_CALL);
        if call > at { unscaled(freq) } else { 0 }
    }

    /// Returns the hints of all values that are in registers at the end of a block.
    pub(crate) fn at_end(&self, block: BlockIndex) -> PRegSet {
        let taken = |class: RegClass| self.taken[class.index()].get(Boundary::end(block).index()).copied().unwrap_or(0);
        let [int, float] = RegClass::ALL.map(|class| PRegSet::from_mask(class, taken(class)));
        int.union(float)
    }

    /// Computes the frequencies of boundaries. A bare jump has no boundaries of its own: the values at its end are
    /// the values at the end of its predecessor, and most of them are at the head of its successor, which gets its
    /// frequency.
    fn find_freqs(&mut self, input: &SpillInput) {
        let (problem, order) = (input.problem, input.order);
        self.freqs.clear();
        for block in order.blocks().values() {
            self.freqs.extend_from_slice(&[scaled(block.freq); 2]);
        }
        for (index, block) in order.blocks().iter().filter(|block| input.live.jumps.are[block.0.index()]) {
            let to = order.index(problem.edge(problem.succs(block.block)[0]).to);
            let freq = self.freqs[Boundary::end(index).index()];
            let head = &mut self.freqs[Boundary::head(to).index()];
            *head = head.saturating_add(freq);
        }
    }

    fn find_boundaries(&mut self, input: &SpillInput, plan: &SpillPlan) {
        reset(&mut self.numbers, input.problem.vregs.len(), END);
        let RegisterHints { numbers, groups, members, freqs, .. } = self;
        groups.clear();
        members.clear();
        for index in input.order.indices().filter(|index| !input.live.jumps.are[index.index()]) {
            let ends = [(Boundary::head(index), plan.entry(index)), (Boundary::end(index), plan.exit(index))];
            for (boundary, values) in ends {
                let freq = u64::from(freqs[boundary.index()]);
                let start = members.len();
                members.extend(values.iter().map(|&vreg| Member { boundary, vreg, other: END }));
                for (at, member) in (start as u32..).zip(&mut members[start..]) {
                    let number = match numbers[member.vreg.index()] {
                        END => number_of(input, member.vreg, numbers, groups),
                        number => number,
                    };
                    let group = &mut groups[number as usize];
                    group.freq += freq;
                    member.other = std::mem::replace(&mut group.member, at);
                }
            }
        }
        self.steps += self.members.len() as u64;
    }

    /// Finds the clobber points of each block, and the fixed operands there.
    fn find_points(&mut self, input: &SpillInput) {
        let points = &input.constraints.clobber_points;
        self.points.clear();
        self.fixed.clear();
        let mut next = 0;
        for block in input.order.blocks().values() {
            self.points.push(next);
            while let Some(point) = points.get(next as usize).filter(|point| point.position < block.end) {
                self.find_fixed(input, point, block);
                next += 1;
            }
        }
        self.points.push(next);
    }

    fn find_fixed(&mut self, input: &SpillInput, point: &ClobberPoint, block: &OrderedBlock) {
        let problem = input.problem;
        let inst = block.inst(point.position);
        let range = problem.operand_range(inst);
        let late = input.constraints.taken(point).late;
        for (operand, after) in problem.operands(inst).iter().zip(&input.live.after[range]) {
            // A value that lives on needs a copy anyway if the instruction destroys the register.
            let is_lost = |reg| operand.is_use() && !after.is_dead() && late.contains(reg);
            let Some(reg) = operand.fixed_reg().filter(|&reg| !is_lost(reg)) else { continue };
            let number = self.numbers[input.classes.class(operand.vreg()).index()];
            if let Some(group) = self.groups.get_mut(number as usize) {
                let other = std::mem::replace(&mut group.fixed, self.fixed.len() as u32);
                self.fixed.push(FixedHint { reg, freq: scaled(block.freq), other });
            }
        }
    }

    fn sort_classes(&mut self) {
        self.order.extend(self.groups.iter().enumerate().map(|(number, group)| Rank::new(group, number)));
        self.order.sort_unstable();
    }

    fn choose(&mut self, input: &SpillInput, plan: &SpillPlan, group: Group) {
        let class = input.problem.class(group.class);
        if self.taken[class.index()].is_empty() {
            reset(&mut self.taken[class.index()], self.freqs.len(), 0);
        }
        self.attract(group);
        let (taken, repelled) = self.repel(input, group, class);
        let open = plan.open.mask(class);
        let free = open & !taken;
        let good = free & !repelled.regs;
        let best = if good != 0 && !self.differ {
            self.preferences[class.index()].best(class, good)
        } else {
            lower(&mut self.suits, repelled);
            self.differ = true;
            let order = &input.env.class(class).order[..];
            let best = self.best_suited(order, free);
            if best.is_some_and(|reg| self.suits[usize::from(reg.enc())] >= 0) {
                best
            } else {
                self.weigh_taken(group, class, open);
                self.best_suited(order, open)
            }
        };
        let Some(reg) = best else { return };
        self.hints[group.class.index()] = reg.index() as u8;
        let taken = &mut self.taken[class.index()][..];
        for member in chain(&self.members, group) {
            taken[member.boundary.index()] |= 1 << reg.enc();
        }
    }

    /// Raises the suitability of the registers of the members' fixed operands. Ends, because each operand leads
    /// to one that was added before it.
    fn attract(&mut self, group: Group) {
        if std::mem::take(&mut self.differ) {
            self.suits.fill(0);
        }
        let mut fixed = group.fixed;
        while let Some(&FixedHint { reg, freq, other }) = self.fixed.get(fixed as usize) {
            self.suits[usize::from(reg.enc())] += i64::from(freq);
            self.differ = true;
            fixed = other;
        }
    }

    /// Lowers the suitability of registers at the boundaries where they are taken, if no register is free at all
    /// boundaries.
    #[cold]
    fn weigh_taken(&mut self, group: Group, class: RegClass, open: u64) {
        self.differ = true;
        for &Member { boundary, .. } in chain(&self.members, group) {
            let often = i64::from(self.freqs[boundary.index()]);
            let regs = self.taken[class.index()][boundary.index()] & open;
            lower(&mut self.suits, Repelled { regs, often });
        }
    }

    /// Returns the first of the most suitable registers.
    fn best_suited(&self, order: &[PReg], candidates: u64) -> Option<PReg> {
        let suits = |reg: &PReg| self.suits[usize::from(reg.enc())];
        order.iter().copied().filter(|reg| candidates >> reg.enc() & 1 != 0).rev().max_by_key(suits)
    }

    /// Returns the registers taken at boundaries of members, and the last set of registers that instructions take
    /// from members. Most of these instructions are calls with equal sets, which are summed; a set that differs
    /// from the previous one first adds the previous one to `suits`.
    fn repel(&mut self, input: &SpillInput, group: Group, class: RegClass) -> (u64, Repelled) {
        let (mut taken, mut last) = (0, Repelled { regs: 0, often: 0 });
        for &Member { boundary, vreg, .. } in chain(&self.members, group) {
            taken |= self.taken[class.index()][boundary.index()];
            let index = boundary.block();
            let points = self.points[index.index()] as usize..self.points[index.index() + 1] as usize;
            if points.is_empty() {
                continue;
            }
            // A value that lives on is counted at its end boundary.
            let until = match boundary.is_head() {
                true => input.live.end_in(index, vreg).filter(|&end| end != LIVE_OUT),
                false => Some(LIVE_OUT),
            };
            let Some(until) = until else { continue };
            let since = input.live.defs[vreg.index()].point.max(input.order.block(index).start());
            let often = i64::from(self.freqs[boundary.index()]);
            let point_of = |point: &ClobberPoint| ProgPoint::late(point.position);
            let met = input.constraints.clobber_points[points].iter().rev();
            let met = met.skip_while(|&point| point_of(point) >= until);
            for point in met.take(MAX_POINTS).take_while(|&point| point_of(point) > since) {
                let regs = input.constraints.taken(point).all().mask(class);
                if regs.count_ones() > FEW {
                    let last = &mut self.last_calls[group.class.index()];
                    *last = (point.position, self.freqs[boundary.index()]).max(*last);
                }
                if regs != last.regs && regs != 0 {
                    if last.regs != 0 {
                        lower(&mut self.suits, last);
                        self.differ = true;
                    }
                    last = Repelled { regs, often: 0 };
                }
                last.often += if regs == 0 { 0 } else { often };
            }
        }
        (taken, last)
    }

    /// Writes one line per class with a hint.
    pub(crate) fn dump(&self, out: &mut String) -> fmt::Result {
        for class in self.order.iter().map(|rank| self.groups[rank.group()].class) {
            if let Some(reg) = self.get(class) {
                writeln!(out, "{class} in {reg}")?;
            }
        }
        Ok(())
    }
}

/// Returns the group of the class of a value, and creates it if necessary. The value had no group before.
#[inline(never)]
fn number_of(input: &SpillInput, vreg: VReg, numbers: &mut [u32], groups: &mut Vec<Group>) -> u32 {
    let class = input.classes.class(vreg);
    let mut number = numbers[class.index()];
    if number == END {
        number = groups.len() as u32;
        numbers[class.index()] = number;
        groups.push(Group { class, freq: 0, member: END, fixed: END });
    }
    numbers[vreg.index()] = number;
    number
}

/// Lowers the suitability of repelled registers.
fn lower(suits: &mut [i64], repelled: Repelled) {
    let mut left = repelled.regs;
    while left != 0 {
        suits[left.trailing_zeros() as usize] -= repelled.often;
        left &= left - 1;
    }
}

/// Returns the members of a group, beginning with the last. Ends, because each member leads to one that was
/// added before it.
fn chain(members: &[Member], group: Group) -> impl Iterator<Item = &Member> {
    let mut next = group.member;
    std::iter::from_fn(move || {
        let member = members.get(next as usize)?;
        next = member.other;
        Some(member)
    })
}
