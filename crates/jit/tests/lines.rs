//! Checks that gdb and lldb show lines and variables of functions in memory, and forget them with their module.
#![cfg(target_os = "linux")]

use kingpost_codegen::module::{FuncId, Linkage, Module};
use kingpost_codegen::{Compiler, OptLevel, Settings};
use kingpost_ir::builder::{ControlBuilder, ImmediateBuilder};
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
use kingpost_ir::function::SourceLoc;
use kingpost_ir::signature::AbiParam;
use kingpost_ir::types::I64;
use kingpost_ir::{Function, Value};
use kingpost_jit::{JitModule, LoadError};
use kingpost_testgen::squares;
use std::process::Command;
use target_lexicon::Triple;

/// Lines of the function that calls [`squares`], after the lines of [`squares::SOURCE`].
const OUTER: &str = "
fn outer(m) {
    let result = squares(m) + 1;
    step(result);
    return result;
}
";

/// Environment variable of the process that runs under the debugger: the folder of the source.
const FOLDER: &str = "KINGPOST_TEST_FOLDER";

extern "C" fn step(_: i64) {}

/// Returns at once. It is the place of a breakpoint after the end of the module.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn after_drop_of_test() {
    std::hint::black_box(());
}

/// Defines a function of one parameter.
fn define(module: &mut JitModule, name: &str, build: impl FnOnce(&mut JitModule, &mut FunctionBuilder<'_>)) -> FuncId {
    let mut signature = module.signature();
    signature.params.push(AbiParam::new(I64));
    signature.returns.push(AbiParam::new(I64));
    let id = module.declare_function(name, Linkage::Export, &signature).unwrap();
    let (mut func, mut scratch) = (Function::new(FuncName::default(), signature), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    build(module, &mut b);
    b.seal_all_blocks();
    b.finalize().unwrap();
    module.define_function(id, &mut func).unwrap();
    id
}

/// Calls `step` of this process.
fn call_step(module: &mut JitModule, b: &mut FunctionBuilder<'_>, value: Value) {
    let mut signature = module.signature();
    signature.params.push(AbiParam::new(I64));
    let step = module.declare_function("step", Linkage::Import, &signature).unwrap();
    let step = module.declare_func_in_func(step, b.func);
    b.ins().call(step, &[value]);
}

fn outer(module: &mut JitModule, b: &mut FunctionBuilder<'_>) {
    let entry = b.create_block();
    b.append_function_params(entry);
    b.switch_to_block(entry);
    let [m, result] = ["m", "result"].map(|name| {
        let variable = b.declare_var(I64);
        b.set_var_name(variable, name);
        variable
    });
    b.set_srcloc(SourceLoc(13));
    let argument = b.block_params(entry)[0];
    b.def_var(m, argument);
    let squares = module.declarations().function_named("squares").unwrap();
    let squares = module.declare_func_in_func(squares, b.func);
    let call = b.ins().call(squares, &[argument]);
    let sum = b.inst_results(call)[0];
    let sum = b.ins().iadd_imm(sum, 1);
    b.def_var(result, sum);
    b.set_srcloc(SourceLoc(14));
    call_step(module, b, sum);
    b.set_srcloc(SourceLoc(15));
    let sum = b.use_var(result);
    b.ins().return_(&[sum]);
}

fn module(opt_level: OptLevel) -> JitModule {
    let settings = Settings::default().with(|settings| {
        settings.opt_level = opt_level;
        settings.unwind_info = true;
        settings.debug_values = true;
    });
    let mut module = JitModule::new(Compiler::new(&Triple::host(), settings, &[]).unwrap());
    module.symbol("step", step as *const u8);
    module
}

/// Loads both functions, one after the other, and calls them. Returns the bytes of the first one.
fn run(opt_level: OptLevel, folder: Option<&str>) -> Vec<u8> {
    let mut module = module(opt_level);
    if let Some(folder) = folder {
        module.enable_debug_info("squares.lang", folder);
    }
    define(&mut module, "squares", |module, b| squares::build(b, |b, sum| call_step(module, b, sum)));
    module.finalize_definitions().unwrap();
    let id = define(&mut module, "outer", outer);
    module.finalize_definitions().unwrap();
    // SAFETY: the function has this type.
    let outer = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }.unwrap();
    assert_eq!(outer(4), 305);
    let start = module.address("squares").unwrap();
    let has =
        |at: &usize| module.function_at(start as usize + at).is_some_and(|(name, _)| name.to_string() == "%squares");
    let bytes = (0..).take_while(has).count();
    // SAFETY: these are the bytes of the function's code.
    unsafe { std::slice::from_raw_parts(start, bytes) }.to_vec()
}

/// Runs the functions in which the debugger stops.
#[test]
fn functions_with_lines_run() {
    let folder = std::env::var(FOLDER).ok();
    for opt_level in [OptLevel::None, OptLevel::Speed] {
        run(opt_level, folder.as_deref());
        after_drop_of_test();
    }
}

#[test]
fn debug_information_does_not_change_code() {
    // Distances to code outside of the function depend on where it is loaded.
    let length = |folder| run(OptLevel::Speed, folder).len();
    assert_eq!(length(None), length(Some(".")));
    let mut module = module(OptLevel::None);
    module.enable_debug_info("", ".");
    define(&mut module, "squares", |module, b| squares::build(b, |b, sum| call_step(module, b, sum)));
    assert_eq!(module.finalize_definitions(), Err(LoadError::SourceName(String::new())));
    module.enable_debug_info("squares.lang", ".");
    module.finalize_definitions().unwrap();
}

/// Returns what a debugger prints when it runs the test of the functions; `None` if it is not installed. `options` are
/// those before the program and its arguments.
fn debugger(name: &str, options: &[&str]) -> Option<String> {
    let test = std::env::current_exe().unwrap();
    let interface = b"__jit_debug_register_code\0";
    if !std::fs::read(&test).unwrap().windows(interface.len()).any(|bytes| bytes == interface) {
        println!(
            "SKIPPED: the test is stripped, so that debuggers do not find the interface: set CARGO_PROFILE_DEV_STRIP=none"
        );
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("squares.lang"), format!("{}{OUTER}", squares::SOURCE)).unwrap();
    let mut debugger = Command::new(name);
    debugger.args(options).arg(&test).args(["--exact", "functions_with_lines_run", "--test-threads=1"]);
    let Ok(output) = debugger.env(FOLDER, folder.path()).output() else {
        println!("SKIPPED: there is no {name}");
        return None;
    };
    let [text, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Some(text + &errors)
}

/// Returns what gdb prints for these commands; `None` if there is no gdb.
fn gdb(commands: &[&str]) -> Option<String> {
    let mut options = vec!["-nx", "-batch", "-ex", "set confirm off"];
    options.extend(commands.iter().flat_map(|command| ["-ex", command]));
    options.push("--args");
    debugger("gdb", &options)
}

/// Returns what lldb prints for these commands; `None` if there is no lldb.
fn lldb(commands: &[&str]) -> Option<String> {
    // Only macOS has the interface on by default.
    let first = ["settings set plugin.jit-loader.gdb.enable on", "settings set target.disable-aslr false"];
    let mut options = vec!["--no-lldbinit", "--batch"];
    options.extend(first.iter().chain(commands).flat_map(|command| ["-o", command]));
    options.push("--");
    debugger("lldb", &options)
}

/// Checks that the texts occur in this order.
fn assert_in_order(text: &str, expected: &[&str]) {
    let mut rest = text;
    for part in expected {
        let Some((_, after)) = rest.split_once(part) else { panic!("no {part:?} in:\n{rest}\nof:\n{text}") };
        rest = after;
    }
}

#[test]
fn gdb_shows_lines_and_variables() {
    let stop = ["bt 3", "info locals", "print total"];
    let first = ["set breakpoint pending on", "break squares.lang:5", "break after_drop_of_test", "run"];
    let then = ["next", "continue", "info locals", "up", "info locals", "list"];
    // The second function is loaded after the first one.
    let second =
        ["delete 1", "break squares.lang:14", "continue", "info locals", "next", "next", "delete 3", "continue"];
    let end = ["info line squares.lang:5", "info symbol squares", "kill"];
    let Some(text) = gdb(&[&first[..], &stop, &then, &second, &end].concat()) else { return };
    let shown = [
        "squares () at ",
        "squares.lang:5\n5\t        step(total);\n",
        "#0  squares () at ",
        "squares.lang:5\n",
        "#1 ",
        " in outer () at ",
        "squares.lang:13\n",
        "#2 ",
        "n = 4\ntotal = 1\ni = 1\n",
        "$1 = 1\n",
        "7\t        i = i + 1;\n",
        "n = 4\ntotal = 5\ni = 2\n",
        "outer () at ",
        "13\t    let result = squares(m) + 1;\n",
        "outer () at ",
        "squares.lang:14\n14\t    step(result);\n",
        "result = 305\n",
        "15\t    return result;\n",
        "after_drop_of_test",
    ];
    assert_in_order(&text, &shown);
    assert!(text.contains("No source file named squares.lang."), "{text}");
    assert!(text.contains("No symbol \"squares\" in current context."), "{text}");
}

#[test]
fn lldb_shows_lines_and_variables() {
    // Without the last option, the line would be a place in each function.
    let first = "breakpoint set --file squares.lang --line 5 --move-to-nearest-code false";
    let first = [first, "breakpoint set --name after_drop_of_test", "run", "bt 3", "frame variable"];
    let then = ["continue", "frame variable", "up", "breakpoint delete 1"];
    // The second function is loaded after the first one.
    let second = ["breakpoint set --file squares.lang --line 14", "continue", "next", "frame variable"];
    let end = ["breakpoint delete 3", "continue", "image lookup --name squares", "kill"];
    let Some(text) = lldb(&[&first[..], &then, &second, &end].concat()) else { return };
    let shown = [
        "`squares at squares.lang:5",
        "-> 5   \t        step(total);\n",
        "`squares at squares.lang:5",
        "`outer at squares.lang:13",
        "n = 4\n",
        "total = 1\n",
        "i = 1\n",
        "n = 4\n",
        "total = 5\n",
        "i = 2\n",
        "`outer at squares.lang:13",
        "-> 13  \t    let result = squares(m) + 1;\n",
        "`outer at squares.lang:14",
        "-> 14  \t    step(result);\n",
        "result = 305\n",
        "`after_drop_of_test",
    ];
    assert_in_order(&text, &shown);
    let (_, after) = text.rsplit_once("image lookup").expect("the last command but one");
    assert!(!after.contains("squares.lang"), "the functions are forgotten: {text}");
}
