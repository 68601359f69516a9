//! Names of CLIF in the generated Rust.

use super::super::Condition;
use kingpost_ir::{Opcode, Type};

/// Returns a variable for a path of operands: `a0_1` is the second operand of the first operand.
pub(super) fn snake_path(letter: &str, path: &[usize]) -> String {
    let numbers: Vec<String> = path.iter().map(usize::to_string).collect();
    format!("{letter}{}", numbers.join("_"))
}

/// Returns a name in camel case: `add_zero` becomes `AddZero`.
pub(super) fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + chars.as_str())
    };
    name.split('_').map(capital).collect()
}

pub(super) fn opcode_name(opcode: Opcode) -> String {
    format!("Opcode::{}", camel_case(opcode.name()))
}

pub(super) fn condition_code(condition: Condition) -> String {
    match condition {
        Condition::Int(condition) => format!("IntCC::{condition:?}"),
        Condition::Float(condition) => format!("FloatCC::{condition:?}"),
    }
}

pub(super) fn type_name(ty: Type) -> String {
    format!("types::{}", ty.to_string().to_uppercase())
}
