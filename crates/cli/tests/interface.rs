//! Checks the interface that scripts depend on: exit codes, standard streams, and written files.

use kingpost_ir::Opcode;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const GOOD: &str = "\
; data: %msg ro = x\"68 69 00\"
function %main() -> i32 system_v {
    fn0 = %puts(i64) -> i32 system_v
    gv0 = symbol %msg

block0:
    v0 = symbol_value.i64 gv0
    v1 = call fn0(v0)
    v2 = iconst.i32 5
    return v2
}
";

const RUNS: &str = "\
function %add(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = iadd v0, v1
    return v2
}
; run: %add(1, 2) == 3
";

fn kingpost(folder: &Path, args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kingpost"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    // A command that does not read its standard input may have ended already.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the tool with a text as `in.clif` and as standard input. Returns the exit code, the output and the errors.
fn check(args: &[&str], source: &str) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("in.clif"), source).expect("written");
    let output = kingpost(folder.path(), args, source);
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Returns the words of the first row of counters.
fn first_row(stats: &str) -> Vec<&str> {
    stats.lines().next().unwrap_or_default().split_whitespace().collect()
}

/// All allocators, in the order in which `all` runs them.
const ALLOCATORS: [&str; 5] = ["ssa", "linear", "backtracking", "fused", "spill_all"];

#[test]
fn usage_errors_are_2() {
    let wrong: &[&[&str]] = &[
        &[],
        &["frob"],
        &["cat"],
        &["compile", "in.clif", "--regalloc", "none"],
        &["compile", "in.clif", "--set", "frob"],
        &["compile", "in.clif", "--set", "is_pic=perhaps"],
        &["compile", "in.clif", "--target", "z80"],
        &["compile", "in.clif", "--stats=xml"],
        &["alloc", "in.clif", "--ra", "--regalloc", "all"],
        &["completions", "frob"],
        &["test", "--regalloc", "none", "in.clif"],
    ];
    for args in wrong {
        let (code, out, err) = check(args, GOOD);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(!err.is_empty());
    }
    assert_eq!(check(&["--help"], "").0, 0);
}

#[test]
fn shown_functions_read_again() {
    let (code, out, _) = check(&["cat", "in.clif"], GOOD);
    assert_eq!(code, 0);
    assert_eq!(check(&["cat", "-"], &out), (0, out.clone(), String::new()));
    let (code, out, _) = check(&["print-cfg", "-"], RUNS);
    assert!(code == 0 && out.starts_with("digraph \"%add\" {"), "{out}");
    assert_eq!(check(&["verify", "-"], GOOD), (0, String::new(), String::new()));
}

#[test]
fn errors_have_positions() {
    let (code, _, err) = check(&["cat", "in.clif"], "function %f() {\nblock0:\n  frob\n}\nfunction %g() {}\n");
    let place = "  |\n3 |   frob\n  |   ^^^^\n";
    assert!(code == 1 && err.starts_with(&format!("in.clif:3:3: unknown opcode `frob`\n{place}")), "{err}");
    let (code, _, err) = check(&["verify", "-"], "function %f() {\nblock0:\n  jump block7\n}\n");
    let place = "  |\n3 |   jump block7\n  |        ^^^^^^ in %f\n";
    assert_eq!((code, err), (1, format!("<stdin>:3:8: invalid block reference block7\n{place}")));
    // Several errors of the reader, the verifier and lowering, in every format.
    let several = "\
function %f(i64, i32) -> i64 {
block0(v0: i64, v1: i32):
    v2 = iadd v0, v1
    return v2
}
function %g(i64) -> i64 {
block0(v0: i64):
    v1 = iadd_imm v0, 1
    return v1
}
function %h(i64, i64, i64, i64) -> i64, i64, i64 {
block0(v0: i64, v1: i64, v2: i64, v3: i64):
    return v0, v1, v2
}
";
    let (code, _, err) = check(&["compile", "in.clif", "--message-format", "short"], several);
    assert_eq!(code, 1);
    let places: Vec<&str> = err.lines().map(|line| line.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(places, ["in.clif:8:10", "in.clif:3:19", "in.clif:11:1"], "{err}");
    let (code, _, err) = check(&["compile", "in.clif", "--message-format=json"], several);
    let lines: Vec<serde_json::Value> =
        err.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    assert!(code == 1 && lines.len() == 3, "{err}");
    assert_eq!((&lines[1]["function"], &lines[1]["line"], &lines[1]["column"]), (&"%f".into(), &3.into(), &19.into()));
    assert!(lines[0]["help"].as_str().is_some_and(|help| help.contains("`iconst` and `iadd`")), "{err}");
    let (code, _, err) = check(&["cat", "no-such-file"], "");
    assert!(code == 1 && err.starts_with("no-such-file: "), "{err}");
}

#[test]
fn what_there_is_can_be_listed() {
    let (code, out, _) = check(&["compile", "in.clif", "--set", "help", "--target", "aarch64"], GOOD);
    assert!(code == 0 && out.contains("is_pic=true ") && out.contains("has_lse "), "{out}");
    let is_marked = |key: &str, end: &str| out.lines().any(|line| line.trim().starts_with(key) && line.ends_with(end));
    assert!(
        is_marked("use_csdb ", " Not supported.") && is_marked("tls_model=", " Not supported: macho, coff."),
        "{out}"
    );
    assert!(is_marked("use_bti ", " go."), "{out}");
    let (code, out, _) = check(&["verify", "in.clif", "--target", "help"], GOOD);
    assert!(code == 0 && out.contains("x86_64 ") && out.contains("aarch64 "), "{out}");
    let (code, out, _) = check(&["opcodes"], "");
    assert!(code == 0 && out.lines().count() == Opcode::ALL.len() && out.contains("\niadd "), "{out}");
    let (code, out, err) = check(&["opcodes", "iadd", "iad"], "");
    assert!(code == 1 && out.starts_with("iadd: ") && err.contains("near: iadd"), "{out}{err}");
    let (code, _, err) = check(&["compile", "in.clif", "--set", "is_pick"], GOOD);
    assert!(code == 2 && err.contains("near: is_pic"), "{err}");
    let (code, _, err) = check(&["compile", "in.clif", "--target", "riscv64"], GOOD);
    assert!(code == 2 && err.contains("x86_64, aarch64"), "{err}");
}

#[test]
fn allocators_are_listed_without_the_baseline() {
    for command in ["compile", "test", "alloc", "explain"] {
        let (code, out, err) = check(&[command, "--regalloc", "help"], "");
        let names: Vec<&str> = out.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!((code, &names[..], err.as_str()), (0, &ALLOCATORS[..4], ""), "{command}");
    }
    let (code, _, err) = check(&["compile", "in.clif", "--regalloc", "none"], GOOD);
    assert!(code == 2 && err.ends_with("there are ssa, linear, backtracking, fused\n"), "{err}");
}

/// Checks that aliases of allocators are accepted, with one note.
#[test]
fn allocators_have_aliases() {
    for (alias, name) in [("single_pass", "fused"), ("spill-all", "spill_all")] {
        let note = format!("note: the allocator `{alias}` is called `{name}`\n");
        let words = |name: &str| check(&["compile", "in.clif", "-S", "--target", "x86_64", "--regalloc", name], RUNS);
        let (code, out, err) = words(alias);
        assert_eq!((code, err), (0, note.clone()));
        assert_eq!(out, words(name).1);
        let header = format!("set regalloc_algorithm={alias}\n{RUNS}");
        let (code, _, err) = check(&["verify", "in.clif", "in.clif", "--target", "x86_64"], &header);
        assert_eq!((code, err), (0, note.clone()));
        let text = format!("test run\nset regalloc_algorithm={alias}\ntarget x86_64\n{RUNS}");
        let (code, out, _) = check(&["test", "in.clif"], &text);
        assert!(code == 0 && out.starts_with("1 passed"), "{out}");
        let (code, _, err) =
            check(&["test", "in.clif", "--regalloc", alias], &format!("test run\ntarget x86_64\n{RUNS}"));
        assert_eq!((code, err), (0, note));
    }
}

#[test]
fn allocations_are_shown_by_the_names_of_the_text() {
    let (code, out, err) = check(&["alloc", "in.clif", "--target", "x86_64"], RUNS);
    assert!(code == 0 && out.starts_with("%add, x86_64"), "{out}{err}");
    let line = out.lines().find(|line| line.contains("v2 = iadd v0, v1")).expect("the line is there");
    assert!(line.contains("v0 rdi, v1 rsi"), "{line}");
    let (code, out, err) = check(&["alloc", "-", "--target", "aarch64", "--regalloc", "all"], RUNS);
    let head = out.lines().find(|line| line.split_whitespace().eq(ALLOCATORS));
    assert!(code == 0 && head.is_some(), "{out}{err}");
}

#[test]
fn pages_explain_functions() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("in.clif"), RUNS).expect("written");
    let output = kingpost(folder.path(), &["explain", "in.clif", "--function", "%add", "-o", "page.html"], "");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("v2 = iadd v0, v1"));
    let (code, _, err) = check(&["explain", "in.clif", "--function", "%ad", "-o", "x.html"], RUNS);
    assert!(code == 2 && err.contains("near: %add"), "{err}");
    let (code, _, err) = check(&["explain", "in.clif", "-o", "x.html"], "");
    assert!(code == 1 && err.contains("no function"), "{err}");
}

#[test]
fn large_files_are_answered_with_a_choice_of_functions() {
    let folder = tempfile::tempdir().expect("a folder");
    let function =
        |n: usize, lines: usize| format!("function %f{n}() {{\nblock0:\n{}    return\n}}\n", "    nop\n".repeat(lines));
    let all: String = (0..30).map(|n| function(n, if n == 7 { 3_000 } else { 1_700 })).collect();
    std::fs::write(folder.path().join("in.clif"), all).expect("written");
    let output = kingpost(folder.path(), &["explain", "in.clif", "-o", "page.html"], "");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("in.clif: 30 functions with 52420 lines are too much for a page"), "{said}");
    assert!(said.lines().nth(1).is_some_and(|line| line.ends_with("3004 lines  %f7")), "{said}");
    assert_eq!(said.lines().count(), 21, "{said}");
    let output = kingpost(folder.path(), &["explain", "in.clif", "--function", "%f7", "-o", "page.html"], "");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn printed_commands_repeat_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let source =
        "test run\ntarget x86_64\nfunction %it(i32) -> i32 { block0(v0: i32): return v0 }\n; run: %it(1) == 2\n";
    std::fs::write(folder.path().join("it's wrong.clif"), source).expect("written");
    let words = ["test", "--regalloc-command", "printf '%s' 'no allocation'", "it's wrong.clif"];
    let failed = kingpost(folder.path(), &words, "");
    let command =
        text(&failed.stdout).lines().find_map(|line| line.trim().strip_prefix("repeat: ").map(str::to_string));
    let command = command.expect("a command").replacen("kingpost", "\"$0\"", 1);
    let mut again = Command::new("sh");
    again.args(["-c", &command, env!("CARGO_BIN_EXE_kingpost")]).current_dir(folder.path());
    let again = again.output().expect("a shell");
    assert!(!failed.status.success());
    assert_eq!((again.status, text(&again.stdout)), (failed.status, text(&failed.stdout)), "{command}");
}

#[test]
fn allocators_may_be_programs() {
    let kingpost = env!("CARGO_BIN_EXE_kingpost");
    let tested = |program: &str, source: &str| check(&["test", "--regalloc-command", program, "in.clif"], source);
    let source = format!("test run\ntarget x86_64\n{RUNS}");
    let (code, out, err) = tested(&format!("'{kingpost}' alloc --regalloc linear -"), &source);
    assert!(code == 0 && out.contains("1 passed"), "{out}{err}");
    for (program, reason) in [("true", "no allocation"), ("exit 3", "exit status: 3"), ("echo v0", "cannot be read")] {
        let (code, out, err) = tested(program, &source);
        assert!(code == 1 && out.contains(reason) && out.contains("--regalloc-command"), "{program}: {out}{err}");
    }
    // An allocation that parses and is wrong: the checker reports it.
    let (code, out, _) = tested("printf 'allocation {\\n i0: r0, r0\\n i1: r0, r0, r0\\n i2: r0\\n}\\n'", &source);
    assert!(code == 1 && out.contains("FAILED"), "{out}");
}

#[test]
fn what_fails_is_reduced() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = format!(
        "; in front\n{RUNS}function %g(i64, i64) -> i64 {{\nblock0(v0: i64, v1: i64):\n    v2 = iadd v0, v1\n    v3 = imul v2, v1\n    \
         brif v3, block1(v2), block2\nblock1(v4: i64):\n    v5 = popcnt v4\n    return v5\nblock2:\n    return v0\n}}\n; behind\n"
    );
    std::fs::write(folder.path().join("in.clif"), source).expect("written");
    let reduce = |words: &[&str]| kingpost(folder.path(), &[&["reduce", "in.clif"], words].concat(), "");
    // The command fails as long as the text contains this opcode, because grep succeeds.
    let output = reduce(&["-o", "out.clif", "--", "sh", "-c", "! grep -q popcnt {}"]);
    assert_eq!(output.status.code(), Some(1), "`{{}}` stands for a file only as a word of its own");
    let output = reduce(&["-o", "out.clif", "--", "sh", "-c", "! grep -q popcnt \"$0\""]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let small = std::fs::read_to_string(folder.path().join("out.clif")).expect("a text");
    assert!(small.starts_with("; in front\n") && small.contains("popcnt") && small.contains("; behind"), "{small}");
    assert!(!small.contains("imul") && !small.contains("%add"), "{small}");
    // The reduced file must fail for the original reason: a directive that does not hold, not one that no longer fits
    // its function.
    let wrong = "test run\ntarget x86_64\n\nfunction %f(i64, i64) -> i64 {\nblock0(v0: i64, v1: i64):\n    v2 = popcnt v1\n    v3 = iadd \
                 v0, v2\n    return v3\n}\n; run: %f(3, 0) == 4\n";
    std::fs::write(folder.path().join("wrong.clif"), wrong).expect("written");
    let tool = env!("CARGO_BIN_EXE_kingpost");
    let output = kingpost(folder.path(), &["reduce", "wrong.clif", "--", tool, "interpret"], "");
    let small = text(&output.stdout);
    assert!(small.contains("function %f(i64, i64) -> i64") && !small.contains("popcnt"), "{small}");
    for name in ["none.clif", "none.ra"] {
        std::fs::write(folder.path().join(name), "; nothing\n").expect("written");
        let output = kingpost(folder.path(), &["reduce", name, "--", "false"], "");
        assert!(
            output.status.code() == Some(1) && text(&output.stderr).starts_with(&format!("{name}:1:1: ")),
            "{name}"
        );
    }
    let output = reduce(&["--", "true"]);
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains("does not fail"));
    // Allocation problems are reduced in this way, too.
    let problem = "problem %f {\n  v0: int 8\n  v1: int 8\n  b0:\n    def v0 = r0\n    def v1\n    use v1\n    branch use v0 = r0\n}\n";
    std::fs::write(folder.path().join("in.ra"), problem).expect("written");
    let output = kingpost(folder.path(), &["reduce", "in.ra", "--", "sh", "-c", "! grep -q '= r0' \"$0\""], "");
    let small = text(&output.stdout);
    assert!(small.contains("= r0") && !small.contains("v1"), "{small}{}", text(&output.stderr));
}

#[test]
fn shells_and_manuals_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, _) = check(&["completions", shell], "");
        assert!(code == 0 && out.contains("print-cfg"), "{shell}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    assert!(kingpost(folder.path(), &["man", "man1"], "").status.success());
    let page = std::fs::read_to_string(folder.path().join("man1/kingpost-explain.1")).expect("a page");
    assert!(page.contains("regalloc"), "{page}");
}

#[test]
fn objects_have_a_trap_table_if_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let has_table = |more: &[&str]| {
        let args = [&["compile", "-", "-o", "out.o"], more].concat();
        assert_eq!(kingpost(folder.path(), &args, RUNS).status.code(), Some(0));
        let object = std::fs::read(folder.path().join("out.o")).expect("an object");
        object.windows(14).any(|bytes| bytes == b"kingpost_traps")
    };
    assert!(has_table(&["--trap-table"]) && !has_table(&[]));
    assert_eq!(check(&["compile", "-", "--trap-table"], RUNS).0, 2);
}

#[test]
fn directives_run() {
    for command in ["run", "interpret"] {
        let (code, out, _) = check(&[command, "in.clif"], RUNS);
        assert_eq!((code, out.as_str()), (0, "1 passed, 0 failed, 0 skipped\n"), "{command}");
        let (code, out, _) = check(&[command, "-"], &RUNS.replace("== 3", "== 4"));
        assert!(code == 1 && out.contains("returned 3, expected 4"), "{out}");
    }
    let (code, out, _) = check(&["run", "in.clif", "%add(40, 2)"], RUNS);
    assert_eq!((code, out.as_str()), (0, "42\n"));
    let (code, _, err) = check(&["interpret", "%ad(1, 2)", "in.clif"], RUNS);
    assert!(code == 1 && err.contains("there is no function `%ad`; near: %add"), "{err}");
    // Equal failures are reported once, and the interpreter shows which side is wrong.
    let wrong = format!("test run\ntarget x86_64\n{}", RUNS.replace("== 3", "== 4"));
    let (code, out, _) = check(&["test", "in.clif"], &wrong);
    assert!(
        code == 1 && out.matches("FAILED").count() == 1 && out.matches("the same: ").count() == ALLOCATORS.len() - 1,
        "{out}"
    );
    assert!(out.contains("returned 3, expected 4") && out.contains("interpreted, it returned 3"), "{out}");
    let (code, out, _) = check(&["test", "in.clif"], &format!("test interpret\ntest cat\n{RUNS}"));
    assert!(code == 0 && out.ends_with("2 passed, 0 failed, 0 skipped\n"), "{out}");
    let (code, out, _) = check(&["test", "-"], RUNS);
    assert!(code == 1 && out.contains("has no `test` line"), "{out}");
}

#[test]
fn objects_link_and_run() {
    if Command::new("cc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI has a C compiler");
        eprintln!("SKIPPED: objects_link_and_run: no cc");
        return;
    }
    if !cfg!(target_arch = "x86_64") {
        eprintln!("SKIPPED: objects_link_and_run: not an x86-64 machine");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for allocator in ["linear", "spill_all"] {
        let args = ["compile", "-", "-o", "out.o", "--regalloc", allocator];
        let output = kingpost(folder.path(), &args, GOOD);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let cc = ["-Wl,--fatal-warnings", "out.o", "-o", "out"];
        let link = Command::new("cc").args(cc).current_dir(folder.path()).output().expect("cc runs");
        assert!(link.status.success() && link.stderr.is_empty(), "{}", text(&link.stderr));
        let run = Command::new(folder.path().join("out")).output().expect("the program runs");
        assert_eq!((run.status.code(), text(&run.stdout)), (Some(5), "hi\n".to_string()));
    }
}

#[test]
fn objects_appear_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = || std::fs::read_dir(folder.path()).expect("a folder").count();
    let mixed =
        format!("{RUNS}function %bad() {{\nblock0:\n  frob\n}}\nfunction %wrong() {{\nblock0:\n  jump block9\n}}\n");
    let output = kingpost(folder.path(), &["compile", "-", "-o", "out.o"], &mixed);
    assert_eq!((output.status.code(), files()), (Some(1), 0));
    let output = kingpost(folder.path(), &["compile", "-", "-o", "out.o", "--keep-going", "--stats=json"], &mixed);
    let err = text(&output.stderr);
    assert_eq!((output.status.code(), files()), (Some(1), 1));
    assert!(err.contains("<stdin>:9:3: unknown opcode `frob`") && err.contains("left out 1: "), "{err}");
    let out = text(&output.stdout);
    assert!(out.starts_with("{\"functions\":1,\"clif_insts\":2,") && out.ends_with("}\n"), "{out}");
    let twice = format!("{RUNS}{RUNS}");
    std::fs::remove_file(folder.path().join("out.o")).expect("removed");
    let output = kingpost(folder.path(), &["compile", "-", "-o", "out.o"], &twice);
    assert_eq!((output.status.code(), files()), (Some(1), 0));
    assert!(text(&output.stderr).starts_with("<stdin>:7:1: %add is defined twice, first at <stdin>:1:1\n"));
}

#[test]
fn what_is_defined_twice_has_two_places() {
    let data = "; data: %add ro = zero=8\n";
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.clif"), RUNS).expect("written");
    std::fs::write(folder.path().join("b.clif"), format!("{data}{}", RUNS.replace("%add", "%b"))).expect("written");
    let args = ["compile", "a.clif", "b.clif", "-", "-o", "out.o", "--message-format", "short"];
    let output = kingpost(folder.path(), &args, RUNS);
    assert_eq!((output.status.code(), folder.path().join("out.o").exists()), (Some(1), false));
    let expected = "b.clif:1:1: %add is defined twice, first at a.clif:1:1
<stdin>:1:1: %add is defined twice, first at a.clif:1:1
";
    assert_eq!(text(&output.stderr), expected);
    // The second and the third function are skipped.
    let output = kingpost(folder.path(), &[&args[..], &["--keep-going", "--stats"]].concat(), RUNS);
    let expected = format!("{expected}left out 2: %add is defined twice\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected));
    assert_eq!(first_row(&text(&output.stdout)), ["functions", "2"]);
    assert!(folder.path().join("out.o").exists());
}

#[test]
fn inputs_are_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.clif"), RUNS).expect("written");
    std::os::unix::fs::symlink("a.clif", folder.path().join("link")).expect("a link");
    for out in ["a.clif", "./a.clif", "link"] {
        let output = kingpost(folder.path(), &["compile", "a.clif", "-o", out], "");
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(2), "a.clif: both input and output\n"));
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("a.clif")).expect("a text"), RUNS);
}

/// Checks that former names of stages are accepted, with one note.
#[test]
fn stages_have_former_names() {
    let names = [
        ("shape", "simplify_cfg"),
        ("slots", "mem2reg"),
        ("simplify", "gvn"),
        ("place", "code_motion"),
        ("tidy", "cleanup"),
    ];
    for (former, name) in names {
        let note = format!("note: the stage `{former}` is called `{name}`\n");
        let dump = |name: &str| check(&["compile", "-", "--dump", name, "--stop-after", name], RUNS);
        assert_eq!(dump(former), (0, dump(name).1, note.clone()));
        assert_eq!(dump(name).2, "");
        if name != "cleanup" {
            let only = |name: &str| check(&["opt", "-", "--only", name, "--only", name], RUNS);
            assert_eq!(only(former), (0, only(name).1, note));
        }
    }
    let (code, _, err) = check(&["opt", "-", "--only", "licm"], RUNS);
    assert!(
        code == 2
            && err.contains("[possible values: simplify_cfg, mem2reg, gvn, unroll, code_motion, strength_reduction]"),
        "{err}"
    );
}

#[test]
fn stages_are_dumped() {
    let folder = tempfile::tempdir().expect("a folder");
    let both = format!("{RUNS}{}", RUNS.replace("%add", "%sum"));
    let args = ["compile", "-", "--set", "opt_level=speed", "--verify-each", "--dump", "all", "--dump-dir", "dumps"];
    let output = kingpost(folder.path(), &args, &both);
    assert_eq!((output.status.code(), text(&output.stdout), text(&output.stderr)), (Some(0), "".into(), "".into()));
    let mut names: Vec<String> = std::fs::read_dir(folder.path().join("dumps"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let expected = [
        "00-verify.clif",
        "01-expand.clif",
        "02-simplify_cfg.clif",
        "03-mem2reg.clif",
        "04-gvn.clif",
        "05-unroll.clif",
        "06-code_motion.clif",
        "07-strength_reduction.clif",
        "09-lower.mach",
        "10-regalloc.ra",
        "11-check.mach",
        "12-emit.lst",
    ];
    assert_eq!(names, expected);
    // Stages that do not run have no files.
    kingpost(folder.path(), &["compile", "-", "--dump", "all", "--dump-dir", "plain"], &both);
    let plain = std::fs::read_dir(folder.path().join("plain")).expect("a folder").count();
    assert_eq!(plain, expected.len() - 6, "without the six of the optimizer and that of the checker, with cleanup");
    // Every text has both functions in order. Texts of stages that have a parser can be parsed again.
    for name in names {
        let dump = std::fs::read_to_string(folder.path().join("dumps").join(&name)).expect("a dump");
        let [add, sum] = ["; %add\n", "; %sum\n"].map(|heading| dump.find(heading));
        assert!(add.is_some() && add < sum, "{name}: {dump}");
    }
    for command in [&["cat", "dumps/01-expand.clif"][..], &["alloc", "dumps/10-regalloc.ra", "--regalloc", "linear"]] {
        assert_eq!(kingpost(folder.path(), command, "").status.code(), Some(0), "{command:?}");
    }
    let (code, out, _) =
        check(&["compile", "-", "--dump", "expand", "--dump", "lower", "--stop-after", "lower"], &both);
    assert!(
        code == 0 && out.starts_with("; 01-expand %add\nfunction %add(") && out.contains("; 09-lower %sum"),
        "{out}"
    );
    let disasm = check(&["compile", "-", "--disasm"], &both);
    assert_eq!(disasm, check(&["compile", "-", "--dump", "emit"], &both));
    for args in [&["--dump", "lowr"][..], &["--stop-after", "lowr"]] {
        let (code, _, err) = check(&[&["compile", "-"], args].concat(), &both);
        assert!(code == 2 && err.contains("lower, ") && err.contains("regalloc"), "{err}");
    }
    assert_eq!(check(&["compile", "-", "-o", "out.o", "--stop-after", "lower"], &both).0, 2);
}

#[test]
fn compilation_goes_on_from_machine_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let both = format!("{RUNS}{}", RUNS.replace("%add", "%sum"));
    let args = ["compile", "-", "--verify-each", "--dump", "lower", "--dump", "check", "--dump-dir", ".", "-o", "a.o"];
    assert_eq!(kingpost(folder.path(), &args, &both).status.code(), Some(0));
    let object = |name: &str| std::fs::read(folder.path().join(name)).expect("an object");
    for dump in ["09-lower.mach", "11-check.mach"] {
        let output = kingpost(folder.path(), &["compile", dump, "-o", "b.o"], "");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{dump}");
        assert_eq!(object("a.o"), object("b.o"), "{dump}");
    }
    let dump = std::fs::read_to_string(folder.path().join("11-check.mach")).expect("a dump");
    // An operand in the wrong register is found before any byte is written.
    std::fs::write(folder.path().join("wrong.mach"), dump.replace("i0: r7, r6", "i0: r7, r7")).expect("written");
    let output = kingpost(folder.path(), &["compile", "wrong.mach", "-o", "c.o"], "");
    assert_eq!((output.status.code(), folder.path().join("c.o").exists()), (Some(1), false));
    let error = text(&output.stderr);
    assert!(error.starts_with("wrong.mach:2:1: the checker rejects") && error.contains("in %add"), "{error}");
    assert_eq!(kingpost(folder.path(), &["alloc", "09-lower.mach", "--regalloc", "linear"], "").status.code(), Some(0));
}

#[test]
fn one_function_is_compiled_alone() {
    let both = format!("{RUNS}{}", RUNS.replace("%add", "%sum"));
    let (code, out, err) = check(&["compile", "-", "--only", "%sum", "--stats"], &both);
    assert_eq!((code, first_row(&out)), (0, vec!["functions", "1"]), "{err}");
    let (code, _, err) = check(&["compile", "-", "--only", "%dum", "-o", "out.o"], &both);
    assert_eq!((code, err.as_str()), (2, "--function %dum: there is no such function; near: %sum\n"));
}

#[test]
fn settings_of_files_are_honoured() {
    let many = |set: &str| {
        format!("{set}function %many(i64) -> i64, i64, i64 {{\nblock0(v0: i64):\n  return v0, v0, v0\n}}\n")
    };
    let (code, _, err) = check(&["compile", "-"], &many(""));
    assert!(code == 1 && err.starts_with("<stdin>:1:1: ") && err.contains("in %many"), "{err}");
    assert_eq!(check(&["compile", "-"], &many("set enable_multi_ret_implicit_sret\n")).0, 0);
    assert_eq!(check(&["compile", "-", "--set", "enable_multi_ret_implicit_sret"], &many("")).0, 0);
    let (code, _, err) = check(&["compile", "-"], &many("set frob\n"));
    assert!(code == 1 && err.starts_with("<stdin>:1:5: unknown setting `frob`"), "{err}");
}

#[test]
fn problems_and_solutions_read_again() {
    let (code, first, err) = check(&["alloc", "in.clif", "--ra", "--regalloc", "linear"], RUNS);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(first.contains("problem %add {") && first.contains("allocation {"), "{first}");
    let (code, second, err) = check(&["alloc", "-", "--regalloc", "linear"], &first);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(second, first);
}

/// Checks that every subcommand reports the position of an error in the first line of the message.
#[test]
fn every_verb_says_where() {
    let untyped = "function %f(i64) -> i64 {\nblock0(v0: i64):\n  v1 = iadd v0, v9\n  return v1\n}\n";
    let invalid = "function %f(i64) -> i32 {\nblock0(v0: i64):\n  return v0\n}\n";
    let verbs: &[&[&str]] = &[
        &["cat"],
        &["verify"],
        &["print-cfg"],
        &["opt"],
        &["compile"],
        &["compile", "-S"],
        &["compile", "--keep-going"],
        &["explain", "-o", "page.html"],
        &["explain", "-o", "page.html", "--regalloc", "all"],
        &["alloc"],
        &["alloc", "--ra"],
        &["rules", "count"],
        &["run"],
        &["interpret"],
    ];
    for verb in verbs {
        let starts = |source: &str, place: &str| {
            let (code, _, err) = check(&[verb, &["in.clif", "--message-format", "short"][..]].concat(), source);
            assert!(code == 1 && err.starts_with(&format!("in.clif:{place}: ")), "{verb:?}: {code} {err}");
        };
        starts(untyped, "3:17");
        starts("function %f() {\nblock0:\n  return\n\0}\n", "4:1");
        if !matches!(verb[0], "cat" | "print-cfg") {
            starts(invalid, "3:3");
        }
    }
    let used = "problem %f {\nv0: int 8\nb0:\nuse v0\nbranch\n}\n";
    let empty = "; no problem\n";
    let machine = "env { int r0 }\nproblem %f {\nv0, v1: int 8\nb0:\ndef v0, def v1\nbranch\n}\n";
    let others: &[(&[&str], &str, &str)] = &[
        (&["alloc"], used, "4:1: %f: operand 0 of i0: rule 11"),
        (&["alloc"], empty, "1:1: there is no problem"),
        (&["alloc"], machine, "5:1: %f: two operands of i0 need r0"),
        (&["check"], used, "1:1: %f has no allocation"),
        (&["explain", "-o", "page.html"], "; nothing\n", "1:1: there is no function to explain"),
        (&["rules", "list"], "rule a\n\u{7f}\n", "2:1: "),
    ];
    for (verb, source, message) in others {
        let (code, _, err) = check(&[verb, &["--message-format", "short", "-"][..]].concat(), source);
        assert!(code != 0 && err.starts_with(&format!("<stdin>:{message}")), "{verb:?}: {code} {err}");
    }
}

/// Checks positions of errors in a large file, whose text is freed before the last functions are compiled and read
/// again for error messages.
#[test]
fn errors_in_large_files_have_positions() {
    let lines = 1 << 18;
    let source = format!(
        "{}function %f(i32) -> i64 {{\nblock0(v0: i32):\n    return v0\n}}\n",
        "; some text....\n".repeat(lines)
    );
    let (code, _, err) = check(&["compile", "--message-format", "short", "in.clif"], &source);
    assert!(code == 1 && err.starts_with(&format!("in.clif:{}:5: %f: ", lines + 3)), "{err}");
}

/// Checks that errors of loading have a position, too.
#[test]
fn symbols_that_cannot_be_loaded_have_a_place() {
    let undefined = "\nfunction %f() -> i64 {\n    gv0 = symbol %gone\nblock0:\n    v0 = symbol_value.i64 gv0\n    return v0\n}\n; print: %f()\n";
    let (code, out, _) = check(&["run", "in.clif"], undefined);
    assert!(code == 1 && out.contains("in.clif:3:18: undefined symbol %gone"), "{out}");
    for verb in ["verify", "run", "interpret", "compile"] {
        let (code, _, err) = check(&[verb, "in.clif"], &RUNS.repeat(2));
        assert!(
            code == 1 && err.starts_with("in.clif:7:1: %add is defined twice, first at in.clif:1:1"),
            "{verb}: {err}"
        );
    }
}

/// Checks that all subcommands with a target use the settings before a file's functions.
#[test]
fn all_verbs_take_settings_from_the_file() {
    let pinned = "set enable_pinned_reg\nfunction %f() -> i64 {\nblock0:\n  v0 = get_pinned_reg.i64\n  return v0\n}\n";
    for verb in [&["verify"][..], &["opt"], &["compile"], &["alloc"], &["explain", "-o", "page.html"]] {
        let run = |source| check(&[verb, &["in.clif"]].concat(), source);
        assert_eq!(run(pinned).0, 0, "{verb:?}");
        assert_eq!(run(pinned.strip_prefix("set enable_pinned_reg\n").unwrap_or_default()).0, 1, "{verb:?}");
        let (code, _, err) = run("set frob\nfunction %f() {\nblock0:\n  return\n}\n");
        assert!(code == 1 && err.starts_with("in.clif:1:5: "), "{verb:?}: {err}");
    }
    let folds = "set opt_level=none\n\nfunction %f(i64) -> i64 {\nblock0(v0: i64):\n  v1 = iconst.i64 0\n  v2 = iadd v0, v1\n  return v2\n}\n";
    assert!(check(&["opt", "in.clif"], folds).1.contains("iadd"));
    assert!(!check(&["opt", "--set", "opt_level=speed", "in.clif"], folds).1.contains("iadd"));
}

#[test]
fn wrong_names_are_answered_with_near_ones() {
    let near: &[(&[&str], &str)] = &[
        (&["compile", "in.clif", "--set", "opt_levl=speed"], "near: opt_level"),
        (&["compile", "in.clif", "--target", "aarch46"], "near: aarch64"),
        (&["compile", "in.clif", "--only", "%ad"], "near: %add"),
        (&["opcodes", "iad"], "near: iadd"),
    ];
    for (args, expected) in near {
        let (code, _, err) = check(args, RUNS);
        assert!(code != 0 && err.contains(expected), "{args:?}: {err}");
    }
}
