//! The interface against the library: equal objects, at equal cost.

use crate::programs::{build, output};
use kingpost::prelude::*;
use kingpost::reader::{Options, Parser};
use std::path::Path;
use std::process::Command;

/// Name of the variable with the file that [`rust_compiles_a_text`] compiles under callgrind.
const FILE: &str = "KINGPOST_TEXT";

/// Returns functions with loops, calls, branches and memory, as text.
fn text() -> String {
    let function = |n: usize| {
        format!(
            "function %f{n}(i64, i64) -> i64 system_v {{
                ss0 = explicit_slot 32
                fn0 = %f{}(i64, i64) -> i64 system_v
            block0(v0: i64, v1: i64):
                v2 = stack_addr.i64 ss0
                store notrap aligned v0, v2+8
                v3 = iconst.i64 {n}
                jump block1(v0, v3)
            block1(v4: i64, v5: i64):
                v6 = load.i64 notrap aligned v2+8
                v7 = iadd v5, v6
                v8 = imul v7, v4
                v9 = bxor v8, v1
                v10 = iconst.i64 1
                v11 = isub v4, v10
                v12 = icmp sgt v11, v10
                brif v12, block2, block3(v9)
            block2:
                v13 = call fn0(v11, v9)
                v14 = ushr v13, v10
                jump block1(v11, v14)
            block3(v15: i64):
                v16 = sdiv v15, v3
                v17 = select v12, v16, v9
                return v17
            }}\n",
            n + 1
        )
    };
    (1..=400).map(function).collect()
}

/// Returns the object of a text, as a program in Rust makes it.
fn object(text: &[u8]) -> Vec<u8> {
    let compiler = Compiler::new(&Triple::host(), Settings::default().with(|settings| settings.is_pic = true), &[]);
    let mut module = ObjectModule::new(compiler.expect("a compiler"), ObjectOptions::default());
    let mut options = Options::default();
    options.default_call_conv = Some(module.compiler().call_conv());
    let mut parser = Parser::new(text, options).expect("a text");
    let mut func = Function::default();
    while parser.next_function(&mut func).expect("a function") {
        let FuncName::Named(name) = &func.name else { panic!("a name") };
        let id = module.declare_function(name, Linkage::Export, &func.signature).expect("declared");
        module.define_function(id, &mut func).expect("defined");
    }
    assert!(parser.data().expect("data").is_empty());
    module.finish().expect("an object")
}

/// Returns the number of instructions that a command executes; `None` without callgrind.
fn instructions(program: &Path, arguments: &[&str], text: &Path) -> Option<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments);
    let output = valgrind.env(FILE, text).output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let count = said.lines().find_map(|line| line.split_once("Collected : ")).expect("a count").1;
    Some(count.trim().parse().expect("a number"))
}

#[test]
fn rust_compiles_a_text() {
    let text = match std::env::var_os(FILE) {
        Some(file) => std::fs::read(file).expect("a file"),
        None => text().into_bytes(),
    };
    assert!(object(&text).starts_with(b"\x7fELF"));
}

#[test]
fn objects_are_those_that_rust_makes() {
    let test = "objects_are_those_that_rust_makes";
    let Some((folder, program)) = build("tests/compile.c", test) else { return };
    let (source, made) = (folder.path().join("text.clif"), folder.path().join("text.o"));
    std::fs::write(&source, text()).expect("written");
    output(Command::new(&program).args([&source, &made]));
    assert!(std::fs::read(&made).expect("an object") == object(text().as_bytes()), "the objects differ");
    if std::env::var_os("KINGPOST_EVERY").is_none() {
        return;
    }
    let paths = [source.to_str().expect("UTF-8"), made.to_str().expect("UTF-8")];
    let Some(through_c) = instructions(&program, &paths, &source) else {
        assert!(std::env::var_os("CI").is_none(), "CI has valgrind");
        return eprintln!("SKIPPED: {test}: no valgrind");
    };
    let own = std::env::current_exe().expect("a path");
    let arguments = ["--exact", "cost::rust_compiles_a_text", "--test-threads=1"];
    let in_rust = instructions(&own, &arguments, &source).expect("callgrind");
    println!("{through_c} instructions through C, {in_rust} in Rust");
    assert!(through_c * 100 <= in_rust * 102, "{through_c} instructions through C, {in_rust} in Rust");
}
