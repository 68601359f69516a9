//! Control flow, calls, traps and global values.

use kingpost_ir::exception_table::ExceptionItem;
use kingpost_ir::extfunc::ExternalName;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::signature::{ArgumentPurpose, Signature};
use kingpost_ir::{BlockArgKind, BlockCall, FuncRef, GlobalValue, InstView, Opcode, SigRef, TrapCode, Value};

use crate::access::Address;
use crate::address::{CodeAddress, DecodedAddress, Region};
use crate::environment::FunctionId;
use crate::error::Stop;
use crate::interpreter::{Cx, Exception, Flow, Interpreter};
use crate::libcalls;
use crate::value::mask;

/// Target of a call.
enum Callee {
    Function(FunctionId),
    Library(LibCall),
    /// Routine of the test host that throws an exception.
    Throw,
}

/// Name of the function that throws. Its first three arguments are the frame pointer of the frame where the search
/// ends, the frame pointer of the frame where it starts, and the program counter there. They have no meaning for an
/// interpreter. The tag and two payloads follow.
const THROW: &str = "__cranelift_throw";

impl<'a> Interpreter<'a> {
    fn get_all(&self, cx: Cx<'_>, values: &[Value]) -> Box<[u128]> {
        values.iter().map(|&value| self.get(cx, value)).collect()
    }

    /// Branches to a block: moves the arguments of an edge into the parameters of the block, all at once. `results`
    /// are the results of the call whose edge this is, or the payloads of an exception.
    pub(crate) fn branch(&mut self, cx: Cx<'a>, call: BlockCall, results: &[u128]) -> Result<(), Stop> {
        let dfg = &cx.function().dfg;
        let arguments = dfg.block_args(call).iter().map(|arg| match arg.kind() {
            BlockArgKind::Value(value) => Some(self.get(cx, value)),
            BlockArgKind::TryCallRet(number) | BlockArgKind::TryCallExn(number) => {
                results.get(number as usize).copied()
            }
        });
        let arguments: Option<Vec<u128>> = arguments.collect();
        let arguments = arguments.ok_or_else(|| cx.malformed())?;
        self.burn_fuel(arguments.len() as u64)?;
        let params = dfg.block_params(call.block);
        if params.len() != arguments.len() {
            return Err(cx.malformed());
        }
        for (&param, argument) in params.iter().zip(arguments) {
            self.set(cx, param, argument);
        }
        self.go_to(call.block);
        Ok(())
    }

    pub(crate) fn brif(&self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::Brif { cond, then_dest, else_dest } = cx.view() else { return Err(cx.malformed()) };
        Ok(Flow::Branch(if self.get(cx, cond) != 0 { then_dest } else { else_dest }))
    }

    pub(crate) fn br_table(&self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::BranchTable { index, table } = cx.view() else { return Err(cx.malformed()) };
        let (default, entries) = cx.function().dfg.jump_table(table);
        let entry = usize::try_from(self.get(cx, index)).ok().and_then(|index| entries.get(index));
        Ok(Flow::Branch(*entry.unwrap_or(&default)))
    }

    pub(crate) fn return_(&self, cx: Cx<'_>) -> Flow {
        Flow::Return(self.get_all(cx, cx.args()))
    }

    /// Executes `trapz` or `trapnz`: traps if the condition is zero, or if it is not zero.
    pub(crate) fn cond_trap(&self, cx: Cx<'_>, if_zero: bool) -> Result<Flow, Stop> {
        let InstView::CondTrap { arg, code } = cx.view() else { return Err(cx.malformed()) };
        if (self.get(cx, arg) == 0) == if_zero { Err(Stop::Trap(code)) } else { Ok(Flow::Next) }
    }

    pub(crate) fn uadd_overflow_trap(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::IntAddTrap { args: [x, y], code } = cx.view() else { return Err(cx.malformed()) };
        match crate::int::uadd_overflow(cx.ctrl.bits(), self.get(cx, x), self.get(cx, y)) {
            (_, true) => Err(Stop::Trap(code)),
            (sum, false) => Ok(self.finish(cx, sum)),
        }
    }

    pub(crate) fn call_direct(&mut self, cx: Cx<'_>, is_tail: bool) -> Result<Flow, Stop> {
        let (InstView::Call { func, args } | InstView::TryCall { func, args, .. }) = cx.view() else {
            return Err(cx.malformed());
        };
        let callee = self.callee(cx, func)?;
        let sig = cx.function().dfg.ext_funcs[func].signature;
        self.transfer(cx, callee, sig, args, is_tail)
    }

    pub(crate) fn call_indirect(&mut self, cx: Cx<'_>, is_tail: bool) -> Result<Flow, Stop> {
        let (sig, callee, args) = match cx.view() {
            InstView::CallIndirect { sig, callee, args } => (sig, callee, args),
            InstView::TryCallIndirect { callee, args, table } => {
                (cx.function().dfg.exception_table(table).sig, callee, args)
            }
            _ => return Err(cx.malformed()),
        };
        let address = self.get(cx, callee) as u64;
        let not_a_function = Stop::NotAFunction { address };
        let callee = match CodeAddress::decode(cx.type_of(callee).bits(), address) {
            Some(CodeAddress::Function(index)) => self.environment.by_index(index as usize).map(Callee::Function),
            Some(CodeAddress::Library(index)) => LibCall::ALL.get(index as usize).copied().map(Callee::Library),
            Some(CodeAddress::Throw) => Some(Callee::Throw),
            None => None,
        };
        self.transfer(cx, callee.ok_or(not_a_function)?, sig, args, is_tail)
    }

    fn callee(&self, cx: Cx<'_>, func: FuncRef) -> Result<Callee, Stop> {
        let function = cx.function();
        let data = function.dfg.ext_funcs.get(func).ok_or_else(|| cx.malformed())?;
        if let ExternalName::LibCall(libcall) = data.name {
            return Ok(Callee::Library(libcall));
        }
        let id = self.environment.resolve(function, &data.name);
        if id.is_none() && matches!(&data.name, ExternalName::Named(name) if &**name == THROW) {
            return Ok(Callee::Throw);
        }
        let unknown = || Stop::UnknownFunction { name: function.display_name(&data.name).to_string() };
        id.map(Callee::Function).ok_or_else(unknown)
    }

    /// Continues after a call has returned.
    pub(crate) fn returned(&mut self, call: Cx<'a>, results: &[u128]) -> Result<(), Stop> {
        let dfg = &call.function().dfg;
        if let Some(table) = dfg.inst_exception_table(call.inst) {
            return self.branch(call, dfg.exception_table(table).normal, results);
        }
        self.set_results(call, results);
        self.advance();
        Ok(())
    }

    /// Leaves the function that throws, and its callers up to the first whose call has a handler.
    pub(crate) fn throw(&mut self, exception: &Exception) -> Result<(), Stop> {
        loop {
            self.burn_fuel(1)?;
            self.leave();
            if self.is_idle() {
                return Err(Stop::Uncaught { tag: exception.tag });
            }
            let call = self.context()?;
            if let Some(handler) = handler(call, exception.tag) {
                return self.branch(call, handler, &exception.payloads);
            }
        }
    }

    /// Executes `get_exception_handler_address`. The result differs from the addresses of all objects.
    pub(crate) fn handler_address(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::ExceptionHandlerAddress { block, index } = cx.view() else { return Err(cx.malformed()) };
        let offset = u64::from(block.as_u32()) << 8 | index as u64 & 0xff;
        Ok(self.finish(cx, DecodedAddress { region: Region::Nowhere, offset }.encode(cx.ctrl.bits()).into()))
    }

    /// Executes `get_frame_pointer` or `get_stack_pointer`. The result is an address of the frame.
    pub(crate) fn frame_address(&mut self, cx: Cx<'_>) -> Flow {
        let place = DecodedAddress { region: Region::Stack, offset: cx.frame_offset };
        self.finish(cx, place.encode(cx.ctrl.bits()).into())
    }

    /// Calls a function. The signature of the call must equal the callee's, except for extensions and purposes.
    fn transfer(
        &mut self,
        cx: Cx<'_>,
        callee: Callee,
        sig: SigRef,
        args: &[Value],
        is_tail: bool,
    ) -> Result<Flow, Stop> {
        let signature = cx.function().dfg.signatures.get(sig).ok_or_else(|| cx.malformed())?;
        let arguments = self.get_all(cx, args);
        match callee {
            Callee::Function(id) => {
                let function = self.environment.function(id);
                if function.signature.special_param_index(ArgumentPurpose::VariadicList).is_some() {
                    return Err(cx.not_supported());
                }
                if !same_types(signature, &function.signature) {
                    return Err(Stop::Arguments { function: function.name.to_string() });
                }
                Ok(if is_tail { Flow::TailCall(id, arguments) } else { Flow::Call(id, arguments) })
            }
            Callee::Library(libcall) => {
                let results = libcalls::call(&mut self.memory, libcall, &arguments)?;
                self.burn_fuel_for_bytes(libcalls::bytes(libcall, &arguments))?;
                if is_tail {
                    return Ok(Flow::Return(results));
                }
                Ok(Flow::Returned(results))
            }
            Callee::Throw => match arguments[..] {
                [_, _, _, tag, first, second] => {
                    Ok(Flow::Throw(Exception { tag: tag as u32, payloads: [first, second] }))
                }
                _ => Err(Stop::Arguments { function: format!("%{THROW}") }),
            },
        }
    }

    pub(crate) fn func_addr(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::FuncAddr { func } = cx.view() else { return Err(cx.malformed()) };
        let code = match self.callee(cx, func)? {
            Callee::Function(id) => CodeAddress::Function(id.0.into()),
            Callee::Library(libcall) => CodeAddress::Library(libcall as u64),
            Callee::Throw => CodeAddress::Throw,
        };
        Ok(self.finish(cx, code.encode(cx.ctrl.bits()).into()))
    }

    pub(crate) fn symbol_value(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::UnaryGlobalValue { global } = cx.view() else { return Err(cx.malformed()) };
        let value = self.global_value(cx, global)?;
        Ok(self.finish(cx, value))
    }

    /// Computes a global value: walks down the chain of bases, and then computes the values upward. Takes at
    /// most one step for each global value, because a longer chain is a ring.
    fn global_value(&mut self, cx: Cx<'_>, global: GlobalValue) -> Result<u128, Stop> {
        let function = cx.function();
        let mut chain = Vec::new();
        let mut current = global;
        let mut value = loop {
            let data = function.global_values.get(current).ok_or_else(|| cx.malformed())?;
            match data {
                GlobalValueData::Load { base, .. } | GlobalValueData::IAddImm { base, .. } => {
                    chain.push(data);
                    current = *base;
                }
                GlobalValueData::VmContext => break self.vmctx(cx)?,
                // The program has one thread, and so one copy of each thread-local symbol.
                GlobalValueData::Symbol { name, offset, tls, .. } if *tls == (cx.opcode == Opcode::TlsValue) => {
                    let unknown = || Stop::UnknownSymbol { name: function.display_name(name).to_string() };
                    let address = self.environment.symbol_address(function, name).ok_or_else(unknown)?;
                    break address.wrapping_add_signed(*offset).into();
                }
                GlobalValueData::Symbol { .. } => return Err(cx.not_supported()),
                GlobalValueData::DynScaleTargetConst { .. } => break 1,
            }
            if chain.len() > function.global_values.len() {
                return Err(cx.malformed());
            }
        };
        self.burn_fuel(chain.len() as u64)?;
        for data in chain.into_iter().rev() {
            value = match *data {
                GlobalValueData::Load { offset, ty, flags, .. } => {
                    self.read(Address { bits: 64, value, offset }, ty, flags)?
                }
                GlobalValueData::IAddImm { offset, ty, .. } => value.wrapping_add(offset as u128) & mask(ty.bits()),
                _ => value,
            };
        }
        Ok(value)
    }

    fn vmctx(&self, cx: Cx<'_>) -> Result<u128, Stop> {
        let function = cx.function();
        let index = function.signature.special_param_index(ArgumentPurpose::VmContext);
        let entry = function.layout.entry_block();
        let param = index.zip(entry).and_then(|(index, entry)| function.dfg.block_params(entry).get(index));
        param.map(|&param| self.get(cx, param)).ok_or_else(|| cx.malformed())
    }
}

/// Returns the handler of a call for an exception with this tag.
fn handler(call: Cx<'_>, tag: u32) -> Option<BlockCall> {
    let dfg = &call.function().dfg;
    let table = dfg.exception_table(dfg.inst_exception_table(call.inst)?);
    let items = table.items.iter().filter(|item| item.context().is_none());
    let find = |wanted| items.clone().position(|&item| item == wanted);
    let number = find(ExceptionItem::Tag(tag)).or_else(|| find(ExceptionItem::Default))?;
    table.handlers.get(number).copied()
}

fn same_types(call: &Signature, callee: &Signature) -> bool {
    let types = |sig: &Signature| {
        let all = sig.params.iter().chain(&sig.returns).map(|param| param.value_type);
        (sig.params.len(), all.collect::<Vec<_>>())
    };
    types(call) == types(callee)
}

/// Returns the trap of a `trap` instruction.
pub(crate) fn trap(cx: Cx<'_>) -> Stop {
    match cx.view() {
        InstView::Trap { code } => Stop::Trap(code),
        _ => Stop::Trap(TrapCode::HEAP_OUT_OF_BOUNDS),
    }
}
