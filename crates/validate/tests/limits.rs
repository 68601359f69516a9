//! The check of the stack limit, written by hand with faults that no single bit makes.

use crate::written::fault;
use kingpost_ir::{Block, TrapCode};
use kingpost_validate::{Code, Fault, Machine, Relocation, RelocationKind, Symbol, Verdict, prove};

const FUNCTION: &str = "function %f(i64 vmctx) {
    gv0 = vmctx
    gv1 = load.i64 notrap aligned gv0+8
    stack_limit = gv1
    fn0 = %g()
block0(v0: i64):
    call fn0()
    return
}";

/// Returns the verdict on code that compares the stack pointer less `below` bytes with the limit at `rdi + 8`, jumps to
/// a trap with `jump`, and has a frame of 16 bytes.
fn verdict(below: u8, jump: [u8; 2], trap: TrapCode) -> Verdict {
    let bytes = [
        &[0x55, 0x48, 0x89, 0xe5][..],                      // push rbp; mov rbp, rsp
        &[0x4c, 0x8d, 0x5c, 0x24, 0u8.wrapping_sub(below)], // lea r11, [rsp - below]
        &[0x4c, 0x3b, 0x5f, 0x08, jump[0], jump[1]],        // cmp r11, [rdi + 8]; jb
        &[0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0, 0, 0],        // sub rsp, 16; call %g
        &[0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3, 0x0f, 0x0b],  // add rsp, 16; pop rbp; ret; ud2
    ]
    .concat();
    let call =
        Relocation { offset: 20, kind: RelocationKind::Distance, symbol: Symbol::Named("%g".into()), addend: -4 };
    let code = Code {
        machine: Machine::X64,
        features: Vec::new(),
        canonical_nans: false,
        llvm_results: false,
        bytes: &bytes,
        end: bytes.len() as u32,
        heads: vec![(Block::from_u32(0), 19)],
        traps: vec![(30, trap)],
        handlers: Vec::new(),
        body_offset: 0,
        frame_bytes: None,
        relocations: vec![call],
        slots: Vec::new(),
    };
    prove(&kingpost_reader::parse_functions(FUNCTION).unwrap()[0], &code, None).verdict
}

#[test]
fn the_check_is_for_the_bytes_of_the_frame() {
    let jump = [0x72, 0x0f];
    let limit = |below| fault(verdict(below, jump, TrapCode::STACK_OVERFLOW));
    // The word of the link may be left out.
    assert_eq!([8, 16].map(limit), [None, None]);
    assert_eq!([0, 24, 32].map(limit), [Some(Fault::StackLimit); 3]);
    assert_eq!(fault(verdict(16, jump, TrapCode::INTEGER_OVERFLOW)), Some(Fault::Trap));
}

#[test]
fn a_call_needs_a_check() {
    let no_jump = [0x66, 0x90];
    assert_eq!(fault(verdict(16, no_jump, TrapCode::STACK_OVERFLOW)), Some(Fault::StackLimit));
    // jae: traps where there is memory.
    assert_eq!(fault(verdict(16, [0x73, 0x0f], TrapCode::STACK_OVERFLOW)), Some(Fault::StackLimit));
}
