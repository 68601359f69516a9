//! Machine code around each call.
//!
//! The stub receives the address of a record. It fills the registers that calls preserve with known values, and
//! calls the function of the record with the address of the record's slots. Then it writes those registers to the
//! record. During the call, a control block at a fixed address holds the record's address: the stub relies on no
//! state that the callee may destroy.

use kingpost_mach::{Buffer, FunctionHead, JumpTables, ModuleBuffer, NoBranches, SymbolName};
use target_lexicon::Architecture;

use crate::native::call::preserved;

/// Bytes of the control block: the record's address, then the stack pointer.
pub(crate) const CONTROL: usize = 16;
/// Offset in a record of the stack pointer at the call, after the function's address.
const STACK_POINTER: usize = 8;
/// Offset in a record of the registers that calls preserve, as they are after the call.
const REGISTERS: usize = 16;
/// Content of the first register after the stack pointer at the call; each further register holds one more.
const PATTERN: u64 = 0xb1b2_b3b4_b5b6_b7b8;

/// The stub for an architecture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stub {
    pub(crate) architecture: Architecture,
    /// Bytes of a record before its slots, a multiple of 16.
    pub(crate) record_head: usize,
    code: fn(u64) -> Vec<u8>,
}

impl Stub {
    /// Returns the stub for an architecture, if there is one.
    pub(crate) fn of(architecture: Architecture) -> Option<Stub> {
        let code = match architecture {
            Architecture::X86_64 => code_x64,
            Architecture::Aarch64(_) => code_aarch64,
            _ => return None,
        };
        let record_head = (REGISTERS + 8 * preserved(architecture).len()).next_multiple_of(16);
        Some(Stub { architecture, record_head, code })
    }

    /// Returns the stub as a module, for a control block at an address.
    ///
    /// # Errors
    /// If the stub is too long, which does not happen.
    pub(crate) fn module(self, name: &SymbolName, control: usize) -> Result<ModuleBuffer, String> {
        let mut module = ModuleBuffer::default();
        add_bytes(&mut module, name, &(self.code)(control as u64))?;
        Ok(module)
    }

    /// Returns the index among the preserved registers of the first one that a call did not preserve, from the
    /// call's record.
    pub(crate) fn not_preserved(self, record: &[u8]) -> Option<usize> {
        let word = |at: usize| &record[at..at + 8];
        let expected = |index: usize| match index {
            0 => word(STACK_POINTER).to_vec(),
            _ => (PATTERN + index as u64 - 1).to_le_bytes().to_vec(),
        };
        (0..preserved(self.architecture).len()).find(|&index| word(REGISTERS + 8 * index) != expected(index))
    }
}

/// Adds a function that consists of these bytes.
pub(crate) fn add_bytes(module: &mut ModuleBuffer, name: &SymbolName, bytes: &[u8]) -> Result<(), String> {
    let mut buffer = Buffer::default();
    buffer.start(0);
    buffer.put(bytes);
    let head = FunctionHead::of_bytes(name.clone(), 16);
    let finished = buffer.finish(head, &JumpTables::default(), &[], &NoBranches, module);
    finished.map_err(|_| format!("{name} is too long"))
}

fn code_x64(control: u64) -> Vec<u8> {
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

/// The words before the pattern and the address of the control block, which they load relative to themselves.
const WORDS_AARCH64: [u32; 74] = [
    0xa9b67bfd, // stp x29, x30, [sp, #-160]!
    0xa90153f3, // stp x19, x20, [sp, #16]
    0xa9025bf5, // stp x21, x22, [sp, #32]
    0xa90363f7, // stp x23, x24, [sp, #48]
    0xa9046bf9, // stp x25, x26, [sp, #64]
    0xa90573fb, // stp x27, x28, [sp, #80]
    0x6d0627e8, // stp d8, d9, [sp, #96]
    0x6d072fea, // stp d10, d11, [sp, #112]
    0x6d0837ec, // stp d12, d13, [sp, #128]
    0x6d093fee, // stp d14, d15, [sp, #144]
    0x58000841, // ldr x1, control
    0xf9000020, // str x0, [x1]
    0x910003e2, // mov x2, sp
    0xf9000422, // str x2, [x1, #8]
    0x58000782, // ldr x2, pattern
    0xaa0203f3, // mov x19, x2
    0x91000454, // add x20, x2, #0x1
    0x91000855, // add x21, x2, #0x2
    0x91000c56, // add x22, x2, #0x3
    0x91001057, // add x23, x2, #0x4
    0x91001458, // add x24, x2, #0x5
    0x91001859, // add x25, x2, #0x6
    0x91001c5a, // add x26, x2, #0x7
    0x9100205b, // add x27, x2, #0x8
    0x9100245c, // add x28, x2, #0x9
    0x9100285d, // add x29, x2, #0xa
    0x91002c42, // add x2, x2, #0xb
    0x4e080c48, // dup v8.2d, x2
    0x91000442, // add x2, x2, #0x1
    0x4e080c49, // dup v9.2d, x2
    0x91000442, // add x2, x2, #0x1
    0x4e080c4a, // dup v10.2d, x2
    0x91000442, // add x2, x2, #0x1
    0x4e080c4b, // dup v11.2d, x2
    0x91000442, // add x2, x2, #0x1
    0x4e080c4c, // dup v12.2d, x2
    0x91000442, // add x2, x2, #0x1
    0x4e080c4d, // dup v13.2d, x2
    0x91000442, // add x2, x2, #0x1
    0x4e080c4e, // dup v14.2d, x2
    0x91000442, // add x2, x2, #0x1
    0x4e080c4f, // dup v15.2d, x2
    0x91000442, // add x2, x2, #0x1
    0xf9400010, // ldr x16, [x0]
    0x9102c000, // add x0, x0, #0xb0
    0xd63f0200, // blr x16
    0x580003c1, // ldr x1, control
    0xa9400823, // ldp x3, x2, [x1]
    0xf9000462, // str x2, [x3, #8]
    0x910003e4, // mov x4, sp
    0xf9000864, // str x4, [x3, #16]
    0xa901d073, // stp x19, x20, [x3, #24]
    0xa902d875, // stp x21, x22, [x3, #40]
    0xa903e077, // stp x23, x24, [x3, #56]
    0xa904e879, // stp x25, x26, [x3, #72]
    0xa905f07b, // stp x27, x28, [x3, #88]
    0xf900347d, // str x29, [x3, #104]
    0x6d072468, // stp d8, d9, [x3, #112]
    0x6d082c6a, // stp d10, d11, [x3, #128]
    0x6d09346c, // stp d12, d13, [x3, #144]
    0x6d0a3c6e, // stp d14, d15, [x3, #160]
    0x9100005f, // mov sp, x2
    0xa94153f3, // ldp x19, x20, [sp, #16]
    0xa9425bf5, // ldp x21, x22, [sp, #32]
    0xa94363f7, // ldp x23, x24, [sp, #48]
    0xa9446bf9, // ldp x25, x26, [sp, #64]
    0xa94573fb, // ldp x27, x28, [sp, #80]
    0x6d4627e8, // ldp d8, d9, [sp, #96]
    0x6d472fea, // ldp d10, d11, [sp, #112]
    0x6d4837ec, // ldp d12, d13, [sp, #128]
    0x6d493fee, // ldp d14, d15, [sp, #144]
    0xa8ca7bfd, // ldp x29, x30, [sp], #160
    0xd65f03c0, // ret
    0xd503201f, // nop
];

fn code_aarch64(control: u64) -> Vec<u8> {
    let mut code: Vec<u8> = WORDS_AARCH64.iter().flat_map(|word| word.to_le_bytes()).collect();
    code.extend(PATTERN.to_le_bytes());
    code.extend(control.to_le_bytes());
    code
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::native::{Program, Request, Via, run, tools};
    use crate::outcome::Ending;
    use kingpost_interpreter::DataValue;
    use kingpost_ir::types::I64;
    use target_lexicon::Triple;

    #[test]
    fn bad_code_is_found_out_either_way() {
        let clobbered = |register: &str| Ending::Wrong(format!("did not preserve {register}"));
        let seven = Ending::Returned(vec![DataValue::new(I64, 7)]);
        // Trampolines, each with the ending of a call with one argument of value 6.
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
        check(Triple::host(), &cases, Via::Jit);
        match tools(&Triple::host()) {
            Ok(_) => check(Triple::host(), &cases, Via::Object),
            Err(reason) => eprintln!("SKIPPED: bad_code_is_found_out_either_way: {reason}"),
        }
    }

    #[test]
    fn bad_code_is_found_out_under_the_emulator() {
        let triple: Triple = "aarch64-unknown-linux-gnu".parse().unwrap();
        if let Err(reason) = tools(&triple) {
            eprintln!("SKIPPED: bad_code_is_found_out_under_the_emulator: {reason}");
            return;
        }
        let clobbered = |register: &str| Ending::Wrong(format!("did not preserve {register}"));
        let seven = Ending::Returned(vec![DataValue::new(I64, 7)]);
        let ret = 0xd65f_03c0_u32;
        // Trampolines in words, each with the ending of a call with one argument of value 6.
        let cases: Vec<(Vec<u32>, Ending)> = vec![
            (vec![0xf940_0001, 0x9100_0421, 0xf900_0001, ret], seven.clone()), // ldr x1, [x0]; add x1, x1, #1; str x1, [x0]
            (vec![0xd280_0013, ret], clobbered("x19")),                        // mov x19, #0
            (vec![0x9100_079c, ret], clobbered("x28")),                        // add x28, x28, #1
            (vec![0xd280_001d, ret], clobbered("x29")),                        // mov x29, #0
            (vec![0x0000_0000], Ending::Trapped(None)),                        // udf #0
            (vec![0x9e67_0008, ret], clobbered("d8")),                         // fmov d8, x0
            (vec![0x9e67_000f, ret], clobbered("d15")),                        // fmov d15, x0
            (vec![0x4e18_1c08, ret], Ending::Returned(vec![DataValue::new(I64, 6)])), // mov v8.d[1], x0
            (vec![0xd100_43ff, ret], clobbered("sp")),                         // sub sp, sp, #16
            (vec![0x9280_0001, 0xf940_0021, ret], Ending::Trapped(None)),      // mov x1, #-1; ldr x1, [x1]
            (vec![0xd420_0000], Ending::Trapped(None)),                        // brk #0
            (vec![0xf940_0001, 0x9100_0421, 0xf900_0001, ret], seven),         // as the first
        ];
        let bytes: Vec<(Vec<u8>, Ending)> = cases
            .into_iter()
            .map(|(words, ending)| (words.iter().flat_map(|word| word.to_le_bytes()).collect(), ending))
            .collect();
        let cases: Vec<(&[u8], Ending)> = bytes.iter().map(|(bytes, ending)| (&bytes[..], ending.clone())).collect();
        check(triple, &cases, Via::Object);
    }

    fn check(triple: Triple, cases: &[(&[u8], Ending)], via: Via) {
        let mut module = ModuleBuffer::default();
        for (index, (bytes, _)) in cases.iter().enumerate() {
            add_bytes(&mut module, &SymbolName::named(&format!("trampoline_{index}")), bytes).unwrap();
        }
        let program = Program { triple, unwind_info: false, module, data: Vec::new() };
        let arguments = vec![DataValue::new(I64, 6)];
        let request = |trampoline| Request { trampoline, arguments: arguments.clone(), results: vec![I64] };
        let requests: Vec<Request> = (0..cases.len() as u32).map(request).collect();
        let endings = run(&program, &requests, via).unwrap();
        let expected: Vec<Ending> = cases.iter().map(|(_, ending)| ending.clone()).collect();
        assert_eq!(endings, expected, "{via:?}");
    }
}
