//! Machine code around each call.
//!
//! The stub receives the address of a record, and fills the callee-saved registers with known values. It calls the
//! function of the record with the address of the record's values, and records which register was not preserved.
//! During the call, a control block at a fixed address holds the record's address: the stub relies on no state that
//! the callee may destroy.

use kingpost_codegen::Compiler;
use kingpost_jit::{Image, LoadError};
use kingpost_mach::{Buffer, FunctionHead, JumpTables, ModuleBuffer, SymbolName};

/// Bytes of a record before the values: the function's address, then the note, then padding.
pub(crate) const RECORD_HEAD: usize = 32;
/// Offset of a record's note: 0, or one more than the index of a register in [`PRESERVED`].
pub(crate) const NOTE: usize = 8;
/// Registers that calls preserve, in the order in which the stub compares them.
pub(crate) const PRESERVED: [&str; 7] = ["rsp", "rbx", "rbp", "r12", "r13", "r14", "r15"];

/// Bytes of the control block.
pub(crate) const CONTROL: usize = 16;

/// Loads the stub whose control block is at `control`.
pub(crate) fn load(compiler: &Compiler, control: usize) -> Result<(Image, usize), LoadError> {
    let name = SymbolName::named("stub");
    let mut module = ModuleBuffer::default();
    let mut buffer = Buffer::default();
    buffer.start(0);
    buffer.put(&code(control as u64));
    let head = FunctionHead::of_bytes(name.clone(), 16);
    let forms = compiler.isa().branches();
    let finished = buffer.finish(head, &JumpTables::default(), &[], forms, &mut module);
    assert!(finished.is_ok(), "the stub is short");
    let image = Image::load(&module, &[], &mut |_| None)?;
    let address = image.address(&name).ok_or(LoadError::Undefined(name))?;
    Ok((image, address))
}

fn code(control: u64) -> Vec<u8> {
    const PATTERN: u64 = 0xb1b2_b3b4_b5b6_b7b8;
    let mut code = vec![
        0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, // push rbx, rbp, r12 to r15
        0x48, 0x83, 0xec, 0x08, // sub rsp, 8
        0x48, 0xb8, // movabs rax, control
    ];
    code.extend(control.to_le_bytes());
    code.extend([
        0x48, 0x89, 0x38, // mov [rax], rdi
        0x48, 0x89, 0x60, 0x08, // mov [rax + 8], rsp
        0x48, 0xbb, // movabs rbx, PATTERN
    ]);
    code.extend(PATTERN.to_le_bytes());
    code.extend([
        0x48, 0x8d, 0x6b, 0x01, // lea rbp, [rbx + 1]
        0x4c, 0x8d, 0x63, 0x02, // lea r12, [rbx + 2]
        0x4c, 0x8d, 0x6b, 0x03, // lea r13, [rbx + 3]
        0x4c, 0x8d, 0x73, 0x04, // lea r14, [rbx + 4]
        0x4c, 0x8d, 0x7b, 0x05, // lea r15, [rbx + 5]
        0x48, 0x8b, 0x07, // mov rax, [rdi]
        0x48, 0x83, 0xc7, 0x20, // add rdi, RECORD_HEAD
        0xff, 0xd0, // call rax
        0x48, 0xb9, // movabs rcx, control
    ]);
    code.extend(control.to_le_bytes());
    code.extend([0x48, 0xba]); // movabs rdx, PATTERN
    code.extend(PATTERN.to_le_bytes());
    code.extend([
        0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, 1
        0x48, 0x3b, 0x61, 0x08, 0x75, 0x3b, // cmp rsp, [rcx + 8]; jne done
        0xff, 0xc0, 0x48, 0x39, 0xd3, 0x75, 0x34, // inc eax; cmp rbx, rdx; jne done
        0xff, 0xc0, 0x48, 0xff, 0xc2, 0x48, 0x39, 0xd5, 0x75, 0x2a, // inc eax; inc rdx; cmp rbp, rdx; jne done
        0xff, 0xc0, 0x48, 0xff, 0xc2, 0x49, 0x39, 0xd4, 0x75, 0x20, // the same with r12
        0xff, 0xc0, 0x48, 0xff, 0xc2, 0x49, 0x39, 0xd5, 0x75, 0x16, // r13
        0xff, 0xc0, 0x48, 0xff, 0xc2, 0x49, 0x39, 0xd6, 0x75, 0x0c, // r14
        0xff, 0xc0, 0x48, 0xff, 0xc2, 0x49, 0x39, 0xd7, 0x75, 0x02, // r15
        0x31, 0xc0, // xor eax, eax
        0xfc, // done: cld
        0x48, 0x8b, 0x61, 0x08, // mov rsp, [rcx + 8]
        0x48, 0x8b, 0x11, // mov rdx, [rcx]
        0x48, 0x89, 0x42, 0x08, // mov [rdx + NOTE], rax
        0x48, 0x83, 0xc4, 0x08, // add rsp, 8
        0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, // pop r15 to r12, rbp, rbx
        0xc3, // ret
    ]);
    code
}
