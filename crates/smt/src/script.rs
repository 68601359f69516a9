//! SMT-LIB 2.6 text of a query.
//!
//! Every term with operands is defined once, children first, so that the text is linear in the number of terms and
//! not nested. Below a quantifier, definitions that depend on its variables are nested `let`s.

use crate::bits::{Sort, Value};
use crate::float::FloatText;
use crate::float_op::FloatOp;
use crate::term::{Node, Op, Term, Terms};
use std::collections::HashSet;
use std::fmt::Write;

/// Query whether a model exists in which `assertion` holds for all values of the `universal` variables.
#[derive(Clone, Debug)]
pub struct Query {
    /// The formula.
    pub assertion: Term,
    /// Variables bound by a universal quantifier around it. Usually none.
    pub universal: Vec<Term>,
}

impl Query {
    /// Creates a query without quantifier.
    pub fn new(assertion: Term) -> Query {
        Query { assertion, universal: Vec::new() }
    }

    /// Returns the variables whose values a model contains.
    pub(crate) fn free_variables(&self, terms: &Terms) -> Vec<Term> {
        terms.variables_of(&[self.assertion]).into_iter().filter(|term| !self.universal.contains(term)).collect()
    }

    /// Returns `true` if there are floats in the formula.
    pub(crate) fn has_floats(&self, terms: &Terms) -> bool {
        terms.cone(&[self.assertion]).into_iter().any(|term| float_op(terms.node(term)).is_some())
    }

    /// Returns the declarations, definitions and the assertion as SMT-LIB text.
    pub fn script(&self, terms: &Terms) -> String {
        let mut text = String::new();
        let mut bound: HashSet<Term> = self.universal.iter().copied().collect();
        let mut nested = Vec::new();
        for term in terms.cone(&[self.assertion]) {
            let node = terms.node(term);
            if node.operands().any(|operand| bound.contains(&operand)) {
                assert!(float_op(node).is_none(), "no floats below a quantifier");
                bound.insert(term);
                nested.push(term);
            } else if let Some(op) = float_op(node) {
                float(&mut text, terms, term, op);
            } else if let Node::Var(_) = node {
                if !bound.contains(&term) {
                    push(&mut text, format_args!("(declare-fun {} () {})\n", Name(term), SortText(terms.sort(term))));
                }
            } else if node.operands().next().is_some() {
                push(&mut text, format_args!("(define-fun {} () {} ", Name(term), SortText(terms.sort(term))));
                expression(&mut text, terms, term);
                text.push_str(")\n");
            }
        }
        text.push_str("(assert ");
        self.body(&mut text, terms, &nested);
        text.push_str(")\n");
        text
    }

    fn body(&self, text: &mut String, terms: &Terms, nested: &[Term]) {
        if self.universal.is_empty() {
            return operand(text, terms, self.assertion);
        }
        text.push_str("(forall (");
        for &variable in &self.universal {
            push(text, format_args!("({} {})", Name(variable), SortText(terms.sort(variable))));
        }
        text.push_str(") ");
        for &term in nested {
            push(text, format_args!("(let (({} ", Name(term)));
            expression(text, terms, term);
            text.push_str(")) ");
        }
        operand(text, terms, self.assertion);
        text.push_str(&")".repeat(nested.len() + 1));
    }
}

fn float_op(node: Node) -> Option<FloatOp> {
    match node {
        Node::Unary(Op::Float(op), _) | Node::Binary(Op::Float(op), ..) | Node::Ternary(Op::Float(op), ..) => Some(op),
        _ => None,
    }
}

/// Defines the result of a float operation. If it is a float, declares its bits and asserts that they encode the
/// result, because SMT-LIB has no function from floats to bits.
fn float(text: &mut String, terms: &Terms, term: Term, op: FloatOp) {
    let operands: Vec<Term> = terms.node(term).operands().collect();
    let widths = [terms.width(operands[0]), terms.width(term)];
    let operands: Vec<String> = operands.into_iter().map(|part| operand_text(terms, part)).collect();
    let result = FloatText { op, operands: &operands, widths };
    let (name, sort) = (Name(term), SortText(terms.sort(term)));
    if result.makes_bits() {
        return push(text, format_args!("(define-fun {name} () {sort} {result})\n"));
    }
    let bits = FloatText::as_float(widths[1], &name.to_string());
    push(text, format_args!("(declare-fun {name} () {sort})\n(assert (= {bits} {result}))\n"));
}

fn operand_text(terms: &Terms, term: Term) -> String {
    let mut text = String::new();
    operand(&mut text, terms, term);
    text
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to a string cannot fail");
}

/// A term's name in the text: its number.
pub(crate) struct Name(pub(crate) Term);

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}", self.0.index())
    }
}

struct SortText(Sort);

impl std::fmt::Display for SortText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Sort::Bool => f.write_str("Bool"),
            Sort::Bits(width) => write!(f, "(_ BitVec {width})"),
        }
    }
}

fn operand(text: &mut String, terms: &Terms, term: Term) {
    match terms.node(term) {
        Node::Const(Value::Bool(value)) => push(text, format_args!("{value}")),
        Node::Const(Value::Bits(bits)) => push(text, format_args!("(_ bv{} {})", bits.unsigned(), bits.width())),
        _ => push(text, format_args!("{}", Name(term))),
    }
}

fn expression(text: &mut String, terms: &Terms, term: Term) {
    let node = terms.node(term);
    let (Node::Unary(op, _) | Node::Binary(op, ..) | Node::Ternary(op, ..)) = node else {
        return operand(text, terms, term);
    };
    text.push('(');
    function(text, terms, op, term);
    for part in node.operands() {
        text.push(' ');
        operand(text, terms, part);
    }
    text.push(')');
}

/// Writes the name of the function. Indexed names contain the widths of operand and result.
fn function(text: &mut String, terms: &Terms, op: Op, term: Term) {
    let added = |terms: &Terms| {
        let inner = terms.node(term).operands().next().map_or(0, |operand| terms.width(operand));
        terms.width(term) - inner
    };
    match op {
        Op::Extract { low } => push(text, format_args!("(_ extract {} {low})", low + terms.width(term) - 1)),
        Op::ZeroExtend => push(text, format_args!("(_ zero_extend {})", added(terms))),
        Op::SignExtend => push(text, format_args!("(_ sign_extend {})", added(terms))),
        _ => text.push_str(symbol(op)),
    }
}

fn symbol(op: Op) -> &'static str {
    match op {
        Op::Not => "not",
        Op::And => "and",
        Op::Or => "or",
        Op::Eq => "=",
        Op::Ite => "ite",
        Op::Ult => "bvult",
        Op::Ule => "bvule",
        Op::Slt => "bvslt",
        Op::Sle => "bvsle",
        Op::Add => "bvadd",
        Op::Mul => "bvmul",
        Op::Neg => "bvneg",
        Op::Udiv => "bvudiv",
        Op::Urem => "bvurem",
        Op::Sdiv => "bvsdiv",
        Op::Srem => "bvsrem",
        Op::Shl => "bvshl",
        Op::Lshr => "bvlshr",
        Op::Ashr => "bvashr",
        Op::BitNot => "bvnot",
        Op::BitAnd => "bvand",
        Op::BitOr => "bvor",
        Op::BitXor => "bvxor",
        Op::Concat => "concat",
        Op::Extract { .. } => "extract",
        Op::ZeroExtend => "zero_extend",
        Op::SignExtend => "sign_extend",
        Op::Float(_) => unreachable!("floats have no symbol of bits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_terms_are_defined_once() {
        let mut terms = Terms::raw();
        let x = terms.var("x", Sort::Bits(8));
        let y = terms.var("y", Sort::Bits(8));
        let and = terms.bit_and(x, y);
        let wide = terms.sign_extend(and, 12);
        let product = terms.mul(wide, wide);
        let zero = terms.number(12, 0);
        let less = terms.slt(product, zero);
        let text = Query::new(less).script(&terms);
        assert_eq!(text.matches("(bvand t0 t1)").count(), 1);
        assert!(text.contains("((_ sign_extend 4) t2)") && text.contains("(_ bv0 12)"), "{text}");
        let text = Query { assertion: less, universal: vec![y] }.script(&terms);
        assert!(text.contains("(forall ((t1 (_ BitVec 8))) (let ((t2 (bvand t0 t1)))"), "{text}");
    }
}
