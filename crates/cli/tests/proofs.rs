//! Checks what commands say about proofs of the emitted code.

use std::process::Command;

/// A loop, and a division that a routine computes.
const FUNCTIONS: &str = "\
function %sum(i32, i64) -> i64 {
block0(v0: i32, v1: i64):
    jump block1(v0, v1)
block1(v2: i32, v3: i64):
    v4 = iadd v3, v1
    v5 = iconst.i32 -1
    v6 = iadd v2, v5
    brif v6, block1(v6, v4), block2
block2:
    return v4
}
function %quotient(i128, i128) -> i128 {
block0(v0: i128, v1: i128):
    v2 = udiv v0, v1
    return v2
}
";

/// Runs the tool on the functions for AArch64, with proofs by terms. Returns the output, and the page if it writes one.
fn run(args: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("in.clif"), FUNCTIONS).expect("written");
    let settings = ["--set", "validate_code=terms", "--set", "enable_llvm_abi_extensions", "--target", "aarch64"];
    let output = Command::new(env!("CARGO_BIN_EXE_kingpost"))
        .args(args)
        .arg("in.clif")
        .args(settings)
        .current_dir(folder.path())
        .output()
        .expect("the tool starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap_or_default();
    (String::from_utf8_lossy(&output.stdout).into_owned(), page)
}

#[test]
fn proofs_say_where_they_begin() {
    let (out, _) = run(&["prove"]);
    assert!(out.contains("in.clif: %sum: proved\n"), "{out}");
    let reason = "%quotient: proved from the expanded function; from the function as read: out of scope: udiv";
    assert!(out.contains(reason), "{out}");
    assert!(out.ends_with("proofs begin at the function as read: 1, as expanded: 1, as optimized: 0\n"), "{out}");
    let (out, _) = run(&["prove", "-O", "speed"]);
    assert!(out.contains("%sum: proved from the optimized function\n"), "{out}");
    let (out, _) = run(&["prove", "--format", "json"]);
    let out: serde_json::Value = serde_json::from_str(&out).expect("an object");
    let quotient = &out["functions"][1];
    assert_eq!((quotient["reference"].as_str(), out["proved_from"]["read"].as_u64()), (Some("expanded"), Some(1)));
    let reason = quotient["reference_reason"].as_str();
    assert!(reason.is_some_and(|reason| reason.starts_with("out of scope: udiv")), "{quotient}");
}

#[test]
fn statistics_count_verdicts() {
    let (out, _) = run(&["compile", "--stats=json", "-o", "out.o"]);
    let out: serde_json::Value = serde_json::from_str(&out).expect("an object");
    let counts = ["functions", "proved", "refuted", "not_proved", "out_of_scope", "recompiled"];
    assert_eq!(counts.map(|count| out[count].as_u64()), [2, 2, 0, 0, 0, 0].map(Some));
}

#[test]
fn explanations_show_places_at_heads() {
    let (out, _) = run(&["alloc", "--function", "%sum"]);
    let at_head = out.lines().find(|line| line.contains("; at the head: ") && line.contains("v3 in x"));
    assert!(at_head.is_some() && out.contains("; proved"), "{out}");
    let (_, page) = run(&["explain", "--function", "%sum", "-o", "page.html"]);
    assert!(page.contains("; at the head: ") && page.contains("; proved"), "{page}");
}
