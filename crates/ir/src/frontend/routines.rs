//! Calls of library routines that copy, fill and compare memory. Sizes are values of type i64, in bytes.

use super::FunctionBuilder;
use crate::builder::ControlBuilder;
use crate::entities::{Inst, Value};
use crate::extfunc::{ExtFuncData, ExternalName};
use crate::libcall::LibCall;
use crate::signature::{AbiParam, CallConv, Signature};
use crate::types::{I32, I64, Type};

impl FunctionBuilder<'_> {
    /// Inserts a call that copies bytes between places that do not overlap. `conv` is the C calling convention of the
    /// target.
    pub fn call_memcpy(&mut self, conv: CallConv, to: Value, from: Value, bytes: Value) {
        self.call_routine(LibCall::Memcpy, conv, [I64, I64, I64], I64, &[to, from, bytes]);
    }

    /// Inserts a call that copies bytes between places that may overlap.
    pub fn call_memmove(&mut self, conv: CallConv, to: Value, from: Value, bytes: Value) {
        self.call_routine(LibCall::Memmove, conv, [I64, I64, I64], I64, &[to, from, bytes]);
    }

    /// Inserts a call that sets bytes to the low byte of `value`, which has type i32.
    pub fn call_memset(&mut self, conv: CallConv, to: Value, value: Value, bytes: Value) {
        self.call_routine(LibCall::Memset, conv, [I64, I32, I64], I64, &[to, value, bytes]);
    }

    /// Inserts a call that compares bytes. The result has type i32. It is negative, zero or positive if the first
    /// place is less than, equal to or greater than the second.
    pub fn call_memcmp(&mut self, conv: CallConv, left: Value, right: Value, bytes: Value) -> Value {
        let call = self.call_routine(LibCall::Memcmp, conv, [I64, I64, I64], I32, &[left, right, bytes]);
        self.inst_results(call)[0]
    }

    fn call_routine(
        &mut self,
        routine: LibCall,
        conv: CallConv,
        params: [Type; 3],
        result: Type,
        args: &[Value],
    ) -> Inst {
        let name = ExternalName::LibCall(routine);
        let known = self.func.dfg.ext_funcs.iter().rev().find(|(_, function)| function.name == name);
        let callee = known.map(|(callee, _)| callee).unwrap_or_else(|| {
            let mut signature = Signature::new(conv);
            signature.params.extend(params.map(AbiParam::new));
            signature.returns.push(AbiParam::new(result));
            let signature = self.import_signature(signature);
            self.import_function(ExtFuncData { name, signature, colocated: false, patchable: false })
        });
        self.ins().call(callee, args)
    }
}
