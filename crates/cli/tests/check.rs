//! Checks `kingpost check`: the files of `filetests/check` get the verdicts of their first lines, and the exit code
//! distinguishes a rejection from input that cannot be judged.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the tool and returns its exit code, standard output and standard error.
fn kingpost(args: &[&str], stdin: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kingpost"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    // The process may have ended without reading.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn files() -> Vec<PathBuf> {
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/check");
    let entries = std::fs::read_dir(&room).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() > 15, "{files:?}");
    files
}

#[test]
fn each_file_gets_the_verdict_it_expects() {
    for file in files() {
        let path = file.to_str().expect("a plain name");
        let source = std::fs::read_to_string(&file).expect("readable");
        let first = source.lines().next().unwrap_or_default();
        let (code, out, err) = kingpost(&["check", path], "");
        match first.split_once("; expect ").unwrap_or_else(|| panic!("{path}: no `; expect `")).1 {
            "accept" => {
                let is_accepted = out.starts_with(&format!("{path}: %f: accepted: ")) && out.contains(" loads (");
                assert!(code == 0 && is_accepted && out.lines().count() == 1 && err.is_empty(), "{out}{err}");
            }
            expected => {
                let reason = expected.strip_prefix("reject ").unwrap_or_else(|| panic!("{path}: {first}"));
                assert_eq!((code, out), (1, format!("{path}: %f: rejected\n")), "{path}: {err}");
                let has_place = |line: &str| line.strip_prefix(path).is_some_and(|at| at.starts_with(':'));
                assert!(err.lines().all(has_place), "{err}");
                assert!(err.lines().all(|line| line.contains(&format!(": {reason}:"))), "{path}: {err}");
            }
        }
    }
}

#[test]
fn what_cannot_be_judged_is_2() {
    let code = |text: &str| kingpost(&["check", "-"], text).0;
    assert_eq!(code(""), 2);
    assert_eq!(code("problem"), 2);
    assert_eq!(code("problem %f {\nb0:\nbranch\n}\n"), 2);
    assert_eq!(code("problem %f {\nb0:\nbranch\n}\nallocation {\n}\n"), 0);
    assert_eq!(code("problem %f {\nb0:\nnop\n}\nallocation {\n}\n"), 1);
    assert_eq!(kingpost(&["check", "/no/such/file.ra"], "").0, 2);
    let (_, _, err) = kingpost(&["check", "-"], "problem %f {\nb0:\nfrob\n}\n");
    assert!(err.starts_with("<stdin>:3:1: expected"), "{err}");
}

#[test]
fn one_rejected_case_among_several_rejects_the_file() {
    let case = |name: &str, loc: &str| {
        format!(
            "problem %{name} {{\nv0: int 8\nb0:\ni0: def v0\ni1: branch use v0\n}}\nallocation {{\ni0: r0\ni1: {loc}\n}}\n"
        )
    };
    let env = "env {\nint r0, r1\n}\n";
    let (code, out, err) = kingpost(&["check", "-"], &format!("{env}{}{}", case("good", "r0"), case("bad", "r1")));
    let good = "<stdin>: %good: accepted: 0 loads (";
    assert!(code == 1 && out.starts_with(good) && out.ends_with("\n<stdin>: %bad: rejected\n"), "{out}");
    assert!(err.starts_with("<stdin>:22:1: i1 operand 0: rule 21: "), "{err}");
}

#[test]
fn what_alloc_prints_is_accepted() {
    let source =
        "function %f(i64, i64) -> i64 {\nblock0(v0: i64, v1: i64):\nv2 = udiv v0, v1\nv3 = imul v2, v0\nreturn v3\n}\n";
    for allocator in ["ssa", "linear", "backtracking", "fused", "spill_all"] {
        for target in ["x86_64", "aarch64"] {
            let (code, text, err) =
                kingpost(&["alloc", "--ra", "--regalloc", allocator, "--target", target, "-"], source);
            assert_eq!(code, 0, "{err}");
            assert_eq!(kingpost(&["check", "-"], &text).0, 0, "{text}");
        }
    }
}
