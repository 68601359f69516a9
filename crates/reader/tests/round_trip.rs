//! Checks that our own parser tests print as texts that read as equal functions, and cover every opcode.

use kingpost_ir::{Function, InstView, Opcode};
use kingpost_reader::{Options, Parser, parse_functions, parse_test};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn files() -> Vec<(PathBuf, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../filetests/parser");
    let entries = std::fs::read_dir(folder).expect("the folder of parser tests");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("a text"))).collect()
}

/// Returns a description of each instruction, with values by their numbers in the text.
fn describe(func: &Function) -> Vec<String> {
    let mut lines = Vec::new();
    for block in func.layout.blocks() {
        let params = func.dfg.block_params(block).iter();
        let params: Vec<_> = params.map(|&v| (func.names.values.number(v), func.dfg.value_type(v))).collect();
        lines.push(format!("{} {params:?} {}", func.names.block(block), func.layout.is_cold(block)));
        for inst in func.layout.block_insts(block) {
            let mut uses = Vec::new();
            func.dfg.for_each_use(inst, |value| uses.push(func.names.values.number(value)));
            let results = func.dfg.inst_results(inst).iter();
            let results: Vec<_> = results.map(|&v| (func.names.values.number(v), func.dfg.value_type(v))).collect();
            let imm = match func.dfg.view(inst) {
                InstView::UnaryConst { constant } => format!("{:?}", func.dfg.constants.bytes(constant)),
                InstView::Shuffle { mask, .. } => format!("{mask:?}"),
                InstView::UnaryImm { imm } => imm.to_string(),
                InstView::UnaryIeee16 { imm } => imm.bits().to_string(),
                InstView::UnaryIeee32 { imm } => imm.bits().to_string(),
                InstView::UnaryIeee64 { imm } => imm.bits().to_string(),
                InstView::Load { offset, .. } | InstView::Store { offset, .. } => offset.to_string(),
                _ => String::new(),
            };
            let data = func.dfg.inst(inst);
            lines.push(format!(
                "{:?} {results:?} = {} {uses:?} {imm} {:?} {:?} {:?} {:?} {:?}",
                func.srcloc(inst),
                data.opcode(),
                func.dfg.ctrl_type(inst),
                data.trap_code(),
                data.memflags(),
                func.stack_maps.get(&inst),
                func.debug_tags.get(&inst),
            ));
        }
    }
    lines
}

#[test]
fn printing_and_reading_again_gives_the_same_function() {
    for (path, text) in files() {
        let file = parse_test(&text, Options::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for test in &file.functions {
            let printed = test.function.to_string();
            let again = match parse_functions(&printed).map(|mut functions| functions.remove(0)) {
                Ok(function) => function,
                Err(error) => panic!("{}: {error}\n{printed}", path.display()),
            };
            assert_eq!(again.to_string(), printed, "{}", path.display());
            assert_eq!(describe(&again), describe(&test.function), "{}", path.display());
            assert_eq!(again.signature, test.function.signature);
        }
    }
}

/// Checks a function with more blocks than upstream can number.
#[test]
fn large_functions_print_and_read_again() {
    let mut text = String::from("function %f() {\n");
    for block in 0..150_000 {
        text += &format!("block{block}:\n    jump block{}\n\n", block + 1);
    }
    text += "block150000:\n    return\n}\n";
    let print = |text: &str| parse_functions(text).unwrap_or_else(|error| panic!("{error}"))[0].to_string();
    let printed = print(&text);
    assert!(printed.contains("block150000:") && print(&printed) == printed);
}

#[test]
fn every_opcode_is_there() {
    let mut missing: BTreeSet<Opcode> = Opcode::ALL.iter().copied().collect();
    for (path, text) in files() {
        let functions = parse_functions(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for func in &functions {
            for block in func.layout.blocks() {
                for inst in func.layout.block_insts(block) {
                    missing.remove(&func.dfg.opcode(inst));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no parser test has {missing:?}");
}

#[test]
fn one_function_is_used_again() {
    let mut func = Function::default();
    for (path, text) in files() {
        let fresh = parse_functions(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut parser = Parser::new(text.as_bytes(), Options::default()).expect("the text was read before");
        for expected in fresh {
            assert_eq!(parser.next_function(&mut func), Ok(true));
            assert_eq!(func.to_string(), expected.to_string());
        }
        assert_eq!(parser.next_function(&mut func), Ok(false));
    }
}
