//! Rules about the entities that an instruction refers to: values and their dominance, blocks, slots, functions,
//! signatures, constants.

use crate::entities::{AnyEntity, Block, Constant, FuncRef, GlobalValue, Inst, SigRef, StackSlot, Value};
use crate::inst_view::InstView;
use crate::memflags::MemFlags;
use crate::opcodes::Opcode;
use crate::value_data::ValueDef;
use crate::verifier::{Check, Fatal, Verified};

impl Check<'_> {
    pub(super) fn entity_references(&mut self, inst: Inst) -> Verified {
        self.result_count(inst)?;
        let func = self.func;
        let mut step = Ok(());
        func.dfg.for_each_use(inst, |value| {
            if step.is_ok() {
                step = self.used_value(inst, value);
            }
        });
        step?;
        for call in func.dfg.branch_destinations(inst) {
            self.block_reference(inst, call.block)?;
        }
        if let Some(flags) = func.dfg.inst(inst).memflags() {
            self.declared_region(inst.into(), flags);
        }
        self.other_references(inst)
    }

    fn result_count(&mut self, inst: Inst) -> Verified {
        let opcode = self.func.dfg.opcode(inst);
        let mut expected = opcode.info().results.len();
        if opcode.is_call()
            && !opcode.is_terminator()
            && let Some(sig) = self.func.dfg.call_signature(inst)
        {
            expected += self.func.dfg.signatures[sig].returns.len();
        }
        let found = self.func.dfg.inst_results(inst).len();
        if found == expected {
            return Ok(());
        }
        self.fatal(inst, format_args!("expected {expected} result values, found {found}"))
    }

    fn used_value(&mut self, inst: Inst, value: Value) -> Verified {
        let func = self.func;
        if !func.dfg.is_value_valid(value) {
            return self.fatal(inst, format_args!("invalid value reference {value}"));
        }
        let name = func.names.value(value);
        let Some(block) = func.layout.inst_block(inst) else { return Ok(()) };
        let reachable = self.dominators.is_reachable(block);
        match func.dfg.value_def(value) {
            ValueDef::Undefined => self.fatal(inst, format_args!("argument {name} is not attached")),
            ValueDef::Result(def, _) if func.layout.inst_block(def).is_none() => {
                let def = func.describe(def);
                self.fatal(inst, format_args!("{name} is defined by {def} which has no block"))
            }
            ValueDef::Result(def, _) if reachable && def == inst => {
                self.fatal(inst, format_args!("uses value {name} from itself"))
            }
            ValueDef::Result(def, _) if reachable && !self.dominators.inst_dominates(def, inst, &func.layout) => {
                let def = func.describe(def);
                self.fatal(inst, format_args!("uses value {name} from non-dominating {def}"))
            }
            ValueDef::Param(def, _) if !func.layout.is_block_inserted(def) => {
                let def = func.names.block(def);
                self.fatal(inst, format_args!("{name} is defined by {def} which is not in the layout"))
            }
            ValueDef::Param(def, _) if reachable && !self.dominators.dominates(def, block) => {
                let def = func.names.block(def);
                self.fatal(inst, format_args!("uses value arg from non-dominating {def}"))
            }
            ValueDef::Result(..) | ValueDef::Param(..) => Ok(()),
        }
    }

    pub(super) fn block_reference(&mut self, inst: Inst, block: Block) -> Verified {
        let name = self.func.names.block(block);
        if !self.func.dfg.is_block_valid(block) || !self.func.layout.is_block_inserted(block) {
            return self.fatal(inst, format_args!("invalid block reference {name}"));
        }
        if self.func.layout.entry_block() == Some(block) {
            self.entry_reference(inst, block);
            return Err(Fatal);
        }
        Ok(())
    }

    pub(super) fn declared_region(&mut self, location: AnyEntity, flags: MemFlags) {
        if let Some(region) = flags.alias_region()
            && !self.func.alias_regions.is_valid(region)
        {
            self.report(location, format_args!("undefined alias region {region}"));
        }
    }

    pub(super) fn other_references(&mut self, inst: Inst) -> Verified {
        let opcode = self.func.dfg.opcode(inst);
        match self.func.dfg.view(inst) {
            InstView::Call { func, .. } => {
                self.function_reference(inst, func)?;
                self.patchability(inst, func)
            }
            InstView::CallIndirect { sig, .. } => self.signature_reference(inst, sig),
            InstView::TryCall { func, table, .. } => {
                self.function_reference(inst, func)?;
                self.exception_table(inst, table)?;
                self.patchability(inst, func)
            }
            InstView::TryCallIndirect { table, .. } => self.exception_table(inst, table),
            InstView::FuncAddr { func } => self.function_reference(inst, func),
            InstView::StackAddr { slot, .. } => self.slot_reference(inst, slot),
            InstView::DynamicStackAddr { slot } => {
                if self.func.dynamic_stack_slots.is_valid(slot) {
                    return Ok(());
                }
                let slot = self.func.names.dynamic_stack_slot(slot);
                self.fatal(inst, format_args!("invalid dynamic stack slot {slot}"))
            }
            InstView::UnaryGlobalValue { global } => self.global_reference(inst, global),
            InstView::Load { addr, .. } | InstView::AtomicRmw { addr, .. } | InstView::AtomicCas { addr, .. } => {
                self.address(inst, addr);
                Ok(())
            }
            InstView::LoadNoOffset { flags, arg } if opcode == Opcode::Bitcast => self.bitcast(inst, flags, arg),
            InstView::LoadNoOffset { arg: addr, .. }
            | InstView::Store { addr, .. }
            | InstView::StoreNoOffset { addr, .. } => {
                self.address(inst, addr);
                Ok(())
            }
            InstView::UnaryConst { constant } => self.constant_size(inst, constant),
            InstView::ExceptionHandlerAddress { block, index } => {
                self.block_reference(inst, block)?;
                self.handler_index(inst, block, index)
            }
            _ => self.special_register(inst, opcode),
        }
    }

    pub(super) fn function_reference(&mut self, inst: Inst, func: FuncRef) -> Verified {
        if self.func.dfg.ext_funcs.is_valid(func) {
            return Ok(());
        }
        let func = self.func.names.function(func);
        self.fatal(inst, format_args!("invalid function reference {func}"))
    }

    pub(super) fn signature_reference(&mut self, inst: Inst, sig: SigRef) -> Verified {
        if self.func.dfg.signatures.is_valid(sig) {
            return Ok(());
        }
        let sig = self.func.names.signature(sig);
        self.fatal(inst, format_args!("invalid signature reference {sig}"))
    }

    fn slot_reference(&mut self, inst: Inst, slot: StackSlot) -> Verified {
        if self.func.stack_slots.is_valid(slot) {
            return Ok(());
        }
        let slot = self.func.names.stack_slot(slot);
        self.fatal(inst, format_args!("invalid stack slot {slot}"))
    }

    fn global_reference(&mut self, inst: Inst, global: GlobalValue) -> Verified {
        if self.func.global_values.is_valid(global) {
            return Ok(());
        }
        let global = self.func.names.global_value(global);
        self.fatal(inst, format_args!("invalid global value {global}"))
    }

    fn address(&mut self, inst: Inst, addr: Value) {
        let Some(pointer) = self.target.and_then(|target| target.pointer_type) else { return };
        let (got, expected) = (self.func.dfg.value_type(addr).bits(), pointer.bits());
        if got != expected {
            let addr = self.func.names.value(addr);
            self.report(
                inst,
                format_args!("invalid pointer width (got {got}, expected {expected}) encountered {addr}"),
            );
        }
    }

    fn constant_size(&mut self, inst: Inst, constant: Constant) -> Verified {
        let expected = match self.func.dfg.opcode(inst) {
            Opcode::F128const => 16,
            _ => self.func.dfg.ctrl_type(inst).bytes() as usize,
        };
        let got = self.func.dfg.constants.bytes(constant).len();
        if got == expected {
            return Ok(());
        }
        let constant = self.func.names.constant(constant);
        self.fatal(
            inst,
            format_args!(
                "The instruction expects {constant} to have a size of {expected} bytes but it has \
                 {got}"
            ),
        )
    }

    fn special_register(&mut self, inst: Inst, opcode: Opcode) -> Verified {
        let allowed = |setting: fn(&crate::verifier::TargetInfo) -> bool| self.target.as_ref().is_some_and(setting);
        match opcode {
            Opcode::GetPinnedReg | Opcode::SetPinnedReg if !allowed(|target| target.enable_pinned_reg) => {
                self.fatal(inst, format_args!("{opcode} cannot be used without `enable_pinned_reg`"))
            }
            Opcode::GetFramePointer | Opcode::GetReturnAddress if !allowed(|target| target.preserve_frame_pointers) => {
                self.fatal(inst, format_args!("{opcode} cannot be used without `preserve_frame_pointers`"))
            }
            _ => Ok(()),
        }
    }

    fn bitcast(&mut self, inst: Inst, flags: MemFlags, arg: Value) -> Verified {
        let (from, to) = (self.func.dfg.value_type(arg), self.func.dfg.ctrl_type(inst));
        if from.bits() != to.bits() {
            let arg = self.func.names.value(arg);
            let (from, to) = (from.bits(), to.bits());
            return self.fatal(
                inst,
                format_args!(
                    "The bitcast argument {arg} has a type of {from} bits, which doesn't match an \
                     expected type of {to} bits"
                ),
            );
        }
        if !flags.only_endianness() {
            return self.fatal(inst, "The bitcast instruction only accepts the `big` or `little` memory flags");
        }
        if flags.endianness().is_none() && from.lane_count() != to.lane_count() {
            return self.fatal(inst, "Byte order specifier required for bitcast instruction changing lane count");
        }
        Ok(())
    }
}
