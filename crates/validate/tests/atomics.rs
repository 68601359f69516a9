//! Atomic accesses written by hand, right and with faults.

use crate::written::{EPILOGUE, PROLOGUE, code, fault, leaf, verdict_on, words};
use kingpost_ir::TrapCode;
use kingpost_validate::{Code, Fault, Machine, Verdict};

/// Words of AArch64 for a loop of exclusive accesses that adds.
const LOAD: u32 = 0x885f_fc08; // ldaxr w8, [x0]
const ADD: u32 = 0x0b01_0109; // add w9, w8, w1
const STORE: u32 = 0x8811_fc09; // stlxr w17, w9, [x0]
const AGAIN: u32 = 0x35ff_ffb1; // cbnz w17 to the load
const RESULT: u32 = 0x2a08_03e0; // mov w0, w8

#[test]
fn loops_of_exclusive_accesses_are_one_access() {
    let text = "function %f(i64, i32) -> i32 {
        block0(v0: i64, v1: i32): v2 = atomic_rmw.i32 notrap add v0, v1 return v2 }";
    assert_eq!(words(text, &[LOAD, ADD, STORE, AGAIN, RESULT]), Verdict::Proved);
    let wrong = [
        ([0x885f_7c08, ADD, STORE, AGAIN, RESULT], "ldxr, which does not acquire"),
        ([LOAD, ADD, 0x8811_7c09, AGAIN, RESULT], "stxr, which does not release"),
        ([0xb940_0008, ADD, STORE, AGAIN, RESULT], "ldr"),
        ([LOAD, ADD, 0xb900_0009, AGAIN, RESULT], "str"),
        ([LOAD, ADD, 0x8811_fc29, AGAIN, RESULT], "stlxr w17, w9, [x1]"),
        ([LOAD, 0x4b01_0109, STORE, AGAIN, RESULT], "sub w9, w8, w1"),
        ([LOAD, ADD, STORE, 0x34ff_ffb1, RESULT], "cbz: the loop ends if the store failed"),
        ([LOAD, ADD, STORE, 0xd503_201f, RESULT], "nop: no second attempt"),
        ([LOAD, ADD, STORE, 0x35ff_ffd1, RESULT], "cbnz to the sum: the second attempt does not load"),
        ([LOAD, ADD, STORE, AGAIN, 0x2a09_03e0], "mov w0, w9: the new value"),
        ([LOAD, 0x0b01_0101, 0x8811_fc01, AGAIN, RESULT], "add w1, w8, w1: the second attempt adds another value"),
    ];
    for (code, reason) in wrong {
        assert!(fault(words(text, &code)).is_some(), "{reason}");
    }
}

#[test]
fn attempts_of_compare_and_exchange_are_one_access() {
    let text = "function %f(i64, i64) -> i64 {
        block0(v0: i64, v1: i64): v2 = atomic_rmw.i64 notrap and v0, v1 return v2 }";
    let code = |and: u8, exchange: &[u8], again: &[u8]| {
        [
            &[0x48, 0x8b, 0x07][..],              // mov rax, [rdi]
            &[0x48, 0x89, 0xc1, 0x48, and, 0xf1], // 1: mov rcx, rax; and rcx, rsi
            exchange,                             // lock cmpxchg [rdi], rcx
            again,                                // jne 1b
        ]
        .concat()
    };
    let locked = [0xf0, 0x48, 0x0f, 0xb1, 0x0f];
    assert_eq!(leaf(text, &code(0x21, &locked, &[0x75, 0xf3])), Verdict::Proved);
    let wrong = [
        (code(0x09, &locked, &[0x75, 0xf3]), "or"),
        (code(0x21, &locked[1..], &[0x75, 0xf4]), "without lock"),
        (code(0x21, &locked, &[0x74, 0xf3]), "je: the loop ends if the exchange failed"),
        (code(0x21, &locked, &[]), "no second attempt"),
        (code(0x21, &locked, &[0x75, 0xf6]), "a second attempt with the first value"),
        (code(0x21, &[0x48, 0x89, 0x0f], &[]), "mov [rdi], rcx"),
    ];
    for (code, reason) in wrong {
        assert!(fault(leaf(text, &code)).is_some(), "{reason}");
    }
}

/// Exchanges what is in memory with itself: the operand is zero, so that memory stays as it is in both cases.
#[test]
fn attempts_that_change_nothing_are_repeated() {
    let text = "function %f(i64) -> i64 {
        block0(v0: i64): v1 = iconst.i64 0 v2 = atomic_rmw.i64 notrap xor v0, v1 return v2 }";
    let code = |again: &[u8]| {
        [
            &[0x31, 0xf6, 0x48, 0x8b, 0x07][..],   // xor esi, esi; mov rax, [rdi]
            &[0x48, 0x89, 0xc1, 0x48, 0x31, 0xf1], // 1: mov rcx, rax; xor rcx, rsi
            &[0xf0, 0x48, 0x0f, 0xb1, 0x0f],       // lock cmpxchg [rdi], rcx
            again,
        ]
        .concat()
    };
    assert_eq!(leaf(text, &code(&[0x75, 0xf3])), Verdict::Proved); // jne 1b
    assert!(fault(leaf(text, &code(&[0x74, 0xf3]))).is_some()); // je 1b
    // A comparison that the function has is no attempt.
    let text = "function %f(i64, i64) -> i64 {
        block0(v0: i64, v1: i64): v2 = atomic_cas.i64 notrap v0, v1, v1 return v2 }";
    let exchange = [0x48, 0x89, 0xf0, 0xf0, 0x48, 0x0f, 0xb1, 0x37]; // mov rax, rsi; lock cmpxchg [rdi], rsi
    assert_eq!(leaf(text, &exchange), Verdict::Proved);
}

/// Checks before the loop that the address is the argument, which gives the address another form.
#[test]
fn attempts_are_repeated_where_conditions_hold() {
    let text = "function %f(i64, i64) -> i64 {
        block0(v0: i64, v1: i64):
            v2 = iconst.i64 4 v3 = band v1, v2 v4 = iadd v0, v3 trapnz v3, user1
            v5 = atomic_rmw.i64 notrap and v4, v1 return v5 }";
    let bytes = [
        &PROLOGUE[..],
        &[0x48, 0x89, 0xf2, 0x83, 0xe2, 0x04, 0x48, 0x01, 0xd7], // mov rdx, rsi; and edx, 4; add rdi, rdx
        &[0x48, 0x85, 0xd2, 0x75, 0x12],                         // test rdx, rdx; jne to the trap
        &[0x48, 0x8b, 0x07],                                     // mov rax, [rdi]
        &[0x48, 0x89, 0xc1, 0x48, 0x21, 0xf1],                   // 1: mov rcx, rax; and rcx, rsi
        &[0xf0, 0x48, 0x0f, 0xb1, 0x0f, 0x75, 0xf3],             // lock cmpxchg [rdi], rcx; jne 1b
        &EPILOGUE,
        &[0x0f, 0x0b], // ud2
    ]
    .concat();
    let traps = vec![(bytes.len() as u32 - 2, TrapCode::user(1).unwrap())];
    assert_eq!(verdict_on(text, &Code { traps, ..code(Machine::X64, &bytes, &[4]) }), Verdict::Proved);
}

/// Stores before it loads. The load does not come first.
#[test]
fn accesses_do_not_change_places_with_atomic_ones() {
    let text = "function %f(i64, i64) -> i64 {
        block0(v0: i64, v1: i64): atomic_store notrap v1, v0 v2 = load.i64 notrap v0 return v2 }";
    assert_eq!(words(text, &[0xc89f_fc01, 0xf940_0000]), Verdict::Proved); // stlr x1, [x0]; ldr x0, [x0]
    let early = [0xf940_0002, 0xc89f_fc01, 0xaa02_03e0]; // ldr x2, [x0]; stlr x1, [x0]; mov x0, x2
    assert!(fault(words(text, &early)).is_some());
    assert!(fault(words(text, &[0xf900_0001, 0xf940_0000])).is_some(), "str");
    let exchange = [0x48, 0x87, 0x37, 0x48, 0x8b, 0x07]; // xchg [rdi], rsi; mov rax, [rdi]
    assert_eq!(leaf(text, &exchange), Verdict::Proved);
    let plain = [0x48, 0x89, 0x37, 0x48, 0x8b, 0x07]; // mov [rdi], rsi; mov rax, [rdi]
    assert!(fault(leaf(text, &plain)).is_some());
    let text = "function %f(i64) -> i64 { block0(v0: i64): v1 = atomic_load.i64 notrap v0 return v1 }";
    assert_eq!(words(text, &[0xc8df_fc00]), Verdict::Proved); // ldar x0, [x0]
    assert_eq!(fault(words(text, &[0xf940_0000])), Some(Fault::Omitted("an atomic access"))); // ldr x0, [x0]
}

/// Reverses the bytes of the value, of a word of it, and not at all.
#[test]
fn bytes_in_memory_have_an_order() {
    let text = "function %f(i64, i64) { block0(v0: i64, v1: i64): store notrap big v1, v0 return }";
    assert_eq!(words(text, &[0xdac0_0c21, 0xf900_0001]), Verdict::Proved); // rev x1, x1; str x1, [x0]
    assert_eq!(fault(words(text, &[0xdac0_0821, 0xf900_0001])), Some(Fault::StoredValue)); // rev32 x1, x1
    assert_eq!(fault(words(text, &[0xf900_0001])), Some(Fault::StoredValue));
}
