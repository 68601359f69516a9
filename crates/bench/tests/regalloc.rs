//! Runs `kingpost-bench regalloc` on a small file.

use std::path::Path;
use std::process::Command;

const TEXT: &str = "function %difference(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = isub v0, v1 return v2 }\n";

/// Returns what the command prints on standard output and on standard error.
fn regalloc(folder: &Path, words: &[&str]) -> (String, String) {
    let file = folder.join("small.clif");
    std::fs::write(&file, TEXT).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kingpost-bench"));
    command.arg("regalloc").args(["--rounds", "2"]).args(words).arg(file).current_dir(folder);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn results_are_tables_and_plots() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // A program that gives no answer takes part, and is refused.
    let program = ["--regalloc-command", "cat"];
    let (rows, refused) = regalloc(folder, &[&program[..], &["--format", "csv", "--plots", "plots"]].concat());
    assert_eq!(rows.lines().count(), 6, "{rows}");
    for allocator in ["regalloc2 backtracking", "regalloc2 fastalloc", "ssa", "linear", "backtracking"] {
        assert!(rows.contains(&format!("small,%difference,{allocator},")), "{rows}");
    }
    assert!(
        refused.starts_with("cat %difference: the program that allocates failed: it gave no allocation"),
        "{refused}"
    );
    assert!(folder.join("plots/ssa-linear.svg").exists());
    let (rows, _) = regalloc(folder, &["--format", "json", "--no-rivals", "--only", "linear"]);
    assert!(rows.starts_with("[{\"file\":\"small\"") && rows.contains("\"nanoseconds\":"), "{rows}");
    let (table, _) = regalloc(folder, &program);
    assert!(table.lines().any(|line| line.contains("cat ")) && table.contains("ns each"), "{table}");
}
