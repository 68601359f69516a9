//! The throwing function for code in this process, which the host of upstream's tests provides as
//! `%__cranelift_throw`.
//!
//! Its arguments are the frame pointer of the frame at which the search ends, the frame pointer of the frame at
//! which it starts, the program counter there, a tag and two payloads. It follows the chain of frame pointers,
//! looks up each return address in a table of the loaded code, and resumes at the first handler of the tag, or at
//! one of every tag. Without one it traps. It restores no callee-saved registers, so that it may only find handlers
//! of calls whose conventions preserve none for them.

use kingpost_isolate::SharedMemory;
use kingpost_jit::Image;
use kingpost_mach::{ModuleBuffer, SymbolName};
use target_lexicon::Architecture;

use crate::native::stub::add_bytes;

/// Name of the function, without the sign.
pub const NAME: &str = "__cranelift_throw";
/// Words of an entry: return address, tag, address of the handler, number of bytes from the frame pointer down to
/// the stack pointer.
const ENTRY_WORDS: usize = 4;
/// Added to the tag, which is zero: every tag.
const EVERY_TAG: u64 = 1 << 32;

/// The function, and the table that it searches, which is filled after the code is loaded.
#[derive(Debug)]
pub struct Throw {
    image: Image,
    table: SharedMemory,
}

impl Throw {
    /// Creates the function for the code of `module`, for an architecture that the host runs.
    ///
    /// # Errors
    /// If the system refuses memory.
    pub fn new(module: &ModuleBuffer, architecture: Architecture) -> Result<Throw, String> {
        let bytes = module.functions().map(|f| f.handlers.len()).sum::<usize>() * 8 * ENTRY_WORDS;
        let table = SharedMemory::new(bytes).map_err(|error| error.to_string())?;
        let (start, end) = (table.address() as u64, (table.address() + bytes) as u64);
        let code = match architecture {
            Architecture::X86_64 => code_x64(start, end),
            _ => code_aarch64(start, end),
        };
        let mut stub = ModuleBuffer::default();
        add_bytes(&mut stub, &SymbolName::named(NAME), &code)?;
        let image = Image::load(&stub, &[], &mut |_| None).map_err(|error| error.to_string())?;
        Ok(Throw { image, table })
    }

    /// Returns the address of the function.
    pub fn address(&self) -> Option<usize> {
        self.image.address(&SymbolName::named(NAME))
    }

    /// Returns the code of the function.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Fills the table with the handlers of the loaded code.
    pub fn fill(&mut self, image: &Image) {
        let mut handlers = image.handlers().to_vec();
        // A handler of every tag follows the call's handlers of one tag.
        handlers.sort_by_key(|&(address, handler)| (address, handler.tag.is_none()));
        let entries = handlers.iter().flat_map(|&(address, handler)| {
            let tag = handler.tag.map_or(EVERY_TAG, u64::from);
            [address as u64, tag, handler.address as u64, handler.body_offset.into()]
        });
        for (bytes, word) in self.table.bytes_mut().chunks_exact_mut(8).zip(entries) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.table.publish();
    }
}

fn code_x64(start: u64, end: u64) -> Vec<u8> {
    let mut code = vec![0x48, 0xb8]; // mov rax, start
    code.extend(start.to_le_bytes());
    code.extend([0x49, 0xba]); // mov r10, end
    code.extend(end.to_le_bytes());
    code.extend([
        0x89, 0xc9, // mov ecx, ecx
        0x49, 0x89, 0xc3, // 1: mov r11, rax
        0x4d, 0x39, 0xd3, // 2: cmp r11, r10
        0x74, 0x19, // je 4f
        0x49, 0x39, 0x13, // cmp [r11], rdx
        0x75, 0x0e, // jne 3f
        0x49, 0x39, 0x4b, 0x08, // cmp [r11 + 8], rcx
        0x74, 0x1c, // je 5f
        0x49, 0x0f, 0xba, 0x63, 0x08, 0x20, // bt qword ptr [r11 + 8], 32
        0x72, 0x14, // jc 5f
        0x49, 0x83, 0xc3, 0x20, // 3: add r11, 32
        0xeb, 0xe2, // jmp 2b
        0x48, 0x39, 0xfe, // 4: cmp rsi, rdi
        0x74, 0x1d, // je 6f
        0x48, 0x8b, 0x56, 0x08, // mov rdx, [rsi + 8]
        0x48, 0x8b, 0x36, // mov rsi, [rsi]
        0xeb, 0xd1, // jmp 1b
        0x48, 0x89, 0xf5, // 5: mov rbp, rsi
        0x48, 0x89, 0xf4, // mov rsp, rsi
        0x49, 0x2b, 0x63, 0x18, // sub rsp, [r11 + 24]
        0x4c, 0x89, 0xc0, // mov rax, r8
        0x4c, 0x89, 0xca, // mov rdx, r9
        0x41, 0xff, 0x63, 0x10, // jmp [r11 + 16]
        0x0f, 0x0b, // 6: ud2
    ]);
    code
}

/// The words before the ends of the table, which they load relative to themselves.
const WORDS_AARCH64: [u32; 28] = [
    0x58000389, // ldr x9, start
    0x580003aa, // ldr x10, end
    0x2a0303e3, // mov w3, w3
    0xaa0903eb, // 1: mov x11, x9
    0xeb0a017f, // 2: cmp x11, x10
    0x54000120, // b.eq 4f
    0xa940356c, // ldp x12, x13, [x11]
    0xeb02019f, // cmp x12, x2
    0x54000081, // b.ne 3f
    0xeb0301bf, // cmp x13, x3
    0x54000140, // b.eq 5f
    0xb700012d, // tbnz x13, #32, 5f
    0x9100816b, // 3: add x11, x11, #32
    0x17fffff7, // b 2b
    0xeb00003f, // 4: cmp x1, x0
    0x54000180, // b.eq 6f
    0xa9407821, // ldp x1, x30, [x1]
    0xd50320ff, // xpaclri
    0xaa1e03e2, // mov x2, x30
    0x17fffff0, // b 1b
    0xa941356c, // 5: ldp x12, x13, [x11, #16]
    0xaa0103fd, // mov x29, x1
    0xcb0d0021, // sub x1, x1, x13
    0x9100003f, // mov sp, x1
    0xaa0403e0, // mov x0, x4
    0xaa0503e1, // mov x1, x5
    0xd61f0180, // br x12
    0x00000000, // 6: udf #0
];

fn code_aarch64(start: u64, end: u64) -> Vec<u8> {
    let mut code: Vec<u8> = WORDS_AARCH64.iter().flat_map(|word| word.to_le_bytes()).collect();
    code.extend(start.to_le_bytes());
    code.extend(end.to_le_bytes());
    code
}
