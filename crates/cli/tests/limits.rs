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

/// Runs tests on threads with large stacks: the addresses are enough for two of them and what they start, or for none.
#[test]
#[cfg(target_os = "linux")]
fn tests_run_on_fewer_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "test interpret\ntest run\ntarget x86_64\nfunction %f() -> i32 {\nblock0:\n    v0 = iconst.i32 7\n    \
                return v0\n}\n; run: %f() == 7\n";
    for name in ["a.clif", "b.clif", "c.clif"] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let test = |kib: u32, stack: &str, input: &str| {
        let mut command = limited(folder.path(), kib, &["test", "-j", "3", input]);
        command.env("RUST_MIN_STACK", stack).output().expect("it ends")
    };
    let output = test(2_500_000, "1000000000", ".");
    assert!(output.status.success(), "{output:?}");
    let output = test(2_500_000, "1000000000000000", ".");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.starts_with("cannot start a thread: "), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

/// Returns a command that runs the tool with so many KiB of addresses.
#[cfg(target_os = "linux")]
fn limited(folder: &Path, kib: u32, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", &kib.to_string(), env!("CARGO_BIN_EXE_kingpost")]);
    command.args(args).current_dir(folder).env("RUST_BACKTRACE", "1");
    command
}

/// Runs the tool with more and more addresses: from the least with which it starts to those that are enough for its work.
#[test]
#[cfg(target_os = "linux")]
fn no_memory_is_one_line_and_code_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = "test run\ntarget x86_64\nfunction %f(i64) -> i64 {\nblock0(v0: i64):\n".to_string();
    (0..20_000).for_each(|n| text += &format!("    v{} = iadd v{n}, v{}\n", n + 1, n / 2));
    text += "    return v20000\n}\n; run: %f(0) == 0\n";
    std::fs::write(folder.path().join("in.clif"), text).expect("written");
    let starts =
        |kib: &u32| limited(folder.path(), *kib, &["opcodes", "iadd"]).output().expect("it ends").status.success();
    let least = (4_000..).step_by(1_000).find(starts).expect("some are enough");
    for args in
        [&["compile", "in.clif", "-o", "out.o"][..], &["test", "--regalloc", "ssa", "in.clif"], &["opt", "in.clif"]]
    {
        let mut lines = 0;
        for kib in (least..least + 100_000).step_by(4_000) {
            let output = limited(folder.path(), kib, args).output().expect("it ends");
            let said = String::from_utf8(output.stderr).expect("text");
            match output.status.code() {
                Some(0) => break,
                // Memory for a stack or for code is refused to the one who asks.
                Some(1) => assert!(!said.contains("panicked") && !said.contains("backtrace"), "{args:?} {kib}: {said}"),
                Some(3) => {
                    let is_plain =
                        said.starts_with("kingpost: out of memory: the system refuses ") && said.lines().count() == 1;
                    assert!(is_plain, "{args:?} {kib}: {said}");
                    lines += 1;
                }
                code => panic!("{args:?} {kib}: {code:?} {said}"),
            }
        }
        assert!(lines > 0, "{args:?}: memory is never short");
    }
}
