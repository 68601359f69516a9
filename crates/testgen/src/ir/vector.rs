//! Operations on vectors.

use super::scope::Scope;
use super::vector_types::{FLOATS, INTS, any_vector, of_lanes};
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::types::{F32, F32X4, F64X2, I8, I8X16, I16, I16X8, I32, I32X2, I32X4, I64, I64X2, INVALID};
use kingpost_ir::{InstData, Opcode, Type, Value};

const INT_BINARY: &[Opcode] = &[
    Opcode::Iadd,
    Opcode::Isub,
    Opcode::Imul,
    Opcode::Band,
    Opcode::Bor,
    Opcode::Bxor,
    Opcode::Umulhi,
    Opcode::Smulhi,
    Opcode::Smin,
    Opcode::Smax,
    Opcode::Umin,
    Opcode::Umax,
    Opcode::UaddSat,
    Opcode::SaddSat,
    Opcode::UsubSat,
    Opcode::SsubSat,
    Opcode::AvgRound,
];
const INT_UNARY: &[Opcode] = &[Opcode::Ineg, Opcode::Iabs, Opcode::Bnot, Opcode::Popcnt];
const SHIFTS: &[Opcode] = &[Opcode::Ishl, Opcode::Ushr, Opcode::Sshr, Opcode::Rotl, Opcode::Rotr];
const FLOAT_BINARY: &[Opcode] = &[Opcode::Fadd, Opcode::Fsub, Opcode::Fmul, Opcode::Fdiv, Opcode::Fmin, Opcode::Fmax];
const FLOAT_UNARY: &[Opcode] = &[Opcode::Sqrt, Opcode::Ceil, Opcode::Floor, Opcode::Trunc, Opcode::Nearest];

impl Scope<'_> {
    /// Adds one operation on vectors. Its result becomes available.
    pub(super) fn vector(&mut self) {
        match self.rng.range(0..100) {
            0..24 => self.vector_binary(INT_BINARY, &INTS),
            24..30 => self.vector_unary(INT_UNARY, &INTS),
            30..38 => self.vector_shift(),
            38..44 => self.vector_compare(),
            44..50 => self.reduce(),
            50..56 => self.vector_binary(FLOAT_BINARY, &FLOATS),
            56..59 => self.vector_unary(FLOAT_UNARY, &FLOATS),
            59..61 => self.vector_fma(),
            61..64 => self.vector_signs(),
            64..66 => self.float_bits(),
            66..70 => self.vector_conversion(),
            70..79 => self.lane(),
            79..86 => self.bytes(),
            86..93 => self.resized(),
            93..96 => self.product(),
            96..98 => self.load_lanes(),
            _ => self.idiom(),
        }
    }

    fn vector_type(&mut self, lanes: &[(Type, &[u32])]) -> Type {
        of_lanes(lanes, self.rng)
    }

    fn one_of(&mut self, opcodes: &[Opcode]) -> Opcode {
        opcodes[self.rng.range(0..opcodes.len())]
    }

    fn vector_binary(&mut self, opcodes: &[Opcode], lanes: &[(Type, &[u32])]) {
        let (opcode, ty) = (self.one_of(opcodes), self.vector_type(lanes));
        let (x, y) = (self.pick(ty), self.pick(ty));
        self.binary(opcode, ty, x, y);
    }

    fn vector_unary(&mut self, opcodes: &[Opcode], lanes: &[(Type, &[u32])]) {
        let (opcode, ty) = (self.one_of(opcodes), self.vector_type(lanes));
        let x = self.pick(ty);
        self.unary(opcode, ty, x);
    }

    fn vector_shift(&mut self) {
        let (opcode, ty, amount) = (self.one_of(SHIFTS), self.vector_type(&INTS), self.int_type());
        let (x, y) = (self.pick(ty), self.pick(amount));
        self.binary(opcode, ty, x, y);
    }

    fn vector_compare(&mut self) {
        if self.rng.chance(60) {
            let ty = self.vector_type(&INTS);
            let (x, y) = (self.pick(ty), self.pick(ty));
            let cc = IntCC::ALL[self.rng.range(0..IntCC::ALL.len())];
            self.emit(InstData::icmp(ty, cc, [x, y]), ty);
        } else {
            let ty = self.vector_type(&FLOATS);
            self.float_mask(ty);
        }
    }

    fn float_mask(&mut self, ty: Type) -> Value {
        let (x, y) = (self.pick(ty), self.pick(ty));
        let cc = FloatCC::ALL[self.rng.range(0..FloatCC::ALL.len())];
        self.emit(InstData::fcmp(ty, cc, [x, y]), ty)
    }

    fn reduce(&mut self) {
        let ty = any_vector(self.rng);
        let x = self.pick_clean(ty);
        match self.rng.range(0..3) {
            0 => self.unary(Opcode::VanyTrue, ty, x),
            1 => self.unary(Opcode::VallTrue, ty, x),
            _ => {
                let result = [I8, I16, I32, I64][self.rng.range(0..4)];
                self.unary(Opcode::VhighBits, result, x)
            }
        };
    }

    fn vector_fma(&mut self) {
        let ty = self.vector_type(&FLOATS);
        let operands = [self.pick(ty), self.pick(ty), self.pick(ty)];
        self.emit(InstData::ternary(Opcode::Fma, ty, operands), ty);
    }

    fn vector_signs(&mut self) {
        let ty = self.vector_type(&FLOATS);
        let x = self.pick_clean(ty);
        let result = match self.rng.range(0..3) {
            0 => self.unary(Opcode::Fneg, ty, x),
            1 => self.unary(Opcode::Fabs, ty, x),
            _ => {
                let y = self.pick_clean(ty);
                self.binary(Opcode::Fcopysign, ty, x, y)
            }
        };
        self.mark_clean(result);
    }

    /// Adds an operation that treats the lanes as bits.
    fn float_bits(&mut self) {
        let opcode = self.one_of(&[Opcode::Band, Opcode::Bor, Opcode::Bxor, Opcode::Bnot, Opcode::Blendv]);
        let lanes: &[(Type, &[u32])] = if opcode == Opcode::Blendv && self.rng.chance(60) { &INTS } else { &FLOATS };
        let ty = self.vector_type(lanes);
        let (x, y) = (self.pick_clean(ty), self.pick_clean(ty));
        let result = match opcode {
            Opcode::Bnot => self.unary(opcode, ty, x),
            Opcode::Blendv => {
                let mask = self.pick_clean(ty);
                self.emit(InstData::ternary(opcode, ty, [mask, x, y]), ty)
            }
            _ => self.binary(opcode, ty, x, y),
        };
        self.mark_clean(result);
    }

    fn vector_conversion(&mut self) {
        let f32x2 = F32.by(2).expect("a vector type");
        let pairs = [(I32X4, F32X4), (I64X2, F64X2), (I32X2, f32x2)];
        let (int, float) = pairs[self.rng.range(0..pairs.len())];
        match self.rng.range(0..8) {
            0 => {
                let x = self.pick(F32X4);
                self.emit(InstData::unary(Opcode::FvpromoteLow, INVALID, x), INVALID);
            }
            1 => {
                let x = self.pick(F64X2);
                self.emit(InstData::unary(Opcode::Fvdemote, INVALID, x), INVALID);
            }
            2..5 => {
                let opcode = self.one_of(&[Opcode::FcvtFromUint, Opcode::FcvtFromSint]);
                let x = self.pick(int);
                let result = self.unary(opcode, float, x);
                self.mark_clean(result);
            }
            n => {
                let opcode = [Opcode::FcvtToUintSat, Opcode::FcvtToSintSat, Opcode::X86Cvtt2dq][n - 5];
                let x = self.pick(float);
                self.unary(opcode, int, x);
            }
        }
    }

    fn lane(&mut self) {
        let ty = any_vector(self.rng);
        let lane = self.rng.range(0..ty.lane_count() as usize) as u8;
        let result = match self.rng.range(0..4) {
            0 => {
                let x = self.pick_clean(ty);
                self.emit(InstData::binary_imm8(Opcode::Extractlane, ty, x, lane), ty)
            }
            1 => {
                let (x, y) = (self.pick_clean(ty), self.pick_clean(ty.lane_type()));
                self.emit(InstData::insertlane(ty, [x, y], lane), ty)
            }
            n => {
                let x = self.pick_clean(ty.lane_type());
                self.unary([Opcode::Splat, Opcode::ScalarToVector][n - 2], ty, x)
            }
        };
        self.mark_clean(result);
    }

    /// Adds a permutation of bytes: arbitrary, whole lanes, lanes of two vectors alternating, or a part of both.
    fn bytes(&mut self) {
        let (x, y) = (self.pick(I8X16), self.pick(I8X16));
        if self.rng.chance(30) {
            let opcode = self.one_of(&[Opcode::Swizzle, Opcode::X86Pshufb]);
            self.emit(InstData::binary(opcode, INVALID, [x, y]), INVALID);
            return;
        }
        let bytes = [1, 2, 4, 8][self.rng.range(0..4)];
        let limit = if self.rng.chance(40) { 16 } else { 32 } / bytes;
        let mask: [u8; 16] = match self.rng.range(0..3) {
            0 => {
                let lanes: Vec<usize> = (0..16 / bytes).map(|_| self.rng.range(0..limit)).collect();
                std::array::from_fn(|k| (lanes[k / bytes] * bytes + k % bytes) as u8)
            }
            1 => {
                let first = if self.rng.chance(50) { 8 } else { 0 };
                std::array::from_fn(|k| (16 * (k / bytes % 2) + first + k / bytes / 2 * bytes + k % bytes) as u8)
            }
            _ => {
                let first = self.rng.range(0..32);
                std::array::from_fn(|k| ((first + k) % 32) as u8)
            }
        };
        let mask = self.func.dfg.make_shuffle_mask(mask);
        self.emit(InstData::shuffle([x, y], mask), INVALID);
    }

    fn resized(&mut self) {
        let narrow = self.rng.chance(50);
        let lanes = if narrow { &INTS[1..] } else { &INTS[..3] };
        let ty = self.vector_type(lanes);
        if narrow {
            let opcode = self.one_of(&[Opcode::Snarrow, Opcode::Unarrow, Opcode::Uunarrow]);
            let (x, y) = (self.pick(ty), self.pick(ty));
            self.binary(opcode, ty, x, y);
        } else {
            let opcodes = [Opcode::SwidenLow, Opcode::SwidenHigh, Opcode::UwidenLow, Opcode::UwidenHigh];
            let opcode = self.one_of(&opcodes);
            let x = self.pick(ty);
            self.unary(opcode, ty, x);
        }
    }

    fn product(&mut self) {
        match self.rng.range(0..4) {
            0 => {
                let (x, y) = (self.pick(I8X16), self.pick(I8X16));
                self.emit(InstData::binary(Opcode::X86Pmaddubsw, INVALID, [x, y]), INVALID);
            }
            1 => {
                let ty = self.vector_type(&INTS[..3]);
                let (x, y) = (self.pick(ty), self.pick(ty));
                self.binary(Opcode::IaddPairwise, ty, x, y);
            }
            n => {
                let (x, y) = (self.pick(I16X8), self.pick(I16X8));
                self.binary([Opcode::SqmulRoundSat, Opcode::X86Pmulhrsw][n - 2], I16X8, x, y);
            }
        }
    }

    /// Adds several operations that some targets combine.
    fn idiom(&mut self) {
        match self.rng.range(0..4) {
            0 => {
                // The lesser or greater of two, in the form that front ends emit.
                let ty = self.vector_type(&FLOATS);
                let (x, y) = (self.pick_clean(ty), self.pick_clean(ty));
                let cc = [FloatCC::LessThan, FloatCC::GreaterThan][self.rng.range(0..2)];
                let operands = if self.rng.chance(50) { [x, y] } else { [y, x] };
                let mask = self.ins().insert_with_result(InstData::fcmp(ty, cc, operands), ty);
                let mask = self.bitcast(mask, ty);
                let result = self.emit(InstData::ternary(Opcode::Bitselect, ty, [mask, x, y]), ty);
                self.mark_clean(result);
            }
            1 => {
                let opcode = self.one_of(&[Opcode::FcvtToSintSat, Opcode::FcvtToUintSat]);
                let narrow = if opcode == Opcode::FcvtToSintSat { Opcode::Snarrow } else { Opcode::Uunarrow };
                let x = self.pick(F64X2);
                let wide = self.ins().insert_with_result(InstData::unary(opcode, I64X2, x), I64X2);
                let zero = self.constant_of(I64X2, 0);
                self.binary(narrow, I64X2, wide, zero);
            }
            2 => {
                let opcode = self.one_of(&[Opcode::SwidenLow, Opcode::UwidenLow]);
                let from = if opcode == Opcode::SwidenLow { Opcode::FcvtFromSint } else { Opcode::FcvtFromUint };
                let x = self.pick(I32X4);
                let wide = self.ins().insert_with_result(InstData::unary(opcode, I32X4, x), I32X4);
                let result = self.unary(from, F64X2, wide);
                self.mark_clean(result);
            }
            _ => {
                // A long product.
                let (ty, wide) = [(I8X16, I16X8), (I16X8, I32X4), (I32X4, I64X2)][self.rng.range(0..3)];
                let opcodes = [Opcode::SwidenLow, Opcode::SwidenHigh, Opcode::UwidenLow, Opcode::UwidenHigh];
                let opcode = self.one_of(&opcodes);
                let operands = [self.pick(ty), self.pick(ty)];
                let [x, y] = operands.map(|v| self.ins().insert_with_result(InstData::unary(opcode, ty, v), ty));
                self.binary(Opcode::Imul, wide, x, y);
            }
        }
    }
}
