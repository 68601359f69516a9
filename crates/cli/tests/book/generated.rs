//! Chapters that are generated from tables of the source.

use kingpost_ir::opcodes::Opcode;
use std::fmt::Write;

/// Returns the path and the text of each generated chapter.
pub(crate) fn all() -> Vec<(&'static str, String)> {
    vec![("docs/ir/opcodes.md", opcodes())]
}

/// Returns the reference of all opcodes.
fn opcodes() -> String {
    let mut text = String::from(
        "# Opcodes\n\n\
         This chapter is generated from the table in `crates/ir/src/opcodes.rs` by `make bless`; `kingpost opcodes NAME` prints\n\
         one entry. [The language](language.md) explains the notation of types.\n\n",
    );
    let _ = write!(text, "{} opcodes.\n\n## Types\n\n", Opcode::ALL.len());
    text.push_str(&kingpost_ir::docs::type_class_docs());
    text.push_str("\n## Table\n\n");
    text.push_str(&kingpost_ir::docs::opcode_docs());
    text
}
