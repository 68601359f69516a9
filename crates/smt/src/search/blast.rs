//! Terms as circuits.

use super::circuit::{Circuit, FALSE, TRUE, constant};
use super::clauses::Lit;
use crate::bits::{Bits, Sort, Value};
use crate::hash::BuildTermHasher;
use crate::term::{Node, Op, Term, Terms};
use std::collections::HashMap;

/// Maximum number of gates of a search.
const MAX_GATES: usize = 200_000;
/// Number of gates up to which circuits are kept.
const MAX_KEPT: usize = 1 << 20;
/// Maximum number of bits of the partial products of a product that is not free.
const MAX_PRODUCT: usize = 1200;

/// Circuits of terms of one arena. They remain from one search to the next.
#[derive(Default, Debug)]
pub(super) struct Blaster {
    pub(super) circuit: Circuit,
    /// Facts about the terms of the search.
    pub(super) facts: Vec<Lit>,
    /// The bits of each term, the lowest first; one for a boolean.
    bits: HashMap<Term, Vec<Lit>, BuildTermHasher>,
    free_products: Vec<FreeProduct>,
}

/// A product whose bits are free, with its factors.
#[derive(Debug)]
struct FreeProduct {
    factors: [Vec<Lit>; 2],
    bits: Vec<Lit>,
}

impl Blaster {
    /// Defines the terms of a search. Children come before their parents. Returns `false` if there are too many gates.
    pub(super) fn define(&mut self, terms: &Terms, cone: &[Term]) -> bool {
        let most = self.circuit.len() + MAX_GATES;
        for &term in cone {
            if self.bits.contains_key(&term) {
                continue;
            }
            let bits = self.term(terms, term);
            self.bits.insert(term, bits);
            if self.circuit.len() > most {
                return false;
            }
        }
        self.facts.clear();
        self.state_floats(terms, cone);
        true
    }

    /// Returns `true` if the circuits have grown beyond what is kept for the next search.
    pub(super) fn is_large(&self) -> bool {
        self.circuit.len() > MAX_KEPT
    }

    /// Returns the bits of a term, the lowest first.
    pub(super) fn bits_of(&self, term: Term) -> Vec<Lit> {
        self.bits[&term].clone()
    }

    /// Decides whether an assignment makes a boolean true, within a number of conflicts.
    pub(super) fn solve(&mut self, formula: Term, conflicts: u32) -> Option<bool> {
        self.facts.push(self.bits[&formula][0]);
        self.circuit.solve(&self.facts, MAX_GATES, conflicts)
    }

    /// Returns the value of a term under the assignment.
    pub(super) fn value(&self, terms: &Terms, term: Term) -> Value {
        let is_true = |lit: Lit| self.circuit.is_true(lit);
        let bits = &self.bits[&term];
        match terms.sort(term) {
            Sort::Bool => Value::Bool(is_true(bits[0])),
            Sort::Bits(width) => {
                let value = bits.iter().rev().fold(0, |value: u128, &lit| value << 1 | u128::from(is_true(lit)));
                Value::Bits(Bits::new(width, value))
            }
        }
    }

    fn free(&mut self, sort: Sort) -> Vec<Lit> {
        let count = match sort {
            Sort::Bool => 1,
            Sort::Bits(width) => width,
        };
        (0..count).map(|_| self.circuit.input()).collect()
    }

    fn term(&mut self, terms: &Terms, term: Term) -> Vec<Lit> {
        match terms.node(term) {
            Node::Const(Value::Bool(value)) => vec![constant(value)],
            Node::Const(Value::Bits(bits)) => {
                (0..bits.width()).map(|at| constant(bits.unsigned() >> at & 1 == 1)).collect()
            }
            Node::Var(_) => self.free(terms.sort(term)),
            Node::Unary(op, a) => {
                let a = self.bits[&a].clone();
                self.unary(op, a, terms.sort(term))
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.bits[&a].clone(), self.bits[&b].clone());
                self.binary(op, &a, &b, terms.sort(term))
            }
            Node::Ternary(Op::Ite, condition, a, b) => {
                let (condition, a, b) = (self.bits[&condition][0], self.bits[&a].clone(), self.bits[&b].clone());
                self.circuit.choices(condition, &a, &b)
            }
            Node::Ternary(..) => self.free(terms.sort(term)),
        }
    }

    fn unary(&mut self, op: Op, a: Vec<Lit>, sort: Sort) -> Vec<Lit> {
        let width = match sort {
            Sort::Bits(width) => width as usize,
            Sort::Bool => 1,
        };
        match op {
            Op::Not | Op::BitNot => a.into_iter().map(|lit| !lit).collect(),
            Op::Neg => {
                let not: Vec<Lit> = a.iter().map(|&lit| !lit).collect();
                self.circuit.sum(&not, &vec![FALSE; width], TRUE)
            }
            Op::Extract { low } => a[low as usize..low as usize + width].to_vec(),
            Op::ZeroExtend => extended(a, width, FALSE),
            Op::SignExtend => {
                let sign = a[a.len() - 1];
                extended(a, width, sign)
            }
            _ => self.free(sort),
        }
    }

    fn binary(&mut self, op: Op, a: &[Lit], b: &[Lit], sort: Sort) -> Vec<Lit> {
        let circuit = &mut self.circuit;
        let mut each = |op: fn(&mut Circuit, Lit, Lit) -> Lit| {
            a.iter().zip(b).map(|(&a, &b)| op(circuit, a, b)).collect::<Vec<Lit>>()
        };
        match op {
            Op::And | Op::BitAnd => each(Circuit::and),
            Op::Or | Op::BitOr => each(Circuit::or),
            Op::BitXor => each(Circuit::xor),
            Op::Eq => vec![circuit.equal(a, b)],
            Op::Ult => vec![circuit.less(a, b)],
            Op::Ule => vec![!circuit.less(b, a)],
            Op::Slt => vec![circuit.less(&with_sign_flipped(a), &with_sign_flipped(b))],
            Op::Sle => vec![!circuit.less(&with_sign_flipped(b), &with_sign_flipped(a))],
            Op::Add => circuit.sum(a, b, FALSE),
            Op::Mul => self.product(a, b).unwrap_or_else(|| self.free_product(a, b)),
            Op::Shl => {
                let reversed: Vec<Lit> = a.iter().rev().copied().collect();
                let mut shifted = self.shifted_right(&reversed, b, FALSE);
                shifted.reverse();
                shifted
            }
            Op::Lshr => self.shifted_right(a, b, FALSE),
            Op::Ashr => self.shifted_right(a, b, a[a.len() - 1]),
            Op::Concat => [b, a].concat(),
            _ => self.free(sort),
        }
    }

    /// Returns a number shifted right by an amount that may exceed the width.
    fn shifted_right(&mut self, a: &[Lit], by: &[Lit], fill: Lit) -> Vec<Lit> {
        let width = a.len();
        let (mut result, mut is_beyond) = (a.to_vec(), FALSE);
        for (stage, &bit) in by.iter().enumerate() {
            let distance = 1_usize.checked_shl(stage as u32).filter(|&distance| stage < 32 && distance < width);
            let Some(distance) = distance else {
                is_beyond = self.circuit.or(is_beyond, bit);
                continue;
            };
            let moved: Vec<Lit> = (0..width).map(|at| result.get(at + distance).copied().unwrap_or(fill)).collect();
            result = self.circuit.choices(bit, &moved, &result);
        }
        self.circuit.choices(is_beyond, &vec![fill; width], &result)
    }

    /// Returns a product whose bits are free, except for the bits of a product of the same factors in another width: the low
    /// bits of a product depend on the low bits of the factors.
    fn free_product(&mut self, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        let width = a.len();
        let is_same = |other: &FreeProduct| {
            let low = width.min(other.bits.len());
            let [x, y] = [0, 1].map(|number| &other.factors[number][..low]);
            (x, y) == (&a[..low], &b[..low]) || (y, x) == (&a[..low], &b[..low])
        };
        let others = self.free_products.iter().filter(|other| is_same(other));
        let mut bits = others.max_by_key(|other| other.bits.len()).map_or_else(Vec::new, |other| other.bits.clone());
        bits.truncate(width);
        while bits.len() < width {
            bits.push(self.circuit.input());
        }
        self.free_products.push(FreeProduct { factors: [a, b].map(<[Lit]>::to_vec), bits: bits.clone() });
        bits
    }

    /// Returns a product as a sum of partial products, unless they are many.
    fn product(&mut self, a: &[Lit], b: &[Lit]) -> Option<Vec<Lit>> {
        let rows = |bits: &[Lit]| bits.iter().filter(|&&bit| bit != FALSE).count();
        let (a, b) = if rows(a) < rows(b) { (b, a) } else { (a, b) };
        // A constant with many set bits is the negative of one with few.
        let is_constant = b.iter().all(|&bit| bit == TRUE || bit == FALSE);
        if is_constant && rows(b) > b.len() / 2 + 1 {
            let (zero, not): (Vec<Lit>, Vec<Lit>) = (vec![FALSE; b.len()], b.iter().map(|&bit| !bit).collect());
            let opposite = self.circuit.sum(&not, &zero, TRUE);
            let product: Vec<Lit> = self.product(a, &opposite)?.into_iter().map(|bit| !bit).collect();
            return Some(self.circuit.sum(&product, &zero, TRUE));
        }
        if rows(a) * rows(b) > MAX_PRODUCT {
            return None;
        }
        let mut sum = vec![FALSE; a.len()];
        for (at, &bit) in b.iter().enumerate().filter(|&(_, &bit)| bit != FALSE) {
            let mut row = vec![FALSE; at];
            for &other in &a[..a.len() - at] {
                row.push(self.circuit.and(bit, other));
            }
            sum = self.circuit.sum(&sum, &row, FALSE);
        }
        Some(sum)
    }
}

fn extended(mut bits: Vec<Lit>, width: usize, fill: Lit) -> Vec<Lit> {
    bits.resize(width, fill);
    bits
}

/// Returns a number whose order among unsigned numbers is the order of `bits` among signed ones.
fn with_sign_flipped(bits: &[Lit]) -> Vec<Lit> {
    let mut flipped = bits.to_vec();
    if let Some(sign) = flipped.last_mut() {
        *sign = !*sign;
    }
    flipped
}
