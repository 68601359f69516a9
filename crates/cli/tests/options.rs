//! Checks that options have one name and one meaning in all commands, and the formats of results for programs.

use kingpost_ir::Opcode;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const FIB: &str = "\
function %fib(i32) -> i64 {
block0(v0: i32):
    v1 = iconst.i64 0
    v2 = iconst.i64 1
    jump block1(v0, v1, v2)
block1(v3: i32, v4: i64, v5: i64):
    brif v3, block2, block3
block2:
    v6 = iadd v4, v5
    v7 = iconst.i32 1
    v8 = isub v3, v7
    jump block1(v8, v5, v6)
block3:
    return v4
}
function %div(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = sdiv v0, v1
    return v2
}
function %loop() -> i32 {
block0:
    jump block1
block1:
    jump block1
}
";

const CALLS: &str = "\
function %calls() -> i32 {
    fn0 = %gone() -> i32
block0:
    v0 = call fn0()
    return v0
}
";

const ADD: &str = "\
test run
test verifier
target x86_64

function %add(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = iadd v0, v1
    return v2
}
; run: %add(1, 2) == 3

function %twice(i32) -> i32 {
    fn0 = %add(i32, i32) -> i32
block0(v0: i32):
    v1 = call fn0(v0, v0)
    return v1
}
; run: %twice(2) == 5
";

fn kingpost(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kingpost"));
    let output = command.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("the tool starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Runs the tool in a folder with these files.
fn with(files: &[(&str, &str)], args: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    kingpost(folder.path(), args)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn levels_have_short_names() {
    let text = "function %f(i64) -> i64 {\nblock0(v0: i64):\n  v1 = iconst.i64 0\n  v2 = iadd v0, v1\n  return v2\n}\n; run: %f(3) == 3\n";
    let files = [("f.clif", text)];
    let code = |level: &str| with(&files, &["compile", level, "-S", "f.clif"]).1;
    let set = |level: &str| with(&files, &["compile", "--set", &format!("opt_level={level}"), "-S", "f.clif"]).1;
    assert_ne!(set("none"), set("speed"));
    for (short, level) in [("-O0", "none"), ("-Onone", "none"), ("-O2", "speed"), ("-Os", "speed_and_size")] {
        assert_eq!(code(short), set(level), "{short}");
    }
    for command in [&["compile"][..], &["alloc"], &["explain", "-o", "x.html"], &["run"], &["interpret"], &["opt"]] {
        for level in [&["-O", "speed"][..], &["-O2"], &["-Os"]] {
            let (code, _, err) = with(&files, &[command, level, &["f.clif"]].concat());
            assert_eq!(code, 0, "{command:?} {level:?}: {err}");
        }
    }
    let test = [("t.clif", format!("test run\ntarget x86_64\n{text}"))];
    for level in ["-O2", "-Oall", "-O0"] {
        assert_eq!(with(&[("t.clif", &test[0].1)], &["test", level, "t.clif"]).0, 0, "{level}");
    }
    assert_eq!(with(&files, &["compile", "-O9", "f.clif"]).0, 2);
}

#[test]
fn calls_print_results_only() {
    let files = [("fib.clif", FIB)];
    for command in ["run", "interpret"] {
        let call = |words: &[&str]| with(&files, &[&[command, "fib.clif"], words].concat());
        assert_eq!(call(&["%fib(50)", "%div(7, 2)"]), (0, "12586269025\n3\n".into(), String::new()), "{command}");
        for options in [&["-O2"][..], &["--regalloc", "linear"], &["--set", "opt_level=speed"], &["--target", "x86_64"]]
        {
            assert_eq!(call(&[options, &["%fib(10)"]].concat()).1, "55\n", "{command} {options:?}");
        }
        for (call_text, reason) in [("%div(1, 0)", "int_divz"), ("%none()", "no function")] {
            let (code, out, err) = call(&[call_text]);
            assert!(code == 1 && out.is_empty() && err.contains(reason), "{command} {call_text}: {code} {out}{err}");
        }
        let (code, out, err) = call(&["--limit", "1", "%loop()"]);
        assert!(code == 1 && out.is_empty() && !err.is_empty(), "{command}: {code} {out}{err}");
        let (code, out, err) = with(&[("f.clif", CALLS)], &[command, "f.clif", "%calls()"]);
        assert!(code == 1 && out.is_empty() && err.contains("%gone"), "{command}: {code} {out}{err}");
        assert_eq!(call(&["--set", "frob", "%fib(1)"]).0, 2);
        assert_eq!(call(&["--regalloc", "frob", "%fib(1)"]).0, 2);
    }
    let flags = "function %f(i32) -> i32 {\nblock0(v0: i32):\n  v1 = ctz v0\n  return v1\n}\n";
    let (code, out, err) = with(&[("f.clif", flags)], &["run", "f.clif", "--set", "has_bmi1", "%f(8)"]);
    assert!((code == 0 && out == "3\n") || err.contains("lacks has_bmi1"), "{out}{err}");
}

#[test]
fn every_command_takes_external_allocators() {
    let files = [("fib.clif", FIB)];
    let program = format!("'{}' alloc --regalloc linear -", env!("CARGO_BIN_EXE_kingpost"));
    let run = |words: &[&str]| with(&files, &[words, &["--regalloc-command", &program, "fib.clif"]].concat());
    // The section names the allocator.
    let code =
        |(_, out, _): (i32, String, String)| out.split_once(".section .comment").expect("a section").0.to_string();
    let own = with(&files, &["compile", "-S", "--regalloc", "linear", "fib.clif"]);
    assert_eq!(code(run(&["compile", "-S"])), code(own));
    assert_eq!(run(&["run", "%fib(10)"]).1, "55\n");
    let rows = json(&run(&["alloc", "--format", "json", "--regalloc", "linear"]).1);
    let rows = rows.as_array().expect("an array");
    assert!(rows.len() == 6 && rows[1]["allocator"] == program.as_str(), "{rows:?}");
    assert!(rows.chunks(2).all(|pair| pair[0]["weighted_cost"] == pair[1]["weighted_cost"]), "{rows:?}");
    assert_eq!(run(&["explain", "-o", "page.html"]).0, 0);
    let wrong = ["compile", "--regalloc-command", "exit 3", "fib.clif"];
    let (code, _, err) = with(&files, &wrong);
    assert!(code == 1 && err.contains("exit status: 3"), "{err}");
    assert_eq!(with(&files, &[&wrong[..], &["--regalloc", "ssa"]].concat()).0, 2);
}

#[test]
fn failures_of_external_allocators_name_the_program() {
    let (code, _, err) =
        with(&[("fib.clif", FIB)], &["compile", "--regalloc-command", "echo no >&2; exit 3", "fib.clif"]);
    assert!(code == 1 && err.contains("the program that allocates failed: exit status: 3: no"), "{err}");
}

#[test]
fn commands_for_standard_input_have_a_dash() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kingpost"));
    command.args(["run", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the tool starts");
    let text = format!("{FIB}; run: %div(4, 2) == 3\n");
    child.stdin.take().expect("an input").write_all(text.as_bytes()).expect("written");
    let said = String::from_utf8(child.wait_with_output().expect("it ends").stdout).expect("UTF-8");
    assert!(said.contains("repeat: kingpost run -\n"), "{said}");
}

#[test]
fn rules_on_clif_need_no_option() {
    let check = |text: &str| with(&[("my.rules", text)], &["rules", "check", "my.rules"]).2;
    let clif = check("; a comment\n\nrule half : iadd(x\n");
    assert!(clif.starts_with("my.rules:4:1: expected ','"), "{clif}");
    let llvm = check("rules\n");
    assert!(llvm.contains("'rules' is no instruction"), "{llvm}");
}

#[test]
fn problems_have_the_names_of_registers() {
    for (target, names) in [("x86_64", "; r0 rax, r1 rcx,"), ("aarch64", "; r0 x0, r1 x1,")] {
        let (code, out, err) = with(&[("fib.clif", FIB)], &["alloc", "--ra", "--target", target, "fib.clif"]);
        assert!(code == 0 && out.starts_with(names), "{out}{err}");
    }
}

#[test]
fn one_option_selects_functions() {
    let files = [("fib.clif", FIB)];
    let commands: &[&[&str]] =
        &[&["cat"], &["print-cfg"], &["opt"], &["alloc"], &["compile", "--disasm"], &["explain", "-o", "-"]];
    for command in commands {
        let (code, out, err) = with(&files, &[command, &["fib.clif", "--function", "%div"][..]].concat());
        assert!(code == 0 && out.contains("%div") && !out.contains("%fib"), "{command:?}: {err}{out}");
        let (code, _, err) = with(&files, &[command, &["fib.clif", "--function", "%dib"][..]].concat());
        assert!(code == 2 && err.contains("--function %dib: there is no such function; near: "), "{command:?}: {err}");
    }
}

#[test]
fn errors_of_outputs_name_the_output() {
    let (code, _, err) = with(&[("fib.clif", FIB)], &["compile", "fib.clif", "-o", "none/fib.o"]);
    assert_eq!((code, err.as_str()), (1, "none/fib.o: No such file or directory (os error 2)\n"));
}

#[test]
fn lists_need_no_file() {
    for command in ["compile", "alloc", "explain", "run", "test", "check"] {
        let (code, out, err) = with(&[], &[command, "--target", "help"]);
        assert!(code == 0 && out.contains("x86_64 "), "{command}: {err}");
    }
    for command in ["compile", "alloc", "run", "opt", "verify"] {
        let (code, out, err) = with(&[], &[command, "--set", "help", "--target=aarch64"]);
        assert!(code == 0 && out.contains("opt_level=") && out.contains("has_lse"), "{command}: {err}");
    }
    for (list, word) in [("targets", "aarch64"), ("settings", "is_pic="), ("cpus", "haswell"), ("allocators", "ssa")] {
        let (code, out, err) = with(&[], &["--print", list, "--target", "x86_64"]);
        assert!(code == 0 && out.contains(word), "{list}: {err}");
    }
    assert!(with(&[], &["--print", "settings", "--target", "aarch64"]).1.contains("has_lse"));
    assert_eq!(with(&[], &["--print", "frob"]).0, 2);
    assert_eq!(with(&[], &["compile", "--set", "help", "--target", "z80"]).0, 2);
    // Words after `--` are not options of the tool.
    assert_ne!(with(&[], &["reduce", "none.clif", "--", "x", "--target", "help"]).0, 0);
}

#[test]
fn help_and_manual_have_statuses_and_examples() {
    let (code, out, _) = with(&[], &["compile", "--help"]);
    assert!(code == 0 && out.contains("Exit status:") && out.contains("Examples:"), "{out}");
    assert!(with(&[], &["--help"]).1.contains("Exit status:"));
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(kingpost(folder.path(), &["man", "man1"]).0, 0);
    for name in ["kingpost-compile.1", "kingpost-rules-check.1"] {
        let page = std::fs::read_to_string(folder.path().join("man1").join(name)).expect("a page");
        for section in [".SH SYNOPSIS", ".SH \"EXIT STATUS\"", ".SH EXAMPLES", ".SH \"SEE ALSO\""] {
            assert!(page.contains(section), "{name}: {section}: {page}");
        }
        assert!(!page.contains("\\-o ]") && !page.contains("-o \\fR]"), "{page}");
    }
}

#[test]
fn tests_are_selected_and_listed() {
    let files = [("a.clif", ADD), ("b.clif", ADD)];
    let test = |words: &[&str]| with(&files, &[&["test", "--regalloc", "ssa"], words].concat());
    assert_eq!(test(&["."]).0, 1);
    let (code, out, _) = test(&["--function", "%add", "."]);
    assert_eq!((code, out.as_str()), (0, "4 passed, 0 failed, 0 skipped\n"));
    assert_eq!(test(&["--function", "%twice", "."]).0, 1);
    let (code, out, _) = test(&["--function", "%add", "--file", "b.cl", "."]);
    assert_eq!((code, out.as_str()), (0, "2 passed, 0 failed, 0 skipped\n"));
    let (code, out, _) = test(&["--list", "--file", "a.clif", "."]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(code, 0);
    assert_eq!(lines, ["./a.clif: test verifier", "./a.clif: test run, target x86_64, allocator ssa"]);
    for words in [&["--file", "none", "."][..], &["--function", "%none", "."]] {
        let (code, _, err) = test(words);
        assert!(code == 1 && err.contains("nothing to test"), "{err}");
    }
    let empty = tempfile::tempdir().expect("a folder");
    assert_eq!(kingpost(empty.path(), &["test", "."]).0, 1);
}

#[test]
fn reports_of_tests_have_formats() {
    let files = [("a.clif", ADD)];
    let (code, out, _) = with(&files, &["test", "--regalloc", "ssa", "--format", "json", "a.clif"]);
    let report = json(&out);
    assert_eq!((code, &report["passed"], &report["failed"]), (1, &1.into(), &1.into()));
    assert!(report["units"][1]["messages"][0].as_str().is_some_and(|text| text.contains("expected 5")), "{out}");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.clif"), ADD).expect("written");
    let args = ["test", "--regalloc", "ssa", "--format", "junit", "-o", "report.xml", "a.clif"];
    let (code, out, _) = kingpost(folder.path(), &args);
    assert!(code == 1 && out.ends_with("1 passed, 1 failed, 0 skipped\n"), "{out}");
    let xml = std::fs::read_to_string(folder.path().join("report.xml")).expect("a report");
    assert!(
        xml.starts_with("<?xml ") && xml.contains("<testsuite name=\"a.clif\" tests=\"2\" failures=\"1\""),
        "{xml}"
    );
    assert!(xml.contains("returned 4, expected 5") && xml.trim_end().ends_with("</testsuites>"), "{xml}");
}

#[test]
fn results_are_json() {
    let files = [("fib.clif", FIB)];
    let (code, out, err) = with(&files, &["alloc", "--regalloc", "all", "--format", "json", "fib.clif"]);
    let rows = json(&out);
    let rows = rows.as_array().expect("an array");
    assert!(code == 0 && rows.len() == 3 * 5, "{err}{out}");
    assert_eq!((&rows[0]["function"], &rows[0]["allocator"]), (&"%fib".into(), &"ssa".into()));
    for column in ["instructions", "values", "blocks", "spills", "fills", "moves", "exchanges", "rematerializations"] {
        assert!(rows.iter().all(|row| row[column].is_u64()), "{column}: {out}");
    }
    assert!(rows.iter().all(|row| row["bytes"].is_u64() && row["weighted_cost"].is_f64()), "{out}");
    let (_, out, _) = with(&files, &["alloc", "--regalloc", "all", "--format", "csv", "--rounds", "3", "fib.clif"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 16 && lines[0].starts_with("file,function,allocator,instructions,"), "{out}");
    assert!(lines.iter().all(|line| line.split(',').count() == lines[0].split(',').count()), "{out}");
    let (code, out, _) = with(&[], &["opcodes", "iadd", "--format", "json"]);
    assert!(code == 0 && json(&out)[0]["name"] == "iadd", "{out}");
    assert_eq!(json(&with(&[], &["opcodes", "--format", "json"]).1).as_array().map(Vec::len), Some(Opcode::ALL.len()));
    let (code, out, _) = with(&[], &["tiles", "--target", "x86_64", "--format", "json"]);
    assert!(code == 0 && json(&out)[0]["pattern"].is_string(), "{out}");
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/effects.rules");
    let (code, out, err) = with(&[], &["rules", "list", "--format", "json", rules]);
    assert!(code == 0 && json(&out)[0]["proved"] == true, "{out}{err}");
}

#[test]
fn shards_add_up_to_all_files() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..7 {
        let text = format!("test run\ntarget x86_64\n{FIB}\n; run: %div(6, 2) == 3\n");
        std::fs::write(folder.path().join(format!("{number}.clif")), text).expect("written");
    }
    let list = |rest: &[&str]| {
        let (code, out, err) = kingpost(folder.path(), &[&["test", "--list"], rest, &["."]].concat());
        assert_eq!(code, 0, "{err}");
        let mut lines: Vec<String> = out.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    let mut parts: Vec<String> = ["1/3", "2/3", "3/3"].iter().flat_map(|part| list(&["--shard", part])).collect();
    parts.sort();
    assert_eq!(parts, list(&[]));
    assert!(list(&["--shard", "1/3"]).iter().all(|line| ["0.", "3.", "6."].iter().any(|name| line.contains(name))));
    let (code, _, err) = kingpost(folder.path(), &["test", "--shard", "4/3", "."]);
    assert!(code == 2 && err.contains("`4/3` is no part I/N"), "{err}");
}

#[test]
fn problems_have_costs() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("fib.clif"), FIB).expect("written");
    let run = |args: &[&str]| kingpost(folder.path(), args);
    let ra = run(&["alloc", "--ra", "fib.clif"]).1;
    std::fs::write(folder.path().join("fib.ra"), &ra).expect("written");
    let (code, out, err) = run(&["check", "fib.ra"]);
    assert!(
        code == 0 && out.lines().all(|line| line.contains(": accepted: ") && line.contains(" loads (")),
        "{out}{err}"
    );
    let rows = json(&run(&["check", "--format", "json", "fib.ra"]).1);
    assert!(rows[0]["accepted"] == true && rows[0]["cost"]["weighted_cost"].is_f64(), "{rows}");
    let (code, out, err) = run(&["alloc", "--regalloc", "all", "fib.ra"]);
    assert!(code == 0 && out.lines().count() == 15 && out.starts_with("%fib: ssa "), "{out}{err}");
    for file in ["fib.ra", "fib.clif"] {
        let (code, out, err) = run(&["alloc", "--regalloc", "all", "--plots", "plots", file]);
        assert!(code == 0 && out.is_empty(), "{out}{err}");
        assert_eq!(std::fs::read_dir(folder.path().join("plots")).expect("a folder").count(), 10);
        let plot = std::fs::read_to_string(folder.path().join("plots/ssa-linear.svg")).expect("a plot");
        assert!(plot.starts_with("<svg ") && plot.contains(">3 functions, geometric mean "), "{plot}");
    }
    let (code, out, _) = run(&["alloc", "--regalloc", "all", "--format", "json", "--function", "%div", "fib.ra"]);
    assert!(code == 0 && json(&out).as_array().is_some_and(|rows| rows.len() == 5), "{out}");
    // A page about the problems, with names of registers as the machine of the file is the target.
    let (code, out, err) = run(&["explain", "--regalloc", "all", "-o", "-", "fib.ra"]);
    assert!(code == 0 && out.contains("%fib") && out.contains("\"rdi\"") && !out.contains("\"r7\""), "{err}{out}");
    std::fs::write(folder.path().join("small.ra"), ra.replacen("costs move 1", "costs move 2", 1)).expect("written");
    let (code, out, err) = run(&["explain", "--function", "%fib", "-o", "-", "small.ra"]);
    assert!(code == 0 && out.contains("\"r7\"") && !out.contains("\"rdi\"") && !out.contains("%div"), "{err}{out}");
    // An answer that reads a register that nothing wrote.
    let wrong = ra.replacen("i0: r7", "i0: r6", 1);
    assert_ne!(wrong, ra);
    std::fs::write(folder.path().join("wrong.ra"), wrong).expect("written");
    let (code, out, _) = run(&["check", "--format", "json", "wrong.ra"]);
    let rows = json(&out);
    assert!(code == 1 && rows[0]["accepted"] == false && rows[0]["findings"][0]["line"].is_u64(), "{out}");
}

#[test]
fn misspelt_directives_are_errors() {
    for (word, near) in
        [("runn: %f() == 1", "run"), ("pritn: %f()", "print"), ("chekc: v0", "check"), ("Run: %f() == 1", "run")]
    {
        let text = format!(
            "test interpret\nfunction %f() -> i32 {{\nblock0:\n  v0 = iconst.i32 1\n  return v0\n}}\n; {word}\n; run: %f() == 1\n"
        );
        for command in ["test", "run", "interpret"] {
            let (code, out, _) = with(&[("f.clif", &text)], &[command, "f.clif"]);
            assert!(code == 1 && out.contains("f.clif:7:1: there is no directive `"), "{word}: {out}");
            assert!(out.contains(&format!("; near: {near}")), "{word}: {out}");
        }
    }
    // Other comments are no directives.
    let text = "test interpret\n; note: a test\nfunction %f() -> i32 {\nblock0:\n  v0 = iconst.i32 1 ; rule: x\n  return v0\n}\n; run: %f() == 1\n";
    assert_eq!(with(&[("f.clif", text)], &["test", "f.clif"]).0, 0);
}

#[test]
fn reductions_keep_the_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("fib.clif"), FIB).expect("written");
    let run = |args: &[&str]| kingpost(folder.path(), args);
    let (code, _, err) = run(&["reduce", "fib.clif", "--", "no-such-command"]);
    assert!(code == 1 && err.contains("cannot run `no-such-command`: "), "{err}");
    // A failure of another function with equal status is another failure, although no message has a position.
    let script = "if grep -q popcnt \"$0\"; then echo '%big: bad v12'; elif grep -q function \"$0\"; then echo '%div: worse'; fi; exit 1";
    let big = "function %big(i64) -> i64 {\nblock0(v0: i64):\n  v1 = iadd v0, v0\n  v2 = popcnt v1\n  return v2\n}\n";
    std::fs::write(folder.path().join("big.clif"), format!("{big}{FIB}")).expect("written");
    let (code, out, err) = run(&["reduce", "big.clif", "--", "sh", "-c", script]);
    assert!(code == 0 && out.contains("popcnt") && !out.contains("%fib"), "{out}{err}");
    // A rejected allocation is reduced with its problem.
    let ra = run(&["alloc", "--ra", "--function", "%fib", "fib.clif"]).1;
    let wrong = ra.replacen("i0: r7", "i0: r6", 1);
    std::fs::write(folder.path().join("wrong.ra"), &wrong).expect("written");
    let (code, out, err) = run(&["reduce", "wrong.ra", "--", env!("CARGO_BIN_EXE_kingpost"), "check"]);
    assert!(code == 0 && out.contains("allocation {"), "{out}{err}");
    std::fs::write(folder.path().join("small.ra"), &out).expect("written");
    let rule = "i0 operand 0: rule 7: a location satisfies the operand's constraint; ";
    assert!(["small.ra", "wrong.ra"].iter().all(|file| run(&["check", file]).2.contains(rule)), "{out}");
    assert!(out.lines().count() < wrong.lines().count(), "{out}");
}
