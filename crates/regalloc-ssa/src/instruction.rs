//! One instruction: registers for its operands, moving only what is in the way.
//!
//! Operands that need registers are matched with registers first. Values that live on stay where they are if they can;
//! those in the way go to a free register, or to memory if all values in registers are used sooner. All moves together
//! are one parallel move before the instruction.

use crate::coalescing::Coalescing;
use crate::coloring::{Coloring, Input, Next};
use crate::liveness::{AWAY, DEAD};
use crate::matching::Need;
use crate::reload::Reloads;
use cranelift_entity::SecondaryMap;
use kingpost_regalloc::{
    AllocError, Allocation, Block, Constraint, Edge, Edit, Freq, Inst, InstFlags, Loc, NoRegister, Operand, PReg,
    PRegSet, Pos, VReg,
};
use std::cmp::Ordering::{Equal, Less};

/// What an operand was given, or how it will be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    Open,
    Need(u32),
    At(Loc),
    SameAs(u8),
}

/// Memory for one instruction after another.
#[derive(Default)]
pub(crate) struct Scratch {
    choices: Vec<Choice>,
    reused_by: Vec<Option<u8>>,
    /// Values that must leave their registers, with the positions of their next uses.
    displaced: Vec<(u32, VReg)>,
    /// Who will be where after the moves, of those that live on.
    survivors: Vec<(VReg, PReg)>,
    surviving: PRegSet,
    /// Registers read at the early point only.
    claims: PRegSet,
    edges: SecondaryMap<VReg, EdgeOf>,
}

#[derive(Clone, Copy, Default)]
struct EdgeOf(Option<Edge>);

/// The instruction at hand.
#[derive(Clone, Copy)]
struct At<'a> {
    input: Input<'a>,
    block: Block,
    inst: Inst,
    operands: &'a [Operand],
    is_safepoint: bool,
}

impl At<'_> {
    fn killed(&self, vreg: VReg) -> PRegSet {
        self.input.problem.clobbers(self.inst).killed(self.input.problem.width(vreg))
    }

    fn allocatable(&self, vreg: VReg) -> PRegSet {
        self.input.allocatable.of_class(self.input.problem.class(vreg))
    }

    /// Does the collector take the value out of registers?
    fn collected(&self, vreg: VReg) -> bool {
        self.is_safepoint && self.input.problem.vregs[vreg].is_ref
    }
}

impl Coloring {
    /// Serves instruction `inst` at position `pos` of `block`.
    pub(crate) fn instruction(
        &mut self,
        input: Input,
        (block, inst): (Block, Inst),
        classes: &mut Coalescing,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let flags = input.problem.flags(inst);
        let operands = input.problem.operands(inst);
        let at = At { input, block, inst, operands, is_safepoint: flags.has(InstFlags::SAFEPOINT) };
        for i in input.problem.operand_range(inst) {
            self.next[input.problem.all_operands()[i].vreg()] = Next(input.live.next_after[i]);
        }
        if flags.has(InstFlags::REMAT) && self.defer(at, out) {
            return Ok(());
        }
        let is_terminator = inst == input.problem.terminator(block);
        if is_terminator {
            self.find_edges(at, block);
        }
        self.make_needs(at, is_terminator)?;
        self.place_needs(at, classes, reloads, out)?;
        self.choose_survivors(at, classes, reloads, out);
        self.settle_open(at, reloads, out);
        self.move_values(at, reloads, out)?;
        self.answer(at, is_terminator, classes, reloads, out);
        Ok(())
    }

    /// A value that can be computed anywhere is computed where it is used, if that is in this block, far away or nowhere.
    fn defer(&mut self, at: At, out: &mut Allocation) -> bool {
        let problem = at.input.problem;
        let vreg = at.operands[0].vreg();
        let block_end = problem.insts(at.block).len() as u32;
        let next = self.next[vreg].0;
        let here = (next < block_end || next >= AWAY) && !at.input.live.read_in_memory[vreg] && !self.labelled[vreg];
        if next != DEAD && !here {
            return false;
        }
        self.original[vreg] = false;
        out.drop_inst(at.inst);
        true
    }

    /// Which edge each result of a branch belongs to.
    fn find_edges(&mut self, at: At, block: Block) {
        for operand in at.operands {
            self.scratch.edges[operand.vreg()] = EdgeOf(None);
        }
        for &edge in at.input.problem.succs(block) {
            let to = at.input.problem.edge(edge).to;
            for &vreg in at.input.problem.edge_defs(edge) {
                self.scratch.edges[vreg] = EdgeOf(Some(edge));
                let entries = at.input.live.entry(to);
                if let Ok(i) = entries.binary_search_by_key(&vreg, |entry| entry.0) {
                    self.next[vreg] = Next(entries[i].1);
                }
            }
        }
    }

    fn make_needs(&mut self, at: At, is_terminator: bool) -> Result<(), AllocError> {
        self.matcher.clear();
        let scratch = &mut self.scratch;
        scratch.choices.clear();
        scratch.choices.resize(at.operands.len(), Choice::Open);
        scratch.reused_by.clear();
        scratch.reused_by.resize(at.operands.len(), None);
        for (i, operand) in at.operands.iter().enumerate() {
            if let Constraint::Reuse(k) = operand.constraint() {
                scratch.reused_by[usize::from(k)] = Some(i as u8);
                scratch.choices[i] = Choice::SameAs(k);
            }
        }
        for (i, &operand) in at.operands.iter().enumerate() {
            let reuser = self.scratch.reused_by[i].map(|def| at.operands[usize::from(def)]);
            let flexible = matches!(operand.constraint(), Constraint::MemOk | Constraint::Any | Constraint::Stack);
            let optional = flexible && reuser.is_none_or(|def| def.is_rmw());
            if self.scratch.choices[i] != Choice::Open || optional {
                continue;
            }
            let need = self.need(at, operand, reuser, is_terminator);
            if need.allowed.is_empty() {
                return Err(match operand.fixed_reg() {
                    Some(reg) => AllocError::FixedConflict { inst: at.inst, reg },
                    None => AllocError::TooFewRegisters { inst: at.inst, class: need.class },
                });
            }
            self.scratch.choices[i] = Choice::Need(self.matcher.add(need));
        }
        Ok(())
    }

    fn need(&self, at: At, operand: Operand, reuser: Option<Operand>, is_terminator: bool) -> Need {
        let problem = at.input.problem;
        let vreg = operand.vreg();
        let allowed = match operand.constraint() {
            Constraint::Fixed(reg) => PRegSet::EMPTY.with(reg),
            Constraint::Within(set) => problem.reg_set(set),
            _ => at.allocatable(vreg),
        };
        let late = operand.is_def() || operand.pos() == Pos::Late || reuser.is_some();
        let killed = if late { at.killed(vreg) } else { PRegSet::EMPTY };
        let killed = reuser.map_or(killed, |def| killed.union(at.killed(def.vreg())));
        Need {
            vreg,
            class: problem.class(vreg),
            allowed: allowed.intersection(at.allocatable(vreg)).difference(killed),
            early: operand.is_use() || operand.pos() == Pos::Early,
            late,
            is_use: operand.is_use(),
            written: operand.is_def() || reuser.is_some(),
            edge: if is_terminator && operand.is_def() { self.scratch.edges[vreg].0 } else { None },
            reg: None,
        }
    }

    /// How little a register suits a need.
    fn score(&self, at: At, classes: &Coalescing, need: &Need, reg: PReg) -> i32 {
        let mut score = 0;
        let vreg = need.vreg;
        let lives_on = self.next[vreg].0 != DEAD;
        if need.is_use && self.at[vreg] == Some(reg) {
            // A copy is overwritten rather than the value itself, which may well be where others look for it.
            score += if need.written && lives_on { 5 } else { -20 };
        }
        match self.resident(reg) {
            Some(other) if other != vreg => {
                let dies = self.next[other].0 == DEAD;
                score += match (dies, need.early) {
                    (true, true) => 6,
                    (true, false) => -2,
                    (false, _) => 12,
                };
            }
            _ => {}
        }
        score + self.suits(at.input, classes, vreg, reg, at.inst)
    }

    /// How little a register suits a value from `inst` on, whoever is there.
    pub(crate) fn suits(&self, input: Input, classes: &Coalescing, vreg: VReg, reg: PReg, inst: Inst) -> i32 {
        let (first, last) = self.bounds;
        let next = self.next[vreg].0;
        let mut score = self.saving(input, vreg, reg);
        if self.former[vreg] == Some(reg) {
            score -= 4;
        }
        let wish = input.live.wishes[vreg].filter(|&(_, at)| at.saturating_add(first) > inst.as_u32());
        if wish.is_some_and(|(wish, _)| wish == reg) {
            score -= 6;
        } else if next != DEAD {
            let taken = input.live.next_taken(reg, inst).as_u32();
            score += match taken.cmp(&first.saturating_add(next)) {
                Less if taken <= last => 4,
                Equal if taken <= last => 2,
                _ => 0,
            };
        }
        let kept = !input.live.crosses[vreg] || input.env.class(reg.class()).callee_saved.contains(reg);
        if kept && classes.home(vreg) == Some(reg) { score - 4 } else { score }
    }

    /// Would the value cost more in memory than one more register to save and restore?
    fn is_worth_saving(&self, input: Input, vreg: VReg) -> bool {
        let costs = &input.env.costs;
        let memory = input.live.weights[vreg].saturating_mul(u64::from(costs.fill));
        let memory = if input.live.remat[vreg].is_some() { memory / 2 } else { memory };
        memory > Freq::ENTRY.0 * u64::from(costs.callee_saved)
    }

    /// Callee-saved registers are for values that live across calls.
    fn saving(&self, input: Input, vreg: VReg, reg: PReg) -> i32 {
        let saved = input.env.class(reg.class()).callee_saved.contains(reg);
        match (input.live.crosses[vreg], saved) {
            (true, true) if self.used.contains(reg) || self.is_worth_saving(input, vreg) => -5,
            (true, true) => 8,
            (true, false) => 0,
            (false, true) if self.used.contains(reg) => 1,
            (false, true) => 3,
            (false, false) => 0,
        }
    }

    fn place_needs(
        &mut self,
        at: At,
        classes: &Coalescing,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        if self.matcher.needs.is_empty() && !self.scratch.choices.contains(&Choice::Open) {
            return Ok(());
        }
        let mut matcher = std::mem::take(&mut self.matcher);
        let mut result = Ok(());
        if !matcher.needs.is_empty() {
            let score = |need: &Need, reg: PReg| self.score(at, classes, need, reg);
            result = matcher.place_all(at.input.env, at.inst, &score);
        }
        if result.is_ok() {
            for i in 0..at.operands.len() {
                if self.scratch.choices[i] == Choice::Open {
                    self.scratch.choices[i] = self.place_optional(at, i, classes, &mut matcher, reloads, out);
                }
            }
        }
        self.matcher = matcher;
        result
    }

    /// An operand that may be in memory. Uses that are in registers now are left open.
    fn place_optional(
        &mut self,
        at: At,
        i: usize,
        classes: &Coalescing,
        matcher: &mut crate::matching::Matcher,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) -> Choice {
        let operand = at.operands[i];
        let vreg = operand.vreg();
        let problem = at.input.problem;
        let reuser = self.scratch.reused_by[i].map(|def| at.operands[usize::from(def)]);
        if operand.constraint() == Constraint::Stack {
            return Choice::At(reloads.store(problem, vreg, out));
        }
        let is_branch_def = operand.is_def() && problem.flags(at.inst).has(InstFlags::BRANCH);
        let in_memory = self.at[vreg].is_none() && reloads.slot(vreg).is_some() && reuser.is_none();
        let wanted = match operand.is_use() {
            true if reuser.is_none() && self.at[vreg].is_some() => return Choice::Open,
            true => !in_memory,
            false => !is_branch_def,
        };
        let need = self.need(at, operand, reuser, is_branch_def);
        if wanted && !need.allowed.is_empty() {
            matcher.needs.push(need);
            let score = |need: &Need, reg: PReg| self.score(at, classes, need, reg);
            if matcher.place_last(at.input.env, &score) {
                return Choice::Need(matcher.needs.len() as u32 - 1);
            }
        }
        match reuser {
            // The memory twin modifies the slot of the result.
            Some(def) => {
                reloads.store(problem, vreg, out);
                Choice::At(reloads.store(problem, def.vreg(), out))
            }
            None => Choice::At(reloads.store(problem, vreg, out)),
        }
    }

    fn choose_survivors(&mut self, at: At, classes: &Coalescing, reloads: &mut Reloads, out: &mut Allocation) {
        let (early, late) = (self.matcher.taken(0), self.matcher.taken(1));
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.displaced.clear();
        scratch.survivors.clear();
        scratch.surviving = PRegSet::EMPTY;
        scratch.claims = PRegSet::EMPTY;
        for reg in self.occupied.iter() {
            let Some(vreg) = self.resident(reg) else { continue };
            let next = self.next[vreg].0;
            if next == DEAD || at.collected(vreg) {
                continue;
            }
            let own = !early.contains(reg) || self.matcher.early_owner(reg).is_some_and(|need| need.vreg == vreg);
            if own && !late.contains(reg) && !at.killed(vreg).contains(reg) {
                scratch.keep(vreg, reg);
            } else {
                scratch.displaced.push((next, vreg));
            }
        }
        for need in self.matcher.needs.iter().filter(|need| need.is_use && !need.written) {
            let Some(reg) = need.reg else { continue };
            let lives_on = self.next[need.vreg].0 != DEAD && !at.collected(need.vreg);
            let free = need.late || !late.contains(reg);
            let kept = scratch.survivors.iter().any(|s| s.0 == need.vreg);
            if lives_on && free && !kept && !at.killed(need.vreg).contains(reg) {
                scratch.keep(need.vreg, reg);
            }
        }
        self.claim(at, early, late, &mut scratch);
        self.settle_displaced(at, early.union(late), classes, &mut scratch, reloads, out);
        self.scratch = scratch;
    }

    /// Open operands read their value where it is, if that register is not taken.
    fn claim(&mut self, at: At, early: PRegSet, late: PRegSet, scratch: &mut Scratch) {
        for (i, operand) in at.operands.iter().enumerate() {
            let vreg = operand.vreg();
            let (Choice::Open, Some(reg)) = (scratch.choices[i], self.at[vreg]) else { continue };
            let own = !early.contains(reg) || self.matcher.early_owner(reg).is_some_and(|need| need.vreg == vreg);
            let lasts = operand.pos() == Pos::Early || !late.contains(reg) && !at.killed(vreg).contains(reg);
            if own && lasts {
                scratch.claims.insert(reg);
                scratch.choices[i] = Choice::At(Loc::reg(reg));
            }
        }
    }

    fn settle_displaced(
        &mut self,
        at: At,
        taken: PRegSet,
        classes: &Coalescing,
        scratch: &mut Scratch,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) {
        let mut displaced = std::mem::take(&mut scratch.displaced);
        displaced.sort_unstable();
        for &(next, vreg) in &displaced {
            if scratch.survivors.iter().any(|s| s.0 == vreg) {
                continue;
            }
            let possible =
                at.allocatable(vreg).difference(at.killed(vreg)).difference(taken).difference(scratch.claims);
            let class = at.input.problem.class(vreg);
            let fresh = at.input.env.class(class).callee_saved.difference(self.used);
            let barred = if self.is_worth_saving(at.input, vreg) { PRegSet::EMPTY } else { fresh };
            let free = possible.difference(scratch.surviving).difference(barred);
            let order = &at.input.env.class(class).order;
            let suits = |reg: &PReg| self.suits(at.input, classes, vreg, *reg, at.inst);
            if let Some(&reg) = order.iter().filter(|&&reg| free.contains(reg)).min_by_key(|reg| suits(reg)) {
                scratch.keep(vreg, reg);
                continue;
            }
            let rivals = scratch.survivors.iter().enumerate().filter(|(_, s)| possible.contains(s.1));
            let farthest = rivals.max_by_key(|(_, s)| (self.next[s.0].0, s.0)).map(|(i, s)| (i, *s));
            match farthest {
                Some((i, (rival, reg))) if self.next[rival].0 > next => {
                    scratch.survivors[i] = (vreg, reg);
                    reloads.leave(at.input.problem, at.input.live, rival, out);
                }
                _ => reloads.leave(at.input.problem, at.input.live, vreg, out),
            }
        }
        scratch.displaced = displaced;
    }

    /// Open operands whose register was taken.
    fn settle_open(&mut self, at: At, reloads: &mut Reloads, out: &mut Allocation) {
        for (i, operand) in at.operands.iter().enumerate() {
            if self.scratch.choices[i] != Choice::Open {
                continue;
            }
            let vreg = operand.vreg();
            let survivor = self.scratch.survivors.iter().find(|s| s.0 == vreg);
            let loc = match survivor {
                Some(&(_, reg)) => Loc::reg(reg),
                None => reloads.store(at.input.problem, vreg, out),
            };
            self.scratch.choices[i] = Choice::At(loc);
        }
    }

    /// The one parallel move before the instruction.
    fn move_values(&mut self, at: At, reloads: &mut Reloads, out: &mut Allocation) -> Result<(), AllocError> {
        let problem = at.input.problem;
        let mut taken = self.scratch.surviving.union(self.scratch.claims);
        for i in 0..self.matcher.needs.len() {
            let Need { vreg, early: true, is_use, reg: Some(reg), .. } = self.matcher.needs[i] else { continue };
            taken.insert(reg);
            if is_use {
                self.def_read[vreg] |= self.at[vreg].is_some() && self.original[vreg];
                self.bring(at.input, vreg, reg, reloads, out);
            }
        }
        for i in 0..self.scratch.survivors.len() {
            let (vreg, reg) = self.scratch.survivors[i];
            self.def_read[vreg] |= self.at[vreg].is_some_and(|from| from != reg) && self.original[vreg];
            self.bring(at.input, vreg, reg, reloads, out);
        }
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, o)| o.is_use()) {
            let Choice::At(loc) = self.scratch.choices[i] else { continue };
            let vreg = operand.vreg();
            if loc.as_slot().is_none() {
                self.def_read[vreg] |= self.original[vreg];
            } else if reloads.slot(vreg) != loc.as_slot() {
                let from = match self.at[vreg] {
                    Some(reg) => Loc::reg(reg),
                    None => reloads.store(problem, vreg, out),
                };
                self.moves.add(from, loc, problem.class(vreg), problem.width(vreg));
            }
        }
        if self.moves.is_empty() {
            return Ok(());
        }
        let free = at.input.allocatable.difference(taken);
        let done = self.moves.resolve(free, at.input.env, out, &mut self.sequence);
        self.edits.extend(self.sequence.drain(..).map(|kind| Edit { at: at.inst, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at.inst, class })
    }

    /// Adds the move of a value to a register.
    fn bring(&mut self, input: Input, vreg: VReg, to: PReg, reloads: &mut Reloads, out: &mut Allocation) {
        let problem = input.problem;
        match self.at[vreg] {
            Some(from) if from == to => {}
            Some(from) => self.moves.add(Loc::reg(from), Loc::reg(to), problem.class(vreg), problem.width(vreg)),
            None => {
                self.original[vreg] = false;
                reloads.bring(problem, input.live, vreg, Loc::reg(to), &mut self.moves, out);
            }
        }
    }

    /// Writes the locations and makes the map what it is after the instruction.
    fn answer(
        &mut self,
        at: At,
        is_terminator: bool,
        classes: &mut Coalescing,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) {
        let problem = at.input.problem;
        let base = problem.operand_range(at.inst).start;
        for i in 0..at.operands.len() {
            out.locs[base + i] = self.loc_of(i);
        }
        if problem.flags(at.inst).has(InstFlags::MOVE)
            && let &[a, b] = out.operand_locs(problem, at.inst)
            && a == b
        {
            out.drop_inst(at.inst);
        }
        self.empty();
        for i in 0..self.scratch.survivors.len() {
            let (vreg, reg) = self.scratch.survivors[i];
            self.put(vreg, reg);
        }
        self.update_labels(at.inst);
        if at.is_safepoint {
            self.map_references(at.input, at.inst, reloads, out);
        }
        let after = Inst::from_u32(at.inst.as_u32() + 1);
        for (i, operand) in at.operands.iter().enumerate().filter(|(_, o)| o.is_def()) {
            let (vreg, loc) = (operand.vreg(), out.locs[base + i]);
            if is_terminator {
                self.branch_defs[vreg] = Some(loc);
                continue;
            }
            if self.next[vreg].0 == DEAD {
                continue;
            }
            if problem.vregs[vreg].is_ref {
                self.live_refs.push(vreg);
            }
            if let Some(reg) = loc.as_reg() {
                self.put(vreg, reg);
                self.original[vreg] = true;
                classes.settle(vreg, reg);
            }
            if self.labelled[vreg] {
                self.note(vreg, loc.as_reg(), after);
                self.def_read[vreg] = true;
            }
        }
    }

    fn loc_of(&self, i: usize) -> Loc {
        let mut choice = self.scratch.choices[i];
        if let Choice::SameAs(k) = choice {
            choice = self.scratch.choices[usize::from(k)];
        }
        match choice {
            Choice::Need(n) => self.matcher.needs[n as usize].reg.map_or(Loc::NONE, Loc::reg),
            Choice::At(loc) => loc,
            Choice::Open | Choice::SameAs(_) => Loc::NONE,
        }
    }
}

impl Scratch {
    fn keep(&mut self, vreg: VReg, reg: PReg) {
        self.survivors.push((vreg, reg));
        self.surviving.insert(reg);
    }
}
