//! Operations on values.

use super::plan::{TypeSet, random_word};
use super::scope::{INTS, Scope};
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::types::{F16, F32, F64, I8, I16, I32, I64};
use kingpost_ir::{InstData, Opcode, TrapCode, Value};

const INT_BINARY: &[Opcode] = &[
    Opcode::Iadd,
    Opcode::Iadd,
    Opcode::Isub,
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
];

const INT_UNARY: &[Opcode] = &[
    Opcode::Ineg,
    Opcode::Iabs,
    Opcode::Bnot,
    Opcode::Bitrev,
    Opcode::Clz,
    Opcode::Cls,
    Opcode::Ctz,
    Opcode::Popcnt,
    Opcode::Bswap,
];

const SHIFTS: &[Opcode] = &[Opcode::Ishl, Opcode::Ushr, Opcode::Sshr, Opcode::Rotl, Opcode::Rotr];

const OVERFLOW: &[Opcode] = &[
    Opcode::UaddOverflow,
    Opcode::SaddOverflow,
    Opcode::UsubOverflow,
    Opcode::SsubOverflow,
    Opcode::UmulOverflow,
    Opcode::SmulOverflow,
];

const DIVISIONS: &[Opcode] = &[Opcode::Udiv, Opcode::Sdiv, Opcode::Urem, Opcode::Srem];

const FLOAT_BINARY: &[Opcode] =
    &[Opcode::Fadd, Opcode::Fsub, Opcode::Fmul, Opcode::Fdiv, Opcode::Fmin, Opcode::Fmax, Opcode::Fcopysign];

const FLOAT_UNARY: &[Opcode] =
    &[Opcode::Sqrt, Opcode::Fneg, Opcode::Fabs, Opcode::Ceil, Opcode::Floor, Opcode::Trunc, Opcode::Nearest];

impl Scope<'_> {
    /// Adds one operation. Its results become available.
    pub(super) fn scalar(&mut self) {
        let vectors = match self.type_set {
            TypeSet::All => 20,
            TypeSet::Vectors => 75,
            TypeSet::Usual | TypeSet::Memory => 0,
        };
        if vectors > 0 && self.rng.chance(vectors) {
            return self.vector();
        }
        match self.rng.range(0..100) {
            0..26 => self.int_binary(),
            26..33 => self.int_unary(),
            33..43 => self.shift(),
            43..48 => self.overflow(),
            48..53 => self.division(),
            53..60 => self.any_conversion(),
            60..64 => self.halves(),
            64..72 => self.choice(),
            72..78 => {
                let condition = self.condition();
                if self.rng.chance(30) {
                    let ty = self.int_type();
                    self.unary(Opcode::Bmask, ty, condition);
                }
            }
            78..90 => self.float_binary(),
            90..96 => self.float_unary(),
            96..98 => self.float_to_int(),
            _ => self.alias(),
        }
    }

    fn opcode(&mut self, table: &[Opcode]) -> Opcode {
        table[self.rng.range(0..table.len())]
    }

    fn int_binary(&mut self) {
        let opcode = self.opcode(INT_BINARY);
        let ty = self.int_type();
        let (x, y) = (self.pick(ty), self.pick(ty));
        self.binary(opcode, ty, x, y);
    }

    fn int_unary(&mut self) {
        let opcode = self.opcode(INT_UNARY);
        let ty = self.int_type();
        let ty = if opcode == Opcode::Bswap && ty == I8 { I16 } else { ty };
        let x = self.pick(ty);
        self.unary(opcode, ty, x);
    }

    fn shift(&mut self) {
        let opcode = self.opcode(SHIFTS);
        let (ty, amount) = (self.int_type(), self.int_type());
        let (x, y) = (self.pick(ty), self.pick(amount));
        self.binary(opcode, ty, x, y);
    }

    fn overflow(&mut self) {
        let opcode = self.opcode(OVERFLOW);
        let is_product = matches!(opcode, Opcode::UmulOverflow | Opcode::SmulOverflow);
        let ty = if is_product { random_word(self.rng) } else { self.int_type() };
        let (x, y) = (self.pick(ty), self.pick(ty));
        self.binary(opcode, ty, x, y);
        if self.rng.chance(10) {
            let ty = if self.rng.chance(50) { I32 } else { I64 };
            let (x, y) = (self.pick(ty), self.pick(ty));
            let code = self.trap_code();
            self.emit(InstData::int_add_trap(ty, [x, y], code), ty);
        }
    }

    /// Adds a division whose divisor is rarely zero.
    fn division(&mut self) {
        let opcode = self.opcode(DIVISIONS);
        let ty = self.int_type();
        let x = self.pick(ty);
        let mut y = self.pick(ty);
        if self.rng.chance(85) {
            let one = self.constant_of(ty, 1);
            y = self.binary(Opcode::Bor, ty, y, one);
        }
        self.binary(opcode, ty, x, y);
    }

    fn any_conversion(&mut self) {
        let (from, to) = (self.any_type(), self.any_type());
        if from != to {
            let value = self.pick(from);
            self.convert(value, to);
        }
    }

    fn halves(&mut self) {
        let unusual = usize::from(self.type_set.is_usual());
        let n = self.rng.range(0..INTS.len() - 1 - unusual);
        let (narrow, wide) = (INTS[n], INTS[n + 1]);
        if self.rng.chance(50) {
            let (low, high) = (self.pick(narrow), self.pick(narrow));
            self.binary(Opcode::Iconcat, narrow, low, high);
        } else {
            let value = self.pick(wide);
            self.unary(Opcode::Isplit, wide, value);
        }
    }

    fn choice(&mut self) {
        let ty = self.any_type();
        let opcode = match self.rng.range(0..10) {
            0..7 => Opcode::Select,
            7..9 => Opcode::SelectSpectreGuard,
            _ => Opcode::Bitselect,
        };
        let bits = opcode == Opcode::Bitselect;
        let (x, y) = if bits { (self.pick_clean(ty), self.pick_clean(ty)) } else { (self.pick(ty), self.pick(ty)) };
        let condition = if bits { self.pick_clean(ty) } else { self.condition() };
        let clean = self.is_clean(x) && self.is_clean(y);
        let result = self.emit(InstData::ternary(opcode, ty, [condition, x, y]), ty);
        if clean {
            self.mark_clean(result);
        }
    }

    pub(super) fn icmp(&mut self) -> Value {
        let ty = self.int_type();
        let (x, y) = (self.pick(ty), self.pick(ty));
        let cc = IntCC::ALL[self.rng.range(0..IntCC::ALL.len())];
        self.emit(InstData::icmp(ty, cc, [x, y]), ty)
    }

    pub(super) fn fcmp(&mut self) -> Value {
        let ty = self.float_type();
        let (x, y) = (self.pick(ty), self.pick(ty));
        let cc = FloatCC::ALL[self.rng.range(0..FloatCC::ALL.len())];
        self.emit(InstData::fcmp(ty, cc, [x, y]), ty)
    }

    fn float_binary(&mut self) {
        let ty = self.float_type();
        if self.rng.chance(8) {
            let (x, y, z) = (self.pick(ty), self.pick(ty), self.pick(ty));
            self.emit(InstData::ternary(Opcode::Fma, ty, [x, y, z]), ty);
            return;
        }
        if self.rng.chance(6) {
            let opcode = self.opcode(&[Opcode::Band, Opcode::Bor, Opcode::Bxor]);
            let (x, y) = (self.pick_clean(ty), self.pick_clean(ty));
            let result = self.binary(opcode, ty, x, y);
            self.mark_clean(result);
            return;
        }
        let opcode = self.opcode(FLOAT_BINARY);
        let x = self.pick(ty);
        let sign_only = opcode == Opcode::Fcopysign;
        let y = if sign_only { self.pick_clean(ty) } else { self.pick(ty) };
        let result = self.binary(opcode, ty, x, y);
        if sign_only && self.is_clean(x) {
            self.mark_clean(result);
        }
    }

    fn float_unary(&mut self) {
        let opcode = self.opcode(FLOAT_UNARY);
        let ty = self.float_type();
        let x = self.pick(ty);
        let result = self.unary(opcode, ty, x);
        if matches!(opcode, Opcode::Fneg | Opcode::Fabs) && self.is_clean(x) {
            self.mark_clean(result);
        }
    }

    /// Adds a conversion that may trap, or one whose operand is adjusted so that it does not.
    fn float_to_int(&mut self) {
        let opcode = self.opcode(&[Opcode::FcvtToUint, Opcode::FcvtToSint]);
        let (from, to) = (self.float_type(), self.int_type());
        let mut x = self.pick(from);
        if self.rng.chance(75) {
            // A narrow integer as a float is in range, and so is a float close to it.
            let narrow = self.pick(I8);
            let most = match from {
                F16 => 0x3a00,
                F32 => 0x3f40_0000,
                F64 => 0x3fe8 << 48,
                _ => 0x3ffe_8000 << 96,
            };
            let most = self.constant_of(from, most);
            let integer = self.unary(Opcode::FcvtFromUint, from, narrow);
            x = self.binary(Opcode::Fmul, from, integer, most);
        }
        self.unary(opcode, to, x);
    }

    fn alias(&mut self) {
        let ty = self.any_type();
        let target = self.pick(ty);
        let alias = self.func.dfg.make_undefined_value();
        if self.func.dfg.change_to_alias(alias, target).is_ok() {
            self.pool.push(alias);
            if self.is_clean(target) {
                self.mark_clean(alias);
            }
        }
    }

    pub(super) fn trap_code(&mut self) -> TrapCode {
        let code = TrapCode::from_byte(self.rng.range(1..256) as u8);
        code.filter(|_| self.rng.chance(70)).unwrap_or(TrapCode::INTEGER_OVERFLOW)
    }

    /// Adds a trap that only few values trigger.
    pub(super) fn cond_trap(&mut self) {
        let ty = self.int_type();
        let mut value = self.pick(ty);
        let zero = self.rng.chance(50);
        if self.rng.chance(85) {
            let constant = self.constant(ty);
            value = self.ins().icmp(if zero { IntCC::NotEqual } else { IntCC::Equal }, value, constant);
        }
        let code = self.trap_code();
        if zero {
            self.ins().trapz(value, code)
        } else {
            self.ins().trapnz(value, code)
        };
    }
}
