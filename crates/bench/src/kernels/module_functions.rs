//! Functions of real WebAssembly modules: those that run long on a made-up memory.
//!
//! A module's functions cannot run as in its programs, because its data and its runtime are not in the CLIF. They run on a
//! linear memory of small numbers and addresses instead, which `linear_memory.c` makes anew before each call. All
//! compilers run the same function on the same memory, and must leave the same memory. To choose the functions, all
//! functions of each module were called in this way, with pointers and lengths as arguments. The rows are some that returned
//! without a trap, left the same memory each time, ran long and are unlike each other: two of a module, if it has two.
//!
//! A function brings along the functions that it calls. An entry of our own, which is called from C, passes the arguments.

use super::kernel::Kernel;
use super::suite::Suite;
use anyhow::{Context, Result, anyhow, ensure};
use kingpost_ir::types::{F32, I32};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A function of a module.
struct Row {
    module: &'static str,
    /// Its number in the module.
    number: u32,
    /// Each argument after the runtime's two: `p` is a pointer, `n` the number 1000.
    arguments: &'static str,
    /// The result and the memory after the call, in one number.
    result: u64,
}

const fn row(module: &'static str, number: u32, arguments: &'static str, result: u64) -> Row {
    Row { module, number, arguments, result }
}

const ROWS: &[Row] = &[
    row("argon2", 6, "ppp", 0x5865a436417ce39),
    row("source-map", 7, "pppp", 0x4b0449942410416e),
    row("source-map", 54, "pnp", 0x82919211ec2ea5a0),
    row("zstd", 28, "ppppp", 0xacc1f962fa97435e),
    row("zstd", 123, "pppppp", 0xe730366f4f2e1d92),
    row("tree-sitter", 12, "pp", 0x5ed61648bc39d513),
    row("tree-sitter", 44, "p", 0x34d5c9b0c5131ce2),
    row("lua", 247, "ppnp", 0x144f5800c47d8514),
    row("lua", 304, "ppp", 0x608d9ea80097b6b2),
    row("tfjs-simd", 278, "pppnnnnnn", 0x79464ab523b4740c),
    row("tfjs-simd", 357, "pppp", 0x1dcd84445d0793c3),
    row("sqlite", 2210, "pppp", 0xd5ebed9042e1835b),
    row("sqlite", 1823, "pppnnnn", 0x9081b5d5a9892555),
    row("brotli", 70, "pp", 0x4b04499424147974),
    row("brotli", 142, "ppp", 0x7200e7e826fb4388),
    row("draco-decoder", 193, "pn", 0x4b0449942410a38e),
    row("draco-decoder", 101, "ppp", 0x98b1c35f2d5c1645),
    row("rapier3d", 1504, "ppp", 0xb70917f9f49fe721),
    row("rapier3d", 564, "ppn", 0x621fe868339f8cbf),
];

/// C code around the functions.
const SURROUNDINGS: &str = include_str!("linear_memory.c");
/// The runtime's records, which are the first two arguments of each function.
const RECORDS: u64 = 0x1_8000_0000;
/// Distances from the records of the pointers and of the number that are passed. Loaded, so that no compiler knows them.
const POINTERS: usize = 0x20000;
const NUMBER: usize = POINTERS + 16 * 8;

/// Returns the functions of the modules that exist, or only those with these names, such as `zstd_28`.
///
/// # Errors
/// If a module has another function in the place of one of these.
pub(super) fn suite(only: &[String]) -> Result<Suite> {
    let mut kernels = Vec::new();
    for rows in ROWS.chunk_by(|a, b| a.module == b.module) {
        let rows = rows.iter().map(|row| (row, name(row)));
        let wanted: Vec<_> = rows.filter(|(_, name)| only.is_empty() || only.contains(name)).collect();
        let Some((first, _)) = wanted.first() else { continue };
        let Some(file) = crate::module_file(first.module) else {
            println!("SKIPPED: {}: crates/bench/modules/all.sh writes it", first.module);
            continue;
        };
        let text = crate::read(&file)?;
        let functions = functions(&text);
        for (row, name) in wanted {
            let clif = clif(row, &name, &functions).with_context(|| name.clone())?;
            kernels.push(Kernel { name, c: None, clif, argument: RECORDS, result: row.result });
        }
    }
    ensure!(!kernels.is_empty(), "no such function");
    Ok(Suite { kernels, surroundings: SURROUNDINGS })
}

fn name(row: &Row) -> String {
    format!("{}_{}", row.module.replace('-', "_"), row.number)
}

/// Returns the functions of a module by their names, such as `u0:7`.
fn functions(text: &str) -> BTreeMap<&str, &str> {
    let starts: Vec<usize> = text.match_indices("\nfunction ").map(|(at, _)| at + 1).collect();
    let ends = starts.iter().filter_map(|&start| Some(start + text[start..].find("\n}")? + 2));
    let function = |(start, end): (&usize, usize)| {
        let text = &text[*start..end];
        Some((text["function ".len()..].split('(').next()?, text))
    };
    starts.iter().zip(ends).filter_map(function).collect()
}

/// Returns a function, the functions that it calls, and the entry `u64 NAME(u64)`.
fn clif(row: &Row, name: &str, functions: &BTreeMap<&str, &str>) -> Result<String> {
    let root = format!("u0:{}", row.number);
    let mut found = vec![root.clone()];
    let mut text = String::new();
    let mut next = 0;
    while let Some(function) = found.get(next) {
        next += 1;
        let function = functions.get(function.as_str()).with_context(|| format!("no function {function}"))?;
        text += &renamed(function, &mut found);
        text += "\n\n";
    }
    text += &entry(row, name, functions[root.as_str()])?;
    Ok(text)
}

/// Returns a function's text with names `%u0_7` for `u0:7`, and adds the names in it to those that were found.
fn renamed(function: &str, found: &mut Vec<String>) -> String {
    let mut text = String::with_capacity(function.len());
    for line in function.split_inclusive('\n') {
        let is_reference = line.starts_with("function ") || line.starts_with(" fn");
        let Some((before, name)) = line.split_once(" u").filter(|_| is_reference) else {
            text += line;
            continue;
        };
        let end = name.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        let whole = format!("u{name}");
        text.extend([before, " %", &whole.replace(':', "_"), after]);
        if !found.contains(&whole) {
            found.push(whole);
        }
    }
    text
}

/// Returns the entry, which passes the arguments that the runtime's records have.
fn entry(row: &Row, name: &str, function: &str) -> Result<String> {
    let parsed = kingpost_reader::parse_functions(function).map_err(|error| anyhow!("{error}"))?;
    let signature = &parsed.first().context("no function")?.signature;
    ensure!(signature.params.len() == row.arguments.len() + 2, "another number of parameters");
    let mut text =
        format!("function %{name}(i64) -> i64 {{\n sig0 = {signature}\n fn0 = colocated %u0_{} sig0\n", row.number);
    text += "block0(v0: i64):\n";
    let mut arguments = String::from("v0, v0");
    for (index, (kind, parameter)) in row.arguments.chars().zip(&signature.params[2..]).enumerate() {
        let offset = if kind == 'p' { POINTERS + 8 * index } else { NUMBER };
        let convert = match parameter.value_type {
            I32 => "ireduce.i32",
            F32 => "fcvt_from_uint.f32",
            ty => return Err(anyhow!("a parameter of the type {ty}")),
        };
        let (loaded, passed) = (10 + 2 * index, 11 + 2 * index);
        writeln!(text, " v{loaded} = load.i64 notrap v0+{offset}\n v{passed} = {convert} v{loaded}")?;
        write!(arguments, ", v{passed}")?;
    }
    let result = match signature.returns.first().map(|result| result.value_type) {
        None => {
            writeln!(text, " call fn0({arguments})")?;
            "iconst.i64 0"
        }
        Some(ty) => {
            writeln!(text, " v1 = call fn0({arguments})")?;
            ensure!(ty == I32, "a result of the type {ty}");
            "uextend.i64 v1"
        }
    };
    text += &format!(" v2 = {result}\n return v2\n}}\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_brings_along_what_it_calls() {
        let text = "; a\nfunction u0:0(i64 vmctx, i64, i32) -> i32 tail {\nblock0(v0: i64, v1: i64, v2: i32):\n return v2\n}\n\n\
            ; b\nfunction u0:1(i64 vmctx, i64) tail {\nblock0(v0: i64, v1: i64):\n return\n}\n\n\
            ; c\nfunction u0:2(i64 vmctx, i64, i32, f32) -> i32 tail {\n sig0 = (i64 vmctx, i64, i32) -> i32 tail\n \
            fn0 = colocated u0:0 sig0\nblock0(v0: i64, v1: i64, v2: i32, v3: f32):\n v4 = call fn0(v0, v1, v2)\n return v4\n}\n";
        let functions = functions(text);
        let clif = clif(&row("m", 2, "pn", 0), "m_2", &functions).unwrap();
        let parsed = kingpost_reader::parse_functions(&clif).unwrap();
        let names: Vec<String> = parsed.iter().map(|function| function.name.to_string()).collect();
        assert_eq!(names, ["%u0_2", "%u0_0", "%m_2"]);
        assert!(clif.contains(&format!("load.i64 notrap v0+{POINTERS}\n v11 = ireduce.i32 v10")), "{clif}");
        assert!(clif.contains(&format!("load.i64 notrap v0+{NUMBER}\n v13 = fcvt_from_uint.f32 v12")), "{clif}");
        assert!(super::clif(&row("m", 2, "p", 0), "m_2", &functions).is_err(), "one argument too few");
        assert!(super::clif(&row("m", 3, "p", 0), "m_3", &functions).is_err(), "no such function");
    }
}
