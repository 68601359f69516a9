//! Machine code around each call on x86-64.
//!
//! The stub gets the address of a record. It fills the registers that calls preserve with known values, calls what the
//! record names with the address of the record's slots, and notes in the record what those registers hold then. Where the
//! record is while the call runs stands in a control block at a fixed address: nothing that the callee may break can be
//! relied on.

use std::ops::Range;

use kingpost_mach::{Buffer, FrameInfo, FunctionHead, ModuleBuffer, NoBranches, Pool, SymbolName};

use crate::native::call::PRESERVED;

/// Bytes of the control block: the record's address, then the stack pointer.
pub(crate) const CONTROL: usize = 16;
/// Bytes of a record in front of its slots: the function's address, the stack pointer at the call, the registers of
/// [`PRESERVED`] after the call, and up to a multiple of 16.
pub(crate) const RECORD_HEAD: usize = 80;
const STACK_POINTER: Range<usize> = 8..16;
const REGISTERS: Range<usize> = 16..16 + 8 * PRESERVED.len();

/// What the first register after the stack pointer holds at the call; the others hold one more each.
const PATTERN: u64 = 0xb1b2_b3b4_b5b6_b7b8;

/// The stub as a module, for a control block at an address.
///
/// # Errors
/// If the stub is too long, which it is not.
pub(crate) fn module(name: &SymbolName, control: usize) -> Result<ModuleBuffer, String> {
    let mut module = ModuleBuffer::default();
    add_bytes(&mut module, name, &code(control as u64))?;
    Ok(module)
}

/// Adds a function that consists of these bytes.
fn add_bytes(module: &mut ModuleBuffer, name: &SymbolName, bytes: &[u8]) -> Result<(), String> {
    let mut buffer = Buffer::default();
    buffer.start(0);
    buffer.put(bytes);
    let head = FunctionHead { name: name.clone(), align: 16, frame: FrameInfo::default() };
    let finished = buffer.finish(head, &Pool::default(), &[], &NoBranches, module);
    finished.map_err(|_| format!("{name} is too long"))
}

/// The first register that a call did not preserve, by its place in [`PRESERVED`], from the record it left.
pub(crate) fn not_preserved(record: &[u8]) -> Option<usize> {
    let (found, _) = record[REGISTERS].as_chunks::<8>();
    let expected = |index: usize| match index {
        0 => record[STACK_POINTER].to_vec(),
        _ => (PATTERN + index as u64 - 1).to_le_bytes().to_vec(),
    };
    (0..PRESERVED.len()).find(|&index| found[index][..] != expected(index))
}

fn code(control: u64) -> Vec<u8> {
    let mut code = vec![
        0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, // push rbx, rbp, r12 to r15
        0x48, 0x83, 0xec, 0x08, // sub rsp, 8
        0x48, 0xb8, // mov rax, control
    ];
    code.extend(control.to_le_bytes());
    code.extend([
        0x48, 0x89, 0x38, // mov [rax], rdi
        0x48, 0x89, 0x60, 0x08, // mov [rax + 8], rsp
    ]);
    // mov REGISTER, PATTERN + n: rbx, rbp, r12 to r15
    let opcodes = [[0x48, 0xbb], [0x48, 0xbd], [0x49, 0xbc], [0x49, 0xbd], [0x49, 0xbe], [0x49, 0xbf]];
    for (opcode, pattern) in opcodes.into_iter().zip(PATTERN..) {
        code.extend(opcode);
        code.extend(pattern.to_le_bytes());
    }
    code.extend([
        0x48, 0x8b, 0x07, // mov rax, [rdi]
        0x48, 0x83, 0xc7, 0x50, // add rdi, RECORD_HEAD
        0xff, 0xd0, // call rax
        0x48, 0xb9, // mov rcx, control
    ]);
    code.extend(control.to_le_bytes());
    code.extend([
        0x48, 0x8b, 0x11, // mov rdx, [rcx]
        0x48, 0x8b, 0x41, 0x08, // mov rax, [rcx + 8]
        0x48, 0x89, 0x42, 0x08, // mov [rdx + 8], rax
        0x48, 0x89, 0x62, 0x10, // mov [rdx + 16], rsp
        0x48, 0x89, 0x5a, 0x18, // mov [rdx + 24], rbx
        0x48, 0x89, 0x6a, 0x20, // mov [rdx + 32], rbp
        0x4c, 0x89, 0x62, 0x28, // mov [rdx + 40], r12
        0x4c, 0x89, 0x6a, 0x30, // mov [rdx + 48], r13
        0x4c, 0x89, 0x72, 0x38, // mov [rdx + 56], r14
        0x4c, 0x89, 0x7a, 0x40, // mov [rdx + 64], r15
        0x48, 0x89, 0xc4, // mov rsp, rax
        0xfc, // cld
        0x48, 0x83, 0xc4, 0x08, // add rsp, 8
        0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, // pop r15 to r12, rbp, rbx
        0xc3, // ret
    ]);
    code
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::directives::Ending;
    use crate::native::{Program, Request, Via, run};
    use kingpost_interpreter::DataValue;
    use kingpost_ir::types::I64;
    use target_lexicon::Triple;

    #[test]
    fn bad_code_is_found_out_either_way() {
        let clobbered = |register: &str| Ending::Wrong(format!("did not preserve {register}"));
        let seven = Ending::Returned(vec![DataValue::new(I64, 7)]);
        // Trampolines, and how a call with one argument of value 6 ends.
        let cases: [(&[u8], Ending); 10] = [
            (&[0x48, 0xff, 0x07, 0xc3], seven.clone()),          // inc qword [rdi]; ret
            (&[0x31, 0xdb, 0xc3], clobbered("rbx")),             // xor ebx, ebx; ret
            (&[0x31, 0xed, 0xc3], clobbered("rbp")),             // xor ebp, ebp; ret
            (&[0x49, 0xff, 0xc4, 0xc3], clobbered("r12")),       // inc r12; ret
            (&[0x0f, 0x0b], Ending::Trapped(None)),              // ud2
            (&[0x49, 0xff, 0xc5, 0xc3], clobbered("r13")),       // inc r13; ret
            (&[0x4d, 0x31, 0xf6, 0xc3], clobbered("r14")),       // xor r14, r14; ret
            (&[0x4d, 0x31, 0xff, 0xc3], clobbered("r15")),       // xor r15, r15; ret
            (&[0x59, 0x6a, 0x00, 0xff, 0xe1], clobbered("rsp")), // pop rcx; push 0; jmp rcx
            (&[0x48, 0xff, 0x07, 0xc3], seven),                  // as the first
        ];
        let mut module = ModuleBuffer::default();
        for (index, (bytes, _)) in cases.iter().enumerate() {
            add_bytes(&mut module, &SymbolName::named(&format!("trampoline_{index}")), bytes).unwrap();
        }
        let (triple, data) = (Triple::host(), Vec::new());
        let (trampolines, left_out) = (Vec::new(), Vec::new());
        let program = Program { triple, unwind_info: false, module, data, trampolines, left_out };
        let arguments = vec![DataValue::new(I64, 6)];
        let request = |trampoline| Request { trampoline, arguments: arguments.clone(), results: vec![I64] };
        let requests: Vec<Request> = (0..cases.len() as u32).map(request).collect();
        for via in [Via::Jit, Via::Object] {
            let endings = run(&program, &requests, via).unwrap();
            let expected: Vec<Ending> = cases.iter().map(|(_, ending)| ending.clone()).collect();
            assert_eq!(endings, expected, "{via:?}");
        }
    }
}
