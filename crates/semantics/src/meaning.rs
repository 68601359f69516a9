//! Dispatch: maps each opcode to the function that is its meaning.

use crate::lanes::each_lane;
use crate::outcome::{Immediate, NanChoice, Operand, Operation, Outcome};
use crate::overflow::{self, Wrapped};
use crate::{bits, float, int, vector};
use kingpost_ir::types::I8;
use kingpost_ir::{Opcode, TrapCode, Type};
use kingpost_smt::{Bits, FloatOp, MAX_WIDTH, Op, Term, Terms};

/// Returns the outcome of an instruction; `None` if this crate does not define its opcode at these types. The caller
/// passes as many operands as the opcode has, of types that its row of the opcode table allows.
pub fn outcome(terms: &mut Terms, operation: &Operation, operands: &[Operand]) -> Option<Outcome> {
    let fits = |ty: Type| !ty.is_dynamic_vector() && ty.bits() <= MAX_WIDTH;
    if !fits(operation.ty) || !operands.iter().all(|operand| fits(operand.ty)) {
        return None;
    }
    let meaning = Meaning { terms, ty: operation.ty, immediate: operation.immediate, operands };
    meaning.of(operation.opcode)
}

struct Meaning<'t, 'o> {
    terms: &'t mut Terms,
    /// The controlling type.
    ty: Type,
    immediate: Immediate,
    operands: &'o [Operand],
}

impl Meaning<'_, '_> {
    fn of(mut self, opcode: Opcode) -> Option<Outcome> {
        let result = match opcode {
            // Control flow. The trap is the only outcome.
            Opcode::Trap => return self.trap_if(|terms, _| terms.bool(true)),
            Opcode::Trapz => return self.trap_if(int::is_zero),
            Opcode::Trapnz => {
                return self.trap_if(|terms, x| {
                    let zero = int::is_zero(terms, x);
                    terms.not(zero)
                });
            }

            // Selection.
            Opcode::Select | Opcode::SelectSpectreGuard => {
                let [c, x, y] = self.all();
                let zero = int::is_zero(self.terms, c);
                self.terms.ite(zero, y, x)
            }
            Opcode::Bitselect => self.whole3(|terms, [c, x, y]| {
                let not_c = terms.bit_not(c);
                let (chosen, other) = (terms.bit_and(c, x), terms.bit_and(not_c, y));
                terms.bit_or(chosen, other)
            }),
            Opcode::Blendv => {
                let (ty, all) = (self.ty, self.all());
                each_lane(self.terms, ty, all, |terms, [c, x, y]| {
                    let negative = int::is_negative(terms, c);
                    terms.ite(negative, x, y)
                })
            }
            Opcode::Bmask => {
                let [x] = self.all();
                let set = vector::any_true(self.terms, x);
                int::mask(self.terms, set, self.ty.bits())
            }

            // Integers.
            Opcode::Icmp => self.icmp()?,
            Opcode::Iadd => self.lanes2(Terms::add),
            Opcode::Isub => self.lanes2(Terms::sub),
            Opcode::Ineg => self.lanes1(Terms::neg),
            Opcode::Iabs => self.lanes1(int::abs),
            Opcode::Imul => self.lanes2(Terms::mul),
            Opcode::Umulhi => self.lanes2(int::umulhi),
            Opcode::Smulhi => self.lanes2(int::smulhi),
            Opcode::Smin => self.lanes2(int::smin),
            Opcode::Smax => self.lanes2(int::smax),
            Opcode::Umin => self.lanes2(int::umin),
            Opcode::Umax => self.lanes2(int::umax),
            Opcode::Udiv => return Some(self.division(Op::Udiv)),
            Opcode::Sdiv => return Some(self.division(Op::Sdiv)),
            Opcode::Urem => return Some(self.division(Op::Urem)),
            Opcode::Srem => return Some(self.division(Op::Srem)),
            Opcode::UaddOverflow => return Some(self.overflow(overflow::uadd)),
            Opcode::SaddOverflow => return Some(self.overflow(overflow::sadd)),
            Opcode::UsubOverflow => return Some(self.overflow(overflow::usub)),
            Opcode::SsubOverflow => return Some(self.overflow(overflow::ssub)),
            Opcode::UmulOverflow => return Some(self.overflow(overflow::umul)),
            Opcode::SmulOverflow => return Some(self.overflow(overflow::smul)),
            Opcode::UaddOverflowCin => return Some(self.overflow_with_carry(overflow::uadd)),
            Opcode::SaddOverflowCin => return Some(self.overflow_with_carry(overflow::sadd)),
            Opcode::UsubOverflowBin => return Some(self.overflow_with_carry(overflow::usub)),
            Opcode::SsubOverflowBin => return Some(self.overflow_with_carry(overflow::ssub)),
            Opcode::UaddOverflowTrap => {
                let [x, y] = self.all();
                let Immediate::Code(code) = self.immediate else { return None };
                let (sum, overflow) = overflow::uadd(self.terms, x, y);
                return Some(Outcome::values(self.terms, [sum]).trapping_with(self.terms, overflow, code));
            }

            // Bits.
            Opcode::Band => self.whole2(Terms::bit_and),
            Opcode::Bor => self.whole2(Terms::bit_or),
            Opcode::Bxor => self.whole2(Terms::bit_xor),
            Opcode::Bnot => {
                let [x] = self.all();
                self.terms.bit_not(x)
            }
            Opcode::Rotl => self.shift(bits::rotl),
            Opcode::Rotr => self.shift(bits::rotr),
            Opcode::Ishl => self.shift(bits::ishl),
            Opcode::Ushr => self.shift(bits::ushr),
            Opcode::Sshr => self.shift(bits::sshr),
            Opcode::Bitrev => self.lanes1(bits::bitrev),
            Opcode::Clz => self.lanes1(Terms::leading_zeros),
            Opcode::Cls => self.lanes1(bits::cls),
            Opcode::Ctz => self.lanes1(Terms::trailing_zeros),
            Opcode::Bswap => self.lanes1(bits::bswap),
            Opcode::Popcnt => self.lanes1(Terms::count_ones),

            // Conversions.
            Opcode::Ireduce => self.resized(|terms, x, width| terms.extract(x, 0, width)),
            Opcode::Uextend => self.resized(Terms::zero_extend),
            Opcode::Sextend => self.resized(Terms::sign_extend),
            Opcode::Isplit => {
                let ([x], half) = (self.all(), self.ty.bits() / 2);
                let halves = [0, half].map(|at| self.terms.extract(x, at, half));
                return Some(Outcome::values(self.terms, halves));
            }
            Opcode::Iconcat => {
                let [low, high] = self.all();
                self.terms.concat(high, low)
            }
            Opcode::Bitcast if self.operands[0].ty.lane_count() == self.ty.lane_count() => self.operands[0].bits,

            // Floating point, as bits.
            Opcode::Fcmp if self.ty.is_scalar() => {
                let ([x, y], Immediate::FloatCondition(condition)) = (self.all(), self.immediate) else { return None };
                float::compared(self.terms, condition, x, y)
            }
            Opcode::Fmin if self.ty.is_scalar() => return Some(self.float2(float::min)),
            Opcode::Fmax if self.ty.is_scalar() => return Some(self.float2(float::max)),
            Opcode::Fneg => self.lanes1(float::negated),
            Opcode::Fabs => self.lanes1(Terms::magnitude),
            Opcode::Fcopysign => self.lanes2(float::copysign),

            // Floating point, by the solvers' theory.
            Opcode::Fadd => return self.float(FloatOp::Add),
            Opcode::Fsub => return self.float(FloatOp::Sub),
            Opcode::Fmul => return self.float(FloatOp::Mul),
            Opcode::Fdiv => return self.float(FloatOp::Div),
            Opcode::Fma => return self.float(FloatOp::Fma),
            Opcode::Sqrt => return self.float(FloatOp::Sqrt),
            Opcode::Ceil => return self.float(FloatOp::Ceil),
            Opcode::Floor => return self.float(FloatOp::Floor),
            Opcode::Trunc => return self.float(FloatOp::Trunc),
            Opcode::Nearest => return self.float(FloatOp::Nearest),
            Opcode::Fpromote | Opcode::Fdemote => return self.float(FloatOp::Convert),
            Opcode::FcvtFromSint => return self.integer_to_float(FloatOp::FromSigned),
            Opcode::FcvtFromUint => return self.integer_to_float(FloatOp::FromUnsigned),
            Opcode::FcvtToSint => return self.float_to_integer(true),
            Opcode::FcvtToUint => return self.float_to_integer(false),
            Opcode::FcvtToSintSat => self.float_to_nearest_integer(true)?,
            Opcode::FcvtToUintSat => self.float_to_nearest_integer(false)?,

            // Vectors: lanes and shuffles.
            Opcode::Splat => self.resized_to_vector(vector::splat),
            Opcode::ScalarToVector => self.resized_to_vector(vector::scalar_to_vector),
            Opcode::Insertlane => {
                let ([x, y], Immediate::Lane(lane)) = (self.all(), self.immediate) else { return None };
                vector::insertlane(self.terms, self.ty, x, y, lane)?
            }
            Opcode::Extractlane => {
                let ([x], Immediate::Lane(lane)) = (self.all(), self.immediate) else { return None };
                vector::extractlane(self.terms, self.ty, x, lane)?
            }
            Opcode::Swizzle => {
                let [x, y] = self.all();
                vector::permuted(self.terms, x, y, |_, index| index)
            }
            Opcode::X86Pshufb => {
                let [x, y] = self.all();
                vector::permuted(self.terms, x, y, vector::pshufb_index)
            }
            Opcode::VanyTrue => {
                let [x] = self.all();
                let any = vector::any_true(self.terms, x);
                int::flag(self.terms, any, I8.bits())
            }
            Opcode::VallTrue => {
                let [x] = self.all();
                let all = vector::all_true(self.terms, self.ty, x);
                int::flag(self.terms, all, I8.bits())
            }
            Opcode::VhighBits => {
                let [x] = self.all();
                vector::high_bits(self.terms, self.operands[0].ty, x, self.ty.bits())
            }

            // Vectors: arithmetic and width.
            Opcode::UaddSat => self.saturated(overflow::uadd, |terms, x| terms.constant(Bits::ones(terms.width(x)))),
            Opcode::UsubSat => self.saturated(overflow::usub, |terms, x| terms.number(terms.width(x), 0)),
            Opcode::SaddSat => self.saturated(overflow::sadd, overflow::signed_limit),
            Opcode::SsubSat => self.saturated(overflow::ssub, overflow::signed_limit),
            Opcode::AvgRound => self.lanes2(|terms, x, y| {
                let width = terms.width(x);
                let [x, y] = [x, y].map(|operand| terms.zero_extend(operand, width + 1));
                let (sum, one) = (terms.add(x, y), terms.number(width + 1, 1));
                let rounded = terms.add(sum, one);
                terms.extract(rounded, 1, width)
            }),
            Opcode::IaddPairwise => {
                let all = self.all();
                vector::pairwise(self.terms, self.ty, all)
            }
            Opcode::Snarrow => self.narrowed(int::clamp_signed),
            Opcode::Unarrow => self.narrowed(int::clamp_unsigned),
            Opcode::Uunarrow => self.narrowed(vector::narrow_unsigned),
            Opcode::SwidenLow => self.widened(false, Terms::sign_extend),
            Opcode::SwidenHigh => self.widened(true, Terms::sign_extend),
            Opcode::UwidenLow => self.widened(false, Terms::zero_extend),
            Opcode::UwidenHigh => self.widened(true, Terms::zero_extend),

            _ => return None,
        };
        Some(Outcome::values(self.terms, [result]))
    }

    /// Returns the bits of the operands.
    fn all<const N: usize>(&self) -> [Term; N] {
        std::array::from_fn(|index| self.operands[index].bits)
    }

    fn whole2(&mut self, op: fn(&mut Terms, Term, Term) -> Term) -> Term {
        let [x, y] = self.all();
        op(self.terms, x, y)
    }

    fn whole3(&mut self, op: fn(&mut Terms, [Term; 3]) -> Term) -> Term {
        let all = self.all();
        op(self.terms, all)
    }

    fn lanes1(&mut self, op: fn(&mut Terms, Term) -> Term) -> Term {
        let all = self.all();
        each_lane(self.terms, self.ty, all, |terms, [x]| op(terms, x))
    }

    fn lanes2(&mut self, op: fn(&mut Terms, Term, Term) -> Term) -> Term {
        let all = self.all();
        each_lane(self.terms, self.ty, all, |terms, [x, y]| op(terms, x, y))
    }

    /// Shifts every lane by one scalar amount.
    fn shift(&mut self, op: fn(&mut Terms, Term, Term) -> Term) -> Term {
        let [x, by] = self.all();
        each_lane(self.terms, self.ty, [x], |terms, [x]| op(terms, x, by))
    }

    fn resized(&mut self, op: fn(&mut Terms, Term, u32) -> Term) -> Term {
        let [x] = self.all();
        op(self.terms, x, self.ty.bits())
    }

    fn resized_to_vector(&mut self, op: fn(&mut Terms, Type, Term) -> Term) -> Term {
        let [x] = self.all();
        op(self.terms, self.ty, x)
    }

    fn narrowed(&mut self, op: fn(&mut Terms, Term, u32) -> Term) -> Term {
        let all = self.all();
        vector::narrowed(self.terms, self.ty, all, op)
    }

    fn widened(&mut self, high: bool, extend: fn(&mut Terms, Term, u32) -> Term) -> Term {
        let [x] = self.all();
        vector::widened(self.terms, self.ty, x, high, extend)
    }

    fn saturated(&mut self, op: fn(&mut Terms, Term, Term) -> Wrapped, limit: fn(&mut Terms, Term) -> Term) -> Term {
        let all = self.all();
        each_lane(self.terms, self.ty, all, |terms, [x, y]| {
            let (limit, wrapped) = (limit(terms, x), op(terms, x, y));
            overflow::saturated(terms, wrapped, limit)
        })
    }

    /// Compares integers. The result is 1 or 0 for scalars, all ones or zero in each lane of vectors.
    fn icmp(&mut self) -> Option<Term> {
        let Immediate::Condition(condition) = self.immediate else { return None };
        let ([x, y], ty) = (self.all(), self.ty);
        if ty.is_scalar() {
            let holds = int::compare(self.terms, condition, x, y);
            return Some(int::flag(self.terms, holds, I8.bits()));
        }
        Some(each_lane(self.terms, ty, [x, y], |terms, [x, y]| {
            let holds = int::compare(terms, condition, x, y);
            int::mask(terms, holds, ty.lane_bits())
        }))
    }

    /// Returns the outcome of an operation on two floats. If the result is a NaN, it may be any NaN of a set.
    fn float2(self, op: fn(&mut Terms, Term, Term) -> Term) -> Outcome {
        let [x, y] = self.all();
        let result = op(self.terms, x, y);
        self.with_nan(result)
    }

    fn with_nan(self, result: Term) -> Outcome {
        let open = self.terms.is_nan(result);
        let operands = self.operands.iter().map(|operand| operand.bits).collect();
        Outcome { nan: Some(NanChoice { open, operands }), ..Outcome::values(self.terms, [result]) }
    }

    fn float(self, op: FloatOp) -> Option<Outcome> {
        let fits = |ty: Type| ty.is_float() && float::has_theory(op, ty.bits());
        if !fits(self.ty) || !self.operands.iter().all(|operand| fits(operand.ty)) {
            return None;
        }
        let operands: Vec<Term> = self.operands.iter().map(|operand| operand.bits).collect();
        let result = self.terms.float(op, &operands, self.ty.bits());
        Some(self.with_nan(result))
    }

    fn integer_to_float(self, op: FloatOp) -> Option<Outcome> {
        let fits = self.operands[0].ty.is_int() && self.ty.is_float() && float::has_theory(op, self.ty.bits());
        let [x] = self.all();
        fits.then(|| {
            let result = self.terms.float(op, &[x], self.ty.bits());
            Outcome::values(self.terms, [result])
        })
    }

    /// Converts a float to an integer. Traps if there is no such integer.
    fn float_to_integer(self, is_signed: bool) -> Option<Outcome> {
        let from = self.operands[0].ty;
        if !self.ty.is_int() || !from.is_float() || !float::has_theory(FloatOp::ToSigned, from.bits()) {
            return None;
        }
        let [x] = self.all();
        let (result, [nan, outside]) = float::to_integer(self.terms, x, self.ty.bits(), is_signed);
        let outcome = Outcome::values(self.terms, [result]).trapping(self.terms, outside, TrapCode::INTEGER_OVERFLOW);
        Some(outcome.trapping(self.terms, nan, TrapCode::BAD_CONVERSION_TO_INTEGER))
    }

    /// Converts the floats of all lanes to the nearest integers.
    fn float_to_nearest_integer(&mut self, is_signed: bool) -> Option<Term> {
        let from = self.operands[0].ty;
        let fits = from.is_float() || from.is_vector() && from.lane_type().is_float();
        if !fits || from.lane_count() != self.ty.lane_count() || !float::has_theory(FloatOp::ToSigned, from.lane_bits())
        {
            return None;
        }
        let ([x], width) = (self.all(), self.ty.lane_bits());
        Some(each_lane(self.terms, from, [x], |terms, [x]| float::to_nearest_integer(terms, x, width, is_signed)))
    }

    /// Divides. A zero divisor traps, and so does a signed quotient that overflows. The remainder of the minimum by -1
    /// is zero.
    fn division(self, op: Op) -> Outcome {
        let [x, y] = self.all();
        let result = self.terms.binary(op, x, y);
        let mut outcome = Outcome::values(self.terms, [result]);
        if op == Op::Sdiv {
            let overflow = int::quotient_overflows(self.terms, x, y);
            outcome = outcome.trapping(self.terms, overflow, TrapCode::INTEGER_OVERFLOW);
        }
        let by_zero = int::is_zero(self.terms, y);
        outcome.trapping(self.terms, by_zero, TrapCode::INTEGER_DIVISION_BY_ZERO)
    }

    fn overflow(mut self, op: fn(&mut Terms, Term, Term) -> Wrapped) -> Outcome {
        let [x, y] = self.all();
        let wrapped = op(self.terms, x, y);
        self.with_flag(wrapped)
    }

    fn overflow_with_carry(mut self, step: fn(&mut Terms, Term, Term) -> Wrapped) -> Outcome {
        let all = self.all();
        let wrapped = overflow::with_carry(self.terms, step, all);
        self.with_flag(wrapped)
    }

    fn with_flag(&mut self, (result, overflow): Wrapped) -> Outcome {
        let overflow = int::flag(self.terms, overflow, I8.bits());
        Outcome::values(self.terms, [result, overflow])
    }

    /// Traps if `condition` holds for the operand, if there is one.
    fn trap_if(self, condition: fn(&mut Terms, Term) -> Term) -> Option<Outcome> {
        let Immediate::Code(code) = self.immediate else { return None };
        let operand = self.operands.first().map_or(code, |operand| operand.bits);
        let condition = condition(self.terms, operand);
        Some(Outcome::values(self.terms, []).trapping_with(self.terms, condition, code))
    }
}
