//! Checks the behavior of the tool on very large input and with few resources of the system.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

fn kingpost(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kingpost"));
    command.current_dir(folder);
    command
}

/// Runs the tool on a text in the file `in.clif`.
fn run(args: &[&str], source: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("in.clif"), source).expect("written");
    kingpost(folder.path()).args(args).arg("in.clif").output().expect("it ends")
}

/// Returns `count` functions with `faults` faults each.
fn functions(count: usize, faults: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = writeln!(text, "function %f{number}(i32, i64) {{\nblock0(v0: i32, v1: i64):");
        (2..2 + faults).for_each(|value| text += &format!("    v{value} = iadd v0, v1\n"));
        text += "    return\n}\n";
    }
    text
}

#[test]
fn twenty_errors_are_written() {
    let named_twice = functions(1, 0).repeat(61);
    for source in [functions(60, 1), functions(1, 60), functions(6, 10), named_twice] {
        let [most, all] = [&[][..], &["--keep-going"]].map(|more| {
            let output = run(&[&["--message-format", "short", "compile"], more].concat(), &source);
            assert_eq!(output.status.code(), Some(1));
            String::from_utf8(output.stderr).expect("text")
        });
        let places = |text: &str| text.lines().filter(|line| line.starts_with("in.clif:")).count();
        assert_eq!((places(&most), most.lines().last()), (20, Some("stopped after 20 errors")), "{most}");
        assert_eq!(places(&all), 60, "{all}");
    }
}

/// Checks that the tool runs with fewer threads if their stacks are larger than any machine has.
#[test]
fn fewer_threads_do() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("in.clif"), functions(9, 0)).expect("written");
    let compile = |name: &str, stack: &str| {
        let mut command = kingpost(folder.path());
        let output = command.args(["compile", "-j", "4", "-o", name, "in.clif"]).env("RUST_MIN_STACK", stack).output();
        let output = output.expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(folder.path().join(name)).expect("an object")
    };
    assert!(compile("a.o", "2000000") == compile("b.o", "1000000000000000"));
}
