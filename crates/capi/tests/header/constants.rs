//! Constants of the header that come from tables of the compiler.

use super::generate::comment;
use kingpost::ir::atomic_rmw_op::AtomicRmwOp;
use kingpost::ir::condcodes::{FloatCC, IntCC};
use kingpost::ir::{Opcode, TrapCode, Type, types};
use kingpost_capi::MEMORY_FLAGS;
use std::fmt::Write;

/// Returns the constants.
pub(crate) fn text() -> String {
    let mut text = String::new();
    let linkages = ["IMPORT", "LOCAL", "HIDDEN", "PREEMPTIBLE", "EXPORT", "LINK_ONCE"];
    let meaning = [
        "Defined elsewhere.",
        "Defined here, visible only here.",
        "Defined here, visible in everything that is linked statically.",
        "Defined here, visible everywhere, may be overridden when linked.",
        "Defined here, visible everywhere.",
        "Defined here and equally in other objects, visible everywhere; linkers keep one definition and discard the others.",
    ];
    let rows = linkages.iter().zip(meaning).enumerate();
    group(
        &mut text,
        "Linkage: place where a name is defined, and its visibility.",
        rows.map(|(value, (name, docs))| (format!("KP_{name}"), value as u32, docs.to_string())),
    );
    let kinds = [
        ("READ_ONLY", "Contents that never change."),
        ("WRITABLE", "Contents that the program may change."),
        ("THREAD_LOCAL", "A copy for each thread, which the thread may change."),
    ];
    let rows = kinds.iter().enumerate();
    group(
        &mut text,
        "Use of a data object.",
        rows.map(|(value, (name, docs))| (format!("KP_DATA_{name}"), value as u32, docs.to_string())),
    );
    types(&mut text);
    opcodes(&mut text);
    conditions(&mut text);
    group(
        &mut text,
        "Reasons of traps; 1 to 250 are reasons of the front end.",
        (251..=255).filter_map(TrapCode::from_byte).map(|code| {
            let name = code.to_string();
            (format!("KP_TRAP_{}", name.to_uppercase()), u32::from(code.byte()), String::new())
        }),
    );
    let flags = MEMORY_FLAGS.iter().enumerate();
    group(
        &mut text,
        "Flags of memory accesses. They may be combined with the reason of the trap of an access that faults, which is \
         KP_TRAP_HEAP_OOB otherwise.",
        flags.map(|(bit, (name, docs))| (format!("KP_MEM_{name}"), 1 << (8 + bit), docs.to_string())),
    );
    text
}

fn types(text: &mut String) {
    let scalars =
        [types::I8, types::I16, types::I32, types::I64, types::I128, types::F16, types::F32, types::F64, types::F128];
    let vectors = [
        types::I8X8,
        types::I8X16,
        types::I16X4,
        types::I16X8,
        types::I32X2,
        types::I32X4,
        types::I64X2,
        types::F32X4,
        types::F64X2,
    ];
    let infer = ("KP_INFER".to_string(), 0, "The opcode and the operands determine the type.".to_string());
    let known = scalars.into_iter().chain(vectors);
    let row = |ty: Type| (format!("KP_{}", ty.to_string().to_uppercase()), u32::from(ty.code()), String::new());
    let docs = "Types: integers, floats and vectors. A vector of 2^N lanes is its lane type plus 16 times N.";
    group(text, docs, std::iter::once(infer).chain(known.map(row)));
}

fn opcodes(text: &mut String) {
    let rows = Opcode::ALL.iter().enumerate().map(|(value, opcode)| {
        let name = opcode.to_string();
        (format!("KP_OP_{}", name.to_uppercase()), value as u32, opcode.info().doc.to_string())
    });
    group(text, "Opcodes, with their meaning. `p` is an address; `x`, `y` and `c` are operands.", rows);
}

fn conditions(text: &mut String) {
    let row = |head: &str, value: usize, name: String| {
        (format!("KP_{head}_{}", name.to_uppercase()), value as u32, String::new())
    };
    let ints = IntCC::ALL.iter().enumerate();
    group(
        text,
        "Conditions of integer comparisons: equal, not equal, then signed and unsigned ones.",
        ints.map(|(value, condition)| row("INT", value, condition.to_string())),
    );
    let floats = FloatCC::ALL.iter().enumerate();
    group(
        text,
        "Conditions of float comparisons. ORD: neither is a NaN; UNO: one is; U before another name: or one is a NaN.",
        floats.map(|(value, condition)| row("FLOAT", value, condition.to_string())),
    );
    let operations = AtomicRmwOp::ALL.iter().enumerate();
    group(
        text,
        "Operations of kp_ins_atomic_rmw.",
        operations.map(|(value, operation)| row("RMW", value, operation.to_string())),
    );
}

/// Writes an enumeration of constants.
fn group(text: &mut String, docs: &str, rows: impl Iterator<Item = (String, u32, String)>) {
    comment(text, "", wrap(docs, 114).iter().map(String::as_str));
    text.push_str("enum {\n");
    let rows: Vec<_> = rows.collect();
    for (index, (name, value, docs)) in rows.iter().enumerate() {
        if !docs.is_empty() {
            comment(text, "    ", wrap(docs, 110).iter().map(String::as_str));
        }
        let _ = writeln!(text, "    {name} = {value}{}", if index + 1 < rows.len() { "," } else { "" });
    }
    text.push_str("};\n\n");
}

/// Returns the text in lines of up to `width` characters.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}
