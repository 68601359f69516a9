//! Translation of instructions by their format.

use super::enums::{atomic_rmw_op, float_cc, int_cc, opcode};
use super::preamble::{constant, mem_flags, slot, trap_code};
use super::{Translation, block, ty, unsupported, value};
use cranelift_codegen::ir::InstructionData as Up;
use cranelift_codegen::{CodegenResult, ir};
use kingpost_ir::exception_table::ExceptionItem;
use kingpost_ir::immediates::{Ieee16, Ieee32, Ieee64};
use kingpost_ir::opcodes::Suffix;
use kingpost_ir::{
    BlockArg, BlockArgKind, BlockCall, DynamicStackSlot, ExceptionTable, FuncRef, GlobalValue, InstData, JumpTable,
    MemFlags, SigRef, Value, types,
};

impl Translation<'_> {
    /// Returns the counterpart of an instruction, without results.
    pub(super) fn inst_data(&mut self, inst: ir::Inst) -> CodegenResult<InstData> {
        let op = opcode(self.func.dfg.insts[inst].opcode());
        let dfg = &self.func.dfg;
        let ctrl = |operands: &[ir::Value]| match op.suffix() {
            Suffix::None => types::INVALID,
            Suffix::Required => ty(dfg.value_type(dfg.first_result(inst))),
            Suffix::From(index) => ty(dfg.value_type(operands[usize::from(index)])),
        };
        Ok(match self.func.dfg.insts[inst] {
            Up::NullAry { .. } => InstData::nullary(op, ctrl(&[])),
            Up::Unary { arg, .. } => InstData::unary(op, ctrl(&[arg]), self.value(arg)),
            Up::Binary { args, .. } => InstData::binary(op, ctrl(&args), self.values(args)),
            Up::Ternary { args, .. } => InstData::ternary(op, ctrl(&args), self.values(args)),
            Up::UnaryImm { imm, .. } => InstData::iconst(ctrl(&[]), imm.bits()),
            Up::UnaryIeee16 { imm, .. } => InstData::f16const(Ieee16::from_bits(imm.bits())),
            Up::UnaryIeee32 { imm, .. } => InstData::f32const(Ieee32::from_bits(imm.bits())),
            Up::UnaryIeee64 { imm, .. } => InstData::f64const(Ieee64::from_bits(imm.bits())),
            Up::UnaryConst { constant_handle, .. } => {
                let data = constant(self.func.dfg.constants.get(constant_handle));
                let constant = self.out.dfg.constants.insert(data);
                InstData::unary_const(op, ty(self.func.dfg.value_type(self.func.dfg.first_result(inst))), constant)
            }
            Up::BinaryImm8 { arg, imm, .. } => InstData::binary_imm8(op, ctrl(&[arg]), self.value(arg), imm),
            Up::TernaryImm8 { args, imm, .. } => InstData::insertlane(ctrl(&args), self.values(args), imm),
            Up::Shuffle { args, imm, .. } => {
                let mask = self.func.dfg.immediates[imm].as_slice().try_into();
                let mask = mask.map_err(|_| unsupported("`shuffle` with a mask that has not 16 bytes"))?;
                let mask = self.out.dfg.make_shuffle_mask(mask);
                InstData::shuffle(self.values(args), mask)
            }
            Up::IntCompare { args, cond, .. } => InstData::icmp(ctrl(&args), int_cc(cond), self.values(args)),
            Up::FloatCompare { args, cond, .. } => InstData::fcmp(ctrl(&args), float_cc(cond), self.values(args)),
            Up::Trap { code, .. } => InstData::trap(trap_code(code)),
            Up::CondTrap { arg, code, .. } => InstData::cond_trap(op, ctrl(&[arg]), self.value(arg), trap_code(code)),
            Up::IntAddTrap { args, code, .. } => {
                InstData::int_add_trap(ctrl(&args), self.values(args), trap_code(code))
            }
            Up::Load { arg, flags, offset, .. } => {
                InstData::load(op, ctrl(&[arg]), self.flags(flags)?, self.value(arg), offset.into())
            }
            Up::Store { args, flags, offset, .. } => {
                let [stored, address] = self.values(args);
                InstData::store(op, self.flags(flags)?, stored, address, offset.into())
            }
            Up::LoadNoOffset { arg, flags, .. } => {
                InstData::load_no_offset(op, ctrl(&[arg]), self.flags(flags)?, self.value(arg))
            }
            Up::StoreNoOffset { args, flags, .. } => {
                let [stored, address] = self.values(args);
                InstData::atomic_store(self.flags(flags)?, stored, address)
            }
            Up::AtomicRmw { args, flags, op, .. } => {
                let [address, operand] = self.values(args);
                InstData::atomic_rmw(ctrl(&args), self.flags(flags)?, atomic_rmw_op(op), address, operand)
            }
            Up::AtomicCas { args, flags, .. } => {
                let [address, expected, new] = self.values(args);
                InstData::atomic_cas(self.flags(flags)?, address, expected, new)
            }
            Up::StackAddr { stack_slot, offset, .. } => {
                InstData::stack_addr(ctrl(&[]), slot(stack_slot), offset.into())
            }
            Up::DynamicStackAddr { dynamic_stack_slot, .. } => {
                let slot = DynamicStackSlot::from_u32(dynamic_stack_slot.as_u32());
                InstData::dynamic_stack_addr(ctrl(&[]), slot)
            }
            Up::UnaryGlobalValue { global_value, .. } => {
                InstData::unary_global(op, ctrl(&[]), GlobalValue::from_u32(global_value.as_u32()))
            }
            Up::FuncAddr { func_ref, .. } => InstData::func_addr(ctrl(&[]), func(func_ref)),
            Up::ExceptionHandlerAddress { block, imm, .. } => {
                InstData::exception_handler_address(ctrl(&[]), self::block(block), imm.bits())
            }
            Up::Jump { destination, .. } => {
                let call = self.block_call(&destination);
                self.out.dfg.jump_data(call)
            }
            Up::Brif { arg, blocks: [then, otherwise], .. } => {
                let (then, otherwise) = (self.block_call(&then), self.block_call(&otherwise));
                let condition = self.value(arg);
                self.out.dfg.brif_data(condition, then, otherwise)
            }
            Up::BranchTable { arg, table, .. } => {
                let table = self.jump_table(table);
                let index = self.value(arg);
                self.out.dfg.br_table_data(index, table)
            }
            Up::MultiAry { args, .. } => {
                self.list(args);
                self.out.dfg.return_data(&self.values)
            }
            Up::Call { args, func_ref, .. } => {
                self.list(args);
                self.out.dfg.call_data(op, func(func_ref), &self.values)
            }
            Up::CallIndirect { args, sig_ref, .. } => {
                self.list(args);
                self.out.dfg.call_indirect_data(op, sig(sig_ref), self.values[0], &self.values[1..])
            }
            Up::TryCall { args, func_ref, exception, .. } => {
                let table = self.exception_table(exception);
                self.list(args);
                self.out.dfg.try_call_data(func(func_ref), &self.values, table)
            }
            Up::TryCallIndirect { args, exception, .. } => {
                let table = self.exception_table(exception);
                self.list(args);
                self.out.dfg.try_call_indirect_data(self.values[0], &self.values[1..], table)
            }
        })
    }

    fn value(&self, from: ir::Value) -> Value {
        value(self.func.dfg.resolve_aliases(from))
    }

    fn values<const N: usize>(&self, from: [ir::Value; N]) -> [Value; N] {
        from.map(|from| self.value(from))
    }

    /// Sets `self.values` to the translated values of a list.
    fn list(&mut self, from: ir::instructions::ValueList) {
        let dfg = &self.func.dfg;
        self.values.clear();
        self.values.extend(from.as_slice(&dfg.value_lists).iter().map(|&from| value(dfg.resolve_aliases(from))));
    }

    fn flags(&self, from: ir::MemFlags) -> CodegenResult<MemFlags> {
        mem_flags(self.func.dfg.mem_flags[from])
    }

    fn block_call(&mut self, from: &ir::BlockCall) -> BlockCall {
        let dfg = &self.func.dfg;
        let args = from.args(&dfg.value_lists).map(|arg| {
            BlockArg::new(match arg {
                ir::BlockArg::Value(from) => BlockArgKind::Value(value(dfg.resolve_aliases(from))),
                ir::BlockArg::TryCallRet(number) => BlockArgKind::TryCallRet(number),
                ir::BlockArg::TryCallExn(number) => BlockArgKind::TryCallExn(number),
            })
        });
        self.args.clear();
        self.args.extend(args);
        self.out.dfg.block_call(block(from.block(&dfg.value_lists)), &self.args)
    }

    /// Sets `self.calls` to the translated block calls.
    fn block_calls(&mut self, from: &[ir::BlockCall]) {
        self.calls.clear();
        for call in from {
            let call = self.block_call(call);
            self.calls.push(call);
        }
    }

    fn jump_table(&mut self, from: ir::JumpTable) -> JumpTable {
        let from = &self.func.dfg.jump_tables[from];
        let default = self.block_call(&from.default_block());
        self.block_calls(from.as_slice());
        self.out.dfg.make_jump_table(default, &self.calls)
    }

    fn exception_table(&mut self, from: ir::ExceptionTable) -> ExceptionTable {
        let from = &self.func.dfg.exception_tables[from];
        let normal = self.block_call(from.normal_return());
        let mut items = Vec::new();
        self.calls.clear();
        for item in from.items() {
            let (item, handler) = match item {
                ir::ExceptionTableItem::Tag(tag, handler) => (ExceptionItem::Tag(tag.as_u32()), Some(handler)),
                ir::ExceptionTableItem::Default(handler) => (ExceptionItem::Default, Some(handler)),
                ir::ExceptionTableItem::Context(from) => (ExceptionItem::Context(self.value(from)), None),
            };
            items.push(item);
            if let Some(handler) = handler {
                let handler = self.block_call(&handler);
                self.calls.push(handler);
            }
        }
        self.out.dfg.make_exception_table(sig(from.signature()), normal, &items, &self.calls)
    }
}

fn func(from: ir::FuncRef) -> FuncRef {
    FuncRef::from_u32(from.as_u32())
}

fn sig(from: ir::SigRef) -> SigRef {
    SigRef::from_u32(from.as_u32())
}
