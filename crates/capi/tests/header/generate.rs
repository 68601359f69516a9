//! Writes the header.

use super::constants;
use super::rust::{self, Function};
use std::fmt::Write;

/// The files of the interface in the order of the header.
const FILES: &[&str] = &[
    "version.rs",
    "buffer.rs",
    "config.rs",
    "module.rs",
    "text.rs",
    "addresses.rs",
    "builder.rs",
    "annotations.rs",
    "instructions.rs",
    "allocator.rs",
    "research.rs",
];

/// Kinds of handles: type in Rust, name in C, and meaning.
const HANDLES: &[(&str, &str, &str)] = &[
    ("Config", "kp_config", "Target, settings and allocator of modules."),
    ("Buffer", "kp_buffer", "Bytes or text of the library."),
    ("Module", "kp_module", "Functions and data that become code in memory or an object."),
    ("Builder", "kp_builder", "A function that is being built."),
    ("FunctionItem", "kp_function", "A function of a module; valid as long as the module."),
    ("DataItem", "kp_data", "A data object of a module; valid as long as the module."),
    (
        "ValueItem",
        "kp_value",
        "A value of a function that is built; valid as long as its builder, as are the next ones.",
    ),
    ("BlockItem", "kp_block", "A block: instructions that are executed one after the other."),
    ("VariableItem", "kp_variable", "A variable, which may be assigned many times."),
    ("SlotItem", "kp_slot", "Bytes in the frame of a function."),
    ("CalleeItem", "kp_callee", "A function that can be called."),
    ("SignatureItem", "kp_signature", "A signature of calls through addresses."),
];

const INTRODUCTION: &str = "\
kingpost.h: the C interface of the compiler back end Kingpost.

This file is generated from the sources in crates/capi: do not edit it.

Handles: an object is referred to by a handle, a number in a structure. A handle whose bits are all zero is null. A
null handle, or one of an object that was freed, is an error of the call and never undefined behavior.

Errors: a function that can fail returns KP_OK or another kp_status, and stores status and message in `error`, which
may be null. Results are stored only after success. A panic of the library does not leave it: it is KP_ERROR_BUG.

Memory: a pointer is null, or it points to what the parameter's name and comment say, for the time of the call. The
library keeps no pointer to texts, arrays and results of the caller. A place for a result may be null if the result
is not wanted, unless the result is an object to be freed. Texts are UTF-8.

Threads: every function may be called in every thread. A call that uses an object while another call uses it fails
with KP_ERROR_BUSY and changes nothing. Different objects are independent.";

/// Returns the header.
pub(crate) fn header() -> String {
    let mut text = String::new();
    comment(&mut text, "", INTRODUCTION.lines());
    text.push_str("#ifndef KINGPOST_H\n#define KINGPOST_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n");
    let version = env!("CARGO_PKG_VERSION");
    let numbers: Vec<u32> = version.split('.').map(|part| part.parse().expect("a number")).collect();
    let number = numbers.iter().fold(0, |number, part| number * 100 + part);
    comment(&mut text, "", ["The version of this header: major times 10000, minor times 100, and patch."]);
    let _ = writeln!(text, "#define KINGPOST_VERSION {number}\n#define KINGPOST_VERSION_STRING \"{version}\"\n");
    text.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (_, name, docs) in HANDLES {
        comment(&mut text, "", [*docs]);
        let _ = writeln!(text, "typedef struct {name} {{ uint64_t bits; }} {name};\n");
    }
    statuses(&mut text);
    text.push_str(&constants::text());
    for file in ["error.rs"].iter().chain(FILES) {
        let file = rust::read(file);
        let has_functions = !file.functions.is_empty();
        if has_functions {
            let _ = writeln!(text, "/* ---- {} ---- */\n", file.title.trim_end_matches('.'));
        }
        for structure in &file.structures {
            let name = c_name(&structure.name);
            comment(&mut text, "", structure.docs.iter().map(String::as_str));
            let _ = writeln!(text, "typedef struct {name} {{");
            for (docs, field, ty) in &structure.fields {
                comment(&mut text, "    ", docs.iter().map(String::as_str));
                let _ = writeln!(text, "    {};", declaration(field, ty));
            }
            let _ = writeln!(text, "}} {name};\n");
        }
        for callback in &file.callbacks {
            comment(&mut text, "", callback.docs.iter().map(String::as_str));
            let head = format!("(*{})", c_name(&callback.name));
            let _ = writeln!(text, "typedef {};\n", prototype(&head, &callback.parameters, &callback.result));
        }
        file.functions.iter().for_each(|function| write_function(&mut text, function));
    }
    text.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

fn write_function(text: &mut String, function: &Function) {
    comment(text, "", function.docs.iter().map(String::as_str));
    let _ = writeln!(text, "{};\n", prototype(&function.name, &function.parameters, &function.result));
}

/// Returns a prototype, in lines of up to 110 columns.
fn prototype(name: &str, parameters: &[(String, String)], result: &str) -> String {
    let result = if result.is_empty() { "void".into() } else { c_type(result) };
    let mut text = format!("{}{name}(", pointer_to(&result));
    let mut column = text.len();
    for (index, (parameter, ty)) in parameters.iter().enumerate() {
        let comma = if index + 1 < parameters.len() { ", " } else { "" };
        let part = format!("{}{comma}", declaration(parameter, ty));
        if column + part.len() > 108 {
            text.truncate(text.trim_end().len());
            text.push_str("\n    ");
            column = 4;
        }
        column += part.len();
        text.push_str(&part);
    }
    if parameters.is_empty() {
        text.push_str("void");
    }
    text.push(')');
    text
}

/// Returns the declaration of a parameter or field.
fn declaration(name: &str, ty: &str) -> String {
    match ty.strip_prefix('[').and_then(|ty| ty.strip_suffix(']')).and_then(|ty| ty.split_once("; ")) {
        Some((element, count)) => {
            let count = if count == "MESSAGE" { "1000" } else { count };
            format!("{} {name}[{count}]", c_type(element))
        }
        None => format!("{}{name}", pointer_to(&c_type(ty))),
    }
}

/// Returns a type with the space that separates it from a name.
fn pointer_to(ty: &str) -> String {
    if ty.ends_with('*') { ty.to_string() } else { format!("{ty} ") }
}

/// Returns the type of C for a type of Rust.
fn c_type(ty: &str) -> String {
    let inside = |ty: &str, head: &str| Some(ty.strip_prefix(head)?.strip_suffix('>')?.to_string());
    if let Some(inner) = inside(ty, "Out<'_, ") {
        return format!("{}*", pointer_to(&c_type(&inner)));
    }
    if let Some(inner) = inside(ty, "Array<'_, ") {
        return match inner.as_str() {
            "Address" => format!("{}const *", pointer_to(&c_type(&inner))),
            _ => format!("const {}*", pointer_to(&c_type(&inner))),
        };
    }
    if let Some(inner) = inside(ty, "Handle<") {
        let known = HANDLES.iter().find(|(name, ..)| *name == inner);
        return known.unwrap_or_else(|| panic!("no kind of handle: {inner}")).1.into();
    }
    match ty {
        "u8" => "uint8_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        "f32" => "float",
        "f64" => "double",
        "usize" => "size_t",
        "c_char" => "char",
        "Status" => "kp_status",
        "Text<'_>" | "Lent" => "const char *",
        "Address" => "const void *",
        "User" => "void *",
        name if name.starts_with(char::is_uppercase) => return c_name(name),
        other => panic!("no type of C for `{other}`"),
    }
    .into()
}

/// Returns the name of a structure or callback in C: `StackMap` is `kp_stack_map`.
fn c_name(name: &str) -> String {
    let mut text = String::from("kp");
    for c in name.chars() {
        if c.is_uppercase() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// Writes the values of `Status`.
fn statuses(text: &mut String) {
    let source = rust::source("error.rs");
    let body = source.split("pub enum Status {").nth(1).and_then(|rest| rest.split('}').next()).expect("the statuses");
    comment(text, "", ["Result of a function that can fail."]);
    text.push_str("typedef int32_t kp_status;\n\nenum {\n");
    let count = body.matches(" = ").count();
    let (mut docs, mut index) = (Vec::new(), 0);
    for line in body.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("/// ") {
            docs.push(doc);
        } else if let Some((name, value)) = line.trim_end_matches(',').split_once(" = ") {
            index += 1;
            comment(text, "    ", docs.drain(..));
            let name = if name == "Ok" { "KP_OK".into() } else { format!("KP_ERROR_{}", name.to_uppercase()) };
            let _ = writeln!(text, "    {name} = {value}{}", if index < count { "," } else { "" });
        }
    }
    text.push_str("};\n\n");
}

/// Writes a comment.
pub(crate) fn comment<'a>(text: &mut String, indent: &str, lines: impl IntoIterator<Item = &'a str>) {
    let lines: Vec<String> = lines.into_iter().map(|line| line.replace("*/", "* /")).collect();
    match &lines[..] {
        [] => {}
        [line] => {
            let _ = writeln!(text, "{indent}/* {line} */");
        }
        lines => {
            for (index, line) in lines.iter().enumerate() {
                let start = if index == 0 { "/*" } else { " *" };
                let _ = writeln!(text, "{}", format!("{indent}{start} {line}").trim_end());
            }
            let _ = writeln!(text, "{indent} */");
        }
    }
}
