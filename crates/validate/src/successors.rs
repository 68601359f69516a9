//! Ends of paths: the block in which the function continues, and its relation.

use crate::atomic::settle;
use crate::clif::{Call, Edge, Effect, Exit, parts};
use crate::conditions::{simplified, simplifier};
use crate::equal::Decision;
use crate::error::Fault;
use crate::path::{Failure, Path, distance, pass_over};
use crate::prove::{Effort, End, Origin, Proof, Stop};
use crate::relation::{Comparison, Needed, Relation};
use kingpost_ir::Block;
use kingpost_smt::{Node, Op, Sort, Substitution, Term};
use std::collections::BTreeSet;

/// Number of bytes of an entry of a jump table.
const ENTRY_BYTES: u128 = 4;

impl Proof<'_, '_> {
    /// Continues at an address: within the code, or at each entry of a jump table.
    pub(crate) fn jump(
        &mut self,
        path: Path,
        address: Term,
        exit: &Exit,
        replaced: &[(Term, Term)],
        paths: &mut Vec<Path>,
    ) -> Result<(), Failure> {
        let inside = |offset: i64, end: u32| u32::try_from(offset).ok().filter(|&offset| offset < end);
        let end = self.around.code.end;
        if let Some(offset) = distance(self.terms, address, self.around.base) {
            let offset = inside(offset, end).ok_or(Fault::OutsideCode)?;
            paths.push(Path { offset, ..path });
            return Ok(());
        }
        let Exit::Table { index, entries, .. } = exit else { return Err(Fault::IndirectJump.into()) };
        let index = Substitution::new(replaced.iter().copied()).apply(self.terms, *index);
        let width = self.terms.width(index);
        let count = self.terms.number(width, entries.len() as u128);
        let firsts: Vec<Option<u128>> =
            path.tables.iter().map(|&(_, offset)| self.first_entry(&path, offset, index, count)).collect();
        let mut cases = vec![(self.terms.ule(count, index), None)];
        for number in 0..entries.len() {
            let number = self.terms.number(width, number as u128);
            cases.push((self.terms.eq(index, number), Some(number)));
        }
        for (is_this, number) in cases {
            if path.conditions.decide(self.terms, is_this) == Some(false) {
                continue;
            }
            let mut this = path.clone();
            this.conditions.add(self.terms, is_this);
            let mut pairs: Vec<(Term, Term)> = number.map(|number| (index, number)).into_iter().collect();
            let mut substitution = Substitution::new(pairs.iter().copied());
            for (&(entry, offset), first) in path.tables.iter().zip(&firsts) {
                let number = number.and_then(|number| self.terms.bits(number)).map(|number| number.unsigned());
                let offset = match first {
                    Some(first) => Some(first + ENTRY_BYTES * number.unwrap_or(entries.len() as u128)),
                    None => {
                        let offset = substitution.apply(self.terms, offset);
                        let offset = simplified(self.terms, &this.conditions, offset);
                        self.terms.bits(offset).map(|offset| offset.unsigned())
                    }
                };
                let contents = offset.and_then(|offset| self.table_entry(offset)).ok_or(Fault::IndirectJump)?;
                pairs.push((entry, self.terms.number(32, contents.into())));
            }
            let target = Substitution::new(pairs).apply(self.terms, address);
            let target = distance(self.terms, target, self.around.base).and_then(|offset| inside(offset, end));
            this.offset = target.ok_or(Fault::IndirectJump)?;
            paths.push(this);
        }
        Ok(())
    }

    /// Returns the offset of the first entry of a table, if it is proved that `offset` is the offset of the entry for an
    /// index, or of the last entry for a greater index. It is not tried if `offset` contains the index: code may compute it in another
    /// form.
    fn first_entry(&mut self, path: &Path, offset: Term, index: Term, count: Term) -> Option<u128> {
        let terms = &mut *self.terms;
        if terms.depends_on(offset, index) || terms.value(offset).is_some() {
            return None;
        }
        let width = terms.width(offset);
        let first = match terms.node(offset) {
            Node::Binary(Op::Add, a, b) => [a, b].into_iter().find(|&part| terms.value(part).is_some()),
            _ => None,
        };
        let (first, is_less) = (first.unwrap_or_else(|| terms.number(width, 0)), terms.ult(index, count));
        let number = terms.ite(is_less, index, count);
        let (number, step) = (terms.zero_extend(number, width), terms.number(width, ENTRY_BYTES));
        let distance = terms.mul(number, step);
        let expected = terms.add(first, distance);
        let is_proved = self.judge.equal(terms, &path.conditions, offset, expected) == Decision::Holds;
        is_proved.then(|| terms.bits(first).map(|first| first.unsigned()))?
    }

    /// Returns four bytes of the tables after the instructions.
    fn table_entry(&self, offset: u128) -> Option<u32> {
        let code = self.around.code;
        let offset = usize::try_from(offset).ok().filter(|&offset| offset >= code.end as usize)?;
        let bytes = code.bytes.get(offset..offset.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Requires the function to continue as the path ends.
    pub(crate) fn finish(
        &mut self,
        path: &Path,
        effects: &[Effect],
        exit: &Exit,
        replaced: &[(Term, Term)],
        end: End,
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stop> {
        let result = self.end(path, effects, exit, replaced, end, work);
        match result {
            Err(_) if self.is_infeasible(&path.conditions) => Ok(()),
            other => other,
        }
    }

    fn end(
        &mut self,
        path: &Path,
        effects: &[Effect],
        exit: &Exit,
        replaced: &[(Term, Term)],
        end: End,
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stop> {
        let (mut progress, mut attempt) = (path.progress.clone(), path.attempt);
        if settle(self.terms, self.judge, effects, &path.conditions, &mut progress, &mut attempt)? {
            return Ok(());
        }
        pass_over(self.terms, self.judge, effects, &path.conditions, &mut progress, |_| false)?;
        if let Some(lowest) = path.probed {
            let pointer = path.state.general[self.around.code.machine.stack_pointer()];
            if self.around.frame_offset(self.terms, pointer) != Some(lowest) {
                return Err(Failure::from(Fault::Probe).into());
            }
        }
        self.check_limit(path)?;
        self.leave(path, exit, replaced.to_vec(), end, work, 0)
    }

    /// Follows an exit of the function to a cut point or a return. `replaced` are the variables with their terms on the
    /// path.
    fn leave(
        &mut self,
        path: &Path,
        exit: &Exit,
        replaced: Vec<(Term, Term)>,
        end: End,
        work: &mut BTreeSet<Origin>,
        depth: usize,
    ) -> Result<(), Stop> {
        let mut substitution = Substitution::new(replaced.iter().copied());
        match exit {
            Exit::Never => Err(Failure::from(Fault::Omitted("a trap")).into()),
            Exit::Return(results) => {
                let End::Return(address) = end else { return Err(Failure::from(Fault::Successor).into()) };
                let results: Vec<Term> = results.iter().map(|&term| substitution.apply(self.terms, term)).collect();
                Ok(self.check_return(path, address, &results)?)
            }
            Exit::TailCall(call) => {
                let End::TailCall(target) = end else { return Err(Failure::from(Fault::Successor).into()) };
                let mut new = |term: Term| substitution.apply(self.terms, term);
                let arguments = call.arguments.iter().map(|&term| new(term)).collect();
                let call = Call { callee: new(call.callee), arguments, ..call.clone() };
                self.check_tail_call(path, target, &call)
            }
            Exit::Jump(edge) => self.enter(path, edge, replaced, end, work, depth),
            Exit::Try { normal, catches, .. } => {
                let edge = path.caught.map_or(normal, |number| &catches[number].edge);
                self.enter(path, edge, replaced, end, work, depth)
            }
            Exit::Branch { condition, then, otherwise } => {
                let condition = substitution.apply(self.terms, *condition);
                for (condition, edge) in [(condition, then), (self.terms.not(condition), otherwise)] {
                    self.enter_if(path, condition, edge, &replaced, end, work, depth)?;
                }
                Ok(())
            }
            Exit::Table { index, entries, default } => {
                let index = substitution.apply(self.terms, *index);
                let width = self.terms.width(index);
                for (number, edge) in entries.iter().enumerate() {
                    let number = self.terms.number(width, number as u128);
                    let condition = self.terms.eq(index, number);
                    self.enter_if(path, condition, edge, &replaced, end, work, depth)?;
                }
                let count = self.terms.number(width, entries.len() as u128);
                let condition = self.terms.ule(count, index);
                self.enter_if(path, condition, default, &replaced, end, work, depth)
            }
        }
    }

    /// Enters a block if the condition can hold on the path.
    #[allow(clippy::too_many_arguments, reason = "the parts of the path's end")]
    fn enter_if(
        &mut self,
        path: &Path,
        condition: Term,
        edge: &Edge,
        replaced: &[(Term, Term)],
        end: End,
        work: &mut BTreeSet<Origin>,
        depth: usize,
    ) -> Result<(), Stop> {
        match path.conditions.decide(self.terms, condition) {
            Some(false) => return Ok(()),
            Some(true) => return self.enter(path, edge, replaced.to_vec(), end, work, depth),
            None => {}
        }
        let mut taken = path.clone();
        taken.conditions.add(self.terms, condition);
        // An edge that is not taken must not drop facts.
        if self.is_infeasible(&taken.conditions) {
            return Ok(());
        }
        self.enter(&taken, edge, replaced.to_vec(), end, work, depth)
    }

    /// Passes the arguments of an edge to its block.
    fn enter(
        &mut self,
        path: &Path,
        edge: &Edge,
        mut replaced: Vec<(Term, Term)>,
        end: End,
        work: &mut BTreeSet<Origin>,
        depth: usize,
    ) -> Result<(), Stop> {
        let mut substitution = Substitution::new(replaced.iter().copied());
        let (mut parameters, mut passed) = (Vec::new(), Vec::new());
        for (&parameter, &argument) in self.func.dfg.block_params(edge.block).iter().zip(&edge.arguments) {
            if self.meaning.sources.is_constant(parameter) {
                continue;
            }
            let Some(parameter) = self.meaning.values[parameter] else { continue };
            let argument = substitution.apply(self.terms, argument);
            parameters.extend(parts(self.terms, parameter));
            passed.extend(parts(self.terms, argument));
        }
        replaced.retain(|(variable, _)| !parameters.contains(variable));
        replaced.extend(parameters.into_iter().zip(passed));
        match self.heads[edge.block] {
            Some(offset) if end == End::Head(offset) => self.arrive(path, edge.block, &replaced, work),
            _ => self.pass_through(path, edge.block, replaced, end, work, depth),
        }
    }

    /// Passes through a block that code need not execute: its only effects are loads that cannot trap. Their bits are
    /// unknown.
    fn pass_through(
        &mut self,
        path: &Path,
        block: Block,
        mut replaced: Vec<(Term, Term)>,
        end: End,
        work: &mut BTreeSet<Origin>,
        depth: usize,
    ) -> Result<(), Stop> {
        let elsewhere = || Failure::from(Fault::Successor);
        if depth > self.meaning.order.len() {
            return Err(elsewhere().into());
        }
        let meaning = self.meaning.blocks[block].as_ref().ok_or_else(elsewhere)?;
        let mut loads = Vec::new();
        for effect in &meaning.effects {
            match effect {
                Effect::Load(load) if load.trap.is_none() => loads.push(load.bits),
                _ => return Err(elsewhere().into()),
            }
        }
        let exit = meaning.exit.clone();
        for (number, bits) in loads.into_iter().enumerate() {
            // The variable has the bits of an earlier execution of the block.
            let (name, width) = (format!("?{block}:{depth}:{number}"), self.terms.width(bits));
            let unknown = self.terms.var(&name, Sort::Bits(width));
            replaced.retain(|&(variable, _)| variable != bits);
            replaced.push((bits, unknown));
        }
        self.leave(path, &exit, replaced, end, work, depth + 1)
    }

    /// Updates the relation of a block with a path that arrives at its head.
    fn arrive(
        &mut self,
        path: &Path,
        block: Block,
        replaced: &[(Term, Term)],
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stop> {
        let mut substitution = Substitution::new(replaced.iter().copied());
        let changed = match self.relations[block].take() {
            None => {
                let names = self.needed[block].clone();
                let needed: Vec<Needed> = names
                    .into_iter()
                    .map(|name| Needed { name, value: substitution.apply(self.terms, name) })
                    .collect();
                let machine = self.around.code.machine;
                let registers = (machine.generals(), machine.vectors());
                let mut relation = Relation::propose(self.terms, registers, &path.state, &path.frame, &needed);
                self.add_simplified(path, registers, &needed, &mut relation);
                if self.effort != Effort::Forms {
                    self.guess(path, registers, block, &needed, &mut relation);
                }
                self.relations[block] = Some(relation);
                true
            }
            Some(mut relation) => {
                let mut comparisons = relation
                    .comparisons(self.terms, &path.state, &path.frame, |terms, term| substitution.apply(terms, term));
                self.keep_holding(path, &mut comparisons);
                let changed = relation.restrict(self.terms, (&path.state, &path.frame), comparisons);
                self.relations[block] = Some(relation);
                changed
            }
        };
        if changed {
            work.insert(Origin::Head(self.numbers[block]));
        }
        Ok(())
    }

    /// Removes the comparisons that do not hold on a path, or may not hold.
    fn keep_holding(&mut self, path: &Path, comparisons: &mut [Option<Comparison>]) {
        let mut simplifier = simplifier(self.terms, &path.conditions);
        let mut differs = |comparison: &Comparison| {
            let Comparison { low, value, .. } = *comparison;
            !self.judge.is_same_under(self.terms, &mut simplifier, low, value)
        };
        let open = comparisons.iter_mut().filter(|comparison| comparison.as_ref().is_some_and(&mut differs)).collect();
        self.keep_equal(path, open);
    }
}
