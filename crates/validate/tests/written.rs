//! Code written by hand with faults that no single bit makes.

use kingpost_ir::Block;
use kingpost_validate::{Code, Fault, Machine, Relocation, RelocationKind, Symbol, Verdict, prove};

/// Returns the verdict on code of x86-64 for the only function of a text. Its only block begins at `head`.
fn verdict(text: &str, bytes: &[u8], head: u32, callee: Option<u32>) -> Verdict {
    verdict_of_blocks(text, bytes, &[head], callee)
}

/// Returns the verdict on code of x86-64 for the only function of a text, whose blocks begin at `heads`.
fn verdict_of_blocks(text: &str, bytes: &[u8], heads: &[u32], callee: Option<u32>) -> Verdict {
    let function = kingpost_reader::parse_functions(text).unwrap().remove(0);
    let call =
        |offset| Relocation { offset, kind: RelocationKind::Distance, symbol: Symbol::Named("%g".into()), addend: -4 };
    let code = Code {
        machine: Machine::X64,
        features: Vec::new(),
        bytes,
        end: bytes.len() as u32,
        heads: (0..).map(Block::from_u32).zip(heads.iter().copied()).collect(),
        traps: Vec::new(),
        relocations: callee.into_iter().map(call).collect(),
        slots: Vec::new(),
    };
    prove(&function, &code, None).verdict
}

fn fault(verdict: Verdict) -> Option<Fault> {
    match verdict {
        Verdict::Refuted(finding) | Verdict::NotProved(finding) => Some(finding.fault),
        Verdict::Proved | Verdict::OutOfScope(_) => None,
    }
}

/// Saves the argument in the frame over a call, and returns it.
#[test]
fn places_below_the_stack_pointer_are_lost_at_calls() {
    let text = "function %f(i64) -> i64 { fn0 = %g() block0(v0: i64): call fn0() return v0 }";
    let code = |frame: u8| {
        [
            &[0x55, 0x48, 0x89, 0xe5][..], // push rbp; mov rbp, rsp
            &[0x48, 0x83, 0xec, frame],    // sub rsp, frame
            &[0x48, 0x89, 0x7d, 0xf0],     // mov [rbp - 16], rdi
            &[0xe8, 0, 0, 0, 0],           // call %g
            &[0x48, 0x8b, 0x45, 0xf0],     // mov rax, [rbp - 16]
            &[0x48, 0x83, 0xc4, frame],    // add rsp, frame
            &[0x5d, 0xc3],                 // pop rbp; ret
        ]
        .concat()
    };
    assert_eq!(verdict(text, &code(16), 8, Some(13)), Verdict::Proved);
    assert_eq!(fault(verdict(text, &code(0), 8, Some(13))), Some(Fault::Result(0)));
}

/// Subtracts two words of the frame that were never stored, on one of two paths through the block.
#[test]
fn unspecified_values_of_a_path_differ() {
    let text = "function %f(i64) -> i64 { block0(v0: i64): v1 = iconst.i64 0 return v1 }";
    let code = |second: u8| {
        [
            &[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10][..], // push rbp; mov rbp, rsp; sub rsp, 16
            &[0x48, 0x8b, 0x45, 0xf8],                             // mov rax, [rbp - 8]
            &[0x48, 0x85, 0xff, 0x74, 0x04],                       // test rdi, rdi; je over the next two
            &[0x31, 0xc0, 0xeb, 0x07],                             // xor eax, eax; jmp to the end
            &[0x48, 0x8b, 0x4d, second],                           // mov rcx, [rbp + second]
            &[0x48, 0x29, 0xc8],                                   // sub rax, rcx
            &[0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3],                 // add rsp, 16; pop rbp; ret
        ]
        .concat()
    };
    assert_eq!(fault(verdict(text, &code(0xf0), 8, None)), Some(Fault::Result(0)));
}

/// Rotates by `rorx`, which only some processors have.
#[test]
fn instructions_of_other_processors_are_refused() {
    let text = "function %f(i64) -> i64 { block0(v0: i64): v1 = iconst.i64 5 v2 = rotr v0, v1 return v2 }";
    let code = [
        &[0x55, 0x48, 0x89, 0xe5][..],         // push rbp; mov rbp, rsp
        &[0xc4, 0xe3, 0xfb, 0xf0, 0xc7, 0x05], // rorx rax, rdi, 5
        &[0x5d, 0xc3],                         // pop rbp; ret
    ]
    .concat();
    assert_eq!(fault(verdict(text, &code, 4, None)), Some(Fault::Processor("bmi2")));
}

/// Compares the index of a table with its entries one after the other, once with the comparisons exchanged.
#[test]
fn comparisons_exclude_the_entries_of_a_table() {
    let text = "function %f(i32) -> i32 {
        block0(v0: i32): v1 = iconst.i32 -3 v2 = iadd v0, v1 br_table v2, block1, [block2, block3]
        block1: v3 = iconst.i32 1 return v3
        block2: v4 = iconst.i32 2 return v4
        block3: v5 = iconst.i32 3 return v5
    }";
    let code = |first: u8, second: u8| {
        [
            &[0x55, 0x48, 0x89, 0xe5, 0x83, 0xef, 0x03, 0x83, 0xff, 0x01][..], // push rbp; mov rbp, rsp; sub edi, 3; cmp edi, 1
            &[first, 0x10, second, 0x15, 0xeb, 0x05],                          // jb block2; je block3; jmp block1
            &[0x90; 5],
            &[0xb8, 1, 0, 0, 0, 0x5d, 0xc3], // block1: mov eax, 1; pop rbp; ret
            &[0xb8, 2, 0, 0, 0, 0x5d, 0xc3], // block2
            &[0xb8, 3, 0, 0, 0, 0x5d, 0xc3], // block3
        ]
        .concat()
    };
    let heads = [4, 0x15, 0x1c, 0x23];
    assert_eq!(verdict_of_blocks(text, &code(0x72, 0x74), &heads, None), Verdict::Proved);
    assert_eq!(fault(verdict_of_blocks(text, &code(0x74, 0x72), &heads, None)), Some(Fault::Successor));
}

/// Counts down in a loop. In its first round, the register holds both the number and a difference of the argument.
#[test]
fn equal_sums_in_one_place_are_solved() {
    let text = "function %f(i64) -> i64 {
        block0(v0: i64): jump block1(v0)
        block1(v1: i64): v2 = iconst.i64 -1 v3 = iadd v1, v2 brif v3, block2, block3
        block2: v4 = iconst.i64 1 v5 = band v3, v4 brif v5, block1(v3), block3
        block3: return v3
    }";
    let code = |mask: u8| {
        [
            &[0x55, 0x48, 0x89, 0xe5][..],                        // push rbp; mov rbp, rsp
            &[0x48, 0x83, 0xef, 0x01, 0x48, 0x85, 0xff, 0x74, 6], // block1: sub rdi, 1; test rdi, rdi; je block3
            &[0x40, 0xf6, 0xc7, mask, 0x75, 0xf1],                // block2: test dil, mask; jne block1
            &[0x48, 0x89, 0xf8, 0x5d, 0xc3],                      // block3: mov rax, rdi; pop rbp; ret
        ]
        .concat()
    };
    let heads = [4, 4, 0xd, 0x13];
    assert_eq!(verdict_of_blocks(text, &code(1), &heads, None), Verdict::Proved);
    assert_eq!(fault(verdict_of_blocks(text, &code(3), &heads, None)), Some(Fault::Successor));
}
