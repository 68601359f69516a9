//! Installs the Python package from its folder, without a network, and runs its examples.

use super::programs::{library, output, path};
use std::process::Command;
use std::sync::{Arc, Mutex, Weak};
use tempfile::TempDir;

/// The environment of the tests that run at this time.
static INSTALLED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());

/// Installs the package in a fresh virtual environment, which tests that run at once share. `None` if there is no Python,
/// which is reported.
pub(crate) fn install(test: &str) -> Option<Arc<TempDir>> {
    let mut installed = INSTALLED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = match installed.upgrade() {
        Some(folder) => folder,
        None => Arc::new(install_alone(test)?),
    };
    *installed = Arc::downgrade(&folder);
    Some(folder)
}

fn install_alone(test: &str) -> Option<TempDir> {
    for words in [&["-m", "venv", "--help"][..], &["-m", "pip", "--version"]] {
        if !Command::new("python3").args(words).output().is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: {test}: no python3 with pip");
            return None;
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let environment = folder.path().join("environment");
    output(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&environment));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--disable-pip-version-check", "--python"]).arg(&environment);
    pip.args(["install", "--quiet", "--no-index"]).arg(path("../../python")).env("KINGPOST_LIBRARY", library());
    output(&mut pip);
    Some(folder)
}

/// Returns a command that runs a Python program with the installed package.
pub(crate) fn interpreter(folder: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(folder.path().join("environment/bin/python"));
    command.args(words).env_remove("PYTHONPATH").env("PYTHONDONTWRITEBYTECODE", "1");
    command.current_dir(folder.path());
    command
}

/// Returns the output of a Python program.
fn python(folder: &TempDir, words: &[&str]) -> String {
    output(&mut interpreter(folder, words))
}

#[test]
fn the_package_installs_and_its_examples_run() {
    let Some(folder) = install("the_package_installs_and_its_examples_run") else { return };
    let example = |name: &str, words: &[&str]| {
        let program = path("python/examples").join(name);
        python(&folder, &[&[program.to_str().expect("a plain path")], words].concat())
    };
    assert_eq!(example("fib.py", &[]), "fib(50) = 12586269025\nline 10: arg 1 (v3) has type i32, expected i64\n");
    let table = example("table.py", &[]);
    for allocator in ["ssa", "linear", "backtracking", "fused", "spill_all"] {
        assert!(table.lines().any(|line| line.split_whitespace().any(|word| word == allocator)), "{table}");
    }
    let own = example("allocator.py", &[]);
    assert!(own.starts_with("sum(100) = 5050\nssa ") && own.contains("\nkeep_last "), "{own}");
    let ranges = example("live_ranges.py", &["out.svg"]);
    assert!(ranges.starts_with("%mix ssa with "), "{ranges}");
    let picture = std::fs::read_to_string(folder.path().join("out.svg")).expect("a picture");
    assert!(picture.starts_with("<svg ") && picture.contains(">rax</text>"), "{picture}");
    let problem = example("problem.py", &[]);
    assert!(problem.starts_with("%sum ssa ") && problem.ends_with("True\n"), "{problem}");
}

/// Checks that the allocator of the examples solves all problems of the filetests for register allocation. The checker
/// accepts each answer.
#[test]
fn an_allocator_in_python_solves_the_filetests() {
    let Some(folder) = install("an_allocator_in_python_solves_the_filetests") else { return };
    let program = "
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import kingpost
from allocator import keep_last
solved = 0
for file in sorted(pathlib.Path(sys.argv[2]).rglob('*.ra')):
    try:
        errors = kingpost.check(kingpost.solve(file, keep_last))
    except Exception as error:
        errors = [str(error)]
    solved += not errors
    if errors:
        print(file, errors[0])
print(solved)
";
    let (examples, filetests) = (path("python/examples"), path("../../filetests/regalloc"));
    let said = python(&folder, &["-c", program, examples.to_str().expect("UTF-8"), filetests.to_str().expect("UTF-8")]);
    assert!(said.trim().parse::<usize>().is_ok_and(|solved| solved > 70), "{said}");
}

/// Checks the errors of the package: texts that cannot be read, wrong names, and exceptions and wrong answers of
/// allocators in Python.
#[test]
fn errors_are_exceptions() {
    let Some(folder) = install("errors_are_exceptions") else { return };
    let program = "
import kingpost
F = 'function %f(i32) -> i32 {\\nblock0(v0: i32):\\n    v1 = iadd v0, v0\\n    return v1\\n}\\n'
def said(action, *arguments, **settings):
    try:
        action(*arguments, **settings)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
def fails(problem): raise ValueError('no idea')
def full(problem): raise kingpost.Impossible(problem.instructions[0], 'int')
def wrong(problem):
    answer = kingpost.Answer(problem)
    for instruction in problem.instructions:
        answer.place(instruction, ['r0' for _ in instruction.operands])
    return answer
said(kingpost.compile, 'function %f( {\\n')
said(kingpost.compile, F, frob=1)
said(kingpost.compile, F, target='z80')
said(kingpost.compile, F, allocator='none')
said(kingpost.compile, F, allocator=fails)
said(kingpost.compile, F, allocator=full)
said(kingpost.compile, F, allocator=wrong)
said(lambda: kingpost.compile(F)['g'])
said(kingpost.allocate, F, [fails])
print(kingpost.compile(F)['f'](21))
print(kingpost.compile(F, validate_code='terms').count('proved'))
print(len(kingpost.allocate(F)), kingpost.compile_object(F, target='aarch64')[:4])
";
    let said = python(&folder, &["-c", program]);
    let kinds: Vec<&str> = said.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    let error = "KingpostError";
    assert_eq!(
        kinds,
        [error, error, error, error, "ValueError", error, error, "KeyError", "ValueError", "42", "1", "5"],
        "{said}"
    );
    assert!(said.starts_with("KingpostError 1:") && said.contains("checker rejects"), "{said}");
    assert!(said.contains("i0 needs more int registers than there are"), "{said}");
}
