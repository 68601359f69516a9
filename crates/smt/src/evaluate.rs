//! Evaluation of terms under models: one pass over the terms in order of their numbers.

use crate::bits::{Bits, Sort, Value};
use crate::float;
use crate::term::{Node, Op, Term, Terms};
use std::collections::HashMap;

/// Values of variables, by name. Variables without an entry are zero or false.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Model {
    values: HashMap<String, Value>,
}

impl Model {
    /// Sets the value of a variable.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.values.get_mut(name) {
            Some(known) => *known = value,
            None => {
                self.values.insert(name.to_string(), value);
            }
        }
    }

    /// Returns the value of a variable, if the model names it.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.values.get(name).copied()
    }
}

/// Definition of a term.
#[derive(Debug)]
enum TermDef {
    Constant(Value),
    /// The variable of this name.
    Variable(String),
    /// An operation on the values with these indices.
    Operation {
        op: Op,
        args: [usize; 3],
        arity: usize,
    },
}

/// Evaluator of the terms below some roots, under one model after the other.
#[derive(Debug)]
pub struct Evaluator {
    /// The terms in the order in which they are computed.
    steps: Vec<(TermDef, Sort)>,
    /// The term of each step. They ascend.
    terms: Vec<Term>,
    values: Vec<Value>,
}

impl Evaluator {
    /// Evaluates `roots` and all terms below them.
    ///
    /// # Panics
    /// If the model has a value of another sort for a variable.
    pub fn new(terms: &Terms, roots: &[Term], model: &Model) -> Evaluator {
        let mut evaluator = Evaluator::prepare(terms, roots);
        evaluator.evaluate(model);
        evaluator
    }

    /// Prepares the evaluation of `roots` under many models.
    pub fn prepare(terms: &Terms, roots: &[Term]) -> Evaluator {
        let cone = terms.cone(roots);
        let mut steps = Vec::with_capacity(cone.len());
        let place = |term: Term| cone.binary_search(&term).expect("operands are below their term");
        for &term in &cone {
            let step = match terms.node(term) {
                Node::Const(value) => TermDef::Constant(value),
                Node::Var(_) => TermDef::Variable(terms.name(term).unwrap_or_default().to_string()),
                Node::Unary(op, a) => TermDef::Operation { op, args: [place(a), 0, 0], arity: 1 },
                Node::Binary(op, a, b) => TermDef::Operation { op, args: [place(a), place(b), 0], arity: 2 },
                Node::Ternary(op, a, b, c) => TermDef::Operation { op, args: [place(a), place(b), place(c)], arity: 3 },
            };
            steps.push((step, terms.sort(term)));
        }
        Evaluator { steps, terms: cone, values: Vec::new() }
    }

    /// Evaluates all terms under a model.
    ///
    /// # Panics
    /// If the model has a value of another sort for a variable.
    pub fn evaluate(&mut self, model: &Model) {
        self.evaluate_by(|name, sort| model.get(name).unwrap_or(Value::zero(sort)));
    }

    /// Evaluates all terms. `variable` returns the value of each variable, by its name and sort, in the order of
    /// [`Terms::variables_of`].
    ///
    /// # Panics
    /// If a value has another sort.
    pub fn evaluate_by(&mut self, mut variable: impl FnMut(&str, Sort) -> Value) {
        let values = &mut self.values;
        values.clear();
        for (step, sort) in &self.steps {
            let value = match step {
                TermDef::Constant(value) => *value,
                TermDef::Variable(name) => variable(name, *sort),
                TermDef::Operation { op, args, arity } => {
                    let args = args.map(|place| values[place]);
                    apply(*op, *sort, &args[..*arity])
                }
            };
            assert_eq!(value.sort(), *sort, "{step:?}");
            values.push(value);
        }
    }

    /// Returns the value of a term below one of the roots under the last model.
    ///
    /// # Panics
    /// If the term is not below a root, or nothing has been evaluated.
    pub fn value(&self, term: Term) -> Value {
        self.at(self.place(term))
    }

    /// Returns the place of a term below one of the roots, for [`Evaluator::at`].
    ///
    /// # Panics
    /// If the term is not below a root.
    pub fn place(&self, term: Term) -> usize {
        self.terms.binary_search(&term).expect("the term is below a root")
    }

    /// Returns the value of the term in a place under the last model.
    ///
    /// # Panics
    /// If nothing has been evaluated.
    pub fn at(&self, place: usize) -> Value {
        self.values[place]
    }
}

/// Applies an operation to constants; the result has sort `sort`.
pub(crate) fn apply(op: Op, sort: Sort, args: &[Value]) -> Value {
    if let (Op::Float(op), Sort::Bits(width)) = (op, sort) {
        let mut bits = [Bits::new(1, 0); 3];
        bits.iter_mut().zip(args).for_each(|(bits, arg)| *bits = arg.bits().unwrap_or(*bits));
        return Value::Bits(float::apply(op, width, &bits[..args.len()]));
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
