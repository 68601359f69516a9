//! Text of generated functions.

use std::fmt::{Display, Write};

/// The text of a function, whose values are numbered in order.
pub(super) struct Text {
    head: String,
    body: String,
    next: usize,
}

impl Text {
    /// Returns a function with these parameters and one result of type `i64`. Its first block has begun.
    pub(super) fn new(params: &[&str]) -> Text {
        let head = format!("function %f({}) -> i64 {{\n", params.join(", "));
        let mut text = Text { head, body: String::new(), next: 0 };
        text.block(0, params);
        text
    }

    /// Declares a stack slot of eight bytes.
    pub(super) fn slot(&mut self, number: usize) {
        let _ = writeln!(self.head, "    ss{number} = explicit_slot 8");
    }

    pub(super) fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "    {line}");
    }

    /// Begins a block and returns the number of its first parameter.
    pub(super) fn block(&mut self, number: usize, params: &[&str]) -> usize {
        let first = self.next;
        self.next += params.len();
        let list: Vec<String> = (first..).zip(params).map(|(value, ty)| format!("v{value}: {ty}")).collect();
        let list = if list.is_empty() { String::new() } else { format!("({})", list.join(", ")) };
        let _ = writeln!(self.body, "block{number}{list}:");
        first
    }

    /// Defines the next value and returns its number.
    pub(super) fn def(&mut self, inst: impl Display) -> usize {
        let value = self.next;
        self.next += 1;
        self.line(format_args!("v{value} = {inst}"));
        value
    }

    pub(super) fn end(mut self, result: usize) -> String {
        self.line(format_args!("return v{result}"));
        self.head + &self.body + "}\n"
    }
}
