//! A small language: variables, loops, calls, strings, structures and closures, with line tables for debuggers and
//! stack maps for a collector. A program runs in memory or becomes an object file:
//!
//! ```text
//! cargo run -p kingpost --example sprig -- crates/kingpost/examples/sprig/tour.sprig 10
//! cargo run -p kingpost --example sprig -- crates/kingpost/examples/sprig/tour.sprig 10 --collect
//! gdb --args target/debug/examples/sprig crates/kingpost/examples/sprig/tour.sprig 10 -g
//! cargo run -p kingpost --example sprig -- crates/kingpost/examples/sprig/tour.sprig -o tour.o
//! cc tour.o crates/kingpost/examples/sprig/runtime.c -o tour && ./tour 10
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `syntax.rs` | words and the parser |
//! | `compile.rs` | from the syntax tree to functions of a module |
//! | `runtime.rs` | functions that programs call, and the collector |
//! | `runtime.c` | the runtime of linked programs |
//! | `tour.sprig` | a program that uses all features of the language |
//!
//! `crates/capi/examples/sprig` is a front end for the language in C, which writes equal objects.
#![allow(unsafe_code, reason = "compiled functions are called, and the collector reads their frames")]

mod compile;
mod runtime;
mod syntax;

use kingpost::prelude::*;
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [file, "-o", output] => std::fs::write(output, object(&std::fs::read_to_string(file)?, file)?)?,
        [file, number] => println!("{}", run(&std::fs::read_to_string(file)?, number.parse()?, false, None)?.0),
        [file, number, "-g"] => {
            println!("{}", run(&std::fs::read_to_string(file)?, number.parse()?, false, Some(file))?.0);
        }
        [file, number, "--collect"] => {
            let (result, collections) = run(&std::fs::read_to_string(file)?, number.parse()?, true, None)?;
            println!("{result}");
            eprintln!("{collections} collections");
        }
        _ => return Err("usage: sprig FILE NUMBER [--collect | -g], or sprig FILE -o OBJECT".into()),
    }
    Ok(())
}

/// Compiles a program into memory and calls its function `main`. Returns the result and the number of collections.
///
/// With `file`, debuggers know the lines and variables of this file. The code is not optimized then, so that each line
/// has its instructions.
pub(crate) fn run(
    text: &str,
    number: i64,
    collects_always: bool,
    file: Option<&str>,
) -> Result<(i64, usize), Box<dyn Error>> {
    let program = syntax::parse(text)?;
    // The collector follows frame pointers.
    let settings = Settings::default().with(|settings| {
        settings.opt_level = if file.is_some() { OptLevel::None } else { OptLevel::Speed };
        settings.debug_values = file.is_some();
        settings.preserve_frame_pointers = true;
    });
    let mut module = JitModule::new(Compiler::host(settings)?);
    if let Some(file) = file {
        module.enable_debug_info(file, ".");
    }
    for (name, address) in runtime::symbols() {
        module.symbol(name, address);
    }
    compile::compile(&program, &mut module)?;
    module.finalize_definitions()?;
    let id = module.declarations().function_named("sprig_main").ok_or("there is no function `main`")?;
    let main = program.functions.iter().find(|function| function.name == "main").ok_or("no `main`")?;
    if !matches!(main.params[..], [(_, syntax::Type::Int)]) || main.result != syntax::Type::Int {
        return Err("`main` has one parameter of type `int`, and an `int` as its result".into());
    }
    // SAFETY: the function has this type, as was checked; the compiler reads and writes objects only.
    let main = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }?;
    let (result, heap) = runtime::with_heap(&module, collects_always, || main(number));
    Ok((result, heap.collections))
}

/// Compiles a program into an object file whose line table refers to `file`.
pub(crate) fn object(text: &str, file: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let program = syntax::parse(text)?;
    // The object runs on any processor of the architecture.
    let settings = Settings::default().with(|settings| settings.preserve_frame_pointers = true);
    let options = ObjectOptions::default().with(|options| options.source = file.into());
    let mut module = ObjectModule::new(Compiler::baseline(settings)?, options);
    compile::compile(&program, &mut module)?;
    Ok(module.finish()?)
}

#[cfg(test)]
mod tests {
    use super::{object, run};
    use std::process::Command;

    const TOUR: &str = include_str!("tour.sprig");

    #[test]
    fn a_program_runs_in_memory_while_a_collector_moves_its_objects() {
        let (result, collections) = run(TOUR, 10, false, None).unwrap();
        assert_eq!((result, collections), (595, 0));
        let (result, collections) = run(TOUR, 10, true, None).unwrap();
        assert_eq!(result, 595);
        // The program allocates two closures and five structures.
        assert_eq!(collections, if cfg!(target_arch = "x86_64") { 7 } else { 0 });
    }

    #[test]
    fn a_program_links() {
        let folder = tempfile::tempdir().unwrap();
        let (file, program) = (folder.path().join("tour.o"), folder.path().join("tour"));
        std::fs::write(&file, object(TOUR, "tour.sprig").unwrap()).unwrap();
        let runtime = concat!(env!("CARGO_MANIFEST_DIR"), "/../kingpost/examples/sprig/runtime.c");
        let linked = Command::new("cc").arg(&file).arg(runtime).arg("-o").arg(&program).status().unwrap();
        assert!(linked.success());
        let output = Command::new(&program).arg("10").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "the sum of squares:\n385\n595\n");
    }

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kingpost/examples/sprig/tour.sprig");

    #[test]
    fn a_program_runs_with_lines_for_debuggers() {
        assert_eq!(run(TOUR, 10, false, Some(FILE)).unwrap(), (595, 0));
    }

    /// Runs the test above under gdb.
    #[test]
    fn gdb_shows_lines_and_variables_in_memory() {
        let test = std::env::current_exe().unwrap();
        let interface = b"__jit_debug_register_code\0";
        let is_stripped = !std::fs::read(&test).unwrap().windows(interface.len()).any(|bytes| bytes == interface);
        let has_gdb = Command::new("gdb").arg("--version").output().is_ok_and(|output| output.status.success());
        if !cfg!(target_os = "linux") || is_stripped || !has_gdb {
            println!("SKIPPED: gdb_shows_lines_and_variables_in_memory: no gdb, or no symbols of this program");
            return;
        }
        let commands = [
            "set breakpoint pending on",
            "break tour.sprig:5",
            "run",
            "bt 4",
            "delete",
            "break tour.sprig:14",
            "continue",
            "info locals",
            "next",
            "kill",
        ];
        // The folder of the tests has another name in another crate.
        let (_, folder) = module_path!().split_once("::").unwrap();
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch"]).args(commands.iter().flat_map(|command| ["-ex", command])).arg("--args").arg(&test);
        gdb.args(["--exact", &format!("{folder}::a_program_runs_with_lines_for_debuggers"), "--test-threads=1"]);
        let output = gdb.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let mut rest = &*text;
        for expected in [
            "#0  sprig_square () at ",
            "tour.sprig:5\n",
            "#1 ",
            "tour.sprig:25\n",
            "sprig_sum () at ",
            "tour.sprig:13\n",
            "sprig_main () at ",
            "tour.sprig:25\n",
            "14\t        i = i + 1;\n",
            "n = 10\n",
            "total = 1\n",
            "i = 1\n",
            "12\t    while i < n + 1 {\n",
        ] {
            let Some((_, after)) = rest.split_once(expected) else {
                panic!("no {expected:?} in:\n{rest}\nof:\n{text}")
            };
            rest = after;
        }
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text| run(text, 1, false, None).unwrap_err().to_string();
        assert_eq!(error("fn main(n: int) int {\n return m;\n}"), "line 2: no variable `m`");
        assert_eq!(error("fn main(n: int) int { return \"a\"; }"), "line 1: expected `int`, found `str`");
        assert_eq!(error("fn main(n: int) int { return 1 }"), "line 1: expected `;`, found `}`");
        assert_eq!(
            error(&format!("fn main(n: int) int {{ return {}", "(".repeat(500))),
            "line 1: expected less nesting, found `(`"
        );
    }
}
