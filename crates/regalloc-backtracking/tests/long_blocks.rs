//! Blocks of loops that have many more values than registers.

use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::conformance::solve_text;
use std::fmt::Write;

/// Returns a problem with the message schedule of a cryptographic hash (FIPS 180-4, section 6.2.2) in a loop: each word is a function of
/// four of the 16 words before it, by way of values that are used at once.
fn schedule(words: usize) -> String {
    let mut text = String::from("env {\n int r0, r1, r2, r3, r4, r5, r6, r7\n }\n problem %schedule {\n");
    let values: Vec<String> = (0..3 * words).map(|v| format!("v{v}")).collect();
    let _ = writeln!(text, "{}: int 8\nb0:\nbranch -> b1 freq 1\nb1 freq 16:", values.join(", "));
    (0..16).for_each(|t| _ = writeln!(text, "def v{t}"));
    for t in 16..words {
        let (first, second) = (words + t, 2 * words + t);
        let _ = writeln!(text, "def v{first}, use v{}", t - 15);
        let _ = writeln!(text, "def v{second}, use v{}", t - 2);
        let _ = writeln!(text, "def v{t}, use v{first}, use v{second}, use v{}, use v{}", t - 16, t - 7);
    }
    text + "branch -> b2 freq 15, b3 freq 1\nb2 freq 15:\nbranch -> b1 freq 15\nb3 freq 1:\nbranch\n}"
}

#[test]
fn words_that_wait_leave_registers_to_values_that_are_used_at_once() {
    let (_, cost) = &solve_text(&mut Backtracking::default(), &schedule(64))[0];
    assert!(cost.loads() < 2900.0, "{cost}");
}
