//! Constructors. Each folds constants, and rewrites its operation to a normal form with an equal value under every
//! model. A test compares them with an arena that rewrites nothing.
//!
//! Normal forms: sums as in `linear.rs`; products with the constant first and shifts outside; `<=` as a negated
//! `<`; operands of commutative operations in ascending order; shifts by equal amounts outside of bitwise
//! operations.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | constants, operations by their name, nodes that are only folded |
//! | `kept.rs` | constructors whose results are kept |
//! | `logic.rs` | booleans and choices |
//! | `compare.rs` | equality and order |
//! | `arithmetic.rs` | sums, products, quotients, remainders |
//! | `bitwise.rs` | shifts and operations on bits |
//! | `width.rs` | concatenation, extraction, extension |
//! | `float_order.rs` | order of floats |
//! | `float_code.rs` | further normal forms for floats, for machine code |
//! | `count.rs` | operations composed of others: rotations, counts and orders of bits |
//! | `code.rs` | further normal forms, for machine code |
//! | `choice.rs` | choices among them |
//! | `extended.rs` | extensions among them |
//! | `order.rs` | comparisons among them |
//! | `wide.rs` | terms of 128 bits among them |
//! | `multiples.rs` | sums of multiples of a power of two among them |
//! | `code_tests.rs` | their tests |

mod arithmetic;
mod bitwise;
mod choice;
mod code;
#[cfg(test)]
mod code_tests;
mod compare;
mod count;
mod extended;
mod float_code;
mod float_order;
mod kept;
mod logic;
mod multiples;
mod order;
mod wide;
mod width;

pub use float_order::Relation;

use crate::bits::{Bits, Sort, Value};
use crate::evaluate::apply;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns a bit-vector constant.
    pub fn constant(&mut self, bits: Bits) -> Term {
        self.intern(Node::Const(Value::Bits(bits)), Sort::Bits(bits.width()))
    }

    /// Returns the constant `value` modulo 2^`width`.
    pub fn number(&mut self, width: u32, value: u128) -> Term {
        self.constant(Bits::new(width, value))
    }

    /// Returns the constant `true` or `false`.
    pub fn bool(&mut self, value: bool) -> Term {
        self.intern(Node::Const(Value::Bool(value)), Sort::Bool)
    }

    /// Returns the constant of a value.
    pub fn constant_of(&mut self, value: Value) -> Term {
        self.intern(Node::Const(value), value.sort())
    }

    /// Returns an operation of one operand, with a result of sort `sort`.
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

    /// Returns an operation of two operands.
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

    /// Returns an operation of three operands.
    pub fn ternary(&mut self, op: Op, a: Term, b: Term, c: Term) -> Term {
        match op {
            Op::Ite => self.ite(a, b, c),
            Op::Float(op) => self.float(op, &[a, b, c], self.width(a)),
            _ => panic!("{op:?} of three operands"),
        }
    }

    /// Returns the operation as a node, or the constant that it folds to.
    fn plain_unary(&mut self, op: Op, a: Term, sort: Sort) -> Term {
        match self.value(a) {
            Some(value) if self.simplifies() => self.constant_of(apply(op, sort, &[value])),
            _ => self.intern(Node::Unary(op, a), sort),
        }
    }

    /// Returns the operation as a node, or the constant that it folds to.
    fn plain_binary(&mut self, op: Op, a: Term, b: Term, sort: Sort) -> Term {
        assert!(op == Op::Concat || self.sort(a) == self.sort(b), "{op:?} of two sorts");
        match (self.value(a), self.value(b)) {
            (Some(x), Some(y)) if self.simplifies() => self.constant_of(apply(op, sort, &[x, y])),
            _ => self.intern(Node::Binary(op, a, b), sort),
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

    /// Adds a random term to both arenas.
    fn step(random: &mut Random, arenas: &mut [Terms; 2], pool: &mut Vec<[Term; 2]>, width: u32) {
        let [a, b, c] = [0; 3].map(|_| pool[random.below(pool.len())]);
        let choice = random.below(28);
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
            // Fields of fields: shifted, masked and joined.
            24 => {
                let [low, high] = [(a[i], 0, inner), (b[i], width - inner, inner)]
                    .map(|(x, from, count)| terms.extract(x, from, count));
                let wide = terms.concat(low, high);
                let cut = terms.extract(wide, inner / 2, inner);
                terms.sign_extend(cut, width)
            }
            25 => {
                let mask = terms
                    .constant(Bits::ones(inner).zero_extend(width).shl(Bits::new(width, value % u128::from(width))));
                terms.bit_and(a[i], mask)
            }
            26 => {
                let (up, down) = (terms.number(width, u128::from(width - inner)), terms.number(width, inner.into()));
                let (high, low) = (terms.shl(a[i], down), terms.lshr(b[i], up));
                terms.bit_or(high, low)
            }
            27 => {
                let bound = terms.number(width, value);
                let (less, equal) = (terms.binary(compare, bound, a[i]), terms.eq(a[i], bound));
                let differ = terms.not(equal);
                let both = terms.and(less, differ);
                terms.ite(both, a[i], b[i])
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
        compare_with_raw(Terms::new);
    }

    #[test]
    fn terms_of_code_have_the_value_of_raw_ones() {
        compare_with_raw(Terms::for_code);
    }

    fn compare_with_raw(arena: fn() -> Terms) {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for case in 0..450 {
            let width = [1, 2, 3, 4, 5, 8, 13, 33, 64][case % 9];
            let mut arenas = [arena(), Terms::raw()];
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
