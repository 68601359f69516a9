//! Runs the C programs of this crate under valgrind, AddressSanitizer and UndefinedBehaviorSanitizer.

use super::programs::{CALCULATIONS, answer, compile, has_tool};
use super::sprig;
use std::path::Path;
use std::process::Command;

/// Runs every program, each made by `command`, which gets the source and returns the command.
fn run_all(folder: &Path, command: impl Fn(&str) -> Command) {
    for source in ["examples/fib.c", "tests/uses.c", "tests/misuse.c"] {
        answer(&mut command(source), "");
    }
    answer(&mut command("examples/calc.c"), CALCULATIONS);
    answer(command("examples/hello.c").arg(folder.join("hello.o")), "");
    for (name, text) in sprig::PROGRAMS {
        let file = folder.join(name);
        std::fs::write(&file, text).expect("written");
        answer(command("examples/sprig").arg(&file).args(["10", "--collect"]), "");
        answer(command("examples/sprig").arg(&file).arg("-o").arg(folder.join("sprig.o")), "");
    }
}

#[test]
fn programs_use_memory_correctly() {
    let test = "programs_use_memory_correctly";
    if std::env::var_os("KINGPOST_EVERY").is_none() {
        return eprintln!("SKIPPED: {test}: set KINGPOST_EVERY=1 to run it");
    }
    if !has_tool("cc", test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Builds a program once.
    let build = |source: &str, options: &[&str]| {
        let program = folder.path().join(format!("{}{}", source.replace(['/', '.'], "-"), options.len()));
        if !program.exists() {
            compile(source, &program, options);
        }
        program
    };
    run_all(folder.path(), |source| {
        let mut command = Command::new(build(source, &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]));
        // Objects of the process that live until it ends are not leaks of the interface.
        command.env("ASAN_OPTIONS", "detect_leaks=0");
        command
    });
    if !has_tool("valgrind", test) {
        return;
    }
    run_all(folder.path(), |source| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=1", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
        valgrind.arg(build(source, &[]));
        valgrind
    });
}
