//! Code written by hand with one fault each, which one rule of a proof refuses and no other.

use crate::written::{EPILOGUE, PROLOGUE, code, fault, leaf, verdict, verdict_of_blocks, verdict_on};
use kingpost_ir::TrapCode;
use kingpost_validate::{Code, Fault, Machine, Verdict};

/// Puts another word in place of the caller's frame pointer, in a function that does not return.
#[test]
fn the_frame_chain_has_the_link() {
    let text = "function %f() { fn0 = %g() block0: call fn0() jump block1 block1: jump block1 }";
    let code = |push: u8| [push, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0xeb, 0xfe]; // push; mov rbp, rsp; call %g; jmp
    assert_eq!(verdict_of_blocks(text, &code(0x55), &[4, 9], Some(5)), Verdict::Proved); // push rbp
    assert_eq!(fault(verdict_of_blocks(text, &code(0x50), &[4, 9], Some(5))), Some(Fault::FrameChain)); // push rax
}

#[test]
fn the_stack_is_aligned_to_16_bytes_at_calls() {
    let text = "function %f() { fn0 = %g() block0: call fn0() return }";
    let code = |frame: u8| {
        let body = [0x48, 0x83, 0xec, frame, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, frame]; // sub rsp; call %g; add rsp
        [&PROLOGUE[..], &body, &EPILOGUE].concat()
    };
    assert_eq!(verdict(text, &code(16), 8, Some(9)), Verdict::Proved);
    assert_eq!(fault(verdict(text, &code(8), 8, Some(9))), Some(Fault::StackAlignment));
}

#[test]
fn arguments_of_16_bits_are_extended() {
    let text = |extension: &str| {
        format!(
            "function %f(i32) {{ fn0 = %g(i16 {extension}) block0(v0: i32):
                v1 = ireduce.i16 v0 call fn0(v1) return }}"
        )
    };
    let code = |extension: [u8; 3]| [&PROLOGUE[..], &extension, &[0xe8, 0, 0, 0, 0], &EPILOGUE].concat(); // call %g
    let (zero, sign) = ([0x0f, 0xb7, 0xff], [0x0f, 0xbf, 0xff]); // movzx edi, di; movsx edi, di
    let none = [0x48, 0x89, 0xff]; // mov rdi, rdi
    for (extension, right) in [("uext", zero), ("sext", sign)] {
        for extended in [zero, sign, none] {
            let expected = (extended != right).then_some(Fault::Argument(0));
            assert_eq!(fault(verdict(&text(extension), &code(extended), 4, Some(8))), expected, "{extension}");
        }
    }
}

/// Returns the verdict on code of x86-64 that loads, or does not, where the function loads and may trap.
fn trapping_load(body: &[u8], traps: &[(u32, TrapCode)]) -> Verdict {
    let text = "function %f(i64) -> i64 { block0(v0: i64): v1 = load.i64 heap_oob v0 return v0 }";
    let bytes = [&PROLOGUE[..], body, &EPILOGUE].concat();
    verdict_on(text, &Code { traps: traps.to_vec(), ..code(Machine::X64, &bytes, &[4]) })
}

#[test]
fn loads_that_may_trap_are_performed() {
    let load = [0x48, 0x8b, 0x07, 0x48, 0x89, 0xf8]; // mov rax, [rdi]; mov rax, rdi
    let listed = [(4, TrapCode::HEAP_OUT_OF_BOUNDS)];
    assert_eq!(trapping_load(&load, &listed), Verdict::Proved);
    assert_eq!(fault(trapping_load(&load[3..], &[])), Some(Fault::Omitted("a load that may trap")));
}

#[test]
fn accesses_that_may_trap_are_listed() {
    let load = [0x48, 0x8b, 0x07, 0x48, 0x89, 0xf8]; // mov rax, [rdi]; mov rax, rdi
    let unlisted = Some(Fault::AccessTrap(TrapCode::HEAP_OUT_OF_BOUNDS));
    assert_eq!(fault(trapping_load(&load, &[])), unlisted);
    assert_eq!(fault(trapping_load(&load, &[(4, TrapCode::STACK_OVERFLOW)])), unlisted);
    assert_eq!(fault(trapping_load(&load, &[(7, TrapCode::HEAP_OUT_OF_BOUNDS)])), unlisted);
}

/// Stores to bytes above a slot, where the caller's frame pointer is.
#[test]
fn bytes_above_a_slot_are_of_the_frame() {
    let text = |offset: u8| {
        format!(
            "function %f(i64) {{ ss0 = explicit_slot 8
                block0(v0: i64): v1 = stack_addr.i64 ss0 store notrap v0, v1+{offset} return }}"
        )
    };
    let verdict = |offset: u8| {
        let body = [0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x7d, 0xf8 + offset, 0xc9, 0xc3]; // sub rsp, 16; mov [rbp - 8], rdi; leave; ret
        let bytes = [&PROLOGUE[..], &body].concat();
        verdict_on(&text(offset), &Code { slots: vec![-24], ..code(Machine::X64, &bytes, &[8]) })
    };
    assert_eq!(verdict(0), Verdict::Proved);
    assert_eq!(fault(verdict(7)), Some(Fault::Store));
}

#[test]
fn loads_stay_behind_stores() {
    let text = "function %f(i64, i64) -> i64 {
        block0(v0: i64, v1: i64): store notrap v0, v1 v2 = load.i64 notrap v1 return v2 }";
    let (store, load) = ([0x48, 0x89, 0x3e], [0x48, 0x8b, 0x06]); // mov [rsi], rdi; mov rax, [rsi]
    assert_eq!(leaf(text, &[store, load].concat()), Verdict::Proved);
    assert_eq!(fault(leaf(text, &[load, store].concat())), Some(Fault::Load));
}

/// Performs two stores in the other order, as an instruction that stores a pair of registers may.
#[test]
fn stores_change_places_only_where_nothing_shows_it() {
    let text = |trap: &str, offset: u8| {
        format!(
            "function %f(i64, i64, i64) {{ block0(v0: i64, v1: i64, v2: i64):
                store {trap} v0, v1+{offset} store {trap} v2, v1 return }}"
        )
    };
    let code = |offset: u8| [[0x48, 0x89, 0x56, 0x00], [0x48, 0x89, 0x7e, offset]].concat(); // mov [rsi], rdx; mov [rsi + n], rdi
    assert_eq!(leaf(&text("notrap", 8), &code(8)), Verdict::Proved);
    assert_eq!(fault(leaf(&text("notrap", 7), &code(7))), Some(Fault::StoreAddress));
    assert_eq!(fault(leaf(&text("notrap", 0), &code(0))), Some(Fault::StoredValue));
    assert_eq!(fault(leaf(&text("heap_oob", 8), &code(8))), Some(Fault::StoreAddress));
    let fault_after_load = "function %f(i64, i64, i64) -> i64 { block0(v0: i64, v1: i64, v2: i64):
        store notrap v0, v1+8 v3 = load.i64 notrap v1 store notrap v2, v1 return v3 }";
    let load = [&code(8)[..], &[0x48, 0x8b, 0x06]].concat(); // mov rax, [rsi]
    assert_eq!(fault(leaf(fault_after_load, &load)), Some(Fault::StoreAddress));
}

#[test]
fn memory_of_the_caller_stays() {
    let text = "function %f(i64) -> i64 { block0(v0: i64): return v0 }";
    let code = |offset: u8| [0x48, 0x89, 0x7d, offset, 0x48, 0x89, 0xf8]; // mov [rbp + offset], rdi; mov rax, rdi
    assert_eq!(leaf(text, &code(0xf8)), Verdict::Proved);
    assert_eq!(fault(leaf(text, &code(0x10))), Some(Fault::CallerMemory));
    assert_eq!(fault(leaf(text, &code(0x40))), Some(Fault::CallerMemory));
}

/// Reads the bits above a value at the head of a block, where one of two paths leaves them open.
#[test]
fn extensions_hold_on_all_paths_to_a_head() {
    let text = "function %f(i32, i32) -> i64 {
        block0(v0: i32, v1: i32): brif v1, block1(v0), block2
        block1(v2: i32): v3 = uextend.i64 v2 return v3
        block2: jump block1(v1) }";
    let code = |read: &[u8]| {
        let branch = [0x85, 0xf6, 0x75, 0x02, 0x89, 0xf7]; // test esi, esi; jne block1; mov edi, esi
        [&PROLOGUE[..], &branch, read, &EPILOGUE].concat()
    };
    let verdict = |read: &[u8]| verdict_of_blocks(text, &code(read), &[4, 10, 8], None);
    assert_eq!(verdict(&[0x89, 0xf8]), Verdict::Proved); // mov eax, edi
    assert_eq!(fault(verdict(&[0x48, 0x89, 0xf8])), Some(Fault::Result(0))); // mov rax, rdi
}

/// Reads the register that holds a value of 32 bits on one of two paths to a head.
#[test]
fn values_are_in_their_places_on_all_paths_to_a_head() {
    let text = "function %f(i32, i32) -> i32 {
        block0(v0: i32, v1: i32): brif v1, block1(v0), block2
        block1(v2: i32): return v2
        block2: jump block1(v1) }";
    let verdict = |between: &[u8; 2], read: &[u8; 2]| {
        let branch = [0x85, 0xf6, 0x75, 0x02]; // test esi, esi; jne block1
        let code = [&PROLOGUE[..], &branch, between, read, &EPILOGUE].concat();
        verdict_of_blocks(text, &code, &[4, 10, 8], None)
    };
    let (mov, none) = ([0x89, 0xf7], [0x90, 0x90]); // mov edi, esi; nop; nop
    let (edi, esi) = ([0x89, 0xf8], [0x89, 0xf0]); // mov eax, edi; mov eax, esi
    assert_eq!(verdict(&mov, &edi), Verdict::Proved);
    assert_eq!(fault(verdict(&none, &edi)), Some(Fault::Result(0)));
    assert_eq!(fault(verdict(&none, &esi)), Some(Fault::Result(0)));
}

/// Returns 0 for a value that is 0 except for one pair of factors, which no search finds: parts are merged only if they are
/// proved to be equal.
#[test]
fn parts_with_equal_samples_are_not_merged() {
    let text = "function %f(i32, i32, i64) -> i64 { block0(v0: i32, v1: i32, v2: i64):
        v3 = uextend.i64 v0 v4 = uextend.i64 v1 v5 = imul v3, v4
        v6 = iconst.i64 0x81b0_d9e9_0cb1_2355
        v7 = icmp eq v5, v6 v8 = uextend.i64 v7 v9 = imul v8, v2 return v9 }";
    // The constant is the product of the primes 2,860,486,313 and 3,267,000,013.
    assert!(matches!(leaf(text, &[0x31, 0xc0]), Verdict::NotProved(_))); // xor eax, eax
}
