//! Run directives in comments.
//!
//! `run: %f(1) == 2`, `run: %f(1) != [2, 3]`, `run`, `print: %f(1)`, `print`, and one of this project:
//! `trap: %f(1) == int_divz` for a call that must end in a trap with this code. Upstream's tools treat the last as
//! an ordinary comment.

use kingpost_ir::signature::{AbiParam, Signature};
use kingpost_ir::{TrapCode, Type};

use crate::error::{Error, ErrorKind, Result, fault};
use crate::lexer::Lexer;
use crate::literal;
use crate::testfile::Comment;

/// A value of a type, as bits. Lane 0 of a vector has the lowest bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Datum {
    /// The type: a scalar, or a vector of at most sixteen bytes.
    pub ty: Type,
    /// The bits; zero above the type's width.
    pub bits: u128,
}

/// A call with its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// The function's name without `%`.
    pub name: String,
    /// The arguments, with the types of the signature's parameters.
    pub args: Vec<Datum>,
}

/// Comparison of results.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// All bits of all results are equal.
    Equals,
    /// Some bit of some result differs.
    NotEquals,
}

/// A directive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunCommand {
    /// Call and compare the results.
    Run {
        /// The call.
        invocation: Invocation,
        /// Comparison to make.
        comparison: Comparison,
        /// Expected values, with the types of the signature's results.
        expected: Vec<Datum>,
    },
    /// Call without arguments. The only result must not be 0.
    RunNonZero,
    /// Call and show the results.
    Print {
        /// The call; without arguments if `None`.
        invocation: Option<Invocation>,
    },
    /// Call and expect a trap.
    Trap {
        /// The call.
        invocation: Invocation,
        /// The code of the trap.
        code: TrapCode,
    },
}

impl RunCommand {
    /// Parses the directive in a comment. Returns `None` if there is none. Types are determined by the signature of
    /// the function to which the comment belongs.
    ///
    /// # Errors
    /// If the directive is malformed or does not fit the signature.
    pub fn parse(comment: &Comment, signature: &Signature) -> std::result::Result<Option<RunCommand>, Error> {
        let start = comment.text.bytes().take_while(|&byte| byte == b';' || byte == b' ').count();
        // A second semicolon begins a comment on the directive.
        let text = &comment.text.as_bytes()[start..];
        directive(&mut Lexer::new(text, false), signature).map_err(|fault| {
            let error = fault.locate(text);
            let column = comment.column + start as u32 + error.column - 1;
            Error { line: comment.line, column, offset: comment.start + start + error.offset, ..error }
        })
    }
}

fn directive(lexer: &mut Lexer, signature: &Signature) -> Result<Option<RunCommand>> {
    let command = match lexer.try_word() {
        Some(b"run") if lexer.eat(b':') => run(lexer, signature)?,
        Some(b"run") => {
            let returns = &signature.returns[..];
            let single = matches!(returns, [result] if result.value_type.is_int());
            if !single || !signature.params.is_empty() {
                return fault(lexer.position(), ErrorKind::BareDirective);
            }
            RunCommand::RunNonZero
        }
        Some(b"print") if lexer.eat(b':') => RunCommand::Print { invocation: Some(invocation(lexer, signature)?) },
        Some(b"print") => {
            if !signature.params.is_empty() {
                return fault(lexer.position(), ErrorKind::BareDirective);
            }
            RunCommand::Print { invocation: None }
        }
        Some(b"trap") if lexer.eat(b':') => {
            let invocation = invocation(lexer, signature)?;
            if !lexer.eat_pair(*b"==") {
                return lexer.expected("`==` and a trap code");
            }
            match lexer.try_word().and_then(TrapCode::from_name) {
                Some(code) => RunCommand::Trap { invocation, code },
                None => return lexer.expected("a trap code"),
            }
        }
        _ => return Ok(None),
    };
    if lexer.peek() != 0 || !lexer.at_end() {
        return lexer.expected("the end of the directive");
    }
    Ok(Some(command))
}

fn run(lexer: &mut Lexer, signature: &Signature) -> Result<RunCommand> {
    let invocation = invocation(lexer, signature)?;
    let comparison = if lexer.eat_pair(*b"==") {
        Comparison::Equals
    } else if lexer.eat_pair(*b"!=") {
        Comparison::NotEquals
    } else {
        return lexer.expected("`==` or `!=`");
    };
    let expected = results(lexer, &signature.returns)?;
    Ok(RunCommand::Run { invocation, comparison, expected })
}

fn invocation(lexer: &mut Lexer, signature: &Signature) -> Result<Invocation> {
    let Some(name) = lexer.try_name() else { return lexer.expected("a function as `%name`") };
    lexer.expect(b'(', "`(` and the arguments")?;
    let args = values(lexer, &signature.params, b')', "arguments")?;
    Ok(Invocation { name: name.to_string(), args })
}

/// Parses one value, or any number of values in brackets. A single vector may be written in its own brackets only.
fn results(lexer: &mut Lexer, returns: &[AbiParam]) -> Result<Vec<Datum>> {
    if let [result] = returns
        && (lexer.peek() != b'[' || (result.value_type.is_vector() && !doubly_bracketed(lexer)))
    {
        return Ok(vec![value(lexer, result.value_type)?]);
    }
    lexer.expect(b'[', "`[` and the results")?;
    values(lexer, returns, b']', "results")
}

fn doubly_bracketed(lexer: &mut Lexer) -> bool {
    let position = lexer.position();
    let doubly = lexer.eat(b'[') && matches!(lexer.peek(), b'[');
    lexer.set_position(position);
    doubly
}

/// Parses values with commas between them, up to the closing bracket.
fn values(lexer: &mut Lexer, params: &[AbiParam], close: u8, what: &'static str) -> Result<Vec<Datum>> {
    let mut values = Vec::new();
    lexer.skip();
    let start = lexer.position();
    if !lexer.eat(close) {
        loop {
            let Some(param) = params.get(values.len()) else {
                return fault(start, ErrorKind::ValueCount { what, expected: params.len(), found: values.len() + 1 });
            };
            values.push(value(lexer, param.value_type)?);
            if !lexer.eat(b',') {
                lexer.expect(close, "`,` or the closing bracket")?;
                break;
            }
        }
    }
    if values.len() != params.len() {
        return fault(start, ErrorKind::ValueCount { what, expected: params.len(), found: values.len() });
    }
    Ok(values)
}

fn value(lexer: &mut Lexer, ty: Type) -> Result<Datum> {
    if ty.is_scalar() {
        return Ok(Datum { ty, bits: literal::scalar(lexer, ty)? });
    }
    lexer.skip();
    if !ty.is_vector() || ty.bytes() > 16 {
        return fault(lexer.position(), ErrorKind::UnsupportedType(ty));
    }
    let bytes = literal::vector(lexer, ty)?;
    let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
    Ok(Datum { ty, bits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::AnyEntity;
    use kingpost_ir::signature::CallConv;
    use kingpost_ir::types::{F32, I8, I16X4, I32, I128};

    fn check(text: &str, params: &[Type], returns: &[Type]) -> std::result::Result<Option<RunCommand>, String> {
        let mut signature = Signature::new(CallConv::Fast);
        signature.params.extend(params.iter().map(|&ty| AbiParam::new(ty)));
        signature.returns.extend(returns.iter().map(|&ty| AbiParam::new(ty)));
        let comment = Comment { entity: AnyEntity::Function, text, start: 40, line: 7, column: 3 };
        RunCommand::parse(&comment, &signature).map_err(|error| error.to_string())
    }

    fn bits(text: &str, returns: &[Type]) -> Vec<u128> {
        match check(text, &[], returns) {
            Ok(Some(RunCommand::Run { expected, .. })) => expected.iter().map(|datum| datum.bits).collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn errors_have_their_place_in_the_file() {
        let comment = Comment { entity: AnyEntity::Function, text: "; run: ?", start: 40, line: 7, column: 3 };
        let error = RunCommand::parse(&comment, &Signature::new(CallConv::Fast)).unwrap_err();
        assert_eq!((error.line, error.column, error.offset), (7, 10, 47));
    }

    #[test]
    fn directives() {
        assert_eq!(
            check("; run: %f(-1, 0x1.0) == 255", &[I8, F32], &[I8]),
            Ok(Some(RunCommand::Run {
                invocation: Invocation {
                    name: "f".into(),
                    args: vec![Datum { ty: I8, bits: 255 }, Datum { ty: F32, bits: 0x3f80_0000 }],
                },
                comparison: Comparison::Equals,
                expected: vec![Datum { ty: I8, bits: 255 }],
            }))
        );
        assert_eq!(check(";; run ; why", &[], &[I32]), Ok(Some(RunCommand::RunNonZero)));
        assert_eq!(check("; print", &[], &[]), Ok(Some(RunCommand::Print { invocation: None })));
        let Ok(Some(RunCommand::Trap { code, .. })) = check("; trap: %f() == int_divz", &[], &[]) else {
            panic!("a trap directive")
        };
        assert_eq!(code, TrapCode::INTEGER_DIVISION_BY_ZERO);
        for text in ["; running", "; check: x", ";", "; traps are bad"] {
            assert_eq!(check(text, &[], &[]), Ok(None), "{text}");
        }
    }

    #[test]
    fn results() {
        assert_eq!(bits("; run: %f() == []", &[]), []);
        assert_eq!(bits("; run: %f() == [1, -1]", &[I8, I32]), [1, 0xffff_ffff]);
        assert_eq!(bits("; run: %f() == [1 2 3 4]", &[I16X4]), [0x0004_0003_0002_0001]);
        assert_eq!(bits("; run: %f() == [[1 2 3 4], 5]", &[I16X4, I8]), [0x0004_0003_0002_0001, 5]);
        assert_eq!(bits("; run: %f() == 0x0102", &[I16X4]), [0x0102]);
        assert_eq!(bits("; run: %f() == -1", &[I128]), [u128::MAX]);
        assert_eq!(bits("; run: %f() == [5]", &[I8]), [5]);
    }

    #[test]
    fn errors() {
        let error = |text, params: &[Type], returns: &[Type]| check(text, params, returns).unwrap_err();
        assert_eq!(error("; run: %f(300) == 1", &[I8], &[I8]), "7:13: number out of range");
        assert_eq!(
            error("; run", &[I8], &[I8]),
            "7:8: without an invocation the function must have no parameters, and for `run` one integer result"
        );
        assert_eq!(error("; run: %f() == 1", &[I8], &[I8]), "7:13: the function has 1 argument, the directive 0");
        assert_eq!(error("; run: %f() = 1", &[], &[I8]), "7:15: expected `==` or `!=`, found `=`");
        assert_eq!(error("; run: %f() == 1 2", &[], &[I8]), "7:20: expected the end of the directive, found `2`");
        assert_eq!(error("; trap: %f() == why", &[], &[]), "7:22: expected a trap code, but the text ends here");
    }
}
