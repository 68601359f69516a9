//! Calls, tail calls and returns: arguments, results, the stack pointer, the frame chain, and registers that calls preserve.

use crate::abi::{self, Convention, Place as Passing};
use crate::atomic::settle;
use crate::clif::{self, Call, Effect, Exit};
use crate::conditions::Conditions;
use crate::error::Fault;
use crate::input::Machine;
use crate::path::{Failure, Path, pass_over, require_equal};
use crate::prove::{Proof, Stop};
use crate::relation::is_invariant;
use kingpost_ir::signature::ArgumentExtension;
use kingpost_machine_semantics::State;
use kingpost_machine_semantics::x64::RAX;
use kingpost_smt::{Sort, Term, Terms};

/// Number of `r11` among the general registers of x86-64.
const R11: usize = 11;

impl Proof<'_, '_> {
    /// Requires a call to be the next effect of the function, and continues after it at `next`. Returns the paths on which
    /// a handler continues.
    pub(crate) fn call(
        &mut self,
        path: &mut Path,
        effects: &[Effect],
        exit: &Exit,
        next: u32,
        callee: Term,
    ) -> Result<Vec<Path>, Stop> {
        let Path { conditions, progress, attempt, .. } = path;
        settle(self.terms, self.judge, effects, conditions, progress, attempt)?;
        let wanted = |effect: &Effect| matches!(effect, Effect::Call(_));
        let index = pass_over(self.terms, self.judge, effects, &path.conditions, &mut path.progress, wanted)?;
        let Some(index) = index else { return Err(Stop::from(Failure::from(Fault::Call))) };
        let Effect::Call(call) = &effects[index] else { return Err(Stop::from(Failure::from(Fault::Call))) };
        path.progress.perform(index);
        require_equal(self.terms, self.judge, &path.conditions, (callee, call.callee), Fault::Callee)?;
        let signature = &self.func.dfg.signatures[call.signature];
        let machine = self.around.code.machine;
        let convention = abi::convention(self.around.code, signature).map_err(Stop::Feature)?;
        let pointer = path.state.general[machine.stack_pointer()];
        // The stack pointer before the call instruction.
        let stack = self.around.frame_offset(self.terms, pointer).ok_or(Failure::from(Fault::StackAlignment))?;
        let stack = stack + machine.pushed_by_call();
        // The caller's stack pointer is aligned before its call instruction.
        if (stack - self.around.caller) % 16 != 0 {
            return Err(Failure::from(Fault::StackAlignment).into());
        }
        let arguments_end = stack + convention.stack_bytes;
        if self.around.slots.iter().any(|&(start, end)| start < end && start < arguments_end) {
            return Err(Failure::from(Fault::SlotBelowStackPointer).into());
        }
        self.check_limit_of_call()?;
        self.check_arguments(path, &convention, stack, &call.arguments)?;
        self.check_chain(path)?;
        self.check_pointers(path, stack)?;
        let area = self.result_area(path, &convention, arguments_end)?;
        // The callee may overwrite its arguments and all memory below them.
        path.frame.forget(self.terms, i64::MIN, arguments_end);
        path.frame.forget(self.terms, area.0, area.1);
        let caught = self.catch(path, call, exit, (stack, index), next)?;
        let mut after = self.unknown_after(index);
        for &(register, _) in abi::saved_generals(machine) {
            after.general[register] = path.state.general[register];
        }
        for &(register, _) in abi::saved_vectors(machine) {
            after.vector[register][0] = path.state.vector[register][0];
        }
        let offset = self.terms.number(64, (stack + convention.popped) as u64 as u128);
        after.general[machine.stack_pointer()] = self.terms.add(self.around.stack, offset);
        for passed in &convention.results {
            let result = self.terms.extract(call.results[passed.number], passed.low, passed.width);
            let content = match passed.place {
                Passing::General(register) => &mut after.general[register],
                Passing::Vector(register) => &mut after.vector[register][0],
                Passing::VectorHigh(register) => &mut after.vector[register][1],
                Passing::Stack(offset) => {
                    path.frame.store(self.terms, area.0 + offset, result);
                    continue;
                }
            };
            *content = extended(self.terms, result, passed.extension, *content);
        }
        path.state = after;
        Ok(caught)
    }

    /// Returns the offsets of the area in the frame to which a call writes results: its first byte, and the first byte
    /// after it.
    fn result_area(&mut self, path: &Path, convention: &Convention, arguments_end: i64) -> Result<(i64, i64), Failure> {
        let Some((register, bytes)) = convention.area else { return Ok((0, 0)) };
        let start = self.around.frame_offset(self.terms, path.state.general[register]);
        let start = start.ok_or(Failure::from(Fault::ResultArea))?;
        let end = start.checked_add(bytes).ok_or(Failure::from(Fault::ResultArea))?;
        let is_free = start >= arguments_end && end <= 0 && !self.around.overlaps_slot(start, end);
        if is_free { Ok((start, end)) } else { Err(Fault::ResultArea.into()) }
    }

    /// Requires arguments to be in their places. `stack` is the offset of the first stack argument.
    fn check_arguments(
        &mut self,
        path: &Path,
        convention: &Convention,
        stack: i64,
        arguments: &[Term],
    ) -> Result<(), Failure> {
        for passed in &convention.arguments {
            let argument = self.terms.extract(arguments[passed.number], passed.low, passed.width);
            let content = match passed.place {
                Passing::General(register) => Some(path.state.general[register]),
                Passing::Vector(register) => Some(path.state.vector[register][0]),
                Passing::VectorHigh(register) => Some(path.state.vector[register][1]),
                Passing::Stack(offset) => {
                    let bytes = i64::from(passed.width.div_ceil(8));
                    path.frame.load(self.terms, stack + offset, bytes)
                }
            };
            let fault = Fault::Argument(passed.number as u32);
            let content = content.ok_or(Failure::from(fault))?;
            self.require_passed(&path.conditions, passed.width, passed.extension, content, argument, fault)?;
        }
        Ok(())
    }

    /// Requires a jump to another function to be a call of it in place of this one: it returns to the caller, which
    /// finds its registers as they were, and the stack without the arguments of this function.
    pub(crate) fn check_tail_call(&mut self, path: &Path, target: Term, call: &Call) -> Result<(), Stop> {
        require_equal(self.terms, self.judge, &path.conditions, (target, call.callee), Fault::Callee)?;
        let signature = &self.func.dfg.signatures[call.signature];
        let machine = self.around.code.machine;
        let convention = abi::convention(self.around.code, signature).map_err(Stop::Feature)?;
        let pushed = machine.pushed_by_call();
        // The callee removes its arguments, and then as many bytes are removed as if this function returned.
        let pointer = self.convention.popped - convention.popped;
        let stack = self.offset_from_entry(pointer);
        let pair = (path.state.general[machine.stack_pointer()], stack);
        require_equal(self.terms, self.judge, &path.conditions, pair, Fault::StackPointer)?;
        // The callee writes results in memory where the caller expects them.
        if let (Some((register, _)), Some((area, _))) = (convention.area, self.around.area) {
            let pair = (path.state.general[register], area);
            require_equal(self.terms, self.judge, &path.conditions, pair, Fault::ResultArea)?;
        }
        let address = match machine {
            Machine::X64 => path.frame.load(self.terms, pointer, 8),
            Machine::Aarch64 => Some(path.state.general[30]),
        };
        let address = address.ok_or(Failure::from(Fault::ReturnAddress))?;
        let pair = (address, self.return_address);
        require_equal(self.terms, self.judge, &path.conditions, pair, Fault::ReturnAddress)?;
        self.check_saved(path)?;
        Ok(self.check_arguments(path, &convention, pointer + pushed, &call.arguments)?)
    }

    /// Returns the address at an offset from the stack pointer at the entry.
    fn offset_from_entry(&mut self, offset: i64) -> Term {
        let offset = self.terms.number(64, offset as u64 as u128);
        self.terms.add(self.around.stack, offset)
    }

    /// Requires the registers of the caller to be as at the entry.
    fn check_saved(&mut self, path: &Path) -> Result<(), Failure> {
        let machine = self.around.code.machine;
        for &(register, name) in abi::saved_generals(machine) {
            let pair = (path.state.general[register], self.entry.general[register]);
            require_equal(self.terms, self.judge, &path.conditions, pair, Fault::SavedRegister(name))?;
        }
        for &(register, name) in abi::saved_vectors(machine) {
            let pair = (path.state.vector[register][0], self.entry.vector[register][0]);
            require_equal(self.terms, self.judge, &path.conditions, pair, Fault::SavedRegister(name))?;
        }
        Ok(())
    }

    /// Continues after a call of the routine that touches the pages of a frame on x86-64. The prologue calls it before it
    /// moves the stack pointer. The routine receives the number of bytes in rax and preserves all registers except rax,
    /// r11 and the flags. All memory below the stack pointer is unknown afterwards.
    pub(crate) fn call_probe(&mut self, path: &mut Path, callee: Term) -> Result<(), Failure> {
        let machine = self.around.code.machine;
        let routine = clif::symbol(self.terms, "%Probestack");
        if machine != Machine::X64 || callee != routine || path.probed.is_some() {
            return Err(Fault::Call.into());
        }
        let pointer = path.state.general[machine.stack_pointer()];
        let pushed = self.around.frame_offset(self.terms, pointer).ok_or(Failure::from(Fault::Probe))?;
        let bytes = self.terms.bits(path.state.general[RAX]).and_then(|bytes| i64::try_from(bytes.unsigned()).ok());
        let stack = pushed + machine.pushed_by_call();
        path.probed = Some(stack.checked_sub(bytes.ok_or(Failure::from(Fault::Probe))?).ok_or(Fault::Probe)?);
        path.frame.forget(self.terms, i64::MIN, stack);
        let offset = self.terms.number(64, stack as u64 as u128);
        path.state.general[machine.stack_pointer()] = self.terms.add(self.around.stack, offset);
        let unknown = machine.variables(self.terms, "?probe.");
        for register in [RAX, R11] {
            path.state.general[register] = unknown.general[register];
        }
        path.state.forget_flags();
        Ok(())
    }

    /// Returns a state without a known content for the registers after a call, by the index of its effect. The names of
    /// its variables are made once.
    pub(crate) fn unknown_after(&mut self, index: usize) -> State {
        if self.after_calls.len() <= index {
            self.after_calls.resize(index + 1, None);
        }
        let (terms, machine) = (&mut *self.terms, self.around.code.machine);
        let state = &mut self.after_calls[index];
        state.get_or_insert_with(|| machine.variables(terms, &format!("?after{index}."))).clone()
    }

    /// Requires the low bits of a place to be a value, extended as the convention demands.
    fn require_passed(
        &mut self,
        conditions: &Conditions,
        width: u32,
        extension: ArgumentExtension,
        content: Term,
        value: Term,
        fault: Fault,
    ) -> Result<(), Failure> {
        let low = self.terms.extract(content, 0, width);
        require_equal(self.terms, self.judge, conditions, (low, value), fault)?;
        if width < 32 && extension != ArgumentExtension::None && self.terms.width(content) >= 32 {
            let word = self.terms.extract(content, 0, 32);
            let expected = match extension {
                ArgumentExtension::Sext => self.terms.sign_extend(value, 32),
                _ => self.terms.zero_extend(value, 32),
            };
            require_equal(self.terms, self.judge, conditions, (word, expected), fault)?;
        }
        Ok(())
    }

    /// Requires the frame pointer to point to the caller's frame pointer and the return address.
    fn check_chain(&mut self, path: &Path) -> Result<(), Failure> {
        let pointer = self.around.code.machine.frame_pointer();
        let place = self.around.frame_offset(self.terms, path.state.general[pointer]);
        let place = place.ok_or(Failure::from(Fault::FrameChain))?;
        let link = path.frame.load(self.terms, place, 8);
        let address = path.frame.load(self.terms, place + 8, 8);
        let is_signed = |terms: &mut Terms, address: Term| {
            // A signed return address is the address plus a key and the modifier.
            let code = terms.sub(address, self.return_address);
            let keys = ["key A", "key B"].map(|name| terms.existing(name, Sort::Bits(64)));
            is_invariant(terms, code, 4) && keys.into_iter().flatten().any(|key| terms.depends_on(code, key))
        };
        let is_linked = link == Some(self.entry.general[pointer]);
        let is_address =
            address.is_some_and(|address| address == self.return_address || is_signed(self.terms, address));
        if is_linked && is_address { Ok(()) } else { Err(Fault::FrameChain.into()) }
    }

    pub(crate) fn check_return(&mut self, path: &Path, address: Term, results: &[Term]) -> Result<(), Failure> {
        let machine = self.around.code.machine;
        let pair = (address, self.return_address);
        require_equal(self.terms, self.judge, &path.conditions, pair, Fault::ReturnAddress)?;
        let stack = self.offset_from_entry(machine.pushed_by_call() + self.convention.popped);
        let pair = (path.state.general[machine.stack_pointer()], stack);
        require_equal(self.terms, self.judge, &path.conditions, pair, Fault::StackPointer)?;
        self.check_saved(path)?;
        let places = self.convention.results.clone();
        // A result is often a part of the next one, as a quotient of a remainder.
        let mut conditions = path.conditions.clone();
        for passed in &places {
            let result = self.terms.extract(results[passed.number], passed.low, passed.width);
            let content = match passed.place {
                Passing::General(register) => path.state.general[register],
                Passing::Vector(register) => path.state.vector[register][0],
                Passing::VectorHigh(register) => path.state.vector[register][1],
                Passing::Stack(offset) => {
                    let bytes = i64::from(passed.width.div_ceil(8));
                    let content = path.area.load(self.terms, offset, bytes);
                    content.ok_or(Failure::from(Fault::Result(passed.number as u32)))?
                }
            };
            let fault = Fault::Result(passed.number as u32);
            self.require_passed(&conditions, passed.width, passed.extension, content, result, fault)?;
            let low = self.terms.extract(content, 0, passed.width);
            conditions.add_equality(low, result);
        }
        Ok(())
    }
}

/// Returns the content of a 64-bit place that holds a value, with `above` above it.
fn extended(terms: &mut Terms, value: Term, extension: ArgumentExtension, above: Term) -> Term {
    let mut value = value;
    let mut width = terms.width(value);
    if width < 32 {
        value = match extension {
            ArgumentExtension::None => value,
            ArgumentExtension::Uext => terms.zero_extend(value, 32),
            ArgumentExtension::Sext => terms.sign_extend(value, 32),
        };
        width = terms.width(value);
    }
    if width == 64 {
        return value;
    }
    let above = terms.extract(above, width, 64 - width);
    terms.concat(above, value)
}
