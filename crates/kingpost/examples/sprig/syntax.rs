//! Parses text into a syntax tree.
//!
//! ```text
//! program    = { "struct" Name "{" [ name ":" type { "," name ":" type } ] "}" | "fn" name signature block }
//! signature  = "(" [ name ":" type { "," name ":" type } ] ")" type
//! type       = "int" | "str" | Name | "fn" "(" [ type { "," type } ] ")" type
//! block      = "{" { statement } "}"
//! statement  = "let" name "=" expression ";" | "return" expression ";" | "while" expression block
//!            | "if" expression block [ "else" block ] | expression [ "=" expression ] ";"
//! expression = sum [ ("<" | "==") sum ]
//! sum        = product { ("+" | "-") product }
//! product    = postfix { ("*" | "/") postfix }
//! postfix    = atom { "." name | "(" [ expression { "," expression } ] ")" }
//! atom       = number | string | name | Name "{" [ expression { "," expression } ] "}" | "fn" signature block
//!            | "(" expression ")"
//! ```
//!
//! `Name` begins with an upper-case letter, `name` with a lower-case one.

use std::collections::HashSet;
use std::fmt;

/// A type of the language.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Type {
    Int,
    Str,
    Struct(String),
    Fn(Vec<Type>, Box<Type>),
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Int => f.write_str("int"),
            Type::Str => f.write_str("str"),
            Type::Struct(name) => f.write_str(name),
            Type::Fn(params, result) => {
                let params: Vec<String> = params.iter().map(Type::to_string).collect();
                write!(f, "fn({}) {result}", params.join(", "))
            }
        }
    }
}

/// The fields of a structure.
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) fields: Vec<(String, Type)>,
}

/// A function, or the function of a closure.
pub(crate) struct Function {
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) params: Vec<(String, Type)>,
    pub(crate) result: Type,
    pub(crate) body: Vec<Statement>,
    /// All names that the body mentions: a closure captures those that are variables where it is created.
    pub(crate) mentioned: HashSet<String>,
}

/// A statement.
pub(crate) enum Statement {
    Let(u32, String, Expression),
    Assign(u32, Expression, Expression),
    While(u32, Expression, Vec<Statement>),
    If(u32, Expression, Vec<Statement>, Vec<Statement>),
    Return(u32, Expression),
    Expression(Expression),
}

/// An expression and the line on which it begins.
pub(crate) struct Expression {
    pub(crate) line: u32,
    pub(crate) kind: Kind,
}

/// A kind of expression.
pub(crate) enum Kind {
    Int(i64),
    Str(String),
    Name(String),
    Binary(&'static str, Box<(Expression, Expression)>),
    Call(Box<Expression>, Vec<Expression>),
    Field(Box<Expression>, String),
    New(String, Vec<Expression>),
    Closure(Box<Function>),
}

/// Structures and functions of a program.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) structs: Vec<Struct>,
    pub(crate) functions: Vec<Function>,
}

/// Maximum nesting of expressions and blocks, because the parser and the compiler recurse on it.
const MAX_DEPTH: usize = 100;

struct Parser<'t> {
    /// Words, each with its line.
    words: Vec<(u32, &'t str)>,
    at: usize,
    depth: usize,
    mentioned: HashSet<String>,
}

type Result<T> = std::result::Result<T, String>;

/// Parses a program.
pub(crate) fn parse(text: &str) -> Result<Program> {
    let mut parser = Parser { words: words(text)?, at: 0, depth: 0, mentioned: HashSet::new() };
    let mut program = Program::default();
    while parser.at < parser.words.len() {
        if parser.take("struct") {
            let name = parser.name(true)?;
            let fields = parser.list("{", "}", Parser::field)?;
            program.structs.push(Struct { name, fields });
        } else {
            let line = parser.line();
            parser.expect("fn")?;
            let name = parser.name(false)?;
            program.functions.push(parser.function(line, name)?);
        }
    }
    Ok(program)
}

/// Splits the text into words. A string keeps its opening quotation mark.
fn words(text: &str) -> Result<Vec<(u32, &str)>> {
    let mut words = Vec::new();
    for (n, line) in (1..).zip(text.lines()) {
        let mut rest = line.split("//").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = match first {
                '"' => rest[1..].find('"').map(|end| end + 1).ok_or_else(|| format!("line {n}: no closing `\"`"))?,
                c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                '=' if rest.starts_with("==") => 2,
                c => c.len_utf8(),
            };
            words.push((n, &rest[..length]));
            let skipped = length + usize::from(first == '"');
            rest = rest[skipped..].trim_start();
        }
    }
    Ok(words)
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &'t str {
        self.words.get(self.at).map_or("", |&(_, word)| word)
    }

    fn line(&self) -> u32 {
        self.words.get(self.at).or(self.words.last()).map_or(1, |&(line, _)| line)
    }

    fn next(&mut self) -> &'t str {
        let word = self.peek();
        self.at += 1;
        word
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == word;
        self.at += usize::from(is_next);
        is_next
    }

    fn error<T>(&self, expected: &str) -> Result<T> {
        Err(format!("line {}: expected {expected}, found `{}`", self.line(), self.peek()))
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { self.error(&format!("`{word}`")) }
    }

    /// Parses a name whose first letter is upper-case if `upper` is `true`, otherwise lower-case.
    fn name(&mut self, upper: bool) -> Result<String> {
        let first = self.peek().chars().next().unwrap_or(' ');
        if first.is_ascii_alphabetic() && first.is_ascii_uppercase() == upper {
            return Ok(self.next().to_owned());
        }
        self.error("a name")
    }

    /// Parses elements between two words, with commas between them.
    fn list<T>(&mut self, open: &str, close: &str, one: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(open)?;
        let mut all = Vec::new();
        while !self.take(close) {
            if !all.is_empty() {
                self.expect(",")?;
            }
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: fn(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return self.error("less nesting");
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn field(&mut self) -> Result<(String, Type)> {
        let name = self.name(false)?;
        self.expect(":")?;
        Ok((name, self.ty()?))
    }

    fn ty(&mut self) -> Result<Type> {
        self.nested(|parser| match parser.peek() {
            "int" | "str" => Ok(if parser.next() == "int" { Type::Int } else { Type::Str }),
            "fn" => {
                parser.at += 1;
                let params = parser.list("(", ")", Parser::ty)?;
                Ok(Type::Fn(params, Box::new(parser.ty()?)))
            }
            _ => parser.name(true).map(Type::Struct),
        })
    }

    /// Parses a function after its name.
    fn function(&mut self, line: u32, name: String) -> Result<Function> {
        let around = std::mem::take(&mut self.mentioned);
        let params = self.list("(", ")", Parser::field)?;
        let result = self.ty()?;
        let body = self.block()?;
        let mentioned = std::mem::replace(&mut self.mentioned, around);
        self.mentioned.extend(mentioned.iter().cloned());
        Ok(Function { line, name, params, result, body, mentioned })
    }

    fn block(&mut self) -> Result<Vec<Statement>> {
        self.nested(|parser| {
            parser.expect("{")?;
            let mut statements = Vec::new();
            while !parser.take("}") {
                statements.push(parser.statement()?);
            }
            Ok(statements)
        })
    }

    fn statement(&mut self) -> Result<Statement> {
        let line = self.line();
        if self.take("while") {
            return Ok(Statement::While(line, self.expression()?, self.block()?));
        }
        if self.take("if") {
            let (condition, then) = (self.expression()?, self.block()?);
            let otherwise = if self.take("else") { self.block()? } else { Vec::new() };
            return Ok(Statement::If(line, condition, then, otherwise));
        }
        let statement = if self.take("let") {
            let name = self.name(false)?;
            self.expect("=")?;
            Statement::Let(line, name, self.expression()?)
        } else if self.take("return") {
            Statement::Return(line, self.expression()?)
        } else {
            let left = self.expression()?;
            match self.take("=") {
                true => Statement::Assign(line, left, self.expression()?),
                false => Statement::Expression(left),
            }
        };
        self.expect(";")?;
        Ok(statement)
    }

    fn expression(&mut self) -> Result<Expression> {
        self.nested(|parser| {
            let left = parser.sum()?;
            match ["<", "=="].into_iter().find(|operator| parser.take(operator)) {
                Some(operator) => Ok(binary(operator, left, parser.sum()?)),
                None => Ok(left),
            }
        })
    }

    fn sum(&mut self) -> Result<Expression> {
        let mut left = self.product()?;
        while let Some(operator) = ["+", "-"].into_iter().find(|operator| self.take(operator)) {
            left = binary(operator, left, self.product()?);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression> {
        let mut left = self.postfix()?;
        while let Some(operator) = ["*", "/"].into_iter().find(|operator| self.take(operator)) {
            left = binary(operator, left, self.postfix()?);
        }
        Ok(left)
    }

    fn postfix(&mut self) -> Result<Expression> {
        let mut left = self.atom()?;
        loop {
            let line = self.line();
            let kind = if self.take(".") {
                Kind::Field(Box::new(left), self.name(false)?)
            } else if self.peek() == "(" {
                Kind::Call(Box::new(left), self.list("(", ")", Parser::expression)?)
            } else {
                return Ok(left);
            };
            left = Expression { line, kind };
        }
    }

    fn atom(&mut self) -> Result<Expression> {
        let line = self.line();
        let kind = match self.peek().chars().next().unwrap_or(' ') {
            '(' => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            '"' => Kind::Str(self.next()[1..].to_owned()),
            '0'..='9' => match self.next().parse() {
                Ok(number) => Kind::Int(number),
                Err(_) => return self.error("a number below 2^63"),
            },
            'A'..='Z' => Kind::New(self.name(true)?, self.list("{", "}", Parser::expression)?),
            _ if self.take("fn") => Kind::Closure(Box::new(self.function(line, "closure".into())?)),
            _ => {
                let name = self.name(false)?;
                self.mentioned.insert(name.clone());
                Kind::Name(name)
            }
        };
        Ok(Expression { line, kind })
    }
}

fn binary(operator: &'static str, left: Expression, right: Expression) -> Expression {
    Expression { line: left.line, kind: Kind::Binary(operator, Box::new((left, right))) }
}
