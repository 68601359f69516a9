//! Tests of the normal forms of machine code: random terms have the values of the same terms without simplification.

use crate::bits::{Bits, Sort, Value};
use crate::evaluate::{Evaluator, Model};
use crate::float_op::FloatOp;
use crate::term::{Node, Op, Term, Terms};

/// Random numbers. Equal seeds give equal terms in every arena.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % count
    }

    fn bits(&mut self, terms: &mut Terms, width: u32, depth: u32) -> Term {
        let choice = self.below(if depth == 0 { 2 } else { 16 });
        match choice {
            0 => {
                let number = [0, 1, 2, 4, 7, 0xff, 0xf0, u128::MAX][self.below(8) as usize];
                terms.constant(Bits::new(width, number))
            }
            1 => terms.var(&format!("{}:{width}", self.below(2)), Sort::Bits(width)),
            2 | 3 if width > 8 => {
                let inner = self.bits(terms, width / 2, depth - 1);
                if choice == 2 { terms.zero_extend(inner, width) } else { terms.sign_extend(inner, width) }
            }
            4 | 5 if width < 32 => {
                let inner = self.bits(terms, 2 * width, depth - 1);
                terms.extract(inner, self.below(u64::from(width) + 1) as u32, width)
            }
            6 if width > 8 => {
                let [high, low] = [0, 1].map(|_| self.bits(terms, width / 2, depth - 1));
                terms.concat(high, low)
            }
            7..=9 => {
                let condition = self.bool(terms, depth - 1);
                let [x, y] = [0, 1].map(|_| self.bits(terms, width, depth - 1));
                let one = terms.number(width, 1);
                let next = terms.add(x, one);
                let other = if choice == 7 { next } else { y };
                terms.ite(condition, x, other)
            }
            _ => {
                let ops =
                    [Op::Add, Op::Mul, Op::BitAnd, Op::BitOr, Op::BitXor, Op::Shl, Op::Lshr, Op::Ashr, Op::BitAnd];
                let op = ops[self.below(9) as usize];
                let [x, y] = [0, 1].map(|_| self.bits(terms, width, depth - 1));
                terms.binary(op, x, y)
            }
        }
    }

    fn bool(&mut self, terms: &mut Terms, depth: u32) -> Term {
        let width = [8, 16, 32][self.below(3) as usize];
        let [x, y] = [0, 1].map(|_| self.bits(terms, width, depth.saturating_sub(1)));
        match self.below(3) {
            0 => terms.eq(x, y),
            1 => terms.ult(x, y),
            _ => terms.slt(x, y),
        }
    }
}

#[test]
fn normal_forms_have_the_values_of_their_spellings() {
    for seed in 0..20_000 {
        let (mut terms, mut raw) = (Terms::for_code(), Terms::raw());
        let width = [8, 16, 32][seed as usize % 3];
        let normal = Random(seed).bits(&mut terms, width, 4);
        let plain = Random(seed).bits(&mut raw, width, 4);
        let mut random = Random(seed ^ 0xffff);
        for _ in 0..4 {
            let mut model = Model::default();
            for (number, width) in (0..2).flat_map(|number| [8, 16, 32].map(|width| (number, width))) {
                let any = random.below(1 << 31) << random.below(2) | random.below(4);
                model.set(&format!("{number}:{width}"), Value::Bits(Bits::new(width, any.into())));
            }
            let values = [(&terms, normal), (&raw, plain)]
                .map(|(terms, term)| Evaluator::new(terms, &[term], &model).value(term));
            assert_eq!(values[0], values[1], "seed {seed}");
        }
    }
}

/// Compares the normal forms of spellings of one value.
#[test]
fn spellings_have_one_form() {
    let mut terms = Terms::for_code();
    let x = terms.var("x", Sort::Bits(64));
    let square = terms.mul(x, x);
    let two = terms.number(64, 2);
    let whole = terms.bit_and(square, two);
    let low = terms.extract(square, 0, 32);
    let two = terms.number(32, 2);
    let narrow = terms.bit_and(low, two);
    let narrow = terms.zero_extend(narrow, 64);
    assert_eq!(whole, narrow, "{:?} {:?}", terms.node(whole), terms.node(narrow));

    let [y, z] = ["y", "z"].map(|name| terms.var(name, Sort::Bits(32)));
    let is_less = terms.ult(y, z);
    let [zero, one] = [0, 1].map(|number| terms.number(32, number));
    let flag = terms.ite(is_less, one, zero);
    let sum = terms.add(y, flag);
    let next = terms.add(y, one);
    assert_eq!(terms.ite(is_less, next, y), sum);

    let is_zero = terms.eq(z, zero);
    let other = terms.ite(is_zero, one, zero);
    let either = terms.or(is_less, is_zero);
    let either = terms.ite(either, one, zero);
    assert_eq!(terms.bit_or(flag, other), either);

    let seven = terms.number(32, 7);
    for (less, at) in [(Terms::ult as fn(&mut Terms, Term, Term) -> Term, 7), (Terms::slt, 7), (Terms::slt, u32::MAX)] {
        let limit = terms.number(32, at.into());
        let (is_below, is_above) = (less(&mut terms, y, limit), less(&mut terms, limit, y));
        for width in [5, 32] {
            let (low, bound) = (terms.extract(y, 0, width), terms.extract(limit, 0, width));
            for [constant, bits] in [[bound, low], [low, bound]] {
                let either = terms.ite(is_below, constant, bits);
                assert_eq!(terms.ite(is_above, bits, constant), either);
            }
        }
        let other = terms.ite(is_below, seven, z);
        assert_ne!(terms.ite(is_above, z, seven), other);
    }

    // A constant above a value, and a sum above it that becomes the constant.
    let value = terms.zero_extend(y, 64);
    for number in [0x3fe6_a09e_u64, 0x8000_0001] {
        let high = terms.number(64, u128::from(number) << 32);
        let joined = terms.bit_or(high, value);
        let number = terms.number(32, number.into());
        assert_eq!(terms.concat(number, y), joined);
    }
    let [high, wide] = [terms.number(16, 3), terms.zero_extend(y, 48)];
    let number = terms.number(32, 3 << 16);
    assert_eq!(terms.concat(high, wide), terms.concat(number, y));
}

/// Compares bounds next to the least and the greatest number, whichever operand of the comparison is the bound.
#[test]
fn bounds_at_the_ends_have_one_form() {
    let mut terms = Terms::for_code();
    let x = terms.var("x", Sort::Bits(4));
    for less in [Terms::ult as fn(&mut Terms, Term, Term) -> Term, Terms::slt] {
        for number in 0..16 {
            let bound = terms.number(4, number);
            let (is_below, is_above) = (less(&mut terms, x, bound), less(&mut terms, bound, x));
            let greater = [terms.ite(is_below, bound, x), terms.ite(is_above, x, bound)];
            let smaller = [terms.ite(is_below, x, bound), terms.ite(is_above, bound, x)];
            assert_eq!((greater[0], smaller[0]), (greater[1], smaller[1]), "{number}");
            for value in 0..16 {
                let mut model = Model::default();
                model.set("x", Value::Bits(Bits::new(4, value)));
                let evaluator = Evaluator::new(&terms, &[greater[0], smaller[0], is_below], &model);
                let is_below = evaluator.value(is_below).is_true();
                let (greater, smaller) = (evaluator.value(greater[0]).bits(), evaluator.value(smaller[0]).bits());
                let [number, value] = [number, value].map(|number| Some(Bits::new(4, number)));
                assert_eq!((greater, smaller), if is_below { (number, value) } else { (value, number) });
            }
        }
    }
}

/// Compares counts of zeros with the choices of code, which has another number where there is no set bit.
#[test]
fn counts_of_sums_have_one_form() {
    let mut terms = Terms::for_code();
    let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(32)));
    let n = terms.var("n", Sort::Bits(5));
    let [zero, one, seven, most, width, minus_one] =
        [0, 1, 7, 31, 32, u128::MAX].map(|number| terms.number(32, number));
    let amount = terms.zero_extend(n, 32);
    let (sum, power) = (terms.add(x, seven), terms.shl(one, amount));
    for source in [x, sum, terms.sub(x, y), terms.add(sum, y), terms.sub(sum, power)] {
        let (leading, trailing) = (terms.leading_zeros(source), terms.trailing_zeros(source));
        let (none, highest) = (terms.eq(source, zero), terms.sub(most, leading));
        let highest = terms.ite(none, minus_one, highest);
        assert_eq!(terms.sub(most, highest), leading);
        assert_eq!(terms.ite(none, width, trailing), trailing);
        assert_ne!(terms.ite(none, most, trailing), trailing);
    }
}

/// Compares counts of zeros of narrow numbers with counts of wider ones, which code has.
#[test]
fn counts_of_narrow_numbers_have_one_form() {
    for width in [8, 16] {
        let mut terms = Terms::for_code();
        let x = terms.var("x", Sort::Bits(width));
        let sign = terms.extract(x, width - 1, 1);
        let [signs, wide_sign] = [width, 32].map(|width| terms.sign_extend(sign, width));
        let (wide, signed) = (terms.zero_extend(x, 32), terms.sign_extend(x, 32));
        let (differing, wide_differing) = (terms.bit_xor(x, signs), terms.bit_xor(signed, wide_sign));
        let (leading, above) = (terms.leading_zeros(wide), terms.number(32, u128::from(32 - width)));
        let (guard, signs) = (terms.number(32, 1 << width), terms.leading_zeros(wide_differing));
        let guarded = terms.bit_or(guard, wide);
        let trailing = terms.trailing_zeros(guarded);
        let counts = [terms.sub(leading, above), terms.sub(signs, above), trailing];
        let expected = [terms.leading_zeros(x), terms.leading_zeros(differing), terms.trailing_zeros(x)];
        assert_eq!(counts, expected.map(|count| terms.zero_extend(count, 32)));
        for bits in 0..1 << width {
            let mut model = Model::default();
            let number = Bits::new(width, bits);
            model.set("x", Value::Bits(number));
            let evaluator = Evaluator::new(&terms, &counts, &model);
            let counted = counts.map(|count| evaluator.value(count).bits().map(|bits| bits.unsigned() as u32));
            let differing = if number.signed() < 0 { number.not() } else { number };
            let leading = [number, differing].map(|number| number.unsigned().leading_zeros() + width - 128);
            assert_eq!(counted, [leading[0], leading[1], number.unsigned().trailing_zeros().min(width)].map(Some));
        }
    }
}

/// Compares the magnitudes of a number and of its negation, and the negated ones.
#[test]
fn magnitudes_have_one_form() {
    for width in [1, 2, 8] {
        let mut terms = Terms::for_code();
        let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(width)));
        let (zero, difference) = (terms.number(width, 0), terms.sub(x, y));
        for number in [x, difference] {
            let minus = terms.neg(number);
            let [is_negative, is_positive] = [number, minus].map(|term| terms.slt(term, zero));
            let (magnitude, same) = (terms.ite(is_negative, minus, number), terms.ite(is_positive, number, minus));
            let (negated, too) = (terms.ite(is_negative, number, minus), terms.ite(is_positive, minus, number));
            assert_eq!((magnitude, negated), (same, too));
            assert!(width == 1 || magnitude != negated);
            for bits in 0..1 << width {
                let mut model = Model::default();
                model.set("x", Value::Bits(Bits::new(width, bits)));
                model.set("y", Value::Bits(Bits::new(width, 3 * bits + 1)));
                let evaluator = Evaluator::new(&terms, &[number, magnitude, negated], &model);
                let of = |term| evaluator.value(term).bits().unwrap();
                let expected = if of(number).signed() < 0 { of(number).neg() } else { of(number) };
                assert_eq!((of(magnitude), of(negated)), (expected, expected.neg()));
            }
        }
    }
}

#[test]
fn a_fused_product_is_no_choice_between_its_operands() {
    let mut terms = Terms::for_code();
    let x = terms.var("x", Sort::Bits(32));
    let [two, three] = [2.0_f32, 3.0].map(|number| terms.number(32, number.to_bits().into()));
    let fused = terms.float(FloatOp::Fma, &[x, two, three], 32);
    let equal = terms.eq(fused, two);
    assert_eq!(terms.node(equal), Node::Binary(Op::Eq, fused.min(two), fused.max(two)));
}

/// Converts the bounds of a saturated integer to floats, where one of two bounds is chosen.
#[test]
fn conversions_of_bounds_are_floats() {
    let mut terms = Terms::for_code();
    let (x, is_inside, is_low) =
        (terms.var("x", Sort::Bits(64)), terms.var("is inside", Sort::Bool), terms.var("is low", Sort::Bool));
    let [low, high] = [Bits::sign_bit(64), Bits::sign_bit(64).not()].map(|bound| terms.constant(bound));
    let bound = terms.ite(is_low, low, high);
    let saturated = terms.ite(is_inside, x, bound);
    let converted = terms.float(FloatOp::FromSigned, &[saturated], 32);
    let [x, low, high] = [x, low, high].map(|integer| terms.float(FloatOp::FromSigned, &[integer], 32));
    let bound = terms.ite(is_low, low, high);
    assert_eq!(converted, terms.ite(is_inside, x, bound));
}
