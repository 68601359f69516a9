//! Expansion of operations on integers of 128 bits and floats of 16 and 128 bits for which no machine has an
//! instruction or a short sequence. Routines of the compiler's library compute them, or the machine does in another
//! precision. Routines do not trap, so traps are tested before the call.

use super::windows_results;
use crate::compiler::Compiler;
use cranelift_entity::EntitySet;
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::condcodes::FloatCC;
use kingpost_ir::cursor::{Cursor, CursorInserter};
use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
use kingpost_ir::libcall::LibCall;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::signature::{AbiParam, CallConv, Signature};
use kingpost_ir::types::{F16, F128, I8X16, I64, I128, INVALID};
use kingpost_ir::{FuncRef, Function, Inst, InstView, Opcode, TrapCode, Type, Value, ValueDef};
use kingpost_mach::{HalfPrecision, LowerError, Refusal, Settings};

/// Returns `true` if the function has operations that may need expansion.
pub(super) fn occurs(func: &Function) -> bool {
    [I128, F16, F128].into_iter().any(|ty| func.dfg.has_lanes_of(ty)) || func.dfg.has_big_bitcasts()
}

/// Expands all such operations that the machine does not support and whose results are used.
///
/// # Errors
/// If an operation needs a routine and code must not call any, or the routine has an f128 on Windows.
pub(super) fn run(func: &mut Function, compiler: &Compiler) -> Result<(), Refusal> {
    let (half, settings) = (compiler.isa().half_precision(), compiler.settings());
    let may_call = !compiler.options().no_compiler_routines;
    let of_windows =
        windows_results::passes_by_address(compiler) && settings.libcall_convention() == CallConv::WindowsFastcall;
    if settings.enable_llvm_abi_extensions && windows_results::passes_by_address(compiler) {
        windows_results::run(func);
    }
    let used = used_values(func);
    let mut next_block = func.layout.entry_block();
    let (routines, passes_unsettled) = (Vec::new(), false);
    let mut expander =
        Expander { cursor: Cursor::new(func), half, settings, used, routines, of_windows, passes_unsettled };
    while let Some(block) = next_block {
        let mut next_inst = expander.func().layout.first_inst(block);
        while let Some(inst) = next_inst {
            next_inst = expander.func().layout.next_inst(inst);
            let operation = expander.operation(inst);
            expander.expand(inst);
            if expander.passes_unsettled {
                let what = "a routine for f16 or f128 in the calling convention `windows_fastcall` of library routines";
                return Err(Refusal::of(inst)(LowerError::Feature { what, target: compiler.isa().name() }));
            }
            if !may_call && !expander.routines.is_empty() {
                let (opcode, ty) = operation;
                let error = LowerError::Opcode { opcode, ty: Some(ty), target: compiler.isa().name() };
                return Err(Refusal::of(inst)(error));
            }
        }
        next_block = expander.func().layout.next_block(block);
    }
    Ok(())
}

/// Returns the values that instructions with side effects use, directly or indirectly.
fn used_values(func: &Function) -> EntitySet<Value> {
    let mut used = EntitySet::with_capacity(func.dfg.num_values());
    let mut open: Vec<Inst> = Vec::new();
    for block in func.layout.blocks() {
        open.extend(func.layout.block_insts(block).filter(|&inst| func.dfg.opcode(inst).has_side_effects()));
    }
    while let Some(inst) = open.pop() {
        func.dfg.for_each_use(inst, |value| {
            let value = func.dfg.resolve_aliases(value);
            if used.insert(value)
                && let ValueDef::Result(inst, _) = func.dfg.value_def(value)
            {
                open.push(inst);
            }
        });
    }
    used
}

/// Expander of the operations of one function.
pub(super) struct Expander<'f> {
    cursor: Cursor<'f>,
    /// The machine's support of floats of 16 bits.
    pub(super) half: HalfPrecision,
    pub(super) settings: &'f Settings,
    /// Values with uses. Unused operations must not be expanded, because the call would not be removed.
    used: EntitySet<Value>,
    /// The routines called so far.
    routines: Vec<(LibCall, FuncRef)>,
    /// Whether routines are `windows_fastcall` as on x86-64.
    of_windows: bool,
    /// Whether a routine passes or returns an f16 or f128 in `windows_fastcall`, where C compilers do not agree on its place.
    passes_unsettled: bool,
}

impl<'f> Expander<'f> {
    fn func(&self) -> &Function {
        self.cursor.func
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.func().dfg.value_type(value)
    }

    /// Returns `true` if `ty` is a float type for which the machine has no arithmetic.
    pub(super) fn lacks(&self, ty: Type) -> bool {
        ty == F128 || ty == F16 && self.half < HalfPrecision::Arithmetic
    }

    /// Returns a builder that inserts an instruction before the expanded one.
    pub(super) fn ins(&mut self) -> CursorInserter<'_, 'f> {
        self.cursor.ins()
    }

    /// Returns the opcode of an instruction, and the type that determines its routine: the widest of its first operand
    /// and its result.
    fn operation(&self, inst: Inst) -> (Opcode, Type) {
        let dfg = &self.func().dfg;
        let operand = dfg.inst_args(inst).first().map(|&arg| dfg.value_type(dfg.resolve_aliases(arg)));
        let result = dfg.first_result(inst).map(|result| dfg.value_type(result));
        let ty = operand.into_iter().chain(result).max_by_key(|ty| ty.bits()).unwrap_or(INVALID);
        (dfg.opcode(inst), ty)
    }

    fn expand(&mut self, inst: Inst) {
        let Some(result) = self.func().dfg.first_result(inst) else { return };
        if !self.used.contains(result) && !self.func().dfg.opcode(inst).can_trap() {
            return;
        }
        self.cursor.before(inst);
        let Some(value) = self.value_of(inst, self.ty(result)) else { return };
        let func = &mut *self.cursor.func;
        func.layout.remove_inst(inst);
        func.dfg.clear_results(inst);
        func.dfg.change_to_alias(result, value).expect("a new value cannot be an alias of the one it replaces");
    }

    /// Returns the value of type `to` that replaces the result of the instruction; `None` if the machine has the
    /// instruction.
    fn value_of(&mut self, inst: Inst, to: Type) -> Option<Value> {
        let view = self.func().dfg.view(inst);
        let opcode = self.func().dfg.opcode(inst);
        match view {
            InstView::Unary { arg } => self.unary(opcode, arg, to),
            InstView::Binary { args } => self.binary(opcode, args, to),
            InstView::Ternary { args } if opcode == Opcode::Fma => self.float(opcode, &args, to),
            InstView::LoadNoOffset { flags, arg }
                if opcode == Opcode::Bitcast && flags.endianness() == Some(Endianness::Big) =>
            {
                self.bitcast_big(arg, to)
            }
            InstView::FloatCompare { cond, args } if self.lacks(self.ty(args[0])) => Some(self.compare(cond, args)),
            _ => None,
        }
    }

    fn unary(&mut self, opcode: Opcode, x: Value, to: Type) -> Option<Value> {
        match opcode {
            Opcode::Fpromote | Opcode::Fdemote => self.resize_by_routine(x, to),
            Opcode::FcvtToUint
            | Opcode::FcvtToSint
            | Opcode::FcvtToUintSat
            | Opcode::FcvtToSintSat
            | Opcode::X86Cvtt2dq => self.float_to_int(opcode, x, to),
            Opcode::FcvtFromUint | Opcode::FcvtFromSint => self.int_to_float(opcode, x, to),
            Opcode::Fneg | Opcode::Fabs => self.sign(opcode, &[x], to),
            Opcode::Sqrt | Opcode::Ceil | Opcode::Floor | Opcode::Trunc | Opcode::Nearest => {
                self.float(opcode, &[x], to)
            }
            _ => None,
        }
    }

    fn binary(&mut self, opcode: Opcode, args: [Value; 2], to: Type) -> Option<Value> {
        match opcode {
            Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem if to == I128 => Some(self.divide(opcode, args)),
            Opcode::Fcopysign => self.sign(opcode, &args, to),
            Opcode::Fadd | Opcode::Fsub | Opcode::Fmul | Opcode::Fdiv | Opcode::Fmin | Opcode::Fmax => {
                self.float(opcode, &args, to)
            }
            _ => None,
        }
    }

    /// Expands `udiv`, `sdiv`, `urem` or `srem` of i128.
    fn divide(&mut self, opcode: Opcode, [x, y]: [Value; 2]) -> Value {
        let routine = match opcode {
            Opcode::Udiv => LibCall::UdivI128,
            Opcode::Sdiv => LibCall::SdivI128,
            Opcode::Urem => LibCall::UremI128,
            _ => LibCall::SremI128,
        };
        self.ins().trapz(y, TrapCode::INTEGER_DIVISION_BY_ZERO);
        if opcode == Opcode::Sdiv {
            // Zero exactly if this is the minimum divided by -1.
            let minimum = self.int(I128, 1 << 127);
            let (not_minimum, not_minus_one) = (self.ins().bxor(x, minimum), self.ins().bnot(y));
            let fits = self.ins().bor(not_minimum, not_minus_one);
            self.ins().trapz(fits, TrapCode::INTEGER_OVERFLOW);
        }
        self.call(routine, &[x, y], I128)
    }

    /// Returns an integer constant.
    pub(super) fn int(&mut self, ty: Type, bits: u128) -> Value {
        if ty != I128 {
            return self.ins().iconst(ty, bits as i64);
        }
        let (low, high) = (self.ins().iconst(I64, bits as i64), self.ins().iconst(I64, (bits >> 64) as i64));
        self.ins().iconcat(low, high)
    }

    /// Calls a routine and returns its result. Integers of 128 bits are passed and returned as halves. All
    /// conventions but `windows_fastcall` of x86-64 have enough registers for the operands of a routine, and assign the
    /// registers of halves and of whole integers alike. That convention passes and returns them like vectors.
    pub(super) fn call(&mut self, routine: LibCall, args: &[Value], to: Type) -> Value {
        let of_windows = self.of_windows;
        let mut passed = Vec::with_capacity(4);
        for &arg in args {
            self.passes_unsettled |= of_windows && [self.ty(arg), to].iter().any(|ty| matches!(*ty, F16 | F128));
            if of_windows && self.ty(arg) == I128 {
                passed.push(windows_results::bitcast(&mut self.cursor, arg, I8X16));
            } else if self.ty(arg) == I128 {
                let (low, high) = self.ins().isplit(arg);
                passed.extend([low, high]);
            } else {
                passed.push(arg);
            }
        }
        let returned = if of_windows && to == I128 { I8X16 } else { to };
        let routine = self.routine(routine, &passed, returned);
        let call = self.ins().call(routine, &passed);
        match *self.func().dfg.inst_results(call) {
            [low, high] => self.ins().iconcat(low, high),
            [vector] if returned != to => windows_results::bitcast(&mut self.cursor, vector, to),
            ref results => results[0],
        }
    }

    /// Returns the declaration of a routine, and declares it on first use.
    fn routine(&mut self, routine: LibCall, args: &[Value], to: Type) -> FuncRef {
        if let Some(&(_, declared)) = self.routines.iter().find(|(known, _)| *known == routine) {
            return declared;
        }
        let mut signature = Signature::new(self.settings.libcall_convention());
        signature.params.extend(args.iter().map(|&arg| AbiParam::new(self.ty(arg))));
        let returns: &[Type] = if to == I128 { &[I64, I64] } else { &[to] };
        signature.returns.extend(returns.iter().map(|&ty| AbiParam::new(ty)));
        let dfg = &mut self.cursor.func.dfg;
        let signature = dfg.signatures.push(signature);
        let colocated = self.settings.use_colocated_libcalls;
        let name = ExternalName::LibCall(routine);
        let declared = dfg.ext_funcs.push(ExtFuncData { name, signature, colocated, patchable: false });
        self.routines.push((routine, declared));
        declared
    }

    /// Replaces any NaN that a routine returned by the canonical one if `enable_nan_canonicalization` is set.
    /// Otherwise returns `value`.
    pub(super) fn with_canonical_nans(&mut self, value: Value) -> Value {
        if !self.settings.enable_nan_canonicalization {
            return value;
        }
        let ty = self.ty(value);
        let is_nan = self.compare(FloatCC::Unordered, [value, value]);
        let canonical = self.float_bits(ty, super::float_format::Format::of(ty).canonical_nan());
        self.ins().select(is_nan, canonical, value)
    }
}
