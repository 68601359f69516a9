//! A calculator that compiles: each line is a function of `x`, which is parsed, built, compiled and called. Run it
//! with
//! `echo 'x * (x + 3) - 4' | cargo run --example toy_language 7`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { "*" factor }
//! factor  = number | "x" | "-" factor | "(" sum ")"
//! ```
#![allow(unsafe_code, reason = "the compiled function is called")]

use kingpost::prelude::*;
use std::error::Error;
use std::iter::Peekable;
use std::str::Chars;

fn main() -> Result<(), Box<dyn Error>> {
    let x: i64 = std::env::args().nth(1).map_or(Ok(7), |word| word.parse())?;
    for line in std::io::stdin().lines() {
        match calculate(&line?, x) {
            Ok(result) => println!("{result}"),
            Err(error) => eprintln!("error: {error}"),
        }
    }
    Ok(())
}

/// Compiles the text and calls it.
fn calculate(text: &str, x: i64) -> Result<i64, Box<dyn Error>> {
    let mut module = JitModule::new(Compiler::host(Settings::default())?);
    let mut signature = module.signature();
    signature.params.push(AbiParam::new(I64));
    signature.returns.push(AbiParam::new(I64));
    let id = module.declare_function("line", Linkage::Export, &signature)?;

    let (mut func, mut scratch) = (Function::new(FuncName::default(), signature), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    let entry = b.create_block();
    b.append_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let argument = b.block_params(entry)[0];
    let mut parser = Parser { text: text.chars().peekable(), builder: &mut b, x: argument };
    let result = parser.sum()?;
    if let Some(rest) = parser.next() {
        return Err(format!("`{rest}` is not expected here").into());
    }
    b.ins().return_(&[result]);
    b.finalize()?;

    module.define_function(id, &mut func)?;
    module.finalize_definitions()?;
    // SAFETY: the function was built with this type; it reads and writes no memory.
    let function = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }?;
    Ok(function(x))
}

/// A parser that builds the function directly, without a syntax tree.
struct Parser<'t, 'b, 'f> {
    text: Peekable<Chars<'t>>,
    builder: &'b mut FunctionBuilder<'f>,
    x: Value,
}

impl Parser<'_, '_, '_> {
    /// Returns the next character that is not white space.
    fn next(&mut self) -> Option<char> {
        while self.text.next_if(|c| c.is_whitespace()).is_some() {}
        self.text.next()
    }

    /// Returns the next character and advances, if it is one of these.
    fn take(&mut self, any: &str) -> Option<char> {
        while self.text.next_if(|c| c.is_whitespace()).is_some() {}
        self.text.next_if(|&c| any.contains(c))
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut left = self.product()?;
        while let Some(operator) = self.take("+-") {
            let right = self.product()?;
            let ins = self.builder.ins();
            left = if operator == '+' { ins.iadd(left, right) } else { ins.isub(left, right) };
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut left = self.factor()?;
        while self.take("*").is_some() {
            let right = self.factor()?;
            left = self.builder.ins().imul(left, right);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Value, String> {
        match self.next() {
            Some('x') => Ok(self.x),
            Some('-') => self.factor().map(|value| self.builder.ins().ineg(value)),
            Some('(') => {
                let inner = self.sum()?;
                self.take(")").map(|_| inner).ok_or("`)` is missing".into())
            }
            Some(digit) if digit.is_ascii_digit() => {
                let mut number = digit.to_string();
                number.extend(std::iter::from_fn(|| self.text.next_if(char::is_ascii_digit)));
                let number = number.parse().map_err(|_| format!("{number} is too large"))?;
                Ok(self.builder.ins().iconst(I64, number))
            }
            Some(other) => Err(format!("`{other}` is not expected here")),
            None => Err("the line ends too early".into()),
        }
    }
}

#[test]
fn lines_are_calculated() {
    let calculated = |text| calculate(text, 7).map_err(|error| error.to_string());
    assert_eq!(calculated("x * (x + 3) - 4"), Ok(66));
    assert_eq!(calculated(" -2*x - -1"), Ok(-13));
    assert_eq!(calculated("(x"), Err("`)` is missing".into()));
    assert_eq!(calculated("x y"), Err("`y` is not expected here".into()));
}
