//! The value of terms under a model: one pass over the terms in order of their numbers.

use crate::bits::{Bits, Sort, Value};
use crate::float;
use crate::term::{Node, Op, Term, Terms};
use std::collections::HashMap;

/// Values of variables, by name. Variables that it does not name are zero or false.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Model {
    values: HashMap<String, Value>,
}

impl Model {
    /// Sets the value of a variable.
    pub fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_string(), value);
    }

    /// The value of a variable, if the model names it.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.values.get(name).copied()
    }
}

/// Values of the terms below some roots, under one model.
#[derive(Debug)]
pub struct Evaluator {
    values: HashMap<Term, Value>,
}

impl Evaluator {
    /// Evaluates `roots` and all they are made of.
    ///
    /// # Panics
    /// If the model has for a variable a value of another sort.
    pub fn new(terms: &Terms, roots: &[Term], model: &Model) -> Evaluator {
        let mut values = HashMap::new();
        for term in terms.cone(roots) {
            let value = match terms.node(term) {
                Node::Const(value) => value,
                Node::Var(_) => {
                    let named = terms.name(term).and_then(|name| model.get(name));
                    named.unwrap_or(Value::zero(terms.sort(term)))
                }
                Node::Unary(op, a) => apply(op, terms.sort(term), &[values[&a]]),
                Node::Binary(op, a, b) => apply(op, terms.sort(term), &[values[&a], values[&b]]),
                Node::Ternary(op, a, b, c) => apply(op, terms.sort(term), &[values[&a], values[&b], values[&c]]),
            };
            assert_eq!(value.sort(), terms.sort(term), "{:?}", terms.node(term));
            values.insert(term, value);
        }
        Evaluator { values }
    }

    /// The value of a term below one of the roots.
    ///
    /// # Panics
    /// If the term is not below a root.
    pub fn value(&self, term: Term) -> Value {
        self.values[&term]
    }
}

/// An operation on constants, with a result of sort `sort`.
pub(crate) fn apply(op: Op, sort: Sort, args: &[Value]) -> Value {
    if let (Op::Float(op), Sort::Bits(width)) = (op, sort) {
        let args: Vec<Bits> = args.iter().filter_map(|arg| arg.bits()).collect();
        return Value::Bits(float::apply(op, width, &args));
    }
    match *args {
        [Value::Bool(a)] if op == Op::Not => Value::Bool(!a),
        [Value::Bits(a)] => Value::Bits(unary(op, sort, a)),
        [Value::Bool(a), Value::Bool(b)] => Value::Bool(logic(op, a, b)),
        [Value::Bits(a), Value::Bits(b)] => binary(op, a, b),
        [Value::Bool(condition), a, b] if op == Op::Ite => {
            if condition {
                a
            } else {
                b
            }
        }
        _ => panic!("{op:?} of {args:?}"),
    }
}

fn unary(op: Op, sort: Sort, a: Bits) -> Bits {
    let Sort::Bits(width) = sort else { panic!("{op:?} is a boolean") };
    match op {
        Op::Neg => a.neg(),
        Op::BitNot => a.not(),
        Op::ZeroExtend => a.zero_extend(width),
        Op::SignExtend => a.sign_extend(width),
        Op::Extract { low } => a.extract(low, width),
        _ => panic!("{op:?} of one operand"),
    }
}

fn logic(op: Op, a: bool, b: bool) -> bool {
    match op {
        Op::And => a && b,
        Op::Or => a || b,
        Op::Eq => a == b,
        _ => panic!("{op:?} of booleans"),
    }
}

fn binary(op: Op, a: Bits, b: Bits) -> Value {
    let bits = match op {
        Op::Eq => return Value::Bool(a == b),
        Op::Ult => return Value::Bool(a.unsigned() < b.unsigned()),
        Op::Ule => return Value::Bool(a.unsigned() <= b.unsigned()),
        Op::Slt => return Value::Bool(a.signed() < b.signed()),
        Op::Sle => return Value::Bool(a.signed() <= b.signed()),
        Op::Add => a.add(b),
        Op::Mul => a.mul(b),
        Op::Udiv => a.udiv(b),
        Op::Urem => a.urem(b),
        Op::Sdiv => a.sdiv(b),
        Op::Srem => a.srem(b),
        Op::Shl => a.shl(b),
        Op::Lshr => a.lshr(b),
        Op::Ashr => a.ashr(b),
        Op::BitAnd => a.and(b),
        Op::BitOr => a.or(b),
        Op::BitXor => a.xor(b),
        Op::Concat => a.concat(b),
        _ => panic!("{op:?} of two bit-vectors"),
    };
    Value::Bits(bits)
}
