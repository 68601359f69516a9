//! Execution of a path: one instruction after the other, up to a head, a return, a jump elsewhere or a trap.

use crate::attempt::Attempt;
use crate::clif::{Effect, Exit};
use crate::error::{Fault, Feature};
use crate::frame::Frame;
use crate::input::RelocationKind;
use crate::machine::Decoded;
use crate::path::{Failure, Path};
use crate::prove::{End, Origin, Proof, Site, Stop, Stopped};
use crate::step::Step;
use crate::symbols::{address_of, pointer_to};
use kingpost_ir::Block;
use kingpost_machine_semantics::{At, Flow};
use kingpost_smt::Term;
use std::collections::BTreeSet;

/// Maximum number of instructions on a path between two heads.
const MAX_STEPS: u32 = 1 << 16;
/// Number of bytes of stack slots that each probe loop touches within [`MAX_STEPS`], with the smallest guard of 16 bytes.
const MAX_PROBED: i64 = 1 << 16;
/// Maximum number of heads that a path passes, because the function does not continue there.
const MAX_PASSED: u32 = 64;

impl Proof<'_, '_> {
    /// Follows a path to its end. Adds the paths that branch off.
    #[allow(clippy::too_many_arguments, reason = "the parts of the examined block")]
    pub(crate) fn follow(
        &mut self,
        block: Option<Block>,
        mut path: Path,
        effects: &[Effect],
        exit: &Exit,
        replaced: &[(Term, Term)],
        paths: &mut Vec<Path>,
        work: &mut BTreeSet<Origin>,
    ) -> Result<(), Stopped> {
        let stack_pointer = self.around.code.machine.stack_pointer();
        let has_atomic = effects.iter().any(|effect| matches!(effect, Effect::Atomic(_)));
        let mut passed = 0;
        loop {
            let offset = path.offset;
            if path.attempt == Attempt::Failed && self.try_again(&path, paths) {
                return Ok(());
            }
            let site = Site { block, offset };
            let failed = |failure: Failure| Stopped::Failure(site, failure);
            if (path.steps > 0 || block.is_none()) && self.is_head[offset as usize] {
                let end = End::Head(offset);
                match self.finish(&path, effects, exit, replaced, end, work) {
                    Err(Stop::Failure(failure))
                        if failure.fault == Fault::Successor && passed < MAX_PASSED && self.is_silent(offset) =>
                    {
                        passed += 1;
                    }
                    result => return result.map_err(|stop| stop.at(site)),
                }
            }
            path.steps += 1;
            self.instructions += 1;
            if path.steps > MAX_STEPS {
                let slots = self.around.slots.iter().map(|&(start, end)| end - start);
                if block.is_none() && slots.sum::<i64>() > MAX_PROBED {
                    return Err(Stopped::Feature(Feature::Preamble("a frame that is probed in very many steps")));
                }
                return Err(failed(Fault::Unbounded.into()));
            }
            let (decoded, len) = self.decode(offset).map_err(|fault| failed(fault.into()))?;
            let symbol = self.relocated(offset, len).map_err(Stopped::Feature)?;
            let before_attempt = (has_atomic && !path.fails).then(|| path.mark());
            let (performed, had_failed) = (path.progress.count(), path.attempt == Attempt::Failed);
            let at = At { base: self.around.base, offset: offset.into(), symbol };
            let mut step = Step {
                terms: self.terms,
                judge: self.judge,
                around: &self.around,
                effects,
                offset,
                stack_pointer: path.state.general[stack_pointer],
                frame: &mut path.frame,
                area: &mut path.area,
                conditions: &mut path.conditions,
                progress: &mut path.progress,
                tables: &mut path.tables,
                is_prologue: path.is_prologue,
                unspecified: &mut path.unspecified,
                attempt: &mut path.attempt,
                fails: std::mem::take(&mut path.fails),
                forks: false,
                locked: None,
                choice: None,
                is_vacuous: false,
                status: None,
                learned: None,
                faults: Vec::new(),
                failure: None,
            };
            let before = (path.state.general[stack_pointer], step.frame.lowest());
            let flow = decoded.step(&mut step, len as usize, at, &mut path.state);
            let (faults, failure, learned, forks) = (step.faults, step.failure, step.learned, step.forks);
            if step.is_vacuous {
                return Ok(());
            }
            if forks {
                let marks = path.marks.clone();
                // The path does not begin after its first instruction: it may be the head.
                paths.extend(before_attempt.map(|at| Path { fails: true, marks, steps: at.steps - 1, ..at }));
            }
            // An attempt that fails has no effect. It only passes over effects that need not be performed, at its load or store.
            let fails = matches!(path.attempt, Attempt::Failing | Attempt::Failed) && !had_failed;
            if path.progress.count() != performed && !fails {
                path.marks.clear();
            }
            if let Some(learned) = learned {
                path.learn(self.terms, learned);
            }
            if let Some(failure) = failure {
                return if self.is_infeasible(&path.conditions) { Ok(()) } else { Err(failed(failure)) };
            }
            for condition in faults {
                self.fault(&path, effects, offset, condition).map_err(failed)?;
                let not = self.terms.not(condition);
                path.conditions.add(self.terms, not);
            }
            // Most instructions change neither the stack pointer nor the lowest known byte.
            if path.steps == 1 || before != (path.state.general[stack_pointer], path.frame.lowest()) {
                self.forget_below(&mut path);
                // A call instruction may push the return address, which is memory of the callee.
                if !matches!(flow, Flow::Call(_)) {
                    self.check_depth(&path).map_err(failed)?;
                }
            }
            let next = offset + len;
            let target = |target: i64| {
                let inside = u32::try_from(target).ok().filter(|&target| target < self.around.code.end);
                inside.ok_or_else(|| failed(Fault::OutsideCode.into()))
            };
            match flow {
                Flow::Next => path.offset = next,
                Flow::Jump(to) => path.offset = target(to)?,
                Flow::Branch { condition, target: to } => {
                    let to = target(to)?;
                    match path.conditions.decide(self.terms, condition) {
                        Some(true) => path.offset = to,
                        Some(false) => path.offset = next,
                        None => {
                            let mut taken = path.clone();
                            taken.offset = to;
                            taken.conditions.add(self.terms, condition);
                            paths.push(taken);
                            let not = self.terms.not(condition);
                            path.conditions.add(self.terms, not);
                            path.offset = next;
                        }
                    }
                }
                Flow::Indirect(address) if matches!(exit, Exit::TailCall(_)) => {
                    let end = End::TailCall(address);
                    return self.finish(&path, effects, exit, replaced, end, work).map_err(|stop| stop.at(site));
                }
                Flow::Indirect(address) => {
                    return self.jump(path, address, exit, replaced, paths).map_err(failed);
                }
                // The exclusive store that fails on this path does not come.
                Flow::Call(_) if path.attempt == Attempt::Failing => return Ok(()),
                Flow::Call(callee) => {
                    let called = match block {
                        None => self.call_probe(&mut path, callee).map(|()| Vec::new()).map_err(Stop::from),
                        Some(_) => self.call(&mut path, effects, exit, next, callee),
                    };
                    match called {
                        Ok(caught) => paths.extend(caught),
                        Err(_) if self.is_infeasible(&path.conditions) => return Ok(()),
                        Err(stop) => return Err(stop.at(site)),
                    }
                    path.offset = next;
                }
                Flow::Return(address) => {
                    let end = End::Return(address);
                    return self.finish(&path, effects, exit, replaced, end, work).map_err(|stop| stop.at(site));
                }
                Flow::Trap => {
                    return match self.trap(&path, effects, offset) {
                        Err(_) if self.is_infeasible(&path.conditions) => Ok(()),
                        other => other.map_err(failed),
                    };
                }
            }
        }
    }

    fn decode(&mut self, offset: u32) -> Result<(Decoded, u32), Fault> {
        let code = self.around.code;
        if let Some(Some((decoded, len))) = self.decoded.get(offset as usize) {
            return Ok((*decoded, (*len).into()));
        }
        let bytes = code.bytes.get(offset as usize..code.end as usize).ok_or(Fault::OutsideCode)?;
        let (decoded, len) = code.machine.decode(bytes).map_err(|_| Fault::Instruction)?;
        if let Some(feature) = decoded.missing(&code.features) {
            return Err(Fault::Processor(feature));
        }
        self.decoded[offset as usize] = Some((decoded, len as u8));
        Ok((decoded, len as u32))
    }

    /// Returns the address in the relocated field of an instruction, if there is one.
    fn relocated(&mut self, offset: u32, len: u32) -> Result<Option<Term>, Feature> {
        let relocations = &self.around.code.relocations;
        let first = relocations.partition_point(|relocation| relocation.offset < offset);
        let Some(relocation) = relocations.get(first).filter(|relocation| relocation.offset < offset + len) else {
            return Ok(None);
        };
        let (symbol, addend) = match relocation.kind {
            RelocationKind::Address => (address_of(self.terms, &relocation.symbol), relocation.addend),
            // The processor adds the address of the next instruction.
            RelocationKind::Distance => {
                let rest = i64::from(offset + len - relocation.offset);
                (address_of(self.terms, &relocation.symbol), relocation.addend + rest)
            }
            RelocationKind::Pointer => (pointer_to(self.terms, &relocation.symbol), relocation.addend),
            RelocationKind::PointerDistance => {
                let rest = i64::from(offset + len - relocation.offset);
                (pointer_to(self.terms, &relocation.symbol), relocation.addend + rest)
            }
            RelocationKind::Other(name) => return Err(Feature::Relocation(name)),
        };
        let addend = self.terms.number(64, addend as u64 as u128);
        Ok(Some(self.terms.add(symbol, addend)))
    }

    /// Returns `true` if the block whose head is at an offset only jumps after loads that cannot trap. Where the loads are
    /// not read, code has none, and executes the block's moves also where the function jumps past the block.
    fn is_silent(&self, offset: u32) -> bool {
        let block = self.meaning.order.iter().find(|&&block| self.heads[block] == Some(offset));
        block.and_then(|&block| self.meaning.blocks[block].as_ref()).is_some_and(|meaning| {
            let is_free = |effect: &Effect| matches!(effect, Effect::Load(load) if load.trap.is_none());
            matches!(meaning.exit, Exit::Jump(_)) && meaning.effects.iter().all(is_free)
        })
    }

    /// Removes the memory below the stack pointer, which signal handlers overwrite.
    fn forget_below(&mut self, path: &mut Path) {
        let Some(first) = path.frame.lowest() else { return };
        let machine = self.around.code.machine;
        let stack = path.state.general[machine.stack_pointer()];
        match self.around.frame_offset(self.terms, stack) {
            Some(stack) if first < stack - machine.red_zone() => {
                path.frame.forget(self.terms, i64::MIN, stack - machine.red_zone());
            }
            Some(_) => {}
            None => path.frame = Frame::default(),
        }
    }
}
