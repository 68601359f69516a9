//! Calls with handlers of exceptions.
//!
//! ```text
//! try_call fn0(v0), sig0, block1(ret0), [ tag1: block2(exn0) ]
//!
//!         call    %g              the return continues at block1
//!         …
//! 2:      mov     rdi, rax        an exception with tag 1 continues here, with the payload in rax
//! ```
//!
//! The runtime finds the handlers of a call by its return address. It sets the frame pointer, the stack pointer to its
//! value in the body, and the registers of the payloads. If the callee has the convention of C, it restores the registers
//! that the callee preserves. The table has the handlers of the function, in order, with their tags, and each with the
//! place of its context.

use crate::abi;
use crate::clif::{Call, Catch, Effect, Exit, variable};
use crate::error::{Fault, Feature};
use crate::input::{ContextPlace, Handler, Machine};
use crate::path::{Failure, Path, require_equal};
use crate::prove::Proof;
use crate::translate::Translation;
use cranelift_entity::EntityRef;
use kingpost_ir::exception_table::ExceptionItem;
use kingpost_ir::signature::CallConv;
use kingpost_ir::{ExceptionTable, Inst, Opcode, Value};
use kingpost_smt::Term;

impl Translation<'_> {
    /// Translates a call with handlers, which ends its block.
    pub(crate) fn try_call(
        &mut self,
        inst: Inst,
        callee: Term,
        table: ExceptionTable,
        args: &[Value],
    ) -> Result<Exit, Feature> {
        let table = self.func.dfg.exception_table(table);
        let mut arguments = Vec::new();
        for &argument in args {
            arguments.push(self.operand(self.func.dfg.resolve_aliases(argument))?.bits);
        }
        let mut results = Vec::new();
        for (number, result) in self.func.dfg.signatures[table.sig].returns.iter().enumerate() {
            self.check_type(result.value_type)?;
            let name = format!("r:{}.{number}", inst.index());
            results.push(variable(self.terms, &name, result.value_type.bits()));
        }
        let payloads = [0, 1].map(|number| variable(self.terms, &format!("r:{}.exn{number}", inst.index()), 64));
        let (mut catches, mut context, mut handlers) = (Vec::new(), None, table.handlers.iter());
        for item in table.items {
            let tag = match *item {
                ExceptionItem::Context(value) => {
                    context = Some(self.operand(self.func.dfg.resolve_aliases(value))?.bits);
                    continue;
                }
                ExceptionItem::Tag(tag) => Some(tag),
                ExceptionItem::Default => None,
            };
            let &handler = handlers.next().ok_or(Feature::Opcode(Opcode::TryCall))?;
            let edge = self.edge_of_try(handler, &[], &payloads)?;
            catches.push(Catch { tag, context, edge });
        }
        let normal = self.edge_of_try(table.normal, &results, &[])?;
        self.effects.push(Effect::Call(Call { callee, signature: table.sig, arguments, results }));
        Ok(Exit::Try { normal, catches, payloads })
    }
}

impl Proof<'_, '_> {
    /// Returns the paths on which a call raises an exception that a handler of the function catches. `path` is at the
    /// call, `stack` is the offset of the stack pointer before the call, and `index` is the number of its effect.
    pub(crate) fn catch(
        &mut self,
        path: &Path,
        call: &Call,
        exit: &Exit,
        (stack, index): (i64, usize),
        return_offset: u32,
    ) -> Result<Vec<Path>, Failure> {
        let listed = &self.around.code.handlers;
        let first = listed.partition_point(|handler| handler.return_offset < return_offset);
        let listed: Vec<Handler> =
            listed[first..].iter().copied().take_while(|handler| handler.return_offset == return_offset).collect();
        let (catches, payloads) = match exit {
            // A call before the last effect has no handlers.
            Exit::Try { catches, payloads, .. } if path.progress.is_last(index) => (&catches[..], *payloads),
            _ => (&[][..], [self.around.stack; 2]),
        };
        let is_same = |(handler, catch): (&Handler, &Catch)| handler.tag == catch.tag;
        if listed.len() != catches.len() || !listed.iter().zip(catches).all(is_same) {
            return Err(Fault::Handlers.into());
        }
        let mut paths = Vec::new();
        for (number, (handler, catch)) in listed.iter().zip(catches).enumerate() {
            self.check_context(path, handler, catch, stack)?;
            if handler.offset >= self.around.code.end {
                return Err(Fault::OutsideCode.into());
            }
            let mut caught = path.clone();
            self.resume_at_handler(&mut caught, call, payloads, (stack, index))?;
            caught.offset = handler.offset;
            caught.caught = Some(number);
            paths.push(caught);
        }
        Ok(paths)
    }

    /// Requires the context of a handler to be in the place that the table names.
    fn check_context(&mut self, path: &Path, handler: &Handler, catch: &Catch, stack: i64) -> Result<(), Failure> {
        let Some(value) = catch.context else { return Ok(()) };
        let place = handler.context.ok_or(Failure::from(Fault::Handlers))?;
        let machine = self.around.code.machine;
        let bytes = i64::from(self.terms.width(value).div_ceil(8));
        let content = match place {
            // The callee preserves the register.
            ContextPlace::General(number) if abi::saved_generals(machine).iter().any(|&(saved, _)| saved == number) => {
                Some(path.state.general[number])
            }
            ContextPlace::Vector(number) if abi::saved_vectors(machine).iter().any(|&(saved, _)| saved == number) => {
                Some(path.state.vector[number][0])
            }
            ContextPlace::General(_) | ContextPlace::Vector(_) => None,
            ContextPlace::Stack(offset) => path.frame.load(self.terms, stack + i64::from(offset), bytes),
        };
        let content = content.filter(|&content| self.terms.width(content) >= self.terms.width(value));
        let content = content.ok_or(Failure::from(Fault::Handlers))?;
        let low = self.terms.extract(content, 0, self.terms.width(value));
        require_equal(self.terms, self.judge, &path.conditions, (low, value), Fault::Handlers)
    }

    /// Replaces the state at a call by the state in which a handler begins.
    fn resume_at_handler(
        &mut self,
        path: &mut Path,
        call: &Call,
        payloads: [Term; 2],
        (stack, index): (i64, usize),
    ) -> Result<(), Failure> {
        let machine = self.around.code.machine;
        let frame_pointer = path.state.general[machine.frame_pointer()];
        if self.around.frame_offset(self.terms, frame_pointer) != Some(stack + self.around.code.body_offset) {
            return Err(Fault::Handlers.into());
        }
        let before = std::mem::replace(&mut path.state, self.unknown_after(index));
        // An unwinder of C restores the registers that the callee preserves.
        if self.func.dfg.signatures[call.signature].call_conv == CallConv::SystemV {
            for &(register, _) in abi::saved_generals(machine) {
                path.state.general[register] = before.general[register];
            }
            for &(register, _) in abi::saved_vectors(machine) {
                path.state.vector[register][0] = before.vector[register][0];
            }
        }
        path.state.general[machine.frame_pointer()] = frame_pointer;
        let offset = self.terms.number(64, stack as u64 as u128);
        path.state.general[machine.stack_pointer()] = self.terms.add(self.around.stack, offset);
        // rax and rdx, x0 and x1.
        let registers = match machine {
            Machine::X64 => [0, 2],
            Machine::Aarch64 => [0, 1],
        };
        for (register, payload) in registers.into_iter().zip(payloads) {
            path.state.general[register] = payload;
        }
        Ok(())
    }
}
