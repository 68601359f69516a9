//! Expressions as text. The printed text parses as an equal expression.

use crate::ast::{Expr, ExprKind, TypeText};
use crate::expression::LEVELS;
use crate::vocabulary::BinaryOp;
use std::fmt;

/// Returns an expression as text, with no more parentheses than necessary.
pub(crate) fn expression(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Register(name) => format!("%{name}"),
        ExprKind::Constant(name) => name.clone(),
        ExprKind::Literal(value) => value.to_string(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Null => "null".to_string(),
        ExprKind::Undef => "undef".to_string(),
        ExprKind::Unary(op, a) => format!("{}{}", op.name(), operand(a, LEVELS.len())),
        ExprKind::Binary(op, a, b) => {
            let level = level(*op);
            format!("{} {} {}", operand(a, level), op.name(), operand(b, level + 1))
        }
        ExprKind::Call(function, args) => {
            let args: Vec<String> = args.iter().map(expression).collect();
            format!("{}({})", function.name(), args.join(", "))
        }
    }
}

/// Returns the precedence level of an operator: its index in `LEVELS`.
fn level(op: BinaryOp) -> usize {
    LEVELS.iter().position(|operators| operators.contains(&op)).unwrap_or(LEVELS.len())
}

/// Returns an operand of an operator, in parentheses if its own operator has a level below `wanted`.
fn operand(expr: &Expr, wanted: usize) -> String {
    let text = expression(expr);
    let brackets = match expr.kind {
        ExprKind::Binary(op, ..) => level(op) < wanted,
        // A minus before a digit is part of the number.
        ExprKind::Literal(value) => value < 0,
        _ => false,
    };
    if brackets { format!("({text})") } else { text }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&expression(self))
    }
}

impl fmt::Display for TypeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeText::Int(width) => write!(f, "i{width}"),
            TypeText::Named(name) => f.write_str(name),
            TypeText::Array(length, element) => write!(f, "[{length} x {element}]"),
            TypeText::Pointer(pointee) => write!(f, "{pointee}*"),
        }
    }
}
