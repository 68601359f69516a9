//! Large functions in the form that compilers of structured languages emit: hundreds of blocks, most with
//! parameters.
//!
//! The text is written in one pass with a stack of open constructs. Branches leave a construct for its end (a loop
//! for its head) with arguments. Dominating values are available. The oldest value that is still unread is read
//! first, so that values live long and nearly all are used.

use crate::rng::Rng;
use std::fmt::Write;

/// Parts of a large function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// Integers and floats, arithmetic, copies and calls.
    Plain,
    /// Runs of divisions, wide products and shifts, whose operands real machines fix to registers.
    Fixed,
}

/// Returns a function of about `blocks` blocks.
pub fn function(mix: Mix, blocks: usize, seed: u64) -> String {
    let mut writer =
        Writer { rng: Rng::new(seed), mix, text: String::new(), values: 0, blocks: 0, scope: Scope::default() };
    writer.text.push_str("function %large(i64, i64, f64) -> i64 {\n    fn0 = %callee(i64, f64) -> i64, f64\n");
    let entry = [Kind::Int, Kind::Int, Kind::Float];
    let block = writer.new_block();
    writer.begin(block, &entry);
    let mut open = Vec::new();
    while writer.blocks < blocks {
        writer.statements();
        match writer.rng.range(0..10) {
            0..3 => open.push(writer.open_block()),
            3 => open.push(writer.open_loop()),
            4..7 => writer.leave_if(&open),
            _ => open.pop().into_iter().for_each(|construct| writer.close(construct)),
        }
    }
    while let Some(construct) = open.pop() {
        writer.close(construct);
        writer.statements();
    }
    writer.finish();
    writer.text
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Int,
    Float,
}

/// A value and its number.
type Value = (Kind, usize);

/// Values that dominate the current point.
#[derive(Clone, Default)]
struct Scope {
    values: Vec<Value>,
    /// Values in scope that are still unread, oldest first.
    unread: Vec<Value>,
}

struct Construct {
    /// Destination of branches that leave it: its end, or its head if it is a loop.
    target: usize,
    params: Vec<Kind>,
    /// Scope after it, unless it is a loop.
    outside: Option<Scope>,
}

struct Writer {
    rng: Rng,
    mix: Mix,
    text: String,
    values: usize,
    blocks: usize,
    scope: Scope,
}

impl Writer {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "    {text}");
    }

    fn new_block(&mut self) -> usize {
        self.blocks += 1;
        self.blocks - 1
    }

    /// Starts a block with parameters.
    fn begin(&mut self, block: usize, params: &[Kind]) {
        let values: Vec<Value> = params.iter().map(|&kind| self.define(kind)).collect();
        let params: Vec<String> = values.iter().map(|&(kind, n)| format!("v{n}: {}", ty(kind))).collect();
        let params = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
        let _ = writeln!(self.text, "block{block}{params}:");
    }

    fn number(&mut self) -> usize {
        self.values += 1;
        self.values - 1
    }

    fn define(&mut self, kind: Kind) -> Value {
        let value = (kind, self.number());
        self.scope.values.push(value);
        self.scope.unread.push(value);
        value
    }

    /// Returns a value to read: mostly an unread one, otherwise one of the last values or any.
    fn read(&mut self, kind: Kind) -> usize {
        let waiting = self.scope.unread.iter().position(|value| value.0 == kind);
        if let Some(index) = waiting
            && self.rng.chance(60)
        {
            return self.scope.unread.remove(index).1;
        }
        let alike: Vec<usize> = self.scope.values.iter().filter(|value| value.0 == kind).map(|value| value.1).collect();
        let from = if self.rng.chance(80) { alike.len().saturating_sub(12) } else { 0 };
        let number = self.rng.pick(&alike[from..]).expect("the entry has values of both kinds");
        self.scope.unread.retain(|value| value.1 != number);
        number
    }

    fn kind(&mut self) -> Kind {
        if self.mix == Mix::Plain && self.rng.chance(30) { Kind::Float } else { Kind::Int }
    }

    fn kinds(&mut self) -> Vec<Kind> {
        let count = if self.rng.chance(10) { self.rng.range(4..14) } else { self.rng.range(0..3) };
        (0..count).map(|_| self.kind()).collect()
    }

    fn statements(&mut self) {
        for _ in 0..self.rng.range(1..8) {
            match self.rng.range(0..20) {
                0 if self.mix == Mix::Plain => self.call(),
                1..3 => self.copy(),
                3..5 => {
                    let constant = self.rng.range(1..1000);
                    let (_, n) = self.define(Kind::Int);
                    self.line(format_args!("v{n} = iconst.i64 {constant}"));
                }
                _ => self.operation(),
            }
        }
    }

    fn call(&mut self) {
        let (x, y) = (self.read(Kind::Int), self.read(Kind::Float));
        let ((_, a), (_, b)) = (self.define(Kind::Int), self.define(Kind::Float));
        self.line(format_args!("v{a}, v{b} = call fn0(v{x}, v{y})"));
    }

    fn copy(&mut self) {
        let kind = self.kind();
        let x = self.read(kind);
        let (_, n) = self.define(kind);
        self.line(format_args!("v{n} = bitcast.{} v{x}", ty(kind)));
    }

    fn operation(&mut self) {
        let kind = self.kind();
        let names: &[&str] = match (kind, self.mix) {
            (Kind::Float, _) => &["fadd", "fsub", "fmul"],
            (Kind::Int, Mix::Plain) => &["iadd", "isub", "bxor", "ishl", "icmp eq"],
            (Kind::Int, Mix::Fixed) => &["sdiv", "srem", "udiv", "urem", "smulhi", "umulhi", "ishl", "rotr", "isub"],
        };
        let name = self.rng.pick(names).unwrap_or("iadd");
        let (x, y) = (self.read(kind), self.read(kind));
        let (_, n) = self.define(kind);
        if name == "icmp eq" {
            let flag = self.number();
            self.line(format_args!("v{flag} = icmp eq v{x}, v{y}"));
            return self.line(format_args!("v{n} = uextend.i64 v{flag}"));
        }
        self.line(format_args!("v{n} = {name} v{x}, v{y}"));
    }

    fn open_block(&mut self) -> Construct {
        Construct { target: self.new_block(), params: self.kinds(), outside: Some(self.scope.clone()) }
    }

    fn open_loop(&mut self) -> Construct {
        let (target, params) = (self.new_block(), self.kinds());
        let args = self.args(&params);
        self.line(format_args!("jump block{target}{args}"));
        self.begin(target, &params);
        Construct { target, params, outside: None }
    }

    fn args(&mut self, params: &[Kind]) -> String {
        let args: Vec<String> = params.iter().map(|&kind| format!("v{}", self.read(kind))).collect();
        if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) }
    }

    /// Adds a branch out of one of the open constructs, or to the next block.
    fn leave_if(&mut self, open: &[Construct]) {
        let Some(construct) = (!open.is_empty()).then(|| &open[self.rng.range(0..open.len())]) else { return };
        let (condition, args) = (self.read(Kind::Int), self.args(&construct.params));
        let next = self.new_block();
        self.line(format_args!("brif v{condition}, block{}{args}, block{next}", construct.target));
        self.begin(next, &[]);
    }

    fn close(&mut self, construct: Construct) {
        let Some(outside) = construct.outside else { return };
        let args = self.args(&construct.params);
        self.line(format_args!("jump block{}{args}", construct.target));
        self.scope = outside;
        self.begin(construct.target, &construct.params);
    }

    /// Reads all values that are still unread, one by one, and returns.
    fn finish(&mut self) {
        let mut result = self.read(Kind::Int);
        let last = if self.mix == Mix::Fixed { "sdiv" } else { "bxor" };
        for (kind, mut value) in std::mem::take(&mut self.scope.unread) {
            if kind == Kind::Float {
                let bits = self.number();
                self.line(format_args!("v{bits} = bitcast.i64 v{value}"));
                value = bits;
            }
            let next = self.number();
            self.line(format_args!("v{next} = {last} v{result}, v{value}"));
            result = next;
        }
        self.line(format_args!("return v{result}"));
        self.text.push_str("}\n");
    }
}

fn ty(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "i64",
        Kind::Float => "f64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::verifier::verify;

    #[test]
    fn functions_are_valid_and_large() {
        for (mix, seed) in [(Mix::Plain, 0), (Mix::Plain, 1), (Mix::Fixed, 2), (Mix::Fixed, 3)] {
            let text = function(mix, 171, seed);
            let functions = kingpost_reader::parse_functions(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(verify(&functions[0], None), Ok(()), "{text}");
            let blocks = || functions[0].layout.blocks();
            let params: usize = blocks().map(|block| functions[0].dfg.block_params(block).len()).sum();
            assert!(blocks().count() >= 171 && params > 120, "{} blocks, {params} parameters", blocks().count());
        }
    }
}
