//! Code written by hand with faults that no single bit makes.

use kingpost_ir::{Block, Opcode};
use kingpost_validate::{Code, Fault, Feature, Machine, Relocation, RelocationKind, Symbol, Verdict, prove};

/// Returns code without features of the processor, whose blocks begin at `heads`.
pub(crate) fn code<'a>(machine: Machine, bytes: &'a [u8], heads: &[u32]) -> Code<'a> {
    Code {
        machine,
        features: Vec::new(),
        canonical_nans: false,
        llvm_results: false,
        bytes,
        end: bytes.len() as u32,
        heads: (0..).map(Block::from_u32).zip(heads.iter().copied()).collect(),
        traps: Vec::new(),
        handlers: Vec::new(),
        body_offset: 0,
        frame_bytes: None,
        relocations: Vec::new(),
        slots: Vec::new(),
    }
}

/// Returns the verdict on code for the only function of a text.
pub(crate) fn verdict_on(text: &str, code: &Code<'_>) -> Verdict {
    let function = kingpost_reader::parse_functions(text).unwrap().remove(0);
    prove(&function, code, None).verdict
}

/// Returns the verdict on code of x86-64 for the only function of a text. Its only block begins at `head`.
pub(crate) fn verdict(text: &str, bytes: &[u8], head: u32, callee: Option<u32>) -> Verdict {
    verdict_of_blocks(text, bytes, &[head], callee)
}

/// Returns the verdict on code of x86-64 for the only function of a text, whose blocks begin at `heads`.
pub(crate) fn verdict_of_blocks(text: &str, bytes: &[u8], heads: &[u32], callee: Option<u32>) -> Verdict {
    let call =
        |offset| Relocation { offset, kind: RelocationKind::Distance, symbol: Symbol::Named("%g".into()), addend: -4 };
    let relocations = callee.into_iter().map(call).collect();
    verdict_on(text, &Code { relocations, ..code(Machine::X64, bytes, heads) })
}

pub(crate) fn fault(verdict: Verdict) -> Option<Fault> {
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

/// Returns `v0` for `v0 + v1` where `v1` is zero. The first attempt at a proof finds the sum.
#[test]
fn values_that_numbers_simplify_are_found_at_once() {
    let text = "function %f(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iadd v0, v1 brif v1, block1, block2
        block1: return v1 block2: return v2 }";
    let code_of = |compared: u8| {
        [
            &[0x48, 0x85, compared, 0x75, 0x04][..], // test; jne to block1
            &[0x48, 0x89, 0xf8, 0xc3],               // mov rax, rdi; ret
            &[0x48, 0x89, 0xf0, 0xc3],               // mov rax, rsi; ret
        ]
        .concat()
    };
    let report_on = |bytes: &[u8]| {
        let function = kingpost_reader::parse_functions(text).unwrap().remove(0);
        prove(&function, &code(Machine::X64, bytes, &[0, 9, 5]), None)
    };
    let (right, wrong) = (report_on(&code_of(0xf6)), report_on(&code_of(0xff)));
    assert_eq!((right.verdict, right.instructions), (Verdict::Proved, 6));
    assert_ne!(wrong.verdict, Verdict::Proved);
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

/// Push of the frame pointer; its copy of the stack pointer.
pub(crate) const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
/// Pop of the frame pointer; return.
pub(crate) const EPILOGUE: [u8; 2] = [0x5d, 0xc3];

/// Returns the verdict on a leaf of x86-64 whose block has these bytes.
pub(crate) fn leaf(text: &str, body: &[u8]) -> Verdict {
    verdict(text, &[&PROLOGUE, body, &EPILOGUE].concat(), 4, None)
}

/// Returns the verdict on a leaf of AArch64 without a frame.
pub(crate) fn words(text: &str, words: &[u32]) -> Verdict {
    let bytes: Vec<u8> = words.iter().chain(&[0xd65f_03c0]).flat_map(|word| word.to_le_bytes()).collect();
    verdict_on(text, &code(Machine::Aarch64, &bytes, &[0]))
}

#[test]
fn sums_of_floats_are_proved_in_either_order() {
    let text = "function %f(f64, f64) -> f64 { block0(v0: f64, v1: f64): v2 = fadd v0, v1 return v2 }";
    assert_eq!(leaf(text, &[0xf2, 0x0f, 0x58, 0xc1]), Verdict::Proved); // addsd xmm0, xmm1
    let exchanged = [0xf2, 0x0f, 0x58, 0xc8, 0x0f, 0x28, 0xc1]; // addsd xmm1, xmm0; movaps xmm0, xmm1
    assert_eq!(leaf(text, &exchanged), Verdict::Proved);
    let product = leaf(text, &[0xf2, 0x0f, 0x59, 0xc1]); // mulsd xmm0, xmm1
    assert!(matches!(product, Verdict::Refuted(_)), "{product}");
    assert_eq!(words(text, &[0x1e61_2800]), Verdict::Proved); // fadd d0, d0, d1
    assert_eq!(words(text, &[0x1e60_2820]), Verdict::Proved); // fadd d0, d1, d0
    let quotient = words(text, &[0x1e61_1800]); // fdiv d0, d0, d1
    assert!(matches!(quotient, Verdict::Refuted(_)), "{quotient}");
}

/// Returns one sum twice. The processor adds two NaNs to the first of them.
#[test]
fn both_orders_of_one_sum_differ() {
    let text = "function %f(f64, f64) -> f64, f64 { block0(v0: f64, v1: f64): v2 = fadd v0, v1 return v2, v2 }";
    let second = |sum: [u8; 4]| {
        [
            &[0x0f, 0x28, 0xd0][..],   // movaps xmm2, xmm0
            &[0xf2, 0x0f, 0x58, 0xd1], // addsd xmm2, xmm1
            &sum,
            &[0x0f, 0x28, 0xc2], // movaps xmm0, xmm2
        ]
        .concat()
    };
    let exchanged = leaf(text, &second([0xf2, 0x0f, 0x58, 0xc8])); // addsd xmm1, xmm0
    assert!(matches!(&exchanged, Verdict::NotProved(_)), "{exchanged}");
    assert_eq!(fault(exchanged), Some(Fault::Result(1)));
    let once = [0xf2, 0x0f, 0x58, 0xc1, 0x0f, 0x28, 0xc8]; // addsd xmm0, xmm1; movaps xmm1, xmm0
    assert_eq!(leaf(text, &once), Verdict::Proved);
    let exchanged = words(text, &[0x1e61_2802, 0x1e60_2821, 0x1e60_4040]); // fadd d2, d0, d1; fadd d1, d1, d0; fmov d0, d2
    assert_eq!(fault(exchanged), Some(Fault::Result(1)));
}

/// Returns constants for the bits of a NaN that the processor chooses: the ones that evaluation of terms chooses, and
/// the ones of most processors.
#[test]
fn bits_of_nans_are_open() {
    let text = "function %f(f64) -> i64, f64 { block0(v0: f64):
        v1 = f64const +Inf v2 = fsub v1, v1 v3 = bitcast.i64 v2 return v3, v2 }";
    let code = |result: &[u8]| {
        [
            &[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f][..], // mov rax, 0x7ff0000000000000
            &[0x66, 0x48, 0x0f, 0x6e, 0xc0],                 // movq xmm0, rax
            &[0xf2, 0x0f, 0x5c, 0xc0],                       // subsd xmm0, xmm0
            result,
        ]
        .concat()
    };
    assert_eq!(leaf(text, &code(&[0x66, 0x48, 0x0f, 0x7e, 0xc0])), Verdict::Proved); // movq rax, xmm0
    for sign in [0x7f, 0xff] {
        let constant = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0xf8, sign]; // mov rax, 0x7ff8000000000000 or 0xfff8000000000000
        let verdict = leaf(text, &code(&constant));
        assert!(matches!(&verdict, Verdict::NotProved(_)), "{verdict}");
        assert_eq!(fault(verdict), Some(Fault::Result(0)));
    }
}

#[test]
fn minima_of_floats_are_the_operation_of_the_machine() {
    let text = "function %f(f64, f64) -> f64 { block0(v0: f64, v1: f64): v2 = fmin v0, v1 return v2 }";
    assert_eq!(words(text, &[0x1e61_5800]), Verdict::Proved); // fmin d0, d0, d1
    assert_eq!(fault(words(text, &[0x1e61_7800])), Some(Fault::Result(0))); // fminnm d0, d0, d1
    assert_eq!(fault(words(text, &[0x1e61_4800])), Some(Fault::Result(0))); // fmax d0, d0, d1
    let least = leaf(text, &[0xf2, 0x0f, 0x5d, 0xc1]); // minsd xmm0, xmm1
    assert_eq!(fault(least), Some(Fault::Result(0)));
}

/// Converts numbers out of range to the nearest integer, as the instructions of AArch64 do. x86-64 has no such instruction.
#[test]
fn saturating_conversions_have_the_bounds_of_the_type() {
    let text = "function %f(f64) -> i32 { block0(v0: f64): v1 = fcvt_to_sint_sat.i32 v0 return v1 }";
    assert_eq!(words(text, &[0x1e78_0000]), Verdict::Proved); // fcvtzs w0, d0
    assert_eq!(fault(words(text, &[0x1e79_0000])), Some(Fault::Result(0))); // fcvtzu w0, d0
    assert_eq!(fault(words(text, &[0x9e78_0000])), Some(Fault::Result(0))); // fcvtzs x0, d0
    assert_eq!(fault(leaf(text, &[0xf2, 0x0f, 0x2c, 0xc0])), Some(Fault::Result(0))); // cvttsd2si eax, xmm0
    let clamped = |bound: u8| {
        [
            &[0x48, 0xb8, 0, 0, 0, 0, 0, 0, bound, 0x41][..], // mov rax, 2^31 or another bound
            &[0x66, 0x48, 0x0f, 0x6e, 0xc8],                  // movq xmm1, rax
            &[0xf2, 0x0f, 0x2c, 0xc0],                        // cvttsd2si eax, xmm0
            &[0xb9, 0xff, 0xff, 0xff, 0x7f],                  // mov ecx, 2^31 - 1
            &[0x66, 0x0f, 0x2e, 0xc1],                        // ucomisd xmm0, xmm1
            &[0x0f, 0x43, 0xc1],                              // cmovae eax, ecx
            &[0xb9, 0, 0, 0, 0],                              // mov ecx, 0
            &[0x0f, 0x4a, 0xc1],                              // cmovp eax, ecx
        ]
        .concat()
    };
    assert_eq!(leaf(text, &clamped(0xe0)), Verdict::Proved);
    assert_eq!(fault(leaf(text, &clamped(0xf0))), Some(Fault::Result(0)));
}

/// Adds two loads of one word that never changes. The code performs one of them.
#[test]
fn loads_of_unchanging_memory_are_equal() {
    let text = |flags: &str| {
        format!(
            "function %f(i64) -> i64 {{ fn0 = %g() block0(v0: i64):
                v1 = load.i64 notrap {flags} v0 call fn0() v2 = load.i64 notrap {flags} v0 v3 = iadd v1, v2 return v3 }}"
        )
    };
    let code = [
        &[0x55, 0x48, 0x89, 0xe5, 0x53, 0x50][..], // push rbp; mov rbp, rsp; push rbx; push rax
        &[0x48, 0x8b, 0x1f],                       // mov rbx, [rdi]
        &[0xe8, 0, 0, 0, 0],                       // call %g
        &[0x48, 0x8d, 0x04, 0x1b],                 // lea rax, [rbx + rbx]
        &[0x59, 0x5b, 0x5d, 0xc3],                 // pop rcx; pop rbx; pop rbp; ret
    ]
    .concat();
    assert_eq!(verdict(&text("readonly"), &code, 6, Some(10)), Verdict::Proved);
    assert_eq!(fault(verdict(&text(""), &code, 6, Some(10))), Some(Fault::Result(0)));
}

/// Replaces each NaN of a root by the canonical one, or not.
#[test]
fn nans_are_canonical_with_the_setting() {
    let text = "function %f(f64) -> f64 { block0(v0: f64): v1 = sqrt v0 return v1 }";
    let root = [0xf2, 0x0f, 0x51, 0xc0]; // sqrtsd xmm0, xmm0
    let replacement = |top: u8| {
        [
            &[0x66, 0x0f, 0x2e, 0xc0][..],              // ucomisd xmm0, xmm0
            &[0x7b, 0x0f],                              // jnp 1f
            &[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0xf8, top], // mov rax, 0x7ff8000000000000
            &[0x66, 0x48, 0x0f, 0x6e, 0xc0],            // movq xmm0, rax; 1:
        ]
        .concat()
    };
    let verdict = |replacement: &[u8], canonical_nans| {
        let bytes = [&PROLOGUE[..], &root, replacement, &EPILOGUE].concat();
        verdict_on(text, &Code { canonical_nans, ..code(Machine::X64, &bytes, &[4]) })
    };
    assert_eq!(verdict(&[], false), Verdict::Proved);
    assert_eq!(fault(verdict(&[], true)), Some(Fault::Result(0)));
    assert_eq!(verdict(&replacement(0x7f), true), Verdict::Proved);
    for (top, canonical_nans) in [(0x7f, false), (0xff, true)] {
        assert_eq!(fault(verdict(&replacement(top), canonical_nans)), Some(Fault::Result(0)));
    }
}

/// Multiplies and adds. An operation of x86-64 that negates its product returns a NaN with the sign of the operand.
#[test]
fn negations_in_fused_operations_are_out_of_scope_on_x86_64() {
    let fused = |negation: &str, factor: &str| {
        format!(
            "function %f(f64, f64, f64) -> f64 {{ block0(v0: f64, v1: f64, v2: f64):
                {negation} v4 = fma {factor}, v1, v2 return v4 }}"
        )
    };
    let on_x64 = |text: &str, opcode: u8| {
        let body = [&PROLOGUE[..], &[0xc4, 0xe2, 0xf1, opcode, 0xc2], &EPILOGUE].concat(); // vfmadd213sd xmm0, xmm1, xmm2
        verdict_on(text, &Code { features: vec!["fma"], ..code(Machine::X64, &body, &[4]) })
    };
    let (plain, negated) = (fused("", "v0"), fused("v3 = fneg v0", "v3"));
    assert_eq!(on_x64(&plain, 0xa9), Verdict::Proved);
    assert_eq!(on_x64(&negated, 0xad), Verdict::OutOfScope(Feature::Opcode(Opcode::Fma)));
    assert_eq!(words(&plain, &[0x1f41_0800]), Verdict::Proved); // fmadd d0, d0, d1, d2
    assert_eq!(words(&negated, &[0x1f41_8800]), Verdict::Proved); // fmsub d0, d0, d1, d2
}

/// Converts an unsigned integer of 32 bits by the signed conversion of 64 bits.
#[test]
fn extended_integers_are_converted() {
    let text = "function %f(i32) -> f64 { block0(v0: i32): v1 = fcvt_from_uint.f64 v0 return v1 }";
    let extended = [0x89, 0xff, 0xf2, 0x48, 0x0f, 0x2a, 0xc7]; // mov edi, edi; cvtsi2sd xmm0, rdi
    assert_eq!(leaf(text, &extended), Verdict::Proved);
    let signed = leaf(text, &[0xf2, 0x0f, 0x2a, 0xc7]); // cvtsi2sd xmm0, edi
    assert!(matches!(signed, Verdict::Refuted(_)), "{signed}");
}

/// Rounds on x86-64 where the compiler emits a call.
#[test]
fn operations_without_an_instruction_are_out_of_scope() {
    let text = "function %f(f64) -> f64 { block0(v0: f64): v1 = floor v0 return v1 }";
    let bytes = [&PROLOGUE[..], &[0x66, 0x0f, 0x3a, 0x0b, 0xc0, 0x09], &EPILOGUE].concat(); // roundsd xmm0, xmm0, 9
    let plain = code(Machine::X64, &bytes, &[4]);
    assert_eq!(verdict_on(text, &plain), Verdict::OutOfScope(Feature::Opcode(Opcode::Floor)));
    assert_eq!(verdict_on(text, &Code { features: vec!["sse41"], ..plain }), Verdict::Proved);
}

/// Returns the verdict on code of x86-64 for a function with a slot of 8192 bytes below the frame pointer.
fn probed(prologue: &[u8], callee: Option<&str>) -> Verdict {
    let text = "function %f(i64) -> i64 { ss0 = explicit_slot 8192
        block0(v0: i64): v1 = stack_addr.i64 ss0 store notrap v0, v1 v2 = load.i64 notrap v1+4096 return v2 }";
    let body = [
        &[0x48, 0x89, 0x3c, 0x24][..],            // mov [rsp], rdi
        &[0x48, 0x8b, 0x84, 0x24, 0, 0x10, 0, 0], // mov rax, [rsp + 4096]
        &[0xc9, 0xc3],                            // leave; ret
    ];
    let bytes = [&PROLOGUE, prologue, &body.concat()].concat();
    let symbol = |name: &str| Symbol::Named(name.into());
    let call = |name| Relocation { offset: 10, kind: RelocationKind::Distance, symbol: symbol(name), addend: -4 };
    let relocations = callee.into_iter().map(call).collect();
    let head = (PROLOGUE.len() + prologue.len()) as u32;
    verdict_on(text, &Code { relocations, slots: vec![-8208], ..code(Machine::X64, &bytes, &[head]) })
}

/// Writes to the pages of a slot in steps, then in a loop.
#[test]
fn probes_write_to_slots_before_the_first_block() {
    let step = [0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0xc7, 0x04, 0x24, 0, 0, 0, 0]; // sub rsp, 4096; mov dword [rsp], 0
    let twice = [step, step].concat();
    assert_eq!(probed(&twice, None), Verdict::Proved);
    let once = probed(&step, None);
    assert_eq!(fault(once), Some(Fault::StoreAddress));
    let to = |steps: u8| [0x4c, 0x8d, 0x9c, 0x24, 0, steps, 0xff, 0xff]; // lea r11, [rsp - 65536 + 256 * steps]
    let until = |condition: u8| [0x4c, 0x39, 0xdc, condition, 0xed]; // cmp rsp, r11; jcc to the step
    assert_eq!(probed(&[&to(0xe0)[..], &step, &until(0x75)].concat(), None), Verdict::Proved);
    assert_eq!(fault(probed(&[&to(0xe0)[..], &step, &until(0x74)].concat(), None)), Some(Fault::StoreAddress));
    assert_eq!(fault(probed(&[&to(0xe1)[..], &step, &until(0x75)].concat(), None)), Some(Fault::Unbounded));
    // mov dword [rsp + 8], 0, where the return address is
    let above = [&[0xc7, 0x44, 0x24, 0x08, 0, 0, 0, 0][..], &twice].concat();
    assert_eq!(fault(probed(&above, None)), Some(Fault::ReturnAddress));
    // mov dword [rsp + 4096], 0, after the first effect
    let late = [&[0xc7, 0x84, 0x24, 0, 0x10, 0, 0, 0, 0, 0, 0][..]].concat();
    let text = "function %f(i64) { ss0 = explicit_slot 8192 block0(v0: i64): return }";
    let bytes = [&PROLOGUE[..], &twice, &late, &[0xc9, 0xc3]].concat();
    let verdict = verdict_on(text, &Code { slots: vec![-8208], ..code(Machine::X64, &bytes, &[32]) });
    assert_eq!(fault(verdict), Some(Fault::Store));
}

#[test]
fn the_probe_routine_touches_the_frame() {
    let prologue = |bytes: u8, between: &[u8], frame: u8| {
        [
            &[0xb8, 0, bytes, 0, 0, 0xe8, 0, 0, 0, 0][..], // mov eax, 256 * bytes; call
            between,
            &[0x48, 0x81, 0xec, 0, frame, 0, 0], // sub rsp, 256 * frame
        ]
        .concat()
    };
    let routine = Some("%Probestack");
    assert_eq!(probed(&prologue(0x20, &[], 0x20), routine), Verdict::Proved);
    assert_eq!(fault(probed(&prologue(0x20, &[], 0x20), Some("%g"))), Some(Fault::Call));
    assert_eq!(fault(probed(&prologue(0x30, &[], 0x20), routine)), Some(Fault::Probe));
    assert_eq!(fault(probed(&prologue(0x10, &[], 0x20), routine)), Some(Fault::Probe));
    // sub rsp, rax: the routine does not preserve the number of bytes.
    assert_eq!(fault(probed(&prologue(0x20, &[0x48, 0x29, 0xc4], 0x20), routine)), Some(Fault::Probe));
}
