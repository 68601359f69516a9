//! Trampolines: from memory to arguments, from results to memory.
//!
//! Values in memory are 16 bytes apart. Integers narrower than 64 bits are loaded with arbitrary bits above them
//! and truncated by `ireduce`, so that the callee gets them with undefined bits above their width, as the
//! convention allows.

use std::fmt::Write;

use kingpost_ir::{Function, Type};
use kingpost_reader::{Error, parse_functions};

/// Bytes from one value to the next.
pub(crate) const SLOT_BYTES: usize = 16;

/// Returns the name of a trampoline, without the sign.
pub(crate) fn name(number: usize) -> String {
    format!("__kingpost_call_{number}")
}

/// Returns the trampoline of a function: it has the name `%__kingpost_call_NUMBER`.
///
/// # Errors
/// If its text cannot be read, which would be a bug of this crate.
pub fn trampoline(number: usize, callee: &Function) -> Result<Function, Error> {
    let functions = parse_functions(text(number, callee))?;
    Ok(functions.into_iter().next().unwrap_or_default())
}

fn text(number: usize, callee: &Function) -> String {
    let signature = &callee.signature;
    let mut text = format!("function %{}(i64) system_v {{\n", name(number));
    let mut line = |args: std::fmt::Arguments| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{args}");
    };
    line(format_args!("fn0 = {} {}", callee.name, signature));
    line(format_args!("block0(v0: i64):"));
    // v0 is the memory; argument N is v(2N+2), with v(2N+1) for the loaded value.
    for (index, param) in signature.params.iter().enumerate() {
        let (ty, offset) = (param.value_type, index * SLOT_BYTES);
        let (loaded, argument) = (2 * index + 1, 2 * index + 2);
        if is_narrow(ty) {
            line(format_args!("v{loaded} = load.i64 notrap aligned v0+{offset}"));
            line(format_args!("v{argument} = ireduce.{ty} v{loaded}"));
        } else {
            line(format_args!("v{argument} = load.{ty} notrap aligned v0+{offset}"));
        }
    }
    let list = |first: usize, step: usize, count: usize| {
        let values: Vec<String> = (0..count).map(|index| format!("v{}", first + step * index)).collect();
        values.join(", ")
    };
    let first_result = 2 * signature.params.len() + 1;
    let results = list(first_result, 1, signature.returns.len());
    let equals = if results.is_empty() { "" } else { " = " };
    line(format_args!("{results}{equals}call fn0({})", list(2, 2, signature.params.len())));
    for index in 0..signature.returns.len() {
        line(format_args!("store notrap aligned v{}, v0+{}", first_result + index, index * SLOT_BYTES));
    }
    line(format_args!("return\n}}"));
    text
}

fn is_narrow(ty: Type) -> bool {
    ty.is_int() && ty.bits() < 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::verifier::verify;

    #[test]
    fn trampolines_are_valid() {
        for (signature, calls) in [
            ("()", "call fn0()"),
            ("(i8 sext, f64, i64) -> i16, f32 tail", "v7, v8 = call fn0(v2, v4, v6)"),
            ("(i128, i32x4) -> i128", "v5 = call fn0(v2, v4)"),
        ] {
            let callee = parse_functions(format!("function u3:4{signature} {{ block0: trap user1 }}"));
            let callee = callee.unwrap().remove(0);
            let function = trampoline(7, &callee).unwrap();
            assert_eq!(verify(&function, None), Ok(()), "{function}");
            let text = function.to_string();
            assert!(text.contains(calls) && text.contains("%__kingpost_call_7(i64)"), "{text}");
        }
    }
}
