//! Instructions: one function for each form of operands, with the opcode as an argument.

use crate::builder::{Builder, Building, building, invalid};
use crate::entry::entries;
use crate::error::{Failure, Status};
use crate::foreign::Array;
use crate::handles::Handle;
use crate::items::{BlockItem, CalleeItem, DataItem, SignatureItem, SlotItem, ValueItem};
use crate::tables;
use kingpost::ir::builder::{ControlBuilder, InstBuilder};
use kingpost::ir::constants::ConstantData;
use kingpost::ir::frontend::Switch;
use kingpost::ir::immediates::Ieee16;
use kingpost::ir::opcodes::Suffix;
use kingpost::ir::signature::AbiParam;
use kingpost::ir::type_class::Allowed;
use kingpost::ir::types::{F16, F128, INVALID};
use kingpost::ir::{Format, FuncRef, Inst, InstData, MAX_VALUES_PER_OWNER, Opcode, SigRef, Type, Value};

/// Returns the function of the interface that builds instructions of a form.
fn function_for(format: Format) -> &'static str {
    match format {
        Format::Nullary => "kp_ins_nullary",
        Format::Unary => "kp_ins_unary",
        Format::Binary => "kp_ins_binary",
        Format::Ternary => "kp_ins_ternary",
        Format::MultiAry => "kp_ins_return",
        Format::UnaryImm => "kp_ins_iconst",
        Format::UnaryIeee32 => "kp_ins_f32const",
        Format::UnaryIeee64 => "kp_ins_f64const",
        Format::UnaryIeee16 | Format::UnaryConst => "kp_ins_constant",
        Format::BinaryImm8 => "kp_ins_extract_lane",
        Format::TernaryImm8 => "kp_ins_insert_lane",
        Format::Shuffle => "kp_ins_shuffle",
        Format::IntCompare => "kp_ins_icmp",
        Format::FloatCompare => "kp_ins_fcmp",
        Format::Trap => "kp_ins_trap",
        Format::CondTrap => "kp_ins_trap_if",
        Format::IntAddTrap => "kp_ins_add_or_trap",
        Format::Load => "kp_ins_load",
        Format::Store => "kp_ins_store",
        Format::LoadNoOffset => "kp_ins_bitcast or kp_ins_atomic_load",
        Format::StoreNoOffset => "kp_ins_atomic_store",
        Format::AtomicRmw => "kp_ins_atomic_rmw",
        Format::AtomicCas => "kp_ins_atomic_cas",
        Format::StackAddr => "kp_ins_stack_address",
        Format::UnaryGlobalValue => "kp_ins_data_address",
        Format::FuncAddr => "kp_ins_function_address",
        Format::Jump => "kp_ins_jump",
        Format::Brif => "kp_ins_brif",
        Format::BranchTable => "kp_ins_br_table",
        Format::Call => "kp_ins_call",
        Format::CallIndirect => "kp_ins_call_indirect",
        Format::DynamicStackAddr | Format::ExceptionHandlerAddress | Format::TryCall | Format::TryCallIndirect => {
            "kp_module_add_text"
        }
    }
}

impl Building<'_> {
    /// Returns the opcode with this number, whose instructions must have this form.
    fn opcode(&self, number: u32, format: Format) -> Result<Opcode, Failure> {
        let opcode = tables::opcode(number)?;
        match opcode.format() {
            found if found == format => Ok(opcode),
            found => Err(invalid(format!("`{opcode}` has other operands: {} builds it", function_for(found)))),
        }
    }

    /// Returns the controlling type of an instruction. `ty` is the type that the caller gives, or 0.
    fn controlling_type(&self, opcode: Opcode, ty: u32, args: &[Value]) -> Result<Type, Failure> {
        match opcode.suffix() {
            Suffix::Required if ty == 0 => Err(invalid(format!("`{opcode}` needs the type of its result"))),
            Suffix::Required => tables::type_of(ty),
            _ if ty != 0 => Err(invalid(format!("`{opcode}` infers its type: `ty` is not KP_INFER"))),
            Suffix::From(index) => Ok(self.type_of(args[usize::from(index)])),
            Suffix::None => Ok(INVALID),
        }
    }

    /// Checks the types of operands.
    fn check_types(&self, opcode: Opcode, ctrl: Type, args: &[Value]) -> Result<(), Failure> {
        let info = opcode.info();
        if opcode.suffix() != Suffix::None && !info.class.set().contains(ctrl) {
            return Err(invalid(format!("`{opcode}` does not take {ctrl}, but {}", info.class.name())));
        }
        for (index, (&arg, constraint)) in args.iter().zip(info.operands).enumerate() {
            let (ty, allowed, name) = (self.type_of(arg), constraint.resolve(ctrl), info.operand_names[index]);
            match allowed {
                _ if allowed.contains(ty) => {}
                Allowed::Exactly(expected) => {
                    return Err(invalid(format!("operand `{name}` of `{opcode}` has type {ty}, expected {expected}")));
                }
                Allowed::In(_) | Allowed::Nothing => {
                    let described = constraint.describe();
                    return Err(invalid(format!("operand `{name}` of `{opcode}` has type {ty}, expected {described}")));
                }
            }
        }
        for constraint in info.results {
            if let Allowed::Nothing = constraint.resolve(ctrl) {
                return Err(invalid(format!("`{opcode}` has no result for {ctrl}")));
            }
        }
        Ok(())
    }

    /// Adds an instruction whose operands have right types. Returns its first result, or null.
    fn insert(&mut self, build: impl FnOnce(&mut Self) -> Inst) -> Result<Handle<ValueItem>, Failure> {
        self.open_block()?;
        let inst = build(self);
        let results = self.builder.inst_results(inst).to_vec();
        self.set_results(&results);
        Ok(results.first().map_or(Handle::NULL, |&value| self.handle(value)))
    }

    /// Checks the types of an instruction without operand lists, and adds it.
    fn add(
        &mut self,
        opcode: Opcode,
        ctrl: Type,
        args: &[Value],
        data: InstData,
    ) -> Result<Handle<ValueItem>, Failure> {
        self.check_types(opcode, ctrl, args)?;
        self.insert(|b| b.builder.ins().insert(data, ctrl))
    }

    /// Returns the values of an argument list.
    fn list(&self, args: Array<'_, Handle<ValueItem>>, count: usize) -> Result<Vec<Value>, Failure> {
        if count >= MAX_VALUES_PER_OWNER as usize {
            return Err(Failure::new(Status::Limit, format!("a list of {count} values is too long")));
        }
        self.values(args.get(count, "arguments")?)
    }

    /// Checks values against the parameters or results of a signature.
    fn check_list(&self, values: &[Value], expected: &[AbiParam], what: &str) -> Result<(), Failure> {
        if values.len() != expected.len() {
            return Err(invalid(format!("{} {what}, expected {}", values.len(), expected.len())));
        }
        for (index, (&value, param)) in values.iter().zip(expected).enumerate() {
            let (found, ty) = (self.type_of(value), param.value_type);
            if found != ty {
                return Err(invalid(format!("number {index} of the {what} has type {found}, expected {ty}")));
            }
        }
        Ok(())
    }

    fn check_call(&self, signature: SigRef, args: &[Value]) -> Result<(), Failure> {
        self.check_list(args, &self.builder.func.dfg.signatures[signature].params, "arguments")
    }

    fn signature_of(&self, callee: FuncRef) -> SigRef {
        self.builder.func.dfg.ext_funcs[callee].signature
    }

    /// Checks that a value is an integer of any width.
    fn check_condition(&self, value: Value) -> Result<(), Failure> {
        let ty = self.type_of(value);
        if ty.is_int() && ty.is_scalar() {
            Ok(())
        } else {
            Err(invalid(format!("a condition of type {ty}, not an integer")))
        }
    }

    /// Checks that a value is an address.
    fn check_address(&self, value: Value) -> Result<(), Failure> {
        let ty = self.type_of(value);
        if ty.is_int() && ty.bits() == 64 && ty.is_scalar() {
            Ok(())
        } else {
            Err(invalid(format!("an address of type {ty}, not i64")))
        }
    }
}

entries! {
    /// Adds an instruction without operands. `ty` is the type of the result where the opcode needs one, otherwise
    /// `KP_INFER`.
    fn kp_ins_nullary[b](opcode: u32, ty: u32) -> Handle<ValueItem> {
        let opcode = b.opcode(opcode, Format::Nullary)?;
        let ctrl = b.controlling_type(opcode, ty, &[])?;
        b.add(opcode, ctrl, &[], InstData::nullary(opcode, ctrl))
    }

    /// Adds an instruction with one operand. `ty` is the type of the result where the opcode needs one, such as
    /// `KP_OP_UEXTEND`, otherwise `KP_INFER`.
    fn kp_ins_unary[b](opcode: u32, ty: u32, x: Handle<ValueItem>) -> Handle<ValueItem> {
        let (opcode, x) = (b.opcode(opcode, Format::Unary)?, b.value(x)?);
        let ctrl = b.controlling_type(opcode, ty, &[x])?;
        b.add(opcode, ctrl, &[x], InstData::unary(opcode, ctrl, x))
    }

    /// Adds an instruction with two operands, such as `KP_OP_IADD`.
    fn kp_ins_binary[b](opcode: u32, x: Handle<ValueItem>, y: Handle<ValueItem>) -> Handle<ValueItem> {
        let (opcode, args) = (b.opcode(opcode, Format::Binary)?, [b.value(x)?, b.value(y)?]);
        let ctrl = b.controlling_type(opcode, 0, &args)?;
        b.add(opcode, ctrl, &args, InstData::binary(opcode, ctrl, args))
    }

    /// Adds an instruction with two operands, the second one an integer constant of the first one's type.
    fn kp_ins_binary_imm[b](opcode: u32, x: Handle<ValueItem>, y: i64) -> Handle<ValueItem> {
        let (opcode, x) = (b.opcode(opcode, Format::Binary)?, b.value(x)?);
        let ty = b.type_of(x);
        if !ty.is_int() || !ty.is_scalar() || ty.bits() > 64 {
            return Err(invalid(format!("a constant operand beside {ty}; integers of up to 64 bits have one")));
        }
        b.open_block()?;
        let y = b.builder.ins().iconst(ty, y);
        let ctrl = b.controlling_type(opcode, 0, &[x, y])?;
        b.add(opcode, ctrl, &[x, y], InstData::binary(opcode, ctrl, [x, y]))
    }

    /// Adds an instruction with three operands, such as `KP_OP_SELECT`.
    fn kp_ins_ternary[b](opcode: u32, x: Handle<ValueItem>, y: Handle<ValueItem>, z: Handle<ValueItem>) -> Handle<ValueItem> {
        let (opcode, args) = (b.opcode(opcode, Format::Ternary)?, [b.value(x)?, b.value(y)?, b.value(z)?]);
        let ctrl = b.controlling_type(opcode, 0, &args)?;
        b.add(opcode, ctrl, &args, InstData::ternary(opcode, ctrl, args))
    }

    /// Adds an integer constant of at most 64 bits. Keeps the low bits of `value` that fit the type.
    fn kp_ins_iconst[b](ty: u32, value: i64) -> Handle<ValueItem> {
        let ty = tables::type_of(ty)?;
        b.add(Opcode::Iconst, ty, &[], InstData::iconst(ty, value))
    }

    /// Adds a constant of type f32.
    fn kp_ins_f32const[b](value: f32) -> Handle<ValueItem> {
        b.insert(|b| {
            let value = b.builder.ins().f32const(value);
            b.builder.func.dfg.defining_inst(value).expect("a constant is an instruction")
        })
    }

    /// Adds a constant of type f64.
    fn kp_ins_f64const[b](value: f64) -> Handle<ValueItem> {
        b.insert(|b| {
            let value = b.builder.ins().f64const(value);
            b.builder.func.dfg.defining_inst(value).expect("a constant is an instruction")
        })
    }

    /// Adds a constant of a vector type, or of type f16 or f128: its bytes, the least significant one first.
    fn kp_ins_constant[b](ty: u32, bytes: Array<'_, u8>, length: usize) -> Handle<ValueItem> {
        let (ty, bytes) = (tables::type_of(ty)?, bytes.get(length, "bytes")?);
        let opcode = if ty == F128 { Opcode::F128const } else { Opcode::Vconst };
        if ![F16, F128].contains(&ty) && (ty.is_scalar() || ty.is_dynamic_vector()) {
            return Err(invalid(format!("{ty} is neither a vector nor f16 or f128")));
        }
        if bytes.len() != ty.bytes() as usize {
            return Err(Failure::argument(format!("{length} bytes, but {ty} has {}", ty.bytes())));
        }
        if let (F16, &[low, high]) = (ty, bytes) {
            let data = InstData::f16const(Ieee16::from_bits(u16::from_le_bytes([low, high])));
            return b.add(Opcode::F16const, INVALID, &[], data);
        }
        b.open_block()?;
        let constant = b.builder.func.dfg.constants.insert(ConstantData::new(bytes));
        let ctrl = if ty == F128 { INVALID } else { ty };
        b.add(opcode, ctrl, &[], InstData::unary_const(opcode, ty, constant))
    }

    /// Adds a comparison of integers. `condition` is one of `KP_INT_EQ` and so on; the result is 0 or 1, of type i8.
    fn kp_ins_icmp[b](condition: u32, x: Handle<ValueItem>, y: Handle<ValueItem>) -> Handle<ValueItem> {
        let (condition, args) = (tables::int_condition(condition)?, [b.value(x)?, b.value(y)?]);
        let ctrl = b.controlling_type(Opcode::Icmp, 0, &args)?;
        b.add(Opcode::Icmp, ctrl, &args, InstData::icmp(ctrl, condition, args))
    }

    /// Adds a comparison of floats. `condition` is one of `KP_FLOAT_EQ` and so on; the result is 0 or 1, of type i8.
    fn kp_ins_fcmp[b](condition: u32, x: Handle<ValueItem>, y: Handle<ValueItem>) -> Handle<ValueItem> {
        let (condition, args) = (tables::float_condition(condition)?, [b.value(x)?, b.value(y)?]);
        let ctrl = b.controlling_type(Opcode::Fcmp, 0, &args)?;
        b.add(Opcode::Fcmp, ctrl, &args, InstData::fcmp(ctrl, condition, args))
    }

    /// Adds a load from `address + offset`. `flags` are a combination of `KP_MEM_NOTRAP` and so on. `ty` is the type of
    /// the result where the opcode needs one, such as `KP_OP_LOAD`, otherwise `KP_INFER`.
    fn kp_ins_load[b](opcode: u32, ty: u32, flags: u32, address: Handle<ValueItem>, offset: i32) -> Handle<ValueItem> {
        let (opcode, flags, address) = (b.opcode(opcode, Format::Load)?, tables::memory_flags(flags)?, b.value(address)?);
        let ctrl = b.controlling_type(opcode, ty, &[address])?;
        b.add(opcode, ctrl, &[address], InstData::load(opcode, ctrl, flags, address, offset))
    }

    /// Adds a store of a value to `address + offset`.
    fn kp_ins_store[b](opcode: u32, flags: u32, value: Handle<ValueItem>, address: Handle<ValueItem>, offset: i32) {
        let (opcode, flags) = (b.opcode(opcode, Format::Store)?, tables::memory_flags(flags)?);
        let args = [b.value(value)?, b.value(address)?];
        let ctrl = b.controlling_type(opcode, 0, &args)?;
        b.add(opcode, ctrl, &args, InstData::store(opcode, flags, args[0], args[1], offset)).map(drop)
    }

    /// Adds a cast between types of equal size. `flags` are 0, or a byte order.
    fn kp_ins_bitcast[b](ty: u32, flags: u32, x: Handle<ValueItem>) -> Handle<ValueItem> {
        let (ty, flags, x) = (tables::type_of(ty)?, tables::memory_flags(flags)?, b.value(x)?);
        b.add(Opcode::Bitcast, ty, &[x], InstData::load_no_offset(Opcode::Bitcast, ty, flags, x))
    }

    /// Adds a sequentially consistent load of an integer.
    fn kp_ins_atomic_load[b](ty: u32, flags: u32, address: Handle<ValueItem>) -> Handle<ValueItem> {
        let (ty, flags, address) = (tables::type_of(ty)?, tables::memory_flags(flags)?, b.value(address)?);
        let data = InstData::load_no_offset(Opcode::AtomicLoad, ty, flags, address);
        b.add(Opcode::AtomicLoad, ty, &[address], data)
    }

    /// Adds a sequentially consistent store of an integer.
    fn kp_ins_atomic_store[b](flags: u32, value: Handle<ValueItem>, address: Handle<ValueItem>) {
        let (flags, args) = (tables::memory_flags(flags)?, [b.value(value)?, b.value(address)?]);
        let ctrl = b.type_of(args[0]);
        b.add(Opcode::AtomicStore, ctrl, &args, InstData::atomic_store(flags, args[0], args[1])).map(drop)
    }

    /// Adds an atomic read-modify-write operation, `KP_RMW_ADD` and so on. The result is the old value.
    fn kp_ins_atomic_rmw[b](
        ty: u32, flags: u32, operation: u32, address: Handle<ValueItem>, value: Handle<ValueItem>
    ) -> Handle<ValueItem> {
        let (ty, flags, operation) = (tables::type_of(ty)?, tables::memory_flags(flags)?, tables::rmw_operation(operation)?);
        let args = [b.value(address)?, b.value(value)?];
        b.add(Opcode::AtomicRmw, ty, &args, InstData::atomic_rmw(ty, flags, operation, args[0], args[1]))
    }

    /// Adds an atomic compare-and-exchange. The result is the old value.
    fn kp_ins_atomic_cas[b](
        flags: u32, address: Handle<ValueItem>, expected: Handle<ValueItem>, value: Handle<ValueItem>
    ) -> Handle<ValueItem> {
        let (flags, args) = (tables::memory_flags(flags)?, [b.value(address)?, b.value(expected)?, b.value(value)?]);
        let ctrl = b.type_of(args[2]);
        b.add(Opcode::AtomicCas, ctrl, &args, InstData::atomic_cas(flags, args[0], args[1], args[2]))
    }

    /// Adds the extraction of a lane of a vector (`KP_OP_EXTRACTLANE`), or of a part (`KP_OP_EXTRACT_VECTOR`).
    fn kp_ins_extract_lane[b](opcode: u32, vector: Handle<ValueItem>, lane: u32) -> Handle<ValueItem> {
        let (opcode, x) = (b.opcode(opcode, Format::BinaryImm8)?, b.value(vector)?);
        let ctrl = b.controlling_type(opcode, 0, &[x])?;
        let lane = u8::try_from(lane).map_err(|_| Failure::argument(format!("{lane} is no lane")))?;
        b.add(opcode, ctrl, &[x], InstData::binary_imm8(opcode, ctrl, x, lane))
    }

    /// Adds the replacement of one lane of a vector.
    fn kp_ins_insert_lane[b](vector: Handle<ValueItem>, value: Handle<ValueItem>, lane: u32) -> Handle<ValueItem> {
        let args = [b.value(vector)?, b.value(value)?];
        let ctrl = b.type_of(args[0]);
        let lane = u8::try_from(lane).map_err(|_| Failure::argument(format!("{lane} is no lane")))?;
        b.add(Opcode::Insertlane, ctrl, &args, InstData::insertlane(ctrl, args, lane))
    }

    /// Adds a selection of bytes of two vectors by 16 indices.
    fn kp_ins_shuffle[b](x: Handle<ValueItem>, y: Handle<ValueItem>, mask: Array<'_, u8>) -> Handle<ValueItem> {
        let args = [b.value(x)?, b.value(y)?];
        let mask = mask.get(16, "mask")?.try_into().expect("16 bytes");
        b.open_block()?;
        let mask = b.builder.func.dfg.make_shuffle_mask(mask);
        b.add(Opcode::Shuffle, INVALID, &args, InstData::shuffle(args, mask))
    }

    /// Adds the computation of an address in a stack slot.
    fn kp_ins_stack_address[b](ty: u32, slot: Handle<SlotItem>, offset: i32) -> Handle<ValueItem> {
        let (ty, slot) = (tables::type_of(ty)?, b.slot(slot)?);
        b.add(Opcode::StackAddr, ty, &[], InstData::stack_addr(ty, slot, offset))
    }

    /// Adds the computation of the address of a data object of the module.
    fn kp_ins_data_address[b](ty: u32, data: Handle<DataItem>) -> Handle<ValueItem> {
        let ty = tables::type_of(ty)?;
        let (global, is_tls) = b.global(data)?;
        let opcode = if is_tls { Opcode::TlsValue } else { Opcode::SymbolValue };
        b.add(opcode, ty, &[], InstData::unary_global(opcode, ty, global))
    }

    /// Adds the computation of the address of a function.
    fn kp_ins_function_address[b](ty: u32, callee: Handle<CalleeItem>) -> Handle<ValueItem> {
        let (ty, callee) = (tables::type_of(ty)?, b.callee(callee)?);
        b.add(Opcode::FuncAddr, ty, &[], InstData::func_addr(ty, callee))
    }

    /// Adds a call. Returns the first result, or null if there is none; `kp_result` returns the others.
    fn kp_ins_call[b](callee: Handle<CalleeItem>, arguments: Array<'_, Handle<ValueItem>>, count: usize) -> Handle<ValueItem> {
        let (callee, args) = (b.callee(callee)?, b.list(arguments, count)?);
        b.check_call(b.signature_of(callee), &args)?;
        b.insert(|b| b.builder.ins().call(callee, &args))
    }

    /// Adds a call of an address.
    fn kp_ins_call_indirect[b](
        signature: Handle<SignatureItem>, address: Handle<ValueItem>, arguments: Array<'_, Handle<ValueItem>>, count: usize
    ) -> Handle<ValueItem> {
        let (signature, address, args) = (b.signature(signature)?, b.value(address)?, b.list(arguments, count)?);
        b.check_address(address)?;
        b.check_call(signature, &args)?;
        b.insert(|b| b.builder.ins().call_indirect(signature, address, &args))
    }

    /// Adds a tail call, which ends the block.
    fn kp_ins_return_call[b](callee: Handle<CalleeItem>, arguments: Array<'_, Handle<ValueItem>>, count: usize) {
        let (callee, args) = (b.callee(callee)?, b.list(arguments, count)?);
        b.check_call(b.signature_of(callee), &args)?;
        b.insert(|b| b.builder.ins().return_call(callee, &args)).map(drop)
    }

    /// Adds a tail call of an address, which ends the block.
    fn kp_ins_return_call_indirect[b](
        signature: Handle<SignatureItem>, address: Handle<ValueItem>, arguments: Array<'_, Handle<ValueItem>>, count: usize
    ) {
        let (signature, address, args) = (b.signature(signature)?, b.value(address)?, b.list(arguments, count)?);
        b.check_address(address)?;
        b.check_call(signature, &args)?;
        b.insert(|b| b.builder.ins().return_call_indirect(signature, address, &args)).map(drop)
    }

    /// Adds a return of values, which ends the block.
    fn kp_ins_return[b](values: Array<'_, Handle<ValueItem>>, count: usize) {
        let values = b.list(values, count)?;
        b.check_list(&values, &b.builder.func.signature.returns, "results")?;
        b.insert(|b| b.builder.ins().return_(&values)).map(drop)
    }

    /// Adds a jump, which ends the block.
    fn kp_ins_jump[b](block: Handle<BlockItem>, arguments: Array<'_, Handle<ValueItem>>, count: usize) {
        let (block, args) = (b.block(block)?, b.list(arguments, count)?);
        b.check_destination(block)?;
        b.insert(|b| b.builder.ins().jump(block, &args)).map(drop)
    }

    /// Adds a branch, which ends the block: to `then_block` if the condition is not zero, otherwise to `else_block`.
    fn kp_ins_brif[b](
        condition: Handle<ValueItem>,
        then_block: Handle<BlockItem>, then_arguments: Array<'_, Handle<ValueItem>>, then_count: usize,
        else_block: Handle<BlockItem>, else_arguments: Array<'_, Handle<ValueItem>>, else_count: usize
    ) {
        let condition = b.value(condition)?;
        b.check_condition(condition)?;
        let (then, then_args) = (b.block(then_block)?, b.list(then_arguments, then_count)?);
        let (otherwise, else_args) = (b.block(else_block)?, b.list(else_arguments, else_count)?);
        b.check_destination(then)?;
        b.check_destination(otherwise)?;
        b.insert(|b| b.builder.ins().brif(condition, then, &then_args, otherwise, &else_args)).map(drop)
    }

    /// Adds a branch to block number `index` of an array, which ends the block, or to `otherwise` if there is no such
    /// block. `index` has type i32. The blocks have no parameters.
    fn kp_ins_br_table[b](index: Handle<ValueItem>, otherwise: Handle<BlockItem>, blocks: Array<'_, Handle<BlockItem>>, count: usize) {
        let (index, otherwise, blocks) = (b.value(index)?, b.block(otherwise)?, blocks.get(count, "blocks")?);
        let blocks = blocks.iter().map(|&block| b.block(block)).collect::<Result<Vec<_>, _>>()?;
        b.check_types(Opcode::BrTable, INVALID, &[index])?;
        for &block in blocks.iter().chain([&otherwise]) {
            b.check_destination(block)?;
        }
        b.insert(|b| {
            let table = b.builder.create_jump_table(otherwise, &blocks);
            b.builder.ins().br_table(index, table)
        }).map(drop)
    }

    /// Adds a branch to the block of the key that equals a value, which ends the block, or to `otherwise` if there is
    /// no such key. The value is an unsigned integer of at most 64 bits. The blocks have no parameters.
    fn kp_ins_switch[b](
        value: Handle<ValueItem>, otherwise: Handle<BlockItem>, keys: Array<'_, u64>, blocks: Array<'_, Handle<BlockItem>>, count: usize
    ) {
        let (value, otherwise) = (b.value(value)?, b.block(otherwise)?);
        let (keys, blocks) = (keys.get(count, "keys")?, blocks.get(count, "blocks")?);
        let ty = b.type_of(value);
        if !ty.is_int() || !ty.is_scalar() || ty.bits() > 64 {
            return Err(invalid(format!("a switch on {ty}, not on an integer of at most 64 bits")));
        }
        let mut switch = Switch::new();
        b.check_destination(otherwise)?;
        for (&key, &block) in keys.iter().zip(blocks) {
            let block = b.block(block)?;
            b.check_destination(block)?;
            if switch.set_entry(key, block).is_some() {
                return Err(invalid(format!("key {key} occurs twice")));
            }
        }
        b.open_block()?;
        switch.emit(&mut b.builder, value, otherwise);
        b.set_results(&[]);
        Ok(())
    }

    /// Adds a trap with this code, which ends the block.
    fn kp_ins_trap[b](code: u32) {
        let code = tables::trap_code(code)?;
        b.insert(|b| b.builder.ins().trap(code)).map(drop)
    }

    /// Adds a trap for the case that a condition is zero (`KP_OP_TRAPZ`) or not zero (`KP_OP_TRAPNZ`).
    fn kp_ins_trap_if[b](opcode: u32, condition: Handle<ValueItem>, code: u32) {
        let (opcode, condition, code) = (b.opcode(opcode, Format::CondTrap)?, b.value(condition)?, tables::trap_code(code)?);
        let ctrl = b.type_of(condition);
        b.add(opcode, ctrl, &[condition], InstData::cond_trap(opcode, ctrl, condition, code)).map(drop)
    }

    /// Adds an unsigned addition that traps on overflow.
    fn kp_ins_add_or_trap[b](x: Handle<ValueItem>, y: Handle<ValueItem>, code: u32) -> Handle<ValueItem> {
        let (args, code) = ([b.value(x)?, b.value(y)?], tables::trap_code(code)?);
        let ctrl = b.type_of(args[0]);
        b.add(Opcode::UaddOverflowTrap, ctrl, &args, InstData::int_add_trap(ctrl, args, code))
    }
}
