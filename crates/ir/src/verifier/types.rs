//! Rules about types: controlling type, results and fixed operands.

use crate::entities::Inst;
use crate::inst_view::InstView;
use crate::opcodes::{Format, Suffix};
use crate::type_class::Allowed;
use crate::types::{INVALID, Type};
use crate::verifier::{Check, Verified};

impl Check<'_> {
    pub(super) fn types(&mut self, inst: Inst) -> Verified {
        self.own_types(inst);
        if self.func.dfg.opcode(inst).is_branch() { self.edge_args(inst) } else { Ok(()) }
    }

    /// Checks everything but the arguments of edges.
    pub(super) fn own_types(&mut self, inst: Inst) {
        let ctrl = self.controlling_type(inst);
        self.result_types(inst, ctrl);
        self.operand_types(inst, ctrl);
        let opcode = self.func.dfg.opcode(inst);
        if opcode.is_call() {
            self.callee_args(inst);
        }
        if opcode.is_return() {
            self.returns(inst);
        }
        if opcode.format() == Format::UnaryGlobalValue {
            self.global_value_type(inst);
        }
    }

    fn controlling_type(&mut self, inst: Inst) -> Type {
        let info = self.func.dfg.opcode(inst).info();
        let ctrl = match info.suffix {
            Suffix::None => return INVALID,
            Suffix::From(_) => self.func.dfg.ctrl_type(inst),
            Suffix::Required => self.func.dfg.first_result(inst).map_or(INVALID, |v| self.func.dfg.value_type(v)),
        };
        if !info.class.set().contains(ctrl) {
            let class = info.class.name();
            self.report(inst, format_args!("has an invalid controlling type {ctrl} (allowed set is {class})"));
        }
        ctrl
    }

    fn result_types(&mut self, inst: Inst, ctrl: Type) {
        let func = self.func;
        for (index, &result) in func.dfg.inst_results(inst).iter().enumerate() {
            // The number of results has been checked already.
            let Some(expected) = func.dfg.result_type(inst, index, ctrl) else { return };
            let found = func.dfg.value_type(result);
            if found != expected {
                let result = func.names.value(result);
                self.report(
                    inst,
                    format_args!("expected result {index} ({result}) to have type {expected}, found {found}"),
                );
            }
        }
    }

    fn operand_types(&mut self, inst: Inst, ctrl: Type) {
        let func = self.func;
        let constraints = func.dfg.opcode(inst).info().operands;
        for (index, (&arg, constraint)) in func.dfg.inst_args(inst).iter().zip(constraints).enumerate() {
            let ty = func.dfg.value_type(arg);
            let allowed = constraint.resolve(ctrl);
            if allowed.contains(ty) {
                continue;
            }
            let arg = func.names.value(arg);
            match allowed {
                Allowed::Exactly(expected) => {
                    self.report(inst, format_args!("arg {index} ({arg}) has type {ty}, expected {expected}"))
                }
                Allowed::In(_) | Allowed::Nothing => self.report(
                    inst,
                    format_args!(
                        "arg {index} ({arg}) with type {ty} failed to satisfy type set {} for \
                         controlling type {ctrl}",
                        constraint.describe()
                    ),
                ),
            }
        }
    }

    fn global_value_type(&mut self, inst: Inst) {
        let pointer = self.target.and_then(|target| target.pointer_type);
        let (Some(pointer), InstView::UnaryGlobalValue { global }) = (pointer, self.func.dfg.view(inst)) else {
            return;
        };
        let Some(result) = self.func.dfg.first_result(inst) else { return };
        let ty = self.func.dfg.value_type(result);
        let expected = self.func.global_value_type(global, pointer);
        if ty != expected {
            self.report(
                inst,
                format_args!(
                    "global_value instruction with type {ty} references global value with type \
                     {expected}"
                ),
            );
        }
    }
}
