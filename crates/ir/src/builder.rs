//! Instruction builder: one method per opcode.
//!
//! Most methods are generated from the opcode table. Their parameters are the controlling type if the suffix is
//! required, then the value operands in the order of the row, then the immediates of the format. Methods are written
//! out for formats with lists and for formats of a single opcode.

mod slots;

pub use slots::SlotBuilder;

use crate::atomic_rmw_op::AtomicRmwOp;
use crate::condcodes::{FloatCC, IntCC};
use crate::constants::ConstantData;
use crate::entities::{
    Block, Constant, DynamicStackSlot, ExceptionTable, FuncRef, GlobalValue, Inst, JumpTable, SigRef, StackSlot, Value,
};
use crate::function::Function;
use crate::immediates::{Ieee16, Ieee32, Ieee64, Ieee128};
use crate::instruction::InstData;
use crate::memflags::MemFlags;
use crate::opcodes::{Opcode, opcode_table};
use crate::trapcode::TrapCode;
use crate::types::{self, INVALID, Type};

/// The return type of a method: the instruction, its only result, or its results.
macro_rules! returned {
    () => {
        Inst
    };
    ($a:ident) => {
        Value
    };
    ($a:ident $b:ident) => {
        (Value, Value)
    };
}

/// Inserts the instruction and produces the return value of the method.
macro_rules! finish {
    ($self:ident, $data:expr, $ctrl:expr,) => {
        $self.insert($data, $ctrl)
    };
    ($self:ident, $data:expr, $ctrl:expr, $a:ident) => {
        $self.insert_with_result($data, $ctrl)
    };
    ($self:ident, $data:expr, $ctrl:expr, $a:ident $b:ident) => {
        $self.insert_with_results($data, $ctrl)
    };
}

/// The method of one row. `$from` is the operand that has the controlling type, `ty` if the type is a parameter, or
/// empty.
macro_rules! method {
    // The controlling type is written.
    ($doc:literal $op:ident $name:ident $format:ident [$($x:ident)*] [$($r:ident)*] required) => {
        method!(@format $doc $op $name $format (ty: Type,) [$($x)*] [$($r)*] |_builder| ty);
    };
    ($doc:literal $op:ident $name:ident $format:ident [$($x:ident)*] [$($r:ident)*] none) => {
        method!(@format $doc $op $name $format () [$($x)*] [$($r)*] |_builder| INVALID);
    };
    ($doc:literal $op:ident $name:ident $format:ident [$($x:ident)*] [$($r:ident)*] from $from:ident) => {
        method!(@format $doc $op $name $format () [$($x)*] [$($r)*]
            |builder| builder.func().dfg.value_type($from));
    };

    (@format $doc:literal $op:ident $name:ident Nullary ($($ty:tt)*) [] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)*) [$($r)*] |$b| $ctrl, |ctrl| InstData::nullary(Opcode::$op, ctrl));
    };
    (@format $doc:literal $op:ident $name:ident Unary ($($ty:tt)*) [$x:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* $x: Value) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::unary(Opcode::$op, ctrl, $x));
    };
    (@format $doc:literal $op:ident $name:ident Binary ($($ty:tt)*) [$x:ident $y:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* $x: Value, $y: Value) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::binary(Opcode::$op, ctrl, [$x, $y]));
    };
    (@format $doc:literal $op:ident $name:ident Ternary ($($ty:tt)*) [$x:ident $y:ident $z:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* $x: Value, $y: Value, $z: Value) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::ternary(Opcode::$op, ctrl, [$x, $y, $z]));
    };
    (@format $doc:literal $op:ident $name:ident BinaryImm8 ($($ty:tt)*) [$x:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* $x: Value, lane: u8) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::binary_imm8(Opcode::$op, ctrl, $x, lane));
    };
    (@format $doc:literal $op:ident $name:ident CondTrap ($($ty:tt)*) [$x:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* $x: Value, code: TrapCode) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::cond_trap(Opcode::$op, ctrl, $x, code));
    };
    (@format $doc:literal $op:ident $name:ident Load ($($ty:tt)*) [$p:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* flags: MemFlags, $p: Value, offset: i32) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::load(Opcode::$op, ctrl, flags, $p, offset));
    };
    (@format $doc:literal $op:ident $name:ident Store ($($ty:tt)*) [$x:ident $p:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* flags: MemFlags, $x: Value, $p: Value, offset: i32) [$($r)*] |$b| $ctrl,
            |_ctrl| InstData::store(Opcode::$op, flags, $x, $p, offset));
    };
    (@format $doc:literal $op:ident $name:ident LoadNoOffset ($($ty:tt)*) [$p:ident] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* flags: MemFlags, $p: Value) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::load_no_offset(Opcode::$op, ctrl, flags, $p));
    };
    (@format $doc:literal $op:ident $name:ident UnaryGlobalValue ($($ty:tt)*) [] [$($r:ident)*] |$b:ident| $ctrl:expr) => {
        method!(@emit $doc $name ($($ty)* global: GlobalValue) [$($r)*] |$b| $ctrl,
            |ctrl| InstData::unary_global(Opcode::$op, ctrl, global));
    };
    // The other formats are written out below.
    (@format $doc:literal $op:ident $name:ident $format:ident $($rest:tt)*) => {};

    (@emit $doc:literal $name:ident ($($param:ident: $param_type:ty),* $(,)?) [$($r:ident)*]
        |$builder:ident| $ctrl:expr, |$ty:ident| $data:expr) => {
        #[doc = $doc]
        fn $name(mut self, $($param: $param_type),*) -> returned!($($r)*) {
            let $builder = &self;
            let ctrl: Type = $ctrl;
            let $ty = ctrl;
            finish!(self, $data, ctrl, $($r)*)
        }
    };
}

macro_rules! methods {
    ($(
        $variant:ident $name:ident $format:ident
        [$($operand:ident: $operand_type:ident),*] -> [$($result:ident: $result_type:ident),*]
        $class:ident $suffix:ident $($from:ident)? {$($property:ident)*}
        $doc:literal;
    )*) => {
        $(method!($doc $variant $name $format [$($operand)*] [$($result)*] $suffix $($from)?);)*
    };
}

/// Builds one instruction. The implementor decides the place of insertion.
///
/// There is a method for each opcode. Its parameters are the operands in the order of the text. An opcode whose type
/// cannot be inferred takes the type first.
///
/// ```
/// use kingpost_ir::Function;
/// use kingpost_ir::builder::{ControlBuilder, InstBuilder};
/// use kingpost_ir::condcodes::IntCC;
/// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
/// use kingpost_ir::types::{I32, I64};
///
/// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
/// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
/// let block = b.create_block();
/// b.switch_to_block(block);
/// let (one, two) = (b.ins().iconst(I32, 1), b.ins().iconst(I32, 2));
/// let sum = b.ins().iadd(one, two);
/// let wide = b.ins().uextend(I64, sum);
/// let is_less = b.ins().icmp(IntCC::UnsignedLessThan, one, two);
/// let (low, high) = b.ins().umul_overflow(one, two);
/// b.ins().return_(&[]);
/// assert!(func.to_string().contains(&format!("{wide} = uextend.i64 {sum}")));
/// # let _ = (is_less, low, high);
/// ```
///
/// This table has all methods by group; some are methods of [`ControlBuilder`]. [`ImmediateBuilder`] and
/// [`SlotBuilder`] insert several instructions at once.
///
#[doc = include_str!("builder/groups.md")]
pub trait InstBuilder: Sized {
    /// Returns the function.
    fn func(&self) -> &Function;

    /// Returns the function for changes.
    fn func_mut(&mut self) -> &mut Function;

    /// Inserts an instruction and creates its results; `ctrl` is the controlling type.
    fn insert(&mut self, data: InstData, ctrl: Type) -> Inst;

    /// Inserts an instruction that has one result, and returns the result.
    fn insert_with_result(&mut self, data: InstData, ctrl: Type) -> Value {
        let inst = self.insert(data, ctrl);
        self.func().dfg.inst_results(inst)[0]
    }

    /// Inserts an instruction that has two results, and returns the results.
    fn insert_with_results(&mut self, data: InstData, ctrl: Type) -> (Value, Value) {
        let inst = self.insert(data, ctrl);
        let results = self.func().dfg.inst_results(inst);
        (results[0], results[1])
    }

    opcode_table!(methods);

    /// Inserts an integer constant.
    fn iconst(mut self, ty: Type, imm: i64) -> Value {
        self.insert_with_result(InstData::iconst(ty, imm), ty)
    }

    /// Inserts an f16 constant.
    fn f16const(mut self, imm: Ieee16) -> Value {
        self.insert_with_result(InstData::f16const(imm), INVALID)
    }

    /// Inserts an f32 constant.
    fn f32const(mut self, imm: f32) -> Value {
        let data = InstData::f32const(Ieee32::from_bits(imm.to_bits()));
        self.insert_with_result(data, INVALID)
    }

    /// Inserts an f64 constant.
    fn f64const(mut self, imm: f64) -> Value {
        let data = InstData::f64const(Ieee64::from_bits(imm.to_bits()));
        self.insert_with_result(data, INVALID)
    }

    /// Inserts an f128 constant.
    fn f128const(mut self, imm: Ieee128) -> Value {
        let bytes = ConstantData::new(&imm.bits().to_le_bytes());
        let constant = self.func_mut().dfg.constants.insert(bytes);
        let data = InstData::unary_const(Opcode::F128const, types::F128, constant);
        self.insert_with_result(data, INVALID)
    }

    /// Inserts a vector constant.
    fn vconst(mut self, ty: Type, constant: Constant) -> Value {
        self.insert_with_result(InstData::unary_const(Opcode::Vconst, ty, constant), ty)
    }

    /// Inserts the replacement of one lane of `vector`.
    fn insertlane(mut self, vector: Value, lane_value: Value, lane: u8) -> Value {
        let ty = self.func().dfg.value_type(vector);
        self.insert_with_result(InstData::insertlane(ty, [vector, lane_value], lane), ty)
    }

    /// Inserts a shuffle: a selection of bytes of two vectors by a mask.
    fn shuffle(mut self, a: Value, b: Value, mask: [u8; 16]) -> Value {
        let mask = self.func_mut().dfg.make_shuffle_mask(mask);
        self.insert_with_result(InstData::shuffle([a, b], mask), INVALID)
    }

    /// Inserts an integer comparison.
    fn icmp(mut self, cond: IntCC, x: Value, y: Value) -> Value {
        let ty = self.func().dfg.value_type(x);
        self.insert_with_result(InstData::icmp(ty, cond, [x, y]), ty)
    }

    /// Inserts a float comparison.
    fn fcmp(mut self, cond: FloatCC, x: Value, y: Value) -> Value {
        let ty = self.func().dfg.value_type(x);
        self.insert_with_result(InstData::fcmp(ty, cond, [x, y]), ty)
    }

    /// Inserts a trap with this code.
    fn trap(mut self, code: TrapCode) -> Inst {
        self.insert(InstData::trap(code), INVALID)
    }

    /// Inserts an unsigned addition that traps on overflow.
    fn uadd_overflow_trap(mut self, x: Value, y: Value, code: TrapCode) -> Value {
        let ty = self.func().dfg.value_type(x);
        self.insert_with_result(InstData::int_add_trap(ty, [x, y], code), ty)
    }

    /// Inserts an atomic read-modify-write operation.
    fn atomic_rmw(mut self, ty: Type, flags: MemFlags, op: AtomicRmwOp, addr: Value, value: Value) -> Value {
        self.insert_with_result(InstData::atomic_rmw(ty, flags, op, addr, value), ty)
    }

    /// Inserts an atomic compare-and-exchange.
    fn atomic_cas(mut self, flags: MemFlags, addr: Value, expected: Value, new: Value) -> Value {
        let ty = self.func().dfg.value_type(new);
        self.insert_with_result(InstData::atomic_cas(flags, addr, expected, new), ty)
    }

    /// Inserts an atomic store.
    fn atomic_store(mut self, flags: MemFlags, value: Value, addr: Value) -> Inst {
        let ty = self.func().dfg.value_type(value);
        self.insert(InstData::atomic_store(flags, value, addr), ty)
    }

    /// Inserts the computation of an address in a stack slot.
    fn stack_addr(mut self, ty: Type, slot: StackSlot, offset: i32) -> Value {
        self.insert_with_result(InstData::stack_addr(ty, slot, offset), ty)
    }

    /// Inserts the computation of the address of a dynamic stack slot.
    fn dynamic_stack_addr(mut self, ty: Type, slot: DynamicStackSlot) -> Value {
        self.insert_with_result(InstData::dynamic_stack_addr(ty, slot), ty)
    }

    /// Inserts the computation of the address of a function.
    fn func_addr(mut self, ty: Type, func: FuncRef) -> Value {
        self.insert_with_result(InstData::func_addr(ty, func), ty)
    }

    /// Inserts the computation of the address of a handler. The handler belongs to the `try_call` that ends `block`.
    fn get_exception_handler_address(mut self, ty: Type, block: Block, index: i64) -> Value {
        let data = InstData::exception_handler_address(ty, block, index);
        self.insert_with_result(data, ty)
    }
}

/// Operations whose second operand is a constant. Each method inserts an `iconst` and the operation. The constant is
/// sign-extended to the type of the first operand, and is in every lane of a vector.
macro_rules! immediate_forms {
    ($($name:ident $operation:ident $doc:literal;)* ; shifts $($shift_name:ident $shift:ident $shift_doc:literal;)*) => {
        /// Builds operations with constant operands. One method inserts several instructions.
        pub trait ImmediateBuilder: InstBuilder {
            $(#[doc = $doc]
            fn $name(mut self, x: Value, imm: i64) -> Value {
                let ty = self.func().dfg.value_type(x);
                let y = immediate(&mut self, ty, imm);
                self.$operation(x, y)
            })*

            $(#[doc = $shift_doc]
            fn $shift_name(mut self, x: Value, imm: i64) -> Value {
                let y = immediate(&mut self, types::I32, imm);
                self.$shift(x, y)
            })*

            /// Inserts `imm - x`.
            fn irsub_imm(mut self, x: Value, imm: i64) -> Value {
                let ty = self.func().dfg.value_type(x);
                let y = immediate(&mut self, ty, imm);
                self.isub(y, x)
            }

            /// Inserts a comparison of `x` with `imm`.
            fn icmp_imm(mut self, condition: IntCC, x: Value, imm: i64) -> Value {
                let ty = self.func().dfg.value_type(x);
                let y = immediate(&mut self, ty, imm);
                self.icmp(condition, x, y)
            }
        }
    };
}

immediate_forms! {
    iadd_imm iadd "`x + imm`.";
    imul_imm imul "`x * imm`.";
    udiv_imm udiv "`x / imm` without sign.";
    sdiv_imm sdiv "`x / imm` with sign.";
    urem_imm urem "The remainder of `x / imm` without sign.";
    srem_imm srem "The remainder of `x / imm` with sign.";
    band_imm band "`x & imm`.";
    bor_imm bor "`x | imm`.";
    bxor_imm bxor "`x ^ imm`.";
; shifts
    ishl_imm ishl "`x` shifted to the left by `imm`, modulo its bits.";
    ushr_imm ushr "`x` shifted to the right by `imm`, modulo its bits, without sign.";
    sshr_imm sshr "`x` shifted to the right by `imm`, modulo its bits, with sign.";
    rotl_imm rotl "`x` rotated to the left by `imm`.";
    rotr_imm rotr "`x` rotated to the right by `imm`.";
}

/// Inserts a constant of any integer or integer vector type, sign-extended from `imm`.
fn immediate<B: InstBuilder>(builder: &mut B, ty: Type, imm: i64) -> Value {
    let scalar = ty.lane_type();
    let word = if scalar.bits() > 64 { types::I64 } else { scalar };
    let mut value = builder.insert_with_result(InstData::iconst(word, imm), word);
    if scalar != word {
        value = builder.insert_with_result(InstData::unary(Opcode::Sextend, scalar, value), scalar);
    }
    if ty.is_vector() {
        value = builder.insert_with_result(InstData::unary(Opcode::Splat, ty, value), ty);
    }
    value
}

impl<B: InstBuilder> ImmediateBuilder for B {}

/// Control flow: branches, calls and returns, whose operands are lists.
pub trait ControlBuilder: InstBuilder {
    /// Inserts a jump to a block.
    fn jump(mut self, block: Block, args: &[Value]) -> Inst {
        let dfg = &mut self.func_mut().dfg;
        let call = dfg.block_call_with_values(block, args);
        let data = dfg.jump_data(call);
        self.insert(data, INVALID)
    }

    /// Inserts a conditional branch: to `then_block` if `cond` is not zero, otherwise to `else_block`.
    fn brif(
        mut self,
        cond: Value,
        then_block: Block,
        then_args: &[Value],
        else_block: Block,
        else_args: &[Value],
    ) -> Inst {
        let dfg = &mut self.func_mut().dfg;
        let then_dest = dfg.block_call_with_values(then_block, then_args);
        let else_dest = dfg.block_call_with_values(else_block, else_args);
        let data = dfg.brif_data(cond, then_dest, else_dest);
        self.insert(data, INVALID)
    }

    /// Inserts a branch to one of many blocks; see `DataFlowGraph::make_jump_table`.
    fn br_table(mut self, index: Value, table: JumpTable) -> Inst {
        let data = self.func_mut().dfg.br_table_data(index, table);
        self.insert(data, INVALID)
    }

    /// Inserts a return of `values`.
    fn return_(mut self, values: &[Value]) -> Inst {
        let data = self.func_mut().dfg.return_data(values);
        self.insert(data, INVALID)
    }

    /// Inserts a call of a declared function.
    fn call(mut self, func: FuncRef, args: &[Value]) -> Inst {
        let data = self.func_mut().dfg.call_data(Opcode::Call, func, args);
        self.insert(data, INVALID)
    }

    /// Inserts a call of an address.
    fn call_indirect(mut self, sig: SigRef, callee: Value, args: &[Value]) -> Inst {
        let dfg = &mut self.func_mut().dfg;
        let data = dfg.call_indirect_data(Opcode::CallIndirect, sig, callee, args);
        self.insert(data, INVALID)
    }

    /// Inserts a tail call of a declared function.
    fn return_call(mut self, func: FuncRef, args: &[Value]) -> Inst {
        let data = self.func_mut().dfg.call_data(Opcode::ReturnCall, func, args);
        self.insert(data, INVALID)
    }

    /// Inserts a tail call of an address.
    fn return_call_indirect(mut self, sig: SigRef, callee: Value, args: &[Value]) -> Inst {
        let dfg = &mut self.func_mut().dfg;
        let data = dfg.call_indirect_data(Opcode::ReturnCallIndirect, sig, callee, args);
        self.insert(data, INVALID)
    }

    /// Inserts a call of a declared function that may throw; see `DataFlowGraph::make_exception_table`.
    fn try_call(mut self, func: FuncRef, args: &[Value], table: ExceptionTable) -> Inst {
        let data = self.func_mut().dfg.try_call_data(func, args, table);
        self.insert(data, INVALID)
    }

    /// Inserts a call of an address that may throw; see `DataFlowGraph::make_exception_table`.
    fn try_call_indirect(mut self, callee: Value, args: &[Value], table: ExceptionTable) -> Inst {
        let data = self.func_mut().dfg.try_call_indirect_data(callee, args, table);
        self.insert(data, INVALID)
    }
}

impl<B: InstBuilder> ControlBuilder for B {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::{Cursor, CursorInserter};
    use crate::signature::{AbiParam, CallConv, Signature};
    use crate::types::{F32, F64, I8, I8X16, I32, I64, I128};
    use crate::verifier::verify;

    macro_rules! mention {
        ($(
            $variant:ident $name:ident $format:ident
            [$($operand:ident: $operand_type:ident),*] -> [$($result:ident: $result_type:ident),*]
            $class:ident $suffix:ident $($from:ident)? {$($property:ident)*}
            $doc:literal;
        )*) => {
            $(let _ = CursorInserter::$name;)*
        };
    }

    #[test]
    fn every_opcode_has_a_method() {
        opcode_table!(mention);
    }

    #[test]
    fn the_documentation_has_the_groups_of_the_table() {
        let groups = include_str!("builder/groups.md");
        let names = groups.split("[`").skip(1).filter_map(|rest| rest.split('`').next());
        let names: Vec<&str> = names.map(|name| name.trim_end_matches('_')).collect();
        assert_eq!(names, Opcode::ALL.iter().map(Opcode::to_string).collect::<Vec<_>>());
        let titles: Vec<&str> =
            groups.lines().skip(2).filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
        let table = include_str!("opcodes.rs").split("macro_rules! opcode_table").nth(1).expect("the table");
        let table = table.split("\n        }\n").next().expect("its rows");
        let of_table = table.lines().filter_map(|line| line.strip_prefix("    // ")?.strip_suffix('.'));
        assert_eq!(titles, of_table.collect::<Vec<_>>());
    }

    #[test]
    fn what_is_built_is_well_formed() {
        let mut func = Function::default();
        let sig = func.dfg.signatures.push(Signature::new(CallConv::Fast));
        func.dfg.signatures[sig].params.push(AbiParam::new(I64));
        let mut cursor = Cursor::new(&mut func);
        cursor.new_block();
        let address = cursor.ins().iconst(I64, 64);
        let wide = cursor.ins().iconcat(address, address);
        assert_eq!(cursor.func.dfg.value_type(wide), I128);
        let (low, _high) = cursor.ins().isplit(wide);
        let loaded = cursor.ins().load(F32, MemFlags::trusted(), low, -8);
        let double = cursor.ins().fpromote(F64, loaded);
        let less = cursor.ins().fcmp(FloatCC::LessThan, double, double);
        cursor.ins().store(MemFlags::new(), less, address, 4);
        let byte = cursor.ins().atomic_rmw(I8, MemFlags::new(), AtomicRmwOp::Nand, low, less);
        let vector = cursor.ins().splat(I8X16, byte);
        let mixed = cursor.ins().shuffle(vector, vector, [31; 16]);
        let lane = cursor.ins().extractlane(mixed, 15);
        cursor.ins().trapz(lane, TrapCode::STACK_OVERFLOW);
        cursor.ins().f128const(Ieee128::from_bits(1));
        cursor.ins().call_indirect(sig, address, &[low]);
        let guarded = cursor.ins().select(lane, low, address);
        let next = cursor.func.dfg.make_block();
        cursor.func.dfg.append_block_param(next, I32);
        let index = cursor.ins().ireduce(I32, guarded);
        cursor.ins().brif(lane, next, &[index], next, &[index]);
        cursor.func.layout.append_block(next);
        cursor.end(next).ins().return_(&[]);
        assert_eq!(verify(&func, None), Ok(()));
    }
}
