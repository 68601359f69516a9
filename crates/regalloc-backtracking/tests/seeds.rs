//! Problems that were once answered wrongly.

use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::conformance::solve_text;
use kingpost_testgen::fuzz;

/// Checks a value that is moved to another register and stored before one instruction: the store must read the old
/// register.
#[test]
fn a_store_amid_moves_reads_the_old_place() {
    fuzz::allocator(&mut Backtracking::default(), 6079..6080).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Checks a reference whose register is free after a safepoint that reads it: the collector did not see it there.
#[test]
fn a_reference_does_not_wait_in_a_register_at_a_safepoint() {
    let source = "env {\nint r0, r1 saved {r0, r1}\n}\nproblem %gc {\nv0: int 8 ref\nb0:\ndef v0\nsafepoint use v0\n\
        use v0\nbranch\n}";
    solve_text(&mut Backtracking::default(), source);
}

/// Checks a bundle of a reference and a value that is no reference: cut at safepoints, their parts overlapped.
#[test]
fn parts_of_a_bundle_do_not_overlap() {
    fuzz::allocator(&mut Backtracking::default(), 900_266_094..900_266_095)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// Checks a reference that a safepoint writes over its input in memory: it is not there yet when the collector
/// runs.
#[test]
fn a_result_in_memory_is_not_mapped_at_its_own_safepoint() {
    let source = "env {\nint r0-r2\n}\nproblem %rmw {\nv0: int 8\nv1: int 8 ref\nb0:\ndef v0\n\
        safepoint use v0 mem, use v0 in {r0, r1}, def v1 reuse 0 rmw, clobbers {r0}\nuse v1\nbranch\n}";
    solve_text(&mut Backtracking::default(), source);
}

/// Checks two uses of one value in subsets that overlap: they share a register only if they must, because the
/// common registers may be taken.
#[test]
fn overlapping_subsets_share_only_if_they_must() {
    let solve = |body: &str| {
        let head = "env {\nint r0-r2\n}\nproblem %subsets {\nv0, v1, v2: int 8\nb0:\ndef v0\ndef v1\ndef v2\n";
        let uses = "use v0 in {r0, r1}, use v0 in {r1, r2}";
        solve_text(&mut Backtracking::default(), &format!("{head}{uses}, {body}\nbranch\n}}"));
    };
    solve("use v1 = r1, use v2 mem");
    solve("use v1 = r0, use v2 = r2");
}

/// Checks that the 257th operand is not tied by the result that reuses the first.
#[test]
fn only_the_named_operand_of_many_is_tied() {
    let many = "use v1 any, ".repeat(255);
    let source = format!(
        "env {{\nint r0-r2\n}}\nproblem %many {{\nv0, v1, v2, v3: int 8\nb0:\ndef v0\ndef v1\ndef v2\n\
         use v0, {many}use v2, def v3 reuse 0\nuse v3\nbranch\n}}"
    );
    solve_text(&mut Backtracking::default(), &source);
}
