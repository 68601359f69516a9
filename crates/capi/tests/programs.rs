//! Compiles the C programs of this crate against the static library, and runs them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Libraries of the system that the static library needs.
const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// Returns a path in the folder of this crate.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns the static library, which is built with the tests: the newest, because earlier builds may be there.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let files = std::fs::read_dir(test.parent().expect("a folder")).expect("a folder");
    let libraries = files.filter_map(|file| Some(file.ok()?.path())).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libkingpost_capi") && name.ends_with(".a")
    });
    libraries.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).expect("a static library")
}

/// Returns the output of a command that must succeed.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let said = [output.stdout.clone(), output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns `true` if a tool is installed. Reports that a test is skipped if not.
pub(crate) fn has_tool(tool: &str, test: &str) -> bool {
    let is_there = Command::new(tool).arg("--version").output().is_ok();
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: {test}: no {tool}");
    }
    is_there
}

/// Compiles a program of this crate: a file, or all files of a folder. `None` if there is no C compiler, which is
/// reported.
pub(crate) fn build(source: &str, test: &str) -> Option<(TempDir, PathBuf)> {
    if !has_tool("cc", test) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    compile(source, &program, &[]);
    Some((folder, program))
}

/// Compiles a program of this crate with additional options. A program of several files is C11, the others are C99.
pub(crate) fn compile(source: &str, program: &Path, options: &[&str]) {
    let source = path(source);
    let standard = if source.is_dir() { "-std=c11" } else { "-std=c99" };
    let mut files = vec![source.clone()];
    if source.is_dir() {
        files = fs::read_dir(source).expect("a folder").map(|file| file.expect("a file").path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    }
    let mut command = Command::new("cc");
    command.args([standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I"]).arg(path("include")).args(options);
    command.args(files).arg(library()).args(SYSTEM).arg("-o").arg(program);
    output(&mut command);
}

/// Returns the output of a command for this input.
pub(crate) fn answer(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("an input").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{command:?}: {}", output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn fib_runs_in_memory() {
    let Some((_folder, program)) = build("examples/fib.c", "fib_runs_in_memory") else { return };
    assert_eq!(output(&mut Command::new(program)), "fib(50) = 12586269025\n");
}

#[test]
fn hello_becomes_an_object() {
    let Some((folder, program)) = build("examples/hello.c", "hello_becomes_an_object") else { return };
    let (object, linked) = (folder.path().join("hello.o"), folder.path().join("hello"));
    output(Command::new(&program).arg(&object));
    output(Command::new("cc").arg(&object).arg("-o").arg(&linked));
    assert_eq!(output(&mut Command::new(linked)), "hello, world\n");
    output(Command::new(program).arg(&object).arg("aarch64"));
    let bytes = std::fs::read(object).expect("an object");
    assert_eq!(bytes[18..20], [183, 0], "the machine of the object is AArch64");
}

/// Input of the calculator.
pub(crate) const CALCULATIONS: &str = "\
    fact(n) = n < 2 ? 1 : n * fact(n - 1)\n\
    fact(20)\n\
    even(n) = n == 0 ? 1 : odd(n - 1)\n\
    odd(n) = n == 0 ? 0 : even(n - 1)\n\
    even(1000) * 10 + odd(1000)\n\n\
    -7 / 2 + -7 % 2 * 100 - (1 > 2 ? 3 : 4 < 5)\n";

#[test]
fn the_calculator_calculates() {
    let Some((_folder, program)) = build("examples/calc.c", "the_calculator_calculates") else { return };
    assert_eq!(answer(&mut Command::new(program), CALCULATIONS), "2432902008176640000\n10\n-104\n");
}

/// Output of the program that misuses the interface.
pub(crate) const MISUSES: &str = "210 misuses, 0 wrong\n";

#[test]
fn misuses_are_errors() {
    let Some((_folder, program)) = build("tests/misuse.c", "misuses_are_errors") else { return };
    assert_eq!(output(&mut Command::new(&program)), MISUSES);
}

#[test]
fn what_is_installed_builds_programs() {
    let test = "what_is_installed_builds_programs";
    if ["cc", "pkg-config", "readelf"].iter().any(|tool| Command::new(tool).arg("--version").output().is_err()) {
        assert!(std::env::var_os("CI").is_none(), "CI has cc, pkg-config and readelf");
        eprintln!("SKIPPED: {test}: no cc, pkg-config or readelf");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("a prefix");
    output(Command::new("sh").arg(path("install.sh")).arg(library()).arg(&prefix));
    let lib = prefix.join("lib");
    let flags = output(
        Command::new("pkg-config")
            .args(["--cflags", "--libs", "kingpost"])
            .env("PKG_CONFIG_PATH", lib.join("pkgconfig")),
    );
    // The shell splits the flags, in which pkg-config escapes blanks.
    let build = |name: &str| {
        let program = folder.path().join(name);
        let source = path(&format!("examples/{name}.c"));
        let build = format!("cc '{}' -o '{}' {flags}", source.display(), program.display());
        output(Command::new("sh").args(["-c", &build]));
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", &lib);
        command
    };
    assert_eq!(output(&mut build("fib")), "fib(50) = 12586269025\n");
    output(build("hello").arg(folder.path().join("hello.o")));
    assert_eq!(answer(&mut build("calc"), CALCULATIONS), "2432902008176640000\n10\n-104\n");

    let symbols = output(Command::new("readelf").args(["--dyn-syms", "--wide"]).arg(lib.join("libkingpost.so")));
    let defined = symbols.lines().filter(|line| line.contains(" GLOBAL ") && !line.contains(" UND "));
    let names: Vec<&str> = defined.filter_map(|line| line.split_whitespace().last()).collect();
    let functions = names.iter().filter(|name| name.starts_with("kp_") && name.ends_with("@@KINGPOST_0.1")).count();
    assert!(functions > 80 && names.len() == functions + 1, "only functions of the interface are exported: {names:?}");
    let used = output(Command::new("readelf").args(["--dynamic", "--wide"]).arg(folder.path().join("fib")));
    assert!(used.contains("[libkingpost.so.0.1]"), "{used}");
}

#[test]
fn uses_give_what_they_should() {
    let Some((_folder, program)) = build("tests/uses.c", "uses_give_what_they_should") else { return };
    let expected = "\
sum(100) = 5050
dispatch: 42 1021, 1 lookup
alias: 1
tables: named, a trap, 1 stack map of type i64
names: 2
choose: 105
gcd(48, 36) = 12, 1 call of the allocator
0 findings, then some
right: compiled, 1 proved, 0 refuted, 0 recompiled
refuse: not compiled, 0 proved, 1 refuted, 0 recompiled
recompile: compiled, 0 proved, 1 refuted, 1 recompiled
report: compiled, 0 proved, 1 refuted, 0 recompiled
";
    assert_eq!(output(&mut Command::new(program)), expected);
}
