//! Signatures, and the names of functions and symbols.

use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_ir::libcall::{KnownSymbol, LibCall};
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use kingpost_ir::{MAX_VALUES_PER_OWNER, Type, UserNameRef};
use smallvec::{Array, SmallVec};

use crate::context::Context;
use crate::error::{ErrorKind, Result, fault};
use crate::lexer::Lexer;
use crate::literal;

/// Parses `(`, parameters and `)`, and then `->` with results and a calling convention if there are any.
pub(crate) fn signature(lexer: &mut Lexer, default: CallConv, sig: &mut Signature) -> Result<()> {
    sig.clear(default);
    lexer.expect(b'(', "a signature")?;
    if !lexer.eat(b')') {
        params(lexer, &mut sig.params, Some(&mut sig.variadic))?;
        lexer.expect(b')', "`,` or `)`")?;
    }
    if lexer.eat_pair(*b"->") {
        params(lexer, &mut sig.returns, None)?;
    }
    if lexer.peek().is_ascii_alphabetic() {
        let position = lexer.position();
        let word = lexer.word("a calling convention")?;
        match CallConv::from_name(word) {
            Some(conv) => sig.call_conv = conv,
            // In a preamble the word may begin the next line.
            None => lexer.set_position(position),
        }
    }
    Ok(())
}

/// Parses parameters or results. If `variadic` is given, one `...` is allowed among them, and its index is stored
/// there.
fn params<A: Array<Item = AbiParam>>(
    lexer: &mut Lexer,
    params: &mut SmallVec<A>,
    mut variadic: Option<&mut Option<u32>>,
) -> Result<()> {
    for _ in 1..MAX_VALUES_PER_OWNER {
        match variadic.take_if(|_| lexer.eat_pair(*b"..")) {
            Some(fixed) => {
                lexer.expect(b'.', "`...`")?;
                *fixed = Some(params.len() as u32);
            }
            None => params.push(param(lexer)?),
        }
        if !lexer.eat(b',') {
            return Ok(());
        }
    }
    let limit = u64::from(MAX_VALUES_PER_OWNER) - 1;
    fault(lexer.position(), ErrorKind::Limit { what: "the number of parameters or results", limit })
}

fn param(lexer: &mut Lexer) -> Result<AbiParam> {
    lexer.skip();
    let position = lexer.position();
    let word = lexer.word("a type")?;
    let Some(ty) = Type::from_name(word) else {
        return fault(position, ErrorKind::UnknownType(String::from_utf8_lossy(word).into()));
    };
    let mut param = AbiParam::new(ty);
    while let Some(word) = lexer.try_word() {
        match word {
            b"uext" => param.extension = ArgumentExtension::Uext,
            b"sext" => param.extension = ArgumentExtension::Sext,
            b"normal" => param.purpose = ArgumentPurpose::Normal,
            b"sret" => param.purpose = ArgumentPurpose::StructReturn,
            b"vmctx" => param.purpose = ArgumentPurpose::VmContext,
            b"va_list" => param.purpose = ArgumentPurpose::VariadicList,
            b"sarg" => {
                lexer.expect(b'(', "`(` and a size")?;
                param.purpose = ArgumentPurpose::StructArgument(literal::unsigned(lexer, "a size")?);
                lexer.expect(b')', "`)`")?;
            }
            word => {
                // The word belongs to the text after the parameters: a convention or the next line of a preamble.
                lexer.set_position(lexer.position() - word.len());
                break;
            }
        }
    }
    Ok(param)
}

/// Parses `%word` or `uN:M`.
pub(crate) fn function_name(lexer: &mut Lexer) -> Result<FuncName> {
    if let Some(name) = lexer.try_name() {
        return Ok(FuncName::Named(name.to_string()));
    }
    match user_name(lexer)? {
        Some((namespace, index)) => Ok(FuncName::User(namespace, index)),
        None => lexer.expected("a function name as `%name` or `u0:1`"),
    }
}

fn user_name(lexer: &mut Lexer) -> Result<Option<(u32, u32)>> {
    let Some(namespace) = lexer.try_entity("u") else { return Ok(None) };
    lexer.expect(b':', "`:` and an index")?;
    let index = lexer.entity("", "an index")?;
    Ok(Some((namespace, index)))
}

impl Context<'_, '_> {
    /// Parses the name of a function or symbol that is defined elsewhere.
    pub(crate) fn external_name(&mut self) -> Result<ExternalName> {
        if let Some(name) = self.lexer.try_name() {
            return Ok(named(name));
        }
        if let Some(number) = self.lexer.try_entity("userextname") {
            return Ok(ExternalName::User(UserNameRef::from_u32(number)));
        }
        match user_name(self.lexer)? {
            Some(name) => Ok(ExternalName::User(self.func.user_names.push(name))),
            None => self.lexer.expected("a name as `%name` or `u0:1`"),
        }
    }
}

fn named(name: &str) -> ExternalName {
    // Only names with a capital letter can be library routines or known symbols.
    if !name.starts_with(|first: char| first.is_ascii_uppercase()) {
        return ExternalName::Named(name.into());
    }
    let routine = LibCall::from_name(name.as_bytes()).map(ExternalName::LibCall);
    let symbol = || KnownSymbol::from_name(name.as_bytes()).map(ExternalName::KnownSymbol);
    routine.or_else(symbol).unwrap_or_else(|| ExternalName::Named(name.into()))
}
