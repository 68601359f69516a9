//! The last resort of spilling at one instruction: eviction until registers exist for its operands and for the
//! values that live through it.

use crate::demands::{Around, Demands, Matching};
use crate::spill_input::SpillInput;
use crate::spill_instruction::{Scratch, SpillSite, may_be_in_memory};
use crate::spill_plan::Transfer;
use crate::spilling::Spilling;
use cranelift_entity::EntityRef;
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{AllocError, Constraint, Operand, RegClass, VReg};

impl Spilling {
    /// Evicts values until there are registers for all operands and all values that live through. The counts before
    /// this do not consider which registers are allowed. The exhaustive search runs only if augmenting paths fail
    /// and no value is left to evict. Each step evicts a value, which bounds the steps.
    pub(crate) fn fit(&mut self, input: &SpillInput, now: SpillSite) -> Result<(), AllocError> {
        let demands = Demands::new(input.problem, (input.order, input.live), input.constraints, now.inst);
        if self.fits_by_count(&demands) {
            return Ok(());
        }
        let mut matching = std::mem::take(&mut self.scratch.matching);
        let result = loop {
            let Err(error) = self.try_to_fit(input, &demands, &mut matching) else { break Ok(()) };
            let class = match error {
                AllocError::TooFewRegisters { class, .. } => class,
                AllocError::FixedConflict { reg, .. } => reg.class(),
                _ => break Err(error),
            };
            // The error names one request that fails, which need not be of the class that is short of registers.
            let mut classes = [class].into_iter().chain(RegClass::ALL.into_iter().filter(|&other| other != class));
            if !classes.any(|class| self.evict_one_more(input, &demands, class, now)) {
                break demands.solve(&mut matching, input.env);
            }
            if self.fits_by_count(&demands) {
                break Ok(());
            }
        };
        self.steps += std::mem::take(&mut matching.steps);
        self.scratch.matching = matching;
        result
    }

    /// Calls `f` with the predicates on the values around the instruction.
    fn with_around<T>(&self, f: impl FnOnce(&Around) -> T) -> T {
        let Scratch { read_in_register, read_in_memory, begins_in_memory, .. } = &self.scratch;
        f(&Around {
            is_read_in_register: &|vreg| read_in_register.contains(&vreg),
            is_read_in_memory: &|vreg| read_in_memory.contains(&vreg),
            lives_on: &|vreg| self.set.contains(vreg),
            begins_in_memory: &|vreg| begins_in_memory.contains(&vreg),
        })
    }

    fn fits_by_count(&self, demands: &Demands) -> bool {
        self.with_around(|around| demands.fits_by_count(self.saved.open, around, self.set.counts()))
    }

    /// Tries to assign registers to all requests by augmenting paths.
    ///
    /// # Errors
    /// If there are too few registers, or augmenting paths do not suffice.
    fn try_to_fit(&mut self, input: &SpillInput, demands: &Demands, matching: &mut Matching) -> Result<(), AllocError> {
        let mut through = std::mem::take(&mut self.scratch.through);
        let mut sites = std::mem::take(&mut self.scratch.sites);
        through.clear();
        self.set.members.iter().for_each(|members| through.extend_from_slice(members));
        sort(&mut through);
        let result = self.with_around(|around| demands.request_all(matching, around, &mut sites, &through));
        (self.scratch.through, self.scratch.sites) = (through, sites);
        result?;
        matching.augment(input.env, demands.inst, |_, _| 0)
    }

    /// Evicts a value that lives through, or puts an operand into memory that may be there. Returns `false` if
    /// there is neither.
    fn evict_one_more(&mut self, input: &SpillInput, demands: &Demands, class: RegClass, now: SpillSite) -> bool {
        if let Some(vreg) = self.cheapest(input, class.index(), None, now) {
            self.evict(vreg, now);
            return true;
        }
        let operands = demands.operands;
        for (i, operand) in operands.iter().enumerate().filter(|(_, o)| demands.problem.class(o.vreg()) == class) {
            let vreg = operand.vreg();
            if operand.is_def() {
                let twin = operand.reused().filter(|_| operand.is_rmw()).map(|k| &operands[usize::from(k)]);
                let is_free = twin.map_or(may_be_in_memory(operand), may_be_in_memory);
                if is_free
                    && operand.constraint() != Constraint::Stack
                    && !self.scratch.begins_in_memory.contains(&vreg)
                {
                    self.scratch.begins_in_memory.push(vreg);
                    self.plan.transfers.push((now.inst, vreg, Transfer::Begin));
                    twin.iter().for_each(|twin| self.read_in_memory(operands, twin.vreg(), now));
                    return true;
                }
            } else if demands.reuser(i).is_none() && self.scratch.read_in_register.contains(&vreg) {
                let mut uses = operands.iter().filter(|other| other.is_use() && other.vreg() == vreg);
                if uses.all(may_be_in_memory) {
                    self.read_in_memory(operands, vreg, now);
                    return true;
                }
                if may_be_in_memory(operand)
                    && operand.constraint() != Constraint::Stack
                    && !self.set.values[vreg.index()].is_remat
                    && !self.scratch.read_in_memory.contains(&vreg)
                {
                    self.scratch.read_in_memory.push(vreg);
                    if self.note_in_memory(vreg, u64::from(now.here)) {
                        self.plan.transfers.push((now.inst, vreg, Transfer::Store));
                    }
                    self.plan.transfers.push((now.inst, vreg, Transfer::ReadInMemory));
                    return true;
                }
            }
        }
        false
    }

    /// Makes the instruction read the value in memory, unless another operand reads it in a register.
    fn read_in_memory(&mut self, operands: &[Operand], vreg: VReg, now: SpillSite) {
        let mut uses = operands.iter().filter(|other| other.is_use() && other.vreg() == vreg);
        if !uses.all(may_be_in_memory) {
            return;
        }
        self.scratch.read_in_register.retain(|&read| read != vreg);
        if self.set.contains(vreg) {
            self.set.remove(vreg);
        }
        let transfers = &mut self.plan.transfers;
        let start = transfers.iter().rposition(|transfer| transfer.0 != now.inst).map_or(0, |last| last + 1);
        let is_reloaded = transfers[start..].contains(&(now.inst, vreg, Transfer::Reload));
        let was_stored = transfers[start..].contains(&(now.inst, vreg, Transfer::Store));
        let others: Vec<_> = transfers.drain(start..).filter(|transfer| transfer.1 != vreg).collect();
        transfers.extend(others);
        let is_remat = self.set.values[vreg.index()].is_remat;
        self.set.values[vreg.index()].is_spilled = true;
        let is_stored = !is_remat && (self.note_in_memory(vreg, u64::from(now.here)) || was_stored);
        // Its register is free for values that are reloaded.
        let first = [(is_stored, Transfer::Store), (!is_reloaded, Transfer::Evict), (is_remat, Transfer::Compute)];
        let first = first.into_iter().filter(|first| first.0).map(|first| (now.inst, vreg, first.1));
        self.plan.transfers.splice(start..start, first);
    }
}
