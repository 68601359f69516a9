//! A front end in one file: a small language of 64-bit integers, compiled with the builder and run in memory.
//!
//! ```text
//! program    = { statement }
//! statement  = name "=" expression ";" | ("while" | "if") expression block [ "else" block ]
//! block      = "{" { statement } "}"
//! expression = sum [ ("<" | "==") sum ] ;  sum = product { ("+" | "-") product } ;  product = atom { "*" atom }
//! atom       = number | name | "(" expression ")"
//! ```
//!
//! A program starts with its input in the variable `n` and returns the variable `result`; all other variables start
//! as 0. The front end only calls `def_var` and `use_var`; the builder turns variables into SSA values.

use anyhow::{Context, Result, anyhow, bail, ensure};
use kingpost_codegen::{Compiler, Settings};
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::frontend::{FrontendContext, FunctionBuilder, Variable};
use kingpost_ir::signature::{AbiParam, CallConv, Signature};
use kingpost_ir::types::I64;
use kingpost_ir::{Function, MemFlags, Value};
use kingpost_isolate::{self as isolate, Ending, IsolateError, IsolatedCall, SharedMemory};
use kingpost_jit::Image;
use kingpost_mach::{ModuleBuffer, SymbolName};

/// A statement.
#[derive(Debug)]
enum Statement {
    Assign(usize, Expression),
    While(Expression, Vec<Statement>),
    If(Expression, Vec<Statement>, Vec<Statement>),
}

/// An expression. Variables are numbered.
#[derive(Debug)]
enum Expression {
    Number(i64),
    Variable(usize),
    Binary(Operator, Box<(Expression, Expression)>),
}

#[derive(Clone, Copy, Debug)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Less,
    Equal,
}

/// A program, and the names of its variables; `n` is number 0, `result` number 1.
#[derive(Debug)]
pub(crate) struct Program {
    statements: Vec<Statement>,
    variables: Vec<String>,
}

/// Maximum nesting. Deeper programs are refused, because the parser and its users recurse on the nesting.
const MAX_DEPTH: usize = 200;

struct Parser<'a> {
    words: Vec<&'a str>,
    at: usize,
    depth: usize,
    variables: Vec<String>,
}

impl Program {
    /// Parses a program.
    ///
    /// # Errors
    /// If the text is not in the language; the error has the number of the word.
    pub(crate) fn parse(text: &str) -> Result<Program> {
        let variables = vec!["n".into(), "result".into()];
        let mut parser = Parser { words: words(text), at: 0, depth: 0, variables };
        let mut statements = Vec::new();
        while parser.at < parser.words.len() {
            statements.push(parser.statement()?);
        }
        Ok(Program { statements, variables: parser.variables })
    }

    /// Evaluates the program for `n` by walking its text: the oracle. Returns the result.
    pub(crate) fn evaluate(&self, n: i64) -> i64 {
        let mut values = vec![0; self.variables.len()];
        values[0] = n;
        run(&self.statements, &mut values);
        values[1]
    }

    /// Builds the program as a function `%program`. Its parameter is the address of `n`, which is followed by the
    /// result.
    pub(crate) fn build(&self) -> Result<Function> {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(I64));
        let mut func = Function::new(FuncName::Named("program".into()), signature);
        let mut cx = FrontendContext::default();
        let mut b = FunctionBuilder::new(&mut func, &mut cx);
        let entry = b.create_block();
        b.append_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let io = b.block_params(entry)[0];
        let n = b.ins().load(I64, MemFlags::trusted(), io, 0);
        let zero = b.ins().iconst(I64, 0);
        for index in 0..self.variables.len() {
            let variable = b.declare_var(I64);
            b.def_var(variable, if index == 0 { n } else { zero });
        }
        build(&self.statements, &mut b);
        let result = b.use_var(variable(1));
        b.ins().store(MemFlags::trusted(), result, io, 8);
        b.ins().return_(&[]);
        b.finalize()?;
        Ok(func)
    }
}

fn variable(index: usize) -> Variable {
    Variable::from_u32(index as u32)
}

/// Splits the text into words, numbers and signs. White space separates.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            c if c.is_alphanumeric() => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
            '=' if rest.starts_with("==") => 2,
            c => c.len_utf8(),
        };
        words.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    words
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Result<&'a str> {
        let word = self.words.get(self.at).context("the program ends too early")?;
        self.at += 1;
        Ok(word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.get(self.at) == Some(&word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        ensure!(self.take(word), "word {}: expected `{word}`", self.at + 1);
        Ok(())
    }

    fn nest<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        ensure!(self.depth < MAX_DEPTH, "word {}: nested deeper than {MAX_DEPTH}", self.at + 1);
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn statement(&mut self) -> Result<Statement> {
        if self.take("while") {
            return Ok(Statement::While(self.expression()?, self.block()?));
        }
        if self.take("if") {
            let (condition, then) = (self.expression()?, self.block()?);
            let otherwise = if self.take("else") { self.block()? } else { Vec::new() };
            return Ok(Statement::If(condition, then, otherwise));
        }
        let name = self.next()?;
        let variable = self.variable(name)?;
        self.expect("=")?;
        let value = self.expression()?;
        self.expect(";")?;
        Ok(Statement::Assign(variable, value))
    }

    fn block(&mut self) -> Result<Vec<Statement>> {
        self.nest(|p| {
            p.expect("{")?;
            let mut statements = Vec::new();
            while !p.take("}") {
                statements.push(p.statement()?);
            }
            Ok(statements)
        })
    }

    fn expression(&mut self) -> Result<Expression> {
        let left = self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)?;
        let operator = if self.take("<") {
            Operator::Less
        } else if self.take("==") {
            Operator::Equal
        } else {
            return Ok(left);
        };
        let right = self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)?;
        Ok(Expression::Binary(operator, Box::new((left, right))))
    }

    fn product(&mut self) -> Result<Expression> {
        self.chain(&[("*", Operator::Multiply)], Self::atom)
    }

    /// Parses operands with left-associative operators between them. The nesting equals the length of the chain.
    fn chain(
        &mut self,
        operators: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        let mut left = operand(self)?;
        for _ in 0..MAX_DEPTH {
            let Some(&(_, operator)) = operators.iter().find(|(sign, _)| self.take(sign)) else { return Ok(left) };
            left = Expression::Binary(operator, Box::new((left, operand(self)?)));
        }
        bail!("word {}: a chain of more than {MAX_DEPTH} operators", self.at + 1)
    }

    fn atom(&mut self) -> Result<Expression> {
        if self.take("(") {
            let inner = self.nest(Self::expression)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word = self.next()?;
        match word.parse() {
            Ok(number) => Ok(Expression::Number(number)),
            Err(_) => Ok(Expression::Variable(self.variable(word)?)),
        }
    }

    fn variable(&mut self, name: &str) -> Result<usize> {
        ensure!(name.starts_with(char::is_alphabetic), "word {}: `{name}` is no name", self.at);
        Ok(self.variables.iter().position(|known| known == name).unwrap_or_else(|| {
            self.variables.push(name.into());
            self.variables.len() - 1
        }))
    }
}

fn run(statements: &[Statement], values: &mut [i64]) {
    for statement in statements {
        match statement {
            Statement::Assign(variable, value) => values[*variable] = evaluate(value, values),
            Statement::While(condition, body) => {
                while evaluate(condition, values) != 0 {
                    run(body, values);
                }
            }
            Statement::If(condition, then, otherwise) => {
                run(if evaluate(condition, values) != 0 { then } else { otherwise }, values);
            }
        }
    }
}

fn evaluate(expression: &Expression, values: &[i64]) -> i64 {
    match expression {
        Expression::Number(number) => *number,
        Expression::Variable(variable) => values[*variable],
        Expression::Binary(operator, operands) => {
            let (x, y) = (evaluate(&operands.0, values), evaluate(&operands.1, values));
            match operator {
                Operator::Add => x.wrapping_add(y),
                Operator::Subtract => x.wrapping_sub(y),
                Operator::Multiply => x.wrapping_mul(y),
                Operator::Less => i64::from(x < y),
                Operator::Equal => i64::from(x == y),
            }
        }
    }
}

fn build(statements: &[Statement], b: &mut FunctionBuilder<'_>) {
    for statement in statements {
        match statement {
            Statement::Assign(target, value) => {
                let value = value_of(value, b);
                b.def_var(variable(*target), value);
            }
            Statement::While(condition, body) => {
                let (head, inside, after) = (b.create_block(), b.create_block(), b.create_block());
                b.ins().jump(head, &[]);
                b.switch_to_block(head);
                let condition = value_of(condition, b);
                b.ins().brif(condition, inside, &[], after, &[]);
                b.switch_to_block(inside);
                b.seal_block(inside);
                build(body, b);
                b.ins().jump(head, &[]);
                b.seal_block(head);
                b.switch_to_block(after);
                b.seal_block(after);
            }
            Statement::If(condition, then, otherwise) => {
                let (yes, no, after) = (b.create_block(), b.create_block(), b.create_block());
                let condition = value_of(condition, b);
                b.ins().brif(condition, yes, &[], no, &[]);
                for (block, statements) in [(yes, then), (no, otherwise)] {
                    b.switch_to_block(block);
                    b.seal_block(block);
                    build(statements, b);
                    b.ins().jump(after, &[]);
                }
                b.switch_to_block(after);
                b.seal_block(after);
            }
        }
    }
}

fn value_of(expression: &Expression, b: &mut FunctionBuilder<'_>) -> Value {
    match expression {
        Expression::Number(number) => b.ins().iconst(I64, *number),
        Expression::Variable(index) => b.use_var(variable(*index)),
        Expression::Binary(operator, operands) => {
            let (x, y) = (value_of(&operands.0, b), value_of(&operands.1, b));
            let flag = match operator {
                Operator::Add => return b.ins().iadd(x, y),
                Operator::Subtract => return b.ins().isub(x, y),
                Operator::Multiply => return b.ins().imul(x, y),
                Operator::Less => b.ins().icmp(IntCC::SignedLessThan, x, y),
                Operator::Equal => b.ins().icmp(IntCC::Equal, x, y),
            };
            b.ins().uextend(I64, flag)
        }
    }
}

/// Size in bytes of the memory of a call: `n`, then the result.
const IO_BYTES: usize = 16;
/// Time limit in seconds for all calls of a program together.
const SECONDS: u32 = 20;

/// A program of the language in machine code.
pub(crate) struct Compiled {
    image: Image,
    /// Size of the code in bytes.
    pub(crate) code_bytes: usize,
}

impl Compiled {
    /// Compiles a program for this machine with one of the register allocators, and verifies every stage.
    ///
    /// # Errors
    /// If there is no compiler for the machine.
    pub(crate) fn new(program: &Program, allocator: &str) -> Result<Compiled> {
        let mut settings = Settings::default();
        settings.set("regalloc_algorithm", allocator)?;
        settings.set("verify_each", "true")?;
        let compiler = Compiler::new(&target_lexicon::Triple::host(), settings, &[])?;
        let mut module = ModuleBuffer::default();
        compiler.compile(&mut compiler.context(), &mut program.build()?, &mut module)?;
        let image = Image::load(&module, &[], &mut |_| None).map_err(|error| anyhow!("{error}"))?;
        Ok(Compiled { image, code_bytes: module.code_bytes() })
    }

    /// Runs the program for each number below `count`, and returns the results. It runs in a separate process, which
    /// shares `n` and the result of each call with this one.
    ///
    /// If a call traps or does not end.
    pub(crate) fn answers(&self, count: usize) -> Result<Vec<i64>> {
        let failed = |error: IsolateError| anyhow!("{error}");
        let function = self.image.address(&SymbolName::named("program")).context("it was compiled")?;
        let mut shared = SharedMemory::new(count * IO_BYTES).map_err(failed)?;
        for (n, io) in shared.bytes_mut().chunks_exact_mut(IO_BYTES).take(count).enumerate() {
            io[..8].copy_from_slice(&n.to_le_bytes());
        }
        let calls: Vec<IsolatedCall> =
            (0..count).map(|n| IsolatedCall { function, argument: shared.address() + n * IO_BYTES }).collect();
        let endings = isolate::run(&[&self.image], &calls, &mut [&mut shared], SECONDS).map_err(failed)?;
        if let Some(n) = endings.iter().position(|ending| *ending != Ending::Returned) {
            bail!("the program ended with {:?} for {n}", endings[n]);
        }
        let answer = |io: &[u8]| i64::from_le_bytes(io[8..].try_into().expect("eight bytes"));
        Ok(shared.bytes().chunks_exact(IO_BYTES).take(count).map(answer).collect())
    }
}
