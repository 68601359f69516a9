//! Results in memory, in code written by hand.

use crate::written::{EPILOGUE, PROLOGUE, fault, leaf, verdict};
use kingpost_validate::{Fault, Verdict};

/// Returns three results. The third one is in the area at the address in rdi.
#[test]
fn results_are_in_the_area_of_the_caller() {
    let text = "function %f(i64) -> i64, i64, i64 { block0(v0: i64): return v0, v0, v0 }";
    let code = |store: &[u8]| [store, &[0x48, 0x89, 0xf0, 0x48, 0x89, 0xf2]].concat(); // mov rax, rsi; mov rdx, rsi
    assert_eq!(leaf(text, &code(&[0x48, 0x89, 0x37])), Verdict::Proved); // mov [rdi], rsi
    let beside = leaf(text, &code(&[0x48, 0x89, 0x77, 0x08])); // mov [rdi + 8], rsi
    assert_eq!(fault(beside), Some(Fault::Result(2)));
    assert_eq!(fault(leaf(text, &code(&[]))), Some(Fault::Result(2)));
    let beyond = leaf(text, &code(&[0x48, 0x89, 0x37, 0x48, 0x89, 0x77, 0x10])); // and mov [rdi + 16], rsi
    assert_eq!(fault(beyond), Some(Fault::Store));
}

/// Passes an area to a function that returns three results, and returns the third.
#[test]
fn areas_of_results_are_free_memory_of_the_frame() {
    let text = "function %f(i64) -> i64 { fn0 = %g(i64) -> i64, i64, i64
        block0(v0: i64): v1, v2, v3 = call fn0(v0) return v3 }";
    let code = |area: [u8; 3], load: &[u8]| {
        [
            &PROLOGUE[..],
            &[0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xfe], // sub rsp, 16; mov rsi, rdi
            &area,
            &[0xe8, 0, 0, 0, 0], // call %g
            load,
            &[0x48, 0x83, 0xc4, 0x10], // add rsp, 16
            &EPILOGUE,
        ]
        .concat()
    };
    let (here, load) = ([0x48, 0x89, 0xe7], [0x48, 0x8b, 0x04, 0x24]); // mov rdi, rsp; mov rax, [rsp]
    assert_eq!(verdict(text, &code(here, &load), 8, Some(15)), Verdict::Proved);
    let saved = verdict(text, &code([0x48, 0x89, 0xef], &load), 8, Some(15)); // mov rdi, rbp
    assert_eq!(fault(saved), Some(Fault::ResultArea));
    let other = verdict(text, &code(here, &[0x48, 0x8b, 0x44, 0x24, 0x08]), 8, Some(15)); // mov rax, [rsp + 8]
    assert_eq!(fault(other), Some(Fault::Result(0)));
}
