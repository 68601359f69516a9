//! Documentation of the opcodes, generated from the rows of the table.

use std::fmt::Write;

use crate::opcodes::{Opcode, OpcodeInfo, Suffix};
use crate::type_class::{Constraint, TypeClass};

/// Sections of the reference: the title, and the first opcode.
const SECTIONS: &[(&str, Opcode)] = &[
    ("Control flow and calls", Opcode::Jump),
    ("Memory", Opcode::Load),
    ("Atomic accesses", Opcode::AtomicRmw),
    ("Special registers", Opcode::GetPinnedReg),
    ("Constants", Opcode::Iconst),
    ("Selection and reduction to a flag", Opcode::Select),
    ("Integer comparison and arithmetic", Opcode::Icmp),
    ("Integer arithmetic with overflow", Opcode::UaddOverflow),
    ("Bit operations", Opcode::Band),
    ("Integer conversions", Opcode::Ireduce),
    ("Floating point", Opcode::Fcmp),
    ("Floating-point conversions", Opcode::Fpromote),
    ("Vectors: lanes and shuffles", Opcode::Splat),
    ("Vectors: arithmetic and width", Opcode::UaddSat),
];

/// Returns a Markdown table of opcodes for each kind: operands, results, suffix rule, properties, meaning.
pub fn opcode_docs() -> String {
    let mut text = String::new();
    for &opcode in Opcode::ALL {
        let info = opcode.info();
        // Writing to a string does not fail.
        if let Some((title, _)) = SECTIONS.iter().find(|&&(_, first)| first == opcode) {
            let _ = writeln!(
                text,
                "\n## {title}\n\n| opcode | operands | results | suffix | properties | meaning |\n|---|---|---|---|---|---|",
            );
        }
        let _ = writeln!(
            text,
            "| `{opcode}` | {} | {} | {} | {} | {} |",
            typed(info, info.operand_names, info.operands),
            typed(info, info.result_names, info.results),
            suffix(info),
            properties(opcode),
            info.doc.replace('|', "\\|"),
        );
    }
    text
}

/// Returns the names and the texts of the columns of the row of `opcode`, but for its name and its meaning. Empty
/// texts are `-`.
pub fn opcode_row(opcode: Opcode) -> [(&'static str, String); 6] {
    let info = opcode.info();
    [
        ("operands", typed(info, info.operand_names, info.operands)),
        ("results", typed(info, info.result_names, info.results)),
        ("type", format!("{}: {}", info.class.name(), info.class.description().to_lowercase())),
        ("suffix", suffix(info)),
        ("properties", properties(opcode)),
        ("format", format!("{:?}", info.format)),
    ]
}

/// Returns the row of `opcode`, one line per column.
pub fn opcode_doc(opcode: Opcode) -> String {
    let mut text = format!("{opcode}: {}\n", opcode.info().doc);
    for (name, value) in opcode_row(opcode) {
        if value != "-" {
            let _ = writeln!(text, "  {name:<11} {value}");
        }
    }
    text
}

fn typed(info: &OpcodeInfo, names: &[&str], constraints: &[Constraint]) -> String {
    let entries: Vec<String> = names
        .iter()
        .zip(constraints)
        .map(|(name, constraint)| match constraint {
            Constraint::Same => format!("{name}: {}", info.class.name()),
            other => format!("{name}: {}", other.describe()),
        })
        .collect();
    if entries.is_empty() { "-".to_string() } else { entries.join(", ") }
}

fn suffix(info: &OpcodeInfo) -> String {
    match info.suffix {
        Suffix::None => "none".to_string(),
        Suffix::Required => "required".to_string(),
        Suffix::From(index) => format!("from {}", info.operand_names[usize::from(index)]),
    }
}

fn properties(opcode: Opcode) -> String {
    let mut words: Vec<String> = [
        (opcode.is_terminator(), "terminator"),
        (opcode.is_branch(), "branch"),
        (opcode.is_call(), "call"),
        (opcode.is_return(), "return"),
        (opcode.can_load(), "load"),
        (opcode.can_store(), "store"),
        (opcode.has_memory_flags(), "traps by its flags"),
        (opcode.is_mergeable_trap(), "mergeable trap"),
        (opcode.other_side_effects(), "other effects"),
    ]
    .into_iter()
    .filter(|(holds, _)| *holds)
    .map(|(_, word)| word.to_string())
    .collect();
    words.extend(opcode.trap_codes().map(|code| format!("`{code}`")));
    if words.is_empty() { "-".to_string() } else { words.join(", ") }
}

/// Returns a Markdown table of the type classes that the opcode table uses, with the number of types, the first type
/// and the last type.
pub fn type_class_docs() -> String {
    let mut text = String::from("| class | meaning | types | first | last |\n|---|---|---|---|---|\n");
    for class in TypeClass::ALL.iter().filter(|&&class| class != TypeClass::No) {
        let types: Vec<_> = class.set().iter().collect();
        if let (Some(first), Some(last)) = (types.first(), types.last()) {
            let (name, meaning) = (class.name().replace('*', "\\*"), class.description());
            let _ = writeln!(text, "| {name} | {meaning} | {} | {first} | {last} |", types.len());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_per_opcode() {
        let docs = opcode_docs();
        assert_eq!(docs.lines().filter(|line| line.starts_with("| `")).count(), Opcode::ALL.len());
        assert_eq!(docs.lines().filter(|line| line.starts_with("## ")).count(), SECTIONS.len());
        let row = |name: &str| docs.lines().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(
            row("| `sdiv`"),
            "| `sdiv` | x: iB, y: iB | a: iB | from x | mergeable trap, `int_divz`, \
             `int_ovf` | Signed quotient, rounded to zero. Traps `int_divz` if `y` is 0 and \
             `int_ovf` for minimum / -1. |"
        );
        assert!(row("| `isplit`").contains("x: iW | lo: half width, hi: half width"));
        assert!(type_class_docs().contains("| iAddr | Addresses | 2 | i32 | i64 |"));
    }
}
