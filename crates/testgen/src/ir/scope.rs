//! A function under construction: the available values, the current block, and the choice of values.

use super::edge_values::{edge_bits, repeated};
use super::plan::{Plan, TypeSet};
use super::region::Region;
use crate::rng::Rng;
use cranelift_entity::EntitySet;
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::condcodes::FloatCC;
use kingpost_ir::constants::ConstantData;
use kingpost_ir::immediates::{Ieee16, Ieee32, Ieee64, Ieee128};
use kingpost_ir::memflags::Endianness;
use kingpost_ir::types::{F16, F32, F64, I8, I16, I32, I64, I128, INVALID};
use kingpost_ir::{AliasRegion, Block, FuncRef, Function, Inst, InstData, MemFlags, Opcode, Type, Value};

/// A function under construction.
pub(super) struct Scope<'a> {
    pub(super) rng: &'a mut Rng,
    pub(super) func: Function,
    pub(super) type_set: TypeSet,
    pub(super) plans: &'a [Plan],
    pub(super) index: usize,
    /// The later functions that are declared.
    pub(super) declared: Vec<Option<FuncRef>>,
    pub(super) pinned: EntitySet<Inst>,
    /// Values that dominate the current block.
    pub(super) pool: Vec<Value>,
    /// Floats whose bits may be observed even if they are NaNs.
    pub(super) clean: EntitySet<Value>,
    pub(super) regions: Vec<Region>,
    /// The name of the memory of pointers.
    pub(super) pointee_name: Option<AliasRegion>,
    /// The address of memory that never changes, if there is any.
    pub(super) constants: Option<Value>,
    pub(super) block: Block,
    /// Loops around the current block.
    pub(super) loops: usize,
    /// Remaining number of statements.
    pub(super) budget: usize,
}

/// Builds one instruction at the end of a block.
pub(super) struct BlockAppender<'f> {
    func: &'f mut Function,
    block: Block,
}

impl InstBuilder for BlockAppender<'_> {
    fn func(&self) -> &Function {
        self.func
    }

    fn func_mut(&mut self) -> &mut Function {
        self.func
    }

    fn insert(&mut self, data: InstData, ctrl: Type) -> Inst {
        let inst = self.func.dfg.make_inst(data);
        self.func.dfg.make_results(inst, ctrl);
        self.func.layout.append_inst(inst, self.block);
        inst
    }
}

impl Scope<'_> {
    pub(super) fn ins(&mut self) -> BlockAppender<'_> {
        BlockAppender { func: &mut self.func, block: self.block }
    }

    pub(super) fn type_of(&self, value: Value) -> Type {
        self.func.dfg.value_type(value)
    }

    pub(super) fn int_type(&mut self) -> Type {
        self.type_set.int(self.rng)
    }

    pub(super) fn float_type(&mut self) -> Type {
        self.type_set.float(self.rng)
    }

    pub(super) fn any_type(&mut self) -> Type {
        self.type_set.any(self.rng)
    }

    /// Returns a new block at the end of the layout. Some blocks are cold.
    pub(super) fn new_block(&mut self) -> Block {
        let block = self.func.dfg.make_block();
        self.func.layout.append_block(block);
        if self.rng.chance(12) {
            self.func.layout.set_cold(block);
        }
        block
    }

    /// Marks the instruction that defines a value as pinned, and returns the value.
    pub(super) fn pin(&mut self, value: Value) -> Value {
        if let kingpost_ir::ValueDef::Result(inst, _) = self.func.dfg.value_def(value) {
            self.pinned.insert(inst);
        }
        value
    }

    pub(super) fn mark_clean(&mut self, value: Value) -> Value {
        self.clean.insert(value);
        value
    }

    pub(super) fn is_clean(&self, value: Value) -> bool {
        !self.type_of(value).lane_type().is_float() || self.clean.contains(value)
    }

    /// Adds an instruction and returns its first result. Later instructions may use all results.
    pub(super) fn emit(&mut self, data: InstData, ctrl: Type) -> Value {
        let inst = self.ins().insert(data, ctrl);
        let results = self.func.dfg.inst_results(inst);
        self.pool.extend_from_slice(results);
        results[0]
    }

    pub(super) fn unary(&mut self, opcode: Opcode, ty: Type, x: Value) -> Value {
        self.emit(InstData::unary(opcode, ty, x), ty)
    }

    pub(super) fn binary(&mut self, opcode: Opcode, ty: Type, x: Value, y: Value) -> Value {
        self.emit(InstData::binary(opcode, ty, [x, y]), ty)
    }

    /// Returns a value of the type: an available one, a constant, or a conversion of another one.
    pub(super) fn pick(&mut self, ty: Type) -> Value {
        if self.rng.chance(12) {
            return self.constant(ty);
        }
        // Late values are used more often than early ones, but all may be used.
        for _ in 0..6 {
            let len = self.pool.len();
            if len == 0 {
                break;
            }
            let late = len.saturating_sub(12);
            let index = if self.rng.chance(60) { self.rng.range(late..len) } else { self.rng.range(0..len) };
            let value = self.pool[index];
            if self.type_of(value) == ty {
                return value;
            }
            if self.rng.chance(25)
                && let Some(converted) = self.convert(value, ty)
            {
                return converted;
            }
        }
        self.constant(ty)
    }

    /// Returns a value of the type; the bits of a float may be observed.
    pub(super) fn pick_clean(&mut self, ty: Type) -> Value {
        let value = self.pick(ty);
        self.cleaned(value)
    }

    /// Returns the value, with a NaN from arithmetic replaced by a constant.
    pub(super) fn cleaned(&mut self, value: Value) -> Value {
        if self.is_clean(value) {
            return value;
        }
        let ty = self.type_of(value);
        let lane = ty.lane_type();
        let nan = match lane {
            F16 => 0x7e00,
            F32 => 0x7fc0_0000,
            F64 => 0x7ff8 << 48,
            _ => 0x7fff_8000 << 96,
        };
        let nan = if ty.is_vector() { self.vconst(ty, repeated(nan, lane.bits())) } else { self.float(ty, nan) };
        self.pin(nan);
        let unordered = self.ins().fcmp(FloatCC::Unordered, value, value);
        self.pin(unordered);
        let clean = if ty.is_vector() {
            let mask = self.ins().bitcast(ty, MemFlags::new(), unordered);
            self.pin(mask);
            self.ins().bitselect(mask, nan, value)
        } else {
            self.ins().select(unordered, nan, value)
        };
        self.pin(clean);
        self.mark_clean(clean)
    }

    /// Returns the value converted to another type, if there is a direct conversion.
    pub(super) fn convert(&mut self, value: Value, ty: Type) -> Option<Value> {
        let from = self.type_of(value);
        let opcode = match (from.is_int(), ty.is_int()) {
            (true, true) if from.bits() > ty.bits() => Opcode::Ireduce,
            (true, true) => [Opcode::Uextend, Opcode::Sextend][self.rng.range(0..2)],
            _ if from.bits() == ty.bits() => return Some(self.bitcast(value, ty)),
            _ if from.is_vector() || ty.is_vector() => return None,
            (true, false) => [Opcode::FcvtFromUint, Opcode::FcvtFromSint][self.rng.range(0..2)],
            (false, true) => [Opcode::FcvtToUintSat, Opcode::FcvtToSintSat][self.rng.range(0..2)],
            (false, false) if from.bits() < ty.bits() => Opcode::Fpromote,
            (false, false) => Opcode::Fdemote,
        };
        let result = self.unary(opcode, ty, value);
        if matches!(opcode, Opcode::FcvtFromUint | Opcode::FcvtFromSint) {
            self.mark_clean(result);
        }
        Some(result)
    }

    /// Returns the bits of the value as an integer or float of the same width.
    pub(super) fn bitcast(&mut self, value: Value, ty: Type) -> Value {
        let value = self.cleaned(value);
        let flags = MemFlags::new();
        let same_lanes = self.type_of(value).lane_count() == ty.lane_count();
        let flags = if same_lanes { flags } else { flags.with_endianness(Endianness::Little) };
        let data = InstData::load_no_offset(Opcode::Bitcast, ty, flags, value);
        let result = self.emit(data, ty);
        self.mark_clean(result)
    }

    /// Returns a constant, in half of the cases a boundary value.
    pub(super) fn constant(&mut self, ty: Type) -> Value {
        let bits = edge_bits(ty, self.rng);
        self.constant_of(ty, bits)
    }

    pub(super) fn constant_of(&mut self, ty: Type, bits: u128) -> Value {
        let value = match ty {
            I128 => {
                let (low, high) = (self.constant_of(I64, bits as u64 as u128), self.constant_of(I64, bits >> 64));
                self.binary(Opcode::Iconcat, I64, low, high)
            }
            _ if ty.is_vector() => {
                let value = self.vconst(ty, bits);
                self.pool.push(value);
                value
            }
            _ if ty.is_int() => self.emit(InstData::iconst(ty, bits as i64), ty),
            _ => {
                let value = self.float(ty, bits);
                self.pool.push(value);
                value
            }
        };
        self.mark_clean(value)
    }

    /// Returns a vector constant without other uses.
    fn vconst(&mut self, ty: Type, bits: u128) -> Value {
        let bytes = ConstantData::new(&bits.to_le_bytes()[..ty.bytes() as usize]);
        let constant = self.func.dfg.constants.insert(bytes);
        self.ins().vconst(ty, constant)
    }

    /// Returns a float constant without other uses.
    fn float(&mut self, ty: Type, bits: u128) -> Value {
        match ty {
            F16 => self.ins().f16const(Ieee16::from_bits(bits as u16)),
            F32 => self.ins().insert_with_result(InstData::f32const(Ieee32::from_bits(bits as u32)), INVALID),
            F64 => self.ins().insert_with_result(InstData::f64const(Ieee64::from_bits(bits as u64)), INVALID),
            _ => self.ins().f128const(Ieee128::from_bits(bits)),
        }
    }

    /// Returns a pinned constant without other uses.
    pub(super) fn pinned_const(&mut self, ty: Type, bits: i64) -> Value {
        let value = self.ins().iconst(ty, bits);
        self.pin(value)
    }

    /// Returns an integer in `0..=mask`, where `mask` is one less than a power of two.
    pub(super) fn masked(&mut self, ty: Type, mask: i64) -> Value {
        let value = self.pick(ty);
        let mask = self.pinned_const(ty, mask);
        let masked = self.ins().band(value, mask);
        self.pin(masked)
    }

    /// Returns a condition: mostly a comparison, which the lowering of branches and selects folds.
    pub(super) fn condition(&mut self) -> Value {
        match self.rng.range(0..10) {
            0..6 => self.icmp(),
            6..8 => self.fcmp(),
            _ => {
                let ty = self.int_type();
                self.pick(ty)
            }
        }
    }
}

/// The integer types, from narrow to wide.
pub(super) const INTS: [Type; 5] = [I8, I16, I32, I64, I128];
