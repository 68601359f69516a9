//! Code written by hand with faults that no single bit makes.

use kingpost_ir::Block;
use kingpost_validate::{Code, Fault, Machine, Relocation, RelocationKind, Symbol, Verdict, prove};

/// Returns the verdict on code of x86-64 for the only function of a text. Its only block begins at `head`.
fn verdict(text: &str, bytes: &[u8], head: u32, callee: Option<u32>) -> Verdict {
    let function = kingpost_reader::parse_functions(text).unwrap().remove(0);
    let call =
        |offset| Relocation { offset, kind: RelocationKind::Distance, symbol: Symbol::Named("%g".into()), addend: -4 };
    let code = Code {
        machine: Machine::X64,
        features: Vec::new(),
        bytes,
        end: bytes.len() as u32,
        heads: vec![(Block::from_u32(0), head)],
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
