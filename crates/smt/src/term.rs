//! The arena of terms.
//!
//! 1. Equal nodes are one term: terms are equal exactly if their numbers are.
//! 2. A child's number is smaller than its parent's, so ascending numbers are a topological order.
//! 3. Every term has a sort, and operands have the sorts their operation needs.

use crate::bits::{Bits, Sort, Value};
use crate::float_op::FloatOp;
use crate::hash::{BuildTermHasher, TermHasher};
use crate::index::Index;
use crate::names::Names;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{Hash, Hasher};

/// A term of one [`Terms`] arena.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Term(u32);

impl Term {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation. Names follow SMT-LIB; both operands of a binary one have one sort.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Op {
    /// Boolean negation.
    Not,
    /// Conjunction of two.
    And,
    /// Disjunction of two.
    Or,
    /// Equality of two terms of any sort.
    Eq,
    /// `if a then b else c`.
    Ite,
    /// Unsigned less than.
    Ult,
    /// Unsigned less or equal.
    Ule,
    /// Signed less than.
    Slt,
    /// Signed less or equal.
    Sle,
    /// Sum modulo 2^width.
    Add,
    /// Product modulo 2^width.
    Mul,
    /// Two's complement.
    Neg,
    /// Unsigned quotient; all ones for a zero divisor.
    Udiv,
    /// Unsigned remainder; the dividend for a zero divisor.
    Urem,
    /// Signed quotient, truncated.
    Sdiv,
    /// Signed remainder, with the sign of the dividend.
    Srem,
    /// Shift left; zero if the amount is not below the width.
    Shl,
    /// Logical shift right; zero if the amount is not below the width.
    Lshr,
    /// Arithmetic shift right; all sign bits if the amount is not below the width.
    Ashr,
    /// Bitwise complement.
    BitNot,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// The first operand above the second.
    Concat,
    /// The bits from `low` on, as many as the result has.
    Extract {
        /// The lowest bit that is kept.
        low: u32,
    },
    /// Zero extension to the result's width.
    ZeroExtend,
    /// Sign extension to the result's width.
    SignExtend,
    /// An operation on floats.
    Float(FloatOp),
}

/// The constant, variable or operation of a term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A constant.
    Const(Value),
    /// A variable, given by the number of its name.
    Var(u32),
    /// One operand.
    Unary(Op, Term),
    /// Two operands.
    Binary(Op, Term, Term),
    /// Three operands; for [`Op::Ite`], condition, then and else.
    Ternary(Op, Term, Term, Term),
}

impl Node {
    /// Returns the operands, in order.
    pub fn operands(self) -> impl Iterator<Item = Term> {
        let (a, b, c) = match self {
            Node::Const(_) | Node::Var(_) => (None, None, None),
            Node::Unary(_, a) => (Some(a), None, None),
            Node::Binary(_, a, b) => (Some(a), Some(b), None),
            Node::Ternary(_, a, b, c) => (Some(a), Some(b), Some(c)),
        };
        a.into_iter().chain(b).chain(c)
    }

    /// Returns the hash of a node of a sort. The sort of most operations follows from their operands.
    fn hash(self, sort: Sort) -> u32 {
        let mut hasher = TermHasher::default();
        match self {
            Node::Const(value) => Hash::hash(&value, &mut hasher),
            Node::Var(number) => hasher.write_u32(number),
            Node::Unary(op, a) => {
                Hash::hash(&op, &mut hasher);
                let width = if let Sort::Bits(width) = sort { width } else { 0 };
                hasher.write_u64(u64::from(width) << 32 | u64::from(a.0));
            }
            Node::Binary(op, a, b) => {
                Hash::hash(&op, &mut hasher);
                hasher.write_u64(u64::from(a.0) << 32 | u64::from(b.0));
            }
            Node::Ternary(op, a, b, c) => {
                Hash::hash(&op, &mut hasher);
                hasher.write_u64(u64::from(a.0) << 32 | u64::from(b.0));
                hasher.write_u32(c.0);
            }
        }
        hasher.finish() as u32
    }
}

/// An operation on operands, before it has a result.
pub(crate) struct Operation {
    node: Node,
    sort: Sort,
    hash: u32,
}

impl Operation {
    pub(crate) fn new(node: Node, sort: Sort) -> Operation {
        Operation { node, sort, hash: node.hash(sort) }
    }
}

/// Number of terms for which there is room in an arena of code at first: most functions have as many.
const TERMS_OF_CODE: usize = 1 << 10;

/// All terms, each once. Constructors are in `build/`.
#[derive(Default, Debug)]
pub struct Terms {
    nodes: Vec<Node>,
    sorts: Vec<Sort>,
    /// For each term, a bit for each variable below it. Several variables share a bit.
    signatures: Vec<u64>,
    /// Numbers of terms, by their nodes.
    numbers: Index,
    /// Operations on operands with their results, of code.
    results: Vec<(Node, Sort, Term)>,
    /// Places of the results, by the nodes of the operations.
    places: Index,
    names: Names,
    /// The variable of each name.
    variables: Vec<Term>,
    raw: bool,
    /// Whether terms have the further normal forms of machine code.
    of_code: bool,
    /// Whether the operands of commutative operations on floats ascend in the order that code performed first.
    orders: HashMap<Term, bool, BuildTermHasher>,
}

impl Terms {
    /// Creates an empty arena whose constructors simplify.
    pub fn new() -> Terms {
        Terms::default()
    }

    /// Creates an empty arena whose constructors do not simplify. Tests compare simplified terms with it.
    pub fn raw() -> Terms {
        Terms { raw: true, ..Terms::default() }
    }

    /// Creates an empty arena whose constructors simplify, and give terms of machine code further normal forms. Terms of
    /// rules do without, because solvers need not be asked about the rules that these forms decide.
    pub fn for_code() -> Terms {
        Terms {
            of_code: true,
            nodes: Vec::with_capacity(TERMS_OF_CODE),
            sorts: Vec::with_capacity(TERMS_OF_CODE),
            signatures: Vec::with_capacity(TERMS_OF_CODE),
            results: Vec::with_capacity(TERMS_OF_CODE),
            ..Terms::default()
        }
    }

    /// Returns `true` if terms have the further normal forms of machine code.
    pub(crate) fn is_of_code(&self) -> bool {
        self.of_code
    }

    /// Returns `true` if the operands of an operation ascend in the order that code performed first. The first call for a
    /// term sets it.
    pub(crate) fn first_order(&mut self, term: Term, ascends: bool) -> bool {
        *self.orders.entry(term).or_insert(ascends)
    }

    /// Returns `true` if the constructors simplify.
    pub(crate) fn simplifies(&self) -> bool {
        !self.raw
    }

    /// Returns the term with this node, and adds it if there is none.
    pub(crate) fn intern(&mut self, node: Node, sort: Sort) -> Term {
        let hash = node.hash(sort);
        let is_same = |number: u32| self.nodes[number as usize] == node && self.sorts[number as usize] == sort;
        if let Some(number) = self.numbers.find(hash, is_same) {
            return Term(number);
        }
        let number = u32::try_from(self.nodes.len()).expect("fewer than 2^32 terms");
        self.numbers.add(hash, number);
        let signature = match node {
            Node::Var(number) => 1 << (number % u64::BITS),
            _ => node.operands().fold(0, |all, operand| all | self.signatures[operand.index()]),
        };
        self.nodes.push(node);
        self.sorts.push(sort);
        self.signatures.push(signature);
        Term(number)
    }

    /// Returns the result for an operation on operands, if it was kept.
    pub(crate) fn result(&self, operation: &Operation) -> Option<Term> {
        self.place(operation).map(|place| self.results[place as usize].2)
    }

    /// Returns the place of an operation among the results.
    fn place(&self, &Operation { node, sort, hash }: &Operation) -> Option<u32> {
        let is_same = |place: u32| {
            let (other, of_sort, _) = self.results[place as usize];
            other == node && of_sort == sort
        };
        self.places.find(hash, is_same)
    }

    /// Returns the results that were kept, each with its operation on operands, unless that is the result's own node. They are
    /// the equalities on which the normal forms of code rest.
    pub fn kept_results(&self) -> impl Iterator<Item = (Node, Sort, Term)> {
        let is_own = |node, result: Term| self.nodes[result.index()] == node;
        self.results.iter().filter(move |&&(node, _, result)| !is_own(node, result)).copied()
    }

    /// Keeps the result for an operation on operands, in place of one that was kept before.
    pub(crate) fn keep(&mut self, operation: &Operation, result: Term) {
        if let Some(place) = self.place(operation) {
            self.results[place as usize].2 = result;
            return;
        }
        let place = u32::try_from(self.results.len()).expect("fewer than 2^32 results");
        self.places.add(operation.hash, place);
        self.results.push((operation.node, operation.sort, result));
    }

    /// Returns `false` if `part` is not below `term`, as far as their numbers and variables show. A term is below itself.
    pub fn may_contain(&self, term: Term, part: Term) -> bool {
        part <= term && self.signatures[part.index()] & !self.signatures[term.index()] == 0
    }

    /// Returns the node of a term.
    #[inline]
    pub fn node(&self, term: Term) -> Node {
        self.nodes[term.index()]
    }

    /// Returns the sort of a term.
    #[inline]
    pub fn sort(&self, term: Term) -> Sort {
        self.sorts[term.index()]
    }

    /// Returns the width of a bit-vector term, in bits.
    ///
    /// # Panics
    /// If the term is a boolean.
    #[inline]
    pub fn width(&self, term: Term) -> u32 {
        match self.sort(term) {
            Sort::Bits(width) => width,
            Sort::Bool => panic!("{:?} is a boolean", self.node(term)),
        }
    }

    /// Returns the width of a bit-vector term, in bits; `None` if the term is a boolean.
    pub fn bits_width(&self, term: Term) -> Option<u32> {
        match self.sort(term) {
            Sort::Bits(width) => Some(width),
            Sort::Bool => None,
        }
    }

    /// Returns the value of a constant term.
    pub fn value(&self, term: Term) -> Option<Value> {
        match self.node(term) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the bits of a constant bit-vector term.
    pub fn bits(&self, term: Term) -> Option<Bits> {
        self.value(term).and_then(Value::bits)
    }

    /// Returns the variable of this name, and adds it at its first use.
    ///
    /// # Panics
    /// If a variable of this name has another sort.
    pub fn var(&mut self, name: &str, sort: Sort) -> Term {
        let (number, is_new) = self.names.add(name);
        if is_new {
            let term = self.intern(Node::Var(number), sort);
            self.variables.push(term);
            return term;
        }
        let term = self.variables[number as usize];
        assert_eq!(self.sort(term), sort, "variable {name} has two sorts");
        term
    }

    /// Returns the variable of this name and sort, if there is one.
    pub fn existing(&self, name: &str, sort: Sort) -> Option<Term> {
        let number = self.names.find(name)?;
        Some(self.variables[number as usize]).filter(|&term| self.sort(term) == sort)
    }

    /// Returns a variable with an unused name that begins with `hint`.
    pub fn fresh(&mut self, hint: &str, sort: Sort) -> Term {
        let mut number = self.names.len();
        while self.names.find(&format!("{hint}!{number}")).is_some() {
            number += 1;
        }
        self.var(&format!("{hint}!{number}"), sort)
    }

    /// Returns the name of a variable.
    pub fn name(&self, term: Term) -> Option<&str> {
        match self.node(term) {
            Node::Var(number) => Some(self.names.text(number)),
            _ => None,
        }
    }

    /// Returns the terms below `roots`, including the roots, with children before parents. Cost: as many steps as there
    /// are terms in the result, and a factor logarithmic in it.
    pub fn cone(&self, roots: &[Term]) -> Vec<Term> {
        let mut work: BinaryHeap<Term> = roots.iter().copied().collect();
        let mut cone: Vec<Term> = Vec::new();
        // The greatest term first: all terms above it were seen before.
        while let Some(term) = work.pop() {
            if cone.last() != Some(&term) {
                cone.push(term);
                work.extend(self.node(term).operands());
            }
        }
        cone.reverse();
        cone
    }

    /// Returns `true` if a variable is below a term.
    pub fn depends_on(&self, term: Term, variable: Term) -> bool {
        self.may_contain(term, variable) && self.cone(&[term]).binary_search(&variable).is_ok()
    }

    /// Returns the variables below these terms, in order of creation.
    pub fn variables_of(&self, roots: &[Term]) -> Vec<Term> {
        self.cone(roots).into_iter().filter(|&term| matches!(self.node(term), Node::Var(_))).collect()
    }
}
