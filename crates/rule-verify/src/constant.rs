//! Constant expressions: modular arithmetic with total operations, as in SMT-LIB.

use crate::encoder::Encoder;
use kingpost_rules::{BinaryOp, Expr, ExprKind, Function, RuleError, UnaryOp};
use kingpost_smt::{Bits, Op, Sort, Term};

/// Lookup of the values of registers in expressions.
pub(crate) type Registers<'r> = dyn Fn(&str) -> Option<Term> + 'r;

impl Encoder<'_> {
    /// Returns the value of an expression. `registers` looks up registers.
    pub(crate) fn constant(&mut self, expr: &Expr, registers: &Registers<'_>) -> Result<Term, RuleError> {
        let width = self.expr_width(expr)?;
        Ok(match &expr.kind {
            ExprKind::Register(name) => match registers(name) {
                Some(value) => value,
                None => self.terms.var(&format!("%{name}"), Sort::Bits(width)),
            },
            ExprKind::Constant(name) => self.terms.var(name, Sort::Bits(width)),
            ExprKind::Literal(value) => self.terms.constant(Bits::signed_new(width, *value)),
            ExprKind::Bool(value) => self.terms.number(width, u128::from(*value)),
            ExprKind::Null => self.terms.number(width, 0),
            ExprKind::Undef => self.undef(width),
            ExprKind::Unary(op, a) => {
                let a = self.constant(a, registers)?;
                match op {
                    UnaryOp::Not => self.terms.bit_not(a),
                    UnaryOp::Neg => self.terms.neg(a),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.constant(a, registers)?, self.constant(b, registers)?);
                self.operator(*op, a, b)
            }
            ExprKind::Call(function, args) => self.call(expr, *function, args, width, registers)?,
        })
    }

    fn operator(&mut self, op: BinaryOp, a: Term, b: Term) -> Term {
        let op = match op {
            BinaryOp::Sub => return self.terms.sub(a, b),
            BinaryOp::Mul => Op::Mul,
            BinaryOp::Sdiv => Op::Sdiv,
            BinaryOp::Srem => Op::Srem,
            BinaryOp::Udiv => Op::Udiv,
            BinaryOp::Urem => Op::Urem,
            BinaryOp::Add => Op::Add,
            BinaryOp::Shl => Op::Shl,
            BinaryOp::Ashr => Op::Ashr,
            BinaryOp::Lshr => Op::Lshr,
            BinaryOp::And => Op::BitAnd,
            BinaryOp::Xor => Op::BitXor,
            BinaryOp::Or => Op::BitOr,
        };
        self.terms.binary(op, a, b)
    }

    fn call(
        &mut self,
        expr: &Expr,
        function: Function,
        args: &[Expr],
        width: u32,
        registers: &Registers<'_>,
    ) -> Result<Term, RuleError> {
        if function == Function::Width {
            let of = self.expr_width(&args[0])?;
            return Ok(self.terms.number(width, u128::from(of)));
        }
        let values = args.iter().map(|arg| self.constant(arg, registers)).collect::<Result<Vec<Term>, RuleError>>()?;
        let (a, b) = (values[0], values[values.len() - 1]);
        let terms = &mut *self.terms;
        Ok(match function {
            Function::Abs => {
                let zero = terms.number(width, 0);
                let negative = terms.slt(a, zero);
                let minus = terms.neg(a);
                terms.ite(negative, minus, a)
            }
            Function::Max => {
                let greater = terms.slt(b, a);
                terms.ite(greater, a, b)
            }
            Function::Umax => {
                let greater = terms.ult(b, a);
                terms.ite(greater, a, b)
            }
            Function::Lshr => terms.lshr(a, b),
            Function::Trunc => terms.extract(a, 0, width),
            Function::Sext => terms.sign_extend(a, width),
            Function::Zext => terms.zero_extend(a, width),
            Function::Log2 => self.log2(a, width),
            Function::CountLeadingZeros => self.leading_zeros(a, width),
            Function::CountTrailingZeros => self.trailing_zeros(a, width),
            Function::Width => unreachable!("the width needs no value"),
            Function::ComputeNumSignBits | Function::ComputeKnownZeroBits | Function::ComputeKnownOneBits => {
                self.analysis(expr, function, a, width)
            }
        })
    }

    /// Returns `number` of the first bit position in `order` whose bit is set, or `none` if no bit is set.
    fn first_set(
        &mut self,
        a: Term,
        width: u32,
        order: impl DoubleEndedIterator<Item = u32>,
        number: impl Fn(u32) -> u32,
        none: u32,
    ) -> Term {
        let mut result = self.terms.number(width, u128::from(none));
        for bit in order.rev() {
            let one = self.terms.extract(a, bit, 1);
            let set = self.terms.number(1, 1);
            let set = self.terms.eq(one, set);
            let value = self.terms.number(width, u128::from(number(bit)));
            result = self.terms.ite(set, value, result);
        }
        result
    }

    fn log2(&mut self, a: Term, width: u32) -> Term {
        let bits = self.terms.width(a);
        self.first_set(a, width, (0..bits).rev(), |bit| bit, 0)
    }

    fn leading_zeros(&mut self, a: Term, width: u32) -> Term {
        let bits = self.terms.width(a);
        self.first_set(a, width, (0..bits).rev(), |bit| bits - 1 - bit, bits)
    }

    fn trailing_zeros(&mut self, a: Term, width: u32) -> Term {
        let bits = self.terms.width(a);
        self.first_set(a, width, 0..bits, |bit| bit, bits)
    }

    /// Returns a variable for the answer of an analysis, and adds the fact that the answer is true. The answer may
    /// be weak.
    fn analysis(&mut self, expr: &Expr, function: Function, a: Term, width: u32) -> Term {
        let answer = self.terms.var(&format!("ana_{expr}"), Sort::Bits(width));
        let fact = if function == Function::ComputeNumSignBits {
            self.at_most_sign_bits(answer, a)
        } else {
            let of = if function == Function::ComputeKnownZeroBits { a } else { self.terms.bit_not(a) };
            let wrong = self.terms.bit_and(answer, of);
            let zero = self.terms.number(width, 0);
            self.terms.eq(wrong, zero)
        };
        self.facts.push(fact);
        answer
    }

    /// Returns a term that holds if `answer` is at least 1 and at most the number of leading bits of `a` that equal
    /// its sign.
    fn at_most_sign_bits(&mut self, answer: Term, a: Term) -> Term {
        let bits = self.terms.width(a);
        let sign = self.terms.number(bits, u128::from(bits - 1));
        let signs = self.terms.ashr(a, sign);
        let differing = self.terms.bit_xor(a, signs);
        // Wide enough for both numbers.
        let wide = self.terms.width(answer).max(8);
        let count = self.leading_zeros(differing, wide);
        let answer = self.terms.zero_extend(answer, wide);
        let zero = self.terms.number(wide, 0);
        let some = self.terms.ult(zero, answer);
        let enough = self.terms.ule(answer, count);
        self.terms.and(some, enough)
    }
}
