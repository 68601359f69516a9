//! Rules of calls, exception tables and returns.

use std::fmt::{self, Write};

use crate::entities::{Block, ExceptionTable, FuncRef, Inst, SigRef, Value};
use crate::inst_view::InstView;
use crate::instruction::{BlockArg, BlockArgKind, BlockCall};
use crate::opcodes::Opcode;
use crate::signature::{AbiParam, ArgumentPurpose};
use crate::types::Type;
use crate::verifier::{Check, Verified};

/// Maximum number of bytes of an instruction's text in a message.
const TEXT_LIMIT: usize = 400;

/// Text that is cut off at the limit, so that huge instructions do not produce huge messages.
#[derive(Default)]
struct CutText(String);

impl Write for CutText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > TEXT_LIMIT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Kind of an edge that passes arguments.
#[derive(Copy, Clone)]
enum Edge {
    Plain,
    NormalReturn(SigRef),
    Exception(SigRef),
}

impl Check<'_> {
    fn inst_text(&self, inst: Inst) -> String {
        let mut text = CutText::default();
        if write!(text, "{}", self.func.display_inst(inst)).is_err() {
            text.0.push('…');
        }
        text.0
    }

    fn argument_count(&mut self, inst: Inst, got: usize, expected: usize) {
        let text = self.inst_text(inst);
        self.report(inst, format_args!("mismatched argument count for `{text}`: got {got}, expected {expected}"));
    }

    pub(super) fn patchability(&mut self, inst: Inst, func: FuncRef) -> Verified {
        let data = &self.func.dfg.ext_funcs[func];
        if !data.patchable {
            return Ok(());
        }
        if self.func.dfg.opcode(inst) == Opcode::ReturnCall {
            return self.fatal(inst, "patchable funcref cannot be used in a return_call");
        }
        if !data.colocated {
            return self.fatal(inst, "patchable call to non-colocated function");
        }
        let signature = self.func.dfg.signatures.get(data.signature);
        if signature.is_some_and(|signature| !signature.returns.is_empty()) {
            return self.fatal(inst, "patchable call cannot occur to a function with return values");
        }
        Ok(())
    }

    pub(super) fn exception_table(&mut self, inst: Inst, table: ExceptionTable) -> Verified {
        let sig = self.func.dfg.exception_table(table).sig;
        self.signature_reference(inst, sig)?;
        let conv = self.func.dfg.signatures[sig].call_conv;
        if conv.exception_payloads().is_none() {
            self.report(inst, format_args!("calling convention `{conv}` of callee does not support exceptions"));
        }
        Ok(())
    }

    pub(super) fn handler_index(&mut self, inst: Inst, block: Block, index: i64) -> Verified {
        let Ok(handler) = usize::try_from(index) else {
            return self.fatal(inst, format_args!("exception handler index {index} cannot be negative"));
        };
        let last = self.func.layout.last_inst(block);
        let Some(table) = last.and_then(|last| self.func.dfg.inst_exception_table(last)) else {
            let block = self.func.names.block(block);
            return self.fatal(inst, format_args!("referenced block {block} does not end in a try_call"));
        };
        if handler >= self.func.dfg.exception_table(table).handlers.len() {
            return self.fatal(inst, format_args!("exception handler index {index} is out-of-range"));
        }
        Ok(())
    }

    /// Checks the arguments of block calls.
    pub(super) fn edge_args(&mut self, inst: Inst) -> Verified {
        let func = self.func;
        if let Some(table) = func.dfg.inst_exception_table(inst) {
            let table = func.dfg.exception_table(table);
            self.block_call(inst, table.normal, Edge::NormalReturn(table.sig))?;
            for &handler in table.handlers {
                self.block_call(inst, handler, Edge::Exception(table.sig))?;
            }
        } else {
            for &call in func.dfg.branch_destinations(inst) {
                self.block_call(inst, call, Edge::Plain)?;
            }
        }
        Ok(())
    }

    /// Checks the arguments of calls.
    pub(super) fn callee_args(&mut self, inst: Inst) {
        let func = self.func;
        match func.dfg.view(inst) {
            InstView::Call { func: callee, args } => {
                self.call_args(inst, func.dfg.ext_funcs[callee].signature, args);
            }
            InstView::CallIndirect { sig, args, .. } => self.call_args(inst, sig, args),
            InstView::TryCall { func: callee, args, table } => {
                let sig = func.dfg.exception_table(table).sig;
                self.table_signature(inst, callee, sig);
                self.call_args(inst, sig, args);
            }
            InstView::TryCallIndirect { args, table, .. } => {
                self.call_args(inst, func.dfg.exception_table(table).sig, args);
            }
            _ => {}
        }
    }

    /// Checks that the exception table's signature equals the signature of the callee. The declarations may differ.
    fn table_signature(&mut self, inst: Inst, callee: FuncRef, sig: SigRef) {
        let signatures = &self.func.dfg.signatures;
        let expected = self.func.dfg.ext_funcs[callee].signature;
        if signatures.get(expected) == signatures.get(sig) {
            return;
        }
        let names = &self.func.names;
        let (sig, expected) = (names.signature(sig), names.signature(expected));
        let callee = names.function(callee);
        self.report(
            inst,
            format_args!(
                "exception table signature {sig} did not match function {callee}'s signature \
                 {expected}"
            ),
        );
    }

    fn call_args(&mut self, inst: Inst, sig: SigRef, args: &[Value]) {
        let func = self.func;
        let Some(signature) = func.dfg.signatures.get(sig) else { return };
        if args.len() != signature.params.len() {
            return self.argument_count(inst, args.len(), signature.params.len());
        }
        if signature.special_param_index(ArgumentPurpose::VariadicList).is_some() {
            self.report(inst, "a call passes variadic arguments and no `va_list`");
        }
        for (index, (&arg, param)) in args.iter().zip(&signature.params).enumerate() {
            let (ty, expected) = (func.dfg.value_type(arg), param.value_type);
            if ty != expected {
                let arg = func.names.value(arg);
                self.report(inst, format_args!("arg {index} ({arg}) has type {ty}, expected {expected}"));
            }
        }
    }

    fn block_call(&mut self, inst: Inst, call: BlockCall, edge: Edge) -> Verified {
        let func = self.func;
        let (args, params) = (func.dfg.block_args(call), func.dfg.block_params(call.block));
        if args.len() != params.len() {
            self.argument_count(inst, args.len(), params.len());
            return Ok(());
        }
        for (&arg, &param) in args.iter().zip(params) {
            let expected = func.dfg.value_type(param);
            if let Some(ty) = self.block_arg_type(inst, arg, edge)?.filter(|&ty| ty != expected) {
                let arg = func.display_block_arg(arg);
                self.report(inst, format_args!("arg {arg} has type {ty}, expected {expected}"));
            }
        }
        Ok(())
    }

    /// Returns the type of an argument, if it is known without a target.
    fn block_arg_type(&mut self, inst: Inst, arg: BlockArg, edge: Edge) -> Result<Option<Type>, super::Fatal> {
        let signatures = &self.func.dfg.signatures;
        let message = match (arg.kind(), edge) {
            (BlockArgKind::Value(value), _) => return Ok(Some(self.func.dfg.value_type(value))),
            (BlockArgKind::TryCallRet(number), Edge::NormalReturn(sig)) => {
                if let Some(param) = signatures[sig].returns.get(number as usize) {
                    return Ok(Some(param.value_type));
                }
                "out-of-bounds `retN` block argument"
            }
            (BlockArgKind::TryCallExn(number), Edge::Exception(sig)) => {
                if number < signatures[sig].call_conv.exception_payloads().unwrap_or(0) {
                    return Ok(self.target.and_then(|target| target.pointer_type));
                }
                "out-of-bounds `exnN` block argument"
            }
            (BlockArgKind::TryCallRet(_), _) => "`retN` block argument used outside normal-return target of `try_call`",
            (BlockArgKind::TryCallExn(_), _) => "`exnN` block argument used outside normal-return target of `try_call`",
        };
        self.fatal(inst, message).map(|()| None)
    }

    /// Checks the results that the function returns to its caller.
    pub(super) fn returns(&mut self, inst: Inst) {
        let func = self.func;
        match (func.dfg.opcode(inst), func.dfg.view(inst)) {
            (Opcode::Return, InstView::MultiAry { args }) => {
                let types = args.iter().map(|&arg| func.dfg.value_type(arg));
                let message = "arguments of return must match function signature";
                self.return_types(inst, types, message);
            }
            (Opcode::ReturnCall, InstView::Call { func: callee, .. }) => {
                self.tail_call(inst, func.dfg.ext_funcs[callee].signature);
            }
            (Opcode::ReturnCallIndirect, InstView::CallIndirect { sig, .. }) => {
                self.tail_call(inst, sig);
            }
            _ => {}
        }
    }

    fn tail_call(&mut self, inst: Inst, sig: SigRef) {
        let func = self.func;
        let Some(signature) = func.dfg.signatures.get(sig) else { return };
        let conv = signature.call_conv;
        if !conv.supports_tail_calls() {
            let message = format_args!("calling convention `{conv}` does not support tail calls");
            self.report(inst, message);
        }
        if conv != func.signature.call_conv {
            self.report(inst, "callee's calling convention must match caller");
        }
        let types = signature.returns.iter().map(|param: &AbiParam| param.value_type);
        self.return_types(inst, types, "results of callee must match caller");
    }

    fn return_types(&mut self, inst: Inst, types: impl ExactSizeIterator<Item = Type>, message: &str) {
        let expected = &self.func.signature.returns;
        if types.len() != expected.len() {
            return self.report(inst, message);
        }
        for (index, (ty, expected)) in types.zip(expected).enumerate() {
            if ty != expected.value_type {
                self.report(
                    inst,
                    format_args!("result {index} has type {ty}, must match function signature of {expected}"),
                );
            }
        }
    }
}
