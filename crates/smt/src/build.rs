//! Constructors. Each folds constants and rewrites its operation to a normal form with equal value for every model; a
//! test compares them with an arena that rewrites nothing.
//!
//! Normal forms: sums by `linear.rs`; products with the constant first and shifts outside; `<=` as a negated `<`; operands
//! of commutative operations ascend; shifts of equal amount outside bitwise operations.

use crate::bits::{Bits, Sort, Value};
use crate::evaluate::apply;
use crate::linear::{Linear, inverse};
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// A bit-vector constant.
    pub fn constant(&mut self, bits: Bits) -> Term {
        self.intern(Node::Const(Value::Bits(bits)), Sort::Bits(bits.width()))
    }

    /// The constant `value` modulo 2^`width`.
    pub fn number(&mut self, width: u32, value: u128) -> Term {
        self.constant(Bits::new(width, value))
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> Term {
        self.intern(Node::Const(Value::Bool(value)), Sort::Bool)
    }

    /// The constant of a value.
    pub fn constant_of(&mut self, value: Value) -> Term {
        self.intern(Node::Const(value), value.sort())
    }

    /// An operation of one operand; `sort` is the result's.
    pub fn unary(&mut self, op: Op, a: Term, sort: Sort) -> Term {
        let width = |sort| match sort {
            Sort::Bits(width) => width,
            Sort::Bool => unreachable!("{op:?} is of bit-vectors"),
        };
        match op {
            Op::Not => self.not(a),
            Op::Neg => self.neg(a),
            Op::BitNot => self.bit_not(a),
            Op::ZeroExtend => self.zero_extend(a, width(sort)),
            Op::SignExtend => self.sign_extend(a, width(sort)),
            Op::Extract { low } => self.extract(a, low, width(sort)),
            Op::Float(op) => self.float(op, &[a], width(sort)),
            _ => panic!("{op:?} of one operand"),
        }
    }

    /// An operation of two operands.
    pub fn binary(&mut self, op: Op, a: Term, b: Term) -> Term {
        match op {
            Op::And => self.and(a, b),
            Op::Or => self.or(a, b),
            Op::Eq => self.eq(a, b),
            Op::Ult => self.ult(a, b),
            Op::Ule => self.ule(a, b),
            Op::Slt => self.slt(a, b),
            Op::Sle => self.sle(a, b),
            Op::Add => self.add(a, b),
            Op::Mul => self.mul(a, b),
            Op::Udiv => self.udiv(a, b),
            Op::Urem => self.urem(a, b),
            Op::Sdiv => self.sdiv(a, b),
            Op::Srem => self.srem(a, b),
            Op::Shl => self.shl(a, b),
            Op::Lshr => self.lshr(a, b),
            Op::Ashr => self.ashr(a, b),
            Op::BitAnd => self.bit_and(a, b),
            Op::BitOr => self.bit_or(a, b),
            Op::BitXor => self.bit_xor(a, b),
            Op::Concat => self.concat(a, b),
            Op::Float(op) => self.float(op, &[a, b], self.width(a)),
            _ => panic!("{op:?} of two operands"),
        }
    }

    /// An operation of three operands.
    pub fn ternary(&mut self, op: Op, a: Term, b: Term, c: Term) -> Term {
        match op {
            Op::Ite => self.ite(a, b, c),
            Op::Float(op) => self.float(op, &[a, b, c], self.width(a)),
            _ => panic!("{op:?} of three operands"),
        }
    }

    /// The node itself, or the constant it folds to.
    fn plain_unary(&mut self, op: Op, a: Term, sort: Sort) -> Term {
        match self.value(a) {
            Some(value) if self.simplifies() => self.constant_of(apply(op, sort, &[value])),
            _ => self.intern(Node::Unary(op, a), sort),
        }
    }

    /// The node itself, or the constant it folds to.
    fn plain_binary(&mut self, op: Op, a: Term, b: Term, sort: Sort) -> Term {
        assert!(op == Op::Concat || self.sort(a) == self.sort(b), "{op:?} of two sorts");
        match (self.value(a), self.value(b)) {
            (Some(x), Some(y)) if self.simplifies() => self.constant_of(apply(op, sort, &[x, y])),
            _ => self.intern(Node::Binary(op, a, b), sort),
        }
    }

    /// Boolean negation. That of a disjunction is a conjunction, so that its parts are found as conjuncts.
    pub fn not(&mut self, a: Term) -> Term {
        match self.node(a) {
            Node::Unary(Op::Not, inner) if self.simplifies() => inner,
            Node::Binary(Op::Or, x, y) if self.simplifies() => {
                let (not_x, not_y) = (self.not(x), self.not(y));
                self.and(not_x, not_y)
            }
            _ => self.plain_unary(Op::Not, a, Sort::Bool),
        }
    }

    fn is_negation(&self, a: Term, b: Term) -> bool {
        self.node(a) == Node::Unary(Op::Not, b) || self.node(b) == Node::Unary(Op::Not, a)
    }

    /// Conjunction.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let (a, b) = (a.min(b), a.max(b));
            for (x, y) in [(a, b), (b, a)] {
                match self.value(x) {
                    Some(value) if value.is_true() => return y,
                    Some(_) => return x,
                    None => {}
                }
            }
            if a == b {
                return a;
            }
            if self.is_negation(a, b) {
                return self.bool(false);
            }
            return self.intern(Node::Binary(Op::And, a, b), Sort::Bool);
        }
        self.plain_binary(Op::And, a, b, Sort::Bool)
    }

    /// Disjunction.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let (not_a, not_b) = (self.not(a), self.not(b));
            let neither = self.and(not_a, not_b);
            return match self.node(neither) {
                Node::Binary(Op::And, ..) => self.intern(Node::Binary(Op::Or, a.min(b), a.max(b)), Sort::Bool),
                _ => self.not(neither),
            };
        }
        self.plain_binary(Op::Or, a, b, Sort::Bool)
    }

    /// Conjunction of all.
    pub fn all(&mut self, of: impl IntoIterator<Item = Term>) -> Term {
        let start = self.bool(true);
        of.into_iter().fold(start, |all, term| self.and(all, term))
    }

    /// Disjunction of all.
    pub fn any(&mut self, of: impl IntoIterator<Item = Term>) -> Term {
        let start = self.bool(false);
        of.into_iter().fold(start, |any, term| self.or(any, term))
    }

    /// Implication.
    pub fn implies(&mut self, a: Term, b: Term) -> Term {
        let not_a = self.not(a);
        self.or(not_a, b)
    }

    /// `if condition then a else b`.
    pub fn ite(&mut self, condition: Term, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        assert_eq!(sort, self.sort(b), "the arms of an ite");
        if !self.simplifies() {
            return self.intern(Node::Ternary(Op::Ite, condition, a, b), sort);
        }
        if a == b {
            return a;
        }
        match self.node(condition) {
            Node::Const(value) => return if value.is_true() { a } else { b },
            Node::Unary(Op::Not, inner) => return self.ite(inner, b, a),
            _ => {}
        }
        if sort == Sort::Bool {
            let then = self.implies(condition, a);
            let otherwise = self.or(condition, b);
            return self.and(then, otherwise);
        }
        self.intern(Node::Ternary(Op::Ite, condition, a, b), sort)
    }

    /// Equality.
    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        if !self.simplifies() {
            return self.plain_binary(Op::Eq, a, b, Sort::Bool);
        }
        if a == b {
            return self.bool(true);
        }
        match self.sort(a) {
            Sort::Bool => self.eq_bool(a, b),
            Sort::Bits(_) => self.eq_bits(a, b),
        }
    }

    fn eq_bool(&mut self, a: Term, b: Term) -> Term {
        for (x, y) in [(a, b), (b, a)] {
            match self.value(x) {
                Some(value) if value.is_true() => return y,
                Some(_) => return self.not(y),
                None => {}
            }
        }
        self.plain_binary(Op::Eq, a.min(b), a.max(b), Sort::Bool)
    }

    /// Decides by the difference of both sides; what is left of it goes to the side where its sign is positive.
    fn eq_bits(&mut self, a: Term, b: Term) -> Term {
        let difference = self.linear(a).plus(&self.linear(b).negated());
        match difference.parts[..] {
            [] => return self.bool(difference.constant.is_zero()),
            [(term, factor)] if factor.unsigned() & 1 == 1 => {
                let value = difference.constant.neg().mul(inverse(factor));
                return self.eq_constant(term, value);
            }
            _ => {}
        }
        let zero = Bits::new(difference.constant.width(), 0);
        let (left, right) = difference.parts.into_iter().partition(|(_, factor)| factor.signed() >= 0);
        let left = self.sum(&Linear { constant: zero, parts: left });
        let right = self.sum(&Linear { constant: difference.constant, parts: right }.negated());
        if let (Node::Unary(op, x), Node::Unary(other, y)) = (self.node(left), self.node(right))
            && op == other
            && matches!(op, Op::ZeroExtend | Op::SignExtend)
            && self.sort(x) == self.sort(y)
        {
            return self.eq(x, y);
        }
        self.intern(Node::Binary(Op::Eq, left.min(right), left.max(right)), Sort::Bool)
    }

    fn eq_constant(&mut self, term: Term, value: Bits) -> Term {
        match self.node(term) {
            Node::Ternary(_, condition, a, b) => {
                if let (Some(x), Some(y)) = (self.bits(a), self.bits(b)) {
                    return match (x == value, y == value) {
                        (true, _) => condition,
                        (_, true) => self.not(condition),
                        _ => self.bool(false),
                    };
                }
            }
            Node::Unary(op @ (Op::ZeroExtend | Op::SignExtend), inner) => {
                let width = self.width(inner);
                let cut = value.extract(0, width);
                let fits =
                    if op == Op::ZeroExtend { cut.zero_extend(value.width()) } else { cut.sign_extend(value.width()) };
                if fits != value {
                    return self.bool(false);
                }
                let cut = self.constant(cut);
                return self.eq(inner, cut);
            }
            Node::Binary(Op::BitXor, a, b) => {
                if let Some(mask) = self.bits(a) {
                    return self.eq_constant(b, value.xor(mask));
                }
                if value.is_zero() {
                    return self.eq(a, b);
                }
            }
            _ => {}
        }
        let value = self.constant(value);
        self.plain_binary(Op::Eq, term.min(value), term.max(value), Sort::Bool)
    }

    /// Inequality.
    pub fn ne(&mut self, a: Term, b: Term) -> Term {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    /// Unsigned less than.
    pub fn ult(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let width = self.width(a);
            let zero = self.number(width, 0);
            let ones = self.constant(Bits::ones(width));
            if a == b || b == zero || a == ones {
                return self.bool(false);
            }
            if a == zero || b == ones {
                return self.ne(a, b);
            }
            if self.bits(b).is_some_and(|b| b.unsigned() == 1) {
                return self.eq(a, zero);
            }
            if let (Node::Unary(Op::ZeroExtend, x), Node::Unary(Op::ZeroExtend, y)) = (self.node(a), self.node(b))
                && self.sort(x) == self.sort(y)
            {
                return self.ult(x, y);
            }
        }
        self.plain_binary(Op::Ult, a, b, Sort::Bool)
    }

    /// Unsigned less or equal.
    pub fn ule(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let less = self.ult(b, a);
            return self.not(less);
        }
        self.plain_binary(Op::Ule, a, b, Sort::Bool)
    }

    /// Signed less than.
    pub fn slt(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let width = self.width(a);
            let least = self.constant(Bits::sign_bit(width));
            let most = self.constant(Bits::sign_bit(width).not());
            if a == b || b == least || a == most {
                return self.bool(false);
            }
            if a == least || b == most {
                return self.ne(a, b);
            }
            if let (Node::Unary(Op::SignExtend, x), Node::Unary(Op::SignExtend, y)) = (self.node(a), self.node(b))
                && self.sort(x) == self.sort(y)
            {
                return self.slt(x, y);
            }
        }
        self.plain_binary(Op::Slt, a, b, Sort::Bool)
    }

    /// Signed less or equal.
    pub fn sle(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let less = self.slt(b, a);
            return self.not(less);
        }
        self.plain_binary(Op::Sle, a, b, Sort::Bool)
    }

    /// Sum.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let sum = self.linear(a).plus(&self.linear(b));
            return self.sum(&sum);
        }
        self.plain_binary(Op::Add, a, b, self.sort(a))
    }

    /// Difference.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let minus = self.neg(b);
        self.add(a, minus)
    }

    /// Two's complement.
    pub fn neg(&mut self, a: Term) -> Term {
        if self.simplifies() {
            let negated = self.linear(a).negated();
            return self.sum(&negated);
        }
        self.plain_unary(Op::Neg, a, self.sort(a))
    }

    /// Bitwise complement.
    pub fn bit_not(&mut self, a: Term) -> Term {
        if self.simplifies() {
            let mut negated = self.linear(a).negated();
            negated.constant = negated.constant.add(Bits::ones(self.width(a)));
            return self.sum(&negated);
        }
        self.plain_unary(Op::BitNot, a, self.sort(a))
    }

    /// Product.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        if !self.simplifies() {
            return self.plain_binary(Op::Mul, a, b, self.sort(a));
        }
        let (left, right) = (self.linear(a), self.linear(b));
        for (constant, sum) in [(&left, &right), (&right, &left)] {
            if constant.parts.is_empty() {
                let product = sum.clone().times(constant.constant);
                return self.sum(&product);
            }
        }
        // Coefficients and shifts move outside, so that products of the same factors are one term.
        if let ([(x, m)], [(y, n)]) = (&left.parts[..], &right.parts[..])
            && left.constant.is_zero()
            && right.constant.is_zero()
        {
            let product = self.product(*x, *y);
            let scaled = self.linear(product).times(m.mul(*n));
            return self.sum(&scaled);
        }
        self.product(a, b)
    }

    /// A product of terms without coefficients: `(x << k) * y` is `(x * y) << k`, and factors ascend.
    fn product(&mut self, a: Term, b: Term) -> Term {
        for (x, y) in [(a, b), (b, a)] {
            if let Node::Binary(Op::Shl, base, by) = self.node(x)
                && self.bits(by).is_none()
            {
                let inner = self.mul(base, y);
                return self.shl(inner, by);
            }
        }
        let mut factors = self.factors(a);
        factors.extend(self.factors(b));
        factors.sort_unstable();
        let sort = self.sort(a);
        let product =
            factors.into_iter().reduce(|product, factor| self.intern(Node::Binary(Op::Mul, product, factor), sort));
        product.expect("a product has factors")
    }

    fn factors(&self, product: Term) -> Vec<Term> {
        let mut factors = Vec::new();
        let mut rest = product;
        while let Node::Binary(Op::Mul, a, b) = self.node(rest)
            && factors.len() < 16
        {
            factors.push(b);
            rest = a;
        }
        factors.push(rest);
        factors
    }

    /// Unsigned quotient.
    pub fn udiv(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let width = self.width(a);
            if let Some(by) = self.bits(b).and_then(Bits::power_of_two) {
                let by = self.number(width, u128::from(by));
                return self.lshr(a, by);
            }
            if let Some(by) = self.symbolic_power(b) {
                // A power that is shifted out is zero.
                let limit = self.number(width, u128::from(width));
                let small = self.ult(by, limit);
                let shifted = self.lshr(a, by);
                let ones = self.constant(Bits::ones(width));
                return self.ite(small, shifted, ones);
            }
        }
        self.plain_binary(Op::Udiv, a, b, self.sort(a))
    }

    /// The `k` of `1 << k`.
    fn symbolic_power(&self, term: Term) -> Option<Term> {
        match self.node(term) {
            Node::Binary(Op::Shl, one, by) if self.bits(one).is_some_and(|one| one.unsigned() == 1) => Some(by),
            _ => None,
        }
    }

    /// Unsigned remainder.
    pub fn urem(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(bits) = self.bits(b)
            && bits.power_of_two().is_some()
        {
            let mask = self.constant(bits.add(Bits::ones(bits.width())));
            return self.bit_and(a, mask);
        }
        self.plain_binary(Op::Urem, a, b, self.sort(a))
    }

    /// Signed quotient.
    pub fn sdiv(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(by) = self.bits(b)
        {
            if let Some(shift) = by.power_of_two().filter(|&shift| shift + 1 < by.width()) {
                return self.divide_by_power(a, shift);
            }
            if by.neg().power_of_two().is_some_and(|shift| shift + 1 < by.width()) {
                let positive = self.constant(by.neg());
                let quotient = self.sdiv(a, positive);
                return self.neg(quotient);
            }
        }
        self.plain_binary(Op::Sdiv, a, b, self.sort(a))
    }

    /// `a / 2^shift`, rounded to zero: negative dividends get `2^shift - 1` added before the shift.
    fn divide_by_power(&mut self, a: Term, shift: u32) -> Term {
        if shift == 0 {
            return a;
        }
        let width = self.width(a);
        let [sign, rest, by] = [width - 1, width - shift, shift].map(|k| self.number(width, u128::from(k)));
        let signs = self.ashr(a, sign);
        let bias = self.lshr(signs, rest);
        let biased = self.add(a, bias);
        self.ashr(biased, by)
    }

    /// Signed remainder.
    pub fn srem(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(by) = self.bits(b)
            && [by, by.neg()].iter().any(|by| by.power_of_two().is_some_and(|shift| shift + 1 < by.width()))
        {
            let quotient = self.sdiv(a, b);
            let product = self.mul(quotient, b);
            return self.sub(a, product);
        }
        self.plain_binary(Op::Srem, a, b, self.sort(a))
    }

    /// Shift left.
    pub fn shl(&mut self, a: Term, by: Term) -> Term {
        if !self.simplifies() {
            return self.plain_binary(Op::Shl, a, by, self.sort(a));
        }
        if let Some(amount) = self.bits(by) {
            if let Node::Binary(Op::Lshr | Op::Ashr, inner, back) = self.node(a)
                && back == by
            {
                let mask = self.constant(Bits::ones(amount.width()).shl(amount));
                return self.bit_and(inner, mask);
            }
            let power = Bits::new(amount.width(), 1).shl(amount);
            let scaled = self.linear(a).times(power);
            return self.sum(&scaled);
        }
        match self.node(a) {
            Node::Const(Value::Bits(bits)) if bits.is_zero() => a,
            // The order of two shifts left does not matter: the constant one goes outside.
            Node::Binary(Op::Shl, inner, first) if self.bits(first).is_some() => {
                let shifted = self.shl(inner, by);
                self.shl(shifted, first)
            }
            Node::Binary(Op::Shl, inner, first) => self.shift_twice(Op::Shl, inner, first, by),
            _ => self.intern(Node::Binary(Op::Shl, a, by), self.sort(a)),
        }
    }

    /// Logical shift right.
    pub fn lshr(&mut self, a: Term, by: Term) -> Term {
        if self.simplifies()
            && let Some(amount) = self.bits(by)
        {
            if amount.is_zero() {
                return a;
            }
            let width = amount.width();
            if amount.unsigned() >= u128::from(width) {
                return self.number(width, 0);
            }
            match self.node(a) {
                Node::Binary(Op::Lshr, inner, first) => {
                    if let Some(first) = self.bits(first)
                        && let Some(total) = first.unsigned().checked_add(amount.unsigned())
                    {
                        return self.lshr_by(inner, total);
                    }
                }
                Node::Binary(Op::Shl, inner, first) if first == by => {
                    let mask = self.constant(Bits::ones(width).lshr(amount));
                    return self.bit_and(inner, mask);
                }
                _ => {}
            }
        }
        self.shift_right(Op::Lshr, a, by)
    }

    /// A logical shift by an amount that may not fit the width.
    fn lshr_by(&mut self, a: Term, amount: u128) -> Term {
        let width = self.width(a);
        if amount >= u128::from(width) {
            return self.number(width, 0);
        }
        let by = self.number(width, amount);
        self.lshr(a, by)
    }

    /// Arithmetic shift right.
    pub fn ashr(&mut self, a: Term, by: Term) -> Term {
        if self.simplifies()
            && let Some(amount) = self.bits(by)
        {
            let width = amount.width();
            if amount.is_zero() || width == 1 {
                return a;
            }
            if amount.unsigned() >= u128::from(width) {
                let most = self.number(width, u128::from(width - 1));
                return self.ashr(a, most);
            }
            if let Node::Binary(Op::Ashr, inner, first) = self.node(a)
                && let Some(first) = self.bits(first)
            {
                let total = (first.unsigned() + amount.unsigned()).min(u128::from(width - 1));
                let by = self.number(width, total);
                return self.ashr(inner, by);
            }
        }
        self.shift_right(Op::Ashr, a, by)
    }

    fn shift_right(&mut self, op: Op, a: Term, by: Term) -> Term {
        if self.simplifies() {
            if self.bits(a).is_some_and(Bits::is_zero) {
                return a;
            }
            if let Node::Binary(inner_op, inner, first) = self.node(a)
                && inner_op == op
                && self.bits(first).is_none()
                && self.bits(by).is_none()
            {
                return self.shift_twice(op, inner, first, by);
            }
        }
        self.plain_binary(op, a, by, self.sort(a))
    }

    /// Two shifts of one kind shift by the sum. A sum that wraps has a part of at least 2^(width - 1), and so of at least
    /// the width.
    fn shift_twice(&mut self, op: Op, a: Term, first: Term, second: Term) -> Term {
        let width = self.width(a);
        let sum = self.add(first, second);
        let wraps = self.ult(sum, first);
        let by_sum = self.binary(op, a, sum);
        let most = self.number(width, u128::from(width));
        let by_all = self.binary(op, a, most);
        self.ite(wraps, by_all, by_sum)
    }

    /// Bitwise and.
    pub fn bit_and(&mut self, a: Term, b: Term) -> Term {
        self.bitwise(Op::BitAnd, a, b)
    }

    /// Bitwise or.
    pub fn bit_or(&mut self, a: Term, b: Term) -> Term {
        self.bitwise(Op::BitOr, a, b)
    }

    /// Bitwise exclusive or.
    pub fn bit_xor(&mut self, a: Term, b: Term) -> Term {
        self.bitwise(Op::BitXor, a, b)
    }

    fn bitwise(&mut self, op: Op, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        if !self.simplifies() || (self.bits(a).is_some() && self.bits(b).is_some()) {
            return self.plain_binary(op, a, b, sort);
        }
        // The constant first, else ascending.
        let (a, b) = if self.bits(a).is_some() || (self.bits(b).is_none() && a < b) { (a, b) } else { (b, a) };
        if a == b {
            return if op == Op::BitXor { self.number(self.width(a), 0) } else { a };
        }
        if let Some(mask) = self.bits(a) {
            return self.masked(op, mask, b);
        }
        if let (Node::Binary(x, left, by), Node::Binary(y, right, other)) = (self.node(a), self.node(b))
            && (x, by) == (y, other)
            && matches!(x, Op::Shl | Op::Lshr | Op::Ashr)
        {
            let inner = self.bitwise(op, left, right);
            return self.binary(x, inner, by);
        }
        let (not_a, not_b) = (self.bit_not(a), self.bit_not(b));
        if not_a == b || not_b == a {
            return match op {
                Op::BitAnd => self.number(self.width(a), 0),
                _ => self.constant(Bits::ones(self.width(a))),
            };
        }
        self.intern(Node::Binary(op, a, b), sort)
    }

    fn masked(&mut self, op: Op, mask: Bits, b: Term) -> Term {
        match op {
            Op::BitAnd if mask.is_zero() => return self.constant(mask),
            Op::BitAnd if mask.is_ones() => return b,
            Op::BitOr if mask.is_zero() => return b,
            Op::BitOr if mask.is_ones() => return self.constant(mask),
            Op::BitXor if mask.is_zero() => return b,
            Op::BitXor if mask.is_ones() => return self.bit_not(b),
            _ => {}
        }
        if let Node::Binary(inner, first, rest) = self.node(b)
            && inner == op
            && let Some(first) = self.bits(first)
        {
            let both = match op {
                Op::BitAnd => first.and(mask),
                Op::BitOr => first.or(mask),
                _ => first.xor(mask),
            };
            let both = self.constant(both);
            return self.bitwise(op, both, rest);
        }
        let mask = self.constant(mask);
        self.intern(Node::Binary(op, mask, b), self.sort(b))
    }

    /// `high` above `low`.
    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        let sort = Sort::Bits(self.width(high) + self.width(low));
        self.plain_binary(Op::Concat, high, low, sort)
    }

    /// The `width` bits from bit `low` up.
    pub fn extract(&mut self, a: Term, low: u32, width: u32) -> Term {
        let all = self.width(a);
        assert!(low + width <= all, "bits {low} to {} of {all}", low + width);
        if self.simplifies() {
            if width == all {
                return a;
            }
            match self.node(a) {
                Node::Unary(Op::Extract { low: first }, inner) => return self.extract(inner, first + low, width),
                Node::Unary(Op::ZeroExtend | Op::SignExtend, inner) if low + width <= self.width(inner) => {
                    return self.extract(inner, low, width);
                }
                Node::Unary(Op::ZeroExtend, inner) if low >= self.width(inner) => return self.number(width, 0),
                Node::Unary(op @ (Op::ZeroExtend | Op::SignExtend), inner) if low == 0 => {
                    return self.unary(op, inner, Sort::Bits(width));
                }
                Node::Binary(Op::Concat, _, b) if low + width <= self.width(b) => return self.extract(b, low, width),
                Node::Binary(Op::Concat, high, b) if low >= self.width(b) => {
                    return self.extract(high, low - self.width(b), width);
                }
                _ => {}
            }
        }
        self.plain_unary(Op::Extract { low }, a, Sort::Bits(width))
    }

    /// Zero extension to `width` bits, or the term itself if it has them.
    pub fn zero_extend(&mut self, a: Term, width: u32) -> Term {
        assert!(width >= self.width(a), "an extension to fewer bits");
        if width == self.width(a) {
            return a;
        }
        match self.node(a) {
            Node::Unary(Op::ZeroExtend, inner) if self.simplifies() => self.zero_extend(inner, width),
            _ => self.plain_unary(Op::ZeroExtend, a, Sort::Bits(width)),
        }
    }

    /// Sign extension to `width` bits, or the term itself if it has them.
    pub fn sign_extend(&mut self, a: Term, width: u32) -> Term {
        assert!(width >= self.width(a), "an extension to fewer bits");
        if width == self.width(a) {
            return a;
        }
        match self.node(a) {
            Node::Unary(Op::SignExtend, inner) if self.simplifies() => self.sign_extend(inner, width),
            Node::Unary(Op::ZeroExtend, inner) if self.simplifies() => self.zero_extend(inner, width),
            _ => self.plain_unary(Op::SignExtend, a, Sort::Bits(width)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Evaluator, Model};

    /// A small generator (Marsaglia, Xorshift RNGs, 2003).
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as usize % limit
        }
    }

    const BINARY: [Op; 13] = [
        Op::Add,
        Op::Mul,
        Op::Udiv,
        Op::Urem,
        Op::Sdiv,
        Op::Srem,
        Op::Shl,
        Op::Lshr,
        Op::Ashr,
        Op::BitAnd,
        Op::BitOr,
        Op::BitXor,
        Op::Add,
    ];
    const COMPARE: [Op; 5] = [Op::Eq, Op::Ult, Op::Ule, Op::Slt, Op::Sle];

    /// One step of a random term, the same in both arenas.
    fn step(random: &mut Random, arenas: &mut [Terms; 2], pool: &mut Vec<[Term; 2]>, width: u32) {
        let [a, b, c] = [0; 3].map(|_| pool[random.below(pool.len())]);
        let choice = random.below(24);
        let (value, inner) = (random.below(1 << width.min(10)) as u128, 1 + random.below(width as usize) as u32);
        let (op, compare) = (BINARY[random.below(BINARY.len())], COMPARE[random.below(COMPARE.len())]);
        let build = |i: usize, terms: &mut Terms| match choice {
            0..=2 => terms.constant(Bits::signed_new(width, value as i128 - 3)),
            3 => terms.neg(a[i]),
            4 => terms.bit_not(a[i]),
            5 => {
                let cut = terms.extract(a[i], width - inner, inner);
                terms.zero_extend(cut, width)
            }
            6 => {
                let cut = terms.extract(a[i], 0, inner);
                terms.sign_extend(cut, width)
            }
            7 => {
                let both = terms.concat(a[i], b[i]);
                terms.extract(both, inner, width)
            }
            8..=11 => {
                let condition = terms.binary(compare, a[i], b[i]);
                let other = terms.binary(compare, b[i], c[i]);
                let not = terms.not(other);
                let either = terms.or(condition, not);
                let equal = terms.eq(other, condition);
                let both = terms.and(either, equal);
                terms.ite(both, a[i], c[i])
            }
            12..=13 => {
                let one = terms.number(width, 1);
                let power = terms.shl(one, b[i]);
                terms.binary(op, a[i], power)
            }
            14..=15 => {
                let small = terms.number(width, value % u128::from(width + 1));
                terms.binary(op, a[i], small)
            }
            _ => terms.binary(op, a[i], b[i]),
        };
        let [simple, raw] = arenas;
        pool.push([build(0, simple), build(1, raw)]);
    }

    #[test]
    fn simplified_terms_have_the_value_of_raw_ones() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for case in 0..450 {
            let width = [1, 2, 3, 4, 5, 8, 13, 33, 64][case % 9];
            let mut arenas = [Terms::new(), Terms::raw()];
            let mut pool: Vec<[Term; 2]> = ["x", "y", "z"]
                .map(|name| [arenas[0].var(name, Sort::Bits(width)), arenas[1].var(name, Sort::Bits(width))])
                .to_vec();
            for _ in 0..20 {
                step(&mut random, &mut arenas, &mut pool, width);
            }
            for _ in 0..8 {
                let mut model = Model::default();
                for name in ["x", "y", "z"] {
                    let value = Bits::signed_new(width, random.below(1 << 12) as i128 - 8);
                    let value = if random.below(2) == 0 { value } else { value.mul(value).mul(value) };
                    model.set(name, Value::Bits(value));
                }
                let [simple, raw] = [0, 1].map(|i| {
                    let roots: Vec<Term> = pool.iter().map(|pair| pair[i]).collect();
                    Evaluator::new(&arenas[i], &roots, &model)
                });
                for pair in &pool {
                    assert_eq!(
                        simple.value(pair[0]),
                        raw.value(pair[1]),
                        "{:?} for {model:?}",
                        arenas[1].node(pair[1])
                    );
                }
            }
        }
    }
}
